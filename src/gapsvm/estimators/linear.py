"""LinearSVC and LinearSVR: scikit-learn's signatures, a certificate with every fit."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from gapsvm.estimators.base import LinearEstimator
from gapsvm.estimators.callbacks import with_callbacks
from gapsvm.estimators.probabilities import ProbabilitiesMixin
from gapsvm.estimators.rows import rows_to_learn
from gapsvm.estimators.whole import whole_fit
from gapsvm.losses.base import Loss
from gapsvm.losses.registry import loss_with
from gapsvm.rows.matrix import copy_note
from gapsvm.training.fitting import classification, loss_of, regression


class LinearSVC(ProbabilitiesMixin, ClassifierMixin, LinearEstimator):
    """Linear support vector classification with a certified duality gap.

    Minimises ``C * Σ s_i φ(y_i(⟨x_i, w⟩ + b)) + ‖w‖²/2`` (one such problem per class if there are
    more than two) and proves how far the answer is from the minimum.

    Parameters
    ----------
    penalty : {"l2"}, default="l2"
        The only one there is; a parameter because scikit-learn has it.
    loss : str or ``gapsvm.Loss``, default="hinge"
        "hinge", "squared_hinge", "smoothed_hinge" or "logistic"; a spec with parameters, such as
        ``"smoothed_hinge(smoothing=0.2)"``; or a loss of your own (docs/extending.md).
    dual : bool or "auto", default="auto"
        True: dual methods; False: primal ones (interior point for few features, else Pegasos).
    method : str or solver, default="auto"
        A name or a spec of ``gapsvm methods``, such as "sdca", "interior" (exact, for few features
        or few rows), ``"minibatch(rule=aggressive, batch_size=64)"``, "pegasos", "bundle"; or a
        solver, which is taken as it is.  A radius, as in ``"proximal(radius=2)"``, is part of the
        problem: the largest norm of the weights; ``lam`` may then be 0.  ``method_`` says what
        produced the model.
    tol : float, default=1e-3
        Certified gap to reach, relative to the objective of the zero model.
    C : float, default=1.0
        Weight of the loss; ``lam = 1 / (C * sum of sample weights)``.
    lam : float, default=None
        λ of the mean convention; overrides C.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        "crammer_singer": one problem over all classes, the loss of Crammer and Singer for "hinge"
        and the multinomial one for "logistic", by a subgradient method that hands out the average
        of its later iterates; the intercept must be penalised or absent.
    fit_intercept : bool, default=True
        Whether there is an intercept b.
    penalize_intercept : bool, default=False
        True: scikit-learn's objective, the intercept is the weight of a feature of constant value
        ``intercept_scaling`` and is penalised like the others.
    intercept_scaling : float, default=1.0
        The constant value of the feature whose weight is the intercept, where that is penalised.
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
        Seeds the order of rows; None takes another one every time.
    verbose : int, default=0
        Above 0: progress, with the gap.
    callbacks : callable or list of callables, default=None
        Called with each ``gapsvm.Record``; a true answer stops the fit.

    Attributes
    ----------
    coef_ : (1 or n_classes, n_features);  intercept_ : (1 or n_classes,)
    classes_, n_features_in_, feature_names_in_
    dual_coef_ : (1 or n_classes, n_samples)
        α; ``coef_ = Σ s_i α_i y_i x_i / (lam * Σ s_i)``, no longer than a radius of the method.
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
        **LinearEstimator._parameter_constraints,
        "penalty": [StrOptions({"l2"})],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str | Loss = "hinge",
        *,
        dual: bool | str = "auto",
        method: Any = "auto",
        tol: float = 1e-3,
        C: float = 1.0,
        lam: float | None = None,
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
        self.tol = tol
        self.C = C
        self.lam = lam
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
        objective = self._objective(
            loss_of(self.loss, "margin"),
            multi_class=self.multi_class,
            class_weight=self.class_weight,
        )
        note = copy_note(X)
        X, y = rows_to_learn(self, X, y=y, multi_output=True)
        task = classification(X, y, objective, sample_weight, checked=_labels)
        self.classes_ = task.classes
        self._learn(task, {"X": X, "y": y, "metadata": {"sample_weight": task.weight}}, note)
        return self

    def _method(self) -> Any:
        if self.multi_class != "ovr" and self.dual is True:
            raise ValueError("multi_class='crammer_singer' has primal methods only, not dual=True")
        return super()._method()

    def decision_function(self, X: Any) -> Any:
        """⟨x, w⟩ + b; one column per class if there are more than two."""
        return self._raw_prediction(X)

    def predict(self, X: Any) -> Any:
        """The label of each row."""
        raw = self._raw_prediction(X)
        labels = (raw > 0).astype(np.intp) if raw.ndim == 1 else raw.argmax(axis=1)
        return self.classes_[labels]


def _labels(y: Any) -> Any:
    """One label a row, by scikit-learn's checks."""
    check_classification_targets(y)
    return column_or_1d(y, warn=True)


class LinearSVR(RegressorMixin, LinearEstimator):
    """Linear support vector regression with a certified duality gap.

    Minimises ``C * Σ s_i φ(⟨x_i, w⟩ + b − y_i) + ‖w‖²/2``.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half width of the tube in which errors cost nothing (ε-insensitive losses).
    loss : str or ``gapsvm.Loss``, default="epsilon_insensitive"
        "epsilon_insensitive", "squared_epsilon_insensitive", "absolute", "huber" or
        "half_squared"; a spec with parameters, such as ``"huber(delta=2)"``; or a loss of your own.
    dual, method, tol, C, lam, fit_intercept, penalize_intercept : as for ``LinearSVC``
    intercept_scaling, max_iter, time_limit, warm_start : as for ``LinearSVC``
    n_jobs, random_state, verbose, callbacks : as for ``LinearSVC``

    Attributes
    ----------
    coef_ : (n_features,);  intercept_ : (1,), as in scikit-learn
    dual_coef_ : (1, n_samples)

    The other attributes are those of ``LinearSVC``, but for ``classes_``.
    """

    _parameter_constraints = {
        **LinearEstimator._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        loss: str | Loss = "epsilon_insensitive",
        dual: bool | str = "auto",
        method: Any = "auto",
        tol: float = 1e-3,
        C: float = 1.0,
        lam: float | None = None,
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
        self.tol = tol
        self.C = C
        self.lam = lam
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
        loss = loss_with(self.loss, "epsilon", self.epsilon, unset=0.0)
        objective = self._objective(loss_of(loss, "response"))
        note = copy_note(X)
        X, y = rows_to_learn(self, X, y=y, y_numeric=True)
        task = regression(X, y, objective, sample_weight)
        self._learn(task, {"X": X, "y": y, "metadata": {"sample_weight": task.weight}}, note)
        return self

    @staticmethod
    def _shaped(coef: Any) -> Any:
        return coef.ravel()

    def predict(self, X: Any) -> Any:
        """⟨x, w⟩ + b."""
        return self._raw_prediction(X)
