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
    # Floyd's algorithm, all steps at once: the stream of numbers does not depend on how many
    # steps are drawn together, so a run may be broken off anywhere.
    uniform = rng.random((steps, size))
    batches = np.empty((steps, size), dtype=np.int64)
    for k, top in enumerate(range(n - size, n)):
        drawn = (uniform[:, k] * (top + 1)).astype(np.int64)
        taken = (batches[:, :k] == drawn[:, None]).any(axis=1)
        batches[:, k] = np.where(taken, top, drawn)
    return batches
