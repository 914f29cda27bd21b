"""What LinearSVC and LinearSVR share: their call of ``gapsvm.training.fitting``, and the report."""

from __future__ import annotations

import math
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from gapsvm.estimators.callbacks import WRAPPER_FRAMES, CallbackBridge, CallbackSupportMixin
from gapsvm.estimators.ending import tell_ending
from gapsvm.estimators.randomness import seed_of
from gapsvm.estimators.rows import rows_to_predict
from gapsvm.losses.base import Loss
from gapsvm.problems.linear import Bias
from gapsvm.rows.matrix import joined_notes
from gapsvm.solvers.trace import Callback
from gapsvm.system.cores import at_most_cores
from gapsvm.training.fitting import Fitted, Objective, Task, fit
from gapsvm.training.methods import name_of, radius_of
from gapsvm.training.plan import PRIMAL, check_name
from gapsvm.training.progress import ProgressBar
from gapsvm.training.train import Options

_DUAL_METHODS = ("sdca", "minibatch", "interior", "accelerated")


_PLAIN = (str, int, float, type(None))


@lru_cache(maxsize=256, typed=True)
def _validated(kind: Any, *values: Any) -> None:
    """Raise an error for a value that a parameter of such an estimator may not have."""
    constraints = kind._parameter_constraints
    validate_parameter_constraints(constraints, dict(zip(constraints, values)), kind.__name__)


class LinearEstimator(CallbackSupportMixin, BaseEstimator):
    """A linear model by scikit-learn's conventions."""

    coef_: Any
    intercept_: NDArray[np.float64]
    dual_coef_: NDArray[np.float64]
    dual_gap_: float
    dual_gaps_: NDArray[np.float64]
    primal_objective_: Any
    dual_objective_: Any
    history_: list[Any]
    n_iter_: int
    n_features_in_: int
    status_: str
    converged_: bool
    method_: Any
    method_note_: str
    copy_note_: str | None

    _parameter_constraints: dict[str, list[Any]] = {
        "dual": ["boolean", StrOptions({"auto"})],
        "method": [str, HasMethods(["init", "advance", "iterate"])],
        "loss": [str, Loss],
        "tol": [Interval(Real, 0, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="left"), None],
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

    def _validate_params(self) -> None:
        """As scikit-learn does, remembered for values seen before: it takes a tenth of a
        millisecond, a fifth of the smallest fits."""
        values: Any = tuple(getattr(self, name) for name in self._parameter_constraints)
        if all(isinstance(value, _PLAIN) for value in values):
            kind: Any = type(self)
            _validated(kind, *values)
        else:  # what may be large, or change, is not kept
            super()._validate_params()

    def _objective(self, loss: Loss, **more: Any) -> Objective:
        return Objective(
            loss,
            self.lam,
            self.C,
            self._bias(),
            self.intercept_scaling,
            radius_of(self.method),
            **more,
        )

    def _method(self) -> Any:
        """``method`` and ``dual`` together; interior point is both primal and dual."""
        check_name(self.method)
        if self.dual == "auto" or not isinstance(self.method, str):
            return self.method
        name = name_of(self.method)
        if name == "auto":
            return "auto" if self.dual else PRIMAL
        is_dual = name in _DUAL_METHODS
        if is_dual != self.dual and name != "interior":
            kind = ("primal", "dual")[is_dual]
            raise ValueError(
                f"dual={self.dual} and method={self.method!r} exclude each other: that is a "
                f"{kind} method; leave dual at 'auto'"
            )
        return self.method

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

    def _learn(self, task: Task, data: dict[str, Any], note: str | None) -> None:
        """Train, and set the fitted attributes."""
        callbacks = [self.callbacks] if callable(self.callbacks) else list(self.callbacks or ())
        options = Options(
            method=self._method(),
            tol=self.tol,
            max_passes=self.max_iter,
            time_limit=self.time_limit,
            seed=seed_of(self.random_state),
            callbacks=callbacks,
            threads=self._threads(),
        )
        bridge = None
        if hasattr(self, "_skl_callbacks"):
            bridge = CallbackBridge(self, data, len(task), self._weights)
        with ProgressBar(type(self).__name__, shown=bool(self.verbose)) as bar:

            def watch(k: int) -> list[Callback]:
                return [*bar.watch(k, len(task)), *(bridge.watch(k) if bridge else ())]

            fitted = fit(task, options, warm=self._warm(task), watch=watch)
        self.copy_note_ = joined_notes(note, task.rows.note)
        self._set_fitted(fitted)
        if bridge is not None:
            bridge.close()

    def _warm(self, task: Task) -> list[Any] | None:
        """The solutions that the attributes were made of, where they are of such rows."""
        if not self.warm_start or getattr(self, "dual_coef_", None) is None:
            return None
        coef = np.atleast_2d(self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_)
        return task.solutions_of(coef, np.atleast_1d(self.intercept_), self.dual_coef_)

    def _weights(self, solution: Any) -> dict[str, Any]:
        """The attributes that make a model of one certified solution."""
        coef, intercept = solution.functions
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

    def _set_fitted(self, fitted: Fitted) -> None:
        several = len(fitted.fits) > 1
        coef, self.intercept_ = fitted.functions
        self.coef_ = self._shaped(coef)
        self.dual_coef_ = fitted.alpha
        self.dual_gaps_ = fitted.gaps
        self.dual_gap_ = float(fitted.gaps.max())
        self.primal_objective_ = fitted.primal if several else float(fitted.primal[0])
        self.dual_objective_ = fitted.dual if several else float(fitted.dual[0])
        self.history_ = fitted.traces if several else fitted.traces[0]
        self.n_iter_ = max(1, math.ceil(fitted.passes))
        self.status_ = fitted.ending.status.name
        self._ending = fitted.ending.ending
        self.converged_ = fitted.converged
        self.method_ = fitted.methods if several else fitted.methods[0]
        self.method_note_ = fitted.note

    def _report(self) -> None:
        """Say what a user must know about how the fit ended; the model is in place by now."""
        tell_ending(self, self.n_iter_, wrappers=WRAPPER_FRAMES)

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
