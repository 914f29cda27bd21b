"""Model files beside LIBSVM's own programs (``pip install libsvm-official``), where they are."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from gapsvm import SVC, SVR, load_model, read_libsvm, write_libsvm

svmutil = pytest.importorskip("libsvm.svmutil")

X = np.round(np.random.default_rng(0).normal(size=(150, 5)), 4)
SCORES = X @ np.array([1.0, -2.0, 0.5, 0.3, 1.2])
TARGETS = {
    "two": np.where(SCORES > 0, 1.0, -1.0),
    "three": 1.0 + np.digitize(SCORES, [-1.0, 1.0]),
    "responses": np.round(SCORES, 3),
}
KERNELS = {
    "rbf": (2, {"gamma": 0.2}),
    "linear": (0, {}),
    "poly": (1, {"gamma": 0.3, "coef0": 1.0, "degree": 2}),
    "sigmoid": (3, {"gamma": 0.05, "coef0": 0.1}),
}


@pytest.fixture(autouse=True)
def quiet():
    """LIBSVM prints to the process's own output."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    yield
    os.dup2(kept, 1)
    os.close(kept)
    os.close(nowhere)


def theirs(path, y):
    """Labels or responses, and decision values, as svm-predict has them."""
    model = svmutil.svm_load_model(str(path))
    labels, _, values = svmutil.svm_predict(list(y), X.tolist(), model, "-q")
    return np.array(labels), np.array(values)


@pytest.mark.filterwarnings("ignore:the kernel matrix is not positive definite")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("target", TARGETS)
def test_what_we_write_svm_predict_reads(kernel, target, tmp_path):
    y, (_, numbers) = TARGETS[target], KERNELS[kernel]
    model = (SVR if target == "responses" else SVC)(kernel=kernel, **numbers).fit(X, y)
    write_libsvm(tmp_path / "m", model.as_model())
    labels, values = theirs(tmp_path / "m", y)
    np.testing.assert_allclose(labels, model.predict(X), atol=1e-8)
    if target == "two":  # of the first label that the file names
        signs = 1.0 if svmutil.svm_load_model(str(tmp_path / "m")).get_labels()[0] == 1 else -1.0
        np.testing.assert_allclose(
            signs * values.ravel(), model.decision_function(X), rtol=1e-8, atol=1e-8
        )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("target", TARGETS)
def test_what_svm_train_writes_we_read(kernel, target, tmp_path):
    y, (number, numbers) = TARGETS[target], KERNELS[kernel]
    options = f"-q -s {3 if target == 'responses' else 0} -t {number}"
    for name, value in numbers.items():
        options += f" -{ {'gamma': 'g', 'coef0': 'r', 'degree': 'd'}[name] } {value}"
    trained = svmutil.svm_train(list(y), X.tolist(), options)
    svmutil.svm_save_model(str(tmp_path / "m"), trained)
    labels, values = theirs(tmp_path / "m", y)
    model, estimator = read_libsvm(tmp_path / "m", n_features=5), load_model(tmp_path / "m")
    np.testing.assert_allclose(model.predict(X), labels, atol=1e-8)
    np.testing.assert_allclose(estimator.predict(X), labels, atol=1e-8)
    if target == "two":
        first = trained.get_labels()[0]
        signs = 1.0 if first == max(trained.get_labels()) else -1.0
        np.testing.assert_allclose(
            signs * estimator.decision_function(X), values.ravel(), atol=1e-8
        )
