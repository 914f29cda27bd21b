"""How good a ranking is: DCG, NDCG and average precision as LETOR defines them.

Gains are 2^grade − 1; the discount of rank 1 is 1 and that of rank r ≥ 2 is 1/log₂ r; NDCG@k is
DCG of the first k ranks divided by the highest that any order has.  A query without a relevant
document, one of grade above 0, counts 0.  Documents of equal score keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

RANKING_LOSSES = ("pairs", "ndcg")
"""Of ``RankingProblem``."""


def gains(grades: Any) -> Any:
    """2^grade − 1."""
    return np.exp2(np.asarray(grades, dtype=np.float64)) - 1.0


def discounts(count: int, truncation: int | None = None) -> Any:
    """1, 1, 1/log₂ 3, 1/log₂ 4, …, and 0 beyond the truncation."""
    ranks = np.arange(1, count + 1)
    found = 1.0 / np.log2(np.maximum(ranks, 2))
    return found if truncation is None else np.where(ranks <= truncation, found, 0.0)


def ideal_dcg(grades: Any, truncation: int | None = None) -> float:
    """The highest DCG of any order."""
    best = np.sort(gains(grades))[::-1]
    return float(best @ discounts(best.size, truncation))


def ndcg(grades: Any, scores: Any, truncation: int | None = 10) -> float:
    """NDCG of one query; 0 where no document is relevant."""
    ideal = ideal_dcg(grades, truncation)
    if not ideal > 0:
        return 0.0
    found = gains(grades)[_descending(scores)]
    return float(found @ discounts(found.size, truncation)) / ideal


def average_precision(grades: Any, scores: Any) -> float:
    """The mean, over the relevant documents of a query, of the precision at their ranks."""
    relevant = np.asarray(grades)[_descending(scores)] > 0
    ranks = np.flatnonzero(relevant) + 1
    return float(np.mean(np.arange(1, ranks.size + 1) / ranks)) if ranks.size else 0.0


def mean_ndcg(grades: Any, scores: Any, qid: Any, truncation: int | None = 10) -> float:
    """NDCG@k, the mean over all queries.

    Parameters
    ----------
    grades : array of relevance grades ≥ 0, one a document
    scores : array, higher is better
    qid : array of query numbers or names; the documents of a query need not be neighbours
    truncation : k, or None for all ranks
    """
    return float(np.mean([ndcg(*query, truncation) for query in _queries(grades, scores, qid)]))


def mean_average_precision(grades: Any, scores: Any, qid: Any) -> float:
    """MAP: the mean over all queries of the average precision; relevant is a grade above 0.

    Parameters
    ----------
    grades, scores, qid : as for ``mean_ndcg``
    """
    return float(np.mean([average_precision(*query) for query in _queries(grades, scores, qid)]))


def _descending(scores: Any) -> Any:
    return np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")


def _queries(grades: Any, scores: Any, qid: Any) -> Iterator[tuple[Any, Any]]:
    grades, scores, qid = np.asarray(grades), np.asarray(scores), np.asarray(qid)
    if not grades.shape == scores.shape == qid.shape or grades.ndim != 1 or not grades.size:
        raise ValueError(
            "grades, scores and qid must be of one length, a number each a document; got shapes "
            f"{grades.shape}, {scores.shape} and {qid.shape}"
        )
    if np.min(grades) < 0:
        raise ValueError(f"grades must not be negative, got {np.min(grades)}")
    _, inverse = np.unique(qid, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(inverse[order])) + 1):
        yield grades[rows], scores[rows]
