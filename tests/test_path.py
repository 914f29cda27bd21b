"""Regularisation paths: certified everywhere, warm-started, in the caller's order."""

from __future__ import annotations

import numpy as np
import pytest
from problems import matrix, targets

from gapsvm import InteriorPoint, LinearProblem, get_loss, solve, svm_path

X = matrix(70, 5)
LAMS = [0.01, 1.0, 0.1]


@pytest.mark.parametrize("method", ["auto", "sdca"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive"])
def test_every_point_is_certified(loss, fit_intercept, method):
    curve = get_loss(loss)
    y = targets(X, curve.kind)
    points = svm_path(
        X, y, lams=LAMS, loss=loss, fit_intercept=fit_intercept, tol=1e-6, method=method
    )
    assert [point.lam for point in points] == LAMS
    for point in points:
        bias = "free" if fit_intercept else "none"
        p = LinearProblem(X, y, curve, point.lam, bias=bias)
        best = solve(p, InteriorPoint(), gap=1e-11 * p.primal_at_zero).certificate.primal
        assert point.converged
        assert -1e-9 <= point.primal - best <= point.gap + 1e-9
        assert point.gap <= 1e-6 * p.primal_at_zero


def test_a_warm_path_costs_fewer_passes_than_cold_fits():
    X = matrix(400, 20)
    y, lams = targets(X, "margin"), list(np.geomspace(1e-1, 1e-3, 8))
    warm = svm_path(X, y, lams=lams, method="sdca", tol=1e-3, max_iter=20_000)
    cold = [svm_path(X, y, lams=[lam], method="sdca", tol=1e-3, max_iter=20_000)[0] for lam in lams]
    assert sum(point.passes for point in warm) < sum(point.passes for point in cold)


def test_bad_paths():
    y = targets(X, "margin")
    for lams in ([], [0.1, -1.0], [np.nan]):
        with pytest.raises(ValueError, match="lams must be positive and finite"):
            svm_path(X, y, lams=lams)
    with pytest.raises(ValueError, match="two classes"):
        svm_path(X, np.ones(70), lams=LAMS)
