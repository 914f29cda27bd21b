"""The multiclass problem: its losses, its dual, its certificate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import DTYPES, LAYOUTS, matrix

from gapsvm import MulticlassProblem
from gapsvm.backends import get_backend
from gapsvm.problems.multiclass import MULTICLASS_LOSSES, MulticlassIterate
from gapsvm.types.curves import MulticlassCurve

K = 4
BACKEND = get_backend("cpu")
COSTS = np.random.default_rng(1).uniform(0.5, 2.0, (K, K)) * (1 - np.eye(K))
every_loss = pytest.mark.parametrize("loss", MULTICLASS_LOSSES)
numbers = st.floats(-20, 20, allow_nan=False)


def problem(loss, n=30, d=5, *, lam=0.05, layout="dense", dtype=np.float64, seed=0, **options):
    X = matrix(n, d, seed, layout, dtype)
    y = np.random.default_rng(seed + 1).integers(0, K, n)
    return MulticlassProblem(X, y, K, loss, lam, **options)


def phi(loss, costs, z, y):
    """The two losses as Pegasos §5 writes them."""
    if loss == "multinomial":
        return np.log(1 + sum(np.exp(z[r] - z[y]) for r in range(len(z)) if r != y))
    return max(costs[y, r] - z[y] + z[r] for r in range(len(z)))


def dense(p):
    X = p.rows.to_scipy()
    X = np.asarray(X.todense() if p.rows.is_sparse else X, dtype=float)
    return np.hstack([X, np.full((p.n_rows, 1), p.bias_scale)])


def primal(p, W, bias):
    """P, written again row by row."""
    last = bias / p.bias_scale if p.bias_scale else 0 * bias
    W = np.vstack([W, last])
    total = sum(
        s * phi(p.loss, p.curve.costs, x @ W, y) for s, x, y in zip(p.weight, dense(p), p.y)
    )
    return total / p.weight.sum() + 0.5 * p.lam * np.sum(W**2)


def dual(p, A):
    """D and W(A), written again row by row."""
    W, total = np.zeros((p.n_features + 1, K)), 0.0
    for s, x, y, a in zip(p.weight, dense(p), p.y, A):
        W += s * np.outer(x, np.eye(K)[y] - a) / (p.lam * p.weight.sum())
        total += s * (a @ p.curve.costs[y])
        if p.loss == "multinomial":
            total -= s * sum(v * np.log(v) for v in a if v > 0)
    return total / p.weight.sum() - 0.5 * p.lam * np.sum(W**2), W


def simplex(n, rng):
    """Distributions over the classes, some of them certain."""
    A = rng.dirichlet(np.full(K, 0.5), n)
    sure = rng.random(n) < 0.3
    A[sure] = np.eye(K)[rng.integers(0, K, sure.sum())]
    return A


def curve(loss):
    return problem(loss).curve if loss == "multinomial" else MulticlassCurve(COSTS, 0.0)


@every_loss
@given(st.lists(numbers, min_size=K, max_size=K), st.integers(0, K - 1))
def test_values(loss, z, y):
    c, z = curve(loss), np.array(z)
    assert float(c.value(z, y)) == pytest.approx(phi(loss, COSTS, z, y), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize(
    "c", [curve(loss) for loss in MULTICLASS_LOSSES] + [MulticlassCurve(COSTS, 0.3)]
)
@pytest.mark.parametrize("seed", range(5))
def test_subgradients_are_finite_differences(c, seed):
    """a* − e_y, where the loss has a derivative: almost everywhere."""
    rng = np.random.default_rng(seed)
    z, y, h = rng.normal(size=K), seed % K, 1e-6
    slopes = [(c.value(z + h * e, y) - c.value(z - h * e, y)) / (2 * h) for e in np.eye(K)]
    np.testing.assert_allclose(c.maximiser(z, y) - np.eye(K)[y], slopes, atol=1e-8)


@every_loss
@given(
    st.lists(numbers, min_size=K, max_size=K),
    st.lists(numbers, min_size=K, max_size=K),
    st.integers(0, K - 1),
)
def test_subgradients_support_the_loss(loss, z, other, y):
    """φ(u) ≥ φ(z) + ⟨a* − e_y, u − z⟩, and Fenchel–Young holds with equality at a*."""
    c, z, u = curve(loss), np.array(z), np.array(other)
    a = c.maximiser(z, y)
    g = a - np.eye(K)[y]
    assert c.value(u, y) >= c.value(z, y) + g @ (u - z) - 1e-9
    assert float(c.value(z, y) + c.conjugate(a, y)) == pytest.approx(g @ z, abs=1e-9)


def test_large_scores_and_small_losses():
    """No overflow, and e^−50 is not lost beside 1."""
    c = curve("multinomial")
    assert float(c.value(np.array([1e4, 0, 0, 0.0]), 1)) == 1e4
    z = np.array([50.0, 0.0, -1e3, -1e3])
    assert float(c.value(z, 0)) == pytest.approx(np.exp(-50.0), rel=1e-12)


@every_loss
@pytest.mark.parametrize("bias", ["none", "penalized"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [True, False])
def test_certificate_is_p_and_d(loss, bias, layout, dtype, weighted):
    rng = np.random.default_rng(3)
    options = {"sample_weight": rng.uniform(0, 3, 30)} if weighted else {}
    if loss == "crammer_singer" and weighted:
        options["costs"] = COSTS
    p = problem(loss, bias=bias, layout=layout, dtype=dtype, bias_scale=1.5, **options)
    W, A = rng.normal(size=(5, K)), simplex(30, rng)
    b = rng.normal(size=K) if bias == "penalized" else np.zeros(K)
    for backend in ("cpu", "reference"):
        found = p.certify(MulticlassIterate(W, b, A), get_backend(backend))
        assert found.primal == pytest.approx(primal(p, W, b), rel=1e-10)
        assert found.dual == pytest.approx(dual(p, A)[0], rel=1e-10)
        np.testing.assert_allclose(found.solution.bias, b)
        own = p.certify(MulticlassIterate(None, None, A), get_backend(backend))
        _, combination = dual(p, A)
        np.testing.assert_allclose(own.solution.W, combination[:-1], atol=1e-10)
        np.testing.assert_allclose(own.solution.bias, p.bias_scale * combination[-1], atol=1e-10)
        assert own.primal == pytest.approx(primal(p, own.solution.W, own.solution.bias), rel=1e-10)


@settings(max_examples=60)
@given(
    loss=st.sampled_from(MULTICLASS_LOSSES),
    bias=st.sampled_from(["none", "penalized"]),
    seed=st.integers(0, 2**32 - 1),
    lam=st.floats(1e-4, 10),
    size=st.floats(0, 10),
)
def test_weak_duality(loss, bias, seed, lam, size):
    """P(W) ≥ D(A) for any W and any A in the simplex; the best of several is no worse."""
    rng = np.random.default_rng(seed)
    options = {"costs": COSTS} if loss == "crammer_singer" and seed % 2 else {}
    weight = rng.uniform(0, 2, 30)
    p = problem(loss, lam=lam, bias=bias, sample_weight=weight, **options)
    W, b, A = size * rng.normal(size=(5, K)), size * rng.normal(size=K), simplex(30, rng)
    if bias == "none":
        b[:] = 0.0
    found = p.certify(MulticlassIterate(W, b, A), BACKEND)
    best = p.certify(MulticlassIterate(W, b, A, try_others=True), BACKEND)
    assert found.gap >= -1e-10 * max(1.0, abs(found.primal))
    assert best.gap >= -1e-10 * max(1.0, abs(best.primal))
    assert best.primal <= found.primal
    assert best.dual >= found.dual


def test_gap_of_the_maximisers():
    """P(W) − D(A*(W)) = (λ/2)‖W − W(A*)‖²: rows have no Fenchel gap."""
    p, W = problem("multinomial"), np.random.default_rng(2).normal(size=(5, K))
    A = p.curve.maximiser(dense(p)[:, :-1] @ W, p.y)
    found = p.certify(MulticlassIterate(W, np.zeros(K), A), BACKEND)
    distance = np.sum((W - dual(p, A)[1][:-1]) ** 2)
    assert found.gap == pytest.approx(0.5 * p.lam * distance, rel=1e-10)


@every_loss
def test_outside_the_simplex(loss):
    p, W, A = problem(loss), np.zeros((5, K)), np.full((30, K), 0.25)
    for wrong in ([0.5, 0.5, 0.5, -0.5], [0.5, 0.5, 0.5, 0.5], [0.0] * 4, [np.nan, 0, 0, 1]):
        A[7] = wrong
        assert p.certify(MulticlassIterate(W, np.zeros(K), A), BACKEND).dual == -np.inf
    A[7] = np.array([0.1, 0.2, 0.3, 0.4]) * (1 + 1e-12)  # rounding is forgiven, and put right
    found = p.certify(MulticlassIterate(W, np.zeros(K), A), BACKEND)
    assert np.isfinite(found.dual)
    np.testing.assert_allclose(found.solution.A.sum(axis=1), 1.0, rtol=1e-15)


@every_loss
def test_weights_are_repetitions(loss):
    rng = np.random.default_rng(4)
    X, y, times = rng.normal(size=(12, 3)), rng.integers(0, K, 12), rng.integers(0, 4, 12)
    W, A = rng.normal(size=(3, K)), simplex(12, rng)
    weighted = MulticlassProblem(X, y, K, loss, 0.1, sample_weight=times)
    X, y, more = (np.repeat(part, times, axis=0) for part in (X, y, A))
    repeated = MulticlassProblem(X, y, K, loss, 0.1)
    a = weighted.certify(MulticlassIterate(W, np.zeros(K), A), BACKEND)
    b = repeated.certify(MulticlassIterate(W, np.zeros(K), more), BACKEND)
    assert a.primal == pytest.approx(b.primal, rel=1e-12)
    assert a.dual == pytest.approx(b.dual, rel=1e-12)
    assert weighted.primal_at_zero == pytest.approx(repeated.primal_at_zero, rel=1e-12)


@every_loss
@pytest.mark.parametrize("weighted", [True, False])
def test_objective_at_zero(loss, weighted):
    options = {"sample_weight": np.arange(30.0)} if weighted else {}
    p = problem(loss, **options)
    assert p.primal_at_zero == pytest.approx(primal(p, np.zeros((5, K)), np.zeros(K)), rel=1e-12)
    assert p.primal_at_zero == pytest.approx(1.0 if loss == "crammer_singer" else np.log(K))


X, Y = np.ones((3, 2)), [0, 1, 2]
MISTAKES = {
    "unknown multiclass loss 'hinge'": {"loss": "hinge"},
    "bias must be 'none' or 'penalized'": {"bias": "free"},
    "lam must be positive": {"lam": 0.0},
    "bias_scale must be positive": {"bias_scale": 0.0, "bias": "penalized"},
    "n_classes must be at least 2": {"n_classes": 1, "y": [0, 0, 0]},
    "y has shape": {"y": [0, 1]},
    "whole numbers from 0 to n_classes - 1 = 2": {"y": [0, 1, 3]},
    "whole numbers": {"y": [0, 0.5, 1]},
    "whole numbers from 0": {"y": ["a", "b", "c"]},
    "costs must be 3 by 3": {"costs": np.zeros((2, 2))},
    "0 on the diagonal": {"costs": np.ones((3, 3))},
    "costs must be finite, >= 0": {"costs": np.eye(3) - 1},
    "'multinomial' has none": {"loss": "multinomial", "costs": np.zeros((3, 3))},
    "sample_weight contains negative": {"sample_weight": [1, 1, -1]},
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_are_explained(message):
    given = {"y": Y, "n_classes": 3, "loss": "crammer_singer", "lam": 1.0} | MISTAKES[message]
    with pytest.raises(ValueError, match=message):
        MulticlassProblem(X, **given)
