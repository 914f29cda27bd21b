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
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend
from gapsvm.kernels.rows import FeatureRows, KernelRows
from gapsvm.losses.base import Loss
from gapsvm.problems.certificate import Certificate
from gapsvm.problems.limits import check_curvature, check_lam, check_responses
from gapsvm.problems.linear import LinearProblem, check_weights
from gapsvm.problems.row_losses import ONE, RowLosses
from gapsvm.registry.storable import storable
from gapsvm.types.curves import FiveNumbers
from gapsvm.types.mercer import Linear

_VALUES = "values of K(x, x) up to {}"
_FEW, _CHEAP = 1000, 3e6
"""Rows, and nanoseconds for their values, up to which all of K is computed."""
_ROUNDING = 1e-15
"""Share of Σ|v_i| below which Σ v_i is rounding."""


@storable
@dataclass(frozen=True)
class KernelIterate:
    """A primal and a dual point.  ``coef`` None: f is that of α, v = c∘α."""

    alpha: Any
    bias: float
    coef: Any = None

    @property
    def primal_part(self) -> KernelIterate:
        """All of it: f is made of α."""
        return self


class KernelProblem(RowLosses):
    """A regularised function of a reproducing kernel space over rows of a kernel matrix.

    Parameters
    ----------
    rows : KernelRows
        Where values of K come from.
    y : array of float64
        ±1 for margin losses, the response otherwise.
    loss : Loss
        φ, as ``get_loss`` gives it.
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
        self._last: tuple[Any, Any, Any] | None = None

    def _check_sizes(self) -> None:
        total = self.total_weight or 1.0
        check_lam(self.lam, total)
        with np.errstate(over="ignore"):  # said in words below
            largest = float(np.max(np.abs(self.rows.diagonal), initial=0.0))
        check_curvature(self.lam, largest, float(np.max(self.weight)), total, _VALUES)
        if self.loss.kind == "response" and isinstance(self.loss.curve, FiveNumbers):
            check_responses(self.loss.curve, self.y, total)

    @property
    def default_method(self) -> str:
        """What ``gapsvm.solve`` takes where no method is named: by the loss, and by what all of K
        costs beside some rounds of working sets, as measured (``docs/design/kernels.md``)."""
        if not isinstance(self.loss.curve, FiveNumbers):
            return "kernel-newton"
        values = self.n_rows**2 * (0.0 if self.rows.has_gram else self.rows.value_nanoseconds)
        if self.n_rows <= _FEW and values <= _CHEAP:
            return "full-gram"
        return "working-set" if self.in_weights is None else "linear-sdca"

    @cached_property
    def in_weights(self) -> LinearProblem | None:
        """The same problem over weights, where the kernel is ⟨x, x'⟩ of rows that are there."""
        rows = self.rows
        if not isinstance(rows, FeatureRows) or not isinstance(rows.kernel, Linear):
            return None
        weight = None if self.weight is ONE else self.weight
        return LinearProblem(
            rows.rows, self.y, self.loss, self.lam, sample_weight=weight, bias=self.bias
        )

    @property
    def slice_rows(self) -> int:
        """A solver's round is its own grain."""
        return 1 << 40

    @property
    def sq_norms(self) -> Any:
        """K(x_i, x_i); 0 where a kernel that is not positive definite has less."""
        return np.maximum(self.rows.diagonal, 0.0)

    @cached_property
    def without_bias(self) -> KernelProblem:
        """The same rows and loss with no bias: for solvers that hold one b and look for f."""
        weight = None if self.weight is ONE else self.weight
        return KernelProblem(self.rows, self.y, self.loss, self.lam, sample_weight=weight)

    @property
    def eps(self) -> float:
        """The kink of the dual at v_i = 0."""
        return float(getattr(self.loss.curve, "eps", 0.0))

    @cached_property
    def c(self) -> Any:
        """c_i = σ_i s_i/(λS)."""
        size = self.sign * self.weight / (self.lam * self.total_weight)
        return size if size.size == self.n_rows else np.full(self.n_rows, size[0])

    @cached_property
    def box(self) -> tuple[Any, Any]:
        """lower and upper, the bounds of v."""
        curve = self.loss.curve
        with np.errstate(invalid="ignore"):
            ends = self.c * curve.lo, self.c * curve.hi
        for end in ends:
            end[self.c == 0.0] = 0.0  # a row without weight: 0·∞
        return np.minimum(*ends), np.maximum(*ends)

    @cached_property
    def ridge(self) -> Any:
        """r_i = γ/|c_i|; of a row without weight, which never moves, 0."""
        size, curvature = np.abs(self.c), getattr(self.loss.curve, "curvature", 0.0)
        return np.divide(curvature, size, out=np.zeros_like(size), where=size > 0)

    @cached_property
    def largest_target(self) -> float:
        """The largest |y|: what violations are measured by."""
        return float(np.abs(self.y).max(initial=0.0))

    @property
    def is_definite(self) -> bool | None:
        """Whether K is positive definite; None if that is not known."""
        return self.rows.is_definite

    @cached_property
    def _all_weigh(self) -> bool:
        return bool((self.c != 0.0).all())

    def alpha_of(self, coef: Any) -> Any:
        """α from v, inside its box whatever rounding does."""
        curve = self.loss.curve
        with np.errstate(divide="ignore", invalid="ignore"):
            alpha = coef / self.c
            if not self._all_weigh:
                alpha = np.where(self.c != 0.0, alpha, 0.0)
        return np.minimum(np.maximum(curve.lo, alpha), curve.hi)  # −0 becomes 0

    def at_zero(self) -> Certificate:
        """The zero function with the best bias: P₀, and D = 0 at α = 0."""
        zero = KernelIterate(np.zeros(self.n_rows), self.bias_at_zero)
        return Certificate(self.primal_at_zero, 0.0, zero)

    def joined(self, primal: Certificate, dual: Certificate) -> Certificate:
        """(f, b) of one and α of the other; where K is not known to be definite their difference
        says nothing, and it is the better of the two as they are."""
        if primal is not dual and not self.is_definite:
            return min(primal, dual, key=lambda certificate: certificate.gap)
        f, b = self.coef_of(primal.solution), primal.solution.bias
        point = KernelIterate(dual.solution.alpha, b, f)
        return Certificate(primal.primal, dual.dual, point)

    def coef_of(self, iterate: KernelIterate) -> Any:
        """The coefficients of f."""
        return self.c * iterate.alpha if iterate.coef is None else iterate.coef

    def balanced(self, alpha: Any) -> Any:
        """As for other rows; what is balanced up to rounding stays as it is."""
        mass = self.c * alpha
        if abs(mass.sum()) <= _ROUNDING * np.abs(mass).sum():
            return alpha
        return super().balanced(alpha)

    def looked(self, alpha: Any, bias: float) -> tuple[Any, Any]:
        """The margins of f = Σ c_i α_i K(x_i, ·), and bounds of their errors: 0 in float64, and in
        float32 such that the row has no loss at that bias.  Those of the last α are kept."""
        last = self._last
        if last is None or not np.array_equal(last[0], alpha):
            settled = partial(self._without_loss, bias)
            self._last = last = (alpha, *self.rows.screened(self.c * alpha, settled))
        return last[1], last[2]

    def _without_loss(self, bias: float, rows: Any, margins: Any, errors: Any) -> Any:
        """Whether φ is zero at both ends of an interval, and so, being convex, in between."""
        sign = self.sign if self.sign.size == 1 else self.sign[rows]
        t = self.t if self.t.size == 1 else self.t[rows]
        value = self.loss.curve.value
        low, high = margins - errors + bias, margins + errors + bias
        return (value(sign * low, t) == 0.0) & (value(sign * high, t) == 0.0)

    def certify(self, iterate: KernelIterate, backend: Backend) -> Certificate:
        """P and D of an iterate, with values of K computed afresh, in float64 where they count.

        The margin of a row that has neither coefficient nor loss may be in float32: a proven bound
        of its error shows that the loss is zero.  With a free bias the dual point is α with its
        heavier side scaled down, and the primal one has the best bias for f.  Of an iterate with
        coefficients of its own the primal point is f or that of α, whichever is better.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._certify(iterate)

    def _certify(self, iterate: KernelIterate) -> Certificate:
        free = self.bias == "free"
        alpha = self.balanced(iterate.alpha) if free else iterate.alpha
        coef = self.c * alpha
        margins, errors = self.looked(alpha, iterate.bias)
        square = float(coef @ margins)
        conjugates = float(np.sum(self.weight * self.loss.curve.conjugate(alpha, self.t)))
        dual = -conjugates / self.total_weight - 0.5 * self.lam * square
        bias = self.best_bias(margins, iterate.bias) if free else 0.0
        bias = self._exact(margins, errors, coef, bias)
        found = self._at(margins, bias, square), bias, None
        if iterate.coef is not None:
            margins = self.rows.product(iterate.coef)
            bias = self.best_bias(margins, iterate.bias) if free else 0.0
            own = self._at(margins, bias, float(iterate.coef @ margins)), bias, iterate.coef
            found = own if not found[0] < own[0] else found
        primal, bias, f = found
        return Certificate(primal, float(dual), KernelIterate(alpha, bias, f))

    def _at(self, margins: Any, bias: float, square: float) -> float:
        """P of a function with these margins and ‖f‖²."""
        return float(self.loss_sum(margins, bias) / self.total_weight + 0.5 * self.lam * square)

    def _exact(self, margins: Any, errors: Any, coef: Any, bias: float) -> float:
        """Rows that may have a loss at the best bias are looked at in float64; the bias then."""
        while True:
            loose = np.flatnonzero(errors)
            wrong = loose[~self._without_loss(bias, loose, margins[loose], errors[loose])]
            if not wrong.size:
                return bias
            used = np.flatnonzero(coef)
            margins[wrong] = self.rows.sums(used, coef[used], wrong, np.float64)
            errors[wrong] = 0.0
            bias = self.best_bias(margins, bias) if self.bias == "free" else 0.0

    def gap_of(self, alpha: Any, margins: Any, bias: float, rows: Any = slice(None)) -> float:
        """P − D where f is that of α and its margins are known, and Σ v_i = 0 or there is no bias:
        (1/S) Σ s_i (φ(z_i) + φ*(−α_i) + α_i z_i), over some rows."""
        sign, t, weight = (
            one if one.size == 1 else one[rows] for one in (self.sign, self.t, self.weight)
        )
        curve, z, a = self.loss.curve, sign * (margins[rows] + bias), alpha[rows]
        terms = curve.value(z, t) + curve.conjugate(a, t) + a * z
        return float((weight * terms).sum() / self.total_weight)

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
