"""What Newton's method and the interior point share: the linear system of a step, and their best.

The linear system of a step on (w, b), is formed from the rows and factorised once:

    (λS·I + XᵀΩX)dw + XᵀΩ1·db = missing_w − Xᵀpull
    1ᵀΩX·dw + (Σ Ω + λS/ρ)db  = missing_b − Σ pull          (the bias: penalised, or free: ρ = ∞)

d × d, or for d > n its n × n counterpart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.rows.matrix import Rows
from gapsvm.solvers.trace import Progress
from gapsvm.system.lazy import linalg

_WIDEST = 4000
"""Largest min(n, d) whose normal equations are formed without being asked."""
_PARTS, _ROWS_PER_FEATURE = 8, 16
"""XᵀΩX is formed in so many parts at most, each of so many rows a feature at least."""
_STALL = 12  # steps without progress after which nothing more is expected
_POLISH = 3  # the same, once the gap is at the level of rounding


def are_narrow(rows: Rows) -> bool:
    """Whether normal equations of such rows fit into memory and patience."""
    return min(rows.shape) <= _WIDEST


def step_nanoseconds(problem: LinearProblem) -> float:
    """What one step of an exact method costs, as measured on tables, text and dense data.

    Vectors of length n cost 110 ns a row, the ten or so looks at a value 11 ns, a product that is
    scattered 0.8 ns (there are half as many as pairs in a row), one by BLAS 0.05 ns.
    """
    n, d = problem.rows.shape
    stored = problem.rows.n_stored
    if n < d:
        return 110.0 * n + 11.0 * stored + 0.05 * n**3
    by_blas = 0.05 * n * d**2
    if not problem.rows.is_sparse:
        return 110.0 * n + 4.0 * stored + by_blas + 0.02 * d**3
    scattered = 0.4 * stored**2 / max(n, 1)
    return 110.0 * n + 11.0 * stored + min(scattered, by_blas + 2.0 * n * d) + 0.02 * d**3


@dataclass(kw_only=True)
class BestSoFar:
    """The part of a state that knows the iterate with the least certified gap."""

    best: Iterate
    best_gap: float = math.inf
    since_best: int = 0
    broken: bool = False
    """The normal equations could not be factorised any more."""
    steps: int = 0

    def remember(self, problem: LinearProblem, backend: Backend, iterate: Iterate) -> None:
        """Certify the iterate, and keep it if no other had a smaller gap."""
        gap = problem.certify(iterate, backend).gap
        self.since_best += 1
        if gap < self.best_gap:
            if gap < 0.9 * self.best_gap:
                self.since_best = 0
            self.best, self.best_gap = iterate, gap

    def progress(self, problem: LinearProblem) -> Progress:
        p0 = problem.primal_at_zero
        if self.best_gap > p0:  # still on the way in
            patience = 5 * _STALL
        else:
            patience = _STALL if self.best_gap > 1e-11 * p0 else _POLISH
        return Progress(
            self.steps * problem.n_rows,
            gap_hint=self.best_gap,
            exhausted=self.broken or self.since_best >= patience,
        )


def gram_of_rows(problem: LinearProblem) -> Any:
    """XXᵀ when there are fewer rows than features, else None."""
    n, d = problem.rows.shape
    if n >= d:
        return None
    X = problem.rows.to_scipy()
    product = X @ X.T
    return np.asarray(product.todense() if hasattr(product, "todense") else product, float)


class NormalEquations:
    """One factorisation, any number of right-hand sides."""

    def __init__(self, problem: LinearProblem, backend: Backend, gram: Any) -> None:
        self.problem, self.backend, self.gram = problem, backend, gram
        self.scale = problem.lam * problem.total_weight
        penalised = problem.bias == "penalized"
        self.penalty = self.scale / problem.bias_ratio if penalised else 0.0

    def missing(self, w: Any, bias: float, mass: Any) -> tuple[Any, float]:
        """Σ mass_i x_i − λS·w, and the same of the bias: minus the gradient of S·P."""
        return self._combine(mass) - self.scale * w, float(mass.sum()) - self.penalty * bias

    def margins(self, w: Any) -> Any:
        """⟨x_i, w⟩ of every row."""
        out = self.backend.empty(self.problem.n_rows)
        self.backend.margins(self.problem.rows.view, w, out)
        return out

    def factorise(self, omega: Any) -> None:
        """Ω = diag(omega); raises ``LinAlgError`` where the matrix has lost its last digits."""
        self.omega = omega
        if self.gram is None:
            matrix = self._normal_matrix()
            matrix[np.diag_indices_from(matrix)] += self.scale
        else:
            self.used = np.flatnonzero(omega > 0)
            matrix = self.gram[np.ix_(self.used, self.used)] / self.scale
            matrix[np.diag_indices_from(matrix)] += 1.0 / omega[self.used]
        self.factor = linalg.cho_factor(matrix, lower=True, check_finite=False, overwrite_a=True)
        if self.problem.bias != "none":
            self.border = self._combine(omega) if self.gram is None else np.ones(self.used.size)
            self.solved_border = linalg.cho_solve(self.factor, self.border, check_finite=False)

    def solve(self, missing_w: Any, missing_bias: float, pull: Any = None) -> tuple[Any, float]:
        """(dw, db)."""
        pull = np.zeros(self.problem.n_rows) if pull is None else pull
        if self.gram is not None:
            return self._solve_by_rows(missing_w, missing_bias, pull)
        dw = linalg.cho_solve(self.factor, missing_w - self._combine(pull), check_finite=False)
        if self.problem.bias == "none":
            return dw, 0.0
        total = float(self.omega.sum()) + self.penalty
        corner = max(total - float(self.border @ self.solved_border), 1e-15 * total)
        db = (missing_bias - float(pull.sum()) - self.border @ dw) / corner
        return dw - db * self.solved_border, float(db)

    def _solve_by_rows(self, missing_w: Any, missing_bias: float, pull: Any) -> tuple[Any, float]:
        """Through v = Ω(X dw + db) + pull: (Ω⁻¹ + XXᵀ/λS)v = Ω⁻¹pull + X·missing_w/λS + db.

        dw = (missing_w − Xᵀv)/λS, and b's row: (λS/ρ)db + Σ v = missing_b.
        """
        used = self.used
        rhs = pull[used] / self.omega[used] + self.margins(missing_w / self.scale)[used]
        v = linalg.cho_solve(self.factor, rhs, check_finite=False)
        db = 0.0
        if self.problem.bias != "none":
            corner = self.penalty + float(self.border @ self.solved_border)
            db = float((missing_bias - v.sum()) / corner)
            v = v + db * self.solved_border
        full = np.zeros(self.problem.n_rows)
        full[used] = v
        return (missing_w - self._combine(full)) / self.scale, db

    def _normal_matrix(self) -> Any:
        """XᵀΩX, in parts that do not depend on the number of threads."""
        n, d = self.problem.rows.shape
        count = max(1, min(_PARTS, n // (_ROWS_PER_FEATURE * d + 1)))

        def part(rows: slice) -> Any:
            view = self.problem.rows.part(rows.start, rows.stop)
            return self.backend.normal_matrix(view, self.omega[rows], d)

        total, *others = self.backend.map(part, self.problem.rows.slices(count))
        for other in others:
            total += other
        return total

    def _combine(self, coef: Any) -> Any:
        out = self.backend.zeros(self.problem.n_features)
        self.backend.combination(self.problem.rows.view, coef, out)
        return out
