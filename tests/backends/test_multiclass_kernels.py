"""The multiclass kernels and their twins, step for step."""

from __future__ import annotations

import numpy as np
import pytest
from problems import DTYPES, matrix

from gapsvm.backends import get_backend
from gapsvm.rows.matrix import as_rows
from gapsvm.types.curves import MulticlassCurve
from gapsvm.types.steps import Averaging, Labels, StepSizes, WeightArrays

CPU, REFERENCE = get_backend("cpu"), get_backend("reference")
N, D, K = 30, 6, 4
COSTS = np.random.default_rng(1).uniform(0.5, 2.0, (K, K)) * (1 - np.eye(K))
CURVES = {
    "crammer_singer": MulticlassCurve(COSTS, 0.0),
    "multinomial": MulticlassCurve(np.zeros((K, K)), 1.0),
    "smoothed": MulticlassCurve(COSTS, 0.3),
}
every_matrix = pytest.mark.parametrize(
    ("index", "dtype"), [(index, dtype) for index in (None, np.int32, np.int64) for dtype in DTYPES]
)


def view(index, dtype):
    X = matrix(N, D, 3, "dense" if index is None else "csr", dtype)
    if index is not None:
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return as_rows(X).view


@pytest.mark.compiles
@every_matrix
@pytest.mark.parametrize("constant", [0.0, 1.5])
def test_scores_and_combinations(index, dtype, constant):
    """Against plain NumPy too; what was in ``out`` of a combination stays."""
    X, dense = view(index, dtype), matrix(N, D, 3, "dense", dtype).astype(float)
    dense = np.hstack([dense, np.full((N, 1), constant)])
    rng = np.random.default_rng(2)
    w, coef = rng.normal(size=(D + 1, K)), rng.normal(size=(N, K))
    for backend in (CPU, REFERENCE):
        scores, total = np.empty((N, K)), np.ones((D + 1, K))
        backend.multiclass_scores(X, w, constant, scores)
        backend.multiclass_combination(X, coef, constant, total)
        np.testing.assert_allclose(scores, dense @ w, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(total, 1.0 + dense.T @ coef, rtol=1e-12, atol=1e-12)


@pytest.mark.compiles
@every_matrix
@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize(
    ("size", "radius", "constant", "average"),
    [(1, np.inf, 0.0, None), (1, 0.8, 1.5, (0.9, 0.1)), (3, 0.8, 0.0, (1.0, 1.0))],
)
def test_steps(name, index, dtype, size, radius, constant, average):
    """In two slices; the first step forgets W."""
    X, steps, rng = view(index, dtype), 30, np.random.default_rng(6)
    y, weight = rng.integers(0, K, N), rng.uniform(0.2, 3.0, N)
    batches = rng.integers(0, N, (steps, size)).astype(np.uint32)
    t = np.arange(1.0, steps + 1)
    rates = (1 / (0.3 * t), 1 - 1 / t)
    got = []
    for backend in (CPU, REFERENCE):
        table, v = np.zeros((N, 1 + K)), np.zeros((D + 1, K))
        u, scalars = np.zeros((D + 1 if average else 0, K)), np.array([1.0, 0, 0, 0, 1, 0])
        for part in (slice(0, 11), slice(11, steps)):
            backend.multiclass_steps(
                *(X, CURVES[name], Labels(y, weight), batches[part]),
                *(StepSizes(*(rate[part] for rate in rates)), Averaging(*(average or (1.0, 1.0)))),
                *(constant, radius, table, WeightArrays(v, u, scalars)),
            )
        scale, square, _, p, r, _ = scalars
        mean = p * v + r * u if average else u
        got.append((scale * v, mean, [scale**2 * square], table))
    for a, b in zip(*got):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)  # ‖v‖² is kept by updates
    assert np.all(got[0][3][:, 0] == np.bincount(batches.ravel(), minlength=N))


@pytest.mark.parametrize("backend", [CPU, REFERENCE], ids=["cpu", "reference"])
def test_a_tie_goes_to_the_right_class(backend):
    """z_y = z_r + δ(r, y) exactly: no loss, no step."""
    X = as_rows(np.eye(2)).view
    loss = MulticlassCurve(1.0 - np.eye(3), 0.0)
    v = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    table, scalars = np.zeros((2, 4)), np.array([1.0, 1.0, 0, 0, 1, 0])
    one, batches = np.ones(1), np.zeros((1, 1), dtype=np.uint32)
    before, y = v.copy(), np.array([1, 0])
    backend.multiclass_steps(
        *(X, loss, Labels(y, np.ones(2)), batches, StepSizes(one, one), Averaging(1.0, 1.0)),
        *(0.0, np.inf, table, WeightArrays(v, np.zeros((0, 3)), scalars)),
    )
    np.testing.assert_array_equal(scalars[0] * v, before)
    np.testing.assert_array_equal(table, [[1, 0, 1, 0], [0, 0, 0, 0]])
