"""A free bias found by an outer search (Pegasos §6, the last treatment).

J(b) = min_w P(w, b) is convex, and −J′(b) = (1/S) Σ s_i σ_i α_i at the inner optimum: its sign says
on which side of b the best one lies.  An inner solver minimises over w while b is held; b moves
when the sign is certain, or when the inner solver has had its passes, and w and α go on from where
they are.  The search speaks to the inner solver by methods alone, those of ``HoldsBias``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.kernel import KernelIterate, KernelProblem
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.problems.row_losses import RowLosses
from gapsvm.registry.storable import storable
from gapsvm.solvers.base import refusal_of
from gapsvm.solvers.subgradient.solver import Subgradient
from gapsvm.solvers.trace import Progress

WithBias = LinearProblem | KernelProblem
_SAME_WAY = 3
"""After so many moves towards one end of the bracket, that end is tried again."""


@runtime_checkable
class HoldsBias(Protocol):
    """What the search needs of an inner solver, beyond what every solver offers."""

    def with_bias(self, problem: WithBias, state: Any, bias: float) -> Any:
        """The state with b held there; what was learnt at another b may count less."""

    def known_gap(self, state: Any) -> float:
        """Of the inner problem, where it is known at this moment; infinite where it is not."""

    def refusal_as_inner(self) -> str:
        """Why the solver cannot be an inner one as it is set up; empty if it can."""


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
    inner : Subgradient, SDCA, or any solver that can hold a bias (``HoldsBias``)
    passes : float
        After so many, b moves by the sign of the slope at hand.  Each such move doubles them: the
        closer b is, the more exact the slope has to be.  SDCA knows its gap, and is mostly certain
        before.
    """

    inner: Any = field(default_factory=Subgradient)
    passes: float = 2.0

    def __post_init__(self) -> None:
        inner = self.inner
        if not isinstance(inner, HoldsBias):
            raise ValueError(
                "OuterBias is around a solver that can hold a bias, such as Subgradient or SDCA, "
                f"not {type(inner).__name__}"
            )
        if not 0 < self.passes < math.inf:
            raise ValueError(f"passes must be positive and finite, got {self.passes!r}")
        if inner.refusal_as_inner():
            raise ValueError(inner.refusal_as_inner())

    def refusal(self, problem: object) -> str:
        """What the problem lacks for this solver to work; empty if nothing."""
        if not isinstance(problem, LinearProblem | KernelProblem) or problem.bias != "free":
            bias = getattr(problem, "bias", "none")
            return f"OuterBias is for a free bias; this one is {bias!r}"
        return refusal_of(self.inner, problem.without_bias)

    def init(self, problem: WithBias, backend: Backend, rng: np.random.Generator) -> OuterBiasState:
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
        self, problem: WithBias, state: OuterBiasState, backend: Backend, budget: int
    ) -> OuterBiasState:
        visited = self._visited(problem, state)
        end = visited + budget
        while visited < end:
            rows = min(end, state.look_at) - visited
            state.inner = self.inner.advance(problem.without_bias, state.inner, backend, rows)
            visited = self._visited(problem, state)
            if visited >= state.look_at or self.inner.known_gap(state.inner) < math.inf:
                self._look(problem, state)
                state.look_at = visited + problem.n_rows
        return state

    def _visited(self, problem: WithBias, state: OuterBiasState) -> int:
        """Rows, by the inner solver."""
        return int(self.inner.progress(problem.without_bias, state.inner).rows_visited)

    def _look(self, problem: WithBias, state: OuterBiasState) -> None:
        """Move b if the inner solver knows by now which way, or has had its passes."""
        alpha = self.inner.iterate(problem.without_bias, state.inner).alpha
        pull = _pull(problem, alpha)
        span = state.high - state.low
        if pull == 0.0 or span <= 1e-12 * (1.0 + abs(state.bias)):
            return
        gap = self.inner.known_gap(state.inner)
        reach = gap / abs(pull)  # no better b lies farther back than that
        if not reach <= 0.25 * min(span, state.step):
            if self._visited(problem, state) - state.moved_at < state.passes * problem.n_rows:
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

    def _hold(self, problem: WithBias, state: OuterBiasState) -> None:
        """Put b where the inner steps read it; what was learnt at another b counts less."""
        state.moved_at = self._visited(problem, state)
        state.inner = self.inner.with_bias(problem.without_bias, state.inner, state.bias)

    def iterate(self, problem: WithBias, state: OuterBiasState) -> Iterate | KernelIterate:
        found = self.inner.iterate(problem.without_bias, state.inner)
        alpha, pull = found.alpha, _pull(problem, found.alpha)
        other = state.right if pull > 0 else state.left
        if other.size and pull != 0.0:
            share = pull / (pull - _pull(problem, other))
            alpha = alpha + share * (other - alpha)
        if isinstance(found, KernelIterate):
            return replace(found, alpha=alpha)
        return Iterate(found.w, found.bias, alpha, try_combination=True)

    def progress(self, problem: WithBias, state: OuterBiasState) -> Progress:
        return Progress(self._visited(problem, state))


def _pull(problem: RowLosses, alpha: Any) -> float:
    """−J′(b) if α is optimal there."""
    return float(np.sum(problem.sign * problem.weight * alpha)) / problem.total_weight
