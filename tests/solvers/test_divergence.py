"""Whatever the steps do: what is handed out is finite, and no worse than the zero model."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from problems import BIASES, matrix, problem, targets

from gapsvm import (
    SDCA,
    InteriorPoint,
    LinearSVC,
    LinearSVR,
    MiniBatchSDCA,
    MulticlassProblem,
    OuterBias,
    Pegasos,
    Status,
    Subgradient,
    get_loss,
    solve,
)
from gapsvm.backends import get_backend
from gapsvm.problems.certificate import Certificate
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.solvers.subgradient.rules import STEP_RULES
from gapsvm.solvers.trace import Progress

CPU = get_backend("cpu")


class Scripted:
    """A solver that hands out these iterates, one a pass."""

    def __init__(self, *iterates):
        self.iterates = iterates

    def init(self, problem, backend, rng):
        return {"passes": 0}

    def advance(self, problem, state, backend, budget):
        state["passes"] += 1
        return state

    def iterate(self, problem, state):
        return self.iterates[state["passes"] - 1]

    def progress(self, problem, state):
        return Progress(state["passes"] * problem.n_rows)


def _points(p):
    """A good iterate, one with a terrible w, one with a terrible α and one that is NaN."""
    good = solve(p, SDCA(), gap=0.1 * p.primal_at_zero).solution
    wild = Iterate(1e6 * np.ones(p.n_features), 0.0, good.alpha)
    held = Iterate(good.w, good.bias, np.full(p.n_rows, np.nan))
    nothing = Iterate(np.full(p.n_features, np.nan), np.nan, good.alpha)
    return good, wild, held, nothing


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "half_squared", "logistic"])
def test_the_last_sound_iterate_is_handed_out(name, bias):
    p = problem(name, 30, 4, bias=bias)
    good, wild, _, nothing = _points(p)
    for bad in (wild, nothing):
        result = solve(p, Scripted(good, bad), gap=0.0, max_passes=2, evaluate_every=1)
        assert result.status is (Status.DIVERGED if bad is nothing else Status.MAX_PASSES)
        assert not result.is_last
        np.testing.assert_array_equal(result.solution.w, good.w)
        assert result.trace[-1].gap == result.gap <= 0.1 * p.primal_at_zero
        assert all(np.isfinite(record.gap) for record in result.trace)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "half_squared", "logistic"])
def test_at_worst_the_zero_model_and_the_better_half_of_an_iterate(name, bias):
    """w = 0 with the α at hand, w with α = 0, or both zero; the certificate is theirs."""
    p = problem(name, 30, 4, bias=bias)
    good, wild, held, nothing = _points(p)
    for bad, w, alpha in (
        (wild, 0.0 * good.w, p.balanced(good.alpha) if bias == "free" else good.alpha),
        (held, good.w, 0.0 * good.alpha),
        (nothing, 0.0 * good.w, None),
    ):
        result = solve(p, Scripted(bad), gap=0.0, max_passes=1)
        np.testing.assert_array_equal(result.solution.w, w)
        if alpha is not None:
            np.testing.assert_allclose(result.solution.alpha, alpha)
        again = p.certify(result.solution, CPU)
        assert result.gap == pytest.approx(again.gap, rel=1e-9, abs=1e-12)
        assert result.gap <= p.primal_at_zero


def test_the_zero_model_of_several_classes():
    X, y = matrix(30, 4), np.arange(30) % 3
    for loss in ("crammer_singer", "multinomial"):
        p = MulticlassProblem(X, y, 3, loss, 0.1, bias="penalized")
        zero = p.at_zero()
        assert zero.gap == p.primal_at_zero
        again = p.certify(zero.solution, CPU)
        assert (again.primal, again.dual) == (pytest.approx(zero.primal), pytest.approx(0.0))
        short = Subgradient()
        result = solve(p, short, gap=0.0, max_passes=0.1, seed=0)
        assert result.gap <= p.primal_at_zero
    wide = MulticlassProblem(1e140 * X, y, 3, "multinomial", 1.0)
    result = solve(wide, short, gap=1e-3, max_passes=3)
    assert np.isfinite(result.gap)
    assert np.isfinite(result.solution.W).all()


@pytest.mark.parametrize("bias", BIASES)
def test_the_zero_model_is_what_is_certified(bias):
    for name in ("hinge", "squared_hinge", "logistic", "epsilon_insensitive", "half_squared"):
        p = problem(name, 30, 4, bias=bias, sample_weight=np.arange(30.0))
        zero = p.at_zero()
        again = p.certify(zero.solution, CPU)
        assert (again.primal, again.dual) == (pytest.approx(zero.primal), pytest.approx(0.0))


def test_an_infinite_gap_is_never_converged():
    class Endless:
        n_rows = slice_rows = 1

        def certify(self, iterate, backend):
            return Certificate(np.inf, -np.inf)

    assert not solve(Endless(), Scripted(0, 0), gap=np.inf, max_passes=1).converged


SQUARED = ["squared_hinge", "half_squared", "squared_epsilon_insensitive"]


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("rule", [name for name in STEP_RULES if name != "optimistic"])
@pytest.mark.parametrize("name", SQUARED)
def test_squares_outside_a_ball_do_not_diverge(name, rule, bias):
    """50 ordinary rows, scaled by 20: w stays within a few lengths of the optimum."""
    X = 20 * matrix(50, 5)
    loss = get_loss(name)
    p = LinearProblem(X, targets(X, loss.kind), loss, 1e-3, bias=bias)
    for solver in (Subgradient(step_rule=rule), Subgradient(7, step_rule=rule, average="tail")):
        result = solve(p, solver, gap=0.0, max_passes=30)
        assert result.status is Status.MAX_PASSES
        state = result.checkpoint.state
        w = solver.output(state)[:-1]
        assert np.linalg.norm(w) <= 20.0
        assert result.gap < p.primal_at_zero


@pytest.mark.parametrize("name", SQUARED[:2])
def test_an_outer_bias_around_squares_does_not_diverge(name):
    X = 20 * matrix(50, 5)
    loss = get_loss(name)
    p = LinearProblem(X, targets(X, loss.kind), loss, 1e-3, bias="free")
    result = solve(p, OuterBias(Subgradient()), gap=0.0, max_passes=30)
    assert result.status is Status.MAX_PASSES
    assert result.gap < p.primal_at_zero


def test_rules_are_the_papers_where_their_theory_holds():
    """Losses of bounded slope, and any loss in a ball: η_t = 1/(λt), to the bit."""
    for p, solver in (
        (problem("hinge"), Pegasos()),
        (problem("logistic"), Pegasos()),
        (problem("half_squared"), Pegasos(projection=True)),
    ):
        scale = solver.scale(p, 1.0)
        rates = solver.rates(p, scale, 0, 9, 0.0, CPU)
        np.testing.assert_array_equal(rates.eta, 1.0 / (p.lam * np.arange(1.0, 10.0)))


def test_damped_pegasos_gets_there():
    p = problem("half_squared", 60, 4, lam=0.1, bias="none")
    result = solve(p, Pegasos(average="tail"), gap=1e-2 * p.primal_at_zero, max_passes=2000)
    assert result.converged


def test_naive_batches_that_diverge():
    """Many copies of one row, heard all at once."""
    X, y = np.ones((64, 3)), np.arange(64.0) + 1
    p = LinearProblem(X, y, get_loss("half_squared"), 1e-4)
    result = solve(p, MiniBatchSDCA("naive", 64), gap=1e-6, max_passes=2000)
    assert result.status is Status.DIVERGED
    assert np.isfinite(result.solution.w).all()
    assert 0 <= result.gap <= p.primal_at_zero


@pytest.mark.parametrize("scale", [1e30, 1e-30])
@pytest.mark.parametrize("options", [{}, {"method": "sdca"}, {"method": "pegasos"}])
def test_features_of_any_size(scale, options):
    X = scale * matrix(60, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearSVC(max_iter=20, random_state=0, **options).fit(X, targets(X, "margin"))
    assert np.isfinite(model.coef_).all()
    assert 0 <= model.dual_gap_ <= 1.0 + 1e-12


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
def test_a_budget_that_ends_on_the_way_in(name):
    """The first steps of an interior point are far above the zero model."""
    X = 1e3 * matrix(200, 8)
    p = LinearProblem(X, targets(X, "margin"), get_loss(name), 1e-4, bias="free")
    for passes in (0, 1, 2):
        result = solve(p, InteriorPoint(), gap=1e-12, max_passes=passes)
        assert result.gap <= p.primal_at_zero
        assert result.trace[-1].gap == result.gap


def test_the_warning_says_that_the_steps_diverged():
    X = np.ones((64, 3))
    model = LinearSVR(loss="half_squared", lam=1e-4, fit_intercept=False)
    model.set_params(method=MiniBatchSDCA("naive", 64), max_iter=2000)
    with pytest.warns(UserWarning, match="became infinite or NaN.*at worst that of zero weights"):
        model.fit(X, np.arange(64.0))
    assert model.status_ == "DIVERGED"
    assert not model.converged_
    assert np.isfinite(model.coef_).all()
