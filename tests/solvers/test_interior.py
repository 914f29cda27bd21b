"""The interior point: the exact reference of everything else."""

from __future__ import annotations

import numpy as np
import pytest
from problems import BIASES, INTERIOR_LOSSES, LAYOUTS, objective, problem
from scipy.optimize import minimize

from gapsvm import InteriorPoint, Status, solve

SMOOTH = ["squared_hinge", "smoothed_hinge", "squared_epsilon_insensitive", "huber", "half_squared"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize(("n", "d"), [(60, 5), (12, 30)])
@pytest.mark.parametrize("name", INTERIOR_LOSSES)
def test_solves_to_1e_12(name, n, d, bias, layout):
    """More rows than features (d×d equations) and fewer (n×n), every bias."""
    p = problem(name, n, d, lam=0.03, bias=bias, bias_scale=2.0, layout=layout)
    result = solve(p, InteriorPoint(), gap=1e-12 * p.primal_at_zero, max_passes=100)
    assert result.status is Status.CONVERGED
    assert result.gap >= -1e-13
    assert p.kkt_residual(result.solution) <= 1e-3


@pytest.mark.parametrize("lam", [1e-10, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize("name", INTERIOR_LOSSES)
def test_whatever_lambda_is(name, lam):
    p = problem(name, 80, 6, lam=lam, bias="free")
    result = solve(p, InteriorPoint(), gap=1e-9 * p.primal_at_zero, max_passes=200)
    assert result.converged
    assert result.passes <= 80


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_objectives_against_scipy(name, bias):
    """P* is what a general minimiser finds for the documented objective."""
    p = problem(name, 50, 4, lam=0.05, bias=bias, bias_scale=1.5)
    best = solve(p, InteriorPoint(), gap=1e-11)

    def at(v):
        return objective(p, v[:4], 0.0 if bias == "none" else v[4])

    found = minimize(at, np.zeros(5), method="BFGS", options={"gtol": 1e-9, "maxiter": 1000})
    assert best.converged
    assert abs(found.fun - best.certificate.primal) <= 1e-8 * (1 + found.fun)


def test_weights_are_repetitions_exactly():
    """Row twice ≡ weight 2 and weight 0 ≡ row removed, to 1e-9 of w."""
    from gapsvm import LinearProblem, get_loss

    base = problem("hinge", 30, 4)
    X, y = base.rows.to_scipy(), base.y
    weight = np.random.default_rng(0).integers(0, 4, 30)
    weight[:2] = 1, 2
    for bias in BIASES:
        a = LinearProblem(
            X, y, get_loss("hinge"), 0.05, sample_weight=weight.astype(float), bias=bias
        )
        b = LinearProblem(
            np.repeat(X, weight, 0), np.repeat(y, weight), get_loss("hinge"), 0.05, bias=bias
        )
        one, two = (solve(p, InteriorPoint(), gap=1e-13).solution for p in (a, b))
        np.testing.assert_allclose(one.w, two.w, atol=1e-9)
        assert one.bias == pytest.approx(two.bias, abs=1e-9)


def test_impossible_gap_stalls_and_says_so():
    p = problem("hinge", 60, 5)
    result = solve(p, InteriorPoint(), gap=-1.0, max_passes=1000)
    assert result.status is Status.STALLED
    assert result.gap <= 1e-10
    assert result.passes < 100


def test_logistic_has_no_barrier():
    with pytest.raises(ValueError, match="no barrier for loss 'logistic'; use Newton"):
        solve(problem("logistic"), InteriorPoint(), gap=1e-3)
