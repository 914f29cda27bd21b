"""Kernel machines as LIBSVM's files: read back equal, LIBSVM's by the format's own definition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from problems import matrix, targets
from sklearn import svm

from gapsvm import SVC, SVR, read_libsvm, write_libsvm
from gapsvm.models.base import ModelFormatError

X = matrix(80, 5)
LABELS, RESPONSE, THREE = targets(X, "margin"), targets(X, "response"), np.arange(80) % 3
KERNELS = {
    "rbf": {"gamma": 0.3},
    "poly": {"gamma": 0.3, "degree": 2, "coef0": 1.0},
    "sigmoid": {"gamma": 0.01, "coef0": -0.5},
    "linear": {},
}


@pytest.mark.filterwarnings("ignore:the kernel matrix is not positive definite")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("y", [LABELS, THREE, RESPONSE], ids=["two", "three", "response"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_what_was_written_predicts_the_same(tmp_path, make, y, kernel):
    estimator = SVR if y is RESPONSE else SVC
    data = make(np.where(np.abs(X) < 0.3, 0.0, X))
    model = estimator(kernel=kernel, **KERNELS[kernel]).fit(data, y)
    write_libsvm(tmp_path / "m", model.as_model())
    read = read_libsvm(tmp_path / "m", n_features=5)
    np.testing.assert_array_equal(read.predict(data), model.predict(data))
    if y is LABELS:
        np.testing.assert_allclose(read.functions(data)[:, 0], model.decision_function(data))
    np.testing.assert_array_equal(model.as_model().predict(data), model.predict(data))


def by_definition(text, X, gamma):
    """What svm-predict computes, from the file alone: a value for each pair of classes."""
    head, body = text.split("SV\n")
    fields = {line.split()[0]: line.split()[1:] for line in head.splitlines()}
    counts, rho = list(map(int, fields["nr_sv"])), list(map(float, fields["rho"]))
    coef, K, k = [], [], len(counts)
    for line in body.splitlines():
        words = line.split()
        coef.append(list(map(float, words[: k - 1])))
        vector = np.zeros(X.shape[1])
        for word in words[k - 1 :]:
            place, value = word.split(":")
            vector[int(place) - 1] = float(value)
        K.append(np.exp(-gamma * ((X - vector) ** 2).sum(axis=1)))
    ends, coef, K = np.cumsum([0, *counts]), np.array(coef), np.array(K)
    values = []
    for i in range(k):
        for j in range(i + 1, k):
            mine, others = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            values.append(coef[mine, j - 1] @ K[mine] + coef[others, i] @ K[others] - rho.pop(0))
    return list(map(int, fields["label"])), np.array(values).T


@pytest.mark.parametrize("y", [np.where(LABELS > 0, 7, -3), THREE], ids=["two", "three"])
def test_the_file_means_what_libsvm_means(tmp_path, y):
    model = SVC(gamma=0.3, decision_function_shape="ovo", tol=1e-8).fit(X, y)
    write_libsvm(tmp_path / "m", model.as_model())
    labels, values = by_definition((tmp_path / "m").read_text(), X, 0.3)
    want = model.decision_function(X).reshape(len(X), -1)
    if len(labels) == 2:
        assert labels == [7, -3]
        np.testing.assert_array_equal(np.where(values[:, 0] > 0, 7, -3), model.predict(X))
    np.testing.assert_allclose(values, want, atol=1e-12)
    theirs = svm.SVC(gamma=0.3, decision_function_shape="ovo", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(values, theirs.decision_function(X).reshape(len(X), -1), atol=1e-5)


SOUND = "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.1\nlabel 1 -1\n"
SOUND += "nr_sv 1 1\nSV\n0.5 1:1 3:2 \n-0.5 2:1 \n"
DAMAGED = {
    "no SV": (SOUND.split("SV\n")[0], "'SV'.* missing"),
    "cut": (SOUND[:-10], "not in order|truncated|integer|number"),
    "one short": (SOUND.replace("-0.5 2:1 \n", ""), "truncated: it has 1 of its 2"),
    "more": (SOUND + "0.1 1:1\n", "something follows"),
    "huge": (SOUND.replace("total_sv 2", "total_sv 2000000000"), "too short"),
    "order": (SOUND.replace("1:1 3:2", "3:1 1:2"), "not in order"),
    "zero": (SOUND.replace("1:1 3:2", "0:1 1:2"), "not in order"),
    "nan": (SOUND.replace("1:1", "1:nan"), "not a finite number"),
    "kernel": (SOUND.replace("rbf", "precomputed"), "kernel_type 'precomputed'"),
    "gamma": (SOUND.replace("gamma 0.5\n", ""), "gamma is missing"),
    "one class": (SOUND.replace("c_svc", "one_class"), "svm_type 'one_class'"),
    "labels": (SOUND.replace("label 1 -1", "label 1"), "label and nr_sv"),
    "rho": (SOUND.replace("rho 0.1", "rho 0.1 0.2"), "rho has 2 values"),
    "twice": ("gamma 1\n" + SOUND, "gamma is there twice"),
    "binary": ("\x00\x01" * 50 + "\n" + SOUND, "not a field"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files_are_refused_with_their_name(tmp_path, case):
    text, message = DAMAGED[case]
    (tmp_path / "sound").write_text(SOUND)
    assert read_libsvm(tmp_path / "sound").n_features == 3
    (tmp_path / "bad").write_text(text)
    with pytest.raises(ModelFormatError, match=f"bad is not a sound LIBSVM model: .*({message})"):
        read_libsvm(tmp_path / "bad")


def test_what_has_no_place_in_a_file_is_refused(tmp_path):
    def refused(model, message):
        with pytest.raises(ValueError, match=message):
            write_libsvm(tmp_path / "m", model.as_model())
        assert not (tmp_path / "m").exists()

    refused(SVC(kernel="laplacian").fit(X, LABELS), "no kernel Laplacian")
    refused(SVC(multi_class="ovr").fit(X, THREE), "against all others")
    refused(SVC().fit(X, np.where(LABELS > 0, "a", "b")), "integers, not texts")
    refused(SVC().fit(X, np.where(LABELS > 0, 2**40, 0)), "32 bits")
    refused(SVC(kernel="precomputed").fit(X @ X.T, LABELS), "cannot stand in a model")
