"""Ranking: documents of a query are to be scored in the order of their grades.

    P(w) = Σ v_q R_q(w)/Σ v_q + (λ/2)‖w‖²                      z_i = ⟨x_i, w⟩
    pairs   R_q = Σ s_i s_j max(0, 1 − (z_i − z_j))/Σ s_i s_j        over grade_i > grade_j in q
    ndcg    R_q = max_π [1 − NDCG@k(π) + Σ_r c_r z_{π(r)}] − Σ_i c̄_i z_i

With average="pairs" the mean is over the pairs of all queries: v_q Σ s_i s_j stands for v_q.
The second loss is that of Chapelle, Le & Smola (2007): π are the orders of the documents of q,
c_r = r^{−1/4}, and c̄_i is the mean of c over the ranks that documents of i's grade share in an
ideal order, since one order of equals is as good as another.  The best π is a linear assignment.
Queries without two different grades say nothing about w: they are left out, and named in
``skipped``.
"""

from __future__ import annotations

import hashlib
import math
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.losses.ranking import discounts, gains, ideal_dcg
from gapsvm.losses.registry import get_loss
from gapsvm.problems.limits import check_curvature
from gapsvm.problems.linear import LinearProblem, check_weights
from gapsvm.problems.risk import Answer, Cut, CutProblem, VectorRisk
from gapsvm.rows.matrix import Rows, checked_rows
from gapsvm.rows.queries import Queries, queries_of

RankingLoss = Literal["pairs", "ndcg"]
_PARTS, _PART_VALUES = 8, 2_000_000
_SLICE = 256
"""Queries whose visit, one by one, takes some hundredths of a second."""


class RankingProblem(CutProblem):
    """A linear ranking function over rows that are never copied.

    Parameters
    ----------
    X : array or sparse matrix, or ``Rows``
        A row for each document; as for ``LinearProblem``.
    y : array
        Grades, higher is better; for "ndcg" they must not be negative.
    qid : array
        The query of each row; rows of a query need not be neighbours.
    lam : float
        λ > 0.
    loss : "pairs" or "ndcg"
    average : "pairs" or "queries"
        Whether every pair of loss "pairs" counts the same, or every query; queries for "ndcg".
    sample_weight : array, optional
        s_i ≥ 0 of documents; a pair weighs s_i s_j.  For "pairs" only.
    query_weight : array, optional
        v_q ≥ 0 of queries, in ascending order of their qid; 1 by default.
    truncation : int, optional
        k of NDCG@k; None for all ranks.
    without : int, optional
        A column of X whose weight stays 0, such as one that holds qid.
    backend : as for ``LinearProblem``
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        qid: Any,
        lam: float,
        *,
        loss: RankingLoss = "pairs",
        average: Literal["pairs", "queries"] = "pairs",
        sample_weight: Any = None,
        query_weight: Any = None,
        truncation: int | None = 10,
        without: int | None = None,
        backend: str | Backend = "cpu",
    ) -> None:
        self.rows: Rows = checked_rows(X, get_backend(backend))
        n, d = self.rows.shape
        self.n_documents = n
        if loss not in ("pairs", "ndcg"):
            raise ValueError(f"loss must be 'pairs' or 'ndcg', got {loss!r}")
        if average not in ("pairs", "queries"):
            raise ValueError(f"average must be 'pairs' or 'queries', got {average!r}")
        if truncation is not None and not truncation >= 1:
            raise ValueError(f"truncation must be at least 1, or None, got {truncation!r}")
        if loss == "ndcg" and sample_weight is not None:
            raise ValueError("sample_weight is for loss 'pairs'; give 'ndcg' a query_weight")
        self.loss, self.truncation, self.without = loss, truncation, without
        self.average = average if loss == "pairs" else "queries"
        self.backend = get_backend(backend)
        self.y = _checked_grades(y, n, loss)
        self.queries: Queries = queries_of(qid, n)
        self.weight = np.ones(n)
        if sample_weight is not None:
            self.weight = check_weights(np.ascontiguousarray(sample_weight, float), n)
        self.share, self.skipped = self._shares(query_weight)
        self.counted = np.flatnonzero(self.share)
        super().__init__(lam, d, 0.0, len(self.counted))
        check_curvature(self.lam, 4.0 * float(np.max(self.rows.sq_norms, initial=0.0)), 1.0, 1.0)

    def _shares(self, query_weight: Any) -> tuple[Any, Any]:
        """v_q/Σ v_q of the queries that have two grades, 0 for others; and the qids of these."""
        weight = np.ones(len(self.queries))
        if query_weight is not None:
            weight = checked_query_weights(query_weight, len(self.queries))
        says = self.pair_weight > 0
        if self.average == "pairs":
            weight = weight * self.pair_weight
        total = float(np.sum(weight[says]))
        if not total > 0:
            raise ValueError(
                "there is nothing to rank: no query has two documents of different grades and "
                f"positive weight (query {self.queries.names[0].item()!r} has grades "
                f"{np.unique(self.y[self.queries.rows(0)]).tolist()})"
            )
        return np.where(says, weight, 0.0) / total, self.queries.names[~says]

    @cached_property
    def grade(self) -> Any:
        """Grades as numbers 0, 1, 2, …"""
        _, grade = np.unique(self.y, return_inverse=True)
        return grade.astype(np.int64)

    @cached_property
    def pair_weight(self) -> Any:
        """Σ s_i s_j of each query over its pairs of different grades."""
        return self._pair_mass(self.weight)

    @property
    def n_pairs(self) -> int:
        """Pairs of documents of one query and different grades."""
        return round(float(self._pair_mass(np.ones(self.n_documents)).sum()))

    @cached_property
    def pairs(self) -> LinearProblem:
        """The same problem with a row x_i − x_j for each pair, in memory of their own."""
        if self.loss != "pairs":
            raise ValueError(f"loss {self.loss!r} is not a sum over pairs")
        better, worse, share = [], [], []
        for q in self.counted.tolist():
            rows = self.queries.rows(q)
            i, j = np.nonzero(self.y[rows][:, None] > self.y[rows])
            better.append(rows[i])
            worse.append(rows[j])
            share.append(np.full(i.size, self.share[q] / self.pair_weight[q]))
        i, j = np.concatenate(better), np.concatenate(worse)
        X = self.rows.to_scipy()
        differences = X[i] - X[j]
        if self.without is not None:
            kept = (np.arange(self.n_features) != self.without).astype(X.dtype)
            sparse = self.rows.is_sparse
            differences = differences.multiply(kept).tocsr() if sparse else differences * kept
        return LinearProblem(
            differences,
            np.ones(i.size),
            get_loss("hinge"),
            self.lam,
            sample_weight=np.concatenate(share) * self.weight[i] * self.weight[j],
            backend=self.backend,
        )

    def _pair_mass(self, weight: Any) -> Any:
        total = self.queries.sums(weight)
        levels = self.queries.of_row * (int(self.grade.max(initial=0)) + 1) + self.grade
        used, level = np.unique(levels, return_inverse=True)
        mass = np.bincount(level, weights=weight)
        first = np.zeros(used.size, dtype=np.int64)
        first[level] = self.queries.of_row
        equals = np.bincount(first, weights=mass * mass, minlength=len(self.queries))
        found = 0.5 * (total * total - equals)
        return np.where(found > 1e-12 * total * total, found, 0.0)

    @cached_property
    def _at_zero(self) -> Answer:
        return self.risk().ask(np.zeros(self.n_features), self.backend)

    @property
    def slice_rows(self) -> int:
        return min(self.n_rows, _SLICE)

    def risk(self) -> ScoreRisk:
        return PairRisk(self) if self.loss == "pairs" else NDCGRisk(self)

    def fingerprint(self) -> dict[str, Any]:
        found = {
            **self.rows.fingerprint(),
            "loss": self.loss,
            "average": self.average,
            "lam": self.lam,
            "labels": hashlib.sha256(self.y.data).hexdigest(),
            "queries": hashlib.sha256(self.queries.of_row.tobytes()).hexdigest(),
            "sample weights": hashlib.sha256(self.weight.data).hexdigest(),
            "query weights": hashlib.sha256(self.share.data).hexdigest(),
            "without": -1 if self.without is None else int(self.without),
        }
        return found if self.loss == "pairs" else {**found, "truncation": self.truncation or 0}


class ScoreRisk(VectorRisk):
    """A risk of the scores z = Xw."""

    def __init__(self, problem: RankingProblem) -> None:
        super().__init__(problem.n_features, 0.0)
        self.problem = problem
        rows = problem.rows
        values = max(_PART_VALUES, 3 * self.size)
        self._parts = rows.slices(max(1, min(_PARTS, rows.n_stored // values, problem.n_documents)))

    def ask(self, w: Any, backend: Backend) -> Answer:
        rows = self.problem.rows
        scores = np.empty(self.problem.n_documents)

        def look(part: slice) -> None:
            backend.margins(rows.part(part.start, part.stop), w, scores[part])

        backend.map(look, self._parts)
        value, offset, pull = self.judge(scores, backend)
        return Answer(float(value), Cut(self.slope(pull, backend), float(offset)))

    def slope(self, pull: Any, backend: Backend) -> Any:
        """Σ_i pull_i x_i over all documents."""
        rows = self.problem.rows

        def pulled(part: slice) -> Any:
            slope = np.zeros(self.size)
            backend.combination(rows.part(part.start, part.stop), pull[part], slope)
            return slope

        slopes = backend.map(pulled, self._parts)
        return self.confined(sum(slopes[1:], slopes[0]))

    def confined(self, slope: Any) -> Any:
        """Without the column that is not looked at.  Modified: slope."""
        if self.problem.without is not None:
            slope[self.problem.without] = 0.0
        return slope

    def judge(self, scores: Any, backend: Backend) -> tuple[float, float, Any]:
        """R as a function of the scores, R less ⟨slope, scores⟩, and its slope there."""
        raise NotImplementedError

    def judge_query(self, q: int, z: Any, backend: Backend) -> tuple[float, float, Any]:
        """The same for R_q and the scores of q's documents."""
        raise NotImplementedError

    def reach(self, q: int) -> float:
        """R_q changes by no more than this where no score changes by more than 1."""
        raise NotImplementedError


class PairRisk(ScoreRisk):
    """The hinge loss of all pairs, in O(k log k) for a query of k documents."""

    def judge(self, scores: Any, backend: Backend) -> tuple[float, float, Any]:
        problem, queries = self.problem, self.problem.queries
        pairs = np.where(problem.share > 0, problem.pair_weight, 1.0)
        pull = np.empty(problem.n_documents)
        value, mass = backend.pair_hinge(
            scores,
            queries.ascending(scores),
            queries.starts,
            problem.grade,
            problem.weight,
            problem.share / pairs,
            self._tree(),
            pull,
        )
        return max(value, 0.0), mass, pull

    def judge_query(self, q: int, z: Any, backend: Backend) -> tuple[float, float, Any]:
        problem, pull = self.problem, np.empty(z.size)
        rows = problem.queries.rows(q)
        value, mass = backend.pair_hinge(
            z,
            np.argsort(z, kind="stable"),
            np.array([0, z.size]),
            problem.grade[rows],
            problem.weight[rows],
            np.array([1.0 / problem.pair_weight[q]]),
            self._tree(),
            pull,
        )
        return max(value, 0.0), mass, pull

    def _tree(self) -> Any:
        """Room for a number a grade."""
        return np.empty(int(self.problem.grade.max()) + 1)

    def reach(self, q: int) -> float:
        return 2.0


class NDCGRisk(ScoreRisk):
    """1 − NDCG@k, made convex by its margin-rescaled maximum over all orders."""

    def judge(self, scores: Any, backend: Backend) -> tuple[float, float, Any]:
        problem = self.problem
        pull, value, offset = np.zeros(problem.n_documents), 0.0, 0.0

        def one(q: int) -> tuple[float, float, Any]:
            return self.judge_query(q, scores[problem.queries.rows(q)], backend)

        counted = problem.counted.tolist()
        for q, (lost, missed, slope) in zip(counted, backend.map(one, counted)):
            share = problem.share[q]
            value += share * lost
            offset += share * missed
            pull[problem.queries.rows(q)] = share * slope
        return value, offset, pull

    def judge_query(self, q: int, z: Any, backend: Backend) -> tuple[float, float, Any]:
        """R_q, 1 − NDCG of the order that attains it, and its slope in the scores."""
        from scipy.optimize import linear_sum_assignment

        if not np.isfinite(z).all():  # steps have diverged, as the loop will see
            return math.nan, math.nan, np.zeros(z.size)
        grades = self.problem.y[self.problem.queries.rows(q)]
        ideal = ideal_dcg(grades, self.problem.truncation)
        ratio = gains(grades) / ideal
        discount, position = discounts(z.size, self.problem.truncation), _positions(z.size)
        profit = np.outer(z, position) - np.outer(ratio, discount)
        documents, ranks = linear_sum_assignment(profit, maximize=True)
        missed = 1.0 - float(ratio[documents] @ discount[ranks])
        slope = -_shared_positions(grades)
        slope[documents] += position[ranks]
        return missed + float(slope @ z), missed, slope

    def reach(self, q: int) -> float:
        """Places in one order and in the opposite one differ by the most."""
        position = _positions(self.problem.queries.rows(q).size)
        return float(np.abs(position - position[::-1]).sum())


def _positions(count: int) -> Any:
    """c_r = r^{−1/4}."""
    return np.arange(1, count + 1) ** -0.25


def _shared_positions(grades: Any) -> Any:
    """c̄_i: the mean of c over the ranks of documents of the same grade in an ideal order."""
    _, grade = np.unique(-np.asarray(grades), return_inverse=True)
    ranked = np.sort(grade)
    total = np.bincount(ranked, weights=_positions(ranked.size))
    return (total / np.bincount(grade))[grade]


def checked_query_weights(query_weight: Any, n: int) -> Any:
    """A weight for each of n queries."""
    given = np.ascontiguousarray(query_weight, dtype=np.float64)
    return check_weights(given, n, "query_weight", "queries")


def _checked_grades(y: Any, n: int, loss: str) -> Any:
    y = np.ascontiguousarray(y, dtype=np.float64)
    if y.shape != (n,):
        raise ValueError(f"X has {n} rows but y has shape {y.shape}")
    if not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity; grades must be finite numbers")
    if loss == "ndcg" and not 0 <= float(y.min(initial=0.0)) <= float(y.max(initial=0.0)) <= 50:
        raise ValueError("y must lie between 0 and 50 for loss 'ndcg', whose gains are 2^y - 1")
    return y
