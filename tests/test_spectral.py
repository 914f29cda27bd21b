"""σ² is never below the truth and as close as it says; β_b is what Takáč's Lemma 1 needs."""

from __future__ import annotations

import math
import tracemalloc
from functools import cache
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from problems import DTYPES, LAYOUTS
from scipy.sparse.linalg import svds

from gapsvm.backends import get_backend
from gapsvm.datasets import load
from gapsvm.rows import spectral
from gapsvm.rows.matrix import checked_rows
from gapsvm.rows.spectral import batch_worth_using, beta, sigma2

CPU, REFERENCE = get_backend("cpu"), get_backend("reference")


def rows_of(X, backend=CPU):
    return checked_rows(X, backend)


def unit_rows(X):
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1.0)


def truth(X, normalised=False):
    """‖X‖²/n by the singular values of the dense matrix, in float64."""
    dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    dense = unit_rows(dense) if normalised else dense
    return float(np.linalg.svd(dense, compute_uv=False)[0]) ** 2 / len(dense)


def rng(seed=0):
    return np.random.default_rng(seed)


def with_holes(X):
    """Empty rows and columns, the first and the last among them."""
    X[[0, len(X) // 2, -1]] = 0.0
    X[:, [0, X.shape[1] // 3, -1]] = 0.0
    return X


def blocks(*scales):
    """Nonnegative blocks that share no column, each of its own size."""
    return sp.block_diag([s * rng(k).random((8, 3)) for k, s in enumerate(scales)]).toarray()


def chain(n):
    """Every row joins two neighbouring columns: the eigenvalues crowd below the largest."""
    return np.eye(n, n + 1) + np.eye(n, n + 1, 1)


MATRICES = {
    "signed": lambda: rng().normal(size=(60, 12)),
    "signed, longer rows": lambda: rng().normal(size=(90, 40)),
    "signed, more features": lambda: rng().normal(size=(20, 70)),
    "signed, one direction": lambda: 5.0 + rng().normal(size=(80, 50)),
    "nonnegative": lambda: rng().random((60, 12)),
    "nonnegative, sparse": lambda: sp.random(90, 40, 0.1, rng=rng()).toarray(),
    "nonnegative, more features": lambda: rng().random((9, 70)),
    "holes": lambda: with_holes(rng().random((30, 15))),
    "signed holes": lambda: with_holes(rng().normal(size=(30, 25))),
    "blocks": lambda: blocks(1.0, 0.9, 1.1),
    "blocks of unequal size": lambda: blocks(1.0, 1e-3, 1e-8, 30.0),
    "chain": lambda: chain(60),
    "one row": lambda: np.array([[1.0, 0.0, 2.0]]),
    "one signed row": lambda: np.array([[1.0, 0.0, -2.0]]),
    "one feature": lambda: rng().normal(size=(20, 1)),
    "one nonnegative feature": lambda: rng().random((20, 1)),
    "orthogonal": lambda: np.eye(30),
    "signed orthogonal": lambda: -np.eye(30),
    "the same row": lambda: np.tile(rng().normal(size=24), (10, 1)),
}
every_matrix = pytest.mark.parametrize("name", list(MATRICES))
either_norm = pytest.mark.parametrize("normalised", [False, True])


def check(found, true, accuracy=0.01):
    assert found.kind in ("exact", "bound")
    assert found.failure == 0.0
    assert found.lower <= true * (1 + 1e-12)
    assert true <= found.value <= (1 + accuracy) * found.lower
    assert found.passes > 0


# -- never below the truth -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@either_norm
@every_matrix
def test_never_below_the_truth_and_within_a_percent(name, normalised, layout, dtype):
    X = MATRICES[name]().astype(dtype)
    X = sp.csr_matrix(X) if layout == "csr" else X
    found = sigma2(rows_of(X), CPU, normalised=normalised)
    check(found, truth(X, normalised))
    assert found.normalised == normalised


@either_norm
@every_matrix
def test_both_backends_agree(name, normalised):
    X = MATRICES[name]()
    one, other = (sigma2(rows_of(X, b), b, normalised=normalised) for b in (CPU, REFERENCE))
    assert one.kind == other.kind
    assert (one.value, one.lower) == pytest.approx((other.value, other.lower), rel=1e-9)


@pytest.mark.parametrize("accuracy", [0.3, 1e-4, 1e-9])
@every_matrix
def test_accuracy_is_reached(name, accuracy):
    """Whatever is asked for, since a Gram matrix of this size is affordable."""
    X = MATRICES[name]()
    check(sigma2(rows_of(X), CPU, accuracy=accuracy), truth(X), accuracy)


@pytest.mark.parametrize("factor", [1e-160, 1e-140, 1e-60, 1e60, 1e140])
@pytest.mark.parametrize("name", ["signed", "signed, longer rows", "nonnegative", "blocks"])
def test_any_unit(name, factor):
    X = MATRICES[name]()
    found = sigma2(rows_of(factor * X), CPU)
    assert factor * factor * truth(X) <= found.value
    if factor > 1e-150:
        assert found.value <= 1.01 * factor * factor * truth(X) * (1 + 1e-14)
        same = sigma2(rows_of(factor * X), CPU, normalised=True)
        assert same.value == pytest.approx(sigma2(rows_of(X), CPU, normalised=True).value)


@pytest.mark.parametrize("small", [1e-30, 1e-120, 1e-150])
def test_columns_whose_weight_underflows(small):
    """v dies out in a block a million million times smaller; the bound must not see 0/0."""
    X = blocks(1.0, small)
    found = sigma2(rows_of(X), CPU, accuracy=1e-12)
    check(found, truth(X), 1e-9)
    X[0, 3] = small  # and now one row joins the blocks
    check(sigma2(rows_of(X), CPU), truth(X))


@pytest.mark.parametrize("shape", [(3, 4), (1, 1)])
@either_norm
def test_nothing_but_zeros(shape, normalised):
    """0 is the truth; a value that can be divided by is returned."""
    for X in (np.zeros(shape), sp.csr_matrix(shape)):
        found = sigma2(rows_of(X), CPU, normalised=normalised)
        assert 0.0 < found.value < 1e-300
        assert found.lower == 0.0
        assert math.isfinite(1.0 / found.value)
        assert beta(shape[0], shape[0], found.value) == 1.0


MAGNITUDES = st.floats(-4.0, 4.0, allow_subnormal=True).map(lambda x: x * abs(x))


@settings(max_examples=150)
@given(
    arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=MAGNITUDES),
    st.booleans(),
    st.booleans(),
)
def test_any_small_matrix(X, nonnegative, normalised):
    X = np.abs(X) if nonnegative else X
    X[np.abs(X) < 1e-70] = 0.0
    found = sigma2(rows_of(X), CPU, normalised=normalised)
    true = truth(X, normalised)
    assert true <= found.value <= 1.01 * true * (1 + 1e-13) + 1e-300
    assert found.lower <= true * (1 + 1e-13)
    norms = np.sum((unit_rows(X) if normalised else X) ** 2, axis=1)
    assert found.value <= norms.max() * (1 + 1e-13) + 1e-300


# -- where a Gram matrix is too large --------------------------------------------------------------


@pytest.fixture
def wide(monkeypatch):
    """As if no Gram matrix were affordable."""
    monkeypatch.setattr(spectral, "_GRAM_FEATURES", 0)
    monkeypatch.setattr(spectral, "_GRAM_PASSES", 0)


@pytest.mark.parametrize("seed", range(20))
@either_norm
def test_signed_and_wide(wide, normalised, seed):
    X = rng(seed).normal(size=(40, 200)) * rng(seed).choice([0.1, 3.0], 200)
    found = sigma2(rows_of(X), CPU, normalised=normalised, seed=seed)
    true = truth(X, normalised)
    assert found.lower <= true <= found.value <= 1.3 * true
    assert (found.failure == 1e-6) == (found.kind == "probable")


def test_really_wide():
    """More features than a Gram matrix is made for, and sparse."""
    X = sp.random(100, 3000, 0.02, "csr", rng=rng())
    X.data -= 0.5
    found = sigma2(rows_of(X), CPU)
    true = truth(X)
    assert found.kind == "probable"
    assert found.lower <= true <= found.value <= 1.2 * true
    tight = sigma2(rows_of(abs(X)), CPU)
    check(tight, truth(abs(X)))


def test_few_features_that_matter_give_a_certain_bound(wide):
    """The trace that Lanczos has not seen is small: no probability is needed."""
    X = rng().normal(size=(100, 300)) * 0.5 ** np.arange(300)
    check(sigma2(rows_of(X), CPU), truth(X))


def test_the_probability_is_as_stated(wide, monkeypatch):
    """Allowed to fail in 1 of 5 runs, the bound fails in hardly fewer, and not in more."""
    monkeypatch.setattr(spectral, "_FAILURE", 0.2)
    monkeypatch.setattr(spectral, "_STEPS", 6)
    monkeypatch.setattr(spectral, "_PRODUCTS", 6)
    X = np.diag(np.sqrt([1.0, *np.linspace(0.5, 0.0, 99)])) * rng().choice([-1, 1], 100)
    found = [sigma2(rows_of(X), CPU, seed=seed, accuracy=0.0) for seed in range(300)]
    assert all(f.kind == "probable" for f in found)
    failed = np.mean([f.value < truth(X) for f in found])
    assert 0.1 < failed < 0.2 + 3 * math.sqrt(0.2 * 0.8 / 300)


@pytest.mark.parametrize("steps", [12, 20, 30])
@pytest.mark.parametrize("decay", [0.0, 0.1, 0.5])
def test_no_worse_than_without_looking(wide, monkeypatch, steps, decay):
    """Kuczyński and Woźniakowski's bound holds for any spectrum; ours has seen this one."""
    monkeypatch.setattr(spectral, "_STEPS", steps)
    monkeypatch.setattr(spectral, "_PRODUCTS", steps)
    d = 500
    X = np.diag((1.0 + np.arange(d)) ** -decay) @ rng(steps).choice([-1.0, 1.0], (d, d))
    found = sigma2(rows_of(X), CPU, accuracy=0.0)
    epsilon = (math.log(1.648 * math.sqrt(d) / 1e-6) / (2 * steps - 1)) ** 2
    assert truth(X) <= found.value
    assert (1 - epsilon) * found.value <= found.lower * (1 + 1e-9)


def test_slow_data_say_how_far_they_got(wide):
    """Long chains of features: power steps are slow, the bound holds all the same."""
    X = chain(400)
    found = sigma2(rows_of(X), CPU, accuracy=1e-6)
    assert found.kind == "bound"
    assert found.passes <= 10
    assert found.lower <= truth(X) <= found.value <= 1.5 * truth(X)


# -- samples, and what is read ---------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@either_norm
def test_a_sample_is_an_estimate(layout, normalised):
    X = rng().random((4000, 6)) * (rng(1).random((4000, 6)) < 0.5)
    X = sp.csr_matrix(X) if layout == "csr" else X
    rows = rows_of(X)
    found = sigma2(rows, CPU, normalised=normalised, sample=1000, seed=3)
    true = truth(X, normalised)
    assert found.kind == "estimate"
    assert found.value == pytest.approx(true, rel=0.05)
    assert found.lower <= true
    assert 0 < found.passes <= 2.5
    assert found == sigma2(rows, CPU, normalised=normalised, sample=1000, seed=3)
    assert found != sigma2(rows, CPU, normalised=normalised, sample=1000, seed=4)
    assert sigma2(rows, CPU, sample=4000) == sigma2(rows, CPU)
    with pytest.raises(ValueError, match="sample must be a number of rows"):
        sigma2(rows, CPU, sample=0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_drawn_rows_are_rows(layout):
    X = np.arange(200.0).reshape(50, 4) * (rng().random((50, 4)) < 0.5)
    rows = rows_of(sp.csr_matrix(X) if layout == "csr" else X)
    some = spectral._drawn(rows, 20, seed=1)
    got = some.to_scipy()
    got = got.toarray() if sp.issparse(got) else got
    places = [int(np.flatnonzero((row == X).all(1))[0]) for row in got if row.any()]
    assert places == sorted(set(places))
    np.testing.assert_allclose(some.sq_norms, (got**2).sum(1))
    assert not any(array.flags.writeable for array in some.view)


@pytest.mark.parametrize("sign", [1, -1])
def test_mapped_files_are_not_copied(tmp_path, sign):
    """Dense and CSR: far less memory than the values take."""
    X = rng().random((20_000, 50)).astype(np.float32)
    X[:, 0] *= sign
    parts = {"dense": X, **{k: getattr(sp.csr_matrix(X), k) for k in ("data", "indices", "indptr")}}
    for name, part in parts.items():
        np.save(tmp_path / name, part)
    mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in parts}
    sparse = sp.csr_matrix(tuple(mapped[k] for k in ("data", "indices", "indptr")), X.shape)
    for layout in (mapped["dense"], sparse):
        rows = rows_of(layout)
        for normalised in (False, True):
            found = sigma2(rows, CPU, normalised=normalised)  # compiles
            tracemalloc.start()
            assert sigma2(rows, CPU, normalised=normalised) == found
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 0.4 * X.nbytes
            check(found, truth(X, normalised))


# -- real data -------------------------------------------------------------------------------------

SETS = ["a9a", "w8a", "ijcnn1", "connect4", "usps"]
SETS += ["letter", "mq2008", "reuters", "sector", "news20"]


@cache
def real(name, scale, folder):
    return load(name, scale=scale, dtype=np.float32, folder=folder).X


@pytest.mark.parametrize("name", SETS)
@either_norm
def test_ten_passes_for_a_percent(name, normalised, data_folder):
    X = real(name, "raw", data_folder)
    found = sigma2(rows_of(X), CPU, normalised=normalised)
    exact = sp.csr_matrix(X, dtype=np.float64)
    if normalised:
        norms = np.sqrt(np.asarray(exact.multiply(exact).sum(axis=1)).ravel())
        exact = sp.diags(1.0 / np.where(norms > 0, norms, 1.0)) @ exact
    v0 = np.ones(min(X.shape))
    true = float(svds(exact, 1, v0=v0, return_singular_vectors=False)[0]) ** 2
    check(found, true / X.shape[0])
    assert found.passes <= 10


KNOWN = [("imdb", "unit", False, 1 / 16), ("mnist8", "max", False, 0.129)]
KNOWN += [("mnist8", "max", True, 0.408), ("cov1", "max", False, 1 / 2.4)]


@pytest.mark.parametrize(("name", "scale", "normalised", "known"), KNOWN)
def test_known_values(name, scale, normalised, known, data_folder):
    X = real(name, scale, data_folder)
    found = sigma2(rows_of(X), CPU, normalised=normalised)
    assert found.value == pytest.approx(known, rel=0.03)
    assert found.passes <= 10


# -- β_b -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 7, 1000])
def test_beta(n):
    assert beta(1, n, 0.3) == 1.0
    assert beta(n, n, 0.9) == pytest.approx(n * 0.9)
    for b in range(1, n + 1, max(1, n // 7)):
        assert beta(b, n, 1.0) == pytest.approx(b)
        assert beta(b, n, 1.0 / n) == pytest.approx(1.0)
        assert beta(b, n, 0.1 / n) == 1.0  # never below 1: many rows are empty
        assert beta(b, n, 0.4) <= b


def test_beta_of_one_row():
    assert beta(1, 1, 0.5) == beta(1, 1, 3.0) == 1.0
    assert batch_worth_using(1, 0.5) == batch_worth_using(1, 3.0) == 1


@settings(deadline=None)
@given(st.integers(1, 10**9), st.floats(1e-12, 50.0))
def test_batch_worth_using_is_the_largest(n, value):
    size = batch_worth_using(n, value)
    assert 1 <= size <= n
    assert beta(size, n, value) <= 2.0
    assert size == n or beta(size + 1, n, value) > 2.0


def test_batch_worth_using_is_about_one_over_sigma2():
    assert batch_worth_using(10**6, 1e-3) == pytest.approx(1000, rel=0.01)
    assert batch_worth_using(100, 1e-308) == 100
    assert batch_worth_using(100, 1.0) == 2


def expected_gram(Q, b):
    """E of the Gram matrix of a uniformly drawn batch, zero elsewhere, by all batches."""
    n = len(Q)
    total = np.zeros_like(Q)
    for batch in combinations(range(n), b):
        total[np.ix_(batch, batch)] += Q[np.ix_(batch, batch)]
    return total / math.comb(n, b)


@pytest.mark.parametrize("b", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("seed", range(4))
def test_lemma_1_by_enumeration(seed, b):
    """E⟨h_B, Q h_B⟩ ≤ (b/n)β_b‖h‖², with equality for rows of norm 1 and their own σ²."""
    n = 8
    X = unit_rows(rng(seed).normal(size=(n, 5)) + seed)
    top = np.linalg.eigvalsh(expected_gram(X @ X.T, b))[-1]
    assert top == pytest.approx(b / n * beta(b, n, truth(X)))
    found = sigma2(rows_of(X), CPU, normalised=True)
    assert top <= b / n * beta(b, n, found.value) * (1 + 1e-12)
    shorter = rng(seed).random((n, 1)) * X
    shorter[0] = X[0]
    top = np.linalg.eigvalsh(expected_gram(shorter @ shorter.T, b))[-1]
    assert top <= b / n * beta(b, n, sigma2(rows_of(shorter), CPU).value) * (1 + 1e-12)


def test_steps_over_row_norms_need_the_normalised_sigma2():
    """x = (1, 0.1), b = 2: with the raw σ² the inequality of Takáč eq. 24 would not hold."""
    X = np.array([[1.0], [0.1]])
    step = 1.0 / X[:, 0]
    pushed = float(np.sum(X[:, 0] * step)) ** 2  # ‖Σ h_i x_i‖², both rows in the batch
    allowed = float(np.sum(X[:, 0] ** 2 * step**2))
    raw, normalised = (sigma2(rows_of(X), CPU, normalised=k).value for k in (False, True))
    assert pushed > beta(2, 2, raw) * allowed * 1.5
    assert pushed <= beta(2, 2, normalised) * allowed * (1 + 1e-12)
