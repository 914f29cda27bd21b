"""Index streams: which rows the next steps look at."""

from __future__ import annotations

from typing import Any

import numpy as np


def multisets(rng: np.random.Generator, n: int, size: int, steps: int) -> Any:
    """Batches drawn i.i.d. with repetition (with size 1: Pegasos Figure 1)."""
    return rng.integers(0, n, size=(steps, size))


def subsets(rng: np.random.Generator, n: int, size: int, steps: int) -> Any:
    """Batches uniform among the subsets of that size (Pegasos Figure 2)."""
    if size == 1:
        return multisets(rng, n, 1, steps)
    if size * size > n:
        return np.stack([rng.choice(n, size, replace=False, shuffle=False) for _ in range(steps)])
    batches = multisets(rng, n, size, steps)
    while True:  # a multiset without repetition is a uniform subset: draw the others again
        ordered = np.sort(batches, axis=1)
        repeated = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if repeated.size == 0:
            return batches
        batches[repeated] = multisets(rng, n, size, repeated.size)
