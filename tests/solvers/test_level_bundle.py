"""The level bundle: where it asks next, by its definition; and how soon it arrives."""

from __future__ import annotations

import numpy as np
import pytest
from problems import matrix, targets

from gapsvm import Bundle, LevelBundle, LinearProblem, get_loss, solve
from gapsvm.backends import get_backend
from gapsvm.problems.risks import risk_of

CPU = get_backend("cpu")
X = matrix(60, 4)
LABELS = targets(X, "margin")


def problem(lam):
    return LinearProblem(X, LABELS, get_loss("hinge"), lam)


@pytest.mark.parametrize("level", [0.2, 0.5, 0.8])
def test_the_next_point_is_the_nearest_below_its_level(level):
    """No point with so low a model is nearer to the best one; the level lies in the band."""
    p, solver, rng = problem(1e-2), LevelBundle(level=level), np.random.default_rng(1)
    state = solver.init(p, CPU, np.random.default_rng(0))
    for _ in range(6):
        cuts_before = len(state.cuts)
        state = solver.advance(p, state, CPU, p.n_rows)
        assert len(state.cuts) == cuts_before + 1
        slopes = np.array([cut.slope for cut in state.cuts.cuts])

        def model(v, slopes=slopes, heights=state.cuts.offsets):
            return np.max(v @ slopes.T + heights, axis=1) + 0.5 * p.lam * np.sum(v * v, axis=1)

        goal = model(state.w[None])[0]
        found = (goal - state.lower) / (state.best - state.lower)
        assert 0.5 * level - 1e-9 <= found <= 0.5 + 0.5 * level + 1e-9
        others = state.w + rng.normal(size=(20_000, 4)) * 10.0 ** rng.uniform(-5, 1, (20_000, 1))
        below = others[model(others) <= goal]
        assert len(below) > 100
        nearest = np.min(np.linalg.norm(below - state.best_w, axis=1))
        assert nearest >= np.linalg.norm(state.w - state.best_w) - 1e-9


def test_it_certifies_in_half_the_iterations_where_the_penalty_is_weak():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 12))
    y = np.where(rows[:, 0] + 2.0 * rng.normal(size=400) > 0, 1.0, -1.0)
    p = LinearProblem(rows, y, get_loss("hinge"), 1e-6)
    standard, level = (solve(p, s, gap=1e-3, max_passes=3000) for s in (Bundle(), LevelBundle()))
    assert standard.converged
    assert level.converged
    assert 2 * level.passes <= standard.passes


def test_a_start_at_the_optimum_stays_there():
    p = problem(1e-2)
    before = solve(p, LevelBundle(), gap=1e-10)
    state = LevelBundle(start=before.solution).init(p, CPU, np.random.default_rng(0))
    state = LevelBundle().advance(p, state, CPU, p.n_rows)
    assert state.best - state.lower <= 1e-9
    assert risk_of(p).ask(state.w, CPU).value + 0.5 * p.lam * state.w @ state.w <= state.best + 1e-9


@pytest.mark.parametrize("level", [0.0, 1.0, float("nan")])
def test_levels_lie_between_the_bounds(level):
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        LevelBundle(level=level)
