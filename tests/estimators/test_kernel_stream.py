"""SVC.partial_fit: LASVM over rows that come in parts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from problems import matrix

from gapsvm import SVC

X = matrix(240, 5, 3)
Y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, "up", "down")


def streamed(rows, method="lasvm", parts=4, **options):
    model = SVC(method=method, C=1.0, gamma=0.3, tol=1e-3, **options)
    for some in np.array_split(np.arange(240), parts):
        model.partial_fit(rows[some], Y[some], classes=["down", "up"])
    return model


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_parts_give_nearly_the_model_of_all_rows(make, fit_intercept):
    model = streamed(make(X), fit_intercept=fit_intercept)
    whole = SVC(C=1.0, gamma=0.3, fit_intercept=fit_intercept).fit(X, Y)
    assert model.converged_
    assert np.mean(model.predict(X) == whole.predict(X)) > 0.95
    assert model.support_vectors_.shape[0] < 240


def test_one_part_is_a_fit():
    model, fitted = streamed(X, parts=1), SVC(method="lasvm", C=1.0, gamma=0.3).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), fitted.decision_function(X), atol=1e-9)


def test_gamma_is_that_of_the_first_rows():
    model = SVC(method="lasvm", gamma="scale").partial_fit(X[:50], Y[:50], classes=["down", "up"])
    before = model._gamma
    assert model.partial_fit(10 * X[50:99], Y[50:99])._gamma == before


def test_a_fit_starts_over():
    model = streamed(X).fit(X[:50], Y[:50])
    alone = SVC(method="lasvm", C=1.0, gamma=0.3).fit(X[:50], Y[:50])
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))


def test_what_it_needs_is_said():
    assert not hasattr(SVC(), "partial_fit")
    model = SVC(method="lasvm(tau=0.01)")
    with pytest.raises(ValueError, match="classes must be passed"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="two classes"):
        model.partial_fit(X, Y, classes=["down", "up", "left"])
    model.partial_fit(X[:20], Y[:20], classes=["down", "up"])
    with pytest.raises(ValueError, match="since the first call"):
        model.partial_fit(X, Y, classes=["a", "b"])
    with pytest.raises(ValueError, match="kernel by name"):
        SVC(method="lasvm", kernel="precomputed").partial_fit(X @ X.T, Y, classes=["down", "up"])
