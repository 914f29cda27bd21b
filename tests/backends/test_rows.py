"""Row functions of the compiled kernels, for rows of every length around a group of four."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from gapsvm.backends.numba.rows import row_axpy, row_axpy_growth, row_dot
from gapsvm.rows.matrix import as_rows

LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 11, 0, 64)


@numba.njit
def dots(X, w, out):
    for i in range(out.size):
        out[i] = row_dot(X, np.uint64(i), w)


@numba.njit
def sum_of_rows(X, scale, w):
    for i in range(scale.size):
        row_axpy(X, np.uint64(i), scale[i], w)


@numba.njit
def growth_of_sum(X, scale, w):
    growth = 0.0
    for i in range(scale.size):
        growth += row_axpy_growth(X, np.uint64(i), scale[i], w)
    return growth


def ragged(dtype, index):
    rng = np.random.default_rng(0)
    columns = [np.sort(rng.permutation(70)[:length]) for length in LENGTHS]
    values = rng.normal(size=sum(LENGTHS)).astype(dtype)
    ends = np.cumsum((0, *LENGTHS)).astype(index)
    return sp.csr_matrix((values, np.concatenate(columns).astype(index), ends), (len(LENGTHS), 70))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("weights", [np.float32, np.float64])
def test_every_length(dtype, index, weights):
    X, rng = ragged(dtype, index), np.random.default_rng(1)
    view, w, scale = as_rows(X).view, rng.normal(size=70).astype(weights), rng.normal(size=11)
    out, dense = np.full(11, np.nan), X.toarray().astype(float)
    dots(view, w, out)
    np.testing.assert_allclose(out, dense @ w.astype(float), rtol=1e-13, atol=1e-14)
    want, tolerance = w + scale @ dense, 1e-13 if weights is np.float64 else 1e-6
    sum_of_rows(view, scale, w)
    assert w.dtype == weights
    np.testing.assert_allclose(w, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_growth_of_the_norm(dtype, dense):
    X, rng = ragged(dtype, np.int32), np.random.default_rng(2)
    view = as_rows(X.toarray() if dense else X).view
    w, scale = rng.normal(size=70), rng.normal(size=11)
    want, before = w + scale @ X.toarray().astype(float), w @ w
    growth = growth_of_sum(view, scale, w)
    np.testing.assert_allclose(w, want, rtol=1e-13, atol=1e-13)
    assert growth == pytest.approx(want @ want - before, rel=1e-12)


def test_a_column_that_comes_twice_counts_twice():
    ends, columns = np.array([0, 4]), np.array([2, 2, 2, 0])
    view = as_rows(sp.csr_matrix((np.array([1.0, 2.0, 4.0, 8.0]), columns, ends), (1, 3))).view
    w = np.zeros(3)
    sum_of_rows(view, np.ones(1), w)
    np.testing.assert_array_equal(w, [8.0, 0.0, 7.0])
    assert growth_of_sum(view, np.ones(1), w) == 3 * (8.0**2 + 7.0**2)


def test_weights_with_gaps_between_them_are_refused():
    view = as_rows(ragged(np.float32, np.int32)).view
    with pytest.raises(numba.TypingError, match="one piece"):
        dots(view, np.zeros(140)[::2], np.zeros(11))
