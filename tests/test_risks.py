"""The risks of linear and multiclass problems: cuts that hold everywhere, and what proves them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import BIASES, LOSS_NAMES, matrix, problem, targets

from gapsvm import (
    LBFGS,
    Bundle,
    ChainLikelihood,
    ChainProblem,
    FrankWolfe,
    LevelBundle,
    MulticlassProblem,
    ProximalBundle,
    solve,
)
from gapsvm.backends import get_backend
from gapsvm.problems.risks import risk_of

BACKEND, CPU = get_backend("reference"), get_backend("cpu")
MULTICLASS = ("crammer_singer", "multinomial")


def risk_value(p, w):
    """R(w), written again: the mean loss, at the best bias where that is free."""
    weights, bias = (w[:-1], np.sqrt(p.bias_ratio) * w[-1]) if p.bias == "penalized" else (w, 0.0)
    margins = p.rows.to_scipy() @ weights
    if p.bias == "free":
        bias = p.best_bias(margins, 0.0)
    s = np.broadcast_to(p.weight, margins.shape)
    return s @ p.loss.curve.value(p.sign * (margins + bias), p.t) / s.sum()


@settings(max_examples=80)
@given(
    loss=st.sampled_from(LOSS_NAMES),
    bias=st.sampled_from(BIASES),
    seed=st.integers(0, 10**6),
    size=st.sampled_from([0.0, 0.3, 3.0, 100.0]),
)
def test_a_cut_holds_everywhere_and_is_exact_where_it_was_asked_for(loss, bias, seed, size):
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, 30) + (np.arange(30) < 2)
    p = problem(loss, 30, 4, seed=seed, bias=bias, bias_scale=1.5, sample_weight=weight)
    risk = risk_of(p)
    w, v = size * rng.normal(size=(2, risk.size))
    answer = risk.ask(w, BACKEND)
    scale = 1.0 + answer.value + np.abs(answer.cut.slope) @ np.abs(w)
    assert answer.value == pytest.approx(risk_value(p, w), abs=1e-9 * scale)
    at_w, at_v = (answer.cut.slope @ u + answer.cut.offset for u in (w, v))
    assert at_w == pytest.approx(answer.value, abs=1e-6 * scale)  # smooth: a is kept in float32
    assert at_v <= risk_value(p, v) + 1e-9 * (scale + np.abs(answer.cut.slope) @ np.abs(v))
    floor = risk.floor_cut()
    assert not floor.slope.any()
    assert floor.offset == risk.floor <= risk_value(p, v)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_what_a_cut_says_is_what_its_dual_point_proves(loss, bias):
    """One cut, and a combination of three: min over v of cut + penalty is at most D(α)."""
    p = problem(loss, bias=bias, lam=0.3)
    risk, rng = risk_of(p), np.random.default_rng(1)
    cuts = [risk.ask(w, BACKEND).cut for w in rng.normal(size=(3, risk.size))]
    shares = np.array([0.5, 0.2, 0.3])
    for cut in (cuts[0], risk.merged(cuts, shares)):
        found = p.certify(risk.iterate(np.zeros(risk.size), 0.0, cut), BACKEND)
        bound = cut.offset - cut.slope @ cut.slope / (2 * p.lam)
        assert found.dual >= bound - 1e-9 * (1 + abs(bound))
        if cut is cuts[0]:
            assert found.dual == pytest.approx(bound, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_at_the_best_bias_the_pulls_cancel(loss):
    """Also where all rows lie on one breakpoint, as at w = 0: they take a fraction each."""
    p = problem(loss, bias="free")
    risk = risk_of(p)
    for w in (np.zeros(risk.size), np.ones(risk.size)):
        answer = risk.ask(w, BACKEND)
        alpha = risk.iterate(w, answer.bias, answer.cut).alpha
        assert abs(np.sum(p.sign * alpha)) <= 1e-6 * np.sum(np.abs(alpha))
        if not w.any():
            assert answer.value == pytest.approx(p.primal_at_zero, rel=1e-9)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_bundles_solve_every_loss(loss, bias):
    """The optimum of the standard bundle, within both gaps, and never a bound above a value."""
    p = problem(loss, lam=0.01, bias=bias)
    options = {"gap": 1e-3 * p.primal_at_zero, "max_passes": 1000, "evaluate_every": 1}
    one = solve(p, Bundle(), **options)
    assert one.converged
    for solver in (ProximalBundle(), LevelBundle()):
        other = solve(p, solver, **options)
        assert other.converged
        assert all(record.gap >= -1e-12 * p.primal_at_zero for record in other.trace)
        assert abs(one.certificate.primal - other.certificate.primal) <= max(one.gap, other.gap)


def test_a_cut_of_the_hinge_keeps_a_byte_a_row():
    for bias in BIASES:
        risk = risk_of(problem("hinge", 200, 5, bias=bias))
        witness = risk.ask(np.ones(risk.size), BACKEND).cut.witness
        assert witness.codes.itemsize == 1
        assert witness.rows.size <= 1


def test_threads_do_not_change_the_answer(monkeypatch):
    """Rows in parts, for the linear and the multiclass risk."""
    monkeypatch.setattr("gapsvm.problems.linear._PART_VALUES", 50)
    monkeypatch.setattr("gapsvm.problems.multiclass_risk._PART_VALUES", 50)
    linear = problem("hinge", 90, 6, bias="free")
    several = MulticlassProblem(matrix(90, 6), np.arange(90) % 4, 4, "multinomial", 0.1)
    for p in (linear, several):
        risk = risk_of(p)
        w = np.linspace(-1, 1, risk.size)
        one, two = (risk.ask(w, get_backend("reference", threads)) for threads in (1, 2))
        assert one.value == two.value
        np.testing.assert_array_equal(one.cut.slope, two.cut.slope)


def multiclass(loss, **options):
    X = matrix(40, 5)
    y = (targets(X, "response") * 2).astype(int) % 3
    return MulticlassProblem(X, y, 3, loss, 0.05, **options)


@pytest.mark.parametrize("bias", ["none", "penalized"])
@pytest.mark.parametrize("loss", MULTICLASS)
def test_multiclass_risks(loss, bias):
    """Cuts hold and are exact, the optimum has no gap, and weak duality holds on the way."""
    weight = np.random.default_rng(0).integers(0, 3, 40)
    p = multiclass(loss, bias=bias, bias_scale=0.7, sample_weight=weight)
    risk, rng = risk_of(p), np.random.default_rng(2)
    w, v = rng.normal(size=(2, risk.size))
    answer, other = risk.ask(w, BACKEND), risk.ask(v, BACKEND)
    assert answer.cut.slope @ w + answer.cut.offset == pytest.approx(answer.value, rel=1e-6)
    assert answer.cut.slope @ v + answer.cut.offset <= other.value
    result = solve(p, Bundle(), gap=1e-5 * p.primal_at_zero, max_passes=500, evaluate_every=1)
    assert result.converged
    assert all(record.gap >= -1e-12 for record in result.trace)
    state = result.checkpoint.state
    assert result.certificate.primal == pytest.approx(state.best, rel=1e-12)
    assert result.certificate.dual >= state.lower - 1e-7
    warm = solve(p, Bundle().warmed(result.solution), gap=0.0, max_passes=2, evaluate_every=1)
    assert warm.trace[0].gap <= result.gap + 1e-6


@pytest.mark.parametrize("bias", BIASES)
def test_a_warm_start_of_a_linear_problem(bias):
    """From w and α, and from α alone."""
    p = problem("hinge", bias=bias)
    before = solve(p, Bundle(), gap=1e-3 * p.primal_at_zero, max_passes=500)
    for start in (before.solution, type(before.solution)(None, 0.0, before.solution.alpha)):
        warm = solve(p, Bundle(start=start), gap=0.0, max_passes=2, evaluate_every=1)
        assert warm.certificate.dual >= before.certificate.dual - 1e-9
    with pytest.raises(ValueError, match="ball"):
        solve(problem("hinge", radius=1.0), Bundle(), gap=0.1)


@pytest.mark.parametrize("solver", [Bundle(), ProximalBundle(), LevelBundle()])
def test_random_fields(solver):
    """Cuts hold, and bundles find the optimum of L-BFGS."""
    X, starts = matrix(40, 3), np.arange(0, 41, 4)
    p = ChainLikelihood(X, starts, np.arange(40) // 2 % 3, 3, 0.1)
    risk = risk_of(p)
    w, v = np.random.default_rng(0).normal(size=(2, risk.size))
    answer, other = risk.ask(w, CPU), risk.ask(v, CPU)
    assert answer.cut.slope @ w + answer.cut.offset == pytest.approx(answer.value)
    assert answer.cut.slope @ v + answer.cut.offset <= other.value + 1e-12
    one, two = (solve(p, which, gap=1e-6, max_passes=3000) for which in (solver, LBFGS()))
    assert one.converged
    assert abs(one.certificate.primal - two.certificate.primal) <= 1e-6
    warm = solve(p, solver.warmed(two.solution), gap=0.0, max_passes=1)
    assert warm.certificate.primal <= two.certificate.primal


def test_chains():
    """Cuts hold; the bundle and Frank-Wolfe find the same optimum; either may begin where the other
    ended."""
    X, starts = matrix(40, 3), np.arange(0, 41, 4)
    p = ChainProblem(X, starts, np.arange(40) // 2 % 3, 3, 0.1)
    risk = risk_of(p)
    w, v = np.random.default_rng(0).normal(size=(2, risk.size))
    answer, other = risk.ask(w, CPU), risk.ask(v, CPU)
    assert answer.cut.slope @ w + answer.cut.offset == pytest.approx(answer.value)
    assert answer.cut.slope @ v + answer.cut.offset <= other.value + 1e-12
    options = {"gap": 1e-4, "max_passes": 2000}
    one, two = (solve(p, solver, **options) for solver in (Bundle(), FrankWolfe()))
    assert one.converged
    assert abs(one.certificate.primal - two.certificate.primal) <= 1e-4
    warm = solve(p, Bundle().warmed(two.solution), gap=0.0, max_passes=1)
    assert warm.certificate.dual >= two.certificate.dual - 1e-9
