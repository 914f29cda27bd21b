"""What is handed out: the last iterate, a mean of some kind, or an iterate drawn at random.

An average is a frozen object; what it keeps of a run is in ``Kept`` and in the sums of
``MovingWeights``, which the compiled steps update: before each step, w̄ ← past·w̄ + share·w.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from gapsvm.solvers.subgradient.state import Kept, MovingWeights, Run
from gapsvm.solvers.tail import Tail

AverageName = Literal["uniform", "tail", "decaying", "random"]
_NO_END = sys.maxsize


class Average(Protocol):
    """A rule for the output."""

    past: ClassVar[float]
    share: ClassVar[float]
    summed: ClassVar[bool]
    """Whether the sums are kept at all."""

    def begin(self, size: int) -> Kept:
        """What is kept before the first step; ``size`` numbers make up w."""

    def wait(self, kept: Kept, weights: MovingWeights, run: Run) -> int:
        """Steps until what is kept changes; it changes here if this is the step."""

    def output(self, kept: Kept, weights: MovingWeights, run: Run) -> Any:
        """w and the bias, in one vector; not a view."""


@dataclass(frozen=True)
class LastIterate:
    """w itself."""

    past: ClassVar[float] = 1.0
    share: ClassVar[float] = 1.0
    summed: ClassVar[bool] = False

    def begin(self, size: int) -> Kept:
        return Kept(np.zeros(0))

    def wait(self, kept: Kept, weights: MovingWeights, run: Run) -> int:
        return _NO_END

    def output(self, kept: Kept, weights: MovingWeights, run: Run) -> Any:
        return weights.point


@dataclass(frozen=True)
class UniformAverage:
    """The mean of w_1, …, w_T (Pegasos Theorem 1)."""

    past: ClassVar[float] = 1.0
    share: ClassVar[float] = 1.0
    summed: ClassVar[bool] = True

    def begin(self, size: int) -> Kept:
        return Kept(np.zeros(0))

    def wait(self, kept: Kept, weights: MovingWeights, run: Run) -> int:
        return _NO_END

    def output(self, kept: Kept, weights: MovingWeights, run: Run) -> Any:
        count = kept.tail.count(run.steps)
        return weights.sums / count if count else weights.point


@dataclass(frozen=True)
class TailAverage:
    """The mean of the later iterates, see ``gapsvm.solvers.tail``."""

    tail_from: int | None = None

    past: ClassVar[float] = 1.0
    share: ClassVar[float] = 1.0
    summed: ClassVar[bool] = True

    def begin(self, size: int) -> Kept:
        return Kept(np.zeros(size + 1), Tail(self.tail_from))

    def wait(self, kept: Kept, weights: MovingWeights, run: Run) -> int:
        if kept.tail.turns(run.steps):
            kept.earlier[:] = weights.sums if kept.tail.turn(run.steps) else 0.0
            weights.clear_sums()
        return kept.tail.wait(run.steps)

    def output(self, kept: Kept, weights: MovingWeights, run: Run) -> Any:
        count = kept.tail.count(run.steps)
        return (kept.earlier + weights.sums) / count if count else weights.point


@dataclass(frozen=True)
class DecayingAverage:
    """w̄ ← 0.9w̄ + 0.1w, as in Takáč's experiments."""

    past: ClassVar[float] = 0.9
    share: ClassVar[float] = 1.0 - 0.9
    summed: ClassVar[bool] = True

    def begin(self, size: int) -> Kept:
        return Kept(np.zeros(0))

    def wait(self, kept: Kept, weights: MovingWeights, run: Run) -> int:
        return _NO_END

    def output(self, kept: Kept, weights: MovingWeights, run: Run) -> Any:
        return weights.sums


@dataclass(frozen=True)
class RandomIterate:
    """One of w_1, …, w_T, each as likely as any other (Pegasos Lemma 3, Do Theorem 3).

    w_t replaces the one before with probability 1/t; the next t to do so after s exceeds any j
    with probability s/j.
    """

    past: ClassVar[float] = 1.0
    share: ClassVar[float] = 1.0
    summed: ClassVar[bool] = False

    def begin(self, size: int) -> Kept:
        return Kept(np.zeros(size + 1))

    def wait(self, kept: Kept, weights: MovingWeights, run: Run) -> int:
        done = run.steps_in_phase
        if kept.chosen == done + 1:
            kept.earlier[:] = weights.point
            more = [kept.attempt] if kept.attempt else []
            draw = np.random.default_rng([run.key, run.phases, done + 1, *more])
            kept.chosen = math.floor((done + 1) / (1.0 - draw.random())) + 1
        return kept.chosen - 1 - done

    def output(self, kept: Kept, weights: MovingWeights, run: Run) -> Any:
        return kept.earlier.copy()


AVERAGES: dict[str | None, type[Average]] = {
    None: LastIterate,
    "uniform": UniformAverage,
    "tail": TailAverage,
    "decaying": DecayingAverage,
    "random": RandomIterate,
}


def average_of(name: str | None, tail_from: int | None = None) -> Average:
    """The average of that name."""
    if name not in AVERAGES:
        raise ValueError(f"average must be one of {tuple(AVERAGES)}, got {name!r}")
    return TailAverage(tail_from) if name == "tail" else AVERAGES[name]()
