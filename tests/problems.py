"""Small problems of every kind, and the tables that the tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from gapsvm.backends import get_backend
from gapsvm.kernels.registry import get_kernel
from gapsvm.kernels.rows import FeatureRows
from gapsvm.losses.base import Loss
from gapsvm.losses.registry import LOSSES, get_loss
from gapsvm.problems.kernel import KernelProblem
from gapsvm.problems.linear import LinearProblem

LOSS_NAMES = list(LOSSES)
"""A new loss in ``gapsvm.losses.family.LOSSES`` enters every table by itself."""
INTERIOR_LOSSES = [name for name in LOSS_NAMES if name != "logistic"]
LAYOUTS = ("dense", "csr")
DTYPES = (np.float32, np.float64)
BIASES = ("none", "penalized", "free")


def matrix(n: int, d: int, seed: int = 0, layout: str = "dense", dtype: Any = np.float64) -> Any:
    """Random rows with many zeros, one row and one column all zero."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.6, rng.normal(size=(n, d)), 0.0)
    X[n // 2] = 0.0
    if d > 2:
        X[:, -1] = 0.0
    X = X.astype(dtype)
    return sp.csr_matrix(X) if layout == "csr" else X


def targets(X: Any, kind: str, seed: int = 0) -> Any:
    """Noisy labels ±1 (both present) or responses of a linear model."""
    rng = np.random.default_rng(seed + 1000)
    n, d = X.shape
    signal = np.asarray(X @ rng.normal(size=d)).ravel() + 0.5 + rng.normal(size=n)
    if kind == "response":
        return signal
    y = np.where(signal > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return y


def problem(
    loss: str | Loss,
    n: int = 40,
    d: int = 5,
    *,
    seed: int = 0,
    lam: float = 0.05,
    layout: str = "dense",
    dtype: Any = np.float64,
    **options: Any,
) -> LinearProblem:
    """A random problem with that loss."""
    loss = get_loss(loss) if isinstance(loss, str) else loss
    X = matrix(n, d, seed, layout, dtype)
    return LinearProblem(X, targets(X, loss.kind, seed), loss, lam, **options)


KERNEL_ROWS = 90


def kernel_problem(
    loss: str | Loss = "hinge",
    n: int = KERNEL_ROWS,
    kernel: str = "rbf(gamma=0.3)",
    *,
    lam: float = 0.01,
    bias: Any = "none",
    layout: str = "dense",
    backend: str = "cpu",
    cache_size: float = 1.0,
    sample_weight: Any = None,
) -> KernelProblem:
    """A kernel problem over the rows of ``matrix(n, 5, 2)``."""
    loss = get_loss(loss) if isinstance(loss, str) else loss
    X = matrix(n, 5, 2)
    rows = FeatureRows(
        sp.csr_matrix(X) if layout == "csr" else X,
        get_kernel(kernel),
        backend=backend,
        cache_size=cache_size,
    )
    y = targets(X, loss.kind, 2)
    return KernelProblem(rows, y, loss, lam, bias=bias, sample_weight=sample_weight)


def feasible_points(loss: Loss, size: int, rng: Any) -> Any:
    """Dual values inside the box, bounds and zero among them."""
    curve = loss.curve
    low, high = max(curve.lo, -3.0), min(curve.hi, 3.0)
    a = rng.uniform(low, high, size)
    a[rng.random(size) < 0.15] = max(low, 0.0)
    if loss.name == "logistic":  # its derivative is infinite at the bounds
        return np.clip(a, 1e-3, 1 - 1e-3)
    a[rng.random(size) < 0.15] = low
    a[rng.random(size) < 0.15] = high
    return a


def objective(p: LinearProblem, w: Any, bias: float = 0.0) -> float:
    """P(w, b), written again from DESIGN §2."""
    X = p.rows.to_scipy()
    z = p.sign * (np.asarray(X @ w).ravel() + bias)
    s = np.broadcast_to(p.weight, z.shape)
    penalty = 0.5 * p.lam * float(w @ w)
    if p.bias == "penalized":
        penalty += 0.5 * p.lam * bias**2 / p.bias_ratio
    return float(s @ p.loss.curve.value(z, p.t) / s.sum() + penalty)


def dual_objective(p: LinearProblem, alpha: Any) -> float:
    """D(α), written again; minus infinity for an α that is not feasible."""
    X = p.rows.to_scipy()
    s = np.broadcast_to(p.weight, alpha.shape)
    S = s.sum()
    mass = p.sign * s * alpha / (p.lam * S)
    w = np.asarray(X.T @ mass).ravel()
    if p.bias == "free" and abs(mass.sum()) > 1e-9 * np.abs(mass).sum():
        return -np.inf
    penalty = float(w @ w) + p.bias_ratio * float(mass.sum()) ** 2
    return float(-(s @ p.loss.curve.conjugate(alpha, p.t)) / S - 0.5 * p.lam * penalty)


def drawn(state, size, steps):
    """The subsets that the state of a subgradient method will draw; single rows are just drawn."""
    batches, reference = np.empty((steps, size), dtype=np.uint32), get_backend("reference")
    if size == 1:
        reference.draw_multisets(state.order.size, batches, state.seed.copy())
    else:
        reference.draw_subsets(state.order.copy(), batches, state.seed.copy())
    return batches.astype(int)
