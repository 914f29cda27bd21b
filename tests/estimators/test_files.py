"""Estimators as files: they come back fitted."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from gapsvm.estimators.files import load_model, save_model
from gapsvm.estimators.linear import LinearSVC, LinearSVR
from gapsvm.models.base import ModelFormatError
from gapsvm.models.files import read_model
from gapsvm.models.liblinear import write_liblinear
from gapsvm.models.linear import LinearModel
from gapsvm.models.native import write_native

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
BINARY = np.where(X[:, 0] + 0.3 * RNG.normal(size=60) > 0, 1, -1)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
NOT_STORED = {"dual_coef_", "history_"}


def fitted_attributes(estimator):
    return {n: v for n, v in vars(estimator).items() if n.endswith("_") and not n.startswith("_")}


def assert_equal_values(a, b, name):
    assert type(a) is type(b), name
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, name
        np.testing.assert_array_equal(a, b, err_msg=name)
    else:
        assert a == b, name


@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(),
        LinearSVC(loss="squared_hinge", lam=0.01, penalize_intercept=True, tol=1e-8),
        LinearSVC(loss="logistic", fit_intercept=False, method="sdca", random_state=3),
        LinearSVC(C=np.float64(0.3), max_iter=np.int64(50), class_weight={-1: 2.0, 1: 1.0}),
        LinearSVC(class_weight="balanced", time_limit=60),
    ],
)
def test_classifiers_round_trip(tmp_path, estimator):
    estimator.fit(X, BINARY)
    save_model(estimator, tmp_path / "model")
    back = load_model(tmp_path / "model")
    assert type(back) is LinearSVC
    assert back.get_params() == estimator.get_params()
    expected = fitted_attributes(estimator)
    found = fitted_attributes(back)
    assert found.keys() == expected.keys() - NOT_STORED
    for name, value in found.items():
        assert_equal_values(value, expected[name], name)
    np.testing.assert_array_equal(back.predict(X), estimator.predict(X))
    np.testing.assert_array_equal(back.decision_function(X), estimator.decision_function(X))


@pytest.mark.parametrize("loss", ["epsilon_insensitive(epsilon=0.1)", "huber(delta=2)"])
def test_regression_round_trips(tmp_path, loss):
    estimator = LinearSVR(loss=loss).fit(X, X[:, 0] * 2 + 1)
    save_model(estimator, tmp_path / "model")
    back = load_model(tmp_path / "model")
    assert type(back) is LinearSVR
    assert back.get_params() == estimator.get_params()
    for name, value in fitted_attributes(back).items():
        assert_equal_values(value, fitted_attributes(estimator)[name], name)
    np.testing.assert_array_equal(back.predict(X), estimator.predict(X))


@pytest.mark.parametrize(
    "labels",
    [
        THREE,
        THREE.astype(np.int8) - 1,
        THREE + 1.0,
        np.array(["ham", "späm", "tofu"])[THREE],
        np.array(["ham", "späm", "tofu"], dtype=object)[THREE],
        BINARY > 0,
    ],
)
def test_labels_of_every_kind(tmp_path, labels):
    estimator = LinearSVC().fit(X, labels)
    save_model(estimator, tmp_path / "model")
    back = load_model(tmp_path / "model")
    for name, value in fitted_attributes(back).items():
        assert_equal_values(value, fitted_attributes(estimator)[name], name)
    np.testing.assert_array_equal(back.predict(X), estimator.predict(X))


def test_feature_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "ä"])
    save_model(LinearSVC().fit(frame, BINARY), tmp_path / "model")
    back = load_model(tmp_path / "model")
    assert back.feature_names_in_.tolist() == ["a", "b", "c", "ä"]
    back.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        back.predict(frame.rename(columns={"a": "z"}))


def test_a_fit_that_ended_early(tmp_path):
    with pytest.warns(ConvergenceWarning):
        estimator = LinearSVC(method="sdca", max_iter=1, tol=1e-12).fit(X, BINARY)
    save_model(estimator, tmp_path / "model")
    back = load_model(tmp_path / "model")
    assert (back.converged_, back.status_) == (False, "MAX_PASSES")
    assert back.dual_gap_ == estimator.dual_gap_


def test_objects_among_the_parameters_get_their_defaults(tmp_path):
    estimator = LinearSVC(
        callbacks=[lambda record: None], random_state=np.random.RandomState(0), C=2.0
    ).fit(X, BINARY)
    save_model(estimator, tmp_path / "model")
    back = load_model(tmp_path / "model")
    assert (back.callbacks, back.random_state, back.C) == (None, None, 2.0)


def test_sparse_weights_and_fitting_on(tmp_path):
    estimator = LinearSVC(warm_start=True).fit(X, BINARY).sparsify()
    save_model(estimator, tmp_path / "model")
    back = load_model(tmp_path / "model")
    np.testing.assert_array_equal(back.coef_, estimator.coef_.toarray())
    back.fit(sp.csr_matrix(X), BINARY)
    assert back.converged_


def test_only_fitted_estimators_of_ours(tmp_path):
    class Derived(LinearSVC):
        pass

    with pytest.raises(NotFittedError):
        save_model(LinearSVC(), tmp_path / "model")
    for estimator in (BaseEstimator(), Derived(), object()):
        with pytest.raises(TypeError, match="LinearSVC, LinearSVR, RankSVC, SVC, SVR can be saved"):
            save_model(estimator, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


# -- models that no estimator wrote ----------------------------------------------------------------


def test_a_model_of_the_command_line(tmp_path):
    model = LinearModel(
        RNG.normal(size=(1, 4)),
        [0.5],
        ["ham", "spam"],
        loss="squared_hinge",
        lam=0.1,
        bias="penalized",
        primal=0.5,
        dual=0.4,
        method="sdca",
        passes=3.5,
        status="CONVERGED",
    )
    write_native(tmp_path / "model", model)
    back = load_model(tmp_path / "model")
    assert (back.loss, back.lam, back.penalize_intercept) == ("squared_hinge", 0.1, True)
    assert (back.n_iter_, back.converged_, back.method_) == (4, True, "sdca")
    assert back.dual_gap_ == 0.5 - 0.4
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


@pytest.mark.parametrize("classes", [[-1, 1], [1, -1], [3, 1, 2], None])
def test_a_model_of_liblinear(tmp_path, classes):
    k = 3 if classes and len(classes) == 3 else 1
    loss = "epsilon_insensitive" if classes is None else "hinge"
    model = LinearModel(RNG.normal(size=(k, 4)), RNG.normal(size=k), classes, loss=loss)
    write_liblinear(tmp_path / "model", model)
    back = load_model(tmp_path / "model")
    np.testing.assert_allclose(back.predict(X), model.predict(X))
    assert np.isnan(back.dual_gap_)
    assert not back.converged_
    if classes:
        assert back.classes_.tolist() == sorted(classes)


@pytest.mark.parametrize(
    ("described", "classes"),
    [
        ({"class": "Popen", "parameters": {}, "methods": ["x"], "copy_note": None}, [0, 1]),
        (
            {"class": "LinearSVC", "parameters": {"x": 1}, "methods": ["x"], "copy_note": None},
            [0, 1],
        ),
        ({"class": "LinearSVC", "parameters": 5, "methods": ["x"], "copy_note": None}, [0, 1]),
        ({"class": "LinearSVC", "parameters": {}, "methods": 5, "copy_note": None}, [0, 1]),
        ({"class": "LinearSVC", "parameters": {}, "methods": [], "copy_note": None}, [0, 1]),
        ({"class": "LinearSVC", "parameters": {}, "methods": ["x"]}, [0, 1]),
        ({"class": "LinearSVC", "parameters": {}, "methods": ["x"], "copy_note": None}, None),
        ({"class": "LinearSVR", "parameters": {}, "methods": ["x"], "copy_note": None}, [0, 1]),
        ({}, [0, 1]),
        (5, [0, 1]),
        (None, [0]),
    ],
)
def test_descriptions_that_make_no_sense(tmp_path, described, classes):
    metadata = {"estimator": described}
    model = LinearModel(np.ones((1, 4)), [0.5], classes, loss="hinge", metadata=metadata)
    write_native(tmp_path / "model", model)
    assert read_model(tmp_path / "model").metadata == metadata
    with pytest.raises(ModelFormatError, match="does not describe an estimator"):
        load_model(tmp_path / "model")
