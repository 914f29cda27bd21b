"""The bundle's quadratic program: exact for any Gram matrix, from any start, as daqp finds it."""

from __future__ import annotations

import daqp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapsvm.solvers.bundle.qp import solve_qp

EQUALITY = 5  # as daqp marks a constraint


def program(cuts, features, seed, scale=1.0, twice=False):
    """H of rank ``features`` at most, f; two pairs of equal cuts if asked for."""
    rng = np.random.default_rng(seed)
    A = scale * (rng.normal(size=(cuts, features)) + rng.normal(size=features))
    f = rng.normal(size=cuts)
    if twice and cuts > 3:
        A[1], A[2], f[1] = A[0], A[3], f[0]
    return A @ A.T, f


def value(H, f, alpha):
    return 0.5 * alpha @ H @ alpha - f @ alpha


def by_library(H, f, total):
    size = len(f)
    kinds = np.array([0] * size + [EQUALITY], dtype=np.int32)
    lower, upper = np.append(np.zeros(size), total), np.full(size + 1, float(total))
    found, _, status, _ = daqp.solve(H, -f, np.ones((1, size)), upper, lower, kinds)
    assert status == 1
    return found


@settings(max_examples=60)
@given(
    cuts=st.integers(1, 40),
    features=st.integers(1, 40),
    seed=st.integers(0, 10**6),
    total=st.sampled_from([0.01, 1.0, 30.0]),
    twice=st.booleans(),
)
def test_as_a_library_finds_it(cuts, features, seed, total, twice):
    H, f = program(cuts, features, seed, twice=twice)
    found = solve_qp(H, f, total)
    assert found.alpha.min() >= 0
    assert found.alpha.sum() == pytest.approx(total, rel=1e-12)
    size = total * np.max(np.abs(H) @ found.alpha + np.abs(f))
    assert found.missing <= 1e-12 * size
    other = value(H, f, by_library(H, f, total))
    assert value(H, f, found.alpha) == pytest.approx(other, abs=1e-7 * size)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_any_start_ends_at_the_same_value(scale):
    """From nothing, from the middle, and from the optimum itself, which takes no step."""
    H, f = program(60, 20, 3, scale)
    cold, middle = solve_qp(H, f, 1.0), solve_qp(H, f, 1.0, np.ones(60))
    again = solve_qp(H, f, 1.0, cold.alpha)
    size = np.max(np.abs(H) @ cold.alpha + np.abs(f))
    for other in (middle, again):
        assert value(H, f, other.alpha) == pytest.approx(value(H, f, cold.alpha), abs=1e-12 * size)
    assert again.steps == 0


def test_a_warm_start_takes_a_few_steps():
    """One more cut to a solved program of 200, as in every iteration of a bundle."""
    points = np.random.default_rng(0).normal(size=(201, 150))
    slopes, f = points + np.eye(150)[0], -0.01 * (points**2).sum(axis=1)
    H = slopes @ slopes.T
    before = solve_qp(H[:200, :200], f[:200], 1.0)
    model = np.max(f[:200] - H[:200, :200] @ before.alpha)
    f[200] = H[200, :200] @ before.alpha + model + 0.1  # it cuts off the minimum of the others
    cold = solve_qp(H, f, 1.0)
    warm = solve_qp(H, f, 1.0, np.append(before.alpha, 0.0))
    assert np.count_nonzero(warm.alpha) > 20
    assert 0 < warm.steps < 0.5 * cold.steps
    assert value(H, f, warm.alpha) == pytest.approx(value(H, f, cold.alpha), rel=1e-11)


def test_a_budget_is_a_cut_of_zeros():
    """Σ α ≤ total: where more would help nothing, the rest lies on the cut of zeros."""
    H, f = np.zeros((3, 3)), np.zeros(3)
    H[1:, 1:], f[1:] = np.diag([1.0, 2.0]), [0.2, 0.4]
    found = solve_qp(H, f, 1.0)
    np.testing.assert_allclose(found.alpha, [0.6, 0.2, 0.2], atol=1e-12)


def test_programs_without_curvature_or_of_one_cut():
    """A linear program ends in its best corner."""
    assert solve_qp(np.zeros((3, 3)), np.array([1.0, 3.0, 2.0]), 2.0).alpha.tolist() == [0, 2, 0]
    assert solve_qp(np.ones((1, 1)), np.ones(1), 3.0).alpha.tolist() == [3]
