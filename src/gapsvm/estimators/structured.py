"""StructuredSVC: labellings of any kind, learnt with the largest margin by a user's oracle."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from gapsvm.estimators.certified import CertifiedFit
from gapsvm.estimators.whole import whole_fit
from gapsvm.io.tensors import TensorFileError, read_tensors, write_tensors
from gapsvm.models.base import ModelFormatError
from gapsvm.problems.limits import lam_of
from gapsvm.problems.structured.base import checked_example_weights
from gapsvm.problems.structured.oracle import Examples, count_of
from gapsvm.problems.structured.own import OracleProblem
from gapsvm.solvers.trace import Status

_FORMAT, _VERSION = "gapsvm structured weights", "1"


class StructuredSVC(CertifiedFit):
    """Structured prediction with a user's oracle and a certified duality gap.

    Minimises ``C * Σ_i s_i max_y [loss(y_i, y) + ⟨w, features(x_i, y) − features(x_i, y_i)⟩] +
    ‖w‖²/2`` and predicts the labelling of the highest score ⟨w, features(x, y)⟩.  The certificate
    is as true as the oracle's argmax: ``gapsvm.check_oracle`` looks for mistakes in it.

    Parameters
    ----------
    oracle : StructuredOracle
        ``n_features``, ``features(x, y)``, ``loss(truth, y)`` and ``argmax(w, x, truth=None)``.
    C : float, default=1.0
        Weight of the losses.
    lam : float, optional
        λ of the mean convention instead of C; λ = 1/(C · sum of weights).
    tol : float, default=1e-3
        Certified gap to reach, relative to the objective at w = 0, the mean of the highest losses.
    workers : "threads" or "processes", default="threads"
        What runs the oracle with ``n_jobs`` other than 1: processes for oracles in plain Python.
    call_cost : float or "measured", default=10
        What a call of the oracle costs, in visits to labellings that are known already.
        "measured": by the clock; then two fits of one seed may differ.
    method : "auto", a name, a spec or a solver, default="auto"
        "auto": "frank-wolfe"; others are "level-bundle", "pegasos(average=tail)".
    max_iter : int, default=1000
        Passes over the data at most.
    time_limit : float, optional
        Seconds.
    warm_start : bool, default=False
        Begin at the solution of the last fit, if its examples are as many.
    n_jobs : int, optional
        Threads or processes; −1 for all cores.
    random_state : int, RandomState or None
        Seeds the order of examples.
    verbose : int, default=0
        Show progress.
    callbacks : callable or list of callables, optional
        Called with every ``Record``; a true answer stops the fit.

    Attributes
    ----------
    coef_ : array (features)
    dual_gap_, primal_objective_, dual_objective_ : float
        The certificate: the objective (in the mean convention) is within the gap of its minimum.
    converged_, status_, n_iter_, history_
        How the fit ended and how it went.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "oracle": [HasMethods(["features", "loss", "argmax"])],
        "C": [Interval(Real, 0, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "workers": [StrOptions({"threads", "processes"})],
        "call_cost": [Interval(Real, 0, None, closed="neither"), StrOptions({"measured"})],
        "method": [str, HasMethods(["init", "advance", "iterate"])],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callbacks": ["array-like", callable, None],
    }

    def __init__(
        self,
        oracle: Any,
        C: float = 1.0,
        *,
        lam: float | None = None,
        tol: float = 1e-3,
        workers: str = "threads",
        call_cost: Any = 10.0,
        method: Any = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        self.oracle = oracle
        self.C = C
        self.lam = lam
        self.tol = tol
        self.workers = workers
        self.call_cost = call_cost
        self.method = method
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    @whole_fit
    def fit(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Any = None) -> Self:
        """Train on examples and their true labellings.

        Parameters
        ----------
        X, y : sequences of the same length
            Whatever the oracle understands.
        sample_weight : array, optional
            A weight for each example.
        """
        self._validate_params()
        if count_of(X) == 0:
            raise ValueError("X has no examples")
        weight = checked_example_weights(sample_weight, len(X))
        lam = self.lam if self.lam is not None else lam_of(self.C, float(weight.sum()))
        problem: Any = OracleProblem(
            self.oracle,
            X,
            y,
            lam,
            sample_weight=weight,
            workers=self.workers,  # type: ignore[arg-type]
            call_cost=self.call_cost,
        )
        try:
            result = self._solved(problem)
        finally:
            problem.close()
        certificate = result.certificate
        self._solution = result.solution
        self._set_fitted(result.solution.w, certificate.primal, certificate.dual)
        self._set_ending(result)
        return self

    def _set_fitted(self, w: Any, primal: float, dual: float) -> None:
        self.coef_ = w
        self.primal_objective_, self.dual_objective_ = primal, dual
        self.dual_gap_ = primal - dual

    def predict(self, X: Sequence[Any]) -> list[Any]:
        """The labelling of the highest score of each element of X."""
        check_is_fitted(self)
        examples = Examples(self.oracle, X, ())
        return self._backend().map(lambda i: examples.best(i, self.coef_), range(count_of(X)))

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Any = None) -> float:
        """Minus the mean loss of what is predicted."""
        if count_of(X) != count_of(y, "y"):
            raise ValueError(f"X has {len(X)} examples but y has {len(y)} labellings")
        examples, found = Examples(self.oracle, X, y), self.predict(X)
        losses = [examples.loss(i, labelling) for i, labelling in enumerate(found)]
        return -float(np.average(losses, weights=sample_weight))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write weights and certificate; the oracle is the user's, and stays out."""
        check_is_fitted(self)
        numbers = [self.primal_objective_, self.dual_objective_, float(self.n_iter_)]
        texts = {"format": _FORMAT, "format_version": _VERSION, "status": self.status_}
        write_tensors(path, {"w": self.coef_, "numbers": np.array(numbers)}, texts)

    @classmethod
    def load(cls, path: str | os.PathLike[str], oracle: Any, **parameters: Any) -> Self:
        """An estimator with the weights of a file that ``save`` wrote, and a user's oracle.

        Raises
        ------
        ModelFormatError
            A ValueError that names the file and what is wrong with it.
        """
        try:
            tensors, texts = read_tensors(path)
        except TensorFileError as error:
            raise ModelFormatError(f"{path} is damaged or no model of gapsvm: {error}") from error
        if texts.get("format") != _FORMAT or texts.get("format_version") != _VERSION:
            raise ModelFormatError(
                f"{path} holds {texts.get('format')!r}, version {texts.get('format_version')!r}; "
                f"not {_FORMAT!r}, version {_VERSION}"
            )
        w, numbers = (tensors.get(name, np.zeros(0, bool)) for name in ("w", "numbers"))
        floats = w.dtype == np.float64 == numbers.dtype
        if not (floats and w.ndim == 1 and numbers.shape == (3,) and np.isfinite(w).all()):
            raise ModelFormatError(f"{path} is not a sound model: its weights make no sense")
        if len(w) != oracle.n_features:
            raise ModelFormatError(
                f"{path} has {len(w)} weights, but the oracle has n_features = {oracle.n_features}"
            )
        estimator = cls(oracle, **parameters)
        estimator._set_fitted(w, float(numbers[0]), float(numbers[1]))
        estimator.n_iter_, estimator.status_ = int(numbers[2]), texts.get("status", "")
        estimator.converged_ = estimator.status_ == Status.CONVERGED.name
        return estimator
