"""OnlineSVC and OnlineSVR: scikit-learn's contract, and what partial_fit promises."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from problems import matrix, targets
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gapsvm
from gapsvm import LinearSVC, OnlineSVC, OnlineSVR

X = matrix(80, 5)
LABELS, RESPONSE = targets(X, "margin"), targets(X, "response")
THREE = np.where(X[:, 0] > 0.3, "c", np.where(LABELS > 0, "b", "a"))
WEIGHT = np.random.default_rng(0).choice([0.0, 0.5, 2.0], 80)
FIRST = {"classes": [-1.0, 1.0]}
BOTH = pytest.mark.parametrize(
    ("model", "y", "first"),
    [(OnlineSVC(), LABELS, FIRST), (OnlineSVR(), RESPONSE, {})],
    ids=["svc", "svr"],
)


@parametrize_with_checks(
    [
        OnlineSVC(),
        OnlineSVR(),
        OnlineSVC(step_rule="pegasos", average=None, batch_size=4),
        OnlineSVC("squared_hinge", step_rule="optimistic", fit_intercept=False),
        OnlineSVR(loss="half_squared", batch_size=2),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    """No expected failures."""
    check(estimator)


# parameter: fixed others, the value it is changed to
SHARED = {
    "lam": ({}, 1.0),
    "step_rule": ({}, "pegasos"),
    "batch_size": ({}, 4),
    "average": ({}, "uniform"),
    "projection": ({}, 0.01),
    "fit_intercept": ({}, False),
    "horizon": ({"step_rule": "zhang"}, 3),
    "random_state": ({}, 1),
}
ACTS = {
    OnlineSVC: {**SHARED, "loss": ({}, "logistic")},
    OnlineSVR: {**SHARED, "loss": ({}, "huber"), "epsilon": ({}, 0.5)},
}
CASES = [(model, name) for model in ACTS for name in inspect.signature(model).parameters]


@pytest.mark.parametrize(("model", "name"), CASES)
def test_every_parameter_acts(model, name):
    others, value = ACTS[model][name]
    y = LABELS if model is OnlineSVC else RESPONSE
    others = {"random_state": 0, **others}
    before, after = model(**others).fit(X, y), model(**{**others, name: value}).fit(X, y)
    assert not np.array_equal(before.coef_, after.coef_)


LEARNT = (
    *("coef_", "intercept_", "progressive_error_", "progressive_loss_", "sigma2_"),
    *("n_samples_seen_", "weight_seen_", "max_norm_", "beta_"),
)


@BOTH
def test_parts_are_as_good_as_the_whole(model, y, first):
    whole, parts = clone(model).partial_fit(X, y, **first), clone(model)
    parts.partial_fit(X[:30], y[:30], **first)
    parts.partial_fit(sp.csr_matrix(X[30:]).toarray(), y[30:])
    for name in LEARNT:
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name), name)


@BOTH
def test_fit_forgets_and_shuffles_by_its_seed(model, y, first):
    model = clone(model).set_params(random_state=0)
    again = clone(model).partial_fit(X[::-1], y[::-1], **first).fit(X, y)
    model.fit(X, y)
    for name in LEARNT:
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name), name)
    in_order = clone(model).partial_fit(X, y, **first)
    assert not np.array_equal(model.coef_, in_order.coef_)


@pytest.mark.parametrize("mapped", [False, True])
def test_rows_sorted_by_label(mapped, tmp_path, monkeypatch):
    """``fit`` shuffles, whether the rows lie in memory or in a file; ``partial_fit`` warns."""
    monkeypatch.setattr("gapsvm.solvers.row_order.FEW", 1000)
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 500)
    rows = 3 * np.eye(10)[labels] + rng.normal(size=(5000, 10))
    if mapped:
        np.save(tmp_path / "rows.npy", rows)
        rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    shuffled = OnlineSVC(random_state=0).fit(rows, labels)
    assert shuffled.score(rows, labels) > 0.9
    kept = OnlineSVC()
    with pytest.warns(UserWarning, match="1,000 rows in a row are of class 0|500 rows .* class 1"):
        kept.partial_fit(rows, labels, classes=np.arange(10))
    assert kept.score(rows, labels) < shuffled.score(rows, labels)


@BOTH
def test_fewer_rows_than_a_batch(model, y, first):
    """The one step that is made counts, whatever is averaged; it was an all-zero model."""
    for average in ("tail", "uniform", "decaying"):
        large = clone(model).set_params(batch_size=2000, average=average)
        last = clone(large).set_params(average=None)
        large.fit(X, y)
        assert np.abs(large.coef_).max() > 0
        np.testing.assert_allclose(large.coef_, last.fit(X, y).coef_, rtol=1e-9)


FAILURES = {
    "a number": lambda X, y: (np.where(np.arange(X.size).reshape(X.shape) == 8, np.nan, X), y, {}),
    "a label": lambda X, y: (X, np.where(np.arange(80) == 3, None, y), {}),
    "a weight": lambda X, y: (X, y, {"sample_weight": -np.ones(80)}),
    "the classes": lambda X, y: (X, y, {"classes": [0, 5]}),
    "the steps": lambda X, y: (1e151 * X, y, {}),
}


@BOTH
@pytest.mark.parametrize("what", FAILURES)
def test_a_first_call_that_fails_leaves_nothing(model, y, first, what):
    """``n_features_in_`` was fixed by it."""
    model = clone(model).set_params(step_rule="pegasos", projection=False, lam=1e-8, average=None)
    rows, bad, more = FAILURES[what](X, y)
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError)):
        model.partial_fit(pd.DataFrame(rows), bad, **{**first, **more})
    assert vars(model) == before
    model.partial_fit(X[:, :3], y, **first)
    assert model.n_features_in_ == 3


@BOTH
def test_a_fit_that_fails_leaves_the_model(model, y, first):
    model = clone(model).partial_fit(X, y, **first)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((80, 2), np.nan), y)
    assert pickle.dumps(model) == before


@BOTH
def test_weights(model, y, first):
    weighted = clone(model).partial_fit(X, y, **first, sample_weight=WEIGHT)
    kept = WEIGHT > 0
    fewer = clone(model).partial_fit(X[kept], y[kept], **first, sample_weight=WEIGHT[kept])
    np.testing.assert_array_equal(weighted.coef_, fewer.coef_)
    plain = clone(model).partial_fit(X[kept], y[kept], **first)
    assert not np.array_equal(weighted.coef_, plain.coef_)
    assert weighted.n_samples_seen_ == kept.sum()
    assert weighted.weight_seen_ == WEIGHT.sum()
    before = pickle.dumps(weighted)
    weighted.partial_fit(X, y, sample_weight=np.zeros(80))
    assert pickle.dumps(weighted) == before
    for bad in (-WEIGHT, WEIGHT[:3], np.full(80, np.nan)):
        with pytest.raises(ValueError, match="sample_weight"):
            weighted.partial_fit(X, y, sample_weight=bad)
    assert pickle.dumps(weighted) == before


@BOTH
@pytest.mark.parametrize("copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_copies_go_on_alike(model, y, first, copied):
    one = clone(model).partial_fit(X[:40], y[:40], **first)
    other = copied(one)
    one.partial_fit(X[40:], y[40:])
    assert not np.array_equal(one.coef_, other.coef_)
    other.partial_fit(X[40:], y[40:])
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.progressive_error_ == other.progressive_error_
    fresh = clone(one)
    for name in ("coef_", "intercept_", "progressive_error_", "sigma2_", "n_samples_seen_"):
        assert not hasattr(fresh, name)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_classes_are_declared_up_front():
    model = OnlineSVC()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, LABELS)
    one_class = LABELS > 0
    model.partial_fit(X[one_class], LABELS[one_class], classes=[1, -1])
    np.testing.assert_array_equal(model.classes_, [-1, 1])
    model.partial_fit(X, LABELS).partial_fit(X, LABELS, classes=[-1, 1])
    with pytest.raises(ValueError, match="since the first call"):
        model.partial_fit(X, LABELS, classes=[0, 1])
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(X, LABELS + 5)
    with pytest.raises(ValueError, match="two classes"):
        OnlineSVC().partial_fit(X, np.ones(80), classes=[1])


def test_more_than_two_classes():
    """One function each, against the rest; labels of any kind; some may come late."""
    model = OnlineSVC(average=None).partial_fit(X[:9], THREE[:9], classes=["a", "b", "c", "d"])
    model.partial_fit(X[9:], THREE[9:])
    assert model.coef_.shape == (4, 5)
    assert model.decision_function(X).shape == (80, 4)
    assert set(model.predict(X)) <= set("abcd")
    for k, label in enumerate("abcd"):
        alone = OnlineSVC(average=None).partial_fit(X, label == THREE, classes=[False, True])
        np.testing.assert_array_equal(model.coef_[k], alone.coef_[0])
    np.testing.assert_array_equal(
        OnlineSVC(random_state=0).fit(X, THREE).decision_function(X),
        OnlineSVC(random_state=0)
        .fit(pd.DataFrame(X).to_numpy(), pd.Series(THREE))
        .decision_function(X),
    )


def test_frames_and_pipelines():
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(5)])
    model = OnlineSVC().partial_fit(frame, LABELS, classes=[-1, 1])
    assert list(model.feature_names_in_) == list(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(frame[frame.columns[::-1]], LABELS)
    pipeline = make_pipeline(StandardScaler(), OnlineSVC())
    search = GridSearchCV(pipeline, {"onlinesvc__lam": [1e-3, 1e-1]}, cv=3).fit(X, LABELS)
    assert 0.5 < search.best_score_ <= 1


def test_one_pass_comes_close_to_the_optimum():
    """On Adult, one pass and no second look; the error foretold is not below that on new rows."""
    data, y = gapsvm.datasets.load("a9a")
    online = OnlineSVC(batch_size=8)
    for first in range(0, data.shape[0], 4096):
        part = slice(first, first + 4096)
        online.partial_fit(data[part], y[part], classes=[-1, 1])
    assert online.n_samples_seen_ == data.shape[0]
    test, truth = gapsvm.datasets.load("a9a", split="test")
    best = LinearSVC(lam=1e-4).fit(data, y).score(test, truth)
    assert online.score(test, truth) > best - 0.01
    assert online.progressive_error_ > 1 - online.score(test, truth) - 0.01
    assert 5.5 < online.sigma2_ < 7  # 6.32
    assert online.beta_ == 1 + 7 * online.sigma2_ / online.max_norm_**2
