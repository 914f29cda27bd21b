"""Pegasos against twins of Figures 1 and 2, and its certificate."""

from __future__ import annotations

import numpy as np
import pytest
from problems import BIASES, DTYPES, LAYOUTS, LOSS_NAMES, drawn, dual_objective, objective, problem

from gapsvm import Pegasos, solve
from gapsvm.backends import get_backend


def figure_1(X, y, lam, indices, project):
    """Pegasos, Figure 1, line by line."""
    w = np.zeros(X.shape[1])
    for t, i in enumerate(indices, start=1):
        eta = 1 / (lam * t)
        if y[i] * (w @ X[i]) < 1:
            w = (1 - eta * lam) * w + eta * y[i] * X[i]
        else:
            w = (1 - eta * lam) * w
        if project:
            w = min(1, (1 / np.sqrt(lam)) / max(np.linalg.norm(w), 1e-300)) * w
    return w


def figure_2(X, y, lam, batches, project):
    """Pegasos, Figure 2: A_t⁺ are the rows of the batch with a margin below 1."""
    w = np.zeros(X.shape[1])
    for t, batch in enumerate(batches, start=1):
        plus = [i for i in batch if y[i] * (w @ X[i]) < 1]
        eta = 1 / (lam * t)
        w = (1 - eta * lam) * w + eta / len(batch) * sum((y[i] * X[i] for i in plus), 0 * w)
        if project:
            w = min(1, (1 / np.sqrt(lam)) / max(np.linalg.norm(w), 1e-300)) * w
    return w


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("batch", [1, 3, 30])
def test_equals_the_figures(batch, project, layout, dtype):
    """The same indices, 40 steps in two slices; λ = 2 makes the projection act."""
    p = problem("hinge", 30, 5, lam=2.0, layout=layout, dtype=dtype)
    X = p.rows.to_scipy()
    X = np.asarray(X.todense() if layout == "csr" else X, dtype=float)
    solver, backend = Pegasos(batch, project), get_backend("cpu")
    state = solver.init(p, backend, np.random.default_rng(8))
    batches = drawn(state, batch, 40)
    for steps in (15, 25):
        state = solver.advance(p, state, backend, steps * batch)
    got = solver.iterate(p, state)
    if batch == 1:
        want = figure_1(X, p.y, 2.0, np.ravel(batches), project)
    else:
        want = figure_2(X, p.y, 2.0, batches, project)
    np.testing.assert_allclose(got.w, want, rtol=1e-9, atol=1e-11)
    if project:
        free = figure_2(X, p.y, 2.0, batches, False)
        assert np.linalg.norm(want) <= np.sqrt(0.5) + 1e-12
        assert batch > 1 or not np.allclose(free, want)


def test_certificate_counts_violations_per_visit():
    """α_i = violations/visits, 0 if unvisited (DESIGN §3), seen through Figure 1."""
    p, solver, backend = problem("hinge", 20, 4), Pegasos(), get_backend("cpu")
    state = solver.init(p, backend, np.random.default_rng(1))
    indices = drawn(state, 1, 15)[:, 0]
    state = solver.advance(p, state, backend, 15)
    X, w = p.rows.to_scipy(), np.zeros(4)
    visits, violations = np.zeros(20), np.zeros(20)
    for t, i in enumerate(indices, start=1):
        bad = p.y[i] * (X[i] @ w) < 1
        visits[i] += 1
        violations[i] += bad
        w = (1 - 1 / t) * w + bad * p.y[i] * X[i] / (p.lam * t)
    alpha = solver.iterate(p, state).alpha
    np.testing.assert_array_equal(alpha[visits == 0], 0)
    np.testing.assert_allclose(alpha, violations / np.maximum(visits, 1))


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_reports_the_better_of_two_points(name, bias):
    """P of the certified point is at most P(w) and P(w(α)), and D is that of α."""
    p, backend = problem(name, 40, 5, lam=0.1, bias=bias), get_backend("cpu")
    solver = Pegasos()
    state = solver.advance(p, solver.init(p, backend, np.random.default_rng(0)), backend, 400)
    iterate = solver.iterate(p, state)
    found = p.certify(iterate, backend)
    got = found.solution
    assert found.primal == pytest.approx(objective(p, got.w, got.bias), rel=1e-12)
    assert found.dual == pytest.approx(dual_objective(p, got.alpha), rel=1e-9, abs=1e-12)
    assert found.primal <= objective(p, iterate.w, iterate.bias) * (1 + 1e-12)
    assert found.gap >= -1e-12


@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", ["hinge", "smoothed_hinge", "logistic", "epsilon_insensitive"])
def test_converges_to_a_certified_gap(name, bias, batch, projection):
    p = problem(name, 50, 5, lam=0.2, bias=bias)
    target = 0.05 * p.primal_at_zero
    assert solve(p, Pegasos(batch, projection), gap=target, max_passes=4000).converged


def test_impossible_batches():
    for size in (0, 41):
        with pytest.raises(ValueError, match="batch_size must be between 1 and n = 40"):
            solve(problem("hinge", 40), Pegasos(size), gap=1e-3)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_w_of_next_to_nothing(layout):
    """‖w‖² is kept as a sum of changes, which rounding can leave below zero."""
    p = problem("epsilon_insensitive", 4, 1, lam=0.1, bias="free", layout=layout)
    result = solve(p, Pegasos(4, projection=True), gap=0.0, max_passes=2, seed=2)
    assert np.isfinite(result.gap)
