"""From rows, labels and an objective to kernel machines, without an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.kernels.registry import get_kernel
from gapsvm.kernels.rows import FeatureRows
from gapsvm.models.support_vectors import SupportVectorModel
from gapsvm.problems.kernel import KernelProblem
from gapsvm.rows.matrix import checked_rows
from gapsvm.solvers.trace import Status
from gapsvm.system.blas import one_blas_thread
from gapsvm.training.fitting import Fitted, Objective, checked_weight, labelled
from gapsvm.training.machines import FunctionTask, class_tasks, problem_of, share_rows, support_of


@dataclass(frozen=True)
class KernelTask:
    """Rows of a kernel matrix, what they are to say, and the problems that this makes: one for each
    pair of classes, or one.

    Parameters
    ----------
    X : array or CSR matrix
    rows : FeatureRows
        Of X.
    y : array
        The number of each row's class, or its response.
    classes : array, or None for regression
    tasks : list of FunctionTask
    """

    X: Any
    rows: FeatureRows
    y: Any
    classes: Any
    tasks: Sequence[FunctionTask]
    objective: Objective

    def __len__(self) -> int:
        """How many problems there are."""
        return len(self.tasks)

    def target(self, k: int) -> Any:
        """What the rows are to say in problem k."""
        return self.tasks[k].y

    def at(self, lam: float) -> KernelTask:
        """The same with another λ, over the same rows of K."""
        return replace(self, objective=replace(self.objective, lam=float(lam)))

    def problem(self, k: int) -> KernelProblem:
        """Problem k."""
        objective = self.objective
        return problem_of(
            self.rows, self.tasks[k], objective.loss, objective.bias, objective.lam_for
        )

    @property
    def is_definite(self) -> bool | None:
        """Whether the kernel is positive definite, on which the certificate rests; None: it is not
        known."""
        return self.rows.is_definite

    @property
    def lam(self) -> float | None:
        """λ, where all problems have the same."""
        if self.objective.lam is not None:
            return self.objective.lam
        return self.problem(0).lam if len(self) == 1 else None

    def model_of(
        self, fitted: Fitted, feature_names: list[str] | None, label: str | int | None
    ) -> SupportVectorModel:
        """What is stored, and predicts."""
        coefs = [self.problem(k).coef_of(fit.solution) for k, fit in enumerate(fitted.fits)]
        if self.classes is None:
            chosen = np.flatnonzero(coefs[0])
            coef, counts = coefs[0][None, chosen], None
        else:
            support = support_of(self.y, len(self.classes), self.tasks, coefs)
            chosen, coef = support.rows, support.coef
            counts = support.counts if len(self.classes) > 2 else None
        return SupportVectorModel(
            kernel=self.rows.kernel,
            vectors=self.X[chosen],
            coef=coef,
            intercept=np.array([fit.solution.bias for fit in fitted.fits]),
            classes=self.classes,
            counts=counts,
            support=chosen,
            loss=self.objective.loss.name,
            lam=self.lam,
            bias=self.objective.bias,
            primal=fitted.primal,
            dual=fitted.dual,
            method=fitted.fits[0].method,
            passes=fitted.passes,
            status=(Status.CONVERGED if fitted.converged else fitted.ending.status).name,
            feature_names=feature_names,
            label=label,
        )


def check_kernel(kernel: str, objective: Objective) -> None:
    """Raise a ValueError for what there is no kernel machine for, before there are rows."""
    get_kernel(kernel)
    if objective.bias == "penalized":
        raise ValueError("a kernel machine has a free intercept or none, not a penalized one")


def kernel_task(
    X: Any,
    y: Any,
    kernel: str,
    objective: Objective,
    sample_weight: Any = None,
    *,
    threads: int = 1,
    cache_size: float = 200.0,
) -> KernelTask:
    """Rows dense or CSR, labels of any kind or responses, by the loss.

    Parameters
    ----------
    kernel : str
        A name or a spec of ``gapsvm.KERNELS``, as "rbf(gamma=0.1)".
    cache_size : float
        Megabytes for rows of K that are kept.
    """
    check_kernel(kernel, objective)
    checked_rows(X, get_backend("cpu"))  # before anything else is said of them
    n = X.shape[0]
    classes: Any = None
    if objective.loss.kind == "margin":
        found = labelled(y, objective.class_weight, sample_weight, n)
        y, classes = found.labels, found.classes
        tasks = class_tasks(y, len(classes), found.weight, pairs=True)
    else:
        if objective.class_weight is not None:
            raise ValueError("class weights need classes; this loss is for regression")
        y = np.asarray(y, dtype=np.float64)
        tasks = [FunctionTask(None, y, checked_weight(sample_weight, n))]
    with one_blas_thread():
        rows = FeatureRows(
            X,
            get_kernel(kernel),
            backend=get_backend("cpu", max(1, threads // len(tasks))),
            cache_size=cache_size,
            weight=checked_weight(sample_weight, n),
        )
        share_rows(rows, len(tasks))
    return KernelTask(X, rows, y, classes, tasks, objective)
