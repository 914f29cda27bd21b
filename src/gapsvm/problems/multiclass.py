"""Multiclass problems: one weight vector per class, one loss over all of them (Pegasos §5).

    P(W) = (1/S) Σ s_i φ(z_i, y_i) + (λ/2)‖W‖²                z_i = (⟨x_i, w_r⟩ + b_r)_r
    φ(z, y) = max_a ⟨a, δ_y + z⟩ + τ·H(a) − z_y               a ≥ 0, Σ_r a_r = 1
    D(A) = (1/S) Σ s_i [⟨A_i, δ_{y_i}⟩ + τ·H(A_i)] − (λ/2)‖W(A)‖²
    W(A) = (1/(λS)) Σ s_i x_i (e_{y_i} − A_i)ᵀ

H is the entropy, δ_y the costs of a wrong answer where y is right.  τ = 0 is the cost-sensitive
hinge of Crammer and Singer, max_r δ(r, y) − z_y + z_r; τ = 1 without costs is the multinomial
log-loss, log Σ_r e^{z_r} − z_y.  A bias is the weight of a feature of constant value √ρ.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.problems.certificate import Certificate, check_point
from gapsvm.problems.limits import check_curvature, check_lam, check_shape, check_square
from gapsvm.problems.linear import check_weights
from gapsvm.registry.storable import storable
from gapsvm.rows.matrix import checked_rows
from gapsvm.types.curves import SIMPLEX_ROUNDING, MulticlassCurve

MULTICLASS_LOSSES = ("crammer_singer", "multinomial")
_SLICE_VALUES = 8_000_000
_CUT_BYTES = 2_500_000
"""Size of a cut and its dual point beyond which two hundred of them are a load on memory."""


@storable
@dataclass(frozen=True)
class MulticlassIterate:
    """A primal point (W features × classes, a bias per class) and a dual one (A rows × classes).

    ``W`` None stands for W(A).  ``try_others``: W(A) may be the better primal point and, for a
    smooth loss, the maximisers there the better dual one; certify the best.
    """

    W: Any
    bias: Any
    A: Any
    try_others: bool = False

    @property
    def functions(self) -> tuple[Any, Any]:
        """Weights and intercepts, a row a class; of two classes their difference alone."""
        coef, intercept = self.W.T.copy(), self.bias
        if len(coef) == 2:
            return coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return coef, intercept

    @property
    def dual_rows(self) -> Any:
        """A, a row a class."""
        return self.A.T.copy()

    @property
    def primal_part(self) -> MulticlassIterate:
        """The same without A."""
        return replace(self, A=None)


class MulticlassProblem:
    """A regularised linear model of several classes over rows that are never copied.

    Parameters
    ----------
    X : array or sparse matrix, or ``Rows``
        As for ``LinearProblem``.
    y : array of integers
        Classes 0, …, n_classes − 1.
    n_classes : int
        How many there are, two at least.
    loss : "crammer_singer" or "multinomial"
    lam : float
        λ > 0.
    costs : array (n_classes × n_classes), optional
        costs[y, r] ≥ 0: what it costs to say r where y is right; 1 for every mistake by default.
    sample_weight : array, optional
        s_i ≥ 0 with a positive sum; 1 by default.
    bias : "none" or "penalized"
    bias_scale : float
        √ρ: value of the constant feature whose weights are the biases.
    backend : as for ``LinearProblem``
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        n_classes: int,
        loss: str,
        lam: float,
        *,
        costs: Any = None,
        sample_weight: Any = None,
        bias: Literal["none", "penalized"] = "none",
        bias_scale: float = 1.0,
        backend: str | Backend = "cpu",
    ) -> None:
        self._take_rows(X, backend)
        self.n_classes = int(n_classes)
        self.loss = loss
        self.lam = float(lam)
        self.bias = bias
        n = self.n_rows
        if loss not in MULTICLASS_LOSSES:
            names = ", ".join(MULTICLASS_LOSSES)
            raise ValueError(f"unknown multiclass loss {loss!r}; choose one of {names}")
        if bias not in ("none", "penalized"):
            raise ValueError(f"bias must be 'none' or 'penalized', got {bias!r}")
        if not 0 < bias_scale < np.inf:
            raise ValueError(f"bias_scale must be positive and finite, got {bias_scale!r}")
        check_square("bias_scale", bias_scale)
        self.bias_ratio = float(bias_scale) ** 2 if bias == "penalized" else 0.0
        if not 0 < self.lam < np.inf:
            raise ValueError(f"lam must be positive and finite, got {lam!r}")
        if self.n_classes < 2:
            raise ValueError(f"n_classes must be at least 2, got {n_classes!r}")
        self.y = _checked_labels(y, n, self.n_classes)
        self.curve = MulticlassCurve(
            _checked_costs(costs, self.n_classes, loss), 1.0 if loss == "multinomial" else 0.0
        )
        self.weight = np.ones(n)
        if sample_weight is not None:
            self.weight = check_weights(np.ascontiguousarray(sample_weight, float), n)
        self.total_weight = float(self.weight.sum())
        total = self.total_weight or 1.0  # of no rows at all
        check_lam(self.lam, total)
        largest = float(np.max(self.sq_norms, initial=0.0)) + self.bias_ratio
        check_curvature(self.lam, largest, float(np.max(self.weight, initial=0.0)), total)

    def _take_rows(self, X: Any, backend: str | Backend) -> None:
        self.rows: Any = checked_rows(X, get_backend(backend))
        check_shape(*self.rows.shape)

    @property
    def sq_norms(self) -> Any:
        """‖x_i‖²."""
        return self.rows.sq_norms

    @property
    def default_method(self) -> str:
        """Cutting planes, unless they would be too large to be kept."""
        values_a_row = self.n_classes if self.curve.temperature else 1
        size = 8 * (self.n_features + 1) * self.n_classes + 4 * self.n_rows * values_a_row
        return "level-bundle" if size <= _CUT_BYTES else "pegasos(average=tail)"

    @property
    def n_rows(self) -> int:
        return self.rows.shape[0]

    @property
    def n_features(self) -> int:
        return self.rows.shape[1]

    @property
    def slice_rows(self) -> int:
        values_per_row = 8 + self.n_classes * (1 + self.rows.n_stored // max(self.n_rows, 1))
        return max(1, min(self.n_rows, _SLICE_VALUES // values_per_row))

    @property
    def bias_scale(self) -> float:
        """√ρ, the value of the constant feature; 0 without a bias."""
        return float(np.sqrt(self.bias_ratio))

    @cached_property
    def primal_at_zero(self) -> float:
        """P₀ = P(0): the mean of the highest costs, or log n_classes."""
        at_zero = self.curve.value(np.zeros((self.n_classes,) * 2), np.arange(self.n_classes))
        return float(self.weight @ at_zero[self.y] / self.total_weight)

    def at_zero(self) -> Certificate:
        """The zero model: P₀, and D = 0 at A_i = e_{y_i}, where W(A) = 0."""
        bias = np.zeros(self.n_classes)
        right = np.zeros((self.n_rows, self.n_classes))
        right[np.arange(self.n_rows), self.y] = 1.0
        W = np.zeros((self.n_features, self.n_classes))
        return Certificate(self.primal_at_zero, 0.0, MulticlassIterate(W, bias, right))

    @staticmethod
    def joined(primal: Certificate, dual: Certificate) -> Certificate:
        """W of one and A of the other."""
        point = replace(primal.solution, A=dual.solution.A)
        return Certificate(primal.primal, dual.dual, point)

    def certify(self, iterate: MulticlassIterate, backend: Backend) -> Certificate:
        """P and D of an iterate, from all rows, in float64, W(A) computed afresh.

        An A with a row outside the simplex has D = −∞.
        """
        n, d, k = self.n_rows, self.n_features, self.n_classes
        check_point("A", iterate.A, (n, k))
        check_point("W", iterate.W, (d, k))
        check_point("bias", iterate.bias if iterate.W is not None else None, (k,))
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged iterate has P = inf
            A = _normalised(iterate.A)
            dual, combination = self._dual(A, backend)
            points = [combination]
            if iterate.W is not None:
                points = [self._stacked(iterate.W, iterate.bias)]
                points += [combination] if iterate.try_others else []
            found = [self._primal(point, backend) for point in points]
            best = min(range(len(found)), key=lambda k: found[k][0])
            primal, scores = found[best]
            if iterate.try_others and self.curve.temperature > 0:
                other = self.curve.maximiser(scores, self.y)
                higher, _ = self._dual(other, backend)
                if higher > dual:
                    dual, A = higher, other
            W = points[best]
            solution = MulticlassIterate(W[:-1].copy(), self.bias_scale * W[-1], A)
            return Certificate(primal, dual, solution)

    @staticmethod
    def solution(coef: Any, intercept: Any, alpha: Any) -> MulticlassIterate:
        """The iterate of a function a class; where there are two classes, of their difference."""
        if len(coef) < len(alpha):
            coef, intercept = np.outer([-0.5, 0.5], coef), np.outer([-0.5, 0.5], intercept).ravel()
        return MulticlassIterate(np.ascontiguousarray(coef.T), intercept, alpha.T.copy())

    def fingerprint(self) -> dict[str, Any]:
        """What tells this problem from others; it costs next to nothing."""
        return {
            **self.rows.fingerprint(),
            "loss": self.loss,
            "classes": self.n_classes,
            "lam": self.lam,
            "bias": self.bias,
            "bias ratio": self.bias_ratio,
            "labels": hashlib.sha256(self.y.data).hexdigest(),
            "sample weights": hashlib.sha256(self.weight.data).hexdigest(),
            "costs": hashlib.sha256(self.curve.costs.data).hexdigest(),
        }

    def _stacked(self, W: Any, bias: Any) -> Any:
        """W with the weights of the constant feature below, as kernels see it."""
        last = np.divide(bias, self.bias_scale) if self.bias_ratio else np.zeros(self.n_classes)
        return np.vstack([W, last])

    def _primal(self, W: Any, backend: Backend) -> tuple[float, Any]:
        """P and the scores of all rows."""
        scores = backend.empty((self.n_rows, self.n_classes))
        backend.multiclass_scores(self.rows.view, W, self.bias_scale, scores)
        losses = float(np.sum(self.weight * self.curve.value(scores, self.y)))
        primal = losses / self.total_weight + 0.5 * self.lam * float(np.sum(W * W))
        return (primal if not np.isnan(primal) else np.inf), scores

    def _dual(self, A: Any, backend: Backend) -> tuple[float, Any]:
        """D and W(A)."""
        conjugates = float(np.sum(self.weight * self.curve.conjugate(A, self.y)))
        coef = -A
        coef[np.arange(self.n_rows), self.y] += 1.0
        coef *= (self.weight / (self.lam * self.total_weight))[:, None]
        W = backend.zeros((self.n_features + 1, self.n_classes))
        backend.multiclass_combination(self.rows.view, coef, self.bias_scale, W)
        dual = -conjugates / self.total_weight - 0.5 * self.lam * float(np.sum(W * W))
        return (dual if not np.isnan(dual) else -np.inf), W


def _normalised(A: Any) -> Any:
    """Rows divided by their sums, where these are 1 but for rounding."""
    total = A.sum(axis=1, keepdims=True)
    return A / np.where(abs(total - 1.0) <= SIMPLEX_ROUNDING, total, 1.0)


def _checked_labels(y: Any, n: int, n_classes: int) -> Any:
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"X has {n} rows but y has shape {y.shape}")
    labels = y.astype(np.int64) if y.dtype.kind in "biuf" and np.isfinite(y).all() else None
    if labels is None or np.any(labels != y) or np.any((labels < 0) | (labels >= n_classes)):
        raise ValueError(f"y must hold whole numbers from 0 to n_classes - 1 = {n_classes - 1}")
    return labels


def _checked_costs(costs: Any, n_classes: int, loss: str) -> Any:
    if loss == "multinomial":
        if costs is not None:
            raise ValueError("costs are for loss 'crammer_singer'; 'multinomial' has none")
        return np.zeros((n_classes, n_classes))
    if costs is None:
        return 1.0 - np.eye(n_classes)
    costs = np.array(costs, dtype=np.float64, order="C")
    if costs.shape != (n_classes, n_classes):
        raise ValueError(f"costs must be {n_classes} by {n_classes}, got shape {costs.shape}")
    if not np.isfinite(costs).all() or costs.min() < 0 or np.diagonal(costs).any():
        raise ValueError("costs must be finite, >= 0, and 0 on the diagonal")
    return costs
