"""The mean loss over a ball, with and without a penalty (Takáč §6)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import BIASES, LAYOUTS, LOSS_NAMES, matrix, problem, targets

from gapsvm import (
    SDCA,
    InteriorPoint,
    LinearProblem,
    LinearSVC,
    LinearSVR,
    MiniBatchSDCA,
    Subgradient,
    datasets,
    get_loss,
    solve,
)
from gapsvm.solvers.subgradient.rules import STEP_RULES, needs_lam
from gapsvm.theory import do_theorem2_iterations
from gapsvm.training.checkpoint import fingerprint
from gapsvm.training.plan import plan
from gapsvm.training.train import Options


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("rule", ["zhang", "adaptive", "proximal", "bound"])
def test_rules_without_a_penalty(rule, bias, layout):
    """An honest gap that falls, and w in the ball."""
    p = problem("hinge", 60, 5, lam=0.0, radius=0.5, bias=bias, layout=layout)
    solver = Subgradient(2, step_rule=rule, average="tail", horizon=30_000)
    result = solve(p, solver, gap=2e-2, max_passes=1000)
    assert result.converged, result.gap
    assert result.gap >= -1e-12
    got = result.solution
    assert p._square(got.w, got.bias) <= 0.25 * (1 + 1e-12)


@pytest.mark.parametrize("lam", [0.0, 0.01])
@pytest.mark.parametrize("name", ["hinge", "logistic", "squared_hinge", "epsilon_insensitive"])
def test_the_penalty_and_the_ball_lead_to_the_same_point(name, lam):
    """If ‖w*_λ‖ = B, then w*_λ is best in the ball of radius B for any smaller penalty."""
    p = problem(name, 60, 5, lam=0.1)
    best = solve(p, SDCA(), gap=1e-10).solution.w
    B = float(np.linalg.norm(best))
    q = problem(name, 60, 5, lam=lam, radius=B)
    result = solve(q, Subgradient(step_rule="proximal", average="tail"), gap=1e-2, max_passes=3000)
    margins = q.sign * (q.rows.view.values @ best)
    least = float(np.mean(q.loss.curve.value(margins, q.t))) + 0.5 * lam * B**2
    assert result.converged
    assert result.certificate.dual <= least <= result.certificate.primal + 1e-9


def test_a_ball_on_real_data():
    """a9a without a penalty: 20 passes certify 1.5e-2, and w is within 2e-3 of the optimum."""
    a9a = datasets.load("a9a", dtype=np.float32)
    X, y = a9a.X, a9a.y
    best = solve(LinearProblem(X, y, get_loss("hinge"), 1e-4), InteriorPoint(), gap=1e-9)
    B = float(np.linalg.norm(best.solution.w))
    least = best.certificate.primal - 0.5 * 1e-4 * B**2
    p = LinearProblem(X, y, get_loss("hinge"), 0.0, radius=B)
    result = solve(p, Subgradient(step_rule="proximal", average="tail"), gap=1e-9, max_passes=20)
    assert result.certificate.dual <= least <= result.certificate.primal
    assert result.certificate.primal - least <= 2e-3
    assert result.gap <= 1.5e-2


@pytest.mark.parametrize("solver", [SDCA(), MiniBatchSDCA("safe", 4), InteriorPoint()])
def test_dual_methods_refuse_a_ball(solver):
    for lam in (0.0, 0.1):
        with pytest.raises(ValueError, match="cannot keep w in a ball; where a radius"):
            solve(problem("hinge", lam=lam, radius=1.0), solver, gap=0.1)


@pytest.mark.parametrize("rule", STEP_RULES)
def test_rules_that_divide_by_lam_say_so(rule):
    p = problem("hinge", lam=0.0, radius=1.0)
    if not needs_lam(STEP_RULES[rule]()):
        assert solve(p, Subgradient(step_rule=rule), gap=0.5, max_passes=300).gap <= 0.5
        return
    with pytest.raises(ValueError, match="divides by lam, which is 0; choose one of zhang,"):
        solve(p, Subgradient(step_rule=rule), gap=0.1)


@pytest.mark.parametrize("lam", [1.0, 1e-3])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_the_ball_holds_the_minimum(name, bias, lam):
    """‖w*‖² ≤ P(0)/λ, eq. (6) for any loss; of a response at the best bias."""
    p = problem(name, 60, 5, lam=lam, bias=bias)
    at_zero = p.primal_at_zero
    if p.loss.kind == "margin":
        at_zero = float(p.loss.curve.value(0.0, 1.0))
    assert Subgradient(projection=True).projection_radius(p) == pytest.approx(
        math.sqrt(at_zero / lam)
    )
    best = solve(p, SDCA(), gap=1e-9 * p.primal_at_zero, max_passes=20000)
    assert best.converged
    off = math.sqrt(2 * max(best.gap, 0.0) / lam)  # ‖w − w*‖ is no larger
    assert np.linalg.norm(best.solution.w) <= math.sqrt(at_zero / lam) + off


def test_the_ball_of_the_hinge_is_the_papers():
    for lam in (0.3, 1e-4):
        p = problem("hinge", lam=lam, bias="free")
        assert Subgradient(projection=True).projection_radius(p) == 1 / math.sqrt(lam)


def test_the_smaller_ball_counts():
    p = problem("hinge", lam=0.04, radius=2.0)
    for projection, radius in ((False, 2.0), (True, 2.0), (0.5, 0.5), (9.0, 2.0)):
        assert Subgradient(projection=projection).projection_radius(p) == radius
    assert (
        Subgradient(projection=True).projection_radius(problem("hinge", lam=1.0, radius=2.0)) == 1.0
    )
    assert Subgradient().projection_radius(problem("hinge", lam=1.0)) == math.inf


def test_the_theorems_count_without_a_penalty():
    p = problem("hinge", lam=0.0, radius=1.0)
    solver = Subgradient(20, step_rule="proximal", average="uniform", stop="bound", eps=0.3)
    result = solve(p, solver, gap=-1.0, max_passes=1e9)
    G = math.sqrt(p.largest_sq_norm)
    want = do_theorem2_iterations(0.3, lam=0.0, G=G, R=1.0)
    assert result.checkpoint.state.steps == want


def test_auto_means_proximal_in_a_ball():
    p = problem("hinge", lam=0.0, radius=1.0)
    for method in ("auto", "primal"):
        (stage,) = plan(p, method, Options().foreseen)
        how = {"average": "tail", "step_rule": "proximal", "sampler": "permutation"}
        assert stage.solver == Subgradient(1, True, horizon=stage.solver.horizon, **how)
        assert stage.method == "proximal"


BALL = "proximal(radius={}, average=tail, sampler=permutation)"


def test_estimators_in_a_ball():
    X = matrix(300, 5)
    y = targets(X, "margin")
    model = LinearSVC(lam=0, method=BALL.format(0.5), tol=0.02, random_state=0).fit(X, y)
    assert model.method_ == "proximal"
    assert model.converged_
    assert np.linalg.norm(model.coef_) <= 0.5 * (1 + 1e-12)
    both = LinearSVC(C=1e-3, method=BALL.format(50), tol=0.02, random_state=0).fit(X, y)
    plain = LinearSVC(C=1e-3, tol=1e-6).fit(X, y)
    assert both.primal_objective_ - plain.primal_objective_ <= both.dual_gap_
    response = LinearSVR(lam=0, method=BALL.format(0.5), tol=0.1, random_state=0)
    response.fit(X, targets(X, "response"))
    assert np.linalg.norm(response.coef_) <= 0.5 * (1 + 1e-12)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinearSVC(lam=0), "'lam' parameter may be 0 only where a radius is given"),
        (LinearSVC(method="proximal(radius=0)"), "radius must be positive"),
        (LinearSVC(method="proximal(radius=1)", dual=True), "that is a primal method"),
        (LinearSVC(method="sdca(radius=1)"), "'sdca' has no parameter 'radius'"),
        (LinearSVC(lam=0, method="pegasos(radius=1)"), "'pegasos' divides by lam"),
        (
            LinearSVC(
                method="proximal(radius=1)", multi_class="crammer_singer", fit_intercept=False
            ),
            "multi_class='crammer_singer' has no radius",
        ),
    ],
)
def test_what_estimators_refuse(model, message):
    X = matrix(60, 4)
    with pytest.raises(ValueError, match=message):
        model.fit(X, targets(X, "margin"))


def test_a_checkpoint_knows_its_ball():
    assert fingerprint(problem("hinge", radius=2.0))["radius"] == 2.0
    assert "radius" not in fingerprint(problem("hinge"))
