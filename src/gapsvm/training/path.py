"""Regularisation paths: a certified model at every λ, each started from the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.losses.base import Loss
from gapsvm.losses.registry import get_loss
from gapsvm.problems.linear import Bias
from gapsvm.system.blas import one_blas_thread
from gapsvm.training.fitting import Objective, Task, classification, regression
from gapsvm.training.methods import AUTO, radius_of
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
    loss: str | Loss = "hinge",
    fit_intercept: bool = True,
    sample_weight: Any = None,
    tol: float = 1e-3,
    max_iter: float = 1000,
    method: Any = AUTO,
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
    n_lams : int
        How many, where ``lams`` does not say which.
    loss : str or ``gapsvm.Loss``
        A name, a spec such as ``"huber(delta=2)"``, or a loss of your own.
    fit_intercept : bool
        Whether there is an intercept, which is not penalised.
    sample_weight : array, optional
        s_i ≥ 0; 1 by default.
    tol, max_iter, method : as for ``LinearSVC``, at every point
    random_state : int
        Seeds the order of rows.

    Returns
    -------
    list of PathPoint
        In the order of ``lams``.
    """
    found = get_loss(loss)
    bias: Bias = "free" if fit_intercept else "none"
    objective = Objective(found, lam=1.0, bias=bias, radius=radius_of(method))
    if found.kind == "margin":
        task = classification(X, y, objective, sample_weight)
        if len(task) != 1:
            raise ValueError(
                f"svm_path needs two classes, but y holds {len(task.classes)}: {task.classes!r}"
            )
    else:
        task = regression(X, y, objective, sample_weight)
    if lams is None:
        top = float(np.mean(task.rows.sq_norms)) or 1.0
        lams = list(np.geomspace(top, 1e-6 * top, n_lams))
    if len(lams) == 0 or not all(0 < lam < np.inf for lam in lams):
        raise ValueError(f"lams must be positive and finite, got {lams!r}")
    return _solved(task, lams, Options(method, tol, max_iter, seed=random_state))


def _solved(task: Task, lams: Sequence[float], options: Options) -> list[PathPoint]:
    """From the largest λ to the smallest, each from the solution before it."""
    points: dict[int, PathPoint] = {}
    warm: Any = None
    for k in sorted(range(len(lams)), key=lambda k: -lams[k]):
        with one_blas_thread():  # several add long sums in another order
            fit = train(task.at(lams[k]).problem(0), options, warm=warm)
        warm = fit.solution
        points[k] = PathPoint(float(lams[k]), warm.w, warm.bias, fit)
    return [points[k] for k in range(len(lams))]
