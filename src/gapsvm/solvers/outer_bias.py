"""A free bias found by an outer search (Pegasos §6, the last treatment).

J(b) = min_w P(w, b) is convex, and −J′(b) = (1/S) Σ s_i σ_i α_i at the inner optimum: its sign says
on which side of b the best one lies.  An inner solver minimises over w while b is held; b moves
when the sign is certain, or when the inner solver has had its passes, and w and α go on from where
they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.sdca.serial import SDCA, SDCAState
from gapsvm.solvers.subgradient.solver import Subgradient, SubgradientState
from gapsvm.solvers.trace import Progress

_OLD_VISITS = 1e-3
"""What the visits of a row count for when b has moved since."""
_SAME_WAY = 3
"""After so many moves towards one end of the bracket, that end is tried again."""


def _nothing() -> Any:
    return np.zeros(0)


@storable
@dataclass
class OuterBiasState:
    """The bias that is held, what encloses the best one, and the inner solver's state."""

    inner: Any
    bias: float
    step: float
    """How far b goes while the bracket is open at that side."""
    passes: float
    """That the inner solver may take at this b before its sign is trusted."""
    moved_at: int = 0
    """Rows visited when b last moved."""
    look_at: int = 0
    low: float = -math.inf
    high: float = math.inf
    streak: int = 0
    """Moves in a row to the right, or, negative, to the left."""
    left: Any = field(default_factory=_nothing)
    right: Any = field(default_factory=_nothing)
    """The last α from which b moved to the right, to the left: it pulls b up, or down."""


@storable
@dataclass(frozen=True)
class OuterBias:
    """Bisection over a free bias around a solver for the weights.

    The certificate is the free bias's own.  Its α is mixed of the latest one and one that pulls b
    the other way, so that Σ s_i σ_i α_i = 0.

    Parameters
    ----------
    inner : Subgradient or SDCA
    passes : float
        After so many, b moves by the sign of the slope at hand.  Each such move doubles them: the
        closer b is, the more exact the slope has to be.  SDCA knows its gap, and is mostly certain
        before.
    """

    inner: Any = field(default_factory=Subgradient)
    passes: float = 2.0

    def __post_init__(self) -> None:
        inner = self.inner
        if type(inner) not in (Subgradient, SDCA):
            raise TypeError(f"OuterBias is around Subgradient or SDCA, not {type(inner).__name__}")
        if not 0 < self.passes < math.inf:
            raise ValueError(f"passes must be positive and finite, got {self.passes!r}")
        if isinstance(inner, Subgradient):
            if inner.rule == "optimistic":
                raise ValueError("OuterBias holds the bias, but 'optimistic' starts it anew")
            if inner.stop != "gap":
                raise ValueError("the inner solver of OuterBias must not end by itself: stop='gap'")
            if inner.bias_step != "gradient":
                raise ValueError("OuterBias holds the bias: the inner solver takes no bias_step")

    def init(
        self, problem: LinearProblem, backend: Backend, rng: np.random.Generator
    ) -> OuterBiasState:
        if problem.bias != "free":
            raise ValueError(f"OuterBias is for a free bias; this one is {problem.bias!r}")
        bias = problem.bias_at_zero
        spread = float(np.mean(np.abs(problem.t - problem.sign * bias)))
        state = OuterBiasState(
            inner=self.inner.init(problem.without_bias, backend, rng),
            bias=bias,
            step=spread or 1.0,
            passes=self.passes,
            look_at=problem.n_rows,
        )
        self._hold(problem, state)
        return state

    def advance(
        self, problem: LinearProblem, state: OuterBiasState, backend: Backend, budget: int
    ) -> OuterBiasState:
        end = state.inner.rows_visited + budget
        while state.inner.rows_visited < end:
            rows = min(end, state.look_at) - state.inner.rows_visited
            state.inner = self.inner.advance(problem.without_bias, state.inner, backend, rows)
            if state.inner.rows_visited >= state.look_at or _gap(state.inner) < math.inf:
                self._look(problem, state)
                state.look_at = state.inner.rows_visited + problem.n_rows
        return state

    def _look(self, problem: LinearProblem, state: OuterBiasState) -> None:
        """Move b if the inner solver knows by now which way, or has had its passes."""
        alpha = self.inner.iterate(problem.without_bias, state.inner).alpha
        pull = _pull(problem, alpha)
        span = state.high - state.low
        if pull == 0.0 or span <= 1e-12 * (1.0 + abs(state.bias)):
            return
        reach = _gap(state.inner) / abs(pull)  # no better b lies farther back than that
        if not reach <= 0.25 * min(span, state.step):
            if state.inner.rows_visited - state.moved_at < state.passes * problem.n_rows:
                return
            reach, state.passes = 0.0, 2.0 * state.passes
        if pull > 0:
            state.low, state.left = state.bias - reach, alpha
            state.streak = max(state.streak, 0) + 1
            far = state.high = state.high if state.bias < state.high else math.inf
        else:
            state.high, state.right = state.bias + reach, alpha
            state.streak = min(state.streak, 0) - 1
            far = state.low = state.low if state.bias > state.low else -math.inf
        if math.isinf(far):
            state.bias += math.copysign(state.step, pull)
            state.step *= 2.0
        elif abs(state.streak) == _SAME_WAY:  # it may have been set by a wrong sign
            state.bias, state.streak = far, 0
        else:
            state.bias = 0.5 * (state.low + state.high)
        self._hold(problem, state)

    def _hold(self, problem: LinearProblem, state: OuterBiasState) -> None:
        """Put b where the inner steps read it; what was learnt at another b counts less."""
        inner = state.inner
        state.moved_at = inner.rows_visited
        if isinstance(inner, SubgradientState):
            inner.scalars[2] = state.bias
            inner.table[0::4] *= _OLD_VISITS
            inner.table[1::4] *= _OLD_VISITS
        else:
            rows = np.flatnonzero(np.broadcast_to(problem.weight, problem.n_rows))
            state.inner = SDCAState(
                table=inner.table,
                w=inner.w,
                bias=state.bias,
                centre=state.bias,
                order=rows.astype(np.uint32),
                seed=inner.seed,
                active=rows.size,
                rows_visited=inner.rows_visited,
            )

    def iterate(self, problem: LinearProblem, state: OuterBiasState) -> Iterate:
        found = self.inner.iterate(problem.without_bias, state.inner)
        alpha, pull = found.alpha, _pull(problem, found.alpha)
        other = state.right if pull > 0 else state.left
        if other.size and pull != 0.0:
            share = pull / (pull - _pull(problem, other))
            alpha = alpha + share * (other - alpha)
        return Iterate(found.w, found.bias, alpha, try_combination=True)

    def progress(self, problem: LinearProblem, state: OuterBiasState) -> Progress:
        return Progress(state.inner.rows_visited)


def _gap(inner: Any) -> float:
    """Of the inner problem, where it is known: when SDCA has just screened all rows."""
    known = isinstance(inner, SDCAState) and inner.hint == inner.screened
    return float(inner.screened) if known else math.inf


def _pull(problem: LinearProblem, alpha: Any) -> float:
    """−J′(b) if α is optimal there."""
    return float(np.sum(problem.sign * problem.weight * alpha)) / problem.total_weight
