"""Risks with a user's oracle: what they certify, and how an oracle's mistakes come to light."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gapsvm import Bundle, MeanOracle, OracleError, RiskProblem, check_oracle, solve
from gapsvm.backends import get_backend
from gapsvm.problems.risk import RiskIterate

N, D = 30, 4
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(N, D))


def hinge(i, w):
    """max(0, 1 − ⟨x_i, w⟩)."""
    x = ROWS[i]
    return (1 - x @ w, -x) if x @ w < 1 else (0.0, np.zeros(D))


def mean_hinge(**options):
    return MeanOracle(hinge, N, D, floor=0.0, **options)


def value(w):
    return np.maximum(0, 1 - ROWS @ w).mean()


def test_a_mean_of_examples_is_the_risk():
    """With weights: weight 2 is an example twice, weight 0 none."""
    w = RNG.normal(size=D)
    risk, slope = mean_hinge()(w)
    assert risk == pytest.approx(value(w))
    np.testing.assert_allclose(slope, -(ROWS * (ROWS @ w < 1)[:, None]).mean(axis=0))
    weight = RNG.integers(0, 3, N)
    twice = [i for i in range(N) for _ in range(weight[i])]
    again = MeanOracle(lambda k, w: hinge(twice[k], w), len(twice), D)
    assert mean_hinge(sample_weight=weight)(w)[0] == pytest.approx(again(w)[0])


def test_the_certificate_is_recomputed():
    """P is asked for afresh; the bound is that of the cut, or of the floor if it is higher."""
    problem, backend = RiskProblem(mean_hinge(), 0.1), get_backend("reference")
    w = RNG.normal(size=D)
    risk, slope = mean_hinge()(w)
    found = problem.certify(RiskIterate(w, 0.0, slope, risk - slope @ w), backend)
    assert found.primal == pytest.approx(value(w) + 0.05 * w @ w)
    assert found.dual == pytest.approx(max(0.0, risk - slope @ w - slope @ slope / 0.2))
    assert problem.certify(RiskIterate(w), backend).dual == 0.0
    assert problem.certify(RiskIterate(w * np.nan), backend).primal == math.inf
    assert problem.primal_at_zero == pytest.approx(1.0)


@pytest.mark.parametrize(("floor", "proved"), [(0.0, 0.0), (-math.inf, -4.0)])
def test_the_zero_model_of_a_risk(floor, proved):
    """Its bound is that of the cut there, or the floor."""
    p = RiskProblem(lambda w: (float(np.abs(w - 3).sum()), np.sign(w - 3)), 0.1, n_features=2)
    p.floor = floor
    zero = p.at_zero()
    assert zero.primal == p.primal_at_zero == 6.0
    assert zero.dual == pytest.approx(proved)
    again = p.certify(zero.solution, get_backend("reference"))
    assert (again.primal, again.dual) == (zero.primal, zero.dual)
    far = p.certify(RiskIterate(np.full(2, 1e9)), get_backend("reference"))
    joined = p.joined(zero, far)
    assert (joined.primal, joined.dual) == (zero.primal, far.dual)


def test_a_fingerprint_tells_oracles_apart():
    shifted = MeanOracle(lambda i, w: hinge(i, w - 1), N, D, floor=0.0)
    one, other = (RiskProblem(oracle, 0.1).fingerprint() for oracle in (mean_hinge(), shifted))
    assert one == RiskProblem(mean_hinge(), 0.1).fingerprint()
    assert one["labels"] != other["labels"]


BROKEN = {
    "NaN": (lambda w: (math.nan, w), "NaN or infinity"),
    "a NaN in the subgradient": (lambda w: (1.0, w * math.nan), "NaN or infinity"),
    "wrong size": (lambda w: (1.0, np.zeros(D + 1)), r"shape \(5,\) where w has shape \(4,\)"),
    "no subgradient": (lambda w: 1.0, "must return a value and a subgradient"),
    "too much": (lambda w: (1.0, w, 0.0, 0.0), "returned 4 things"),
    "below the floor": (lambda w: (-1.0, np.zeros(D)), "below"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_makes_no_sense_is_refused(name):
    """By the fit and by the check, which names the example."""
    oracle, message = BROKEN[name]
    with pytest.raises(OracleError, match=message):
        solve(RiskProblem(oracle, 0.1, n_features=D, floor=0.0), Bundle(), gap=1e-3)
    one = MeanOracle(lambda i, w: oracle(w) if i == 7 else hinge(i, w), N, D, floor=0.0)
    with pytest.raises(OracleError, match="example 7.*" + message):
        check_oracle(one)


def test_an_oracle_that_raises_is_named_with_its_example():
    def example(i, w):
        return hinge(i, w) if i != 3 else {}["missing"]

    with pytest.raises(OracleError, match=r"example 3: the oracle raised KeyError\('missing'\)"):
        solve(RiskProblem(MeanOracle(example, N, D), 0.1), Bundle(), gap=1e-3)

    def whole(w):
        return {}["missing"] if w.any() else (1.0, np.ones(D))

    with pytest.raises(OracleError, match=r"the oracle raised KeyError.* at a w of norm"):
        solve(RiskProblem(whole, 0.1, n_features=D), Bundle(), gap=1e-3)


WRONG = {
    "not convex": lambda w: (math.cos(3 * w[0]), np.array([-3 * math.sin(3 * w[0]), 0, 0, 0])),
    "wrong sign": lambda w: (0.5 * w @ w, -w),
    "wrong scale": lambda w: (0.5 * w @ w, 3 * w),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_found_by_the_check(name):
    """... which passes what is right, smooth or not."""
    mixed = MeanOracle(lambda i, w: WRONG[name](w) if i == 11 else hinge(i, w), N, D)
    with pytest.raises(OracleError, match="example 11: the oracle"):
        check_oracle(mixed)
    with pytest.raises(OracleError, match="the oracle"):
        check_oracle(WRONG[name], D)
    check_oracle(mean_hinge())
    check_oracle(lambda w: (0.5 * w @ w, w), D, scale=100.0)


def test_an_oracle_that_changes_its_mind_is_found():
    answers = iter(range(10**6))
    with pytest.raises(OracleError, match="two answers to one question"):
        check_oracle(lambda w: (float(next(answers)), np.zeros(D)), D)


@pytest.mark.parametrize("name", ["not convex", "wrong sign"])
def test_a_fit_of_what_is_not_convex_ends_with_an_error(name):
    """As soon as a lower bound exceeds a value."""
    problem = RiskProblem(lambda w: WRONG[name](w - 1.0), 1e-3, n_features=D)
    with pytest.raises(OracleError, match=r"lower bound .* exceeds the value .*check_oracle"):
        solve(problem, Bundle(), gap=0.0, max_passes=200)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": None}, "n_features"),
        ({"n_features": 0}, "n_features"),
        ({"lam": 0.0}, "lam must be positive"),
        ({"lam": math.inf}, "lam must be positive"),
        ({"floor": math.nan}, "floor"),
        ({"n_examples": 0.5}, "n_examples"),
    ],
)
def test_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        RiskProblem(lambda w: (0.0, w), **{"lam": 1.0, "n_features": D, **options})
    with pytest.raises(TypeError, match="callable"):
        RiskProblem(3, 1.0, n_features=D)
