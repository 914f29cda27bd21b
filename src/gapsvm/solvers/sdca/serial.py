"""Dual coordinate ascent (SDCA): exact steps on one α_i at a time, in random order.

With w = w(α) kept, the step on row i maximises D over α_i alone (Takáč §4 with b = 1):

    a⁺ = clip(soft(t − z + q·a, ε)/(γ + q), lo, hi),   q = s_i(‖x_i‖² + ρ)/(λS)

Rows whose α is held at a bound are dropped on the way (shrinking).  When the gap of the rest has
fallen to a share of what it was, all rows are screened: one look in the order of memory, which
costs a fraction of a pass in random order and leaves the rows to any number of threads, finds the
duality gap and the rows that make it up, and the next passes go over those alone; where they are
not enough for a while, steps in the subspace of the
last moves are made between them (``gapsvm.solvers.sdca.subspace``).
A free bias is a constant feature with a proximal term (κ/2)(b − b_k)² whose centre b_k moves to b
after each pass (Do's idea, on the bias alone), so that Σ s_i σ_i α_i → 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.problems.row_losses import RowLosses
from gapsvm.registry.storable import storable
from gapsvm.solvers.base import Foreseen, refusal_of_balls, refusal_of_others
from gapsvm.solvers.dual_rows import dual_rows_of
from gapsvm.solvers.row_order import FEW, expect_rows, new_order, read_in_chunks
from gapsvm.solvers.sdca import subspace
from gapsvm.solvers.sdca.parallel import (
    Ascent,
    measured_overlap,
    pay,
    steps_at_once,
    steps_one_by_one,
    worth_threads,
)
from gapsvm.solvers.trace import Progress
from gapsvm.types.curves import FiveNumbers
from gapsvm.types.steps import LastMoves, Until
from gapsvm.types.tables import ALPHA, CURVATURE, SIGNED_WEIGHT, TARGET

_NEGLIGIBLE = 0.01
"""A row matters if its gap is above this share of the mean."""
_FIRST_SLACK = 1.0
"""A margin so far beyond its target leaves its row out already in the first pass."""
_PART_VALUES = 2_000_000
"""Stored values of the parts in which rows are screened, whatever the number of threads."""


@storable
@dataclass
class SDCAState:
    """Everything SDCA knows; resuming from a copy is bit-equal."""

    table: Any
    """(α_i, q_i, c_i, t_i), row after row: a row's scalars share a cache line."""
    w: Any
    bias: float
    centre: float
    """Of the proximal term of a free bias."""
    order: Any
    """The rows of this pass first; those that stay are gathered at the front as it goes."""
    seed: Any
    active: int
    """Rows of this pass."""
    screening: bool = False
    position: int = 0
    kept: int = 0
    threshold: float = math.inf
    worst: float = 0.0
    gap_sum: float = 0.0
    rows_visited: int = 0
    last_estimate: float = math.inf
    screened: float = math.inf
    """The gap at the last screening, before the first as it was met in the first pass."""
    hint: float = math.inf
    in_parallel: bool = False
    """Several threads step at once, since their steps were found to bear it."""
    overlap: float = math.inf
    """ρ of their latest rounds, see ``gapsvm.solvers.sdca.parallel``."""
    screenings: int = 0
    """Looks at all rows so far, none of them moved."""
    passes: int = 0
    """Over the rows of the last screening."""
    last_moves: tuple[Any, ...] = ()
    """What ``subspace_step`` remembers since then; empty: nothing yet."""
    last_moves_at: int = 0
    """Rows visited when that was."""

    @property
    def alpha(self) -> Any:
        return self.table[:, ALPHA]

    @property
    def mass(self) -> float:
        """Σ c_i α_i."""
        return float(np.sum(self.table[:, SIGNED_WEIGHT] * self.alpha))

    def weigh(self, share: float, problem: LinearProblem) -> None:
        """Go on for a problem whose c_i are ``share`` of what they were; w stays as it is.

        What w is beyond Σ c_i α_i x_i, and the bias beyond its pull, are offsets from now on.
        """
        ratio, c = bias_ratio(problem), self.table[:, SIGNED_WEIGHT]
        c *= share
        self.table[:, CURVATURE] = np.abs(c) * (problem.sq_norms + ratio)
        self.centre = self.bias - ratio * float(c @ self.alpha)

    def shift(self, move: Any, bias_move: float) -> None:
        """Move w and the bias by other offsets; α stays, and what was known of gaps is void."""
        self.w += move
        self.bias += bias_move
        self.screened = self.last_estimate = self.threshold = math.inf
        self.last_moves, self.passes = (), 0

    def screen_if(self, asked: bool) -> None:
        """Look at all rows next."""
        self.screening |= asked

    def ascent(self, ratio: float) -> Ascent:
        """What the next steps begin with."""
        rest = (self.w, self.bias, ratio, self.threshold)
        return Ascent(self.table, self.order, self.kept, *rest)


@storable
@dataclass(frozen=True)
class SDCA:
    """Stochastic dual coordinate ascent.

    Parameters
    ----------
    shrinking : bool
        Screen the rows and visit only those that matter; leave out on the way those whose α is
        held at a bound by more than the largest violation of the last pass.  The certificate
        always looks at all rows.
    recheck : float
        All rows are screened again when the gap of those visited fell to this share of what the
        gap was at the last screening.
    alpha : array, optional
        Warm start.
    bias : float
        The bias to begin with.
    single : bool
        Keep w in float32: for weights wider than the cache, where a pass waits for w.  It drifts
        from w(α) by some 1e-7 of its length, which the certificate sees.
    streams : int, optional
        Visit rows along so many forward streams through memory instead of in a random order; 0:
        at random.  By default for long rows, where memory pays for it and neighbours in the data
        are less alike than in tables of short ones.
    parallel : bool
        Where the backend has several threads, let them step at once in long passes over narrow
        data whose parts hardly overlap; otherwise they share the screenings and certificates
        alone, and the steps are those of one thread.
    subspace_steps : bool
        Between passes, go to where D is largest in the plane of this pass's move and the last
        one's (not for the logistic loss).  Where slow directions are left, as in text, that
        halves the number of passes.
    """

    shrinking: bool = True
    recheck: float = 0.2
    alpha: Any = None
    bias: float = 0.0
    single: bool = False
    streams: int | None = None
    parallel: bool = True
    subspace_steps: bool = True

    def refusal(self, problem: object) -> str:
        """What the problem lacks for this solver to work; empty if nothing."""
        if not isinstance(problem, LinearProblem):
            return refusal_of_others(problem, LinearProblem)
        return refusal_of_balls(problem)

    def warmed(self, iterate: Iterate) -> SDCA:
        """The same, to begin at an α."""
        return replace(self, alpha=iterate.alpha, bias=iterate.bias)

    def tuned(self, problem: object, foreseen: Foreseen) -> SDCA:
        """No screening where no α is ever held at a bound; w in float32 where that will do."""
        if not isinstance(problem, LinearProblem):
            return self
        curve = problem.loss.curve
        held = not (curve.is_free(curve.lo) and curve.is_free(curve.hi))
        single = self.single or foreseen.allows_float32(problem)
        return replace(self, shrinking=self.shrinking and held, single=single)

    def init(self, problem: LinearProblem, backend: Backend, rng: np.random.Generator) -> SDCAState:
        ratio = bias_ratio(problem)
        table, w, bias, centre = dual_start(problem, backend, ratio, self.alpha, self.bias)
        if self.single:
            w = w.astype(np.float32)
        order = backend.place(rows_with_weight(problem))
        first_pass = self.shrinking and self.alpha is None and problem.loss.kind == "margin"
        return SDCAState(
            table=table,
            w=w,
            bias=bias,
            centre=centre,
            order=order,
            seed=rng.integers(0, 2**64, size=1, dtype=np.uint64),
            active=order.size,
            threshold=_FIRST_SLACK if first_pass else math.inf,
            screening=self.shrinking and self.alpha is not None,
            hint=math.inf if self.alpha is None else 0.0,  # a warm start may be all there is to do
        )

    def advance(
        self, problem: LinearProblem, state: SDCAState, backend: Backend, budget: int
    ) -> SDCAState:
        ratio = bias_ratio(problem)
        start = state.rows_visited
        if start == 0:
            state.hint = math.inf
        while state.rows_visited - start < max(1, budget // 4):  # passes over few rows are short
            left = budget - (state.rows_visited - start)
            was_screening = state.screening
            if was_screening:
                self._part_of_a_screening(problem, state, backend, left)
            elif self._is_short(problem, state) and state.active <= left:
                self._short_passes(problem, state, backend, max(1, budget // 4), ratio)
            else:
                self._part_of_a_pass(problem, state, backend, left, ratio)
            if state.screening != was_screening:
                break  # the gap is known, or seems small: let the loop look at the hint
        return state

    def _part_of_a_screening(
        self, problem: LinearProblem, state: SDCAState, backend: Backend, rows: int
    ) -> None:
        """Up to so many rows."""
        size = problem.rows_for(_PART_VALUES)
        stop = min(problem.n_rows, state.position + rows)
        floor = _NEGLIGIBLE * min(state.screened, state.last_estimate)

        def part(first: int) -> tuple[Any, float]:
            last = min(first + size, stop)
            found = backend.empty(last - first, np.uint32)
            count, gap = backend.screen(
                problem.rows.view,
                problem.loss.curve,
                state.table,
                first,
                last,
                state.w,
                state.bias,
                0.0 if math.isinf(floor) else floor,
                found,
            )
            return found[:count], gap

        for found, gap in backend.map(part, range(state.position, stop, size)):
            state.order[state.kept : state.kept + found.size] = found
            state.kept += found.size
            state.gap_sum += gap
        state.rows_visited += stop - state.position
        state.position = stop
        if stop < problem.n_rows:
            return
        state.hint = state.screened = max(0.0, problem.lam * state.gap_sum)
        state.screenings += 1
        state.last_moves, state.passes = (), 0
        state.active, state.threshold, state.screening = state.kept, math.inf, False
        if state.active == 0:  # nobody's gap is above the others'
            state.order = rows_with_weight(problem)
            state.active = state.order.size
        state.position = state.kept = 0
        state.gap_sum = 0.0

    def _part_of_a_pass(
        self, problem: LinearProblem, state: SDCAState, backend: Backend, rows: int, ratio: float
    ) -> None:
        """Up to so many rows, but not beyond the middle or the end of the pass."""
        if state.position == 0:
            self._subspace_step(problem, state, backend, ratio)
            new_order(problem, state.order, state.active, state.seed, backend, self.streams)
        middle = (state.active + 1) // 2
        stop = min(state.position + rows, middle if state.position < middle else state.active)
        stop = state.position + expect_rows(problem, state.order[state.position : stop])
        given, start = state.ascent(ratio), state.position
        together = self.parallel and worth_threads(problem, backend, state.active)
        if together and math.isinf(state.overlap) and start == middle:
            state.overlap = measured_overlap(problem, given, backend, start, state.active)
            state.in_parallel = pay(state.overlap, backend.threads)
        if together and state.in_parallel:
            (state.kept, state.bias, worst, gap), state.overlap = steps_at_once(
                problem, given, backend, start, stop, state.overlap
            )
        else:
            state.kept, state.bias, worst, gap = steps_one_by_one(
                problem, given, backend, start, stop
            )
        state.rows_visited += stop - state.position
        state.position = stop
        state.worst = max(state.worst, worst)
        state.gap_sum += gap
        if stop == state.active:
            self._end_pass(problem, state, backend)
        elif stop == middle:
            state.hint = self._extrapolated(problem, state, state.active / middle, age=0.25)

    def _is_short(self, problem: LinearProblem, state: SDCAState) -> bool:
        """Whether a pass at random over few rows begins, and what its gap has to fall to is known.

        Such passes are made several at a time.
        """
        first_pass_done = self.shrinking and state.screened < math.inf
        few = state.position == 0 and 0 < state.active <= min(FEW, problem.n_rows // 2)
        return few and first_pass_done and not self.streams and not read_in_chunks(problem)

    def _short_passes(
        self, problem: LinearProblem, state: SDCAState, backend: Backend, rows: int, ratio: float
    ) -> None:
        """As many whole passes as so many rows allow, but not beyond the next screening."""
        free, started = problem.bias == "free", state.active
        rows = min(rows, self._subspace_step(problem, state, backend, ratio))
        state.kept, state.bias, centre, state.worst, state.gap_sum, before, visited = (
            backend.sdca_passes(
                problem.rows.view,
                problem.loss.curve,
                state.table,
                state.order,
                state.active,
                state.seed,
                state.w,
                state.bias,
                state.centre if free else math.nan,
                ratio,
                state.threshold,
                Until(rows, self.recheck * state.screened / problem.lam),
            )
        )
        state.rows_visited += visited
        state.passes += max(1, visited // max(1, started))
        if before < math.inf:
            state.last_estimate = max(0.0, problem.lam * before)
        if free:
            state.centre = centre
        self._judge(problem, state)

    def _subspace_step(
        self, problem: LinearProblem, state: SDCAState, backend: Backend, ratio: float
    ) -> int:
        """Before a pass, where it is due; how many rows may be visited until the next one is."""
        known = isinstance(problem.loss.curve, FiveNumbers)
        if not (self.subspace_steps and self.shrinking and known):
            return problem.n_rows
        wait = subspace.rows_to_wait(problem, state.screenings, state.passes, state.active)
        if wait > 0:
            return wait
        period, since = subspace.period(problem), state.rows_visited - state.last_moves_at
        if not state.last_moves:
            rows = state.order[: state.active]
            state.last_moves = tuple(subspace.begin(state.table, rows, state.w))
        elif since >= period:
            last = LastMoves(*state.last_moves)
            state.bias = subspace.take_step(problem, state.ascent(ratio), backend, last, since)
        else:
            return period - since
        state.last_moves_at = state.rows_visited
        return period

    @staticmethod
    def _extrapolated(problem: LinearProblem, state: SDCAState, share: float, age: float) -> float:
        """The gap by now: rows were judged when visited, ``age`` passes ago on average."""
        estimate = max(0.0, problem.lam * state.gap_sum * share)
        known = 0.0 < state.last_estimate < math.inf
        falling = min(1.0, estimate / state.last_estimate) if known else 0.5
        return estimate * float(falling**age)

    def _end_pass(self, problem: LinearProblem, state: SDCAState, backend: Backend) -> None:
        """Judge the pass, and move the centre of a free bias."""
        state.passes += 1
        self._judge(problem, state)
        state.in_parallel = state.in_parallel and pay(state.overlap, backend.threads)
        if problem.bias == "free":
            state.bias, state.centre = 2.0 * state.bias - state.centre, state.bias

    def _judge(self, problem: LinearProblem, state: SDCAState) -> None:
        """The gap by the pass that ends, and the rows of the next one."""
        estimate = max(0.0, problem.lam * state.gap_sum)  # not below zero by rounding
        if self.shrinking:
            state.screened = estimate if math.isinf(state.screened) else state.screened
            state.screening = state.kept == 0 or estimate <= self.recheck * state.screened
            state.active, state.threshold = state.kept, state.worst
        state.hint = self._extrapolated(problem, state, 1.0, age=0.5)
        state.last_estimate = estimate
        state.position = state.kept = 0
        state.worst = state.gap_sum = 0.0

    def refusal_as_inner(self) -> str:
        """Nothing speaks against it as the inner solver of ``OuterBias``."""
        return ""

    def with_bias(self, problem: LinearProblem, state: SDCAState, bias: float) -> SDCAState:
        """α and w with b held there: which rows matter there is not known yet."""
        order = rows_with_weight(problem)
        return SDCAState(
            table=state.table,
            w=state.w,
            bias=bias,
            centre=bias,
            order=order,
            seed=state.seed,
            active=order.size,
            rows_visited=state.rows_visited,
        )

    def known_gap(self, state: SDCAState) -> float:
        """When all rows have just been screened; else infinite."""
        return state.screened if state.hint == state.screened else math.inf

    def iterate(self, problem: LinearProblem, state: SDCAState) -> Iterate:
        return Iterate(state.w.astype(np.float64), state.bias, state.table[:, ALPHA].copy())

    def progress(self, problem: LinearProblem, state: SDCAState) -> Progress:
        return Progress(state.rows_visited, state.hint)


def bias_ratio(problem: RowLosses) -> float:
    """λ/κ: how much the bias follows Σ c_i α_i.

    For a free one a tenth of the mean ‖x‖², but so much at least that a pass can move it by
    the size of the targets, however large λ is.
    """
    if problem.bias == "free":
        reach = problem.lam * problem.mean_abs_target
        return max(0.1 * problem.mean_sq_norm, reach) or 1.0
    return problem.bias_ratio


def dual_start(
    problem: RowLosses, backend: Backend, ratio: float, alpha: Any, bias: float
) -> tuple[Any, Any, float, float]:
    """(table, w, bias, centre of the bias) at zero, or at the best multiple of a given α."""
    curve = problem.loss.curve
    table = backend.row_table(problem.n_rows)
    if alpha is not None:
        table[:, ALPHA] = np.clip(alpha, curve.lo, curve.hi)
    table[:, CURVATURE] = np.abs(problem.scale * problem.weight) * (problem.sq_norms + ratio)
    table[:, SIGNED_WEIGHT] = problem.scale * problem.sign * problem.weight
    table[:, TARGET] = problem.t
    reach = dual_rows_of(problem)
    w = backend.zeros(reach.size)
    if alpha is None:
        return table, w, problem.bias_at_zero, problem.bias_at_zero
    alpha = table[:, ALPHA]
    coef = table[:, SIGNED_WEIGHT] * alpha
    shrink = problem.best_multiple(alpha, reach.combine(coef, w, backend))
    alpha *= shrink
    w *= shrink
    pull = ratio * shrink * float(coef.sum())
    bias = bias if problem.bias == "free" else pull
    return table, w, bias, bias - pull


def rows_with_weight(problem: RowLosses) -> Any:
    """Their numbers."""
    if problem.weight.size == 1:
        return np.arange(problem.n_rows, dtype=np.uint32)
    return np.flatnonzero(problem.weight).astype(np.uint32)
