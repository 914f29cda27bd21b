"""SVC and SVR: scikit-learn's signatures for kernel machines, a certificate with every fit."""

from __future__ import annotations

from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from gapsvm.estimators.callbacks import with_callbacks
from gapsvm.estimators.kernel_machine import KernelMachine
from gapsvm.estimators.kernel_stream import go_on, is_online
from gapsvm.estimators.rows import rows_to_learn
from gapsvm.estimators.whole import whole_fit
from gapsvm.kernels.registry import PRECOMPUTED
from gapsvm.losses.base import Loss
from gapsvm.losses.registry import loss_with
from gapsvm.models.support_vectors import class_scores, paired, votes
from gapsvm.rows.matrix import copy_note
from gapsvm.system.blas import one_blas_thread
from gapsvm.training.fitting import checked_weight, labelled, loss_of
from gapsvm.training.machines import FunctionTask, class_tasks, support_of

_NO_PROBABILITIES = (
    "a machine gives values, not probabilities. Use "
    "sklearn.calibration.CalibratedClassifierCV(SVC(...), ensemble=False)"
)


def _labels(y: Any) -> Any:
    """One label a row, by scikit-learn's checks."""
    if np.asarray(y).dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return column_or_1d(y, warn=True)


class SVC(ClassifierMixin, KernelMachine):
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
        Threads; -1 is all cores, None one for a fit and all cores for a prediction (of a worker
        of a parallel loop, its share of them).
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
        **KernelMachine._parameter_constraints,
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
        self.__dict__.pop("_stream", None)
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

    @available_if(is_online)
    @whole_fit
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> SVC:
        """Go on with more rows, from the support vectors so far: ``method="lasvm"``, two classes.

        The other rows of earlier calls are forgotten, and ``dual_gap_`` bounds how far the
        objective is from its minimum over the support vectors and the rows of this call; the box
        of a coefficient is ``C`` all along.

        Parameters
        ----------
        classes : array
            Both labels; needed in the first call, may be given in later ones.
        """
        self._validate_params()
        self._check_combinations()
        self.copy_note_ = copy_note(X)
        go_on(self, X, y, classes)
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


class SVR(RegressorMixin, KernelMachine):
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
    max_iter, lam, fit_intercept, time_limit, method, warm_start : as for ``SVC``
    n_jobs, callbacks : as for ``SVC``

    Attributes
    ----------
    dual_coef_ : (1, n_SV)

    The other attributes are those of ``SVC``, but for ``classes_`` and ``class_weight_``.
    """

    _parameter_constraints = {
        **KernelMachine._parameter_constraints,
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
        (machine,) = self._train(X, y, weight, rows, [FunctionTask(None, y, weight)], loss)
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
