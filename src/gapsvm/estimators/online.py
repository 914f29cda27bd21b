"""OnlineSVC and OnlineSVR: linear models that learn from a stream, by ``partial_fit``."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from gapsvm.estimators.probabilities import ProbabilitiesMixin
from gapsvm.estimators.randomness import seed_of
from gapsvm.estimators.rows import rows_to_learn, rows_to_predict
from gapsvm.estimators.whole import all_or_nothing
from gapsvm.losses.base import Loss
from gapsvm.losses.registry import loss_with
from gapsvm.problems.linear import check_weights
from gapsvm.training.fitting import loss_of, numbers_of
from gapsvm.training.label_runs import LabelRuns, describe_run
from gapsvm.training.online import HORIZON, OnlineLearner


class _OnlineModel(BaseEstimator):
    """What classification and regression share."""

    _parameter_constraints: dict[str, list[Any]] = {
        "loss": [str, Loss],
        "lam": [Interval(Real, 0, None, closed="neither")],
        "step_rule": [str, HasMethods("rates")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "average": [StrOptions({"uniform", "tail", "decaying"}), None],
        "projection": [
            "boolean",
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto"}),
        ],
        "fit_intercept": ["boolean"],
        "horizon": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _started(self, loss: Loss, n_classes: int | None) -> OnlineLearner:
        return OnlineLearner(
            loss,
            self.lam,
            n_classes=n_classes,
            n_features=self.n_features_in_,
            step_rule=self.step_rule,
            batch_size=self.batch_size,
            average=self.average,
            projection=self.projection,
            bias="free" if self.fit_intercept else "none",
            horizon=self.horizon,
        )

    def _going_on(self, first: bool) -> AbstractContextManager[None]:
        """A first call that fails leaves the estimator as it was."""
        return all_or_nothing(self) if first else nullcontext()

    def _learn(self, X: Any, y: Any, sample_weight: Any, seed: int | None) -> Any:
        """Go through the rows, at random if there is a seed; returns which have a weight."""
        weight = None
        if sample_weight is not None:
            weight = np.asarray(sample_weight, dtype=np.float64)
            weight = np.full(len(y), float(weight)) if weight.ndim == 0 else weight
            if weight.shape == (len(y),) and not weight.any():
                return weight > 0
            check_weights(weight, len(y))
        self._learner.learn(X, y, weight, seed=seed)
        return slice(None) if weight is None else weight > 0

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    def _of_learner(self) -> OnlineLearner:
        try:
            return self.__dict__["_learner"]
        except KeyError:
            raise AttributeError(f"this {type(self).__name__} has learnt nothing yet") from None

    @property
    def coef_(self) -> Any:
        return self._of_learner().weights()[0]

    @property
    def intercept_(self) -> Any:
        return self._of_learner().weights()[1]

    @property
    def n_samples_seen_(self) -> int:
        """Rows of positive weight."""
        return self._of_learner().rows_seen

    @property
    def weight_seen_(self) -> float:
        """The sum of their weights."""
        return self._of_learner().weight_seen

    @property
    def progressive_error_(self) -> float:
        return self._of_learner().progressive_error

    @property
    def progressive_loss_(self) -> float:
        return self._of_learner().progressive_loss

    @property
    def max_norm_(self) -> float:
        """The largest ‖x‖ so far."""
        return self._of_learner().longest

    @property
    def sigma2_(self) -> float:
        return self._of_learner().sigma2

    @property
    def beta_(self) -> float:
        return self._of_learner().beta

    def _raw_prediction(self, X: Any) -> Any:
        check_is_fitted(self)
        X = rows_to_predict(self, X)
        coef, intercept = self._learner.weights()
        raw = safe_sparse_dot(X, coef.T, dense_output=True) + intercept
        return raw.ravel() if raw.shape[1] == 1 else raw

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class OnlineSVC(ProbabilitiesMixin, ClassifierMixin, _OnlineModel):
    """Linear support vector classification of a stream.

    Rows are gone through once: each is predicted, then learnt from.
    There is no certificate, since that would need all rows; ``progressive_error_`` says what the
    predictions were worth.  ``LinearSVC`` certifies, and is the better choice for data that can be
    read more than once.

    Parameters
    ----------
    loss : str or ``gapsvm.Loss``, default="hinge"
        "hinge", "squared_hinge", "smoothed_hinge" or "logistic"; a spec; or a loss of your own.
    lam : float, default=1e-4
        λ, where the objective is the expected loss + (λ/2)‖w‖².
    step_rule : {"auto", "pegasos", "norma", "zhang", "adaptive", "proximal", "bound", \
"optimistic"}, a spec of one such as "zhang(eta=0.1)", or a rule of one's own, default="auto"
        The lengths of the steps, see ``gapsvm.solvers.subgradient.rules``.  The norms that some
        need are the largest so far.  "auto" is proximal, and zhang for the losses of ``OnlineSVR``
        that are not squared.
    batch_size : int, default=1
        Consecutive rows that step together; the last ones of a call may be fewer, or all there are.
    average : {"uniform", "tail", "decaying"} or None, default="tail"
        ``coef_`` is the mean of all iterates, of the later half or so, w̄ ← 0.9w̄ + 0.1w, or the
        last iterate.
    projection : bool, float or "auto", default="auto"
        Keep w in a ball, of that radius; see ``gapsvm.Subgradient``.  "auto": where the rule counts
        on it, or the loss has slopes without a bound.
    fit_intercept : bool, default=True
        The intercept takes the step of the weights and is not shrunk.
    horizon : int, default=100000
        Steps foreseen, for the rules norma, zhang and bound.
    random_state : int, RandomState or None, default=None
        Of the order in which ``fit`` goes through the rows.  ``partial_fit`` takes them as they
        come, and warns where they look sorted by label.

    Attributes
    ----------
    coef_ : (1 or n_classes, n_features);  intercept_ : (1 or n_classes,)
    classes_, n_features_in_, feature_names_in_
    progressive_error_ : float
        Share of rows, by weight, whose label was not predicted before they were learnt from.  The
        predictions are those of the iterates, which an average as a rule surpasses.
    progressive_loss_ : float
        The mean loss of these predictions; over the classes too if there are more than two.
    n_samples_seen_ : int, rows of positive weight;  weight_seen_ : float, their weight
    max_norm_ : float
        The largest ‖x‖ so far.
    sigma2_ : float
        σ², the largest eigenvalue of E[xxᵀ]: an estimate, by power steps on the stream, on average
        not above the truth.
    beta_ : float
        1 + (batch_size − 1)·σ²/max‖x‖² (Takáč §6): batches save at most batch_size/β of the steps.
    """

    classes_: Any

    def __init__(
        self,
        loss: str | Loss = "hinge",
        *,
        lam: float = 1e-4,
        step_rule: Any = "auto",
        batch_size: int = 1,
        average: str | None = "tail",
        projection: bool | float | str = "auto",
        fit_intercept: bool = True,
        horizon: int = HORIZON,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.lam = lam
        self.step_rule = step_rule
        self.batch_size = batch_size
        self.average = average
        self.projection = projection
        self.fit_intercept = fit_intercept
        self.horizon = horizon
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> OnlineSVC:
        """Forget everything and go through the rows once, at random; for weights, or to keep the
        order, use ``partial_fit``."""
        with self._going_on(first=True):
            return self._go_on(X, y, None, None, first=True, shuffled=True)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> OnlineSVC:
        """Go on with more rows, in the order they come.

        Parameters
        ----------
        classes : array
            All labels that will ever come; needed in the first call, may be given in later ones.
        sample_weight : array, optional
            A row of weight 2 pulls twice as hard in its step; one of weight 0 changes nothing.
        """
        first = not hasattr(self, "_learner")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit")
        with self._going_on(first):
            return self._go_on(X, y, classes, sample_weight, first)

    def _go_on(
        self, X: Any, y: Any, classes: Any, weight: Any, first: bool, shuffled: bool = False
    ) -> OnlineSVC:
        self._validate_params()
        X, y = rows_to_learn(self, X, y=y, reset=first, multi_output=True)
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        known = np.unique(y if classes is None else classes) if first else self.classes_
        if not first and classes is not None and not np.array_equal(known, np.unique(classes)):
            raise ValueError(f"classes are {known!r} since the first call, now {classes!r}")
        if len(known) < 2:
            raise ValueError(f"OnlineSVC needs at least two classes, got one class: {known!r}")
        numbers = numbers_of(y, known)
        if first:
            self.classes_ = known
            self._learner = self._started(loss_of(self.loss, "margin"), len(known))
            self._runs = LabelRuns(len(known))
        seed = seed_of(self.random_state) if shuffled else None
        counted = self._learn(X, numbers, weight, seed)
        run = None if shuffled else self._runs.see(numbers[counted])
        if run is not None:
            told = describe_run(repr(known[run[0]].item()), run[1])
            warnings.warn(f"{told} (fit does)", UserWarning, stacklevel=3)
        return self

    def decision_function(self, X: Any) -> Any:
        """⟨x, w⟩ + b; one column per class if there are more than two."""
        return self._raw_prediction(X)

    def predict(self, X: Any) -> Any:
        """The label of each row."""
        raw = self._raw_prediction(X)
        labels = (raw > 0).astype(np.intp) if raw.ndim == 1 else raw.argmax(axis=1)
        return self.classes_[labels]


class OnlineSVR(RegressorMixin, _OnlineModel):
    """Linear support vector regression of a stream.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half width of the tube in which errors cost nothing (ε-insensitive losses).
    loss : str or ``gapsvm.Loss``, default="epsilon_insensitive"
        "epsilon_insensitive", "squared_epsilon_insensitive", "absolute", "huber" or
        "half_squared"; a spec such as ``"huber(delta=2)"``; or a loss of your own.

    lam, step_rule, batch_size, average, projection : as for ``OnlineSVC``
    fit_intercept, horizon, random_state : as for ``OnlineSVC``

    Attributes
    ----------
    coef_ : (n_features,);  intercept_ : (1,)
    progressive_error_ : float
        The mean absolute error of the predictions, by weight.

    The other attributes are those of ``OnlineSVC``, but for ``classes_``.
    """

    _parameter_constraints = {
        **_OnlineModel._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        loss: str | Loss = "epsilon_insensitive",
        lam: float = 1e-4,
        step_rule: Any = "auto",
        batch_size: int = 1,
        average: str | None = "tail",
        projection: bool | float | str = "auto",
        fit_intercept: bool = True,
        horizon: int = HORIZON,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.loss = loss
        self.lam = lam
        self.step_rule = step_rule
        self.batch_size = batch_size
        self.average = average
        self.projection = projection
        self.fit_intercept = fit_intercept
        self.horizon = horizon
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> OnlineSVR:
        """Forget everything and go through the rows once, at random; for weights, or to keep the
        order, use ``partial_fit``."""
        with self._going_on(first=True):
            return self._go_on(X, y, None, first=True, seed=seed_of(self.random_state))

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> OnlineSVR:
        """Go on with more rows, in the order they come.

        Parameters
        ----------
        sample_weight : array, optional
            A row of weight 2 pulls twice as hard in its step; one of weight 0 changes nothing.
        """
        first = not hasattr(self, "_learner")
        with self._going_on(first):
            return self._go_on(X, y, sample_weight, first)

    def _go_on(
        self, X: Any, y: Any, sample_weight: Any, first: bool, seed: int | None = None
    ) -> OnlineSVR:
        self._validate_params()
        X, y = rows_to_learn(self, X, y=y, reset=first, y_numeric=True)
        if first:
            loss = loss_with(self.loss, "epsilon", self.epsilon, unset=0.0)
            self._learner = self._started(loss_of(loss, "response"), None)
        self._learn(X, np.asarray(y, dtype=np.float64), sample_weight, seed)
        return self

    @property
    def coef_(self) -> Any:
        return self._of_learner().weights()[0].ravel()

    def predict(self, X: Any) -> Any:
        """⟨x, w⟩ + b."""
        return self._raw_prediction(X)
