"""Probabilities: the logistic loss has them, and only it."""

from __future__ import annotations

import numpy as np
import pytest
from problems import matrix
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from gapsvm import LinearSVC, OnlineSVC, load_model, save_model

IRIS = load_iris(return_X_y=True)
X = matrix(80, 4)
Y = np.where(X[:, 0] + 0.5 * np.random.default_rng(0).normal(size=80) > 0, "b", "a")
JOINT = LinearSVC(
    loss="logistic",
    lam=1e-2,
    tol=0.2,
    multi_class="crammer_singer",
    fit_intercept=False,
    random_state=0,
)


def test_two_classes_are_those_of_logistic_regression():
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(X, Y)
    ours = LinearSVC(loss="logistic", C=2.0, tol=1e-12).fit(X, Y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(loss="logistic", lam=1e-3),
        JOINT,
        OnlineSVC(loss="logistic", lam=1e-2),
    ],
)
def test_many_classes_sum_to_one_and_agree_with_predict(model):
    model.fit(*IRIS)
    found = model.predict_proba(IRIS[0])
    assert found.shape == (150, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(IRIS[0]))


def test_joint_classes_are_a_softmax():
    model = JOINT.fit(*IRIS)
    scores = np.exp(model.decision_function(IRIS[0]))
    softmax = scores / scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(IRIS[0]), softmax, rtol=1e-9)


def test_logarithms_do_not_underflow():
    model = LinearSVC(loss="logistic", lam=1e-3).fit(X, Y)
    far = 1e6 * model.coef_
    assert np.isfinite(model.predict_log_proba(far)).all()
    assert set(model.predict_proba(far).ravel()) == {0.0, 1.0}


@pytest.mark.parametrize("model", [LinearSVC(), OnlineSVC(), LinearSVC(loss="squared_hinge")])
def test_other_losses_have_none_and_say_what_to_do(model):
    model.fit(X, Y)
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError) as error:
            getattr(model, name)
        said = str(error.value)
        assert f"{type(model).__name__}(loss={model.loss!r}) has no {name}" in said
        assert f"Fit {type(model).__name__}(loss='logistic')" in said
        assert "CalibratedClassifierCV" in said


def test_an_unfitted_classifier_and_its_class_have_the_method_by_its_loss():
    assert hasattr(LinearSVC(loss="logistic"), "predict_proba")
    assert "one column per class" in LinearSVC.predict_proba.__doc__
    with pytest.raises(NotFittedError):
        LinearSVC(loss="logistic").predict_proba(X)


def test_a_loaded_model_has_them_too(tmp_path):
    model = LinearSVC(loss="logistic", lam=1e-3).fit(X, Y)
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
