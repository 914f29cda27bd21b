"""Do's Algorithm 3 against a twin of its lines, and its promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import drawn, problem

from gapsvm import Subgradient, solve
from gapsvm.backends import get_backend
from gapsvm.solvers.subgradient.rules import OptimisticRule
from gapsvm.theory import balanced_tau, do_phase_iterations

CPU = get_backend("cpu")


@pytest.mark.parametrize("keep_w", [False, True])
def test_optimistic_is_algorithm_3(keep_w):
    """ε = 0: R grows by √2 whenever ‖w‖ reaches it, and t, τ (and w) start anew."""
    p = problem("hinge", 40, 5, lam=1e-4)
    X = p.rows.view.values
    G = np.linalg.norm(X, axis=1).max() + 1e-2  # Do §3.3: over the ball of radius 1/√λ
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
