"""Interior point: Mehrotra's predictor-corrector on the dual box, whatever λ is, with Gondzio's
centrality correctors.

The dual of a five-number loss is a box-constrained QP in u ≥ 0: u = α when lo = 0, otherwise
α = p − m with p ∈ [0, hi], m ∈ [0, −lo] (at the optimum p·m = 0, so (γ/2)(p² + m²) may stand for
(γ/2)(p − m)²).  With e = ±1 for p and m, its optimality conditions, perturbed by μ, are

    r ≡ ε − e·t + γu + e·z − ζ + υ = 0,   u·ζ = μ,   (U − u)·υ = μ,
    z_i = σ_i(⟨x_i, w⟩ + b),   λS·w = Σ σ_i s_i α_i x_i,   λS·b/ρ = Σ σ_i s_i α_i  (free: 0 = …)

Newton's step, all but (dw, db) eliminated, has the matrix λS·I + XᵀΩX bordered by the bias, with
Ω_i = s_i Σ 1/(γ + ζ/u + υ/(U − u)): d × d, or for d > n its n × n counterpart.  Sums weigh rows by
s_i, so that weight 2 is a row twice, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from gapsvm.backends import Backend
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.base import Foreseen, refusal_of_balls, refusal_of_others
from gapsvm.solvers.newton.newton import Newton
from gapsvm.solvers.newton.normal_equations import (
    BestSoFar,
    NormalEquations,
    gram_of_rows,
)
from gapsvm.solvers.trace import Progress
from gapsvm.system.blas import one_blas_thread
from gapsvm.types.curves import FiveNumbers
from gapsvm.types.steps import BarrierAims, BarrierEquations, BarrierMove, BarrierPoint

_TO_BOUNDARY = 0.995
_CORRECTORS = 3
"""Further right-hand sides for one factorisation, as long as each lengthens the step ..."""
_LONG, _LONGER = 0.7, 1.05
"""... that is shorter than this, by so much."""
_FARTHER, _FARTHER_BY = 1.3, 0.3
"""A corrector looks at the products so much beyond the step it is to lengthen, ..."""
_LEAST, _MOST = 0.1, 10.0
"""... and moves those outside these multiples of the goal back to them."""


@storable
@dataclass
class InteriorState(BestSoFar):
    """Primal-dual point: u and its slack U − u are both kept, so neither loses digits near 0.

    Where U is infinite the slack stays 1 and its multiplier υ stays 0.
    """

    w: Any
    bias: float
    u: Any
    slack: Any
    zeta: Any
    upsilon: Any
    gram: Any
    """XXᵀ when there are fewer rows than features, else None."""


@storable
@dataclass(frozen=True)
class InteriorPoint:
    """Primal-dual interior point; 20–50 steps of O(n·nnz²) or O(n·d²), to 1e-12 and beyond."""

    def refusal(self, problem: object) -> str:
        """What the problem lacks for this solver to work; empty if nothing."""
        if not isinstance(problem, LinearProblem):
            return refusal_of_others(problem, LinearProblem)
        found = refusal_of_balls(problem)
        if not found and not isinstance(problem.loss.curve, FiveNumbers):
            found = f"there is no barrier for loss {problem.loss.name!r}; use Newton"
        return found

    def tuned(self, problem: object, foreseen: Foreseen) -> InteriorPoint | Newton:
        """For losses whose conjugate is its own barrier: Newton's method."""
        newton = Newton()
        return self if newton.refusal(problem) else newton

    def init(
        self, problem: LinearProblem, backend: Backend, rng: np.random.Generator
    ) -> InteriorState:
        curve: Any = problem.loss.curve
        n, d = problem.rows.shape
        upper, bounded = _upper(curve)
        # Multipliers start at the size of what they have to balance: the mean |t − z| at w = 0.
        bias = problem.bias_at_zero if problem.loss.kind == "response" else 0.0
        size = max(float(np.mean(np.abs(problem.t - bias))), 1e-12)
        u = np.where(bounded, 0.5 * upper, size / (curve.curvature or 1.0)) * np.ones(n)
        slack = np.where(bounded, upper - u, 1.0)
        zeta = np.full_like(u, size)
        upsilon = bounded * zeta
        w = np.zeros(d)
        start = Iterate(w, bias, np.zeros(n))
        return InteriorState(w, bias, u, slack, zeta, upsilon, gram_of_rows(problem), best=start)

    def advance(
        self, problem: LinearProblem, state: InteriorState, backend: Backend, budget: int
    ) -> InteriorState:
        state.steps += 1
        with one_blas_thread(), np.errstate(all="ignore"):
            try:
                return self._advance(problem, state, backend)
            except LinAlgError:  # the matrix lost its last digits: what is known is the best
                state.broken = True
                return state

    def _advance(
        self, problem: LinearProblem, state: InteriorState, backend: Backend
    ) -> InteriorState:
        step = _NewtonStep(problem, state, backend)
        affine = step.direction(np.zeros_like(state.u), np.zeros_like(state.u))
        mu = step.products(affine, 0.0)
        centring = (step.products(affine, affine.reach) / mu) ** 3 if mu > 0 else 0.0
        lower = centring * mu - affine.u * affine.zeta
        upper = step.bounded * (centring * mu + affine.u * affine.upsilon)
        combined = step.recentred(step.direction(lower, upper), lower, upper, centring * mu)
        length = min(1.0, _TO_BOUNDARY * combined.reach)
        state.w = state.w + length * combined.w
        state.bias += length * combined.bias
        state.u = state.u + length * combined.u
        state.slack = state.slack - length * step.bounded * combined.u
        state.zeta = state.zeta + length * combined.zeta
        state.upsilon = state.upsilon + length * combined.upsilon
        curve = problem.loss.curve
        alpha = np.clip(self._alpha(state), curve.lo, curve.hi)
        state.remember(problem, backend, Iterate(state.w, state.bias, alpha))
        return state

    @staticmethod
    def _alpha(state: InteriorState) -> Any:
        return state.u[0] - state.u[1] if len(state.u) == 2 else state.u[0]

    def iterate(self, problem: LinearProblem, state: InteriorState) -> Iterate:
        return state.best

    def progress(self, problem: LinearProblem, state: InteriorState) -> Progress:
        return state.progress(problem)


def _upper(curve: FiveNumbers) -> tuple[Any, Any]:
    """U for p and, if lo < 0, for m; and whether it is finite."""
    upper = np.array([[curve.hi]] if curve.lo == 0 else [[curve.hi], [-curve.lo]])
    return upper, np.isfinite(upper)


@dataclass(frozen=True)
class _Direction:
    """Newton's step, how far it may go, and how the products change on the way."""

    w: Any
    bias: float
    u: Any
    zeta: Any
    upsilon: Any
    reach: float
    """Length of the step to the nearest boundary, a little more than 1 at most."""
    first: float
    second: float
    """Σ s(u·ζ + (U − u)·υ) changes by first·a + second·a² after a step of length a."""


class _NewtonStep:
    """One factorisation, any number of right-hand sides (predictor, corrector)."""

    def __init__(self, problem: LinearProblem, state: InteriorState, backend: Backend) -> None:
        curve: FiveNumbers = problem.loss.curve  # type: ignore[assignment]
        self.problem, self.state, self.backend = problem, state, backend
        self.bounded = _upper(curve)[1].astype(float)
        n = problem.n_rows
        self.weight, self.sign, t = (
            np.ascontiguousarray(np.broadcast_to(per_row, (n,)))
            for per_row in (problem.weight, problem.sign, problem.t)
        )
        self.equations = NormalEquations(problem, backend, state.gram)
        mass = self.sign * self.weight * InteriorPoint._alpha(state)
        self.missing = self.equations.missing(state.w, state.bias, mass)
        z = self.sign * (self.equations.margins(state.w) + state.bias)
        self.point = BarrierPoint(state.u, state.slack, state.zeta, state.upsilon)
        self.terms = BarrierEquations(*backend.empty((2, *state.u.shape)))
        self.omega = backend.empty(n)
        self.total = backend.barrier_terms(
            curve, self.point, z, t, self.weight, self.terms, self.omega
        )
        self.equations.factorise(self.omega)

    def direction(self, lower: Any, upper: Any) -> _Direction:
        """Towards u·ζ = lower and (U − u)·υ = upper, second-order terms included."""
        backend, aims = self.backend, BarrierAims(lower, upper)
        pull, move = backend.empty(self.omega.size), BarrierMove(*backend.empty((3, *lower.shape)))
        backend.barrier_pull(self.point, self.terms, aims, self.sign, self.weight, pull)
        dw, db = self.equations.solve(*self.missing, pull)
        dz = self.sign * (self.equations.margins(dw) + db)
        reach, first, second = backend.barrier_direction(
            self.point, self.terms, aims, dz, self.weight, self.bounded[:, 0], move
        )
        reach = min(reach, 1.0 / _TO_BOUNDARY)
        return _Direction(dw, db, *move, reach, first, second)

    def recentred(self, direction: _Direction, lower: Any, upper: Any, goal: float) -> _Direction:
        """A longer step if there is one: products that would stray far from the goal, and so end
        the step early, are aimed back (Gondzio 1996).  Modified: lower, upper."""
        for _ in range(_CORRECTORS):
            if direction.reach >= _LONG:
                break
            length = min(1.0, _FARTHER * direction.reach + _FARTHER_BY)
            move = BarrierMove(direction.u, direction.zeta, direction.upsilon)
            aims, least, most = BarrierAims(lower, upper), _LEAST * goal, _MOST * goal
            self.backend.barrier_aims(
                self.point, move, self.bounded[:, 0], length, least, most, aims
            )
            other = self.direction(lower, upper)
            if other.reach < _LONGER * direction.reach:
                break
            direction = other
        return direction

    def products(self, direction: _Direction, length: float) -> float:
        """Mean of u·ζ and (U − u)·υ after a step of that length."""
        pairs = self.problem.total_weight * (self.bounded.size + self.bounded.sum())
        total = self.total + (direction.first + direction.second * length) * length
        return float(total / pairs)
