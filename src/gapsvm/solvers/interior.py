"""Interior point: Mehrotra's predictor-corrector on the dual box, whatever λ is.

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
        affine = step.direction(target=0.0, second_order=(0.0, 0.0))
        mu = step.complementarity(affine, 0.0)
        reach = step.longest(affine)
        centring = (step.complementarity(affine, reach) / mu) ** 3 if mu > 0 else 0.0
        du, dzeta, dupsilon = affine[2:]
        combined = step.direction(centring * mu, (du * dzeta, -du * dupsilon))
        length = min(1.0, _TO_BOUNDARY * step.longest(combined))
        dw, db, du, dzeta, dupsilon = combined
        state.w = state.w + length * dw
        state.bias += length * db
        state.u = state.u + length * du
        state.slack = state.slack - length * du * step.bounded
        state.zeta = state.zeta + length * dzeta
        state.upsilon = state.upsilon + length * dupsilon
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


def _sides(count: int) -> Any:
    """e: +1 for p, −1 for m."""
    return np.array([[1.0], [-1.0]])[:count]


def _upper(curve: FiveNumbers) -> tuple[Any, Any]:
    """U for p and, if lo < 0, for m; and whether it is finite."""
    upper = np.array([[curve.hi]] if curve.lo == 0 else [[curve.hi], [-curve.lo]])
    return upper, np.isfinite(upper)


class _NewtonStep:
    """One factorisation, two right-hand sides (predictor and corrector)."""

    def __init__(self, problem: LinearProblem, state: InteriorState, backend: Backend) -> None:
        curve: FiveNumbers = problem.loss.curve  # type: ignore[assignment]
        self.problem, self.state = problem, state
        self.bounded = _upper(curve)[1]
        self.e = _sides(len(state.u))
        n = problem.n_rows
        self.weight = np.broadcast_to(problem.weight, (n,))
        margins, combination = np.empty(n), np.zeros(problem.n_features)
        self.sign = np.broadcast_to(problem.sign, (n,))
        self.mass = self.sign * self.weight * InteriorPoint._alpha(state)
        backend.margins(problem.rows.view, state.w, margins)
        backend.combination(problem.rows.view, self.mass, combination)
        self.scale = problem.lam * problem.total_weight
        self.missing_w = combination - self.scale * state.w
        z = self.sign * (margins + state.bias)
        self.residual = curve.eps - self.e * problem.t + curve.gamma * state.u + self.e * z
        self.barrier = curve.gamma + state.zeta / state.u + state.upsilon / state.slack
        self.omega = self.weight * (1.0 / self.barrier).sum(0)
        self.backend = backend
        self._factorise()

    def _factorise(self) -> None:
        problem, omega = self.problem, self.omega
        if self.state.gram is None:
            matrix = self.backend.weighted_gram(problem.rows.view, omega, problem.n_features)
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

    def _combine(self, coef: Any) -> Any:
        out = np.zeros(self.problem.n_features)
        self.backend.combination(self.problem.rows.view, coef, out)
        return out

    def _margins(self, w: Any) -> Any:
        out = np.empty(self.problem.n_rows)
        self.backend.margins(self.problem.rows.view, w, out)
        return out

    def direction(self, target: float, second_order: tuple[Any, Any]) -> tuple[Any, ...]:
        """dw, db, du, dζ, dυ towards complementarity ``target``."""
        state = self.state
        to_lower = (target - second_order[0]) / state.u
        to_upper = self.bounded * (target - second_order[1]) / state.slack
        r = self.residual - to_lower + to_upper
        pull = self.weight * self.sign * (self.e * r / self.barrier).sum(0)  # −Σ σ s dα at dz = 0
        dw, db = self._solve(pull)
        dz = self.sign * (self._margins(dw) + db)
        du = -(r + self.e * dz) / self.barrier
        dzeta = to_lower - state.zeta - state.zeta / state.u * du
        dupsilon = to_upper - state.upsilon + state.upsilon / state.slack * du
        return dw, db, du, dzeta, dupsilon

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

    def longest(self, direction: tuple[Any, ...]) -> float:
        """The step to the nearest boundary."""
        _, _, du, dzeta, dupsilon = direction
        state = self.state
        pairs = (
            (state.u, du),
            (state.slack, -du * self.bounded),
            (state.zeta, dzeta),
            (state.upsilon, dupsilon),
        )
        longest = 1.0 / _TO_BOUNDARY
        for value, change in pairs:
            falls = change < 0
            if falls.any():
                longest = min(longest, float(np.min(-value[falls] / change[falls])))
        return longest

    def complementarity(self, direction: tuple[Any, ...], length: float) -> float:
        """Mean of u·ζ and (U − u)·υ after a step of that length."""
        _, _, du, dzeta, dupsilon = direction
        state = self.state
        lower = (state.u + length * du) * (state.zeta + length * dzeta)
        slack = state.slack - length * du * self.bounded
        upper = slack * (state.upsilon + length * dupsilon)
        pairs = self.problem.total_weight * (len(lower) + self.bounded.sum())
        return float(np.sum(self.weight * (lower + upper)) / pairs)
