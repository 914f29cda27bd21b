"""Regularisation paths: a certified model at every λ, each started from the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.losses.registry import get_loss
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.rows.matrix import checked_rows
from gapsvm.solvers.newton.normal_equations import one_blas_thread
from gapsvm.training.train import Fit, Options, train


@dataclass(frozen=True)
class PathPoint:
    """The model at one λ and what is proved about it."""

    lam: float
    coef: Any
    intercept: float
    fit: Fit

    @property
    def primal(self) -> float:
        return self.fit.result.certificate.primal

    @property
    def dual(self) -> float:
        return self.fit.result.certificate.dual

    @property
    def gap(self) -> float:
        """The objective at this point minus its minimum is at most this."""
        return self.fit.result.gap

    @property
    def converged(self) -> bool:
        return self.fit.result.converged

    @property
    def passes(self) -> float:
        return self.fit.result.passes


def svm_path(
    X: Any,
    y: Any,
    *,
    lams: Sequence[float] | None = None,
    n_lams: int = 20,
    loss: str = "hinge",
    loss_parameters: dict[str, float] | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    tol: float = 1e-3,
    max_iter: float = 1000,
    method: str = "auto",
    random_state: int = 0,
) -> list[PathPoint]:
    """Models at decreasing λ, each warm-started from its neighbour and certified.

    Parameters
    ----------
    X, y : as for ``LinearSVC`` (two classes, of any kind) or ``LinearSVR``, by the loss.
    lams : sequence of float, optional
        λ of the mean convention, in any order; they are solved from the largest to the smallest.
        By default ``n_lams`` of them, evenly spaced in the logarithm, from the scale of the data
        (the mean of ‖x_i‖²) down to a millionth of it.
    tol, max_iter, method : as for ``LinearSVC``, at every point.

    Returns
    -------
    list of PathPoint
        In the order of ``lams``.
    """
    curve = get_loss(loss, **(loss_parameters or {}))
    rows = checked_rows(X, get_backend())
    target = _signs(y) if curve.kind == "margin" else np.asarray(y, dtype=np.float64)
    if lams is None:
        top = float(np.mean(rows.sq_norms)) or 1.0
        lams = list(np.geomspace(top, 1e-6 * top, n_lams))
    if len(lams) == 0 or not all(0 < lam < np.inf for lam in lams):
        raise ValueError(f"lams must be positive and finite, got {lams!r}")
    options = Options(method=method, tol=tol, max_passes=max_iter, seed=random_state)
    points: dict[int, PathPoint] = {}
    warm: Iterate | None = None
    for k in sorted(range(len(lams)), key=lambda k: -lams[k]):
        problem = LinearProblem(
            rows,
            target,
            curve,
            lams[k],
            sample_weight=sample_weight,
            bias="free" if fit_intercept else "none",
        )
        with one_blas_thread():  # several add long sums in another order
            fit = train(problem, options, warm=warm)
        warm = fit.solution
        points[k] = PathPoint(float(lams[k]), warm.w, warm.bias, fit)
    return [points[k] for k in range(len(lams))]


def _signs(y: Any) -> Any:
    """−1 for the smaller label, +1 for the larger one."""
    classes, labels = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"svm_path needs two classes, but y holds {len(classes)}: {classes!r}")
    return 2.0 * labels - 1.0
