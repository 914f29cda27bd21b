"""Random row numbers by splitmix64."""

from __future__ import annotations

from typing import Any

import numpy as np


def _draw(seed: Any, count: int) -> int:
    """A number below ``count`` by splitmix64."""
    mask = (1 << 64) - 1
    state = (int(seed[0]) + 0x9E3779B97F4A7C15) & mask
    seed[0] = state
    x = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    x ^= x >> 31
    return ((x >> 32) * count) >> 32


def shuffle(order: Any, count: int, seed: Any) -> None:
    for k in range(count - 1, 0, -1):
        j = _draw(seed, k + 1)
        order[k], order[j] = order[j], order[k]


def interleave(rows: Any, streams: int, seed: Any, order: Any) -> None:
    count = rows.size
    runs = [rows[s * count // streams : (s + 1) * count // streams] for s in range(streams)]
    runs = [np.roll(run, -_draw(seed, run.size)) for run in runs]
    turn, found = np.arange(streams), []
    for step in range(max(run.size for run in runs)):
        shuffle(turn, streams, seed)
        found += [runs[s][step] for s in turn if step < runs[s].size]
    order[:count] = found


def draw_subsets(order: Any, batches: Any, seed: Any) -> None:
    for batch in batches:
        for j in range(batch.size):
            other = j + _draw(seed, order.size - j)
            order[j], order[other] = order[other], order[j]
        batch[:] = order[: batch.size]


def draw_multisets(n: int, batches: Any, seed: Any) -> None:
    for batch in batches:
        batch[:] = [_draw(seed, n) for _ in batch]
