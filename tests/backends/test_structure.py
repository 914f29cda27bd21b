"""Sparse matrices whose indices leave them are refused by whatever reads them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from problems import matrix, problem, targets

from gapsvm import (
    SVC,
    SVR,
    ChainCRF,
    ChainProblem,
    ChainSVC,
    FeatureRows,
    LinearProblem,
    LinearSVC,
    LinearSVR,
    MulticlassProblem,
    OnlineSVC,
    OnlineSVR,
    RankingProblem,
    RankSVC,
    Sequences,
    get_kernel,
    get_loss,
    svm_path,
    write_svmlight,
)
from gapsvm.backends import get_backend
from gapsvm.backends.structure import check_structure
from gapsvm.models.linear import LinearModel
from gapsvm.problems.linear import Iterate
from gapsvm.problems.multiclass import MulticlassIterate
from gapsvm.rows.matrix import as_rows
from gapsvm.rows.spectral import sigma2

N, D = 40, 5
X = matrix(N, D)
Y = targets(X, "margin")


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


DAMAGE = {
    "index too large": lambda X: {"indices": changed(X.indices, 3, D)},
    "index far too large": lambda X: {"indices": changed(X.indices, 3, 2**31 - 1)},
    "index negative": lambda X: {"indices": changed(X.indices, -1, -1)},
    "index negative, 64 bits": lambda X: {"indices": changed(X.indices.astype(np.int64), 0, -7)},
    "index too large, 16 bits": lambda X: {"indices": changed(X.indices.astype(np.int16), 0, 99)},
    "index too large, swapped": lambda X: {"indices": changed(X.indices.astype(">i4"), 0, 99)},
    "indices that are no integers": lambda X: {"indices": X.indices.astype(float)},
    "indices too few": lambda X: {"indices": X.indices[:-1]},
    "values too few": lambda X: {"data": X.data[:-1]},
    "pointer too large": lambda X: {"indptr": changed(X.indptr, -1, 10**6)},
    "pointer that jumps": lambda X: {"indptr": changed(X.indptr, 5, 10**6)},
    "pointer beyond 32 bits": lambda X: {"indptr": changed(X.indptr.astype(np.int64), 5, 2**32)},
    "pointers that fall": lambda X: {"indptr": changed(X.indptr, 5, 0)},
    "pointer negative": lambda X: {"indptr": changed(X.indptr, 1, -4)},
    "pointers that start late": lambda X: {"indptr": changed(X.indptr, 0, 1)},
    "pointers too few": lambda X: {"indptr": X.indptr[:-1]},
    "pointers too many": lambda X: {"indptr": np.append(X.indptr, X.indptr[-1])},
    "no pointers": lambda X: {"indptr": X.indptr[:0]},
}


def damaged(case, layout="csr"):
    X = sp.csr_matrix(matrix(N, D)).asformat(layout)
    for name, array in DAMAGE[case](X).items():
        setattr(X, name, array)
    return X


CLASSES, NUMBERS = LinearSVC().fit(X, Y), LinearSVR(tol=0.1).fit(X, Y)
LOGISTIC = LinearSVC(loss="logistic").fit(X, Y)
SPARSE = LinearSVC().fit(X, Y).sparsify()
LABELS, QID, STARTS = np.arange(N) % 3, np.arange(N) // 8, np.arange(0, N + 1, 5)
MACHINE, RANKING = SVC().fit(X, Y), RankSVC().fit(X, LABELS, qid=QID)
CHAIN = ChainSVC(C=1e-2).fit(Sequences(X, STARTS), LABELS)
ONLINE, ONLINE_SVR = OnlineSVC().fit(X, Y), OnlineSVR().fit(X, Y)
DOORS = {
    "fit": lambda X: LinearSVC().fit(X, Y),
    "regression": lambda X: LinearSVR().fit(X, Y),
    "joint": lambda X: LinearSVC(multi_class="crammer_singer", fit_intercept=False).fit(X, Y),
    "predict": CLASSES.predict,
    "decision_function": CLASSES.decision_function,
    "score": lambda X: CLASSES.score(X, Y),
    "predict_proba": LOGISTIC.predict_proba,
    "sparse coefficients": SPARSE.predict,
    "predict a number": NUMBERS.predict,
    "online fit": lambda X: OnlineSVC().fit(X, Y),
    "partial_fit": lambda X: OnlineSVC().partial_fit(X, Y, classes=[-1, 1]),
    "online regression": lambda X: OnlineSVR().partial_fit(X, Y),
    "online predict": ONLINE.predict,
    "online predict a number": ONLINE_SVR.predict,
    "model": LinearModel(np.ones((1, D)), [0.0]).predict,
    "path": lambda X: svm_path(X, Y, n_lams=1),
    "problem": lambda X: LinearProblem(X, Y, get_loss("hinge"), 0.1),
    "multiclass": lambda X: MulticlassProblem(X, Y > 0, 2, "multinomial", 0.1),
    "spectral": lambda X: sigma2(X, get_backend()),
    "machine": lambda X: SVC().fit(X, Y),
    "linear machine": lambda X: SVC(kernel="linear").fit(X, Y),
    "machine of a function": lambda X: SVC(kernel=lambda A, B: (A @ B.T).toarray()).fit(X, Y),
    "machine for numbers": lambda X: SVR().fit(X, Y),
    "machine, predict": MACHINE.predict,
    "machine, decision_function": MACHINE.decision_function,
    "machine's model": MACHINE.as_model().predict,
    "kernel rows": lambda X: FeatureRows(X, get_kernel("rbf", gamma=0.1)),
    "ranking": lambda X: RankSVC().fit(X, LABELS, qid=QID),
    "ranking, predict": RANKING.predict,
    "ranking, score": lambda X: RANKING.score(X, LABELS, qid=QID),
    "ranking problem": lambda X: RankingProblem(X, LABELS, QID, 0.1),
    "chain": lambda X: ChainSVC().fit(Sequences(X, STARTS), LABELS),
    "chain, predict": lambda X: CHAIN.predict(Sequences(X, STARTS)),
    "chain, k best": lambda X: CHAIN.predict_k_best(Sequences(X, STARTS), 2),
    "random field": lambda X: ChainCRF().fit(Sequences(X, STARTS), LABELS),
    "chain problem": lambda X: ChainProblem(X, STARTS, LABELS, 3, 0.1),
}


@pytest.mark.parametrize("case", DAMAGE)
@pytest.mark.parametrize("door", DOORS)
def test_damaged_rows_are_refused(door, case):
    with pytest.raises(ValueError, match=r"not a valid CSR matrix|column index outside 0\.\.4"):
        DOORS[door](damaged(case))


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_rows_are_not_written(case, tmp_path):
    with pytest.raises(ValueError, match=r"ind|row"):
        write_svmlight(tmp_path / "rows", damaged(case), Y)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("layout", ["csc", "bsr"])
@pytest.mark.parametrize("case", ["index far too large", "index negative", "pointer that jumps"])
@pytest.mark.parametrize("door", ["fit", "predict", "partial_fit", "online predict", "model"])
def test_other_layouts(door, case, layout):
    """SciPy converts them without a look."""
    with pytest.raises(ValueError, match=r"not a valid|index outside 0\.\."):
        DOORS[door](damaged(case, layout))


@pytest.mark.parametrize("door", ["fit", "predict", "model"])
@pytest.mark.parametrize("axis", ["row", "col"])
@pytest.mark.parametrize("index", [-1, 10**6])
def test_coordinates(door, axis, index):
    bad = sp.coo_matrix(X)
    setattr(bad, axis, changed(getattr(bad, axis), 2, index))
    with pytest.raises(ValueError, match=r"(row|column) index outside 0\.\."):
        DOORS[door](bad)


def test_what_lists_are_converted_to():
    bad = sp.lil_matrix(X)
    bad.rows[0] = [7] * len(bad.rows[0])
    with pytest.raises(ValueError, match="column index outside"):
        CLASSES.predict(bad)


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
@pytest.mark.parametrize("shape", [(N, D), (N, 0), (0, D)])
def test_sound_ones_are_let_through(layout, shape):
    check_structure(sp.csr_matrix(X[: shape[0], : shape[1]]).asformat(layout))


def test_blocks_and_diagonals():
    check_structure(sp.bsr_matrix(np.ones((6, 8)), blocksize=(3, 2)))
    bad = sp.dia_matrix(np.eye(4))
    bad.offsets = np.arange(3)
    with pytest.raises(ValueError, match="not a valid DIA"):
        check_structure(bad)


def test_points_of_the_wrong_length_are_not_certified():
    p = problem("hinge", N, D)
    for w, alpha in ((np.zeros(3), np.zeros(N)), (np.zeros(D), np.zeros(N - 1))):
        for use in (lambda it: p.certify(it, get_backend()), p.kkt_residual):
            with pytest.raises(ValueError, match=r"(w|alpha) has shape"):
                use(Iterate(w, 0.0, alpha))
    joint = MulticlassProblem(X, Y > 0, 2, "multinomial", 0.1)
    good = np.zeros((D, 2)), np.zeros(2), np.full((N, 2), 0.5)
    for k in range(3):
        parts = [part[:-1] if j == k else part for j, part in enumerate(good)]
        with pytest.raises(ValueError, match=r"(W|bias|A) has shape"):
            joint.certify(MulticlassIterate(*parts), get_backend())


# -- copies of index arrays ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int16", "uint16", "uint32", "uint64", ">i4", ">i8", "<i4"])
def test_copies_of_indices_are_noted(dtype):
    rows = sp.csr_matrix(X)
    rows.indices, rows.indptr = rows.indices.astype(dtype), rows.indptr.astype(dtype)
    note = as_rows(rows).note
    assert LinearSVC().fit(rows, Y).copy_note_ == note
    if dtype == "<i4":
        assert note is None
    else:
        assert "X was copied once: indices from" in note
        assert "indptr from" in note
    np.testing.assert_array_equal(as_rows(rows).to_scipy().toarray(), X)
