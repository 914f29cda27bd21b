"""Dual coordinate ascent on a kernel problem: the margins m = Kv of all rows are kept.

A look at a row is a look at a number; a row that moves adds its row of K to all margins.  Rows
step in groups: K among those of a group is computed first, the loop of linear problems makes their
steps one by one, exactly, and then the rows of K of those that moved reach all other margins, for
one look at the data.  That all margins are known also makes screening free: after each pass the gap
of every row, and so the duality gap, is a sum over n numbers, and rows that a bound holds are left
out of the next pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.kernel import KernelIterate, KernelProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.base import Foreseen, refusal_of_others
from gapsvm.solvers.dual_rows import dual_rows_of
from gapsvm.solvers.sdca.serial import bias_ratio, dual_start, rows_with_weight
from gapsvm.solvers.trace import Progress
from gapsvm.types.tables import ALPHA

_NEGLIGIBLE = 0.01
"""A row matters if its gap is above this share of the mean."""


@storable
@dataclass
class KernelSDCAState:
    """Everything the solver knows; resuming from a copy is bit-equal."""

    table: Any
    """(α_i, q_i, c_i, t_i), row after row."""
    margins: Any
    """Kv."""
    bias: float
    centre: float
    """Of the proximal term of a free bias."""
    order: Any
    """The rows of this pass first."""
    active: int
    """How many these are."""
    seed: Any
    position: int = 0
    rows_visited: int = 0
    hint: float = math.inf


@storable
@dataclass(frozen=True)
class KernelSDCA:
    """Stochastic dual coordinate ascent over rows of a kernel matrix.

    Parameters
    ----------
    sampler : "permutation" or "uniform"
        A new random order every pass; or every row drawn independently of the others, as in the
        papers, and no row left out.
    shrinking : bool
        In passes, leave out the rows whose α is held at a bound; all are looked at after each.
    cache_rows : bool
        Keep rows of K where there is room (``cache_size`` of the rows); otherwise each is computed
        when its row moves.
    alpha : array, optional
        Warm start.
    bias : float
        The bias to begin with.
    """

    sampler: Literal["permutation", "uniform"] = "permutation"
    shrinking: bool = True
    cache_rows: bool = True
    alpha: Any = None
    bias: float = 0.0

    def __post_init__(self) -> None:
        if self.sampler not in ("permutation", "uniform"):
            raise ValueError(f"sampler must be 'permutation' or 'uniform', got {self.sampler!r}")

    def refusal(self, problem: object) -> str:
        """What the problem lacks for this solver to work; empty if nothing."""
        return refusal_of_others(problem, KernelProblem)

    def warmed(self, iterate: KernelIterate) -> KernelSDCA:
        """The same, to begin at an α."""
        return replace(self, alpha=iterate.alpha, bias=iterate.bias)

    def tuned(self, problem: Any, foreseen: Foreseen) -> KernelSDCA:
        """No row is left out where no α is ever held at a bound."""
        if self.refusal(problem):
            return self
        curve = problem.loss.curve
        held = not (curve.is_free(curve.lo) and curve.is_free(curve.hi))
        return replace(self, shrinking=self.shrinking and held)

    def init(
        self, problem: KernelProblem, backend: Backend, rng: np.random.Generator
    ) -> KernelSDCAState:
        ratio = bias_ratio(problem)
        table, margins, bias, centre = dual_start(problem, backend, ratio, self.alpha, self.bias)
        order = rows_with_weight(problem)
        seed = rng.integers(0, 2**64, size=1, dtype=np.uint64)
        return KernelSDCAState(table, margins, bias, centre, order, order.size, seed)

    def advance(
        self, problem: KernelProblem, state: KernelSDCAState, backend: Backend, budget: int
    ) -> KernelSDCAState:
        """One group of rows; whole ones, so that a break shifts none."""
        reach, n = dual_rows_of(problem), problem.n_rows
        rows = self._next_rows(problem, state, backend, int(reach.together))
        with reach.stepping(rows, state.table, state.margins, keep=self.cache_rows) as view:
            steps = (problem.loss.curve, state.table, rows.copy(), 0, rows.size, 0)
            ratio = bias_ratio(problem)
            _, state.bias, _, _ = backend.sdca_steps(
                view, *steps, state.margins, state.bias, ratio, math.inf, 1.0
            )
        state.position += rows.size
        state.rows_visited += rows.size
        if state.position >= (n if self.sampler == "uniform" else state.active):
            self._end_pass(problem, state, backend)
        return state

    def _next_rows(
        self, problem: KernelProblem, state: KernelSDCAState, backend: Backend, most: int
    ) -> Any:
        if self.sampler == "uniform":
            drawn = backend.empty((most, 1), np.uint32)
            backend.draw_multisets(state.order.size, drawn, state.seed)
            return state.order[drawn.ravel()]
        if state.position == 0:
            backend.shuffle(state.order, state.active, state.seed)
        return state.order[state.position : min(state.active, state.position + most)].copy()

    def _end_pass(self, problem: KernelProblem, state: KernelSDCAState, backend: Backend) -> None:
        """The gap of all rows, those of the next pass, and the centre of a free bias."""
        state.position -= problem.n_rows if self.sampler == "uniform" else state.active
        alpha = state.table[:, ALPHA]
        state.hint = max(0.0, problem.gap_of(alpha, state.margins, state.bias))
        if self.sampler == "permutation" and self.shrinking:
            found = backend.empty(problem.n_rows, np.uint32)
            rows = (problem.loss.curve, state.table, 0, problem.n_rows)
            with dual_rows_of(problem).stepping(found[:0], state.table, state.margins) as view:
                floor = _NEGLIGIBLE * state.hint
                count, _ = backend.screen(view, *rows, state.margins, state.bias, floor, found)
            state.order = found[:count].copy() if count else rows_with_weight(problem)
            state.active = state.order.size
        if problem.bias == "free":
            state.bias, state.centre = 2.0 * state.bias - state.centre, state.bias

    def iterate(self, problem: KernelProblem, state: KernelSDCAState) -> KernelIterate:
        return KernelIterate(state.table[:, ALPHA].copy(), state.bias)

    def progress(self, problem: KernelProblem, state: KernelSDCAState) -> Progress:
        return Progress(state.rows_visited, state.hint)
