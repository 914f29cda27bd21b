"""SVC and SVR as files of gapsvm: they come back fitted, and nothing unsound comes in."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from problems import matrix, targets

from gapsvm import SVC, SVR, load_model, save_model, write_libsvm
from gapsvm.io.tensors import read_tensors, write_tensors
from gapsvm.models.base import ModelFormatError
from gapsvm.models.files import read_any_model, read_model
from gapsvm.models.kernel_native import write_kernel_native

X = matrix(60, 4)
X[:, 3] = X[::-1, 0]  # LIBSVM's files do not tell of columns of zeros
TWO, RESPONSE, THREE = targets(X, "margin"), targets(X, "response"), np.arange(60) % 3
NOT_STORED = {"history_"}


def fitted_attributes(estimator):
    return {n: v for n, v in vars(estimator).items() if n.endswith("_") and not n.startswith("_")}


def plain(value):
    return value.toarray() if sp.issparse(value) else value


def assert_same(back, estimator):
    assert type(back) is type(estimator)
    assert back.get_params() == estimator.get_params()
    expected, found = fitted_attributes(estimator), fitted_attributes(back)
    assert found.keys() == expected.keys() - NOT_STORED
    for name, value in found.items():
        assert type(value) is type(expected[name]), name
        np.testing.assert_array_equal(plain(value), plain(expected[name]), err_msg=name)
    np.testing.assert_array_equal(back.predict(X), estimator.predict(X))


ESTIMATORS = {
    "two": (SVC(C=np.float64(2.0), gamma=0.3, class_weight={-1: 2.0}), TWO),
    "three": (SVC(kernel="poly", coef0=1.0, degree=2), THREE),
    "ties": (SVC(kernel="laplacian(gamma=0.2)", break_ties=True), THREE),
    "rest": (SVC(multi_class="ovr", loss="squared_hinge", fit_intercept=False), THREE),
    "texts": (SVC(kernel="linear", class_weight="balanced"), np.array(["b", "ä", "c"])[THREE]),
    "objects": (SVC(), np.array(["b", "ä", "c"], dtype=object)[THREE]),
    "truth": (SVC(lam=0.01, loss="logistic"), TWO > 0),
    "response": (SVR(kernel="sigmoid", gamma=0.01, epsilon=0.2), RESPONSE),
    "huber": (SVR(loss="huber", gamma="auto"), RESPONSE),
}


@pytest.mark.filterwarnings("ignore:the kernel matrix is not positive definite")
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csr_array, np.float32])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_they_come_back_as_they_were(tmp_path, name, make):
    estimator, y = ESTIMATORS[name]
    estimator.fit(make(X), y)
    save_model(estimator, tmp_path / "model")
    back = load_model(tmp_path / "model")
    assert_same(back, estimator)
    if isinstance(back, SVC):
        np.testing.assert_array_equal(back.decision_function(X), estimator.decision_function(X))
    back.set_params(warm_start=True).fit(X, y)


def test_feature_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "ä"])
    save_model(SVC().fit(frame, TWO), tmp_path / "model")
    back = load_model(tmp_path / "model")
    assert back.feature_names_in_.tolist() == ["a", "b", "c", "ä"]
    with pytest.raises(ValueError, match="feature names"):
        back.predict(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize("y", [TWO.astype(int), THREE, RESPONSE], ids=["two", "three", "response"])
def test_models_that_no_estimator_wrote(tmp_path, y):
    """Of LIBSVM, whose labels come in any order, and of the command line."""
    estimator = (SVR if y is RESPONSE else SVC)(gamma=0.3).fit(X, y)
    write_libsvm(tmp_path / "libsvm", estimator.as_model())
    write_kernel_native(tmp_path / "native", estimator.as_model())
    for name in ("libsvm", "native"):
        back = load_model(tmp_path / name)
        np.testing.assert_allclose(back.predict(X), estimator.predict(X), rtol=1e-12)
        np.testing.assert_array_equal(back.n_features_in_, 4)
        assert np.isnan(back.dual_gap_) == (name == "libsvm")
        if y is not RESPONSE:
            np.testing.assert_allclose(
                back.decision_function(X), estimator.decision_function(X), rtol=1e-9
            )


@pytest.mark.parametrize("order", [[2, 0, 1], [1, 2, 0], [2, 1, 0]])
def test_classes_in_any_order(tmp_path, order):
    """A file with its classes permuted is the model of labels that are permuted."""
    permuted = np.array(order)[THREE]
    write_libsvm(tmp_path / "m", SVC(gamma=0.3).fit(X, THREE).as_model())
    text = (tmp_path / "m").read_text()
    (tmp_path / "m").write_text(text.replace("label 0 1 2", f"label {' '.join(map(str, order))}"))
    own = SVC(gamma=0.3, decision_function_shape="ovo").fit(X, permuted)
    back = load_model(tmp_path / "m").set_params(decision_function_shape="ovo")
    assert back.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(back.decision_function(X), own.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(back.predict(X), own.predict(X))
    read = read_any_model(tmp_path / "m")
    np.testing.assert_array_equal(read.predict(X), own.predict(X))


def test_what_cannot_be_saved(tmp_path):
    for kernel, rows in (("precomputed", X @ X.T), (lambda A, B: A @ B.T, X)):
        with pytest.raises(ValueError, match="cannot stand in a model"):
            save_model(SVC(kernel=kernel).fit(rows, TWO), tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_linear_model_is_asked_for(tmp_path):
    save_model(SVC().fit(X, TWO), tmp_path / "model")
    with pytest.raises(ModelFormatError, match="kernel machine, not a linear model"):
        read_model(tmp_path / "model")


def changed(name, value):
    def change(arrays, fields):
        arrays[name] = value(arrays[name]) if name in arrays else value(None)

    return change


def said(name, value):
    def change(arrays, fields):
        fields[name] = value

    return change


DAMAGED = {
    "short coef": (changed("coef", lambda a: a[:, :-1]), "coef has shape"),
    "flat coef": (changed("coef", np.ravel), "two dimensions"),
    "nan": (changed("intercept", lambda a: a * np.nan), "NaN or infinity"),
    "intercepts": (changed("intercept", lambda a: np.append(a, 0.0)), "intercepts for"),
    "single coef": (changed("coef", np.float32), "coef must be float64"),
    "more": (changed("other", lambda a: np.zeros(3)), "unknown arrays"),
    "columns": (changed("vectors.indices", lambda a: a + 4), "column"),
    "pointers": (changed("vectors.indptr", lambda a: a[::-1].copy()), "fit each other"),
    "values": (changed("vectors.data", lambda a: a * np.inf), "vectors contains"),
    "counts": (changed("counts", lambda a: np.array([1, 2], dtype=np.int64)), "counts does not"),
    "kernel": (said("kernel", {"name": "magic"}), "describes no kernel"),
    "gamma": (said("kernel", {"name": "rbf", "gamma": "scale"}), "describes no kernel"),
    "field": (said("extra", 1), "unknown fields"),
    "width": (said("n_features", -1), "fit each other"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_unsound_files_are_refused(tmp_path, case):
    change, message = DAMAGED[case]
    path = tmp_path / "model"
    save_model(SVC(gamma=0.3).fit(sp.csr_matrix(X), THREE), path)
    arrays, texts = read_tensors(path)
    fields = json.loads(texts["model"])
    change(arrays, fields)
    texts = {"format": texts["format"], "format_version": "1", "model": json.dumps(fields)}
    write_tensors(path, arrays, texts)
    with pytest.raises(ModelFormatError, match=message):
        load_model(path)
