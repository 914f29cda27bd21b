"""Paths of kernel machines: a certified model at every λ, each started from the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.losses.base import Loss
from gapsvm.losses.registry import get_loss
from gapsvm.models.support_vectors import SupportVectorModel
from gapsvm.system.blas import one_blas_thread
from gapsvm.training.fitting import Fitted, Objective
from gapsvm.training.kernel_task import KernelTask, kernel_task
from gapsvm.training.methods import AUTO
from gapsvm.training.train import Options, train

_WEAKEST, _STRONGEST = 1e-2, 1e3
"""C·mean of K(x, x) at the ends of a path."""


@dataclass(frozen=True)
class KernelPathPoint:
    """The model at one λ, what is proved about it, and C = 1/(λ · sum of weights)."""

    lam: float
    C: float
    model: SupportVectorModel
    fitted: Fitted

    @property
    def gap(self) -> float:
        """The objective at this point minus its minimum is at most this."""
        return float(self.fitted.gaps.max())

    @property
    def converged(self) -> bool:
        return self.fitted.converged


def kernel_path(
    X: Any,
    y: Any,
    kernel: str = "rbf",
    *,
    C: Sequence[float] | None = None,
    lams: Sequence[float] | None = None,
    n_points: int = 10,
    loss: str | Loss = "hinge",
    fit_intercept: bool = True,
    sample_weight: Any = None,
    tol: float = 1e-3,
    method: Any = AUTO,
    threads: int = 1,
) -> list[KernelPathPoint]:
    """Kernel machines at growing C, each warm-started from its neighbour and certified.

    Parameters
    ----------
    X, y : as for ``SVC`` (two classes, of any kind) or ``SVR``, by the loss.
    kernel : str
        A name or a spec, such as ``"rbf(gamma=0.05)"``.
    C : sequence of float, optional
        In any order; they are solved from the smallest to the largest.
    lams : sequence of float, optional
        In place of C: λ = 1/(C · sum of weights).  By default C times the mean of K(x, x) goes in
        ``n_points`` even steps of the logarithm from 0.01 to 1,000.
    n_points : int
        How many, where neither says which.
    loss : str or ``gapsvm.Loss``
        As for ``svm_path``.
    fit_intercept : bool
        Whether there is an intercept, which is not penalised.
    sample_weight : array, optional
        s_i ≥ 0; 1 by default.
    tol, method : as for ``SVC``, at every point
    threads : int
        That compute rows of K, which are kept from one point to the next.

    Returns
    -------
    list of KernelPathPoint
        In the order of ``C`` or ``lams``.
    """
    objective = Objective(get_loss(loss), lam=1.0, bias="free" if fit_intercept else "none")
    task = kernel_task(X, y, kernel, objective, sample_weight, threads=threads)
    if len(task) != 1:
        raise ValueError(
            f"a path needs two classes, but y holds {len(task.classes)}: {task.classes!r}"
        )
    total = task.problem(0).total_weight
    chosen = _chosen(C, lams, n_points, total, float(np.mean(task.rows.diagonal)) or 1.0)
    return _solved(task, chosen, total, Options(method, tol, threads=threads))


def _solved(
    task: KernelTask, lams: Sequence[float], total: float, options: Options
) -> list[KernelPathPoint]:
    """From the strongest λ to the weakest."""
    points: dict[int, KernelPathPoint] = {}
    warm: Any = None
    with one_blas_thread():
        for k in sorted(range(len(lams)), key=lambda k: -lams[k]):
            at = task.at(lams[k])
            fit = train(at.problem(0), options, warm=warm, backend=task.rows.backend)
            warm, fitted, lam = fit.solution, Fitted(at, [fit]), float(lams[k])
            points[k] = KernelPathPoint(lam, 1.0 / (lam * total), fitted.model(), fitted)
    return [points[k] for k in range(len(lams))]


def _chosen(
    C: Sequence[float] | None,
    lams: Sequence[float] | None,
    n_points: int,
    total: float,
    size: float,
) -> Sequence[float]:
    """λ of every point."""
    if C is not None and lams is not None:
        raise ValueError("give C or lams, not both: λ = 1/(C · sum of weights)")
    if lams is None:
        if C is None:
            C = list(np.geomspace(_WEAKEST, _STRONGEST, n_points) / size)
        if not all(0 < one < np.inf for one in C):
            raise ValueError(f"C must be positive and finite, got {C!r}")
        lams = [1.0 / (one * total) for one in C]
    if len(lams) == 0 or not all(0 < lam < np.inf for lam in lams):
        raise ValueError(f"lams must be positive and finite, got {lams!r}")
    return lams
