"""Kernel machines: what predicts with support vectors, whatever it was trained by."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from gapsvm.backends import Backend, get_backend
from gapsvm.kernels.sums import kernel_sums
from gapsvm.rows.matrix import Rows, checked_rows
from gapsvm.system.blas import one_blas_thread


@dataclass(frozen=True, eq=False)
class SupportVectorModel:
    """Functions f(x) = Σ coef_i K(v_i, x) + b over common support vectors.

    Parameters
    ----------
    kernel : a NamedTuple of ``gapsvm.types.mercer``
        γ a number.
    vectors : array or CSR matrix of shape (n_sv, d)
    coef : array
        One row a function; one against one, with K > 2 classes, K − 1 rows: of a vector of class i,
        row j − 1 is its coefficient against class j > i, row j that against j < i (as LIBSVM's).
    intercept : array
        One for each function; one against one for each pair, in order (0, 1), (0, 2), …
    classes : array of labels, or None for regression
    counts : array, optional
        How many of the vectors are of each class, in order: the model is one against one.
    loss, lam, bias, primal, dual, method, passes, status, feature_names, metadata
        As in ``LinearModel``; primal and dual hold one number for each problem.
    """

    kernel: Any
    vectors: Any
    coef: Any
    intercept: Any
    classes: Any = None
    counts: Any = None
    loss: str = ""
    lam: float | None = None
    bias: str = "none"
    primal: Any = math.nan
    dual: Any = math.nan
    method: str = ""
    passes: float = 0.0
    status: str = ""
    feature_names: list[str] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def n_features(self) -> int:
        return int(self.vectors.shape[1])

    def functions(self, X: Any, threads: int = 1) -> Any:
        """f(x) + b: one column for each function, or for each pair of classes."""
        return machine_functions(
            self.kernel, self.vectors, self.coef, self.intercept, self.counts, X, threads
        )

    def predict(self, X: Any, threads: int = 1) -> Any:
        """Labels, by votes of pairs where there are more than two classes; or responses."""
        values = self.functions(X, threads)
        if self.classes is None:
            return values[:, 0]
        classes = np.asarray(self.classes)
        if len(classes) == 2:
            return classes[(values[:, 0] > 0).astype(np.intp)]
        if self.counts is None:
            return classes[values.argmax(axis=1)]
        return classes[votes(values, len(classes)).argmax(axis=1)]


def votes(values: Any, n_classes: int) -> Any:
    """Of each pair of classes for one of the two."""
    found = np.zeros((len(values), n_classes), dtype=np.intp)
    for column, (i, j) in zip(values.T, combinations(range(n_classes), 2)):
        found[:, i] += column > 0
        found[:, j] += column <= 0
    return found


def machine_functions(
    kernel: Any, vectors: Any, coef: Any, intercept: Any, counts: Any, X: Any, threads: int = 1
) -> Any:
    """What ``SupportVectorModel.functions`` gives, of its parts."""
    backend = get_backend("cpu", threads)
    rows, support = _of_one_layout(X, vectors, backend)
    if rows.shape[1] != support.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} features, but the model has {support.shape[1]}")
    with one_blas_thread():  # every thread of ours multiplies by itself
        return _sums(kernel, support, coef, counts, rows, backend) + intercept


def _sums(kernel: Any, support: Rows, coef: Any, counts: Any, rows: Rows, backend: Backend) -> Any:
    if counts is None or len(counts) <= 2:
        return kernel_sums(kernel, support, coef, rows, backend)
    by_class, first = [], 0
    for count in counts:
        mine = slice(first, first + int(count))
        first += int(count)
        part = _some(support, mine)
        by_class.append(kernel_sums(kernel, part, coef[:, mine], rows, backend))
    return paired(by_class)


def paired(by_class: list[Any]) -> Any:
    """The functions of all pairs of classes, from the sums over the vectors of each class."""
    pairs = combinations(range(len(by_class)), 2)
    return np.stack([by_class[i][:, j - 1] + by_class[j][:, i] for i, j in pairs], axis=1)


def _some(rows: Rows, chosen: slice) -> Rows:
    view = rows.part(chosen.start, chosen.stop)
    count = chosen.stop - chosen.start
    return Rows(view, (count, rows.shape[1]), None, rows.sq_norms[chosen])


def _of_one_layout(X: Any, vectors: Any, backend: Backend) -> tuple[Rows, Rows]:
    """Both as rows; where one is dense and the other is not, the vectors change."""
    if sp.issparse(X) and not sp.issparse(vectors):
        vectors = sp.csr_matrix(vectors)
    elif not sp.issparse(X) and sp.issparse(vectors):
        vectors = vectors.toarray()
    return checked_rows(X, backend), checked_rows(vectors, backend)
