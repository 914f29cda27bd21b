"""P, D, w(α) and the certificate of the linear problem."""

from __future__ import annotations

import numpy as np
import pytest
from problems import (
    BIASES,
    DTYPES,
    LAYOUTS,
    LOSS_NAMES,
    dual_objective,
    feasible_points,
    matrix,
    objective,
    problem,
    targets,
)
from scipy.optimize import minimize_scalar

from gapsvm import LinearProblem, get_loss
from gapsvm.backends import get_backend
from gapsvm.problem import Iterate

CPU = get_backend("cpu")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_certificate_is_the_formula(name, weighted, bias, layout, dtype):
    """P and D in float64 of the rows as stored, for any w and α, related or not."""
    rng = np.random.default_rng(1)
    weight = rng.uniform(0, 3, 40) if weighted else None
    options = {"bias": bias, "bias_scale": 1.7, "sample_weight": weight}
    p = problem(name, lam=0.3, layout=layout, dtype=dtype, **options)
    alpha = feasible_points(p.loss, 40, rng)
    b = 0.0 if bias == "none" else 0.4
    found = p.certify(Iterate(rng.normal(size=5), b, alpha), CPU)
    got = found.solution
    assert found.primal == pytest.approx(objective(p, got.w, got.bias), rel=1e-12)
    assert found.dual == pytest.approx(dual_objective(p, got.alpha), rel=1e-11)
    assert found.gap == found.primal - found.dual
    assert found.gap > 0
    if bias == "free":
        assert objective(p, got.w, got.bias) <= objective(p, got.w, b) + 1e-12
    else:
        assert got.bias == b
        np.testing.assert_array_equal(got.alpha, alpha)


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_balanced_alpha_is_feasible(name):
    """Σ s σ α = 0 by scaling the heavier side down: inside every box."""
    weight = np.random.default_rng(2).uniform(0, 2, 40)
    p = problem(name, bias="free", sample_weight=weight)
    alpha = feasible_points(p.loss, 40, np.random.default_rng(3))
    found = p.certify(Iterate(np.zeros(5), 0.0, alpha), CPU).solution.alpha
    mass = p.sign * weight * found
    assert abs(mass.sum()) <= 1e-12 * np.abs(mass).sum()
    assert np.all(np.abs(found) <= np.abs(alpha))
    assert np.all(found * alpha >= 0)


def test_an_alpha_outside_its_box_proves_nothing():
    """Never a bound that does not hold: an infinite gap, or a point moved inside."""
    p = problem("hinge")
    found = p.certify(Iterate(np.zeros(5), 0.0, np.full(40, 1.5)), CPU)
    assert found.dual <= dual_objective(p, np.clip(found.solution.alpha, 0, 1)) + 1e-12


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_p0_is_the_zero_model_with_its_best_bias(name, bias):
    p = problem(name, bias=bias)
    if bias == "free":
        best = minimize_scalar(lambda b: objective(p, np.zeros(5), b), bracket=(-1, 1)).fun
    else:
        best = objective(p, np.zeros(5))
    assert p.primal_at_zero == pytest.approx(best, rel=1e-6)
    assert p.primal_at_zero <= best + 1e-12


def test_p0_of_the_hinge_is_one():
    assert problem("hinge").primal_at_zero == 1.0


def test_kkt_residual_is_small_only_at_the_optimum():
    from gapsvm import InteriorPoint, solve

    for bias in BIASES:
        p = problem("hinge", bias=bias)
        best = solve(p, InteriorPoint(), gap=1e-13).solution
        assert p.kkt_residual(best) < 1e-3
        assert p.kkt_residual(Iterate(best.w, best.bias, best.alpha * 0.5)) > 1e-2
        assert p.kkt_residual(Iterate(best.w + 0.1, best.bias, best.alpha)) > 1e-2


def test_sums_keep_their_digits():
    """200,000 rows of f32: the reported gap is the float64 one to 1e-12."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 2)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    p = LinearProblem(X, y, get_loss("hinge"), 0.1)
    w, alpha = np.array([0.3, 0.1]), rng.random(200_000)
    found = p.certify(Iterate(w, 0.0, alpha), CPU)
    assert found.primal == pytest.approx(objective(p, w), rel=1e-13)
    assert found.dual == pytest.approx(dual_objective(p, alpha), rel=1e-11)


GOOD = {"X": matrix(20, 3), "y": targets(matrix(20, 3), "margin"), "lam": 0.1}
BAD = {
    "short y": ({"y": np.ones(7)}, r"X has 20 rows but y has shape \(7,\)"),
    "nan y": ({"y": np.r_[np.nan, GOOD["y"][1:]]}, "y contains NaN"),
    "inf y": ({"y": np.r_[np.inf, GOOD["y"][1:]]}, "y contains infinity"),
    "labels 0 and 1": ({"y": np.r_[0, np.ones(19)]}, "needs labels -1 and \\+1"),
    "lam 0": ({"lam": 0.0}, "lam must be positive and finite, got 0.0"),
    "lam nan": ({"lam": np.nan}, "lam must be positive and finite"),
    "lam inf": ({"lam": np.inf}, "lam must be positive and finite"),
    "one dimension": ({"X": np.ones(20)}, "X must have two dimensions"),
    "short weight": ({"sample_weight": np.ones(3)}, r"sample_weight has shape \(3,\)"),
    "negative weight": ({"sample_weight": np.r_[-1, np.ones(19)]}, "negative"),
    "nan weight": ({"sample_weight": np.r_[np.nan, np.ones(19)]}, "sample_weight contains NaN"),
    "no weight": ({"sample_weight": np.zeros(20)}, "all sample weights are zero"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_a_problem_refuses(case):
    change, message = BAD[case]
    arguments = {**GOOD, **change}
    X, y, lam = (arguments.pop(name) for name in ("X", "y", "lam"))
    with pytest.raises(ValueError, match=message):
        LinearProblem(X, y, get_loss("hinge"), lam, **arguments)
