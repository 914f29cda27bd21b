"""Steps of SDCA on several threads at once: blocks with their own w, added up (CoCoA+).

Each of K threads takes a block of rows and a copy of w, and makes exact steps as if all the others
moved along with it: curvature σ′q, its own way counted σ′ times.  Then the ways are added,
w + Σ Δ_k, and D has risen by what the blocks saw at least if ‖Σ Δ_k‖² ≤ σ′ Σ ‖Δ_k‖².  The ratio ρ
of the two lies between 0 and K; it is measured after each round, and the next one takes its σ′
from it: blocks that hardly overlap pay hardly anything, and where σ′ comes near K one thread does
better.  Which of the two holds is found out in the middle of the first pass, by a round with σ′ = K
whose steps are taken back.
The outcome depends on the seed and on K, and on nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gapsvm.backends import Backend

ROUNDS = 16
"""Of a pass over all rows."""
_PASS_VALUES = 2_000_000
"""Stored values of a pass from which on it is worth waking threads."""
_VALUES_PER_SUM = 4
"""... and from which on w is narrow enough to be copied and summed, a number of each block."""
_MARGIN, _FADE = 1.1, 0.9
"""σ′ over ρ, of which the largest of the last rounds counts, faded by so much a round."""
_WORTH = 0.85
"""Threads step at once where 1/σ′, by which their steps are shorter, is not below this."""


def worth_blocks(problem: Any, backend: Backend, active: int) -> bool:
    """Whether a pass over so many rows is long enough, and w narrow enough, for blocks."""
    values = problem.rows.n_stored * active // max(problem.n_rows, 1)
    sums = ROUNDS * backend.threads * problem.n_features
    return backend.threads > 1 and values >= max(_PASS_VALUES, _VALUES_PER_SUM * sums)


def round_size(problem: Any) -> int:
    """Rows between two sums."""
    return int(-(-problem.n_rows // ROUNDS))


def steps_in_blocks(
    problem: Any, state: Any, backend: Backend, stop: int, ratio: float
) -> tuple[float, float]:
    """The rows from ``state.position`` to ``stop``, round after round.

    Returns the largest violation and Σ |c_i|·(Fenchel gap of row i when visited).  Modified: table,
    order, w, bias, kept and overlap of the state.
    """
    threads, size = backend.threads, round_size(problem)
    worst = gap = 0.0
    for first in range(state.position, stop, size):
        rows = min(size, stop - first)
        ends = [first + k * rows // threads for k in range(threads + 1)]
        found = _at_once(problem, state, backend, list(pairwise(ends)), ratio)
        for start, (end, most, part) in zip(ends, found):
            count = end - start
            state.order[state.kept : state.kept + count] = state.order[start:end]
            state.kept += count
            worst, gap = max(worst, most), gap + part
    return worst, gap


def measure_overlap(problem: Any, state: Any, backend: Backend, ratio: float) -> None:
    """ρ of a round from ``state.position`` on; its steps are taken back.  Modified: overlap."""
    rows = slice(state.position, min(state.position + round_size(problem), state.active))
    order, w, bias, kept = state.order[rows].copy(), state.w.copy(), state.bias, state.kept
    numbers = 4 * order.astype(np.int64)
    alpha = state.table[numbers]
    steps_in_blocks(problem, state, backend, rows.stop, ratio)
    state.order[rows], state.table[numbers] = order, alpha
    state.w[:], state.bias, state.kept = w, bias, kept


def _at_once(
    problem: Any, state: Any, backend: Backend, blocks: Sequence[tuple[int, int]], ratio: float
) -> list[tuple[int, float, float]]:
    """A round: a thread for each block, on its own w, and all ways are added in the end.

    Returns where the rows of each block that stay end, its largest violation and its gap.
    """
    sigma = sigma_of(state.overlap, backend.threads)

    def steps(block: tuple[int, int]) -> tuple[tuple[int, float, float], float, Any]:
        w = state.w.copy()
        kept, bias, worst, gap = backend.sdca_steps(
            problem.rows.view,
            problem.loss.curve,
            state.table,
            state.order,
            *block,
            block[0],
            w,
            state.bias,
            ratio,
            state.threshold,
            sigma,
        )
        w -= state.w
        w /= sigma
        return (kept, worst, gap), (bias - state.bias) / sigma, w

    found, biases, ways = zip(*backend.map(steps, blocks))
    total = np.sum(ways, axis=0)
    alone = sum(float(way @ way) for way in ways)
    if alone > 0:
        rho = float(total @ total) / alone
        state.overlap = rho if math.isinf(state.overlap) else max(rho, _FADE * state.overlap)
    state.w += total
    state.bias += sum(biases)
    return list(found)


def sigma_of(overlap: float, threads: int) -> float:
    """σ′: the ρ of late and a margin, 1 at least and K at most."""
    return min(float(threads), max(1.0, _MARGIN * overlap))


def pay(overlap: float, threads: int) -> bool:
    """Whether blocks that overlap so much are worth a thread each."""
    return threads > 1 and _WORTH * sigma_of(overlap, threads) <= 1.0
