"""What SVC and SVR share: rows of K, the call of training, the report, what predicts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)

from gapsvm.backends.renting import is_due, rented
from gapsvm.backends.structure import check_structure
from gapsvm.estimators.callbacks import (
    WRAPPER_FRAMES,
    CallbackBridge,
    CallbackSupportMixin,
)
from gapsvm.estimators.ending import tell_ending
from gapsvm.estimators.rows import rows_to_learn, rows_to_predict
from gapsvm.estimators.threads import threads_to_predict
from gapsvm.kernels.callable import CallableRows, called
from gapsvm.kernels.registry import PRECOMPUTED, get_kernel
from gapsvm.kernels.rows import FeatureRows, KernelRows, MatrixRows
from gapsvm.losses.base import Loss
from gapsvm.models.support_vectors import (
    SupportVectorModel,
    machine_functions,
    paired,
)
from gapsvm.problems.kernel import KernelIterate
from gapsvm.rows.matrix import joined_notes
from gapsvm.solvers.trace import Callback
from gapsvm.system.cores import at_most_cores
from gapsvm.training.machines import (
    FunctionTask,
    Machine,
    MachineOptions,
    train_machines,
)
from gapsvm.training.methods import AUTO, name_of
from gapsvm.training.progress import ProgressBar

_INDEFINITE = (
    "the kernel matrix is not positive definite: the problem has no minimum. The model is a point "
    "where no single row, and no pair, can do better, as LIBSVM finds; dual_gap_ says how far rows "
    "are from that, and bounds nothing else."
)
_FEW_ROWS, _NUMPY_STEP = 1000, 1e-4
"""Rows for which NumPy may do, and its seconds for the steps of a row."""
_VALUES_AT_ONCE = 1 << 21
"""Of K, at predict, where they are not made tile by tile."""


class KernelMachine(CallbackSupportMixin, BaseEstimator):
    """What classification and regression share: rows of K, the call of training, the report."""

    copy_note_: str | None

    _parameter_constraints: dict[str, list[Any]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "kernel": [str, callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "shrinking": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
        "method": [str, HasMethods(["init", "advance", "iterate"])],
        "loss": [str, Loss],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "callbacks": ["array-like", callable, None],
    }

    def _check_combinations(self) -> None:
        if self.max_iter == 0:
            raise ValueError("max_iter must be at least 1, or -1 for no limit")
        if self.n_jobs == 0:
            raise ValueError("n_jobs must not be 0; use None for one thread or -1 for all cores")

    def _threads(self) -> int:
        return at_most_cores(int(effective_n_jobs(self.n_jobs)))

    def _validated(self, X: Any, y: Any) -> Any:
        """X, for a callable kernel as it is, as an array."""
        if y is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        if callable(self.kernel):
            check_consistent_length(X, y)
            X = _indexable(X)
            if X.ndim == 2:
                self.n_features_in_ = X.shape[1]
            return X
        if sp.issparse(X) and self.kernel == PRECOMPUTED:
            raise TypeError("a sparse matrix cannot be a precomputed kernel; call its toarray()")
        X = rows_to_learn(self, X)
        check_consistent_length(X, y)
        return X

    def _rows(self, X: Any, weight: Any) -> KernelRows:
        """Where values of K come from."""
        backend = self._backend(X.shape[0])
        options: dict[str, Any] = {"cache_size": float(self.cache_size), "backend": backend}
        if callable(self.kernel):
            return CallableRows(X, self.kernel, **options)
        if self.kernel == PRECOMPUTED:
            return MatrixRows(X, backend=backend)
        kernel = get_kernel(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=float(self.coef0)
        )
        rows = FeatureRows(X, kernel, weight=weight, **options)
        self.copy_note_ = joined_notes(self.copy_note_, rows.rows.note)
        return rows

    def _backend(self, n_rows: int) -> str:
        """NumPy for few rows, as long as compiled loops are not there and cost more than it."""
        n_classes = len(getattr(self, "classes_", ()))
        seconds = _NUMPY_STEP * n_rows * max(1, n_classes - 1)
        pairs = n_classes > 2 and getattr(self, "multi_class", "") == "ovo"
        in_a_problem = 2 * n_rows / n_classes if pairs else n_rows
        few = in_a_problem <= _FEW_ROWS and n_rows <= 3 * _FEW_ROWS
        due = not few or self.method != AUTO or is_due("kernel_steps", "pair_steps", seconds)
        return "cpu" if due else "reference"

    def _train(
        self,
        X: Any,
        y: Any,
        weight: Any,
        rows: KernelRows,
        tasks: Sequence[FunctionTask],
        loss: Any,
        warm: Sequence[KernelIterate | None] | None = None,
    ) -> list[Machine]:
        """Train one machine a task, watched by whoever wants to."""
        callbacks = [self.callbacks] if callable(self.callbacks) else list(self.callbacks or ())
        options = MachineOptions(
            C=self.C,
            lam=self.lam,
            bias="free" if self.fit_intercept else "none",
            tol=self.tol,
            max_steps=math.inf if self.max_iter == -1 else self.max_iter,
            time_limit=self.time_limit,
            callbacks=callbacks,
            method=self.method,
            threads=self._threads(),
            shrinking=bool(self.shrinking),
            seed=_seed(getattr(self, "random_state", None)),
        )
        bridge = None
        if hasattr(self, "_skl_callbacks"):
            data = {"X": X, "y": y, "metadata": {"sample_weight": weight}}
            bridge = CallbackBridge(self, data, len(tasks), self._attributes_of(X, rows, tasks))
        with ProgressBar(type(self).__name__, shown=bool(self.verbose)) as bar:

            def watch(k: int) -> list[Callback]:
                return [*bar.watch(k, len(tasks)), *(bridge.watch(k) if bridge else ())]

            by_numpy = rows.backend.name == "reference"
            with rented() if by_numpy else nullcontext():
                machines = train_machines(
                    rows, tasks, loss, options, warm=warm or self._warm_start(tasks), watch=watch
                )
        if bridge is not None:
            bridge.close()
        return machines

    def _attributes_of(
        self, X: Any, rows: KernelRows, tasks: Sequence[FunctionTask]
    ) -> Callable[[KernelIterate], dict[str, Any]]:
        """The attributes that make a model of one certified solution."""

        def attributes(solution: KernelIterate) -> dict[str, Any]:
            return {"_solution": solution}

        return attributes

    def _warm_start(self, tasks: Sequence[FunctionTask]) -> list[KernelIterate | None] | None:
        """The solutions of the last fit, if they are of as many problems of the same sizes."""
        before: list[KernelIterate] | None = getattr(self, "_solutions", None)
        if not self.warm_start or before is None or len(before) != len(tasks):
            return None
        if any(len(old.alpha) != len(task.y) for old, task in zip(before, tasks)):
            return None
        return list(before)

    def _set_certificates(self, machines: list[Machine], rows: KernelRows) -> None:
        results = [machine.result for machine in machines]
        several = len(results) > 1
        self._solutions = [result.solution for result in results]
        self.dual_gaps_ = np.array([r.gap for r in results])
        self.dual_gap_ = float(self.dual_gaps_.max())
        primal = np.array([r.certificate.primal for r in results])
        dual = np.array([r.certificate.dual for r in results])
        self.primal_objective_ = primal if several else float(primal[0])
        self.dual_objective_ = dual if several else float(dual[0])
        self.history_ = [r.trace for r in results] if several else results[0].trace
        worst = next((r for r in results if not r.converged), results[0])
        self.status_, self._ending = worst.status.name, worst.ending
        self.converged_ = worst.converged
        self.fit_status_ = 0 if self.converged_ else 1
        self.method_ = name_of(results[0].solver)
        self.n_kernel_evals_ = rows.evaluations + sum(m.evaluations for m in machines)
        self.gap_is_bound_ = {True: True, False: False, None: None}[rows.is_definite]
        self._passes = float(max(r.passes for r in results))
        self._steps = np.array(
            [max(1, round(r.passes * len(r.solution.alpha))) for r in results], dtype=np.int32
        )

    def _set_support(
        self, X: Any, rows: KernelRows, chosen: Any, coef: Any, machines: Sequence[Machine]
    ) -> None:
        """What predicts; ``chosen`` are the rows that are support vectors."""
        self.support_ = chosen.astype(np.int32)
        self.shape_fit_ = X.shape
        precomputed = self.kernel == PRECOMPUTED
        self.support_vectors_ = np.empty((0, 0)) if precomputed else X[chosen]
        intercept = np.array([machine.result.solution.bias for machine in machines])
        self._set_functions(getattr(rows, "kernel", None), coef, intercept, X)

    def _set_functions(self, kernel: Any, coef: Any, intercept: Any, X: Any) -> None:
        """What predicts, beside the support vectors; a callable or a matrix has no ``kernel``."""
        self._kernel = kernel
        self._gamma = float(getattr(kernel, "gamma", 0.0))
        self._coef, self._intercepts = coef, intercept
        self.dual_coef_ = _as_stored(coef, X)
        self.intercept_ = intercept

    def _report(self) -> None:
        """Say what a user must know about how the fit ended; the model is in place by now."""
        if self.gap_is_bound_ is False:
            warnings.warn(_INDEFINITE, UserWarning, stacklevel=3 + WRAPPER_FRAMES)
        tell_ending(self, int(self._steps.max()), ("step", "steps"), WRAPPER_FRAMES)

    def _functions(self, X: Any, counts: Any) -> Any:
        """One column for each function, or for each pair of classes."""
        check_is_fitted(self)
        if callable(self.kernel):
            X, vectors = _indexable(X), self.support_vectors_
            return self._in_blocks(X, lambda rows: called(self.kernel, rows, vectors), counts)
        X = rows_to_predict(self, X, order="C")
        if self.kernel == PRECOMPUTED:
            if X.shape[1] != self.shape_fit_[0]:
                raise ValueError(
                    f"a precomputed kernel needs {self.shape_fit_[0]} columns, one for each row of "
                    f"the fit; got {X.shape[1]}"
                )
            return self._in_blocks(X, lambda rows: np.float64(rows[:, self.support_]), counts)
        coef, threads = np.atleast_2d(self._coef), threads_to_predict(self.n_jobs)
        parts = self._kernel, self.support_vectors_, coef, self._intercepts
        return machine_functions(*parts, counts, X, threads)

    def _in_blocks(self, X: Any, values: Callable[[Any], Any], counts: Any) -> Any:
        """Functions of rows, whose values of K never fill more than some megabytes."""
        size = max(1, _VALUES_AT_ONCE // max(1, len(self.support_)))
        parts = [
            self._by_values(values(X[first : first + size]), counts)
            for first in range(0, max(1, X.shape[0]), size)
        ]
        return np.concatenate(parts)

    def _by_values(self, K: Any, counts: Any) -> Any:
        """Functions from values of K between rows and support vectors."""
        coef = self._coef
        if counts is None or len(counts) <= 2:
            return K @ coef.T + self._intercepts
        ends = np.concatenate([[0], np.cumsum(counts)])
        by_class = [K[:, first:last] @ coef[:, first:last].T for first, last in pairwise(ends)]
        return paired(by_class) + self._intercepts

    def as_model(self) -> SupportVectorModel:
        """What predicts, without the estimator: to be written as a file, for instance.

        A callable or a precomputed matrix has no place in it.
        """
        check_is_fitted(self)
        if self._kernel is None:
            raise ValueError("a callable or precomputed kernel cannot stand in a model by itself")
        pairs = getattr(self, "_against_one", False)
        names = getattr(self, "feature_names_in_", None)
        return SupportVectorModel(
            kernel=self._kernel,
            vectors=self.support_vectors_,
            coef=self._coef,
            intercept=self._intercepts,
            classes=getattr(self, "classes_", None),
            counts=self.n_support_ if pairs else None,
            support=getattr(self, "support_", None),
            loss=self.loss if isinstance(self.loss, str) else self.loss.name,
            lam=self.lam,
            bias="free" if self.fit_intercept else "none",
            primal=self.primal_objective_,
            dual=self.dual_objective_,
            method=self.method_,
            passes=self._passes,
            status=self.status_,
            feature_names=None if names is None else [str(name) for name in names],
        )

    @property
    def coef_(self) -> Any:
        """Weights of the features, where the kernel is linear; not to be written to."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is there for kernel='linear' only")
        check_is_fitted(self)
        weights = _as_stored(self._linear_weights(), self.support_vectors_)
        (weights.data if sp.issparse(weights) else weights).flags.writeable = False
        return weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != PRECOMPUTED
        tags.input_tags.pairwise = self.kernel == PRECOMPUTED
        return tags


def _indexable(X: Any) -> Any:
    """What a callable kernel gets: arrays and sparse matrices as they are, lists as arrays."""
    if sp.issparse(X):
        check_structure(X)
        return X.tocsr()
    array = np.asarray(X)
    return array if array.dtype.kind in "biufO" else np.asarray(X, dtype=object)


def _seed(random_state: Any) -> int:
    """A seed for all problems; 0 where none is asked for."""
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _as_stored(coef: Any, X: Any) -> Any:
    """Coefficients of sparse rows are sparse, of the same kind, as scikit-learn has it."""
    if not sp.issparse(X):
        return coef
    return sp.csr_array(coef) if isinstance(X, sp.sparray) else sp.csr_matrix(coef)
