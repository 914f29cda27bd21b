"""``SVC.partial_fit``: LASVM goes on from the support vectors that it has, with more rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from gapsvm.estimators.rows import rows_to_learn
from gapsvm.kernels.registry import PRECOMPUTED, get_kernel
from gapsvm.kernels.rows import FeatureRows
from gapsvm.problems.kernel import KernelIterate
from gapsvm.system.blas import one_blas_thread
from gapsvm.training.fitting import loss_of, numbers_of
from gapsvm.training.machines import class_tasks, support_of
from gapsvm.training.methods import name_of


@dataclass(frozen=True)
class Stream:
    """What is kept between calls: the support vectors."""

    vectors: Any
    labels: Any
    """0 and 1."""
    coef: Any
    bias: float
    kernel: Any


def is_online(machine: Any) -> bool:
    """Whether its method takes rows as they come."""
    return bool(name_of(machine.method) == "lasvm")


def go_on(machine: Any, X: Any, y: Any, classes: Any) -> None:
    """Fit to the support vectors so far and more rows, from the coefficients so far."""
    stream: Stream | None = getattr(machine, "_stream", None)
    if callable(machine.kernel) or machine.kernel == PRECOMPUTED:
        raise ValueError("partial_fit needs a kernel by name: support vectors are kept as rows")
    if stream is None and classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit")
    X, y = rows_to_learn(machine, X, y=y, reset=stream is None, multi_output=True)
    check_classification_targets(y)
    y = column_or_1d(y, warn=True)
    known = np.unique(classes) if stream is None else machine.classes_
    if classes is not None and not np.array_equal(known, np.unique(classes)):
        raise ValueError(f"classes are {known!r} since the first call, now {classes!r}")
    if len(known) != 2:
        raise ValueError(
            f"partial_fit is for two classes, got {len(known)}: put SVC(method='lasvm') into "
            "sklearn.multiclass.OneVsRestClassifier"
        )
    machine.classes_, labels = known, numbers_of(y, known)
    kernel = (
        stream.kernel
        if stream
        else get_kernel(
            machine.kernel, gamma=machine.gamma, degree=machine.degree, coef0=float(machine.coef0)
        )
    )
    coef, bias = np.zeros(len(labels)), 0.0
    if stream is not None:
        X = (sp.vstack if sp.issparse(X) else np.vstack)([stream.vectors, X])
        X = X.tocsr() if sp.issparse(X) else X
        labels = np.concatenate([stream.labels, labels])
        coef, bias = np.concatenate([stream.coef, coef]), stream.bias
    with one_blas_thread():
        rows = FeatureRows(X, kernel, cache_size=float(machine.cache_size))
    tasks = class_tasks(labels, 2, None, pairs=False)
    box = machine.C if machine.lam is None else 1.0 / (machine.lam * len(labels))
    warm = [KernelIterate(np.abs(coef) / box, bias)]
    loss = loss_of(machine.loss, "margin")
    trained = machine._train(X, labels, None, rows, tasks, loss, warm=warm)
    support = support_of(labels, 2, tasks, [trained[0].coef])
    machine.n_support_ = support.counts
    machine._set_support(X, rows, support.rows, support.coef, trained)
    machine._set_certificates(trained, rows)
    machine.n_iter_ = machine._steps
    kept = support.rows
    machine._stream = Stream(
        X[kept], labels[kept], trained[0].coef[kept], float(machine.intercept_[0]), rows.kernel
    )
