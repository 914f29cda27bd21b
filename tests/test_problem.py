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
from scipy.optimize import brentq, minimize_scalar

from gapsvm import InteriorPoint, LinearProblem, get_loss, solve
from gapsvm.backends import get_backend
from gapsvm.problems.linear import Iterate

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


def penalty_conjugate(p, alpha):
    """max_{r ≤ B} r‖g‖ − (λ/2)r², g as in the docstring of ``gapsvm.problems.linear``."""
    coef = p.sign * np.broadcast_to(p.weight, alpha.shape) * alpha / p.total_weight
    g = np.append(p.rows.to_scipy().T @ coef, np.sqrt(p.bias_ratio) * coef.sum())
    length = float(np.linalg.norm(g))
    sizes = np.array([p.radius, min(p.radius, length / p.lam) if p.lam else 0.0])
    return float(np.max(sizes * length - 0.5 * p.lam * sizes**2)), g


def best_in_ball(p):
    """P* and where it is: the λ' ≥ λ whose penalised optimum lies in the ball, or on it."""

    def solved(lam):
        weight = None if p.weight.size == 1 else p.weight
        scale = np.sqrt(p.bias_ratio) or 1.0
        q = LinearProblem(
            p.rows, p.y, p.loss, lam, bias=p.bias, bias_scale=scale, sample_weight=weight
        )
        found = solve(q, InteriorPoint(), gap=1e-13).solution
        return found, np.sqrt(q._square(found.w, found.bias)) - p.radius

    least = p.lam or 1e-9
    lam = least if solved(least)[1] <= 0 else brentq(lambda v: solved(v)[1], least, 1e3, xtol=1e-14)
    best = solved(lam)[0]
    return objective(p, best.w, best.bias), best


@pytest.mark.parametrize("lam", [0.0, 0.3])
@pytest.mark.parametrize("radius", [0.2, 50.0])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_certificate_in_a_ball(name, bias, radius, lam):
    """P of a point inside, D with the conjugate of the confined penalty, w(α) where it is met."""
    rng = np.random.default_rng(1)
    options = {"bias": bias, "bias_scale": 1.7, "sample_weight": rng.uniform(0, 3, 40)}
    p = problem(name, lam=lam, radius=radius, **options)
    alpha = feasible_points(p.loss, 40, rng)
    found = p.certify(Iterate(rng.normal(size=5), 0.0 if bias == "none" else 0.4, alpha), CPU)
    got = found.solution
    assert p._square(got.w, got.bias) <= radius**2 * (1 + 1e-12)
    assert found.primal == pytest.approx(objective(p, got.w, got.bias), rel=1e-12)
    s, (penalty, g) = p.weight, penalty_conjugate(p, got.alpha)
    conjugates = s @ p.loss.curve.conjugate(got.alpha, p.t) / s.sum()
    assert found.dual == pytest.approx(-conjugates - penalty, rel=1e-9)
    there = p.certify(Iterate(None, got.bias, got.alpha), CPU).solution
    point = np.append(there.w, there.bias / np.sqrt(p.bias_ratio) if p.bias_ratio else 0.0)
    attained = g @ point - 0.5 * lam * point @ point
    assert attained == pytest.approx(penalty, rel=1e-8)


@pytest.mark.parametrize("lam", [0.0, 0.05])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "epsilon_insensitive", "half_squared"])
def test_duality_in_a_ball(name, bias, lam):
    """P − D ≥ P − P* for any pair, and 0 at the optimum of the penalty that leads into the ball."""
    rng = np.random.default_rng(5)
    p = problem(name, lam=lam, bias=bias, radius=0.3)
    least, best = best_in_ball(p)
    for _ in range(20):
        alpha = feasible_points(p.loss, 40, rng)
        found = p.certify(Iterate(rng.normal(size=5), 0.3 * (bias != "none"), alpha), CPU)
        assert found.dual <= least + 1e-9 <= found.primal + 2e-9
    found = p.certify(best, CPU)
    assert abs(found.gap) <= 1e-7
    assert p.kkt_residual(best) < 1e-3
    assert p.kkt_residual(Iterate(0.5 * best.w, best.bias, best.alpha)) > 1e-3


def test_a_ball_that_holds_the_optimum_changes_nothing():
    p, q = problem("hinge"), problem("hinge", radius=100.0)
    best = solve(p, InteriorPoint(), gap=1e-12).solution
    assert q.certify(best, CPU).gap == pytest.approx(p.certify(best, CPU).gap, abs=1e-14)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bias", BIASES)
def test_objective_on_some_rows(bias, layout):
    """All rows give P; rows twice count twice, in slices or not."""
    weight = np.random.default_rng(2).uniform(0, 2, 40)
    p = problem("hinge", bias=bias, layout=layout, sample_weight=weight)
    w, b = np.arange(5.0) - 2, 0.0 if bias == "none" else 0.3
    whole = p.sampled_objective(np.arange(40), w, b)
    assert whole == pytest.approx(objective(p, w, b), rel=1e-12)
    some = np.array([3, 3, 17, 20])
    losses = np.maximum(0, 1 - p.y * (np.asarray(p.rows.to_scipy() @ w).ravel() + b)) * weight
    want = losses[some].mean() * 40 / weight.sum() + 0.5 * p.lam * p._square(w, b)
    assert p.sampled_objective(some, w, b) == pytest.approx(want, rel=1e-12)


GOOD = {"X": matrix(20, 3), "y": targets(matrix(20, 3), "margin"), "lam": 0.1}
BAD = {
    "short y": ({"y": np.ones(7)}, r"X has 20 rows but y has shape \(7,\)"),
    "nan y": ({"y": np.r_[np.nan, GOOD["y"][1:]]}, "y contains NaN"),
    "inf y": ({"y": np.r_[np.inf, GOOD["y"][1:]]}, "y contains infinity"),
    "labels 0 and 1": ({"y": np.r_[0, np.ones(19)]}, "needs labels -1 and \\+1"),
    "lam 0": ({"lam": 0.0}, "lam must be positive and finite, got 0.0"),
    "radius 0": ({"radius": 0.0}, "radius must be positive, got 0.0"),
    "radius nan": ({"radius": np.nan}, "radius must be positive"),
    "lam 0 in all of space": ({"lam": 0.0, "radius": np.inf}, "0 needs a radius that is finite"),
    "negative lam in a ball": ({"lam": -1.0, "radius": 1.0}, "lam must be positive and finite"),
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
