"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gapsvm.models.files import read_model


class Outcome(NamedTuple):
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


def rows_and_scores(n: int = 240, d: int = 8, seed: int = 0) -> tuple[Any, Any]:
    """Rows of a few digits with many zeros, and a noisy linear function of them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 3) * (rng.random((n, d)) < 0.7)
    X[0] = 1.0  # the last column is there
    return X, X @ rng.normal(size=d) + rng.normal(size=n) + 0.5


def same_bits(one: Path, other: Path) -> bool:
    """Whether two model files have the same weights and certificate, bit for bit."""
    a, b = read_model(one), read_model(other)
    return all(
        getattr(a, name).tobytes() == getattr(b, name).tobytes()
        for name in ("coef", "intercept", "primal", "dual")
    )
