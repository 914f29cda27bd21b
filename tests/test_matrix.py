"""Data without copies: what kernels read is what the user holds, and it stays as it was."""

from __future__ import annotations

import hashlib
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from problems import matrix, targets

from gapsvm import (
    SDCA,
    InteriorPoint,
    LinearProblem,
    LinearSVC,
    LinearSVR,
    Pegasos,
    get_loss,
    solve,
)
from gapsvm.backends import get_backend
from gapsvm.rows.matrix import Rows, as_rows, checked_rows
from gapsvm.types.matrices import CSR

N, D = 60, 6
Y = targets(matrix(N, D), "margin")


def frozen(X):
    for array in arrays(X):
        array.flags.writeable = False
    return X


def arrays(X):
    if not sp.issparse(X):
        return (X,)
    return (X.data, X.row, X.col) if X.format == "coo" else (X.data, X.indices, X.indptr)


def digest(X):
    return [hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest() for a in arrays(X)]


def int64(X):
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


ZERO_COPY = {
    "dense f64": lambda: matrix(N, D),
    "dense f32": lambda: matrix(N, D, dtype=np.float32),
    "csr f64 int32": lambda: matrix(N, D, layout="csr"),
    "csr f32 int32": lambda: matrix(N, D, layout="csr", dtype=np.float32),
    "csr f64 int64": lambda: int64(matrix(N, D, layout="csr")),
    "csr f32 int64": lambda: int64(matrix(N, D, layout="csr", dtype=np.float32)),
    "csr array": lambda: sp.csr_array(matrix(N, D)),
}
COPIED = {
    "F order": (lambda: np.asfortranarray(matrix(N, D)), "not in C order"),
    "every other column": (lambda: matrix(N, 2 * D)[:, ::2], "not in C order"),
    "integers": (lambda: matrix(N, D).round().astype(int), "int64 to float64"),
    "float16": (lambda: matrix(N, D).astype(np.float16), "float16 to float64"),
    "big endian": (lambda: matrix(N, D).astype(">f8"), "to float64"),
    "csc": (lambda: sp.csc_matrix(matrix(N, D)), "csc to csr"),
    "coo": (lambda: sp.coo_matrix(matrix(N, D)), "coo to csr"),
    "csr of integers": (lambda: sp.csr_matrix(matrix(N, D).round().astype(int)), "int64 to float"),
}


@pytest.mark.parametrize("kind", ZERO_COPY)
def test_views_share_memory(kind):
    X = frozen(ZERO_COPY[kind]())
    rows = checked_rows(X, get_backend())
    assert rows.note is None
    for mine, theirs in zip(rows.view, arrays(X)):
        assert np.shares_memory(mine, theirs)
        assert mine.itemsize == theirs.itemsize
        assert not mine.flags.writeable
    np.testing.assert_array_equal(
        rows.to_scipy().toarray() if sp.issparse(X) else rows.to_scipy(),
        X.toarray() if sp.issparse(X) else X,
    )


@pytest.mark.parametrize("kind", COPIED)
def test_copies_are_noted(kind):
    make, note = COPIED[kind]
    X = make()
    rows = checked_rows(X, get_backend())
    assert "X was copied once" in rows.note
    assert note in rows.note
    dense = X.toarray() if sp.issparse(X) else X
    got = rows.to_scipy()
    np.testing.assert_allclose(got.toarray() if sp.issparse(got) else got, dense)


@pytest.mark.parametrize("model", [LinearSVC, LinearSVR])
@pytest.mark.parametrize("kind", [*ZERO_COPY, *COPIED])
def test_estimators_say_what_was_copied(kind, model):
    """``copy_note_`` is None exactly where X was used as it is."""
    X = ZERO_COPY[kind]() if kind in ZERO_COPY else COPIED[kind][0]()
    note = model().fit(X, Y).copy_note_
    if kind in ZERO_COPY:
        assert note is None
    else:
        assert note is not None
        assert "X was copied once" in note


@pytest.mark.parametrize("method", ["sdca", "interior", "pegasos"])
@pytest.mark.parametrize("kind", [*ZERO_COPY, *COPIED])
def test_x_is_byte_unchanged(kind, method):
    """Read-only or not, X after a fit and a prediction is X before."""
    make = ZERO_COPY[kind] if kind in ZERO_COPY else COPIED[kind][0]
    for X in (make(), frozen(make())):
        before, flags = digest(X), [a.flags.writeable for a in arrays(X)]
        LinearSVC(method=method, tol=0.5).fit(X, Y).decision_function(X)
        assert digest(X) == before
        assert flags == [a.flags.writeable for a in arrays(X)]


@pytest.mark.parametrize("solver", [SDCA(), InteriorPoint(), Pegasos()], ids=["sdca", "ip", "peg"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_int64_equals_int32_bit_for_bit(dtype, solver):
    X = matrix(N, D, layout="csr", dtype=dtype)
    a, b = (
        solve(LinearProblem(A, Y, get_loss("hinge"), 0.01), solver, gap=1e-9, max_passes=12)
        for A in (X, int64(X))
    )
    np.testing.assert_array_equal(a.solution.w, b.solution.w)
    np.testing.assert_array_equal(a.solution.alpha, b.solution.alpha)


def unsorted(X):
    X = X.copy()
    for i in range(X.shape[0]):
        inside = slice(X.indptr[i], X.indptr[i + 1])
        X.indices[inside], X.data[inside] = X.indices[inside][::-1], X.data[inside][::-1]
    X.has_sorted_indices = False
    return X


def with_duplicates(X):
    """Every value as two halves of itself in the same place."""
    indptr, indices, data = X.indptr * 2, np.repeat(X.indices, 2), np.repeat(X.data / 2, 2)
    return sp.csr_matrix((data, indices, indptr), X.shape)


def with_explicit_zeros(X):
    dense = X.toarray()
    indices = np.tile(np.arange(X.shape[1]), X.shape[0])
    indptr = np.arange(0, dense.size + 1, X.shape[1])
    return sp.csr_matrix((dense.ravel(), indices, indptr), X.shape)


UNTIDY = {"unsorted": unsorted, "duplicates": with_duplicates, "zeros": with_explicit_zeros}


@pytest.mark.parametrize("method", ["sdca", "interior", "pegasos"])
@pytest.mark.parametrize("how", UNTIDY)
def test_untidy_csr_gives_the_same_model(how, method):
    X = matrix(N, D, layout="csr")
    untidy = UNTIDY[how](X)
    before = digest(untidy)
    a, b = (LinearSVC(method=method, tol=0.1, random_state=0).fit(A, Y) for A in (X, untidy))
    assert digest(untidy) == before
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=1e-9, atol=1e-12)
    if how != "zeros":
        assert "unsorted or duplicate indices" in b.copy_note_


def corrupt(name, change):
    X = matrix(N, D, layout="csr")
    array = getattr(X, name).copy()
    setattr(X, name, change(array))
    return X


def put(position, value):
    def change(array):
        array[position] = value
        return array

    return change


CORRUPT = {
    "index too large": ("indices", put(7, D), "column index outside 0..5"),
    "index far too large": ("indices", put(7, 2**31 - 1), "column index outside 0..5"),
    "negative index": ("indices", put(7, -1), "column index outside 0..5"),
    "indptr falls": ("indptr", put(5, 0), "not a valid CSR"),
    "indptr starts late": ("indptr", put(0, 2), "not a valid CSR"),
    "indptr negative": ("indptr", put(3, -4), "not a valid CSR"),
    "indptr ends short": ("indptr", put(-1, 3), "not a valid CSR"),
    "indptr ends late": ("indptr", put(-1, 10**6), "not a valid CSR"),
    "indptr too short": ("indptr", lambda a: a[:-1], "not a valid CSR"),
    "indptr too long": ("indptr", lambda a: np.r_[a, a[-1]], "not a valid CSR"),
    "indptr empty": ("indptr", lambda a: a[:0], "not a valid CSR"),
    "too few indices": ("indices", lambda a: a[:-3], "not a valid CSR"),
    "too few values": ("data", lambda a: a[:-3], "not a valid CSR"),
    "no values": ("data", lambda a: a[:0], "not a valid CSR"),
}


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("case", CORRUPT)
def test_a_broken_structure_is_an_error(case, index):
    """Before a single value is read: ValueError, and X is not repaired behind one's back."""
    name, change, message = CORRUPT[case]
    X = corrupt(name, change)
    if name != "data":
        setattr(X, name, getattr(X, name).astype(index))
        other = "indptr" if name == "indices" else "indices"
        setattr(X, other, getattr(X, other).astype(index))
    before = digest(X)
    with pytest.raises(ValueError, match=message):
        LinearProblem(X, Y, get_loss("hinge"), 0.1)
    for model in (LinearSVC(), LinearSVR(method="sdca")):
        with pytest.raises(ValueError, match=r"X|ind|data"):
            model.fit(X, Y)
    assert digest(X) == before


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_the_first_bad_value_is_named(value, word, dtype, layout):
    X = np.ones((N, D), dtype=dtype)
    X[17, 3] = X[40, 1] = value
    X = sp.csr_matrix(X) if layout == "csr" else X
    for model in (LinearSVC(), LinearSVR()):
        with pytest.raises(ValueError, match=f"X contains {word}: first at row 17, column 3"):
            model.fit(X, Y)


def test_overflow_is_not_infinity():
    """Finite values whose squares are not: said, with the row."""
    X = matrix(N, D)
    X[9, 2] = 1e200
    with pytest.raises(ValueError, match="squared norm of row 9 of X overflows"):
        LinearSVC().fit(X, Y)


def test_large_float32_values_are_fine():
    """1e25 squared overflows float32, not the float64 in which norms are taken."""
    X = np.full((4, 2), 1e25, dtype=np.float32)
    norms = checked_rows(X, get_backend()).sq_norms
    np.testing.assert_allclose(norms, 2e50, rtol=1e-6)


def test_float16_that_overflows_in_a_cast():
    X = matrix(N, D).astype(np.float16)
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="X contains infinity: first at row 3, column 1"):
        LinearSVC().fit(X, Y)


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_a_memory_mapped_x_is_not_copied(tmp_path, layout):
    """40 MB of f32 in a read-only file: fit needs a fraction of that, and no float64 of it."""
    n, d = 20_000, 500
    rng = np.random.default_rng(0)
    values = rng.standard_normal((n, d), dtype=np.float32)
    np.save(tmp_path / "x.npy", values if layout == "dense" else values.ravel())
    y = np.where(values[:, 0] + values[:, 1] > 0, 1.0, -1.0)
    del values
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    if layout == "csr":
        indices = np.tile(np.arange(d, dtype=np.int32), n)
        X = sp.csr_matrix((X, indices, np.arange(0, n * d + 1, d, dtype=np.int32)), (n, d))
    size = 4 * n * d
    LinearSVC(method="sdca", tol=0.5).fit(X[:50], y[:50])  # compiled
    tracemalloc.start()
    try:
        model = LinearSVC(method="sdca", tol=0.2, random_state=0).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.converged_
    assert model.copy_note_ is None
    assert peak < 0.3 * size + 4e6, f"{peak / 1e6:.0f} MB for {size / 1e6:.0f} MB of data"


def test_sparse_types_keep_their_shape():
    X = sp.csr_matrix((3, 4), dtype=np.float64)
    rows = checked_rows(X, get_backend())
    assert rows.shape == (3, 4)
    assert rows.n_stored == 0
    assert rows.is_sparse
    assert as_rows(rows) is rows
    with pytest.raises(ValueError, match="two dimensions"):
        as_rows(np.ones((2, 2, 2)))


STRUCTURES = {
    "sound": ([0, 2, 1, 2, 0], [0, 2, 2, 4, 5], 3, None),
    "empty": ([], [0, 0, 0], 3, None),
    "no columns, no values": ([], [0, 0, 0], 0, None),
    "starts late": ([0, 1], [1, 2, 2], 3, "indptr"),
    "falls": ([0, 1, 2], [0, 2, 1, 3], 3, "indptr"),
    "ends short": ([0, 1, 2], [0, 1, 2], 3, "indptr"),
    "ends late": ([0, 1, 2], [0, 1, 4], 3, "indptr"),
    "negative pointer": ([0, 1, 2], [0, -1, 3], 3, "indptr"),
    "too large": ([0, 3], [0, 1, 2], 3, "outside"),
    "negative": ([0, -1], [0, 1, 2], 3, "outside"),
    "only one, too large": ([7], [0, 1], 3, "outside"),
    "no columns": ([0], [0, 1], 0, "outside"),
    "unsorted": ([2, 0], [0, 2], 3, "copied"),
    "twice": ([1, 1], [0, 2], 3, "copied"),
    "twice in the last row": ([0, 1, 0, 2, 2], [0, 1, 2, 2, 5], 3, "copied"),
    "equal across rows": ([2, 2, 2], [0, 1, 2, 3], 3, None),
}


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("case", STRUCTURES)
def test_faults_of_structure(case, index, backend):
    """Unsigned views turn negative numbers into huge ones; nothing outside the arrays is read."""
    indices, indptr, width, fault = STRUCTURES[case]
    unsigned = np.uint32 if index is np.int32 else np.uint64
    indices, indptr = (np.array(a, dtype=index).view(unsigned) for a in (indices, indptr))
    rows = Rows(CSR(np.ones(indices.size), indices, indptr), (indptr.size - 1, width))
    if fault in ("indptr", "outside"):
        with pytest.raises(ValueError, match=fault):
            checked_rows(rows, get_backend(backend))
        return
    found = checked_rows(rows, get_backend(backend))
    assert (found.note is not None and "copied" in found.note) == (fault == "copied")
    dense = found.to_scipy().toarray()
    np.testing.assert_allclose(found.sq_norms, (dense**2).sum(axis=1))
