"""Steps of SDCA on several threads at once: blocks with their own w, added up (CoCoA+).

Each of K threads takes a block of rows and a copy of w, and makes exact steps as if all the others
moved along with it: curvature σ′q, its own way counted σ′ times.  Then the ways are added,
w + Σ Δ_k, and D has risen by what the blocks saw at least if ‖Σ Δ_k‖² ≤ σ′ Σ ‖Δ_k‖².  The ratio ρ
of the two lies between 0 and K; it is measured after each round, and the next one takes its σ′
from it: blocks that hardly overlap pay hardly anything, and where σ′ comes near K one thread does
better.
The outcome depends on the seed and on K, and on nothing else.
"""

from __future__ import annotations

import math
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
_WORTH = 1.25
"""Blocks are given up where K/σ′ falls below this: steps would be shorter by as much."""


def worth_blocks(problem: Any, backend: Backend, active: int) -> bool:
    """Whether a pass over so many rows is long enough, and w narrow enough, for blocks."""
    values = problem.rows.n_stored * active // max(problem.n_rows, 1)
    sums = ROUNDS * backend.threads * problem.n_features
    return backend.threads > 1 and values >= max(_PASS_VALUES, _VALUES_PER_SUM * sums)


def steps_in_blocks(
    problem: Any, state: Any, backend: Backend, stop: int, ratio: float
) -> tuple[float, float]:
    """The rows from ``state.position`` to ``stop``, round after round.

    Returns the largest violation and Σ |c_i|·(Fenchel gap of row i when visited).  Modified: table,
    order, w, bias, kept and overlap of the state.
    """
    threads = backend.threads
    size = -(-problem.n_rows // ROUNDS)
    worst = gap = 0.0
    for first in range(state.position, stop, size):
        rows = min(size, stop - first)
        ends = [first + k * rows // threads for k in range(threads + 1)]
        sigma = min(threads, max(1.0, _MARGIN * state.overlap))

        def block(k: int) -> tuple[int, float, float, float, Any]:
            w = state.w.copy()
            start = ends[k]  # noqa: B023
            kept, bias, worst, gap = backend.sdca_steps(
                problem.rows.view,
                problem.loss.curve,
                state.table,
                state.order,
                start,
                ends[k + 1],  # noqa: B023
                start,
                w,
                state.bias,
                ratio,
                state.threshold,
                sigma,  # noqa: B023
            )
            w -= state.w
            w /= sigma  # noqa: B023
            return kept, (bias - state.bias) / sigma, worst, gap, w  # noqa: B023

        found = backend.map(block, range(threads))
        ways = [way for *_, way in found]
        total = np.sum(ways, axis=0)
        alone = sum(float(way @ way) for way in ways)
        if alone > 0:
            rho = float(total @ total) / alone
            state.overlap = rho if math.isinf(state.overlap) else max(rho, _FADE * state.overlap)
        state.w += total
        state.bias += sum(bias for _, bias, *_ in found)
        for start, (end, _, most, part, _) in zip(ends, found):
            count = end - start
            state.order[state.kept : state.kept + count] = state.order[start:end]
            state.kept += count
            worst, gap = max(worst, most), gap + part
    return worst, gap


def still_worth(backend: Backend, overlap: float) -> bool:
    return backend.threads >= _WORTH * max(1.0, _MARGIN * overlap)
