"""Kernel machines on input that is wrong: what FAULTS of kernels there are, line by line."""

from __future__ import annotations

import numpy as np
import pytest
from problems import matrix, targets
from sklearn.metrics.pairwise import rbf_kernel

from gapsvm import SVC, SVR

X = matrix(60, 4)
Y = targets(X, "margin")
K = rbf_kernel(X)
MODELS = pytest.mark.parametrize("model", [SVC, SVR])


def raises(A, B):
    raise RuntimeError("the sensor is off")


def lopsided(A, B):
    return A @ B.T + A[:, :1]


WRONG = {
    "shape": (lambda A, B: K[:5], ValueError, "gave shape"),
    "one number": (lambda A, B: 1.0, ValueError, "gave shape"),
    "type": (lambda A, B: "K", ValueError, "gave str, not numbers"),
    "nothing": (lambda A, B: None, ValueError, "gave"),
    "NaN": (lambda A, B: np.full((len(A), len(B)), np.nan), ValueError, "NaN or infinity"),
    "raises": (raises, ValueError, "raised RuntimeError.*the sensor is off"),
    "not symmetric": (lopsided, ValueError, "not symmetric"),
}


@MODELS
@pytest.mark.parametrize("case", WRONG)
def test_a_callable_that_is_wrong(case, model):
    """Named by fit, which leaves the estimator as it was."""
    kernel, error, sentence = WRONG[case]
    wrong = model(kernel=kernel)
    with pytest.raises(error, match=sentence):
        wrong.fit(X, Y)
    assert not hasattr(wrong, "dual_coef_")


@MODELS
@pytest.mark.parametrize(("case", "sentence"), [("shape", "gave shape"), ("NaN", "NaN")])
def test_a_callable_that_goes_wrong_at_predict(case, sentence, model):
    fitted = model(kernel=lambda A, B: rbf_kernel(A, B)).fit(X, Y)
    fitted.kernel = WRONG[case][0]
    with pytest.raises(ValueError, match=sentence):
        fitted.predict(X)


def _with(value):
    changed = K.copy()
    changed[3, 5] = value
    return changed


@MODELS
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (K[:, :50], "square"),
        (_with(np.nan), "NaN"),
        (_with(np.inf), "infinity"),
        (_with(7.0), "not symmetric"),
    ],
    ids=["not square", "NaN", "infinite", "not symmetric"],
)
def test_a_matrix_that_is_wrong(given, sentence, model):
    with pytest.raises(ValueError, match=sentence):
        model(kernel="precomputed").fit(given, Y)


@MODELS
def test_a_matrix_of_another_shape_at_predict(model):
    fitted = model(kernel="precomputed").fit(K, Y)
    for wrong in (K[:, :59], np.hstack([K, K])):
        with pytest.raises(ValueError, match="60"):
            fitted.predict(wrong)
    assert fitted.predict(K[:7]).shape == (7,)


@MODELS
@pytest.mark.parametrize("gamma", [-1.0, -1e-300, np.nan, np.inf])
def test_a_gamma_that_is_none(gamma, model):
    with pytest.raises(ValueError, match="gamma"):
        model(gamma=gamma).fit(X, Y)


@pytest.mark.parametrize("gamma", [0.0, 1e-300, 1e-12, 1e12, 1e300])
def test_gammas_that_tell_nothing_or_everything_apart(gamma):
    """K = 1, K = I: a defined answer and an honest gap."""
    fitted = SVC(gamma=gamma).fit(X, Y)
    assert fitted.converged_
    assert 0 <= fitted.dual_gap_ + 1e-15 <= 1e-3
    assert np.isfinite(fitted.decision_function(X)).all()


def test_identical_rows_with_different_labels():
    data, y = np.vstack([X, X]), np.append(Y, -Y)
    fitted = SVC(C=100.0).fit(data, y)
    assert fitted.converged_
    np.testing.assert_allclose(fitted.primal_objective_, 1.0, atol=1e-9)  # nothing is better than 0
