"""Steps of SDCA on several threads at once: parts with their own w, added up (CoCoA+).

Each of K threads takes a part of the rows and a copy of w, and makes exact steps as if all the
others moved along with it: curvature σ′q, its own move counted σ′ times.  Then the moves are added,
w + Σ Δ_k, and D has risen by what the parts saw at least if ‖Σ Δ_k‖² ≤ σ′ Σ ‖Δ_k‖².  The ratio ρ
of the two lies between 0 and K; it is measured after each round, and the next one takes its σ′
from it: parts that hardly overlap pay hardly anything, and where σ′ comes near K one thread does
better.  Which of the two holds is found out in the middle of the first pass, by a round with σ′ = K
whose steps are taken back.
The outcome depends on the seed and on K, and on nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.linear import LinearProblem
from gapsvm.types.tables import ALPHA

ROUNDS = 16
"""Of a pass over all rows."""
_PASS_VALUES = 2_000_000
"""Stored values of a pass from which on it is worth waking threads."""
_VALUES_PER_SUM = 4
"""... and from which on w is narrow enough to be copied and summed, a number of each part."""
_MARGIN, _FADE = 1.1, 0.9
"""σ′ over ρ, of which the largest of the last rounds counts, faded by so much a round."""
_WORTH = 0.85
"""Threads step at once where 1/σ′, by which their steps are shorter, is not below this."""


class Ascent(NamedTuple):
    """What steps begin with; they change the arrays."""

    table: Any
    order: Any
    """Rows that stay are gathered from order[kept] on."""
    kept: int
    w: Any
    bias: float
    ratio: float
    threshold: float


class Found(NamedTuple):
    """What steps have found."""

    kept: int
    bias: float
    worst: float
    """The largest violation met."""
    gap: float
    """Σ |c_i|·(Fenchel gap of row i when visited)."""


def worth_threads(problem: LinearProblem, backend: Backend, active: int) -> bool:
    """Whether a pass over so many rows is long enough, and w narrow enough, for several."""
    values = problem.rows.n_stored * active // max(problem.n_rows, 1)
    sums = ROUNDS * backend.threads * problem.n_features
    return backend.threads > 1 and values >= max(_PASS_VALUES, _VALUES_PER_SUM * sums)


def round_size(problem: LinearProblem) -> int:
    """Rows between two sums."""
    return int(-(-problem.n_rows // ROUNDS))


def steps_one_by_one(
    problem: LinearProblem,
    given: Ascent,
    backend: Backend,
    start: int,
    stop: int,
    sigma: float = 1.0,
) -> Found:
    """The rows order[start:stop] on one thread."""
    return Found(
        *backend.sdca_steps(
            *(problem.rows.view, problem.loss.curve, given.table, given.order, start, stop),
            *(given.kept, given.w, given.bias, given.ratio, given.threshold, sigma),
        )
    )


def steps_at_once(
    problem: LinearProblem, given: Ascent, backend: Backend, start: int, stop: int, overlap: float
) -> tuple[Found, float]:
    """The rows order[start:stop] on all threads, round after round; and ρ of late."""
    threads, size, order = backend.threads, round_size(problem), given.order
    kept, bias, worst, gap = given.kept, given.bias, 0.0, 0.0
    for first in range(start, stop, size):
        rows = min(size, stop - first)
        ends = [first + k * rows // threads for k in range(threads + 1)]
        parts, bias, overlap = _a_round(
            problem, given._replace(bias=bias), backend, list(pairwise(ends)), overlap
        )
        for begin, part in zip(ends, parts):
            count = part.kept - begin
            order[kept : kept + count] = order[begin : part.kept]
            kept += count
            worst, gap = max(worst, part.worst), gap + part.gap
    return Found(kept, bias, worst, gap), overlap


def measured_overlap(
    problem: LinearProblem, given: Ascent, backend: Backend, start: int, stop: int
) -> float:
    """ρ of a round from order[start] on, whose steps are taken back."""
    rows = slice(start, min(start + round_size(problem), stop))
    order, w = given.order[rows].copy(), given.w.copy()
    alpha = given.table[order, ALPHA]
    _, overlap = steps_at_once(problem, given, backend, start, rows.stop, math.inf)
    given.order[rows], given.table[order, ALPHA], given.w[:] = order, alpha, w
    return overlap


def _a_round(
    problem: LinearProblem,
    given: Ascent,
    backend: Backend,
    parts: Sequence[tuple[int, int]],
    overlap: float,
) -> tuple[list[Found], float, float]:
    """A thread for each part, on its own w, and all moves are added in the end.

    Returns what each part found (``kept``: where its rows that stay end), the bias and ρ.
    """
    sigma = sigma_of(overlap, backend.threads)

    def steps(part: tuple[int, int]) -> tuple[Found, float, Any]:
        own = given._replace(kept=part[0], w=given.w.copy())
        found = steps_one_by_one(problem, own, backend, *part, sigma)
        move = own.w
        move -= given.w
        move /= sigma
        return found, (found.bias - given.bias) / sigma, move

    found, biases, moves = zip(*backend.map(steps, parts))
    total = np.sum(moves, axis=0)
    alone = sum(float(move @ move) for move in moves)
    if alone > 0:
        rho = float(total @ total) / alone
        overlap = rho if math.isinf(overlap) else max(rho, _FADE * overlap)
    given.w[:] += total
    return list(found), given.bias + sum(biases), overlap


def sigma_of(overlap: float, threads: int) -> float:
    """σ′: the ρ of late and a margin, 1 at least and K at most."""
    return min(float(threads), max(1.0, _MARGIN * overlap))


def pay(overlap: float, threads: int) -> bool:
    """Whether parts that overlap so much are worth a thread each."""
    return threads > 1 and _WORTH * sigma_of(overlap, threads) <= 1.0
