"""Do's Algorithm 4: its lemma, proposition and theorem against runs, and how it guesses R."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from problems import problem

from gapsvm import (
    Bundle,
    InteriorPoint,
    LinearProblem,
    ProximalBundle,
    RiskProblem,
    get_loss,
    solve,
)
from gapsvm.backends import get_backend
from gapsvm.problems.risks import risk_of
from gapsvm.solvers.bundle.proximal import ProximalState
from gapsvm.theory.do import (
    balanced_tau,
    do_lemma3_rise,
    do_proposition3_error,
    do_theorem2_tau,
    do_theorem5_error,
)

BACKEND = get_backend("reference")


@dataclass
class Run:
    """What Algorithm 4 did: a number a step, taken from its states."""

    w: list
    values: list
    slopes: list
    tau: list
    curvature: list
    beta: list
    lower: list


def run(p, solver, steps):
    """The steps of a solver, its τ_t read off the curvature."""
    state = solver.init(p, BACKEND, np.random.default_rng(0))
    found = Run([], [], [], [], [], [], [])
    before = 0.0
    for _ in range(steps):
        w = state.w
        answer = risk_of(p).ask(w, BACKEND)
        state = solver.advance(p, state, BACKEND, 1)
        found.w.append(w)
        found.values.append(answer.value + 0.5 * p.lam * w @ w)
        found.slopes.append(answer.cut.slope)
        found.lower.append(state.lower)
        if isinstance(state, ProximalState):
            found.tau.append(state.curvature - before - p.lam)
            found.curvature.append(state.curvature)
            found.beta.append(state.beta)
            before = state.curvature
    return found, state


def proximal_dual(found, offsets, beta, t):
    """D′_t(β), written again; β has the floor first."""
    tau, w = np.array(found.tau[:t]), np.array(found.w[:t])
    centre, slopes = tau @ w, np.array(found.slopes[: len(beta) - 1])
    inside = centre - beta[1:] @ slopes
    square = inside @ inside / (2 * found.curvature[t - 1]) if t else 0.0
    return 0.5 * tau @ (w * w).sum(axis=1) + beta @ offsets[: len(beta)] - square


def largest(found, exact):
    return max(np.linalg.norm(w) for w in [*found.w, exact])


@pytest.fixture(scope="module", params=[1e-1, 1e-3, 1e-5])
def weak(request):
    """A hinge problem, its solution, a run with an R that holds all of it, and its last state."""
    p = problem("hinge", 60, 6, lam=request.param)
    exact = solve(p, InteriorPoint(), gap=1e-13)
    R = 1.0
    while True:
        found, state = run(p, ProximalBundle(radius=R), 40)
        needed = largest(found, exact.solution.w)
        if needed <= R:
            return p, exact, R, found, state
        R = 1.2 * needed


def test_lemma_3_holds_with_equality(weak):
    """D′_t([β; 1]) − D′_{t−1}(β), from both sides."""
    p, _, _, found, state = weak
    offsets = state.cuts.offsets
    for t in range(2, 41):
        beta = found.beta[t - 2]
        rise = proximal_dual(found, offsets, np.append(beta, 1.0), t) - proximal_dual(
            found, offsets, beta, t - 1
        )
        slope = np.linalg.norm(p.lam * found.w[t - 1] + found.slopes[t - 1])
        stated = do_lemma3_rise(found.values[t - 1], slope, found.curvature[t - 1])
        assert rise == pytest.approx(stated, abs=1e-8 * (1 + abs(stated)))


def test_proposition_3_and_theorem_5_bound_the_best_value(weak):
    """For every T, with R ≥ max(‖w_t‖, ‖w*‖)."""
    p, exact, R, found, _ = weak
    norms = [np.linalg.norm(slope) for slope in found.slopes]
    optimum = exact.certificate.dual
    for T in range(1, 41):
        error = min(found.values[:T]) - optimum
        tau = np.array(found.tau[:T])
        assert error <= do_proposition3_error(tau, p.lam, norms[:T], R) + 1e-12
        assert error <= do_theorem5_error(T, lam=p.lam, A=max(norms[:T]), R=R) + 1e-12


def test_the_multipliers_are_feasible_and_prove_less_than_the_model(weak):
    """β ≥ 0, Σβ = t; β/t bounds P* from below, by no more than what is reported."""
    p, exact, _, found, state = weak
    for t, beta in enumerate(found.beta, 1):
        assert beta.min() >= 0
        assert beta.sum() == pytest.approx(t)
        share = beta / t
        slope = share[1:] @ np.array(found.slopes[:t])
        bound = share @ state.cuts.offsets[: t + 1] - slope @ slope / (2 * p.lam)
        assert bound <= found.lower[t - 1] + 1e-12
    assert found.lower[-1] <= exact.certificate.primal + 1e-12


def test_the_taus_are_those_of_the_paper(weak):
    """Algorithm 4's formula is Strategy 1 with G_t = λR + ‖a_t‖; the steps minimise P′_t."""
    p, _, R, found, _ = weak
    G = p.lam * R + np.array([np.linalg.norm(slope) for slope in found.slopes])
    np.testing.assert_allclose(found.tau, balanced_tau(p.lam, G, R).tau, rtol=1e-6, atol=1e-9)
    t = 20
    centre = np.array(found.tau[:t]) @ np.array(found.w[:t])
    w = (centre - found.beta[t - 1][1:] @ np.array(found.slopes[:t])) / found.curvature[t - 1]
    np.testing.assert_allclose(found.w[t], w, atol=1e-9)


def test_one_tau_is_that_of_strategy_2():
    p = problem("hinge", 60, 6, lam=1e-4)
    found, _ = run(p, ProximalBundle(radius=5.0, tau="single", horizon=30), 10)
    G = p.lam * 5.0 + np.linalg.norm(found.slopes[0])
    assert found.tau[0] == pytest.approx(do_theorem2_tau(30, lam=p.lam, G=G, R=5.0), rel=1e-9)
    np.testing.assert_allclose(found.tau[1:], 0.0, atol=1e-12)


def test_an_optimistic_guess_grows_until_it_holds():
    """R: 1 at first, times √2 while ‖w_t‖ has reached it; never beyond √2 of what is proved."""
    p = problem("hinge", 60, 6, lam=1e-4)
    exact = solve(p, InteriorPoint(), gap=1e-13)
    solver = ProximalBundle()
    state = solver.init(p, BACKEND, np.random.default_rng(0))
    guesses = []

    def holds(R):
        return np.linalg.norm(exact.solution.w) <= R

    for _ in range(60):
        w = state.w
        state = solver.advance(p, state, BACKEND, 1)
        assert np.linalg.norm(w) < state.R or holds(state.R)
        guesses.append(state.R)
    assert guesses[0] == 1.0
    assert all(np.diff(guesses) >= 0)
    powers = 2 * np.log2(guesses)
    np.testing.assert_allclose(powers, np.round(powers), atol=1e-9)
    assert state.best - exact.certificate.primal <= 1e-3


def test_a_bound_on_the_radius_is_proved():
    p = problem("hinge", 60, 6, lam=1e-3)
    exact = solve(p, InteriorPoint(), gap=1e-13)
    _, state = run(p, ProximalBundle(radius="bound"), 1)
    assert np.linalg.norm(exact.solution.w) <= state.R <= np.sqrt(2 * p.primal_at_zero / p.lam)


def test_weak_penalties_need_half_the_iterations_at_most():
    """Until the best value seen is within 1e-3 of P*: the measure of Figure 3."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12))
    y = np.where(X[:, 0] + 2.0 * rng.normal(size=400) > 0, 1.0, -1.0)
    p = LinearProblem(X, y, get_loss("hinge"), 1e-6)
    optimum = solve(p, InteriorPoint(), gap=1e-13).certificate.primal
    needed = {}

    def hinge(w):
        short = y * (X @ w) < 1
        return np.sum((1 - y * (X @ w))[short]) / 400, -(y * short) @ X / 400

    for solver in (Bundle(), ProximalBundle()):
        found, _ = run(RiskProblem(hinge, p.lam, n_features=12, floor=0.0), solver, 250)
        needed[type(solver)] = int(np.argmax(np.array(found.values) <= optimum + 1e-3))
    assert 0 < 2 * needed[ProximalBundle] <= needed[Bundle]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": "large"}, "radius"),
        ({"radius": 0.0}, "radius"),
        ({"tau": "many"}, "tau"),
        ({"horizon": 0}, "horizon"),
    ],
)
def test_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        ProximalBundle(**options)
