"""scikit-learn's contract: its own checks, and the tools that people put around an estimator."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from problems import matrix, targets
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapsvm import LinearSVC, LinearSVR

X = matrix(80, 5)
LABELS, RESPONSE = targets(X, "margin"), targets(X, "response")
WEIGHT = np.random.default_rng(0).uniform(0.5, 2, 80)
BOTH = pytest.mark.parametrize(
    ("model", "y"), [(LinearSVC(), LABELS), (LinearSVR(), RESPONSE)], ids=["svc", "svr"]
)


@parametrize_with_checks(
    [
        LinearSVC(),
        LinearSVR(),
        LinearSVC(loss="squared_hinge", penalize_intercept=True),
        LinearSVR(loss="squared_epsilon_insensitive", fit_intercept=False),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    """No expected failures."""
    check(estimator)


# parameter: fixed others, the value it is changed to, what must then differ (or the error)
LOOSE = {"method": "sdca", "tol": 0.3, "random_state": 0}
SHARED = {
    "dual": ({"loss": "smooth", "tol": 0.9, "C": 1e-3}, False, "method_"),
    "method": ({}, "sdca", "method_"),
    "tol": ({"method": "sdca", "random_state": 0}, 1e-7, "dual_gap_"),
    "C": ({}, 0.01, "coef_"),
    "lam": ({}, 1.0, "coef_"),
    "fit_intercept": ({}, False, "intercept_"),
    "penalize_intercept": ({"C": 0.01}, True, "intercept_"),
    "intercept_scaling": ({"penalize_intercept": True}, 7.0, "intercept_"),
    "max_iter": ({"method": "sdca", "tol": 1e-9, "random_state": 0}, 2, "n_iter_"),
    "time_limit": ({"method": "sdca", "tol": 1e-9, "random_state": 0}, 0.0, "status_"),
    "warm_start": ({"method": "sdca", "tol": 1e-6, "random_state": 0}, True, "n_iter_"),
    "random_state": (LOOSE, 1, "coef_"),
    "verbose": ({}, 1, "stderr"),
    "callbacks": (LOOSE, [lambda record: True], "status_"),
    "n_jobs": ({"method": "sdca", "tol": 1e-6}, 2, "threads"),
}
ACTS = {
    LinearSVC: {
        **SHARED,
        "penalty": ({}, "l1", "error"),
        "loss": ({}, "squared_hinge", "coef_"),
        "multi_class": ({"penalize_intercept": True}, "crammer_singer", "coef_"),
        "class_weight": ({}, {-1.0: 1.0, 1.0: 20.0}, "coef_"),
    },
    LinearSVR: {
        **SHARED,
        "loss": ({}, "huber", "coef_"),
        "epsilon": ({}, 0.5, "coef_"),
        "n_jobs": ({}, 0, "error"),
    },
}
CASES = [(model, name) for model in ACTS for name in inspect.signature(model).parameters]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("model", "name"), CASES)
def test_every_parameter_acts(model, name, capsys):
    """A parameter without a row in the table above fails here."""
    others, value, what = ACTS[model][name]
    default = inspect.signature(model).parameters[name].default
    assert value != default

    def observed(setting):
        return observe(model, {**others, name: setting}, what, capsys)

    before, after = observed(others.get(name, default)), observed(value)
    assert not np.array_equal(before, after)


def observe(model, parameters, what, capsys):
    """The fitted attribute, the text on stderr, the threads of the callbacks, or the error."""
    import threading

    names, y = set(), LABELS if model is LinearSVC else RESPONSE
    data = X
    if parameters.get("loss") == "smooth":  # a loss and a size where dual and primal differ
        parameters = {**parameters, "loss": "logistic" if model is LinearSVC else "huber"}
        data, y = np.tile(X, (40, 40)), np.tile(y, 40)
    if what == "threads":
        parameters["callbacks"] = lambda record: names.add(threading.current_thread().name)
        y = np.arange(len(X)) % 3 if model is LinearSVC else y
    estimator = model(**parameters)
    try:
        estimator.fit(data, y)
        if what == "n_iter_":
            estimator.fit(data, y)
    except ValueError as error:
        return str(error)
    if what == "threads":
        return sorted(name for name in names if name != "MainThread") != []
    if what == "stderr":
        return capsys.readouterr().err
    return "no error" if what == "error" else getattr(estimator, what)


@BOTH
def test_fit_changes_no_parameter(model, y):
    model = clone(model).set_params(callbacks=[lambda record: None], random_state=3)
    before = {name: repr(value) for name, value in model.get_params().items()}
    model.fit(X, y, sample_weight=WEIGHT)
    assert {name: repr(value) for name, value in model.get_params().items()} == before


@BOTH
@pytest.mark.parametrize(
    "copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy, copy.copy]
)
def test_copies_predict_the_same(model, y, copied):
    fitted = clone(model).fit(X, y)
    other = copied(fitted)
    np.testing.assert_array_equal(other.predict(X), fitted.predict(X))
    assert other.dual_gap_ == fitted.dual_gap_
    assert other.history_ == fitted.history_
    assert not hasattr(clone(fitted), "coef_")


@BOTH
def test_fitted_attributes(model, y):
    fitted = clone(model).fit(X, y)
    for name in (
        *("coef_", "intercept_", "n_features_in_", "dual_coef_", "dual_gap_", "converged_"),
        *("primal_objective_", "dual_objective_", "status_", "n_iter_", "history_", "method_"),
    ):
        assert hasattr(fitted, name), name
    assert fitted.converged_ is True
    assert fitted.status_ == "CONVERGED"
    assert isinstance(fitted.dual_gap_, float)
    assert fitted.primal_objective_ - fitted.dual_objective_ == fitted.dual_gap_
    assert fitted.history_[-1].gap == fitted.dual_gap_
    assert fitted.n_features_in_ == 5
    assert not hasattr(fitted, "feature_names_in_")


@BOTH
def test_unfitted_and_wrong_width(model, y):
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    fitted = clone(model).fit(X, y)
    with pytest.raises(ValueError, match="expecting 5 features"):
        fitted.predict(X[:, :3])


@BOTH
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames(model, y, frame):
    """Feature names are kept, checked, and give the same model."""
    names = [f"f{j}" for j in range(5)]
    data = frame({name: X[:, j] for j, name in enumerate(names)})
    fitted = clone(model).fit(data, y)
    assert list(fitted.feature_names_in_) == names
    np.testing.assert_allclose(fitted.coef_, clone(model).fit(X, y).coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fitted.predict(data), clone(model).fit(X, y).predict(X), rtol=1e-8)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(data[names[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(X)


@BOTH
def test_pipelines_and_searches(model, y):
    """Pipeline, GridSearchCV and cross_val_score; threads of theirs and of ours."""
    pipeline = make_pipeline(StandardScaler(), clone(model))
    step = type(model).__name__.lower()
    search = GridSearchCV(pipeline, {f"{step}__C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert set(search.best_params_) == {f"{step}__C"}
    scores = cross_val_score(clone(model), X, y, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    from joblib import parallel_config

    with parallel_config("threading"):
        np.testing.assert_array_equal(cross_val_score(clone(model), X, y, cv=3, n_jobs=2), scores)


def test_worker_processes():
    """joblib's loky processes: the same scores, no deadlock."""
    model = LinearSVC(method="sdca", random_state=0)
    alone = cross_val_score(model, X, LABELS, cv=2)
    np.testing.assert_array_equal(cross_val_score(model, X, LABELS, cv=2, n_jobs=2), alone)


def test_calibration():
    calibrated = CalibratedClassifierCV(LinearSVC(), cv=3).fit(X, LABELS)
    p = calibrated.predict_proba(X)
    np.testing.assert_allclose(p.sum(1), 1)


@BOTH
def test_metadata_routing(model, y):
    """A weight that is asked for arrives; one that nobody asked for is refused."""
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(clone(model).set_fit_request(sample_weight=True))
        routed = pipeline.fit(X, y, sample_weight=WEIGHT)[-1]
        direct = clone(model).fit(X, y, sample_weight=WEIGHT)
        np.testing.assert_array_equal(routed.coef_, direct.coef_)
        assert not np.allclose(direct.coef_, clone(model).fit(X, y).coef_)
        scores = cross_val_score(
            clone(model).set_fit_request(sample_weight=True).set_score_request(sample_weight=True),
            *(X, y),
            params={"sample_weight": WEIGHT},
            cv=3,
        )
        assert np.isfinite(scores).all()


@BOTH
def test_sparsify_and_densify(model, y):
    fitted = clone(model).fit(X, y)
    want = fitted.predict(X)
    np.testing.assert_allclose(fitted.sparsify().predict(X), want)
    np.testing.assert_allclose(fitted.densify().predict(X), want)
    assert isinstance(fitted.coef_, np.ndarray)


def test_svr_sparsify_keeps_its_shape():
    fitted = LinearSVR().fit(X, RESPONSE)
    assert fitted.sparsify().densify().coef_.shape == (5,)


LABEL_KINDS = {
    "strings": lambda b: np.where(b, "yes", "no"),
    "objects": lambda b: np.where(b, "yes", "no").astype(object),
    "bools": lambda b: b,
    "negative ints": lambda b: np.where(b, -3, -7),
    "unsigned": lambda b: np.where(b, 200, 100).astype(np.uint8),
    "floats": lambda b: np.where(b, 2.0, -1.0),
    "list": lambda b: [int(v) for v in b],
    "list of strings": lambda b: ["b" if v else "a" for v in b],
    "series": lambda b: pd.Series(np.where(b, "b", "a")),
    "categorical": lambda b: pd.Series(np.where(b, "b", "a"), dtype="category"),
    "pd.Categorical": lambda b: pd.Categorical(np.where(b, "b", "a")),
    "polars": lambda b: pl.Series(["b" if v else "a" for v in b]),
    "column": lambda b: np.where(b, 1, 0),
}


@pytest.mark.parametrize("kind", LABEL_KINDS)
@pytest.mark.parametrize("classes", [2, 3])
def test_labels_of_any_kind(kind, classes):
    """Predictions come back in the labels' own kind; the model does not depend on it."""
    y = LABEL_KINDS[kind](LABELS > 0)
    if classes == 3:
        if kind in ("bools", "column"):
            pytest.skip("two values only")
        y = np.array(y)
        other = {"U": "zz", "O": "zz", "i": 90, "u": 250, "f": 9.0}[y.dtype.kind]
        y = np.where(np.arange(80) % 5 == 0, other, y)
    fitted = LinearSVC().fit(X, y)
    values = np.asarray(y)
    np.testing.assert_array_equal(fitted.classes_, np.unique(values))
    assert set(fitted.predict(X)) <= set(fitted.classes_)
    assert fitted.classes_.dtype.kind == values.dtype.kind
    if classes == 2:
        np.testing.assert_allclose(fitted.coef_, LinearSVC().fit(X, LABELS).coef_, atol=1e-12)
    else:
        assert fitted.coef_.shape == (3, 5)
        assert fitted.decision_function(X).shape == (80, 3)
        assert fitted.dual_gaps_.shape == (3,)
        assert fitted.dual_gap_ == fitted.dual_gaps_.max()
        assert len(fitted.history_) == 3


@pytest.mark.parametrize("pair", [(0.5, 1.5), (0.5, 1.0), (1.0, 1.5)])
def test_fractions_are_not_labels(pair):
    """As in scikit-learn: a continuous target is a mistake, whichever label is the fraction."""
    with pytest.raises(ValueError, match="Unknown label type"):
        LinearSVC().fit(X, np.where(LABELS > 0, *pair))


def test_a_column_of_labels_warns():
    with pytest.warns(sklearn.exceptions.DataConversionWarning, match="column-vector"):
        LinearSVC().fit(X, LABELS[:, None])


@pytest.mark.skipif(not hasattr(LinearSVC, "set_callbacks"), reason="scikit-learn before 1.9")
def test_scikit_learns_callbacks():
    """Its ScoringMonitor sees every evaluation of the gap."""
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    model = LinearSVC(method="sdca", tol=1e-6, random_state=0).set_callbacks(monitor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, LABELS)
    assert model.converged_
    np.testing.assert_array_equal(
        model.coef_, LinearSVC(method="sdca", tol=1e-6, random_state=0).fit(X, LABELS).coef_
    )
