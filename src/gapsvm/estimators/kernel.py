"""SVC and SVR: scikit-learn's signatures for kernel machines, a certificate with every fit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from gapsvm.backends.structure import check_structure
from gapsvm.estimators.callbacks import (
    WRAPPER_FRAMES,
    CallbackBridge,
    CallbackSupportMixin,
    with_callbacks,
)
from gapsvm.estimators.rows import rows_to_learn, rows_to_predict
from gapsvm.estimators.whole import whole_fit
from gapsvm.kernels.registry import PRECOMPUTED, get_kernel
from gapsvm.kernels.rows import CallableRows, FeatureRows, KernelRows, MatrixRows, called
from gapsvm.losses.base import Loss
from gapsvm.losses.registry import loss_with
from gapsvm.models.support_vectors import (
    SupportVectorModel,
    class_scores,
    machine_functions,
    paired,
    votes,
)
from gapsvm.problems.kernel import KernelIterate
from gapsvm.rows.matrix import copy_note, joined_notes
from gapsvm.solvers.trace import Callback, Status
from gapsvm.system.blas import one_blas_thread
from gapsvm.system.cores import at_most_cores
from gapsvm.training.fitting import checked_weight, labelled, loss_of
from gapsvm.training.machines import (
    Machine,
    MachineOptions,
    Task,
    class_tasks,
    support_of,
    train_machines,
)
from gapsvm.training.methods import name_of
from gapsvm.training.progress import ProgressBar

_INDEFINITE = (
    "the kernel matrix is not positive definite: the problem has no minimum. The model is a point "
    "where no single row, and no pair, can do better, as LIBSVM finds; dual_gap_ says how far rows "
    "are from that, and bounds nothing else."
)
_NO_PROBABILITIES = (
    "a machine gives values, not probabilities. Use "
    "sklearn.calibration.CalibratedClassifierCV(SVC(...), ensemble=False)"
)


class _KernelMachine(CallbackSupportMixin, BaseEstimator):
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
        options: dict[str, Any] = {"cache_size": float(self.cache_size)}
        if callable(self.kernel):
            return CallableRows(X, self.kernel, **options)
        if self.kernel == PRECOMPUTED:
            return MatrixRows(X)
        kernel = get_kernel(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=float(self.coef0)
        )
        rows = FeatureRows(X, kernel, weight=weight, **options)
        self.copy_note_ = joined_notes(self.copy_note_, rows.rows.note)
        return rows

    def _train(
        self, X: Any, y: Any, weight: Any, rows: KernelRows, tasks: Sequence[Task], loss: Any
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

            machines = train_machines(
                rows, tasks, loss, options, warm=self._warm_start(tasks), watch=watch
            )
        if bridge is not None:
            bridge.close()
        return machines

    def _attributes_of(
        self, X: Any, rows: KernelRows, tasks: Sequence[Task]
    ) -> Callable[[KernelIterate], dict[str, Any]]:
        """The attributes that make a model of one certified solution."""

        def attributes(solution: KernelIterate) -> dict[str, Any]:
            return {"_solution": solution}

        return attributes

    def _warm_start(self, tasks: Sequence[Task]) -> list[KernelIterate | None] | None:
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
        frames = 3 + WRAPPER_FRAMES
        if self.gap_is_bound_ is False:
            warnings.warn(_INDEFINITE, UserWarning, stacklevel=frames)
        status = Status[self.status_]
        if status is Status.INTERRUPTED:
            raise KeyboardInterrupt("the estimator holds the last certified model")
        if status is Status.CONVERGED:
            return
        advice = {
            Status.MAX_PASSES: "raise max_iter or tol",
            Status.TIME_LIMIT: "raise time_limit or tol",
            Status.STALLED: "raise tol, or rescale the features",
        }.get(status, "raise tol")
        steps = int(self._steps.max())
        warnings.warn(
            f"certified gap {self.dual_gap_:.3e} after {steps} step{'s' if steps > 1 else ''}, "
            f"tol={self.tol:g} not reached: {self._ending}. The model is usable: its objective is "
            f"within the gap of the optimum. To get closer, {advice}.",
            ConvergenceWarning,
            stacklevel=frames,
        )

    def _functions(self, X: Any, counts: Any) -> Any:
        """One column for each function, or for each pair of classes."""
        check_is_fitted(self)
        if callable(self.kernel):
            return self._by_values(
                called(self.kernel, _indexable(X), self.support_vectors_), counts
            )
        X = rows_to_predict(self, X, order="C")
        if self.kernel == PRECOMPUTED:
            if X.shape[1] != self.shape_fit_[0]:
                raise ValueError(
                    f"a precomputed kernel needs {self.shape_fit_[0]} columns, one for each row of "
                    f"the fit; got {X.shape[1]}"
                )
            return self._by_values(np.asarray(X[:, self.support_], dtype=np.float64), counts)
        coef, threads = np.atleast_2d(self._coef), self._threads()
        parts = self._kernel, self.support_vectors_, coef, self._intercepts
        return machine_functions(*parts, counts, X, threads)

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


def _labels(y: Any) -> Any:
    """One label a row, by scikit-learn's checks."""
    if np.asarray(y).dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return column_or_1d(y, warn=True)


class SVC(ClassifierMixin, _KernelMachine):
    """Kernel support vector classification with a certified duality gap.

    Minimises ``C * Σ s_i φ(y_i(f(x_i) + b)) + ‖f‖²/2`` over the functions of the kernel's space,
    one such problem for each pair of classes (or each class), and proves how far the answer is from
    the minimum.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss; ``lam = 1 / (C * sum of the weights of a problem)``.
    kernel : {"rbf", "poly", "sigmoid", "linear", "laplacian", "chi2", "precomputed"} or callable, \
default="rbf"
        A spec such as ``"rbf(gamma=0.05)"`` will do.  A callable gets two lots of rows and returns
        K between them; "precomputed": X is K.
    degree : int, default=3
        Of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (n_features * X.var()), the variance with rows counted by their sample
        weights; "auto" is 1 / n_features.
    coef0 : float, default=0.0
        Of "poly" and "sigmoid".
    tol : float, default=1e-3
        Certified gap to reach, relative to the objective of the zero function.  Problems of up to a
        thousand rows are solved to the last digits where that takes little longer.
    shrinking : bool, default=True
        Leave rows that stay at a bound out of the steps, until the certificate looks at all rows.
    probability : bool, default=False
        True is refused, with what to use instead.
    cache_size : float, default=200
        Megabytes for rows of K that are kept.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the sample weights.
    verbose : int, default=0
        Progress with the gap.
    max_iter : int, default=-1
        Steps of two rows (without an intercept: of one) for each problem; -1 for no limit.
    decision_function_shape : {"ovo", "ovr"}, default="ovr"
        What ``decision_function`` returns for more than two classes, one against one: a column for
        each pair, or votes and confidences a class.
    break_ties : bool, default=False
        Predict by the "ovr" decision function rather than by votes.
    random_state : int, RandomState or None, default=None
        Seeds a solver that draws; the default one draws nothing.
    multi_class : {"ovo", "ovr"}, default="ovo"
        The problems that are solved: for each pair of classes, or each class against all others.
    loss : {"hinge", "squared_hinge", "smoothed_hinge", "logistic"}, default="hinge"
        φ of the objective.
    lam : float, default=None
        λ of the mean convention; overrides C.
    fit_intercept : bool, default=True
        The intercept is not penalised.
    time_limit : float, default=None
        Seconds at most.
    method : str or solver, default="auto"
        "working-set" or "kernel-newton" (the logistic loss), a spec of it such as
        ``"working-set(block_size=512)"``, or a solver.
    warm_start : bool, default=False
        Begin at the solution of the last fit if the problems are of the same sizes.
    n_jobs : int, default=None
        Threads; None is one, -1 all cores.
    callbacks : callable or list of callables, default=None
        Called with each ``gapsvm.Record``; a true answer stops the fit.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, n_iter_, coef_, \
class_weight_, shape_fit_, fit_status_ : as scikit-learn's
        With ``multi_class="ovr"`` and more than two classes ``dual_coef_`` has a row a class.
    dual_gap_ : float
        The certificate: objective minus minimum is at most this; the largest over problems.
    dual_gaps_ : array, one number for each problem
    gap_is_bound_ : bool or None
        Whether the kernel is positive definite, on which the proof rests: False where it is not
        (then ``dual_gap_`` says how far rows are from their conditions of optimality and no more),
        None for a kernel that need not be (sigmoid, a callable, a matrix) where 2,000 of more rows
        did not show that it is not.
    primal_objective_, dual_objective_ : float, or one number for each problem
    converged_ : bool;  status_ : str;  method_ : str
    n_kernel_evals_ : int
        Values of the kernel that were computed.
    history_ : list of ``gapsvm.Record``, or one such list for each problem
    copy_note_ : str or None
        What of X had to be copied, and why.
    """

    _parameter_constraints = {
        **_KernelMachine._parameter_constraints,
        "probability": ["boolean", StrOptions({"deprecated"})],
        "random_state": ["random_state"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "multi_class": [StrOptions({"ovr", "ovo"})],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        shrinking: bool = True,
        probability: bool = False,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: int = 0,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multi_class: str = "ovo",
        loss: str | Loss = "hinge",
        lam: float | None = None,
        fit_intercept: bool = True,
        time_limit: float | None = None,
        method: Any = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        callbacks: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.shrinking = shrinking
        self.probability = probability
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.loss = loss
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.time_limit = time_limit
        self.method = method
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.callbacks = callbacks

    @with_callbacks
    @whole_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Fit to rows X and labels y of any kind."""
        self._validate_params()
        self._check_combinations()
        if self.probability is True:
            raise ValueError(f"probability=True is not there: {_NO_PROBABILITIES}")
        loss = loss_of(self.loss, "margin")
        self.copy_note_ = copy_note(X)
        X = self._validated(X, y)
        n = _num_samples(X)
        found = labelled(y, self.class_weight, sample_weight, n, checked=_labels)
        self.classes_, self.class_weight_ = found.classes, found.per_class
        with one_blas_thread():
            rows = self._rows(X, checked_weight(sample_weight, n))
        k = len(found.classes)
        tasks = class_tasks(found.labels, k, found.weight, pairs=self._against_one)
        machines = self._train(X, y, found.weight, rows, tasks, loss)
        support = support_of(found.labels, k, tasks, [machine.coef for machine in machines])
        self.n_support_ = support.counts
        self._set_support(X, rows, support.rows, support.coef, machines)
        self._set_certificates(machines, rows)
        self.n_iter_ = self._steps
        return self

    @property
    def _against_one(self) -> bool:
        """Whether there is a problem for each of several pairs."""
        return self.multi_class == "ovo" and len(self.classes_) > 2

    def _linear_weights(self) -> Any:
        """One row for each function, or for each pair of classes."""
        vectors = self.support_vectors_
        if not self._against_one:
            return np.asarray(self._coef @ vectors)
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        by_class = [np.asarray(vectors[a:b].T @ self._coef[:, a:b].T) for a, b in pairwise(ends)]
        return paired(by_class).T

    def decision_function(self, X: Any) -> Any:
        """f(x) + b: (n,) for two classes, else a column for each class, or for each pair."""
        counts = self.n_support_ if hasattr(self, "n_support_") and self._against_one else None
        values = self._functions(X, counts)
        if len(self.classes_) == 2:
            return values.ravel()
        if self._against_one and self.decision_function_shape == "ovr":
            return class_scores(values, len(self.classes_))
        return values

    @property
    def predict_proba(self) -> Any:
        """Not there, as ``hasattr`` says."""
        raise AttributeError(f"SVC has no predict_proba: {_NO_PROBABILITIES}")

    @property
    def predict_log_proba(self) -> Any:
        """Not there, as ``hasattr`` says."""
        raise AttributeError(f"SVC has no predict_log_proba: {_NO_PROBABILITIES}")

    def predict(self, X: Any) -> Any:
        """The label of each row."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo" and self._against_one:
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if len(self.classes_) == 2:
            return self.classes_[(self.decision_function(X) > 0).astype(np.intp)]
        if not self._against_one:
            return self.classes_[self.decision_function(X).argmax(axis=1)]
        if self.break_ties:
            return self.classes_[np.argmax(self.decision_function(X), axis=1)]
        return self.classes_[
            votes(self._functions(X, self.n_support_), len(self.classes_)).argmax(axis=1)
        ]


class SVR(RegressorMixin, _KernelMachine):
    """Kernel support vector regression with a certified duality gap.

    Minimises ``C * Σ s_i φ(f(x_i) + b − y_i) + ‖f‖²/2``.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half width of the tube in which errors cost nothing (ε-insensitive losses).
    loss : str or ``gapsvm.Loss``, default="epsilon_insensitive"
        "epsilon_insensitive", "squared_epsilon_insensitive", "absolute", "huber" or
        "half_squared"; a spec with parameters, such as ``"huber(delta=2)"``; or a loss of your own.
        φ of the objective.
    kernel, degree, gamma, coef0, tol, C, shrinking, cache_size, verbose : as for ``SVC``
    max_iter, lam, fit_intercept, time_limit, solver, warm_start : as for ``SVC``
    n_jobs, callbacks : as for ``SVC``

    Attributes
    ----------
    dual_coef_ : (1, n_SV)

    The other attributes are those of ``SVC``, but for ``classes_`` and ``class_weight_``.
    """

    _parameter_constraints = {
        **_KernelMachine._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: int = 0,
        max_iter: int = -1,
        loss: str | Loss = "epsilon_insensitive",
        lam: float | None = None,
        fit_intercept: bool = True,
        time_limit: float | None = None,
        method: Any = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.loss = loss
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.time_limit = time_limit
        self.method = method
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.callbacks = callbacks

    @with_callbacks
    @whole_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVR:
        """Fit to rows X and responses y."""
        self._validate_params()
        self._check_combinations()
        loss = loss_of(loss_with(self.loss, "epsilon", self.epsilon, unset=0.1), "response")
        self.copy_note_ = copy_note(X)
        if callable(self.kernel):
            X = self._validated(X, y)
            y = column_or_1d(y, warn=True).astype(np.float64)
        else:
            if sp.issparse(X) and self.kernel == PRECOMPUTED:
                raise TypeError("a sparse matrix cannot be a precomputed kernel")
            X, y = rows_to_learn(self, X, y=y, y_numeric=True)
            y = np.asarray(y, dtype=np.float64)
        weight = checked_weight(sample_weight, _num_samples(X))
        with one_blas_thread():
            rows = self._rows(X, weight)
        (machine,) = self._train(X, y, weight, rows, [Task(None, y, weight)], loss)
        used = np.flatnonzero(machine.coef)
        self.n_support_ = np.array([used.size], dtype=np.int32)
        self._set_support(X, rows, used, machine.coef[None, used], [machine])
        self._set_certificates([machine], rows)
        self.n_iter_ = int(self._steps[0])
        return self

    def _linear_weights(self) -> Any:
        return np.asarray(self._coef @ self.support_vectors_)

    def predict(self, X: Any) -> Any:
        """f(x) + b."""
        return self._functions(X, None).ravel()
