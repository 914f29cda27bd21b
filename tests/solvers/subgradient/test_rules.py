"""Step rules, samplers, outputs and the optimistic method, against twins of the papers' lines."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import BIASES, LAYOUTS, LOSS_NAMES, drawn, matrix, problem, targets

from gapsvm import LinearProblem, LinearSVC, Status, Subgradient, get_loss, solve
from gapsvm.backends import get_backend
from gapsvm.solvers.subgradient.rules import (
    STEP_RULES,
    NormaRule,
    OptimisticRule,
    ZhangRule,
)
from gapsvm.solvers.subgradient.samplers import SAMPLERS
from gapsvm.theory import balanced_tau, bartlett_tau, do_phase_iterations, do_theorem2_tau
from gapsvm.training.train import SUBGRADIENT

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


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samplers(sampler):
    """Which rows are visited how often, in slices that do not divide the pass."""
    n, size, steps = 30, 4, 60
    p = problem("hinge", n, 5)
    solver = Subgradient(size, sampler=sampler)
    state = solver.init(p, CPU, np.random.default_rng(3))
    orders = []
    for part in (7, 23, 30):
        state = solver.advance(p, state, CPU, part * size)
        orders.append(state.order.copy())
    visits = state.table[0::4]
    assert visits.sum() == steps * size
    if sampler in ("permutation", "fixed", "streams"):
        assert set(visits) == {steps * size / n}  # eight whole passes
    else:
        assert len(set(visits)) > 1
    if sampler == "fixed":
        assert all(np.array_equal(order, orders[0]) for order in orders)
    if sampler in ("permutation", "streams"):
        assert not np.array_equal(orders[0], orders[-1])
    whole = solver.advance(p, solver.init(p, CPU, np.random.default_rng(3)), CPU, steps * size)
    np.testing.assert_allclose(whole.weights.w, state.weights.w, rtol=1e-9)


def test_multisets_repeat_rows_and_subsets_do_not():
    n = 6
    p = problem("hinge", n, 3)
    for sampler, alike in (("multisets", False), ("subsets", True)):
        solver = Subgradient(n, sampler=sampler)
        state = solver.advance(p, solver.init(p, CPU, np.random.default_rng(0)), CPU, n)
        assert (set(state.table[0::4]) == {1.0}) == alike


def test_uniform_average():
    p = problem("hinge", 30, 5, lam=LAM, bias="penalized")
    mean, plain = Subgradient(2, average="uniform"), Subgradient(2)
    a, b = (s.init(p, CPU, np.random.default_rng(5)) for s in (mean, plain))
    points = []
    for _ in range(25):
        now = plain.iterate(p, b)
        points.append(np.append(now.w, now.bias))
        b = plain.advance(p, b, CPU, 2)
    for steps in (4, 21):
        a = mean.advance(p, a, CPU, 2 * steps)
    got = mean.iterate(p, a)
    np.testing.assert_allclose(np.append(got.w, got.bias), np.mean(points, axis=0), rtol=1e-9)


def test_random_iterate_is_uniform():
    """Each of w_1, …, w_6 is handed out equally often, whatever the slices."""
    p, plain = problem("hinge", 20, 3, lam=LAM), Subgradient()
    counts = np.zeros(6)
    for seed in range(600):
        solver = Subgradient(average="random")
        a, b = (s.init(p, CPU, np.random.default_rng(seed)) for s in (solver, plain))
        points = []
        for _ in range(6):
            points.append(plain.iterate(p, b).w)
            b = plain.advance(p, b, CPU, 1)
        for steps in (2, 4) if seed % 2 else (6,):
            a = solver.advance(p, a, CPU, steps)
        chosen = solver.iterate(p, a).w
        matches = [k for k, w in enumerate(points) if np.allclose(w, chosen, rtol=1e-12)]
        assert matches
        counts[matches] += 1 / len(matches)
    assert np.sum((counts - 100) ** 2 / 100) < 30


@pytest.mark.parametrize("keep_w", [False, True])
def test_optimistic_is_algorithm_3(keep_w):
    """ε = 0: R grows by √2 whenever ‖w‖ reaches it, and t, τ (and w) start anew."""
    p = problem("hinge", 40, 5, lam=1e-4)
    X = p.rows.view.values
    G, _ = scales(X, 1e-4)
    solver = Subgradient(4, step_rule=OptimisticRule(keep_w))
    state = solver.init(p, CPU, np.random.default_rng(2))
    w, R, curvature, phases = np.zeros(5), 1.0, 0.0, 1
    for batch in drawn(state, 4, 200):
        pull = sum((p.y[i] * X[i] for i in batch if p.y[i] * (X[i] @ w) < 1), 0 * w) / 4
        curvature = balanced_tau([1e-4], [G], R, curvature).curvature[0]
        w = (1 - 1e-4 / curvature) * w + pull / curvature
        w *= min(1.0, 100 / max(np.linalg.norm(w), 1e-300))
        if np.linalg.norm(w) >= R:
            R, curvature, phases = R * math.sqrt(2), 0.0, phases + 1
            w = w if keep_w else 0 * w
    # a slice may end early when R grows, so the draws after it differ: compare what does not
    while state.steps < 200:
        state = solver.advance(p, state, CPU, 4)
    np.testing.assert_allclose(solver.iterate(p, state).w, w, rtol=1e-7, atol=1e-9)
    assert pytest.approx(R) == state.R
    assert state.run.phases == phases > 1


def test_optimistic_keeps_its_promise():
    """With ε > 0 it ends by itself, and the random iterate is ε-optimal more often than 1 − δ."""
    p = problem("hinge", 40, 3, lam=0.5)
    best = solve(p, Subgradient(), gap=1e-2, max_passes=3000).certificate.dual
    good = 0
    for seed in range(6):
        solver = Subgradient(8, step_rule="optimistic", average="random", eps=0.3, delta=0.5)
        result = solve(p, solver, gap=-1.0, max_passes=1e6, seed=seed)
        assert result.checkpoint.state.stop.promised
        w = solver.iterate(p, result.checkpoint.state).w
        loss = np.maximum(0, 1 - p.y * (p.rows.view.values @ w)).mean() + 0.25 * w @ w
        good += loss - best <= 0.3
    assert good >= 3
    scale = solver.scale(p, result.checkpoint.state.R)
    assert result.checkpoint.state.steps >= do_phase_iterations(
        0.3, lam=0.5, G=scale.G, R=scale.R, delta=0.5
    )


@pytest.mark.parametrize(
    ("rule", "average"),
    [
        ("pegasos", "uniform"),
        ("pegasos", "tail"),
        ("pegasos", "random"),
        ("proximal", "uniform"),
        ("bound", "random"),
    ],
)
def test_stop_at_the_theorems_count(rule, average):
    """It ends there, and the promise holds (in the mean over seeds, by far)."""
    p = problem("hinge", 60, 4, lam=0.2)
    best = solve(p, Subgradient(), gap=2e-2, max_passes=3000).certificate.dual
    solver = Subgradient(20, True, average, step_rule=rule, stop="bound", eps=0.5)
    off = []
    for seed in range(4):
        result = solve(p, solver, gap=-1.0, max_passes=1e9, seed=seed)
        assert result.status is Status.PROMISED
        state = result.checkpoint.state
        assert state.steps == state.stop.due
        off.append(result.certificate.primal - best)
    assert np.mean(off) <= 0.5


def test_stop_needs_a_theorem():
    with pytest.raises(ValueError, match="stop='bound' knows theorems for step_rule='pegasos'"):
        solve(problem("hinge"), Subgradient(step_rule="norma", stop="bound", eps=0.1), gap=0.1)
    with pytest.raises(ValueError, match="stop must be 'gap', or 'bound' or 'sampled' with eps"):
        Subgradient(stop="bound")


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
    for method in SUBGRADIENT:
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
