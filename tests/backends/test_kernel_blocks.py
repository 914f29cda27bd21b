"""Kernel values and steps in blocks: ``cpu`` and ``reference`` do the same."""

from __future__ import annotations

import numpy as np
import pytest
from problems import DTYPES, LAYOUTS

from gapsvm.backends import get_backend
from gapsvm.rows.matrix import checked_rows
from gapsvm.types.mercer import (
    Block,
    BlockPoint,
    ChiSquared,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)

CPU, REFERENCE = get_backend("cpu"), get_backend("reference")
KERNELS = [
    Linear(),
    Gaussian(0.7),
    Polynomial(0.5, 2, 1.0),
    Polynomial(0.5, 3, 1.0),
    Polynomial(0.5, 5, 0.3),
    Sigmoid(0.3, 0.1),
    Laplacian(0.3),
    ChiSquared(0.4),
]


def rows(n, seed, layout, dtype):
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    X = (rng.random((n, 9)) * (rng.random((n, 9)) < 0.5)).astype(dtype)
    return checked_rows(sp.csr_matrix(X) if layout == "csr" else X, CPU)


@pytest.mark.compiles
@pytest.mark.parametrize("out", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_of_every_kernel(kernel, layout, out):
    """More rows than a group of sparse ones, and columns that are no multiple of anything."""
    if layout == "csr" and not hasattr(kernel, "of_products"):
        pytest.skip("kernels of coordinates see all values written out")
    a, b = rows(45, 0, layout, out), rows(71, 1, layout, out)
    squares = a.sq_norms.astype(out), b.sq_norms.astype(out)
    got, want = np.empty((45, 71), out), np.empty((45, 71))
    CPU.kernel_block(kernel, a.view, b.view, *squares, got)
    REFERENCE.kernel_block(kernel, a.view, b.view, *squares, want)
    np.testing.assert_allclose(got, want, rtol=1e-5 if out is np.float32 else 1e-13, atol=2e-7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_exponential_is_exact(dtype):
    """Over the range where it matters, through a kernel of one feature."""
    far = np.linspace(0, 9, 4001).astype(dtype)[:, None]
    here, there = checked_rows(np.zeros((1, 1), dtype), CPU), checked_rows(far, CPU)
    out = np.empty((1, 4001), dtype)
    squares = here.sq_norms.astype(dtype), there.sq_norms.astype(dtype)
    CPU.kernel_block(Gaussian(1.0), here.view, there.view, *squares, out)
    exact = np.exp(-squares[1].astype(np.float64))
    np.testing.assert_allclose(out[0], exact, rtol=8e-6 if dtype is np.float32 else 4e-16 * 4)


def block(eps, ridge, dtype, seed=0):
    """A random block in the middle of its box."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 4))
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(2)).astype(dtype)
    r = np.full(40, ridge)
    lower, upper = -rng.uniform(0, 1, 40), rng.uniform(0, 1, 40)
    lower[:8] = 0.0
    y = rng.normal(size=40)
    coef = np.clip(rng.normal(size=40) * (rng.random(40) < 0.5), lower, upper)
    scratch = np.empty(40), np.empty(40), np.empty(40, np.float32)
    Q = K.astype(np.float64) + np.diag(r)
    point = BlockPoint(coef, y - Q @ coef, *scratch)
    return Block(K, np.diag(Q).copy(), r, lower, upper, eps), point, y, Q


@pytest.mark.compiles
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("eps", [0.0, 0.2])
@pytest.mark.parametrize("name", ["pair_steps", "single_steps"])
def test_steps(name, eps, ridge, dtype):
    """The same steps for a while; then the same optimum, and the pull never drifts."""
    for budget in (5, 100_000):
        found = []
        for backend in (CPU, REFERENCE):
            b, point, y, Q = block(eps, ridge, dtype)
            before = point.coef.sum()
            steps, first, last = getattr(backend, name)(b, point, 1e-9, 0.0, budget)
            np.testing.assert_allclose(point.pull, y - Q @ point.coef, atol=1e-12)
            assert np.all((point.coef >= b.lower) & (point.coef <= b.upper))
            if name == "pair_steps":
                assert abs(point.coef.sum() - before) < 1e-12
            assert last <= (first if budget == 5 else 1e-9 * first)
            found.append((steps, point.coef))
        if budget == 5:
            assert found[0][0] == found[1][0] == 5
        np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-7)


def test_rows_are_added_in_float64():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(9, 2100)).astype(np.float32)
    chosen, coef = np.array([8, 0, 3, 3, 5, 1, 2]), rng.normal(size=7)
    out, want = np.ones(2100), np.ones(2100)
    CPU.add_kernel_rows(values, chosen, coef, out)
    REFERENCE.add_kernel_rows(values, chosen, coef, want)
    np.testing.assert_allclose(out, want, atol=1e-14)
