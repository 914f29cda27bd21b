"""What every benchmark shares: the problems, interleaved timing, a table."""

from __future__ import annotations

import importlib.metadata
import math
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

import gapsvm
from gapsvm import datasets

TARGETS = (1e-3, 1e-4, 1e-6)


@dataclass(frozen=True)
class Case:
    """A data set at a λ whose optimum is certified in the data folder's optima.json."""

    name: str
    scale: str
    lam: float

    @property
    def title(self) -> str:
        return f"{self.name} {self.lam:g}"

    def load(self, dtype: Any = np.float32) -> tuple[Any, Any]:
        X, y = datasets.load(self.name, scale=self.scale, dtype=dtype)
        return X, y

    def optimum(self) -> float:
        value = datasets.optimum(self.name, self.scale, self.lam)
        if value is None:
            raise SystemExit(f"optima.json has no entry for {self}")
        return value


CASES = (
    Case("a9a", "max", 1e-4),
    Case("w8a", "max", 1e-5),
    Case("ijcnn1", "max", 1e-5),
    Case("cov1", "max", 1e-5),
    Case("cov1", "max", 1e-6),
    Case("mnist8", "max", 1e-5),
    Case("news20", "unit", 1e-4),
    Case("news20b", "unit", 1.25e-4),
    Case("imdb", "unit", 1e-4),
)


def hinge_objective(X: Any, y: Any, lam: float, w: Any) -> float:
    """mean hinge + (λ/2)‖w‖², computed by nobody's solver, in float64."""
    return float(np.maximum(0.0, 1.0 - y * (X @ w)).mean() + 0.5 * lam * (w @ w))


@dataclass
class Timed:
    """One contender: ``run()`` returns what was fitted, ``check(model)`` its sub-optimality.

    ``clock(model)`` is the time of a fit that happened elsewhere; ``rounds`` its turns at most.
    """

    label: str
    run: Callable[[], Any]
    suboptimality: Callable[[Any], float]
    best: float = math.inf
    reached: float = math.nan
    met: int = 0
    clock: Callable[[Any], float] | None = None
    rounds: float = math.inf


def race(contenders: Sequence[Timed], target: float, rounds: int) -> None:
    """Run all in turn, ``rounds`` times; keep the least time of the runs that met the target."""
    for turn in range(rounds):
        for one in contenders:
            if turn >= one.rounds:
                continue
            before = time.perf_counter()
            model = one.run()
            seconds = time.perf_counter() - before
            if one.clock is not None:
                seconds = one.clock(model)
            reached = one.suboptimality(model)
            if reached <= target:
                one.met += 1
                if seconds < one.best:
                    one.best, one.reached = seconds, reached


def geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values)))) if values else math.nan


def versions(*packages: str) -> str:
    """Date, machine and package versions, for the head of a table."""
    found = ", ".join(f"{name} {_version(name)}" for name in packages)
    return f"{date.today()}, {platform.processor() or platform.machine()}, {found}"


def _version(package: str) -> str:
    if package == "gapsvm":
        return gapsvm.__version__
    return importlib.metadata.version(package)
