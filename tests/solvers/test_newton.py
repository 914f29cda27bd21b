"""Newton's method for the logistic loss."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from problems import BIASES, LAYOUTS, objective, problem
from scipy.optimize import minimize

from gapsvm import LinearProblem, LinearSVC, Newton, Status, get_loss, solve


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize(("n", "d"), [(60, 5), (12, 30)])
@pytest.mark.parametrize("lam", [1e-8, 0.03, 1e6])
def test_solves_to_1e_12(n, d, bias, layout, lam):
    """More rows than features (d×d equations) and fewer (n×n), every bias, any λ."""
    p = problem("logistic", n, d, lam=lam, bias=bias, bias_scale=2.0, layout=layout)
    result = solve(p, Newton(), gap=1e-12 * p.primal_at_zero, max_passes=100)
    assert result.status is Status.CONVERGED
    assert result.gap >= -1e-13


@pytest.mark.parametrize("bias", BIASES)
def test_against_scipy(bias):
    """P* is what a general minimiser finds for the documented objective."""
    p = problem("logistic", 50, 4, lam=0.05, bias=bias, bias_scale=1.5)
    best = solve(p, Newton(), gap=1e-12)

    def at(v):
        return objective(p, v[:4], 0.0 if bias == "none" else v[4])

    found = minimize(at, np.zeros(5), method="BFGS", options={"gtol": 1e-9, "maxiter": 1000})
    assert best.converged
    assert abs(found.fun - best.certificate.primal) <= 1e-8


@pytest.mark.parametrize("bias", BIASES)
def test_steps_are_newtons(bias):
    """Three steps beside the formula, whole ones: they fall by enough here."""
    p = problem("logistic", 40, 3, lam=0.2, bias=bias, bias_scale=1.5)
    X = np.asarray(p.rows.to_scipy())
    penalty = np.full(4, p.lam * p.n_rows)
    penalty[3] = {"none": 1e30, "free": 0.0}.get(bias, p.lam * p.n_rows / 1.5**2)
    X1, v = np.c_[X, np.ones(40)], np.zeros(4)
    for steps in (1, 2, 3):
        a = 1.0 / (1.0 + np.exp(p.y * (X1 @ v)))
        hessian = X1.T @ (X1 * (a * (1 - a))[:, None]) + np.diag(penalty)
        v = v + np.linalg.solve(hessian, X1.T @ (p.y * a) - penalty * v)
        checkpoint = solve(p, Newton(), gap=0.0, max_passes=steps).checkpoint
        np.testing.assert_allclose(checkpoint.state.w, v[:3], rtol=1e-9)
        assert checkpoint.state.bias == pytest.approx(v[3], rel=1e-9, abs=1e-20)


@pytest.mark.parametrize("bias", BIASES)
def test_columns_of_any_size(bias):
    """Raw units, as they come from a file: SDCA needs thousands of passes for them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) * 10.0 ** np.arange(-3, 3) + 50.0
    y = np.where(X[:, 3] + 0.5 * rng.normal(size=300) > 50.0, 1.0, -1.0)
    p = LinearProblem(X, y, get_loss("logistic"), 1e-6, bias=bias)
    result = solve(p, Newton(), gap=1e-9 * p.primal_at_zero, max_passes=100)
    assert result.converged


def test_resume_is_bit_equal():
    p = problem("logistic", 60, 6, lam=0.001, bias="free")
    whole = solve(p, Newton(), gap=0.0, max_passes=6)
    part = solve(p, Newton(), gap=0.0, max_passes=3)
    rest = solve(p, Newton(), gap=0.0, max_passes=6, checkpoint=copy.deepcopy(part.checkpoint))
    np.testing.assert_array_equal(rest.solution.w, whole.solution.w)
    assert rest.certificate == whole.certificate


def test_auto_is_exact_on_small_data_and_method_interior_reaches_it():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4)) * 1e3
    y = np.where(X[:, 0] + 500 * rng.normal(size=200) > 0, "yes", "no")
    for method, tol in (("auto", 1e-3), ("interior", 1e-12)):
        model = LinearSVC(loss="logistic", lam=1e-3, tol=tol, method=method).fit(X, y)
        assert model.method_ == ("exact" if method == "auto" else method)
        assert model.dual_gap_ <= 1e-12


def test_other_losses_are_refused():
    with pytest.raises(ValueError, match="for the logistic loss, not 'hinge'; use InteriorPoint"):
        solve(problem("hinge"), Newton(), gap=1e-3)
