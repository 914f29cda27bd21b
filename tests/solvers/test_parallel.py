"""Several threads that step at once: certified, deterministic, given up where they do not pay."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from problems import BIASES, LAYOUTS, LOSS_NAMES, problem

from gapsvm import SDCA, LinearProblem, get_loss, solve
from gapsvm.backends import get_backend
from gapsvm.solvers.sdca import parallel
from gapsvm.solvers.sdca.serial import bias_ratio
from gapsvm.types.tables import ALPHA, SIGNED_WEIGHT

TWO = get_backend("cpu", 2)


@pytest.fixture(autouse=True)
def short_passes_count_as_long(monkeypatch):
    monkeypatch.setattr(parallel, "_PASS_VALUES", 100)


def table_data(n=3000, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_parallel_steps_are_certified(name, bias, layout, monkeypatch):
    monkeypatch.setattr(parallel, "_WORTH", 0.0)  # always
    p = problem(name, 400, 5, lam=1e-2, bias=bias, layout=layout)
    assert parallel.worth_threads(p, TWO, p.n_rows)
    result = solve(p, SDCA(), gap=1e-5 * p.primal_at_zero, backend=TWO, max_passes=3000)
    assert result.converged
    assert result.checkpoint.state.in_parallel
    best = solve(p, SDCA(), gap=1e-8 * p.primal_at_zero, max_passes=10_000)
    excess = result.certificate.primal - best.certificate.primal
    assert -1e-9 <= excess <= result.gap + 1e-9


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_the_same_seed_and_threads_give_the_same_model(threads):
    X, y = table_data()
    p = LinearProblem(X, y, get_loss("hinge"), 1e-4)
    backend = get_backend("cpu", threads)
    one, again = (solve(p, SDCA(), gap=1e-4, backend=backend) for _ in range(2))
    assert one.converged
    np.testing.assert_array_equal(one.solution.alpha, again.solution.alpha)
    np.testing.assert_array_equal(one.solution.w, again.solution.w)


def test_w_stays_w_of_alpha_and_no_row_is_lost():
    X, y = table_data()
    p = LinearProblem(X, y, get_loss("hinge"), 1e-3, bias="penalized")
    solver = SDCA(shrinking=False)
    state = solver.init(p, TWO, np.random.default_rng(0))
    while state.rows_visited < 4 * p.n_rows:
        state.in_parallel = state.rows_visited > p.n_rows
        state = solver.advance(p, state, TWO, 777)
        c = state.table[:, SIGNED_WEIGHT] * state.table[:, ALPHA]
        np.testing.assert_allclose(state.w, X.T @ c, atol=1e-9)
        assert state.bias == pytest.approx(bias_ratio(p) * c.sum(), abs=1e-9)
        np.testing.assert_array_equal(np.sort(state.order), np.arange(p.n_rows))
    assert np.isfinite(state.overlap)


def test_a_round_raises_the_dual_if_sigma_covers_the_overlap():
    X, y = table_data(n=2000)
    p = LinearProblem(X, y, get_loss("hinge"), 1e-4)
    solver = SDCA(shrinking=False)
    state = solver.init(p, TWO, np.random.default_rng(0))
    dual, checked = 0.0, 0
    for _ in range(60):
        state.in_parallel = True
        covered = parallel.sigma_of(state.overlap, 2)
        state = solver.advance(p, state, TWO, parallel.round_size(p))
        now = p.certify(solver.iterate(p, state), TWO).dual
        if state.overlap <= covered:
            assert now >= dual - 1e-12
            checked += 1
        dual = now
    assert checked > 30


@pytest.mark.parametrize("threads", [2, 8])
def test_parts_that_go_the_same_way_do_not_pay(threads):
    assert parallel.pay(0.9, threads)
    assert not parallel.pay(float(threads), threads)
    assert not parallel.pay(np.inf, threads)
    assert not parallel.pay(0.9, 1)


def test_where_they_do_not_pay_the_steps_are_those_of_one_thread(monkeypatch):
    """Those of the round in which the overlap is measured are taken back."""
    monkeypatch.setattr(parallel, "_WORTH", 10.0)
    X, y = table_data()
    p = LinearProblem(X, y, get_loss("hinge"), 1e-4)
    one, two = (solve(p, SDCA(), gap=1e-4, backend=get_backend("cpu", k)) for k in (1, 2))
    assert not two.checkpoint.state.in_parallel
    assert 0.0 < two.checkpoint.state.overlap <= 2.0
    np.testing.assert_array_equal(one.solution.alpha, two.solution.alpha)
    np.testing.assert_array_equal(one.solution.w, two.solution.w)


def test_rows_that_hardly_overlap_go_to_threads():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 500)), rng.choice([-1.0, 1.0], 4000)
    p = LinearProblem(X, y, get_loss("hinge"), 1.0)
    solver = SDCA(shrinking=False)
    state = solver.init(p, TWO, np.random.default_rng(0))
    while state.rows_visited < 3 * p.n_rows:
        state = solver.advance(p, state, TWO, p.n_rows)
    assert state.in_parallel
    assert solve(p, SDCA(), gap=1e-4, backend=TWO).converged


def test_wide_data_take_the_steps_of_one_thread(monkeypatch):
    X = sp.random(500, 5000, 0.01, format="csr", random_state=0)
    y = np.where(np.asarray(X.sum(axis=1)).ravel() > 25, 1.0, -1.0)
    p = LinearProblem(X, y, get_loss("hinge"), 1e-3)
    assert not parallel.worth_threads(p, TWO, p.n_rows)
    one, two = (solve(p, SDCA(), gap=1e-4, backend=get_backend("cpu", k)) for k in (1, 2))
    np.testing.assert_array_equal(one.solution.alpha, two.solution.alpha)


def test_parallel_steps_can_be_turned_off():
    X, y = table_data()
    p = LinearProblem(X, y, get_loss("hinge"), 1e-4)
    one = solve(p, SDCA(), gap=1e-4)
    off = solve(p, SDCA(parallel=False), gap=1e-4, backend=TWO)
    np.testing.assert_array_equal(one.solution.alpha, off.solution.alpha)
