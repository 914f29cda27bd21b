"""RankSVC: documents scored so that the better ones of a query come first, with a certificate."""

from __future__ import annotations

import hashlib
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from gapsvm.estimators.certified import CertifiedFit
from gapsvm.estimators.ending import tell_ending
from gapsvm.estimators.rows import rows_to_learn, rows_to_predict
from gapsvm.estimators.whole import whole_fit
from gapsvm.losses.ranking import mean_ndcg
from gapsvm.problems.limits import lam_of
from gapsvm.problems.risk import RiskIterate
from gapsvm.problems.structured.ranking import RankingProblem, checked_query_weights
from gapsvm.rows.matrix import copy_note, joined_notes
from gapsvm.rows.queries import queries_of
from gapsvm.solvers.trace import Result
from gapsvm.training.methods import AUTO, name_of


def _data_of(problem: RankingProblem) -> dict[str, Any]:
    """What tells a risk from others, whatever λ is: every number of X counts."""
    digest = hashlib.sha256()
    for array in problem.rows.view:
        digest.update(np.ascontiguousarray(array).data)
    found = {name: value for name, value in problem.fingerprint().items() if name != "lam"}
    return {**found, "all rows": digest.hexdigest()}


class RankSVC(CertifiedFit):
    """A linear ranking function with the largest margin, and how far it is from the optimum.

    Minimises (λ/2)‖w‖² + the mean loss, where λ = ``lam`` or 1/(C·Q), Q being the number of queries
    (the sum of their weights).

    Parameters
    ----------
    C : float
        Weight of the mean loss; λ = 1/(C·Q).
    lam : float, optional
        λ itself; C is then not looked at.
    loss : "pairs" or "ndcg"
        The hinge loss of all pairs of documents of different grades, or 1 − NDCG@k made convex
        (Chapelle, Le & Smola 2007), with gains 2^grade − 1, discounts 1, 1, 1/log₂3, …
    average : "pairs" or "queries"
        What counts the same under loss "pairs": every pair, or every query.
    truncation : int, optional
        k of NDCG@k, for loss "ndcg" and for ``score``; None for all ranks.
    qid_column : int or text, optional
        The column of X, by its number or, in a DataFrame, its name, that holds the query of each
        document in ``fit``, ``predict`` and ``score``: for scikit-learn's cross-validation.  Its
        weight is 0.  By default qid is an argument.
    tol : float
        Certified gap to reach, relative to the objective at w = 0.
    method : name or spec of a method that ranks, or a solver
        "auto" is "level-bundle"; others are "bundle", "proximal-bundle", "pair-sdca", which lists
        all pairs, as rows of their own, for loss "pairs", and "pegasos(average=tail)" and
        "proximal", which step query by query: steps that do not grow with the data, and a coarse
        gap.  See ``METHODS``.
    max_iter : int
        Looks at all documents, at most.
    time_limit : float, optional
        Seconds.
    warm_start : bool
        Begin at the weights of the fit before.
    n_jobs : int, optional
        Threads; -1 for all cores.
    random_state : int, RandomState or None
        The order of pairs ("pair-sdca") or queries ("pegasos", "proximal"); a bundle draws nothing.
    verbose : int
        Draw progress.
    callbacks : callable or list of callables
        Each gets a ``gapsvm.Record`` after every evaluation; a true answer ends the fit.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    primal_objective_, dual_objective_, dual_gap_ : float
        The objective, a lower bound of its minimum, and their difference.
    converged_, status_, n_iter_, history_, method_, copy_note_
    skipped_ : array
        The queries without two different grades, which say nothing about w.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "loss": [StrOptions({"pairs", "ndcg"})],
        "average": [StrOptions({"pairs", "queries"})],
        "truncation": [Interval(Integral, 1, None, closed="left"), None],
        "qid_column": [Interval(Integral, 0, None, closed="left"), str, None],
        "tol": [Interval(Real, 0, None, closed="left")],
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
        C: float = 1.0,
        *,
        lam: float | None = None,
        loss: str = "pairs",
        average: str = "pairs",
        truncation: int | None = 10,
        qid_column: int | str | None = None,
        tol: float = 1e-3,
        method: Any = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        self.C = C
        self.lam = lam
        self.loss = loss
        self.average = average
        self.truncation = truncation
        self.qid_column = qid_column
        self.tol = tol
        self.method = method
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    @whole_fit
    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> Self:
        """Train on documents with grades.

        Parameters
        ----------
        X : array or sparse matrix (documents × features)
        y : array of grades, higher is better
        qid : array, the query of each document; rows of a query need not be neighbours
            Needed unless ``qid_column`` is given.
        sample_weight : array, optional
            A weight a document, for loss "pairs": a pair has the product.
        query_weight : array, optional
            A weight a query, in ascending order of qid.
        """
        self._validate_params()
        note = copy_note(X)
        X, y = rows_to_learn(self, X, y=y, y_numeric=True, ensure_min_samples=2)
        n, d = X.shape
        place = self._place_of_qid(d)
        qid = self._queries(X, qid)
        problem = RankingProblem(
            *(X, y, qid, self._lam(qid, n, query_weight)),
            loss=self.loss,  # type: ignore[arg-type]
            average=self.average,  # type: ignore[arg-type]
            sample_weight=sample_weight,
            query_weight=query_weight,
            truncation=self.truncation,
            without=place,
            backend=self._backend(),
        )
        self._set_fitted(problem, self._solved(problem))
        listed = f"{problem.n_pairs:,} differences of rows were listed"
        notes = note, problem.rows.note, listed if self.method_ == "pair-sdca" else None
        self.copy_note_ = joined_notes(*notes)
        return self

    def _lam(self, qid: Any, n: int, query_weight: Any) -> float:
        if self.lam is not None:
            return self.lam
        count = len(queries_of(qid, n))
        if query_weight is None:
            return lam_of(self.C, float(count))
        return lam_of(self.C, float(checked_query_weights(query_weight, count).sum()))

    def _queries(self, X: Any, qid: Any) -> Any:
        """The query of each row, from the argument or from a column."""
        place = self._place_of_qid(X.shape[1])
        if qid is not None or place is None:
            return qid
        column = X[:, [place]]
        return np.asarray(column.toarray() if sp.issparse(column) else column).ravel()

    def _place_of_qid(self, d: int) -> int | None:
        """The number of the column that holds qid."""
        if isinstance(self.qid_column, str):
            names: list[Any] = list(getattr(self, "feature_names_in_", ()))
            if self.qid_column not in names:
                raise ValueError(f"qid_column = {self.qid_column!r}, but X has no column so named")
            return names.index(self.qid_column)
        if self.qid_column is not None and self.qid_column >= d:
            raise ValueError(f"qid_column = {self.qid_column}, but X has {d} columns")
        return self.qid_column

    def _method(self, problem: RankingProblem) -> Any:
        return problem.default_method if self.method == AUTO else self.method

    def _warm_start(self, problem: RankingProblem) -> RiskIterate | None:
        """The weights of the last fit, and if it saw the same data what it proved."""
        coef: Any = getattr(self, "coef_", None)
        if coef is None or coef.shape != (problem.n_features,):
            return None
        data, slope, offset = getattr(self, "_proved", (None, None, 0.0))
        if data is not None and data == _data_of(problem):
            return RiskIterate(coef, 0.0, slope, offset)
        return RiskIterate(coef)

    def _set_fitted(self, problem: RankingProblem, result: Result) -> None:
        certificate = result.certificate
        self.coef_ = result.solution.w
        self.intercept_ = np.zeros(1)
        self.primal_objective_ = certificate.primal
        self.dual_objective_ = certificate.dual
        self.dual_gap_ = certificate.gap
        self._set_ending(result)
        self.method_ = name_of(self._method(problem))
        self.method_note_ = ""
        self.skipped_ = problem.skipped
        if self.warm_start:
            self._proved = _data_of(problem), result.solution.slope, result.solution.offset

    def _report(self) -> None:
        """Say what a user must know about how the fit ended; the model is in place by now."""
        if self.converged_ and not self.coef_.any():
            warnings.warn(
                "every weight is 0, and that is within the certified gap of the optimum: all "
                "scores are equal. With loss='ndcg' this is what noisy grades lead to, whatever "
                "lam is: try loss='pairs'; with 'pairs' lower tol, or look at the features",
                UserWarning,
                stacklevel=3,
            )
        tell_ending(self, self.n_iter_)

    def predict(self, X: Any) -> Any:
        """A score for each document: the higher, the better.

        Scores of documents of one query can be compared with each other.
        """
        check_is_fitted(self)
        return self._scores(rows_to_predict(self, X))

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """NDCG@truncation, the mean over all queries; one without a relevant document counts 0."""
        check_is_fitted(self)
        X = rows_to_predict(self, X)
        queries = queries_of(self._queries(X, qid), X.shape[0])
        return mean_ndcg(y, self._scores(X), queries.of_row, self.truncation)

    def _scores(self, X: Any) -> Any:
        return np.asarray(safe_sparse_dot(X, self.coef_)).ravel()

    def _bias(self) -> str:
        return "none"

    @staticmethod
    def _shaped(coef: Any) -> Any:
        """``coef_`` as the estimator shows it."""
        return np.ravel(coef)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
