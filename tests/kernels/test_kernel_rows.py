"""Sources of kernel values: features, a matrix, a callable; what they keep and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from problems import matrix
from sklearn.metrics.pairwise import pairwise_kernels

from gapsvm.backends import get_backend
from gapsvm.kernels.cache import RowCache
from gapsvm.kernels.callable import CallableRows
from gapsvm.kernels.registry import KERNELS, get_kernel
from gapsvm.kernels.rows import FeatureRows, MatrixRows
from gapsvm.losses.registry import get_loss
from gapsvm.problems.kernel import KernelIterate, KernelProblem

N = 90
X = np.abs(matrix(N, 6))
NAMES = list(KERNELS)


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_scikit_learns(name, layout):
    """Every kernel of the registry; K·v, the diagonal and squares agree with the matrix."""
    kernel = get_kernel(name, gamma=0.2, coef0=0.5)
    rows = FeatureRows(sp.csr_matrix(X) if layout == "csr" else X, kernel)
    options = {k: getattr(rows.kernel, k) for k in rows.kernel._fields}
    K = pairwise_kernels(X, metric={"chi2": "chi2"}.get(name, name), **options)
    v = np.random.default_rng(0).normal(size=N) * (np.arange(N) % 3 == 0)
    np.testing.assert_allclose(rows.product(v), K @ v, rtol=1e-12, atol=1e-13)
    seen = {"sigmoid": N * N, "linear": 0}  # it is looked at; products with weights do
    assert rows.evaluations == seen.get(name, 30 * N)
    np.testing.assert_allclose(rows.gram, K, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(rows.diagonal, K.diagonal(), rtol=1e-12)
    some = np.array([5, 3, 80])
    np.testing.assert_allclose(rows.square(some, np.float32), K[np.ix_(some, some)], rtol=2e-6)


@pytest.mark.parametrize("megabytes", [0.0, 20 * N * 4 / 2**20, 200.0])
@pytest.mark.parametrize("dear", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kept_rows_change_nothing_but_the_count(megabytes, dtype, dear):
    """No room, room for some rows, room for all; rows are kept when they come again, or at once."""
    rows = FeatureRows(X, get_kernel("rbf", gamma=0.2), cache_size=megabytes)
    rows.work = np.inf if dear else 6.0
    rng, pull = np.random.default_rng(0), np.zeros(N)
    total = np.zeros(N)
    for _ in range(6):
        index = rng.permutation(N)[:25]
        coef = rng.normal(size=25)
        rows.subtract(index, coef, pull, dtype)
        total[index] += coef
    want = -(rows.gram @ total)
    np.testing.assert_allclose(pull, want, atol=1e-5 if dtype is np.float32 else 1e-13)
    computed = rows.evaluations // N - N
    assert computed == 150 if megabytes == 0 else computed < 150
    assert megabytes < 200 or computed <= (N if dear else 2 * N)


@pytest.mark.parametrize("dear", [False, True])
def test_rows_of_some_columns_alone(dear):
    """As columns are left out kept rows grow narrower in place; when they return, K is anew."""
    rows = FeatureRows(X, get_kernel("rbf", gamma=0.2), cache_size=40 * N * 8 / 2**20)
    rows.work = np.inf if dear else 6.0
    rng, pull, want = np.random.default_rng(0), np.zeros(N), np.zeros(N)
    K = pairwise_kernels(X, metric="rbf", gamma=0.2)
    columns = np.arange(N)
    for keep in (N, N, 60, 60, 31, 31, 5, N, N):
        columns = np.sort(rng.permutation(columns if keep < N else N)[:keep])
        for _ in range(2):
            index, coef = rng.permutation(N)[:25], rng.normal(size=25)
            rows.subtract(index, coef, pull, np.float64, None if keep == N else columns)
            want[columns] -= coef @ K[index][:, columns]
            np.testing.assert_allclose(pull, want, atol=1e-12)


def test_sums_are_screened():
    """Errors are bounds; what is not let go is in float64."""
    wide = np.tile(np.abs(matrix(300, 6)), 5)
    rows = FeatureRows(wide.astype(np.float32), get_kernel("rbf", gamma=0.01))
    coef = np.random.default_rng(0).normal(size=300) * (np.arange(300) % 3 == 0)
    exact = rows.product(coef)
    got, errors = rows.screened(coef, lambda some, sums, bounds: some % 5 < 4)
    assert np.all(errors[coef != 0] == 0)
    assert 0 < np.count_nonzero(errors) == np.count_nonzero((coef == 0) & (np.arange(300) % 5 < 4))
    np.testing.assert_allclose(got[errors == 0], exact[errors == 0], rtol=1e-12, atol=1e-13)
    assert np.all(np.abs(got - exact) <= errors + 1e-12)
    assert errors.max() < 1e-3
    none, errors = rows.screened(coef, lambda some, sums, bounds: some < 0)
    np.testing.assert_allclose(none, exact, rtol=1e-12, atol=1e-13)
    assert not errors.any()


@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("near", [-1.0, 1.0])
def test_a_certificate_is_exact_whatever_float32_says_within_its_bounds(bias, near):
    """Rows without coefficients seem to have less loss, by nearly as much as the bounds allow;
    those with a margin near 1 are of one class."""
    y, loss = np.where(X[:, 0] > np.median(X[:, 0]), -near, near), get_loss("hinge")
    alpha = np.where(np.arange(N) % 3 == 0, 0.9, 0.0)
    honest, sloppy = (FeatureRows(X, get_kernel("rbf", gamma=0.2)) for _ in range(2))
    sums = sloppy.sums

    def off(index, coef, columns, dtype, size=None):
        found = sums(index, coef, columns, dtype, size)
        if dtype == np.float32:
            found[0] += 0.9 * sloppy.single_error * y[columns] * found[1]
        return found

    vars(sloppy).update(single_error=0.05, sums=off)
    one, other = (KernelProblem(rows, y, loss, 0.03, bias=bias) for rows in (honest, sloppy))
    assert np.count_nonzero(other.looked(alpha, 0.0)[1])  # some rows stay in float32
    point = KernelIterate(alpha, 0.0)
    exact, found = (p.certify(point, get_backend("cpu")) for p in (one, other))
    assert found.primal == pytest.approx(exact.primal, rel=1e-9)
    assert found.dual == pytest.approx(exact.dual, rel=1e-9)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
def test_a_linear_kernel_needs_no_rows_of_it(layout):
    rows = FeatureRows(layout(X).astype(np.float32), get_kernel("linear"))
    K, pull = np.float32(X).astype(float) @ np.float32(X).astype(float).T, np.zeros(N)
    index, coef, active = np.array([4, 70, 9]), np.array([1.0, -2.0, 0.5]), np.arange(0, N, 2)
    rows.subtract(index, coef, pull, np.float32)
    np.testing.assert_allclose(pull, -coef @ K[index], rtol=1e-12, atol=1e-12)
    rows.subtract(index, coef, pull, np.float32, active)
    np.testing.assert_allclose(pull[active], -2 * coef @ K[index][:, active], atol=1e-12)
    np.testing.assert_allclose(pull[1::2], -coef @ K[index][:, 1::2], atol=1e-12)
    assert rows.evaluations == 0


def test_a_cache_keeps_what_serves_most():
    cache = RowCache(100, np.arange(4), np.float32, 10 * 16 / 2**20)
    assert cache.capacity == 10
    often = np.arange(4)
    cache.admit(np.arange(10))
    for _ in range(5):
        assert cache.found(often).all()
    cache.admit(np.arange(20, 25))
    assert cache.found(often).all()
    assert not cache.found(np.arange(4, 10)).all()
    held = np.flatnonzero(cache.slot >= 0)
    assert held.size <= 10
    np.testing.assert_array_equal(cache.row[cache.slot[held]], held)


@pytest.mark.parametrize("rule", ["scale", "auto"])
@pytest.mark.parametrize("data", [X, sp.csr_matrix(X), np.ones((5, 2))])
def test_gamma_by_rule(rule, data):
    dense = data.toarray() if sp.issparse(data) else data
    variance = dense.var() or 1 / dense.shape[1]
    want = 1 / (dense.shape[1] * variance) if rule == "scale" else 1 / dense.shape[1]
    assert FeatureRows(data, get_kernel("rbf", gamma=rule)).kernel.gamma == pytest.approx(want)


def test_a_matrix_and_a_callable_are_rows_too():
    K = pairwise_kernels(X, metric="rbf", gamma=0.2)
    by_hand = CallableRows(X, lambda a, b: pairwise_kernels(a, b, metric="rbf", gamma=0.2))
    v = np.arange(N) / N
    for rows in (MatrixRows(K), by_hand):
        assert rows.is_definite
        np.testing.assert_allclose(rows.product(v), K @ v, rtol=1e-12)
        pull = np.zeros(N)
        rows.subtract(np.array([3, 1]), np.array([1.0, 2.0]), pull, np.float64)
        np.testing.assert_allclose(pull, -K[3] - 2 * K[1], rtol=1e-12)
    assert MatrixRows(-K).is_definite is False


def test_what_is_no_kernel_is_refused():
    K = pairwise_kernels(X, metric="rbf")
    skew, hole = K.copy(), K.copy()
    skew[3, 4] += 0.1
    hole[2, 2] = np.nan
    with pytest.raises(ValueError, match="must be square"):
        MatrixRows(K[:, :5])
    with pytest.raises(ValueError, match="not symmetric"):
        MatrixRows(skew)
    with pytest.raises(ValueError, match="NaN or infinity"):
        MatrixRows(hole)
    with pytest.raises(ValueError, match="gave shape"):
        CallableRows(X, lambda a, b: a @ a.T[:, :2])
    with pytest.raises(ValueError, match=r"kernel <lambda> raised ZeroDivisionError.* rows"):
        CallableRows(X, lambda a, b: 1 / 0)
    with pytest.raises(ValueError, match="complex"):
        CallableRows(X, lambda a, b: 1j * (a @ b.T))
    with pytest.raises(ValueError, match="gave str, not numbers"):
        CallableRows(X, lambda a, b: "nothing")
    with pytest.raises(ValueError, match="not symmetric"):
        CallableRows(X, lambda a, b: a[:, :1] + 2 * b[:, 0])
    with pytest.raises(ValueError, match="gamma must be finite and >= 0"):
        FeatureRows(X, get_kernel("rbf", gamma=-1.0))
    with pytest.raises(ValueError, match="not negative"):
        FeatureRows(X - 5, get_kernel("chi2"))
    with pytest.raises(ValueError, match=r"unknown kernel 'rbff'.*did you mean 'rbf'"):
        get_kernel("rbff")
