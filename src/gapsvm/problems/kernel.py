"""The kernel problem: P, D and the certificate of a function f = Σ c_i α_i K(x_i, ·).

    P(f, b) = (1/S) Σ s_i φ(z_i) + (λ/2)‖f‖²         z_i = σ_i(f(x_i) + b),  f(x_i) = (Kv)_i
    D(α)    = −(1/S) Σ s_i φ*(−α_i) − (λ/2)vᵀKv       v_i = c_i α_i,  c_i = σ_i s_i/(λS)

The bias is absent, or free: then it has no term in P and Σ v_i = 0 is a constraint of the dual.
K is positive definite; then P(f, b) − D(α) ≥ P(f, b) − P* for any f, b and feasible α.  Where it is
not, P has no minimum: the same difference is a sum of one term a row, none negative, each zero
where the row meets its condition of optimality, and proves no more than that.

In v the dual of a five-number loss is the same box problem for every loss (divide D by λ):

    maximise ⟨y, v⟩ − ε‖v‖₁ − ½vᵀ(K + diag(r))v,   lower ≤ v ≤ upper,
    r_i = γ/|c_i|,  [lower, upper] = c_i·[lo, hi].

For λ = 1/(C·S) the v_i are what LIBSVM calls dual coefficients.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend
from gapsvm.kernels.rows import KernelRows
from gapsvm.losses.base import Loss
from gapsvm.problems.certificate import Certificate
from gapsvm.problems.limits import check_curvature, check_lam, check_responses
from gapsvm.problems.linear import check_weights
from gapsvm.problems.row_losses import ONE, RowLosses
from gapsvm.registry.storable import storable
from gapsvm.types.curves import FiveNumbers

_VALUES = "values of K(x, x) up to {}"


@storable
@dataclass(frozen=True)
class KernelIterate:
    """A primal and a dual point.  ``coef`` None: f is that of α, v = c∘α."""

    alpha: Any
    bias: float
    coef: Any = None


class KernelProblem(RowLosses):
    """A regularised function of a reproducing kernel space over rows of a kernel matrix.

    Parameters
    ----------
    rows : KernelRows
        Where values of K come from.
    y : array of float64
        ±1 for margin losses, the response otherwise.
    loss : Loss
    lam : float
        λ > 0.
    sample_weight : array, optional
        s_i ≥ 0 with a positive sum; 1 by default.
    bias : "none" or "free"
    """

    def __init__(
        self,
        rows: KernelRows,
        y: Any,
        loss: Loss,
        lam: float,
        *,
        sample_weight: Any = None,
        bias: Literal["none", "free"] = "none",
    ) -> None:
        self.rows, self.loss, self.lam = rows, loss, float(lam)
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.bias: Literal["none", "free"] = bias
        n = rows.n_rows
        if bias not in ("none", "free"):
            raise ValueError(f"bias must be 'none' or 'free', got {bias!r}")
        if self.y.shape != (n,):
            raise ValueError(f"the kernel has {n} rows but y has shape {self.y.shape}")
        if not np.isfinite(self.y).all():
            raise ValueError(f"y contains {'NaN' if np.isnan(self.y).any() else 'infinity'}")
        if loss.kind == "margin" and not np.all(np.abs(self.y) == 1.0):
            raise ValueError(f"loss {loss.name!r} needs labels -1 and +1")
        if not 0 < self.lam < np.inf:
            raise ValueError(f"lam must be positive and finite, got {lam!r}")
        self.weight = ONE if sample_weight is None else np.ascontiguousarray(sample_weight, float)
        if sample_weight is not None:
            check_weights(self.weight, n)
        self.total_weight = float(n if sample_weight is None else self.weight.sum())
        self._check_sizes()

    def _check_sizes(self) -> None:
        total = self.total_weight or 1.0
        check_lam(self.lam, total)
        with np.errstate(over="ignore"):  # said in words below
            largest = float(np.max(np.abs(self.rows.diagonal), initial=0.0))
        check_curvature(self.lam, largest, float(np.max(self.weight)), total, _VALUES)
        if self.loss.kind == "response" and isinstance(self.loss.curve, FiveNumbers):
            check_responses(self.loss.curve, self.y, total)

    @property
    def slice_rows(self) -> int:
        """A solver's round is its own grain."""
        return 1 << 40

    @property
    def eps(self) -> float:
        """The kink of the dual at v_i = 0."""
        return float(getattr(self.loss.curve, "eps", 0.0))

    @cached_property
    def c(self) -> Any:
        """c_i = σ_i s_i/(λS)."""
        size = self.sign * self.weight / (self.lam * self.total_weight)
        return np.array(np.broadcast_to(size, (self.n_rows,)), dtype=np.float64)

    @cached_property
    def box(self) -> tuple[Any, Any]:
        """lower and upper, the bounds of v."""
        curve = self.loss.curve
        with np.errstate(invalid="ignore"):
            ends = np.stack([self.c * curve.lo, self.c * curve.hi])
        ends[:, self.c == 0.0] = 0.0  # a row without weight: 0·∞
        return np.min(ends, axis=0), np.max(ends, axis=0)

    @cached_property
    def ridge(self) -> Any:
        """r_i = γ/|c_i|; of a row without weight, which never moves, 0."""
        size, gamma = np.abs(self.c), getattr(self.loss.curve, "gamma", 0.0)
        return np.divide(gamma, size, out=np.zeros_like(size), where=size > 0)

    @property
    def is_definite(self) -> bool | None:
        """Whether K is positive definite; None if that is not known."""
        return self.rows.is_definite

    def alpha_of(self, coef: Any) -> Any:
        """α from v, inside its box whatever rounding does."""
        curve = self.loss.curve
        with np.errstate(divide="ignore", invalid="ignore"):
            alpha = np.where(self.c != 0.0, coef / self.c, 0.0)
        return np.clip(alpha, curve.lo, curve.hi)

    def at_zero(self) -> Certificate:
        """The zero function with the best bias: P₀, and D = 0 at α = 0."""
        zero = KernelIterate(np.zeros(self.n_rows), self.bias_at_zero)
        return Certificate(self.primal_at_zero, 0.0, zero)

    def joined(self, primal: Certificate, dual: Certificate) -> Certificate:
        """(f, b) of one and α of the other."""
        f, b = self.coef_of(primal.solution), primal.solution.bias
        point = KernelIterate(dual.solution.alpha, b, f)
        return Certificate(primal.primal, dual.dual, point)

    def coef_of(self, iterate: KernelIterate) -> Any:
        """The coefficients of f."""
        return self.c * iterate.alpha if iterate.coef is None else iterate.coef

    def certify(self, iterate: KernelIterate, backend: Backend) -> Certificate:
        """P and D of an iterate, with values of K in float64 computed afresh.

        With a free bias the dual point is α with its heavier side scaled down, and the primal one
        has the best bias for f.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._certify(iterate)

    def _certify(self, iterate: KernelIterate) -> Certificate:
        free = self.bias == "free"
        alpha = self.balanced(iterate.alpha) if free else iterate.alpha
        coef = self.c * alpha
        margins = self.rows.product(coef)
        square = float(coef @ margins)
        conjugates = float(np.sum(self.weight * self.loss.curve.conjugate(alpha, self.t)))
        dual = -conjugates / self.total_weight - 0.5 * self.lam * square
        if iterate.coef is not None:
            margins = self.rows.product(iterate.coef)
            square = float(iterate.coef @ margins)
        bias = self.best_bias(margins, iterate.bias) if free else 0.0
        primal = self.loss_sum(margins, bias) / self.total_weight + 0.5 * self.lam * square
        return Certificate(float(primal), float(dual), KernelIterate(alpha, bias, iterate.coef))

    def gap_of(self, alpha: Any, margins: Any, bias: float) -> float:
        """P − D where f is that of α and its margins are known, and Σ v_i = 0 or there is no bias:
        (1/S) Σ s_i (φ(z_i) + φ*(−α_i) + α_i z_i)."""
        curve, z = self.loss.curve, self.sign * (margins + bias)
        terms = curve.value(z, self.t) + curve.conjugate(alpha, self.t) + alpha * z
        return float(np.sum(self.weight * terms) / self.total_weight)

    def fingerprint(self) -> dict[str, Any]:
        """What tells this problem from others."""
        return {
            **self.rows.fingerprint(),
            "loss": repr(self.loss),
            "lam": self.lam,
            "bias": self.bias,
            "labels": hashlib.sha256(self.y.data).hexdigest(),
            "sample weights": hashlib.sha256(self.weight.data).hexdigest(),
        }
