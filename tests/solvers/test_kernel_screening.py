"""Rows of a kernel machine that a gap settles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import INTERIOR_LOSSES, matrix, targets

from gapsvm import get_loss, solve
from gapsvm.kernels.registry import get_kernel
from gapsvm.kernels.rows import FeatureRows, MatrixRows
from gapsvm.problems.kernel import KernelProblem
from gapsvm.problems.kernel_screening import settled_rows
from gapsvm.solvers.working_set.solver import WorkingSet


def problem_of(name, n, bias, C, seed, weight=None):
    loss, X = get_loss(name), matrix(n, 4, seed)
    rows, y = FeatureRows(X, get_kernel("rbf", gamma=0.5)), targets(X, loss.kind, seed)
    if loss.kind == "margin":
        y[:2] = 1.0, -1.0
    total = n if weight is None else weight.sum()
    return KernelProblem(rows, y, loss, 1 / (C * total), bias=bias, sample_weight=weight)


@settings(max_examples=60)
@given(
    name=st.sampled_from(INTERIOR_LOSSES),
    bias=st.sampled_from(["none", "free"]),
    C=st.floats(1e-2, 1e2),
    n=st.integers(4, 50),
    weighted=st.booleans(),
    passes=st.floats(0.5, 20),
    seed=st.integers(0, 99),
)
def test_what_is_settled_is_so_at_the_optimum(name, bias, C, n, weighted, passes, seed):
    """Wherever a fit stands, whatever the loss, the weights and the bias."""
    weight = np.random.default_rng(seed).uniform(0.1, 2, n) if weighted else None
    p = problem_of(name, n, bias, C, seed, weight)
    best = solve(p, WorkingSet(), gap=1e-13 * p.primal_at_zero, max_passes=2000)
    cut = solve(p, WorkingSet(block_size=8, whole=0, aim=0.0), gap=0.0, max_passes=passes)
    margins = p.rows.product(p.coef_of(cut.solution))
    settled, target = settled_rows(p, margins, np.zeros(n), max(cut.gap, 0.0))
    np.testing.assert_allclose(best.solution.alpha[settled], target[settled], atol=1e-5)


@pytest.mark.parametrize("bias", ["none", "free"])
def test_a_small_gap_settles_most_rows(bias):
    p = problem_of("hinge", 400, bias, 0.1, 0)
    best = solve(p, WorkingSet(whole=1000), gap=1e-12 * p.primal_at_zero)
    margins = p.rows.product(p.coef_of(best.solution))
    settled, _ = settled_rows(p, margins, np.zeros(400), 1e-11)
    assert settled.mean() >= 0.9
    assert settled_rows(p, margins, np.zeros(400), 1e-3)[0].sum() < settled.sum()
    assert not settled_rows(p, margins, np.zeros(400), np.inf)[0].any()
    indefinite = KernelProblem(MatrixRows(0.5 - p.rows.gram), p.y, p.loss, p.lam, bias=bias)
    assert not settled_rows(indefinite, margins, np.zeros(400), 1e-11)[0].any()


def test_they_are_left_out_after_a_look_at_all_rows():
    """Where that look shows that the tolerance is not reached, and only if α is there already."""
    p = problem_of("hinge", 400, "free", 0.1, 0)
    solver = WorkingSet(block_size=64, whole=0, aim=1e-13)
    state = solver.init(p, p.rows.backend, np.random.default_rng(0))
    best = solve(p, WorkingSet(whole=1000), gap=1e-12 * p.primal_at_zero)
    state.coef = p.coef_of(best.solution)
    state.coef[np.argmax(state.coef)] -= 1e-6
    state.active = np.arange(300)
    solver._look_at_all(p, state)
    assert state.active is not None
    assert state.active.size < 200
    assert np.isin(np.argmax(p.coef_of(best.solution)), state.active)
