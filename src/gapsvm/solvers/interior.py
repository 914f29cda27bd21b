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

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import ThreadpoolController

from gapsvm.backends import Backend
from gapsvm.losses import FiveNumbers
from gapsvm.problem import Iterate, LinearProblem
from gapsvm.trace import Progress

_TO_BOUNDARY = 0.995
_CORRECTORS = 3
"""Further right-hand sides for one factorisation, as long as each lengthens the step ..."""
_LONG, _LONGER = 0.7, 1.05
"""... that is shorter than this, by so much."""
_FARTHER, _FARTHER_BY = 1.3, 0.3
"""A corrector looks at the products so much beyond the step it is to lengthen, ..."""
_LEAST, _MOST = 0.1, 10.0
"""... and moves those outside these multiples of the goal back to them."""
_PARTS, _ROWS_PER_FEATURE = 8, 16
"""XᵀΩX is formed in so many parts at most, each of so many rows a feature at least."""
_STALL = 12  # steps without progress after which nothing more is expected
_POLISH = 3  # the same, once the gap is at the level of rounding


@dataclass
class InteriorState:
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
    best: Iterate
    best_gap: float = math.inf
    since_best: int = 0
    broken: bool = False
    """The normal equations could not be factorised any more."""
    steps: int = 0


@dataclass(frozen=True)
class InteriorPoint:
    """Primal-dual interior point; 20–50 steps of O(n·nnz²) or O(n·d²), to 1e-12 and beyond."""

    def init(
        self, problem: LinearProblem, backend: Backend, rng: np.random.Generator
    ) -> InteriorState:
        problem.refuse_radius("interior")
        curve = problem.loss.curve
        if not isinstance(curve, FiveNumbers):
            raise ValueError(
                f"method 'interior' has no barrier for loss {problem.loss.name!r}; use 'sdca'"
            )
        n, d = problem.rows.shape
        upper, bounded = _upper(curve)
        # Multipliers start at the size of what they have to balance: the mean |t − z| at w = 0.
        bias = problem.bias_at_zero if problem.loss.kind == "response" else 0.0
        size = max(float(np.mean(np.abs(problem.t - bias))), 1e-12)
        u = np.where(bounded, 0.5 * upper, size / (curve.gamma or 1.0)) * np.ones(n)
        slack = np.where(bounded, upper - u, 1.0)
        zeta = np.full_like(u, size)
        upsilon = bounded * zeta
        gram = None
        if n < d:
            X = problem.rows.to_scipy()
            product = X @ X.T
            gram = np.asarray(product.todense() if hasattr(product, "todense") else product, float)
        w = np.zeros(d)
        start = Iterate(w, bias, np.zeros(n))
        return InteriorState(w, bias, u, slack, zeta, upsilon, gram, start)

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
        self._remember(problem, state, backend)
        return state

    def _remember(self, problem: LinearProblem, state: InteriorState, backend: Backend) -> None:
        """Keep the iterate with the least gap."""
        curve = problem.loss.curve
        alpha = np.clip(self._alpha(state), curve.lo, curve.hi)
        iterate = Iterate(state.w, state.bias, alpha)
        gap = problem.certify(iterate, backend).gap
        state.since_best += 1
        if gap < state.best_gap:
            if gap < 0.9 * state.best_gap:
                state.since_best = 0
            state.best, state.best_gap = iterate, gap

    @staticmethod
    def _alpha(state: InteriorState) -> Any:
        return state.u[0] - state.u[1] if len(state.u) == 2 else state.u[0]

    def iterate(self, problem: LinearProblem, state: InteriorState) -> Iterate:
        return state.best

    def progress(self, problem: LinearProblem, state: InteriorState) -> Progress:
        p0 = problem.primal_at_zero
        if state.best_gap > p0:  # still on the way in
            patience = 5 * _STALL
        else:
            patience = _STALL if state.best_gap > 1e-11 * p0 else _POLISH
        return Progress(
            state.steps * problem.n_rows,
            gap_hint=state.best_gap,
            exhausted=state.broken or state.since_best >= patience,
        )


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> Any:
    """BLAS on the caller's own core: its threads spin, and where cores are shared a small
    factorisation took twenty times as long with two of them."""
    return _blas().limit(limits=1, user_api="blas")


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
        self.mass = self.sign * self.weight * InteriorPoint._alpha(state)
        self.scale = problem.lam * problem.total_weight
        self.missing_w = self._combine(self.mass) - self.scale * state.w
        z = self.sign * (self._margins(state.w) + state.bias)
        self.residual, self.stiffness = np.empty_like(state.u), np.empty_like(state.u)
        self.omega = np.empty(n)
        self.total = backend.barrier_terms(
            curve.gamma,
            curve.eps,
            state.u,
            state.slack,
            state.zeta,
            state.upsilon,
            z,
            t,
            self.weight,
            self.residual,
            self.stiffness,
            self.omega,
        )
        self._factorise()

    def _factorise(self) -> None:
        problem, omega = self.problem, self.omega
        if self.state.gram is None:
            matrix = self._weighted_gram()
            matrix[np.diag_indices_from(matrix)] += self.scale
        else:
            self.used = np.flatnonzero(omega > 0)
            matrix = self.state.gram[np.ix_(self.used, self.used)] / self.scale
            matrix[np.diag_indices_from(matrix)] += 1.0 / omega[self.used]
        self.factor = cho_factor(matrix, lower=True, check_finite=False, overwrite_a=True)
        if problem.bias != "none":
            border = self._combine(omega) if self.state.gram is None else np.ones(self.used.size)
            self.border = border
            self.solved_border = cho_solve(self.factor, border, check_finite=False)

    def _weighted_gram(self) -> Any:
        """XᵀΩX, in parts that do not depend on the number of threads."""
        n, d = self.problem.rows.shape
        count = max(1, min(_PARTS, n // (_ROWS_PER_FEATURE * d + 1)))

        def part(rows: slice) -> Any:
            view = self.problem.rows.part(rows.start, rows.stop)
            return self.backend.weighted_gram(view, self.omega[rows], d)

        total, *others = self.backend.map(part, self.problem.rows.slices(count))
        for other in others:
            total += other
        return total

    def _combine(self, coef: Any) -> Any:
        out = np.zeros(self.problem.n_features)
        self.backend.combination(self.problem.rows.view, coef, out)
        return out

    def _margins(self, w: Any) -> Any:
        out = np.empty(self.problem.n_rows)
        self.backend.margins(self.problem.rows.view, w, out)
        return out

    def direction(self, lower: Any, upper: Any) -> _Direction:
        """Towards u·ζ = lower and (U − u)·υ = upper, second-order terms included."""
        state, backend = self.state, self.backend
        here = (state.u, state.slack, state.zeta, state.upsilon)
        pull, (du, dzeta, dupsilon) = np.empty(self.omega.size), np.empty((3, *state.u.shape))
        terms = (self.residual, self.stiffness, lower, upper)
        backend.barrier_pull(state.u, state.slack, *terms, self.sign, self.weight, pull)
        dw, db = self._solve(pull)
        dz = self.sign * (self._margins(dw) + db)
        reach, first, second = backend.barrier_direction(
            *here, *terms, dz, self.weight, self.bounded[:, 0], du, dzeta, dupsilon
        )
        reach = min(reach, 1.0 / _TO_BOUNDARY)
        return _Direction(dw, db, du, dzeta, dupsilon, reach, first, second)

    def recentred(self, direction: _Direction, lower: Any, upper: Any, goal: float) -> _Direction:
        """A longer step if there is one: products that would stray far from the goal, and so end
        the step early, are aimed back (Gondzio 1996).  Modified: lower, upper."""
        state = self.state
        here = (state.u, state.slack, state.zeta, state.upsilon)
        for _ in range(_CORRECTORS):
            if direction.reach >= _LONG:
                break
            length = min(1.0, _FARTHER * direction.reach + _FARTHER_BY)
            there = (direction.u, direction.zeta, direction.upsilon)
            least, most = _LEAST * goal, _MOST * goal
            self.backend.barrier_aims(
                *here, *there, self.bounded[:, 0], length, least, most, lower, upper
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

    def _solve(self, pull: Any) -> tuple[Any, float]:
        """The bordered system: (λS·I + XᵀΩX)dw + XᵀΩ1·db = missing_w − Xᵀpull, and b's row."""
        problem = self.problem
        rhs_bias = float(self.mass.sum() - pull.sum())
        penalty = 0.0
        if problem.bias == "penalized":
            penalty = self.scale / problem.bias_ratio
            rhs_bias -= penalty * self.state.bias
        if self.state.gram is None:
            rhs = self.missing_w - self._combine(pull)
            dw = cho_solve(self.factor, rhs, check_finite=False)
            if problem.bias == "none":
                return dw, 0.0
            total = float(self.omega.sum()) + penalty
            corner = max(total - float(self.border @ self.solved_border), 1e-15 * total)
            db = (rhs_bias - self.border @ dw) / corner
            return dw - db * self.solved_border, float(db)
        return self._solve_by_rows(pull, rhs_bias, penalty)

    def _solve_by_rows(self, pull: Any, rhs_bias: float, penalty: float) -> tuple[Any, float]:
        """The same through v = Ω(X dw + db) + pull: (Ω⁻¹ + XXᵀ/λS)v = Ω⁻¹pull + X·missing/λS + db.

        dw = (missing_w − Xᵀv)/λS.
        """
        used, problem = self.used, self.problem
        rhs = pull[used] / self.omega[used] + self._margins(self.missing_w / self.scale)[used]
        v = cho_solve(self.factor, rhs, check_finite=False)
        db = 0.0
        if problem.bias != "none":
            # b's row: penalty·db + Σ v = Σ mass − penalty·b
            target = rhs_bias + float(pull.sum())
            corner = penalty + float(self.border @ self.solved_border)
            db = float((target - v.sum()) / corner)
            v = v + db * self.solved_border
        full = np.zeros(problem.n_rows)
        full[used] = v
        return (self.missing_w - self._combine(full)) / self.scale, db
