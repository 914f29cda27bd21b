"""Newton's step on the free rows of a kernel machine."""

from __future__ import annotations

import numpy as np
import pytest
from problems import INTERIOR_LOSSES, feasible_points, matrix, targets

from gapsvm import get_loss, solve
from gapsvm.kernels.registry import get_kernel
from gapsvm.kernels.rows import FeatureRows
from gapsvm.problems.kernel import KernelIterate, KernelProblem
from gapsvm.solvers.working_set import solver as rounds
from gapsvm.solvers.working_set.face import free_rows, stepped_on_face
from gapsvm.solvers.working_set.solver import WorkingSet


def problem_of(name, n=80, *, bias="free", C=50.0, seed=0, gamma=0.3):
    loss, X = get_loss(name), matrix(n, 4, seed)
    rows = FeatureRows(X, get_kernel("rbf", gamma=gamma))
    return KernelProblem(rows, targets(X, loss.kind, seed), loss, 1 / (C * n), bias=bias)


def dual(problem, coef):
    return problem.certify(KernelIterate(problem.alpha_of(coef), 0.0), problem.rows.backend).dual


@pytest.mark.parametrize("gamma", [0.3, 0.0], ids=["rbf", "all alike"])
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("name", INTERIOR_LOSSES)
def test_a_step_stays_in_the_box_and_raises_the_dual(name, bias, gamma):
    """Whatever the point, also where rows leave by their bounds and where K_FF is singular."""
    moved = 0
    for seed in range(5):
        p = problem_of(name, bias=bias, seed=seed, gamma=gamma)
        alpha = feasible_points(p.loss, 80, np.random.default_rng(seed))
        coef = p.c * (p.balanced(alpha) if bias == "free" else alpha)
        found = stepped_on_face(p, coef, free_rows(p, coef))
        if found is None:
            continue
        moved += 1
        lower, upper = p.box
        assert np.all((found >= lower) & (found <= upper))
        assert bias == "none" or abs(found.sum()) <= 1e-9 * np.abs(found).sum()
        before = dual(p, coef)
        assert dual(p, found) >= before - 1e-9 * abs(before)
    assert moved


@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("name", ["hinge", "epsilon_insensitive"])
def test_it_finishes_what_rounds_have_begun(name, bias, monkeypatch):
    """Half the steps, or far fewer, to a gap of 1e-9."""
    p = problem_of(name, 250, bias=bias, C=1e3, gamma=3.0)
    limits = {"gap": 1e-9 * p.primal_at_zero, "max_passes": 3e3}
    solver = WorkingSet(block_size=64, whole=0, face=0)
    without = solve(p, solver, **limits)
    monkeypatch.setattr(rounds, "_newton_price", lambda *anything: 0.0)
    p = problem_of(name, 250, bias=bias, C=1e3, gamma=3.0)
    found = solve(p, WorkingSet(64, 0), **limits)
    assert found.converged
    assert found.passes < 0.5 * without.passes, (found.passes, without.passes)


def test_it_is_left_out_where_the_cache_would_not_hold_it(monkeypatch):
    p = problem_of("hinge", 400, C=1e3)
    monkeypatch.setattr(rounds, "_newton_price", lambda *anything: 0.0)
    monkeypatch.setattr(rounds, "stepped_on_face", lambda *anything: pytest.fail("was tried"))
    p.rows.cache_size = 0.01
    assert solve(p, WorkingSet(64, 0), gap=1e-4).converged


@pytest.mark.parametrize("bias", ["none", "free"])
def test_a_few_rows_are_solved_exactly(bias):
    """Also where the last step is made before anything looks at the violation again."""
    for seed in range(30):
        p = problem_of("hinge", 4 + seed % 5, bias=bias, C=0.5, seed=seed)
        found = solve(p, "full-gram", gap=1e-12)
        assert found.converged, seed
