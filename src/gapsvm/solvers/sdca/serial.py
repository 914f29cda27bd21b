"""Dual coordinate ascent (SDCA): exact steps on one α_i at a time, in random order.

With w = w(α) kept, the step on row i maximises D over α_i alone (Takáč §4 with b = 1):

    a⁺ = clip(soft(t − z + q·a, ε)/(γ + q), lo, hi),   q = s_i(‖x_i‖² + ρ)/(λS)

Rows whose α is held at a bound are dropped on the way (shrinking).  When the gap of the rest has
fallen to a share of what it was, all rows are screened: one look in the order of memory, which
costs a fraction of a pass in random order and leaves the rows to any number of threads, finds the
duality gap and the rows that make it up, and the next passes go over those alone; where they are
not enough for a while, steps in planes are made between them (``gapsvm.solvers.sdca.planes``).
A free bias is a constant feature with a proximal term (κ/2)(b − b_k)² whose centre b_k moves to b
after each pass (Do's idea, on the bias alone), so that Σ s_i σ_i α_i → 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.backends.memory import row_table, zeros
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.row_order import FEW, expect_rows, new_order, read_in_blocks
from gapsvm.solvers.sdca.blocks import measure_overlap, pay, steps_in_blocks, worth_blocks
from gapsvm.solvers.sdca.planes import step_in_plane
from gapsvm.solvers.trace import Progress
from gapsvm.types.curves import FiveNumbers

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
    in_blocks: bool = False
    """Several threads step at once, since their steps were found to bear it."""
    overlap: float = math.inf
    """ρ of their latest rounds, see ``gapsvm.solvers.sdca.blocks``."""
    screenings: int = 0
    """Looks at all rows so far, none of them moved."""
    passes: int = 0
    """Over the rows of the last screening."""
    plane: tuple[Any, ...] = ()
    """What ``plane_step`` remembers since then; empty: nothing yet."""
    plane_at: int = 0
    """Rows visited when that was."""


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
    single : bool
        Keep w in float32: for weights wider than the cache, where a pass waits for w.  It drifts
        from w(α) by some 1e-7 of its length, which the certificate sees.
    streams : int, optional
        Visit rows along so many forward streams through memory instead of in a random order; 0:
        at random.  By default for long rows, where memory pays for it and neighbours in the data
        are less alike than in tables of short ones.
    blocks : bool
        Where the backend has several threads, let them step at once in long passes over narrow
        data whose blocks hardly overlap; otherwise they share the screenings and certificates
        alone, and the steps are those of one thread.
    planes : bool
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
    blocks: bool = True
    planes: bool = True

    def init(self, problem: LinearProblem, backend: Backend, rng: np.random.Generator) -> SDCAState:
        ratio = bias_ratio(problem)
        table, w, bias, centre = dual_start(problem, backend, ratio, self.alpha, self.bias)
        if self.single:
            w = w.astype(np.float32)
        order = _rows_with_weight(problem)
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
            found = np.empty(last - first, dtype=np.uint32)
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
        state.plane, state.passes = (), 0
        state.active, state.threshold, state.screening = state.kept, math.inf, False
        if state.active == 0:  # nobody's gap is above the others'
            state.order = _rows_with_weight(problem)
            state.active = state.order.size
        state.position = state.kept = 0
        state.gap_sum = 0.0

    def _part_of_a_pass(
        self, problem: LinearProblem, state: SDCAState, backend: Backend, rows: int, ratio: float
    ) -> None:
        """Up to so many rows, but not beyond the middle or the end of the pass."""
        if state.position == 0:
            self._plane_step(problem, state, backend, ratio)
            new_order(problem, state.order, state.active, state.seed, backend, self.streams)
        middle = (state.active + 1) // 2
        stop = min(state.position + rows, middle if state.position < middle else state.active)
        stop = state.position + expect_rows(problem, state.order[state.position : stop])
        together = self.blocks and worth_blocks(problem, backend, state.active)
        if together and math.isinf(state.overlap) and state.position == middle:
            measure_overlap(problem, state, backend, ratio)
            state.in_blocks = pay(state.overlap, backend.threads)
        if together and state.in_blocks:
            worst, gap = steps_in_blocks(problem, state, backend, stop, ratio)
        else:
            state.kept, state.bias, worst, gap = backend.sdca_steps(
                problem.rows.view,
                problem.loss.curve,
                state.table,
                state.order,
                state.position,
                stop,
                state.kept,
                state.w,
                state.bias,
                ratio,
                state.threshold,
                1.0,
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
        return few and first_pass_done and not self.streams and not read_in_blocks(problem)

    def _short_passes(
        self, problem: LinearProblem, state: SDCAState, backend: Backend, rows: int, ratio: float
    ) -> None:
        """As many whole passes as so many rows allow, but not beyond the next screening."""
        free, started = problem.bias == "free", state.active
        rows = min(rows, self._plane_step(problem, state, backend, ratio))
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
                rows,
                self.recheck * state.screened / problem.lam,
            )
        )
        state.rows_visited += visited
        state.passes += max(1, visited // max(1, started))
        if before < math.inf:
            state.last_estimate = max(0.0, problem.lam * before)
        if free:
            state.centre = centre
        self._judge(problem, state)

    def _plane_step(
        self, problem: LinearProblem, state: SDCAState, backend: Backend, ratio: float
    ) -> int:
        """Before a pass, where it is due; how many rows may be visited until the next one is."""
        if self.planes and self.shrinking and isinstance(problem.loss.curve, FiveNumbers):
            return step_in_plane(problem, state, backend, ratio)
        return problem.n_rows

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
        state.in_blocks = state.in_blocks and pay(state.overlap, backend.threads)
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

    def no_inner(self) -> str:
        """Nothing speaks against it as the inner solver of ``OuterBias``."""
        return ""

    def with_bias(self, problem: LinearProblem, state: SDCAState, bias: float) -> SDCAState:
        """α and w with b held there: which rows matter there is not known yet."""
        order = _rows_with_weight(problem)
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
        return Iterate(state.w.astype(np.float64), state.bias, state.table[::4].copy())

    def progress(self, problem: LinearProblem, state: SDCAState) -> Progress:
        return Progress(state.rows_visited, state.hint)


def bias_ratio(problem: LinearProblem) -> float:
    """λ/κ: how much the bias follows Σ c_i α_i.

    For a free one a tenth of the mean ‖x‖², but so much at least that a pass can move it by
    the size of the targets, however large λ is.
    """
    if problem.bias == "free":
        reach = problem.lam * problem.mean_abs_target
        return max(0.1 * problem.mean_sq_norm, reach) or 1.0
    return problem.bias_ratio


def dual_start(
    problem: LinearProblem, backend: Backend, ratio: float, alpha: Any, bias: float
) -> tuple[Any, Any, float, float]:
    """(table, w, bias, centre of the bias) at zero, or at the best multiple of a given α."""
    problem.refuse_radius("sdca")
    curve = problem.loss.curve
    table = row_table(problem.n_rows)
    if alpha is not None:
        table[0::4] = np.clip(alpha, curve.lo, curve.hi)
    table[1::4] = np.abs(problem.scale * problem.weight) * (problem.sq_norms + ratio)
    table[2::4] = problem.scale * problem.sign * problem.weight
    table[3::4] = problem.t
    w = zeros(problem.n_features)
    if alpha is None:
        return table, w, problem.bias_at_zero, problem.bias_at_zero
    alpha = table[::4]
    coef = table[2::4] * alpha
    backend.combination(problem.rows.view, coef, w)
    shrink = _best_multiple(problem, alpha, w)
    alpha *= shrink
    w *= shrink
    pull = ratio * shrink * float(coef.sum())
    bias = bias if problem.bias == "free" else pull
    return table, w, bias, bias - pull


def _best_multiple(problem: LinearProblem, alpha: Any, w: Any) -> float:
    """The c ∈ [0, 1] that maximises D(c·α): an α from another λ is too long or just right."""
    curve = problem.loss.curve
    if not isinstance(curve, FiveNumbers):
        return 1.0
    weight = problem.weight / problem.total_weight
    linear = float(np.sum(weight * (problem.t * alpha - curve.eps * np.abs(alpha))))
    quadratic = problem.lam * float(w @ w) + curve.gamma * float(np.sum(weight * alpha**2))
    return min(1.0, max(0.0, linear / quadratic)) if quadratic > 0 else 1.0


def _rows_with_weight(problem: LinearProblem) -> Any:
    if problem.weight.size == 1:
        return np.arange(problem.n_rows, dtype=np.uint32)
    return np.flatnonzero(problem.weight).astype(np.uint32)
