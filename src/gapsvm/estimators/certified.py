"""What the estimators of structured outputs share: how a fit runs and what it reports."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator

from gapsvm.backends import Backend, get_backend
from gapsvm.estimators.ending import tell_ending
from gapsvm.estimators.randomness import seed_of
from gapsvm.models.base import ModelFormatError
from gapsvm.solvers.trace import Result, Status
from gapsvm.system.cores import at_most_cores
from gapsvm.training.progress import ProgressBar
from gapsvm.training.solve import solve

_PARAMETERS_OF_FILES = (str, int, float, bool, type(None))


class CertifiedFit(BaseEstimator):
    """Parameters ``tol, method, max_iter, time_limit, warm_start, n_jobs, random_state, verbose,
    callbacks`` and what they mean; a subclass stores its last solution in ``_solution``."""

    dual_gap_: float
    tol: float
    method: Any
    max_iter: int
    time_limit: float | None
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    verbose: int
    callbacks: Any

    def _solved(self, problem: Any) -> Result:
        first = self._warm_start(problem) if self.warm_start else None
        callbacks = [self.callbacks] if callable(self.callbacks) else list(self.callbacks or ())
        with ProgressBar(type(self).__name__, shown=bool(self.verbose)) as bar:
            return solve(
                problem,
                self.method,
                tol=self.tol,
                max_passes=self.max_iter,
                warm=first,
                backend=self._backend(),
                seed=seed_of(self.random_state),
                time_limit=self.time_limit,
                callbacks=[*callbacks, *bar.watch()],
            )

    def _warm_start(self, problem: Any) -> Any:
        """The last solution, if it fits."""
        last = getattr(self, "_solution", None)
        return None if last is None or np.shape(last.w) != problem.shape else last

    def _backend(self) -> Backend:
        if self.n_jobs == 0:
            raise ValueError("n_jobs must not be 0; use None for one thread or -1 for all cores")
        return get_backend("cpu", at_most_cores(int(effective_n_jobs(self.n_jobs))))

    def _set_ending(self, result: Result) -> None:
        """Note how the fit ended."""
        self.history_ = result.trace
        self.n_iter_ = max(1, math.ceil(result.passes))
        self.status_ = result.status.name
        self.converged_ = result.converged
        self._ending = result.ending

    def _described(self) -> dict[str, Any]:
        """Parameters and how the fit ended, for a file; parameters that are objects stay out."""
        parameters = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if isinstance(value, _PARAMETERS_OF_FILES)
        }
        name = type(self).__name__
        return {
            "class": name,
            "parameters": parameters,
            "passes": self.n_iter_,
            "status": self.status_,
        }

    @classmethod
    def _restored(cls, told: Any, path: Any) -> Self:
        """An estimator of what ``_described`` said; a file of a model alone says nothing."""
        parameters = told.get("parameters", {}) if isinstance(told, dict) else None
        if not isinstance(parameters, dict):
            raise ModelFormatError(f"{path} is not a sound model: its metadata makes no sense")
        if told.get("class", cls.__name__) != cls.__name__:
            raise ModelFormatError(f"{path} holds a {told['class']}, not a {cls.__name__}")
        known = cls().get_params(deep=False)
        estimator = cls(**{k: v for k, v in parameters.items() if k in known})
        estimator.n_iter_ = told.get("passes", 0)
        estimator.status_ = told.get("status", "")
        estimator.converged_ = estimator.status_ == Status.CONVERGED.name
        return estimator

    def _report(self) -> None:
        """Say what a user must know about how the fit ended; the model is in place by now."""
        tell_ending(self, self.n_iter_)
