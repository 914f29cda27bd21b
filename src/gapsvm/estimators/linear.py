"""LinearSVC and LinearSVR: scikit-learn's signatures, a certificate with every fit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from gapsvm.estimators.callbacks import (
    WRAPPER_FRAMES,
    CallbackBridge,
    CallbackSupportMixin,
    with_callbacks,
)
from gapsvm.estimators.probabilities import ProbabilitiesMixin
from gapsvm.estimators.randomness import seed_of
from gapsvm.estimators.rows import rows_to_learn, rows_to_predict
from gapsvm.estimators.whole import whole_fit
from gapsvm.losses.registry import get_loss
from gapsvm.problems.limits import check_square, lam_of
from gapsvm.problems.linear import Bias, Iterate, check_weights
from gapsvm.problems.multiclass import MulticlassIterate, MulticlassProblem
from gapsvm.rows.matrix import copy_note, joined_notes
from gapsvm.solvers.minibatch.solver import BATCH_RULES
from gapsvm.solvers.subgradient.rules import get_step_rule, needs_ball
from gapsvm.solvers.subgradient.solver import Subgradient
from gapsvm.solvers.trace import Callback, Status
from gapsvm.system.cores import at_most_cores
from gapsvm.training.progress import ProgressBar
from gapsvm.training.train import METHODS, PRIMAL, SUBGRADIENT, Fit, Options, train, train_all

_JOINT_LOSSES = {"hinge": "crammer_singer", "logistic": "multinomial"}
_JOINT_METHODS = tuple(method for method in SUBGRADIENT if method != "optimistic")
_DUAL_METHODS = ("sdca", "interior", "accelerated")
_PRIMAL_METHODS = (*SUBGRADIENT, "interior")


class _LinearModel(CallbackSupportMixin, BaseEstimator):
    """What classification and regression share: the call of ``train_all`` and its report."""

    _parameter_constraints: dict[str, list[Any]] = {
        "dual": ["boolean", StrOptions({"auto"})],
        "method": [StrOptions(set(METHODS)), HasMethods(["init", "advance", "iterate"])],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "rule": [StrOptions(set(BATCH_RULES))],
        "tol": [Interval(Real, 0, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="left"), None],
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "fit_intercept": ["boolean"],
        "penalize_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callbacks": ["array-like", callable, None],
    }

    def _method(self) -> Any:
        """``method`` and ``dual`` together; interior point is both primal and dual."""
        if self.dual == "auto" or not isinstance(self.method, str):
            return self.method
        if self.dual and self.radius is not None:
            raise ValueError("dual=True has no method that keeps to a radius; leave dual at 'auto'")
        allowed = _DUAL_METHODS if self.dual else _PRIMAL_METHODS
        if self.method == "auto":
            return "auto" if self.dual else PRIMAL
        if self.method not in allowed:
            raise ValueError(
                f"dual={self.dual} and method={self.method!r} exclude each other; with "
                f"dual={self.dual} the methods are {', '.join(allowed)}"
            )
        return str(self.method)

    def _bias(self) -> Bias:
        if not self.fit_intercept:
            return "none"
        return "penalized" if self.penalize_intercept else "free"

    def _threads(self) -> int:
        """``n_jobs`` as joblib sees it here: inside its workers None is one, never all cores.

        Never more than there are cores.
        """
        if self.n_jobs == 0:
            raise ValueError("n_jobs must not be 0; use None for one thread or -1 for all cores")
        return at_most_cores(int(effective_n_jobs(self.n_jobs)))

    def _fit_targets(
        self,
        X: Any,
        y: Any,
        targets: Sequence[Any],
        loss: Any,
        weight: Any,
        note: str | None,
        joint: int = 0,
    ) -> None:
        """Train one problem per target and set the fitted attributes.

        ``joint`` classes: the only target holds their numbers, and the problem is one over all.
        """
        n = X.shape[0]
        total = float(n if weight is None else weight.sum())
        lam = self.lam if self.lam is not None else lam_of(self.C, total)
        check_square("intercept_scaling", self.intercept_scaling)
        if lam == 0 and self.radius is None:
            raise ValueError("The 'lam' parameter may be 0 only where a radius is given.")
        callbacks = [self.callbacks] if callable(self.callbacks) else list(self.callbacks or ())
        options = Options(
            method=self._method(),
            batch_size=self.batch_size,
            rule=self.rule,
            tol=self.tol,
            max_passes=self.max_iter,
            time_limit=self.time_limit,
            seed=seed_of(self.random_state),
            callbacks=callbacks,
        )
        bridge = None
        if hasattr(self, "_skl_callbacks"):
            data = {"X": X, "y": y, "metadata": {"sample_weight": weight}}
            bridge = CallbackBridge(self, data, len(targets), self._weights)
        count = joint or len(targets)
        warm = self._warm_start(X.shape, count, bool(joint)) if self.warm_start else None
        with ProgressBar(type(self).__name__, shown=bool(self.verbose)) as bar:

            def watch(k: int) -> list[Callback]:
                return [*bar.watch(k, len(targets)), *(bridge.watch(k) if bridge else ())]

            weights = {
                "sample_weight": weight,
                "bias": self._bias(),
                "bias_scale": self.intercept_scaling,
            }
            if joint:
                problem: Any = MulticlassProblem(X, targets[0], joint, loss, lam, **weights)
                options = replace(options, callbacks=[*callbacks, *watch(0)])
                first = warm[0] if warm else None
                fits, rows = [train(problem, _joint_options(options, n), warm=first)], problem.rows
            else:
                fits, rows = train_all(
                    *(X, targets, loss, lam, options),
                    **weights,
                    radius=math.inf if self.radius is None else self.radius,
                    warm=warm,
                    threads=self._threads(),
                    watch=watch,
                )
        self.copy_note_ = joined_notes(note, rows.note)
        self._set_fitted(fits)
        if bridge is not None:
            bridge.close()

    def _weights(self, solution: Iterate | MulticlassIterate) -> dict[str, Any]:
        """The attributes that make a model of one certified solution."""
        coef, intercept, _ = _functions(solution)
        weights = {
            "coef_": self._shaped(coef),
            "intercept_": intercept,
            "n_features_in_": self.n_features_in_,
        }
        if hasattr(self, "classes_"):
            weights["classes_"] = self.classes_
        return weights

    @staticmethod
    def _shaped(coef: Any) -> Any:
        """``coef_`` as the estimator shows it."""
        return coef

    def _set_fitted(self, fits: list[Fit]) -> None:
        results = [fit.result for fit in fits]
        several = len(fits) > 1
        coef, intercept, alpha = zip(*(_functions(fit.solution) for fit in fits))
        self.coef_ = self._shaped(np.concatenate(coef))
        self.intercept_ = np.concatenate(intercept)
        self.dual_coef_ = np.concatenate(alpha)
        self.dual_gaps_ = np.array([r.gap for r in results])
        self.dual_gap_ = float(self.dual_gaps_.max())
        primal = np.array([r.certificate.primal for r in results])
        dual = np.array([r.certificate.dual for r in results])
        self.primal_objective_ = primal if several else float(primal[0])
        self.dual_objective_ = dual if several else float(dual[0])
        self.history_ = [r.trace for r in results] if several else results[0].trace
        self.n_iter_ = max(1, math.ceil(max(r.passes for r in results)))
        worst = next((r for r in results if not r.converged), results[0])
        self.status_ = worst.status.name
        self._ending = worst.ending
        self.converged_ = worst.converged
        methods = [fit.method for fit in fits]
        self.method_ = methods if several else methods[0]
        self.method_note_ = fits[0].note

    def _report(self) -> None:
        """Say what a user must know about how the fit ended; the model is in place by now."""
        status = Status[self.status_]
        if status is Status.INTERRUPTED:
            raise KeyboardInterrupt("the estimator holds the last certified model")
        if status in (Status.CONVERGED, Status.PROMISED, Status.SETTLED):
            return
        advice = {
            Status.MAX_PASSES: "raise max_iter or tol",
            Status.TIME_LIMIT: "raise time_limit or tol",
            Status.STALLED: "raise tol, or rescale the features",
            Status.DIVERGED: "rescale the features",
        }.get(status, "raise tol")
        passes = "1 pass" if self.n_iter_ == 1 else f"{self.n_iter_} passes"
        warnings.warn(
            f"certified gap {self.dual_gap_:.3e} after {passes}, tol={self.tol:g} "
            f"not reached: {self._ending}. The model is usable: its objective is within the gap "
            f"of the optimum. To get closer, {advice}.",
            ConvergenceWarning,
            stacklevel=3 + WRAPPER_FRAMES,
        )

    def _warm_start(self, shape: Any, count: int, joint: bool) -> list[Any] | None:
        """The solutions that the attributes were made of, if they are of so many rows and columns
        and of so many problems, or classes of a joint one."""
        n, d = shape
        alpha: Any = getattr(self, "dual_coef_", None)
        if alpha is None or alpha.shape != (count, n):
            return None
        coef = np.atleast_2d(self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_)
        if coef.shape[1] != d:
            return None
        bias = np.atleast_1d(self.intercept_)
        if not joint:
            return [Iterate(coef[k], float(bias[k]), alpha[k]) for k in range(count)]
        if len(coef) < count:  # the difference of two functions, whose sum is zero
            coef, bias = np.outer([-0.5, 0.5], coef), np.outer([-0.5, 0.5], bias).ravel()
        return [MulticlassIterate(np.ascontiguousarray(coef.T), bias, alpha.T.copy())]

    def _raw_prediction(self, X: Any) -> Any:
        check_is_fitted(self)
        X = rows_to_predict(self, X)
        raw = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return raw.ravel() if raw.ndim == 2 and raw.shape[1] == 1 else raw

    def densify(self) -> Any:
        """Make ``coef_`` a dense array again."""
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self._shaped(self.coef_.toarray())
        return self

    def sparsify(self) -> Any:
        """Keep ``coef_`` as a sparse matrix: smaller when many weights are zero."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _functions(solution: Iterate | MulticlassIterate) -> tuple[Any, Any, Any]:
    """Weights, intercepts and dual variables of a solution, a row for each linear function."""
    if not isinstance(solution, MulticlassIterate):
        return solution.w[None, :], np.array([solution.bias]), solution.alpha[None, :]
    coef, intercept = solution.W.T.copy(), solution.bias
    if len(coef) == 2:  # one function will do: the difference
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    return coef, intercept, solution.A.T.copy()


def _joint_options(options: Options, n: int) -> Options:
    """The same with a solver for all classes at once in place of the method's name."""
    method, size = options.method, 1 if options.batch_size == "auto" else options.batch_size
    if not isinstance(method, str):
        return options
    method = "pegasos" if method in ("auto", PRIMAL) else method
    if method not in _JOINT_METHODS:
        names = ", ".join(("auto", *_JOINT_METHODS))
        raise ValueError(
            f"multi_class='crammer_singer' has no method {method!r}; choose one of {names}"
        )
    horizon = math.ceil(min(options.max_passes, 1e6) * n / size)
    ball = needs_ball(get_step_rule(method))
    solver = Subgradient(size, ball, step_rule=method, average="tail", horizon=horizon)
    return replace(options, method=solver)


def _checked_weight(sample_weight: Any, n: int) -> Any:
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    return check_weights(np.full(n, float(weight)) if weight.ndim == 0 else weight, n)


class LinearSVC(ProbabilitiesMixin, ClassifierMixin, _LinearModel):
    """Linear support vector classification with a certified duality gap.

    Minimises ``C * Σ s_i φ(y_i(⟨x_i, w⟩ + b)) + ‖w‖²/2`` (one such problem per class if there are
    more than two) and proves how far the answer is from the minimum.

    Parameters
    ----------
    penalty : {"l2"}, default="l2"
    loss : {"hinge", "squared_hinge", "smoothed_hinge", "logistic"}, default="hinge"
    dual : bool or "auto", default="auto"
        True: dual methods; False: primal ones (interior point for few features, else Pegasos).
    method : {"auto", "sdca", "accelerated", "interior", "pegasos", "norma", "zhang", "adaptive", \
"proximal", "optimistic"} or a solver, default="auto"
        "accelerated" is SDCA for weak regularisation (a large C), "interior" is exact, for few
        features or few rows (Newton's method, if the loss is logistic).  The last six are
        subgradient methods and differ in their step rule (``gapsvm.solvers.subgradient.rules``).
        ``method_`` says which one produced the model.  A solver such as
        ``MiniBatchSDCA(rule="aggressive", batch_size=64, staleness=2)`` is taken as it is.
    batch_size : int or "auto", default=1
        Rows that step together; more than 1 means mini-batch SDCA, or mini-batch Pegasos.  "auto"
        with method "sdca" takes as many as the data allow (Takáč's b with β_b ≤ 2); with method
        "auto" it takes what ends first, which on one machine is one row at a time, unless a rule
        other than "safe" asks for batches.  ``method_note_`` says what was taken and why.
    rule : {"naive", "safe", "aggressive", "exact"}, default="safe"
        How the rows of a batch share the way; see ``gapsvm.MiniBatchSDCA``.
    tol : float, default=1e-3
        Certified gap to reach, relative to the objective of the zero model.
    C : float, default=1.0
        Weight of the loss; ``lam = 1 / (C * sum of sample weights)``.
    lam : float, default=None
        λ of the mean convention; overrides C.
    radius : float, default=None
        The largest norm of the weights (a penalised intercept among them).  ``lam`` may then be 0:
        the mean loss is minimised over that ball.  "auto" means "proximal" here, sdca and interior
        cannot.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        "crammer_singer": one problem over all classes, the loss of Crammer and Singer for "hinge"
        and the multinomial one for "logistic", by a subgradient method that hands out the average
        of its later iterates; the intercept must be penalised or absent.
    fit_intercept : bool, default=True
    penalize_intercept : bool, default=False
        True: scikit-learn's objective, the intercept is the weight of a feature of constant value
        ``intercept_scaling`` and is penalised like the others.
    intercept_scaling : float, default=1.0
    class_weight : dict, "balanced" or None, default=None
        Multiplies the sample weights.
    max_iter : int, default=1000
        Passes over the data at most.
    time_limit : float, default=None
        Seconds at most.
    warm_start : bool, default=False
        If rows and columns are as many as in the last fit, its model is certified first, which may
        be all there is to do; otherwise dual methods go on from its α.
    n_jobs : int, default=None
        Threads, over the classes or within one problem; None is one, -1 all cores, and more than
        there are cores to use is as many as there are.  The same ``random_state`` and ``n_jobs``
        give the same model; in long fits of narrow data another ``n_jobs`` may give another one,
        certified to the same gap.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
    callbacks : callable or list of callables, default=None
        Called with each ``gapsvm.Record``; a true answer stops the fit.

    Attributes
    ----------
    coef_ : (1 or n_classes, n_features);  intercept_ : (1 or n_classes,)
    classes_, n_features_in_, feature_names_in_
    dual_coef_ : (1 or n_classes, n_samples)
        α; ``coef_ = Σ s_i α_i y_i x_i / (lam * Σ s_i)``, at most ``radius`` long.
        "crammer_singer": a distribution over the classes for each row.
    dual_gap_ : float
        The certificate: objective minus minimum is at most this; the largest over classes.
    dual_gaps_ : (1 or n_classes,)
    primal_objective_, dual_objective_ : float, or one number per class
    converged_ : bool;  status_ : str;  method_ : str;  n_iter_ : int, passes
    method_note_ : str
        What the method chose by itself, and why; empty if there was nothing to choose.
    history_ : list of ``gapsvm.Record``, or one such list per class
    copy_note_ : str or None
        What of X had to be copied, and why.
    """

    _parameter_constraints = {
        **_LinearModel._parameter_constraints,
        "penalty": [StrOptions({"l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge", "smoothed_hinge", "logistic"})],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "hinge",
        *,
        dual: bool | str = "auto",
        method: Any = "auto",
        batch_size: int | str = 1,
        rule: str = "safe",
        tol: float = 1e-3,
        C: float = 1.0,
        lam: float | None = None,
        radius: float | None = None,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        max_iter: int = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.method = method
        self.batch_size = batch_size
        self.rule = rule
        self.tol = tol
        self.C = C
        self.lam = lam
        self.radius = radius
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    @with_callbacks
    @whole_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit to rows X and labels y of any kind."""
        self._validate_params()
        note = copy_note(X)
        X, y = rows_to_learn(self, X, y=y, multi_output=True)
        labels, self.classes_ = _encoded(y)
        weight = _checked_weight(sample_weight, X.shape[0])
        if self.class_weight is not None:
            per_class = _class_weights(self.class_weight, self.classes_, labels, weight)
            with np.errstate(over="ignore"):
                weight = per_class[labels] * (1.0 if weight is None else weight)
            weight = check_weights(weight, len(labels), "class_weight times sample_weight")
        self._check_classes(labels, weight)
        if self.multi_class == "crammer_singer":
            loss = self._joint_loss()
            self._fit_targets(X, y, [labels], loss, weight, note, joint=len(self.classes_))
            return self
        if len(self.classes_) == 2:
            targets = [np.where(labels == 1, 1.0, -1.0)]
        else:
            targets = [np.where(labels == k, 1.0, -1.0) for k in range(len(self.classes_))]
        self._fit_targets(X, y, targets, get_loss(self.loss), weight, note)
        return self

    def _joint_loss(self) -> str:
        if self.loss not in _JOINT_LOSSES:
            names = " or ".join(repr(name) for name in _JOINT_LOSSES)
            raise ValueError(f"multi_class='crammer_singer' needs loss {names}, not {self.loss!r}")
        if self._bias() == "free":
            raise ValueError(
                "multi_class='crammer_singer' has no unpenalised intercept; set "
                "penalize_intercept=True or fit_intercept=False"
            )
        if self.radius is not None:
            raise ValueError("multi_class='crammer_singer' has no radius; set lam or C alone")
        if self.dual is True:
            raise ValueError("multi_class='crammer_singer' has primal methods only, not dual=True")
        return _JOINT_LOSSES[self.loss]

    def _check_classes(self, labels: Any, weight: Any) -> None:
        if len(self.classes_) < 2:
            raise ValueError(
                f"LinearSVC needs at least two classes, but y holds one class: {self.classes_!r}"
            )
        if weight is None:
            return
        mass = np.bincount(labels, weights=weight, minlength=len(self.classes_))
        if not mass.all():
            raise ValueError(
                "every class needs a positive weight; classes whose weights are all zero: "
                f"{self.classes_[mass == 0]!r}"
            )

    def decision_function(self, X: Any) -> Any:
        """⟨x, w⟩ + b; one column per class if there are more than two."""
        return self._raw_prediction(X)

    def predict(self, X: Any) -> Any:
        """The label of each row."""
        raw = self._raw_prediction(X)
        labels = (raw > 0).astype(np.intp) if raw.ndim == 1 else raw.argmax(axis=1)
        return self.classes_[labels]


def _class_weights(given: Any, classes: Any, labels: Any, weight: Any) -> Any:
    """One weight per class; "balanced" gives every class the same share of the total weight."""
    if given == "balanced":
        mass = np.bincount(labels, weights=weight, minlength=len(classes))
        return mass.sum() / (len(classes) * np.where(mass > 0, mass, 1.0))
    known = dict(zip(classes.tolist(), range(len(classes))))
    unknown = [label for label in given if label not in known]
    if unknown:
        raise ValueError(f"class_weight names classes that are not in y: {unknown!r}")
    per_class = np.ones(len(classes))
    for label, value in given.items():
        if not (isinstance(value, Real) and 0 <= float(value) < math.inf):
            raise ValueError(
                f"class_weight of class {label!r} is {value!r}; class weights must be finite "
                "numbers, >= 0"
            )
        per_class[known[label]] = value
    return per_class


def _encoded(y: Any) -> tuple[Any, Any]:
    """Labels as 0..k−1 and the classes; two numeric labels are found without sorting."""
    y = np.asarray(y)
    if y.ndim == 1 and y.dtype.kind in "biuf" and y.size:
        low, high = y.min(), y.max()
        is_high = y == high
        whole = float(low).is_integer() and float(high).is_integer()
        if whole and low != high and np.all(is_high | (y == low)):
            return is_high.astype(np.intp), np.array([low, high])
    check_classification_targets(y)
    classes, labels = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    return labels, classes


class LinearSVR(RegressorMixin, _LinearModel):
    """Linear support vector regression with a certified duality gap.

    Minimises ``C * Σ s_i φ(⟨x_i, w⟩ + b − y_i) + ‖w‖²/2``.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half width of the tube in which errors cost nothing (ε-insensitive losses).
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "absolute", "huber", \
"half_squared"}, default="epsilon_insensitive"

    Other parameters and the attributes are those of ``LinearSVC``; ``coef_`` has shape
    (n_features,) and ``intercept_`` has shape (1,), as in scikit-learn.
    """

    _parameter_constraints = {
        **_LinearModel._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "loss": [
            StrOptions(
                {
                    "epsilon_insensitive",
                    "squared_epsilon_insensitive",
                    "absolute",
                    "huber",
                    "half_squared",
                }
            )
        ],
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        loss: str = "epsilon_insensitive",
        dual: bool | str = "auto",
        method: Any = "auto",
        batch_size: int | str = 1,
        rule: str = "safe",
        tol: float = 1e-3,
        C: float = 1.0,
        lam: float | None = None,
        radius: float | None = None,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        intercept_scaling: float = 1.0,
        max_iter: int = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.loss = loss
        self.dual = dual
        self.method = method
        self.batch_size = batch_size
        self.rule = rule
        self.tol = tol
        self.C = C
        self.lam = lam
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    @with_callbacks
    @whole_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Fit to rows X and responses y."""
        self._validate_params()
        note = copy_note(X)
        X, y = rows_to_learn(self, X, y=y, y_numeric=True)
        parameters = {"epsilon": self.epsilon} if "epsilon" in self.loss else {}
        weight = _checked_weight(sample_weight, X.shape[0])
        self._fit_targets(X, y, [y], get_loss(self.loss, **parameters), weight, note)
        return self

    @staticmethod
    def _shaped(coef: Any) -> Any:
        return coef.ravel()

    def predict(self, X: Any) -> Any:
        """⟨x, w⟩ + b."""
        return self._raw_prediction(X)
