"""SMO: the pair of rows that gains most by second order, over and over (Fan, Chen and Lin 2005).

It is what LIBSVM does without shrinking, and stands for SVM-Light with a working set of two, too.
Without a bias no equation ties two rows together, and a step moves the one that gains most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.kernels.lines import full_rows
from gapsvm.problems.kernel import KernelIterate, KernelProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.trace import Progress
from gapsvm.solvers.working_set.whole_block import (
    block_of,
    feasible_coef,
    point_of,
    refusal_of_curves,
)

_STEPS = 200
"""Steps of a call."""
_ROUNDING = 1e-14
"""Violations below this share of the largest |y| are rounding."""


@storable
@dataclass
class SMOState:
    """Where the dual stands; ``pull`` is y − (K + diag(r))v."""

    coef: Any
    pull: Any
    bias: float = 0.0
    steps: int = 0
    violation: float = math.inf
    hint: float = math.inf
    exhausted: bool = False


@storable
@dataclass(frozen=True)
class SMO:
    """Sequential minimal optimisation with a working set of two rows.

    Parameters
    ----------
    cache_rows : bool
        Keep rows of K where there is room (``cache_size`` of the rows); otherwise each is computed
        for every step that it takes part in.
    alpha : array, optional
        Where to start.
    """

    cache_rows: bool = True
    alpha: Any = None

    def refusal(self, problem: object) -> str:
        """What the problem lacks for this solver to work; empty if nothing."""
        return refusal_of_curves(problem)

    def warmed(self, warm: KernelIterate) -> SMO:
        """The same, to begin at an α."""
        return replace(self, alpha=warm.alpha)

    def init(self, problem: KernelProblem, backend: Backend, rng: np.random.Generator) -> SMOState:
        coef = feasible_coef(problem, self.alpha)
        pull = problem.y - problem.rows.product(coef) - problem.ridge * coef
        return SMOState(coef, pull, problem.bias_at_zero)

    def advance(
        self, problem: KernelProblem, state: SMOState, backend: Backend, budget: int
    ) -> SMOState:
        block = block_of(problem, slice(None), np.empty((0, 0)))
        point, paired = point_of(state.coef, state.pull), problem.bias == "free"
        least = _ROUNDING * problem.largest_target
        backend.smo_open(block, point)
        for _ in range(_STEPS - state.steps % _STEPS):  # whole calls, so that a break shifts none
            i, up, down = backend.smo_first(block, point, paired)
            state.violation = up - down if paired else max(up, -down)
            step = 0.0
            if state.violation > least:
                row = self._row(problem, i)
                if paired:
                    j = backend.smo_second(block, point, i, row)
                    step = backend.smo_pair(block, point, i, j, row, self._row(problem, j))
                else:
                    step = backend.smo_single(block, point, i, row)
            state.exhausted = step == 0.0
            if state.exhausted:
                break
            state.steps += 1
        _, up, down = backend.smo_first(block, point, paired)
        if paired and math.isfinite(up) and math.isfinite(down):
            state.bias = 0.5 * (up + down)
        margins = problem.y - state.pull - problem.ridge * state.coef
        gap = problem.gap_of(problem.alpha_of(state.coef), margins, state.bias)
        state.hint = max(0.0, gap)
        return state

    def _row(self, problem: KernelProblem, i: int) -> Any:
        rows, index = problem.rows, np.array([i])
        if self.cache_rows:
            return full_rows(rows, index)[0]
        return rows.sums(index, np.ones(1), np.arange(problem.n_rows), np.float64)

    def iterate(self, problem: KernelProblem, state: SMOState) -> KernelIterate:
        return KernelIterate(problem.alpha_of(state.coef), state.bias)

    def progress(self, problem: KernelProblem, state: SMOState) -> Progress:
        return Progress(state.steps, state.hint, exhausted=state.exhausted)
