"""Ranking on LETOR's folds: as good as published rankers, and the optimum of all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from gapsvm import SDCA, RankingProblem, RankSVC, datasets, solve

pytestmark = pytest.mark.slow
GRID = (1e-1, 1e-2, 1e-3, 1e-4)


def part(data, folds):
    rows = np.isin(data.folds, folds)
    return data.X[rows], data.y[rows], data.qid[rows]


@pytest.mark.parametrize(("name", "least"), [("ohsumed", 0.41), ("mq2008", 0.49)])
def test_ndcg_over_five_folds(name, least, data_folder):
    """Trained on three, λ chosen on the fourth, measured on the fifth; certified every time."""
    data, found = datasets.load(name, folder=data_folder), []
    for k in range(5):
        train, held, test = (
            part(data, [(k + j) % 5 + 1 for j in span]) for span in ((0, 1, 2), (3,), (4,))
        )
        models = [RankSVC(lam=lam).fit(*train) for lam in GRID]
        assert all(model.converged_ for model in models)
        best = max(models, key=lambda model: model.score(*held))
        found.append(best.score(*test))
    assert np.mean(found) >= least


@pytest.mark.parametrize("name", ["ohsumed", "mq2008"])
def test_the_optimum_is_that_of_all_pairs(name, data_folder):
    X, y, qid = part(datasets.load(name, folder=data_folder), [1, 2, 3])
    for method in ("bundle", "proximal-bundle", "level-bundle"):
        model = RankSVC(lam=1e-3, tol=1e-4, method=method, max_iter=3000).fit(X, y, qid)
        exact = solve(RankingProblem(X, y, qid, 1e-3).pairs, SDCA(), gap=1e-6, max_passes=1000)
        assert exact.converged
        assert model.dual_objective_ <= exact.certificate.primal + 1e-12
        assert exact.certificate.dual - 1e-12 <= model.primal_objective_
        assert model.primal_objective_ - exact.certificate.primal <= 1e-4
