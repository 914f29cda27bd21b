"""SDCA against a twin written from the paper, and what it promises beyond steps."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from problems import DTYPES, INTERIOR_LOSSES, LAYOUTS, LOSS_NAMES, objective, problem

from gapsvm import SDCA, InteriorPoint, LinearProblem, get_loss, solve
from gapsvm.backends import get_backend


def twin(p, order):
    """Takáč §4 with b = 1 in the plainest Python: w(α) summed afresh for every step."""
    X = p.rows.to_scipy()
    X = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=float)
    n = len(X)
    y = p.y if p.loss.kind == "margin" else np.ones(n)
    t = np.ones(n) if p.loss.kind == "margin" else p.y
    s = np.ones(n) if p.weight.size == 1 else p.weight
    c = y * s / (p.lam * s.sum())
    alpha = np.zeros(n)
    for i in order:
        w, b = X.T @ (c * alpha), p.bias_ratio * (c @ alpha)
        z = y[i] * (X[i] @ w + b)
        q = s[i] * (X[i] @ X[i] + p.bias_ratio) / (p.lam * s.sum())
        alpha[i] = p.loss.curve.dual_step(alpha[i], z, t[i], q)
    return X.T @ (c * alpha), p.bias_ratio * (c @ alpha), alpha


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bias", ["none", "penalized"])
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_equals_its_twin(name, bias, layout, dtype):
    """Two passes over the solver's own order."""
    weight = np.random.default_rng(0).uniform(0.5, 2, 25)
    p = problem(
        name, 25, 4, layout=layout, dtype=dtype, bias=bias, bias_scale=0.7, sample_weight=weight
    )
    backend, solver = get_backend("cpu"), SDCA(shrinking=False)
    state, orders = solver.init(p, backend, np.random.default_rng(3)), []
    for k in range(2):
        ahead = state.order.copy(), state.seed.copy()
        backend.shuffle(ahead[0], 25, ahead[1])
        orders.extend(ahead[0])
        while state.rows_visited < 25 * (k + 1):
            state = solver.advance(p, state, backend, 25 * (k + 1) - state.rows_visited)
    found = solver.iterate(p, state)
    w, b, alpha = twin(p, orders)
    np.testing.assert_allclose(found.alpha, alpha, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.w, w, rtol=1e-9, atol=1e-11)
    assert found.bias == pytest.approx(b, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_no_step_lowers_the_dual(name):
    p, backend, solver = problem(name, 30, 5, lam=0.01), get_backend("cpu"), SDCA()
    state = solver.init(p, backend, np.random.default_rng(0))
    dual = -np.inf
    for _ in range(120):
        state = solver.advance(p, state, backend, 1)
        now = p.certify(solver.iterate(p, state), backend).dual
        assert now >= dual - 1e-12 * (1 + abs(now))
        dual = now


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_kept_w_does_not_drift(layout):
    """After 300 passes w is still w(α) to rounding."""
    p = problem("hinge", 200, 10, lam=1e-3, layout=layout)
    found = solve(p, SDCA(), gap=-1.0, max_passes=300).solution
    w = np.asarray(p.rows.to_scipy().T @ (p.scale * p.y * found.alpha)).ravel()
    np.testing.assert_allclose(found.w, w, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
def test_shrinking_finds_the_same_optimum(bias):
    p = problem("hinge", 300, 8, lam=1e-3, bias=bias)
    with_, without = (
        solve(p, SDCA(shrinking=s), gap=1e-7, max_passes=20000) for s in (True, False)
    )
    assert with_.converged
    assert without.converged
    assert abs(with_.certificate.primal - without.certificate.primal) <= 1e-7


def test_shrinking_leaves_rows_out():
    """Most rows are held at a bound at the optimum; the passes then count what was visited."""
    p, backend, solver = problem("hinge", 300, 3, lam=1e-2), get_backend("cpu"), SDCA()
    state, least = solver.init(p, backend, np.random.default_rng(0)), 300
    for _ in range(100):
        state = solver.advance(p, state, backend, 300)
        least = min(least, state.active)
    assert least < 150
    assert state.rows_visited < 100 * 300


@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_warm_start_at_the_optimum_stops_within_two_passes(name, bias):
    p = problem(name, 80, 6, lam=0.02, bias=bias)
    cold = solve(p, SDCA(), gap=1e-6 * p.primal_at_zero, max_passes=50000)
    assert cold.converged
    start = SDCA(alpha=cold.solution.alpha, bias=cold.solution.bias)
    warm = solve(p, start, gap=2e-6 * p.primal_at_zero, max_passes=100, seed=9)
    assert warm.converged
    assert warm.passes == 0


@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("name", ["hinge", "epsilon_insensitive", "squared_hinge"])
def test_warm_start_from_anywhere_reaches_the_optimum(name, bias):
    """An α of another problem: infeasible, unbalanced, and the bias far off."""
    p = problem(name, 60, 5, lam=0.05, bias=bias)
    alpha = np.random.default_rng(1).uniform(-2, 2, 60)
    warm = solve(p, SDCA(alpha=alpha, bias=0.4), gap=1e-6, max_passes=20000)
    assert warm.converged
    best = solve(p, InteriorPoint(), gap=1e-10)
    assert warm.certificate.primal <= best.certificate.primal + 1e-6


@pytest.mark.parametrize("name", INTERIOR_LOSSES)
def test_free_bias_needs_no_penalty(name):
    """The proximal centre moves until Σ s σ α = 0: the optimum of the interior point."""
    p = problem(name, 60, 5, lam=0.05, bias="free")
    found = solve(p, SDCA(), gap=1e-7, max_passes=20000)
    best = solve(p, InteriorPoint(), gap=1e-10)
    assert found.converged
    assert objective(p, found.solution.w, found.solution.bias) <= best.certificate.primal + 2e-7


def test_rows_without_weight_are_never_visited():
    weight = np.ones(50)
    weight[::3] = 0
    p = problem("hinge", 50, 5, sample_weight=weight, bias="free")
    result = solve(p, SDCA(), gap=1e-6)
    assert result.converged
    assert not result.solution.alpha[::3].any()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("gap", [1e-3, 5e-7])
def test_single_precision_weights_reach_any_usual_gap(layout, bias, gap):
    """w in float32 drifts; the certificate is float64 all the same and bounds P − P*."""
    p = problem("hinge", 300, 20, layout=layout, dtype=np.float32, lam=0.01, bias=bias)
    result = solve(p, SDCA(single=True), gap=gap, max_passes=2000)
    best = solve(p, InteriorPoint(), gap=1e-10)
    assert result.converged
    assert result.solution.w.dtype == np.float64
    assert -1e-9 <= result.certificate.primal - best.certificate.primal <= result.gap + 1e-9


@pytest.mark.parametrize("layout", LAYOUTS)
def test_threads_change_nothing(layout, monkeypatch):
    """Several parts of a screening and of a certificate."""
    monkeypatch.setattr("gapsvm.solvers.sdca.serial._PART_VALUES", 200_000)
    monkeypatch.setattr("gapsvm.problems.linear._PART_VALUES", 200_000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 30)).astype(np.float32)
    y = np.where(X[:, 0] + rng.normal(size=40_000) > 0, 1.0, -1.0)
    p = LinearProblem(sp.csr_matrix(X) if layout == "csr" else X, y, get_loss("hinge"), 1e-4)
    one, *more = (
        solve(p, SDCA(), gap=1e-4, backend=get_backend("cpu", threads)) for threads in (1, 2, 3)
    )
    assert one.converged
    for other in more:
        np.testing.assert_array_equal(other.solution.alpha, one.solution.alpha)
        assert other.certificate.primal == one.certificate.primal
        assert other.certificate.dual == one.certificate.dual


@pytest.mark.parametrize("streams", [0, 1, 7])
def test_streams(streams):
    p = problem("hinge", 300, 5, lam=1e-3)
    assert solve(p, SDCA(streams=streams), gap=1e-6, max_passes=5000).converged


def nearly_alike(lam=1e-3, **options):
    """Every row has a neighbour that differs by little, and the other label here and there."""
    rng = np.random.default_rng(4)
    base = rng.normal(size=(150, 300))
    X = np.concatenate([base, base + 0.1 * rng.normal(size=base.shape)])
    y = np.where(rng.random(300) < 0.5, 1.0, -1.0)
    y[150:] = np.where(rng.random(150) < 0.9, y[:150], -y[:150])
    return LinearProblem(X, y, get_loss("hinge"), lam, **options)


@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
def test_subspace_steps_save_passes_and_lead_to_the_same_optimum(bias):
    p = nearly_alike(bias=bias)
    plain, faster = (
        solve(p, SDCA(subspace_steps=on), gap=1e-8, max_passes=5000, seed=1) for on in (False, True)
    )
    assert faster.converged
    assert faster.trace[-1].passes < 0.8 * plain.trace[-1].passes
    assert faster.certificate.primal == pytest.approx(plain.certificate.primal, abs=2e-8)


def test_subspace_steps_resume_bit_for_bit():
    """The last moves are part of the state: a copy goes on as the original does."""
    p, backend, solver = nearly_alike(), get_backend("cpu"), SDCA()
    state = solver.init(p, backend, np.random.default_rng(0))
    while not state.last_moves:
        state = solver.advance(p, state, backend, 100)
    other = copy.deepcopy(state)
    for _ in range(30):
        state = solver.advance(p, state, backend, 100)
        other = solver.advance(p, other, backend, 100)
    assert state.rows_visited == other.rows_visited
    np.testing.assert_array_equal(state.table, other.table)
    np.testing.assert_array_equal(state.w, other.w)
