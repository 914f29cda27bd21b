"""The linear problem: the only home of P, D, w(α) and the certificate.

    P(w, b) = (1/S) Σ s_i φ(z_i) + (λ/2)‖w‖² + (λ/2ρ)b²      z_i = σ_i(⟨x_i, w⟩ + b)
    D(α)    = −(1/S) Σ s_i φ*(−α_i) − (λ/2)‖w(α)‖² − (λρ/2)(Σ c_i α_i)²
    w(α)    = Σ c_i α_i x_i,   b(α) = ρ Σ c_i α_i,   c_i = σ_i s_i/(λS),   S = Σ s_i

σ_i = y_i for margin losses, 1 for response losses.  The bias is absent (ρ = 0), penalised (ρ > 0)
or free: then it has no term in P, and Σ c_i α_i = 0 is a constraint of the dual.

With a radius B, (w, b/√ρ) is confined to the ball ‖·‖ ≤ B and λ may be 0.  The penalty then has the
conjugate max_{r ≤ B} r‖g‖ − (λ/2)r², g = (1/S) Σ s_i σ_i α_i (x_i, √ρ): it takes the place of the
last two terms of D, and w(α) is the point of the ball that attains it.
P(w, b) − D(α) ≥ P(w, b) − P* for any (w, b) and any feasible α.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.losses.base import Loss
from gapsvm.problems.certificate import Certificate, check_point
from gapsvm.problems.limits import (
    check_curvature,
    check_lam,
    check_responses,
    check_shape,
    check_square,
    check_total,
)
from gapsvm.problems.row_losses import ONE, RowLosses
from gapsvm.registry.storable import storable
from gapsvm.rows.matrix import Rows, checked_rows
from gapsvm.types.curves import FiveNumbers

Bias = Literal["none", "penalized", "free"]
_PARTS, _PART_VALUES, _VALUES_PER_WEIGHT = 8, 2_000_000, 3
"""A certificate looks at the rows in so many parts at most, each of so many stored values at least,
and so many for each number of its own w(α)."""
_SLICE_VALUES = 8_000_000
"""Stored values visited between two looks at the clock: a few hundredths of a second."""


@storable
@dataclass(frozen=True)
class Iterate:
    """A primal and a dual point; they need not belong together.  ``w`` None stands for w(α).

    ``try_combination``: w(α) may be the better primal point; certify whichever of the two is.
    """

    w: Any
    bias: float
    alpha: Any
    try_combination: bool = False

    @property
    def functions(self) -> tuple[Any, Any]:
        """Weights and intercepts, a row for each linear function."""
        return self.w[None, :], np.array([self.bias])

    @property
    def dual_rows(self) -> Any:
        """α, a row for each linear function."""
        return self.alpha[None, :]

    @property
    def primal_part(self) -> Iterate:
        """The same without α."""
        return replace(self, alpha=None)


class LinearProblem(RowLosses):
    """A regularised linear model over rows that are never copied.

    Parameters
    ----------
    X : array or sparse matrix, or ``Rows``
        float32 or float64, dense in C order or CSR; see ``gapsvm.rows.matrix``.
    y : array of float64
        ±1 for margin losses, the response otherwise.
    loss : Loss
        φ, as ``get_loss`` gives it.
    lam : float
        λ > 0; with a radius it may be 0.
    sample_weight : array, optional
        s_i ≥ 0 with a positive sum; 1 by default.
    bias : "none", "penalized" or "free"
    bias_scale : float
        √ρ: value of the constant feature whose weight is penalised.
    radius : float
        B: the largest norm of w, a penalised bias included; infinite for any.
    backend : str or Backend
        What computes while rows are checked: "cpu", or "reference" for plain NumPy.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        loss: Loss,
        lam: float,
        *,
        sample_weight: Any = None,
        bias: Bias = "none",
        bias_scale: float = 1.0,
        radius: float = np.inf,
        backend: str | Backend = "cpu",
    ) -> None:
        self.rows: Rows = checked_rows(X, get_backend(backend))
        check_shape(*self.rows.shape)
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.loss = loss
        self.lam = float(lam)
        self.radius = float(radius)
        self.bias: Bias = bias
        if not 0 < bias_scale < np.inf:
            raise ValueError(f"bias_scale must be positive and finite, got {bias_scale!r}")
        check_square("bias_scale", bias_scale)
        self._bias_scale = float(bias_scale)
        self.bias_ratio = self._bias_scale**2 if bias == "penalized" else 0.0
        self._with_other_lam: dict[float, LinearProblem] = {}
        self.weight = ONE if sample_weight is None else np.ascontiguousarray(sample_weight, float)
        n, _ = self.rows.shape
        if self.y.shape != (n,):
            raise ValueError(f"X has {n} rows but y has shape {self.y.shape}")
        if not self.radius > 0:
            raise ValueError(f"radius must be positive, got {radius!r}")
        if self.radius < np.inf:
            check_square("radius", self.radius)
        if not 0 < self.lam < np.inf and not (self.lam == 0 and self.radius < np.inf):
            raise ValueError(
                f"lam must be positive and finite, got {lam!r}; 0 needs a radius that is finite"
            )
        if not np.isfinite(self.y).all():
            raise ValueError(f"y contains {_kind_of_bad(self.y)}")
        if loss.kind == "margin" and not np.all(np.abs(self.y) == 1.0):
            raise ValueError(f"loss {loss.name!r} needs labels -1 and +1")
        if sample_weight is not None:
            check_weights(self.weight, n)
        self.total_weight = float(n if self.weight.size == 1 and n != 1 else self.weight.sum())
        self._check_sizes()

    def _check_sizes(self) -> None:
        """Refuses what would over- or underflow before the first step."""
        total = self.total_weight or 1.0  # of no rows at all
        check_lam(self.lam, total)
        largest = self.largest_sq_norm + self.bias_ratio
        check_curvature(self.lam, largest, float(np.max(self.weight)), total)
        if self.loss.kind == "response" and isinstance(self.loss.curve, FiveNumbers):
            check_responses(self.loss.curve, self.y, total)

    @property
    def n_rows(self) -> int:
        return self.rows.shape[0]

    @property
    def n_features(self) -> int:
        return self.rows.shape[1]

    @property
    def sq_norms(self) -> Any:
        """‖x_i‖²."""
        return self.rows.sq_norms

    @property
    def slice_rows(self) -> int:
        return self.rows_for(_SLICE_VALUES)

    def rows_for(self, values: int) -> int:
        """How many rows cost about as much to visit as so many stored values."""
        values_per_row = 8 + self.rows.n_stored // max(self.n_rows, 1)
        return max(1, min(self.n_rows, values // values_per_row))

    @property
    def pass_nanoseconds(self) -> float:
        """What a pass of single dual steps costs; one without a closed form takes longer."""
        a_value, a_row = (2.0, 20.0) if self.rows.is_sparse else (1.0, 40.0)
        if not isinstance(self.loss.curve, FiveNumbers):
            a_row += 80.0
        return a_value * self.rows.n_stored + a_row * self.n_rows

    @property
    def scale(self) -> float:
        """1/(λS), the factor of c_i = σ_i s_i/(λS); with λ = 0 it is 1/S."""
        return 1.0 / ((self.lam or 1.0) * self.total_weight)

    @cached_property
    def parts(self) -> list[slice]:
        """All rows in parts for threads, the same ones however many threads there are."""
        values = max(_PART_VALUES, _VALUES_PER_WEIGHT * self.n_features)
        return self.rows.slices(max(1, min(_PARTS, self.rows.n_stored // values, self.n_rows)))

    @cached_property
    def without_bias(self) -> LinearProblem:
        """The same rows and loss with no bias: for solvers that hold one b and look for w."""
        return self._changed(self.lam, "none")

    def with_lam(self, lam: float) -> LinearProblem:
        """The same problem with another λ."""
        if lam == self.lam:
            return self
        if lam not in self._with_other_lam:
            self._with_other_lam[lam] = self._changed(lam, self.bias)
        return self._with_other_lam[lam]

    def _changed(self, lam: float, bias: Bias) -> LinearProblem:
        return LinearProblem(
            self.rows,
            self.y,
            self.loss,
            lam,
            sample_weight=None if self.weight is ONE else self.weight,
            bias=bias,
            bias_scale=self._bias_scale,
            radius=self.radius,
        )

    def at_zero(self) -> Certificate:
        """The zero model with the best bias: P₀, and D = 0 at α = 0."""
        zero = Iterate(np.zeros(self.n_features), self.bias_at_zero, np.zeros(self.n_rows))
        return Certificate(self.primal_at_zero, 0.0, zero)

    @staticmethod
    def joined(primal: Certificate, dual: Certificate) -> Certificate:
        """(w, b) of one and α of the other."""
        point = replace(primal.solution, alpha=dual.solution.alpha)
        return Certificate(primal.primal, dual.dual, point)

    def sampled_objective(self, rows: Any, w: Any, bias: float) -> float:
        """P(w, b) with the mean loss of these rows, drawn uniformly, for that of all."""
        X, per_row = self.rows.to_scipy(), (self.sign, self.t, self.weight)
        total = 0.0
        for first in range(0, len(rows), self.slice_rows):
            part = rows[first : first + self.slice_rows]
            sign, t, weight = (a if a.size == 1 else a[part] for a in per_row)
            z = sign * (np.asarray(X[part] @ w).ravel() + bias)
            total += float(np.sum(weight * self.loss.curve.value(z, t)))
        mean = total / len(rows) * self.n_rows / self.total_weight
        return mean + self.penalty(w, bias)

    def objective(self, w: Any, bias: float, margins: Any) -> float:
        """P(w, b), where ⟨x_i, w⟩ are known."""
        losses = self.loss_sum(margins, bias) / self.total_weight
        return losses + self.penalty(w, bias)

    def penalty(self, w: Any, bias: float) -> float:
        """The last terms of P."""
        return 0.5 * self.lam * self._square(w, bias)

    def certify(self, iterate: Iterate, backend: Backend) -> Certificate:
        """P and D of an iterate, from all rows, in float64, w(α) computed afresh.

        An α outside its box has D = −∞.  With a free bias the dual point is α with its heavier
        side scaled down, and the primal one has the best bias for w.  A w outside the ball is moved
        to its surface.
        """
        self._check_lengths(iterate)
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged iterate has P = inf
            return self._certify(iterate, backend)

    def _check_lengths(self, iterate: Iterate) -> None:
        check_point("w", iterate.w, (self.n_features,))
        check_point("alpha", iterate.alpha, (self.n_rows,))

    def _certify(self, iterate: Iterate, backend: Backend) -> Certificate:
        free = self.bias == "free"
        if self.bias == "none":  # a warm start may bring one from another problem
            iterate = replace(iterate, bias=0.0)
        if iterate.w is None:
            iterate = self.with_combination(iterate, backend)
        iterate = self._inside(iterate)
        alpha = self.balanced(iterate.alpha) if free else iterate.alpha
        margins = backend.empty(self.n_rows)
        losses, conjugates, mass, combination = self._evaluate(iterate, alpha, margins, backend)
        square = float(combination @ combination + self.bias_ratio * mass * mass)
        dual = -conjugates / self.total_weight - self._penalty_conjugate(square)

        def at(w: Any, bias: float, losses: float) -> Certificate:
            if free:
                bias = self.best_bias(margins, bias)
                losses = self.loss_sum(margins, bias)
            primal = losses / self.total_weight + self.penalty(w, bias)
            return Certificate(float(primal), float(dual), Iterate(w, bias, alpha))

        found = at(iterate.w, iterate.bias, losses)
        if iterate.try_combination:
            share = self._share(square)
            combination *= share
            bias = share * self.bias_ratio * mass
            backend.margins(self.rows.view, combination, margins)
            other = at(combination, bias, self.loss_sum(margins, bias))
            found = min(found, other, key=lambda certificate: certificate.primal)
        return found

    def _evaluate(
        self, iterate: Iterate, alpha: Any, margins: Any, backend: Backend
    ) -> tuple[float, float, float, Any]:
        """``evaluate`` in parts that do not depend on the number of threads, and summed."""

        def part(rows: slice) -> tuple[float, float, float, Any]:
            combination = backend.zeros(self.n_features)
            sums = backend.evaluate(
                self.rows.part(rows.start, rows.stop),
                self.loss.curve,
                iterate.w,
                iterate.bias,
                alpha[rows],
                *(array[rows] if array.size > 1 else array for array in self._row_numbers),
                self.scale,
                margins[rows],
                combination,
            )
            return *sums, combination

        losses, conjugates, masses, combinations = zip(*backend.map(part, self.parts))
        total = combinations[0]
        for other in combinations[1:]:
            total += other
        return sum(losses), sum(conjugates), sum(masses), total

    @property
    def _row_numbers(self) -> tuple[Any, Any, Any]:
        """σ, t and s: each one number for all rows or one a row."""
        return self.sign, self.t, self.weight

    def with_combination(self, iterate: Iterate, backend: Backend) -> Iterate:
        """The same α with w(α) and, unless it is free, b(α)."""
        coef = self.scale * self.sign * self.weight * iterate.alpha
        w = backend.zeros(self.n_features)
        backend.combination(self.rows.view, coef, w)
        mass = float(coef.sum())
        share = self._share(float(w @ w + self.bias_ratio * mass * mass))
        bias = iterate.bias if self.bias == "free" else share * self.bias_ratio * mass
        return replace(iterate, w=share * w, bias=bias)

    def _square(self, w: Any, bias: float) -> float:
        """‖w‖² + b²/ρ."""
        return float(w @ w + (bias * bias / self.bias_ratio if self.bias_ratio else 0.0))

    def _inside(self, iterate: Iterate) -> Iterate:
        """The same, or with (w, b) moved to the surface of the ball."""
        if self.radius == np.inf:
            return iterate
        share = self.radius / max(np.sqrt(self._square(iterate.w, iterate.bias)), self.radius)
        bias = iterate.bias if self.bias == "free" else share * iterate.bias
        return replace(iterate, w=share * iterate.w, bias=bias)

    def _share(self, square: float) -> float:
        """w(α) as a share of Σ c_i α_i x_i, of that squared norm: 1 where there is no ball."""
        if self.radius == np.inf or square == 0:
            return 1.0
        share = float(self.radius / np.sqrt(square))
        return min(1.0, share) if self.lam else share

    def _penalty_conjugate(self, square: float) -> float:
        """max_{r ≤ B} r‖g‖ − (λ/2)r², where ‖g‖² is ``square`` times λ², or times 1 if λ = 0."""
        if self.radius == np.inf:
            return 0.5 * self.lam * square
        share = self._share(square)
        return square * share * ((self.lam or 1.0) - 0.5 * self.lam * share)

    @staticmethod
    def solution(coef: Any, intercept: Any, alpha: Any) -> Iterate:
        """The iterate of one linear function and its dual variables."""
        return Iterate(coef[0], float(intercept[0]), alpha[0])

    def fingerprint(self) -> dict[str, Any]:
        """What tells this problem from others; it costs next to nothing."""
        found = {
            **self.rows.fingerprint(),
            "loss": repr(self.loss),
            "lam": self.lam,
            "bias": self.bias,
            "bias ratio": self.bias_ratio,
            "labels": hashlib.sha256(self.y.data).hexdigest(),
            "sample weights": hashlib.sha256(self.weight.data).hexdigest(),
        }
        return {**found, "radius": self.radius} if self.radius < np.inf else found

    def kkt_residual(self, iterate: Iterate, backend: str | Backend = "cpu") -> float:
        """The largest violation of the optimality conditions.

        How far an exact step of unit curvature would move each α_i, and the distance of (w, b)
        from what α says.
        """
        self._check_lengths(iterate)
        backend = get_backend(backend)
        coef = np.broadcast_to(self.scale * self.sign * self.weight * iterate.alpha, self.n_rows)
        margins, combination = backend.empty(self.n_rows), backend.zeros(self.n_features)
        backend.margins(self.rows.view, iterate.w, margins)
        backend.combination(self.rows.view, coef, combination)
        z = self.sign * (margins + iterate.bias)
        rows = np.abs(iterate.alpha - self.loss.curve.dual_step(iterate.alpha, z, self.t, 1.0))
        rows = np.where(np.broadcast_to(self.weight, rows.shape) > 0, rows, 0.0)
        mass, own = float(coef.sum()), float(self.lam > 0)
        off, off_bias = own * iterate.w - combination, own * iterate.bias - self.bias_ratio * mass
        square = self._square(iterate.w, iterate.bias)
        if np.sqrt(square) >= (1 - 1e-9) * self.radius:  # there the ball may push inwards
            along = off_bias * iterate.bias / self.bias_ratio if self.bias_ratio else 0.0
            push = min(0.0, float(off @ iterate.w) + along) / square
            off, off_bias = off - push * iterate.w, off_bias - push * iterate.bias
        if self.bias == "free":
            off_bias = (self.lam or 1.0) * mass
        stationarity = np.max(np.abs(off), initial=0.0)
        return float(max(rows.max(initial=0.0), stationarity, abs(off_bias)))


def _kind_of_bad(values: Any) -> str:
    return "NaN" if np.isnan(values).any() else "infinity"


def check_weights(weight: Any, n: int, name: str = "sample_weight", counted: str = "rows") -> Any:
    """The weights of n things, or an error that says what is wrong with them."""
    if weight.shape != (n,):
        raise ValueError(f"{name} has shape {weight.shape}, but there are {n} {counted}")
    if not np.isfinite(weight).all():
        raise ValueError(f"{name} contains {_kind_of_bad(weight)}")
    if weight.min(initial=0.0) < 0:
        raise ValueError(f"{name} contains negative values; weights must be >= 0")
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not total > 0:
        raise ValueError(f"all {name.replace('_', ' ')}s are zero: there is nothing to fit")
    check_total(total, name)
    return weight
