"""Which method ranks, and how well a ranking does."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.losses.ranking import mean_average_precision, mean_ndcg
from gapsvm.problems.structured.ranking import RankingProblem

_PAIRS_A_DOCUMENT = 10
"""As long as there are no more, "auto" lists all pairs, ..."""
_MANY_PAIRS = 10_000
"""... but not of small problems: a bundle takes the same steps for a weight 2 and a row twice."""


def chosen_method(problem: RankingProblem) -> str:
    """What "auto" is: SDCA over listed pairs where they are neither a few nor many times the
    documents, else cutting planes."""
    most = _PAIRS_A_DOCUMENT * problem.n_documents
    worth = problem.loss == "pairs" and _MANY_PAIRS <= problem.n_pairs <= most
    return "pair-sdca" if worth else "bundle"


def quality_of(grades: Any, scores: Any, qid: Any, truncation: int | None = 10) -> dict[str, float]:
    """NDCG@k and MAP by LETOR's definitions."""
    scores = np.ravel(scores)
    name = "NDCG" if truncation is None else f"NDCG@{truncation}"
    return {
        name: mean_ndcg(grades, scores, qid, truncation),
        "MAP": mean_average_precision(grades, scores, qid),
    }
