"""Step rules against twins of the papers' lines, and what they reach."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import BIASES, LAYOUTS, LOSS_NAMES, drawn, matrix, problem, targets

from gapsvm import LinearProblem, LinearSVC, Subgradient, get_loss, solve
from gapsvm.backends import get_backend
from gapsvm.solvers.subgradient.rules import (
    STEP_RULES,
    NormaRule,
    ZhangRule,
)
from gapsvm.theory import balanced_tau, bartlett_tau, do_theorem2_tau

CPU = get_backend("cpu")
T, LAM = 40, 0.05


def scales(X, lam):
    """G and R of Do §3.3: the hinge over the ball of radius 1/√λ."""
    return np.linalg.norm(X, axis=1).max() + math.sqrt(lam), 1 / math.sqrt(lam)


def expected_rates(rule, X, lam):
    """(η_t, κ_t) for t = 1, …, T, from the papers' formulas."""
    G, R = scales(X, lam)
    t, none = np.arange(1.0, T + 1), np.zeros(T)
    if rule == "pegasos":
        return 1 / (lam * t), none
    if rule == "norma":
        return 0.5 * math.sqrt(2 + 0.5 * T**-0.5) / (lam * np.sqrt(t)), none
    if rule == "zhang":
        return np.full(T, R / (G * math.sqrt(T))), none
    if rule == "bound":
        return 1 / (lam * t + do_theorem2_tau(T, lam=lam, G=G, R=R)), none
    found = (balanced_tau if rule == "proximal" else bartlett_tau)(
        np.full(T, lam), np.full(T, G), R
    )
    return 1 / found.curvature, none if rule == "proximal" else found.tau


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("rule", [name for name in STEP_RULES if name != "optimistic"])
def test_rules_are_the_papers(rule, project, layout):
    """w ← Π[(1 − η(λ + κ))w + η·mean], line by line, in two uneven slices."""
    p = problem("hinge", 30, 5, lam=LAM, layout=layout)
    X = p.rows.to_scipy()
    X = np.asarray(X.todense() if layout == "csr" else X, dtype=float)
    solver = Subgradient(3, project, step_rule=rule, horizon=T)
    state = solver.init(p, CPU, np.random.default_rng(8))
    eta, kappa = expected_rates(rule, X, LAM)
    w = np.zeros(5)
    for t, batch in enumerate(drawn(state, 3, T)):
        pull = sum((p.y[i] * X[i] for i in batch if p.y[i] * (X[i] @ w) < 1), 0 * w) / 3
        w = (1 - eta[t] * (LAM + kappa[t])) * w + eta[t] * pull
        if project:
            w *= min(1.0, 1 / math.sqrt(LAM) / max(np.linalg.norm(w), 1e-300))
    for steps in (13, T - 13):
        state = solver.advance(p, state, CPU, 3 * steps)
    np.testing.assert_allclose(solver.iterate(p, state).w, w, rtol=1e-8, atol=1e-10)


def test_rules_with_their_own_parameters():
    p = problem("hinge", 30, 5, lam=LAM)
    for rule, rate in ((NormaRule(0.3), 0.3 / LAM), (ZhangRule(0.7), 0.7)):
        solver = Subgradient(step_rule=rule)
        state = solver.init(p, CPU, np.random.default_rng(0))
        i = drawn(state, 1, 1)[0, 0]
        state = solver.advance(p, state, CPU, 1)
        want = rate * p.y[i] * p.rows.view.values[i]
        np.testing.assert_allclose(solver.iterate(p, state).w, want)


def test_a_ball_of_any_radius():
    """‖w‖ ≤ B throughout, and the projection acts."""
    p = problem("hinge", 60, 5, lam=1e-3)
    solver = Subgradient(2, 0.1)
    state = solver.init(p, CPU, np.random.default_rng(0))
    for _ in range(50):
        state = solver.advance(p, state, CPU, 6)
        assert np.linalg.norm(solver.iterate(p, state).w) <= 0.1 * (1 + 1e-9)
    assert np.linalg.norm(solver.iterate(p, state).w) == pytest.approx(0.1)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", LOSS_NAMES)
@pytest.mark.parametrize("rule", ["adaptive", "proximal", "bound", "optimistic"])
def test_every_rule_with_every_loss(rule, name, bias):
    """Certified progress, an honest gap."""
    p = problem(name, 50, 5, lam=0.2, bias=bias)
    solver = Subgradient(5, True, step_rule=rule, horizon=20000)
    result = solve(p, solver, gap=0.2 * p.primal_at_zero, max_passes=3000)
    assert result.gap >= -1e-12
    assert result.converged, result.gap / p.primal_at_zero


def test_methods_by_name():
    X = matrix(300, 5)
    y = targets(X, "margin")
    for method in STEP_RULES:
        if method in ("norma", "zhang"):  # made for a fixed number of steps
            continue
        model = LinearSVC(method=method, lam=0.1, tol=0.05, random_state=0).fit(X, y)
        assert model.method_ == method
        assert model.dual_gap_ <= 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step_rule": "bold"}, "unknown step rule 'bold' .did you mean 'bound'"),
        ({"average": "mean"}, "average must be one of"),
        ({"sampler": "all"}, "sampler must be one of subsets, multisets, permutation, fixed"),
        ({"projection": -1.0}, "projection must be a bool or a radius"),
    ],
)
def test_impossible_values(options, message):
    with pytest.raises(ValueError, match=message):
        Subgradient(**options)


def test_full_batch_is_gradient_descent():
    """k = n: the subgradient of P itself; a fixed seed changes nothing."""
    X = matrix(20, 4)
    p = LinearProblem(X, targets(X, "margin"), get_loss("smoothed_hinge"), 0.1)
    runs = []
    for seed in (0, 1):
        solver = Subgradient(20)
        state = solver.init(p, CPU, np.random.default_rng(seed))
        runs.append(solver.iterate(p, solver.advance(p, state, CPU, 20 * 10)).w)
    np.testing.assert_allclose(*runs, rtol=1e-9)
