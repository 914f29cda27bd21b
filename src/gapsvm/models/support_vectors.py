"""Kernel machines: what predicts with support vectors, whatever it was trained by."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.backends.renting import is_due
from gapsvm.kernels.sums import kernel_sums
from gapsvm.models.base import is_numeric, is_text
from gapsvm.rows.matrix import Rows, checked_rows
from gapsvm.system.blas import one_blas_thread
from gapsvm.system.lazy import sparse as sp

_NUMPY_VALUE = 5e-8
"""Seconds of a value of K by NumPy."""


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
    support : array, optional
        Which rows of the training data the vectors are.
    loss, lam, bias, primal, dual, method, passes, status, feature_names, label, metadata
        As in ``LinearModel``; primal and dual hold one number for each problem.
    """

    kernel: Any
    vectors: Any
    coef: Any
    intercept: Any
    classes: Any = None
    counts: Any = None
    support: Any = None
    loss: str = ""
    lam: float | None = None
    bias: str = "none"
    primal: Any = math.nan
    dual: Any = math.nan
    method: str = ""
    passes: float = 0.0
    status: str = ""
    feature_names: list[str] | None = None
    label: str | int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("coef", "intercept", "primal", "dual"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        object.__setattr__(self, "intercept", np.atleast_1d(self.intercept))
        for name in ("coef", "intercept"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} contains NaN or infinity")
        if self.classes is not None:
            object.__setattr__(self, "classes", np.asarray(self.classes))
            self._check_classes()
        self._check_shapes()
        names = self.feature_names
        if names is not None and len(names) != self.n_features:
            raise ValueError(f"there are {len(names)} feature names for {self.n_features} features")

    def _check_classes(self) -> None:
        if self.classes.ndim != 1 or not (is_text(self.classes) or is_numeric(self.classes)):
            raise ValueError("classes must be a list of integers, floats, booleans or strings")
        if len(self.classes) < 2 or len(np.unique(self.classes)) != len(self.classes):
            raise ValueError("classes must be two different labels or more")

    def _check_shapes(self) -> None:
        k = 1 if self.classes is None else len(self.classes)
        functions = rows = 1 if k <= 2 else k
        if self.counts is not None and k > 2:
            rows, functions = k - 1, k * (k - 1) // 2
            counts = np.asarray(self.counts)
            if counts.shape != (k,) or np.any(counts < 0) or counts.sum() != self.vectors.shape[0]:
                raise ValueError(f"counts does not fit {k} classes and the vectors")
        if self.coef.shape != (rows, self.vectors.shape[0]):
            raise ValueError(
                f"coef has shape {self.coef.shape}, which does not fit {self.vectors.shape[0]} "
                f"vectors and {'a regression' if self.classes is None else f'{k} classes'}"
            )
        if self.intercept.shape != (functions,):
            raise ValueError(
                f"there are {self.intercept.size} intercepts for {functions} functions"
            )

    @property
    def n_features(self) -> int:
        return int(self.vectors.shape[1])

    @property
    def gap(self) -> Any:
        """P − D of each problem: how far its objective can be from the minimum."""
        return self.primal - self.dual

    def widened(self, n_features: int) -> SupportVectorModel:
        """The same for rows with more features, which no support vector has."""
        vectors = sp.csr_matrix(self.vectors, copy=True)
        vectors.resize((vectors.shape[0], n_features))
        return replace(self, vectors=vectors, feature_names=None)

    def functions(self, X: Any, threads: int = 1) -> Any:
        """f(x) + b: one column for each function, or for each pair of classes."""
        return machine_functions(
            self.kernel, self.vectors, self.coef, self.intercept, self.counts, X, threads
        )

    def in_order(self) -> SupportVectorModel:
        """The same with its classes in ascending order."""
        if self.classes is None or np.all(self.classes[:-1] <= self.classes[1:]):
            return self
        order, k = np.argsort(self.classes, kind="stable"), len(self.classes)
        classes = self.classes[order]
        if k == 2:
            return replace(self, classes=classes, coef=-self.coef, intercept=-self.intercept)
        if self.counts is None:
            return replace(
                self, classes=classes, coef=self.coef[order], intercept=self.intercept[order]
            )
        ends = np.concatenate([[0], np.cumsum(self.counts)])
        vectors = np.concatenate([np.arange(ends[i], ends[i + 1]) for i in order])
        counts = np.asarray(self.counts)[order]
        starts = np.concatenate([[0], np.cumsum(counts)])
        coef, found = self.coef[:, vectors], np.empty(self.coef.shape)
        pair_numbers = {pair: p for p, pair in enumerate(combinations(range(k), 2))}
        intercept = np.empty(self.intercept.shape)
        for p, (i, j) in enumerate(combinations(range(k), 2)):
            a, b = int(order[i]), int(order[j])
            sign = 1.0 if a < b else -1.0
            of_i, of_j = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
            found[j - 1, of_i] = sign * coef[b - 1 if b > a else b, of_i]
            found[i, of_j] = sign * coef[a - 1 if a > b else a, of_j]
            intercept[p] = sign * self.intercept[pair_numbers[min(a, b), max(a, b)]]
        support = None if self.support is None else self.support[vectors]
        return replace(
            self,
            vectors=self.vectors[vectors],
            coef=found,
            intercept=intercept,
            classes=classes,
            counts=counts,
            support=support,
        )

    def decision_function(self, X: Any, threads: int = 1) -> Any:
        """f(x) + b of one function; of several a column for each class, of which the largest wins
        (one against one: votes, and confidences that decide between equal ones)."""
        values = self.functions(X, threads)
        if values.shape[1] == 1 and (self.classes is None or len(self.classes) == 2):
            return values[:, 0]
        return values if self.counts is None else class_scores(values, len(self.classes))

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


def class_scores(values: Any, n_classes: int) -> Any:
    """Votes of pairs, and the sum of their values, squeezed into (−1/3, 1/3), to break ties."""
    found = np.zeros((len(values), n_classes))
    sums = np.zeros_like(found)
    for column, (i, j) in zip(values.T, combinations(range(n_classes), 2)):
        found[:, i] += column >= 0
        found[:, j] += column < 0
        sums[:, i] += column
        sums[:, j] -= column
    return found + sums / (3.0 * (np.abs(sums) + 1.0))


def machine_functions(
    kernel: Any, vectors: Any, coef: Any, intercept: Any, counts: Any, X: Any, threads: int = 1
) -> Any:
    """What ``SupportVectorModel.functions`` gives, of its parts."""
    seconds = _NUMPY_VALUE * X.shape[0] * vectors.shape[0]
    due = is_due("kernel_values", "finish_products", seconds)
    backend = get_backend("cpu" if due else "reference", threads)
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
        members = slice(first, first + int(count))
        first += int(count)
        part = _some(support, members)
        by_class.append(kernel_sums(kernel, part, coef[:, members], rows, backend))
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
