"""LinearSVC(multi_class="crammer_singer"): one problem over all classes, one certificate."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from problems import matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from gapsvm import LinearSVC, Subgradient, load_model, save_model
from gapsvm.problems.multiclass import MulticlassProblem

X = matrix(80, 5)
SCORES = X @ np.random.default_rng(0).normal(size=(5, 3)) + np.random.default_rng(1).normal(
    size=(80, 3)
)
NAMES = np.array(["birch", "oak", "pine"])
Y = NAMES[SCORES.argmax(axis=1)]
JOINT = {"multi_class": "crammer_singer", "random_state": 0, "tol": 0.01, "max_iter": 5000}


def model(**parameters):
    return LinearSVC(**{**JOINT, "fit_intercept": False, "C": 0.1, **parameters})


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_one_certificate(loss, layout):
    """The attributes have the shapes of one-vs-rest; there is one gap, and it is the truth."""
    data = sp.csr_matrix(X) if layout == "csr" else X
    fitted = model(loss=loss, penalize_intercept=True, fit_intercept=True).fit(data, Y)
    assert fitted.coef_.shape == (3, 5)
    assert fitted.intercept_.shape == (3,)
    assert fitted.dual_coef_.shape == (3, 80)
    assert fitted.dual_gaps_.shape == (1,)
    assert fitted.converged_
    assert fitted.method_ == "level-bundle"
    np.testing.assert_allclose(fitted.dual_coef_.sum(axis=0), 1.0)
    assert fitted.dual_gap_ == fitted.primal_objective_ - fitted.dual_objective_
    assert fitted.history_[-1].gap == fitted.dual_gap_
    name = "multinomial" if loss == "logistic" else "crammer_singer"
    labels = np.searchsorted(NAMES, Y)
    p = MulticlassProblem(X, labels, 3, name, 1 / (0.1 * 80), bias="penalized")
    values = p.curve.value(fitted.decision_function(X), labels)
    penalty = np.sum(fitted.coef_**2) + np.sum(fitted.intercept_**2)
    assert values.mean() + 0.5 * p.lam * penalty == pytest.approx(fitted.primal_objective_)
    assert fitted.dual_gap_ <= 0.01 * p.primal_at_zero
    right = NAMES[fitted.decision_function(X).argmax(axis=1)]
    np.testing.assert_array_equal(fitted.predict(X), right)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_agrees_with_scikit_learn(loss):
    """Strong convexity: ‖W − W*‖² ≤ 2·gap/λ."""
    fitted = model(loss=loss, tol=1e-3, max_iter=20_000).fit(X, Y)
    if loss == "logistic":
        other = LogisticRegression(C=0.1, fit_intercept=False, tol=1e-8)
    else:
        other = sklearn.svm.LinearSVC(
            loss="hinge",
            C=0.1,
            multi_class="crammer_singer",
            fit_intercept=False,
            tol=1e-8,
            max_iter=100_000,
        )
    distance = np.linalg.norm(fitted.coef_ - other.fit(X, Y).coef_)
    assert distance <= np.sqrt(2 * fitted.dual_gap_ * 0.1 * 80) + 1e-4


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_two_classes_have_one_function(loss):
    y = np.where(Y == "oak", 1, 0)
    fitted = model(loss=loss).fit(X, y)
    assert fitted.coef_.shape == (1, 5)
    assert fitted.dual_coef_.shape == (2, 80)
    np.testing.assert_array_equal(fitted.predict(X), fitted.decision_function(X) > 0)


@pytest.mark.parametrize("classes", [2, 3])
def test_model_files(classes, tmp_path):
    y = Y if classes == 3 else np.where(Y == "oak", "oak", "other")
    fitted = model().fit(X, y)
    save_model(fitted, tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.dual_gap_ == fitted.dual_gap_
    assert again.primal_objective_ == fitted.primal_objective_
    assert again.method_ == fitted.method_


@pytest.mark.parametrize("method", ["norma", "zhang", "adaptive", "proximal", "pegasos"])
def test_methods(method):
    fitted = model(method=f"{method}(batch_size=2)", tol=0.1).fit(X, Y)
    assert fitted.method_ == method
    assert fitted.converged_


def test_a_solver_and_callbacks():
    seen = []
    fitted = model(method=Subgradient(4), callbacks=seen.append, tol=0.1).fit(X, Y)
    assert seen[-1].gap == fitted.dual_gap_
    assert seen[-1].solution.W.shape == (5, 3)
    with pytest.warns(ConvergenceWarning, match="callback"):
        model(callbacks=lambda record: True, tol=1e-9).fit(X, Y)


@pytest.mark.skipif(not hasattr(LinearSVC, "set_callbacks"), reason="scikit-learn before 1.9")
def test_scikit_learns_callbacks():
    from sklearn.callback import ScoringMonitor

    fitted = model(tol=0.1).set_callbacks(ScoringMonitor(scoring="accuracy")).fit(X, Y)
    assert fitted.converged_


def test_weights_act():
    plain, heavy = model().fit(X, Y), model(class_weight={"oak": 20.0}).fit(X, Y)
    assert np.sum(heavy.predict(X) == "oak") > np.sum(plain.predict(X) == "oak")


REFUSED = {
    "needs loss 'hinge' or 'logistic', not 'squared_hinge'": {"loss": "squared_hinge"},
    "no unpenalised intercept": {"fit_intercept": True},
    "primal methods only": {"dual": True},
    "method 'sdca': .* Methods for this problem: auto, pegasos": {"method": "sdca"},
    "method 'optimistic': .* is for a LinearProblem": {"method": "optimistic"},
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message):
    refused = model(**REFUSED[message])
    with pytest.raises(ValueError, match=message):
        refused.fit(X, Y)
    assert not hasattr(refused, "coef_")
