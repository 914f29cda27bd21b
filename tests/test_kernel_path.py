"""Paths of kernel machines."""

from __future__ import annotations

import numpy as np
import pytest
from problems import matrix, targets

from gapsvm import SVC, SVR, kernel_path

X = matrix(120, 4)
LABELS, RESPONSE = targets(X, "margin"), targets(X, "response")
COSTS = [10.0, 0.1, 1.0]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_point_is_the_model_at_its_c(fit_intercept):
    """In the order they were asked for, each the certified optimum of its own problem."""
    points = kernel_path(X, LABELS, "rbf(gamma=0.2)", C=COSTS, fit_intercept=fit_intercept)
    assert [point.C for point in points] == pytest.approx(COSTS)
    for point in points:
        one = SVC(C=point.C, gamma=0.2, fit_intercept=fit_intercept).fit(X, LABELS)
        assert point.converged
        (fit,) = point.fitted.fits
        assert fit.result.certificate.primal == pytest.approx(one.primal_objective_, rel=1e-9)
        np.testing.assert_allclose(
            point.model.decision_function(X), one.decision_function(X), atol=1e-6
        )


def test_responses_weights_and_lams():
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 120)
    loss = "epsilon_insensitive(epsilon=0.1)"
    lams = [1 / (C * weight.sum()) for C in COSTS]
    points = kernel_path(X, RESPONSE, lams=lams, loss=loss, sample_weight=weight)
    for C, point in zip(COSTS, points):
        one = SVR(C=C).fit(X, RESPONSE, weight)
        np.testing.assert_allclose(point.model.predict(X), one.predict(X), atol=1e-6)


def test_each_starts_from_the_one_before():
    """Without a list C times the mean of K(x, x) goes from 0.01 to 1,000; rows of K are shared."""
    how = {"method": "working-set(whole=0, block_size=32)", "kernel": "rbf(gamma=0.2)"}
    points = kernel_path(X, LABELS, n_points=5, **how)
    assert [point.C for point in points] == pytest.approx(np.geomspace(1e-2, 1e3, 5))
    alone = [kernel_path(X, LABELS, C=[point.C], **how)[0] for point in points]
    steps, others = (sum(p.fitted.passes for p in some) for some in (points, alone))
    assert steps < others


def test_what_makes_no_path():
    with pytest.raises(ValueError, match="C or lams, not both"):
        kernel_path(X, LABELS, C=[1.0], lams=[1.0])
    for wrong in ([0.0], [np.inf], [-1.0]):
        with pytest.raises(ValueError, match="positive and finite"):
            kernel_path(X, LABELS, C=wrong)
        with pytest.raises(ValueError, match="positive and finite"):
            kernel_path(X, LABELS, lams=wrong)
    with pytest.raises(ValueError, match="two classes, but y holds 3"):
        kernel_path(X, np.arange(120) % 3)
