"""Warm starts: what is given is certified first, whatever the method; it goes on from there."""

from __future__ import annotations

from dataclasses import replace

import chains
import numpy as np
import own
import pytest
from problems import BIASES, LOSS_NAMES, matrix, problem, targets

from gapsvm import (
    ChainLikelihood,
    FeatureRows,
    KernelProblem,
    LinearSVC,
    LinearSVR,
    MiniBatchSDCA,
    OuterBias,
    RankingProblem,
    Subgradient,
    get_kernel,
    get_loss,
    svm_path,
)
from gapsvm.backends import get_backend
from gapsvm.problems.linear import Iterate
from gapsvm.problems.multiclass import MulticlassProblem
from gapsvm.solvers.base import Foreseen, warmed
from gapsvm.solvers.loop import solve
from gapsvm.solvers.newton.newton import Newton
from gapsvm.solvers.sdca.serial import SDCA
from gapsvm.solvers.trace import Status
from gapsvm.training.methods import solver_of, that_solve
from gapsvm.training.train import Options, train

TOL = 1e-5
DUAL = ("auto", "sdca", "accelerated", "interior")
SOLVERS = {
    "safe": MiniBatchSDCA("safe", 4),
    "aggressive": MiniBatchSDCA("aggressive", 4),
    "delayed tail": MiniBatchSDCA("safe", 4, staleness=2, average="tail"),
    "exact": MiniBatchSDCA("exact", 4),
    "tail": Subgradient(4, average="tail"),
}
WEAK, STRONG = 1e-3, 0.05


def options(method, tol=TOL, **others):
    return Options(
        method=SOLVERS.get(method, method),
        tol=tol,
        max_passes=20_000,
        **others,
    )


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_at_the_optimum_no_method_has_anything_to_do(loss, bias):
    """Neither at that of auto nor, for the dual methods, at their own."""
    p = problem(loss, lam=WEAK, bias=bias)
    best = train(p, options("auto"))
    assert best.result.converged
    for method in ("auto", *that_solve(p), *SOLVERS):
        again = train(p, options(method, seed=3), warm=best.solution).result
        assert again.converged, method
        assert again.passes == 0, method
        assert again.gap == pytest.approx(best.result.gap, rel=1e-6, abs=1e-15), method
    strong = problem(loss, lam=STRONG, bias=bias)  # mini-batches take too long where λ is weak
    for method, p in [(m, p) for m in DUAL] + [(m, strong) for m in ("safe", "aggressive")]:
        own = train(p, options(method))
        assert own.result.converged, method
        again = train(p, options(method, seed=3), warm=own.solution).result
        assert again.converged, method
        assert again.passes <= 2, method


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_near_the_optimum_methods_go_on_to_it(loss, bias):
    """From λ/2, whose α is not good enough here; the result is this problem's."""
    other = train(problem(loss, lam=0.5 * STRONG, bias=bias), options("auto")).solution
    p = problem(loss, lam=STRONG, bias=bias)
    best = train(p, options("auto", 1e-9)).result.certificate.primal
    for method in (*DUAL, "safe"):
        found = train(p, options(method), warm=other).result
        assert found.converged, method
        assert found.certificate.primal - best <= found.gap + 1e-12, method


def test_a_warm_start_is_never_made_worse():
    """A pass of Pegasos leads away from a good point, which is handed out then."""
    p = problem("hinge", bias="free")
    good = train(p, options("sdca", 1e-3)).result
    found = train(p, replace(options("pegasos", 1e-9), max_passes=1), warm=good.solution).result
    assert found.status is Status.MAX_PASSES
    assert found.gap == pytest.approx(good.gap, rel=1e-9)


def test_a_point_that_overflows_is_only_a_bad_start():
    p = problem("squared_hinge")
    far = Iterate(np.full(p.n_features, 1e200), 0.0, np.zeros(p.n_rows))
    assert train(p, options("sdca"), warm=far).result.converged


def test_an_intercept_from_another_problem_does_not_count_in_one_without():
    """P(w, b) may be below the smallest P(w)."""
    shifted = train(problem("hinge", bias="free"), options("auto")).solution
    p = problem("hinge", bias="none")
    assert shifted.bias != 0.0
    certificate = p.certify(shifted, get_backend())
    assert certificate.solution.bias == 0.0
    assert certificate.gap >= 0.0


def test_newton_goes_on_from_w():
    p = problem("logistic", n=60, lam=1e-4, bias="free")
    cold = solve(p, Newton(), gap=1e-10)
    near = replace(cold.solution, w=1.01 * cold.solution.w)
    warm = solve(p, Newton(near.w, near.bias), gap=1e-10)
    assert warm.converged
    assert warm.passes < cold.passes


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("method", [*DUAL, "proximal"])
@pytest.mark.parametrize(
    ("model", "loss"), [(LinearSVC, "hinge"), (LinearSVC, "logistic"), (LinearSVR, "absolute")]
)
def test_refitting_at_the_optimum_takes_no_pass(model, loss, method, layout):
    X = matrix(70, 6, layout=layout)
    y = targets(X, "margin" if model is LinearSVC else "response")
    tol = 0.05 if method == "proximal" else TOL
    fitted = model(
        loss=loss, method=method, warm_start=True, tol=tol, max_iter=50_000, random_state=0
    )
    fitted.fit(X, y)
    gap, coef = fitted.dual_gap_, fitted.coef_
    fitted.fit(X, y)
    assert fitted.history_[-1].passes <= 2
    assert fitted.history_[0].gap == pytest.approx(gap, rel=1e-6, abs=1e-15)
    np.testing.assert_allclose(fitted.coef_, coef, rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_refitting_all_classes_at_once_takes_no_pass(classes):
    X = matrix(60, 5)
    y = np.arange(60) % classes
    y = np.where(X[:, 0] > 0, y, 0)
    fitted = LinearSVC(
        multi_class="crammer_singer", penalize_intercept=True, C=0.05, tol=0.05, warm_start=True,
        random_state=0, max_iter=20_000,
    ).fit(X, y)  # fmt: skip
    assert fitted.converged_
    gap, coef = fitted.dual_gap_, fitted.coef_
    fitted.fit(X, y)
    assert fitted.history_[-1].passes == 0
    assert fitted.dual_gap_ == pytest.approx(gap)
    np.testing.assert_allclose(fitted.coef_, coef, rtol=1e-12)


def test_rows_of_another_width_are_no_warm_start():
    X = matrix(60, 6)
    y = targets(X, "margin")
    fitted = LinearSVC(warm_start=True, random_state=0).fit(X, y)
    fitted.fit(X[:, :4], y)
    cold = LinearSVC(random_state=0).fit(X[:, :4], y)
    np.testing.assert_array_equal(fitted.coef_, cold.coef_)


@pytest.mark.parametrize("method", DUAL)
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_a_path_that_stays_takes_no_pass(method, loss):
    """Twice the same λ: the second model is the first."""
    X = matrix(70, 6)
    first, second = svm_path(
        X, targets(X, "margin"), lams=[0.01, 0.01], loss=loss, method=method, tol=1e-6,
        max_iter=20_000,
    )  # fmt: skip
    assert first.passes > 0
    assert second.passes <= 2
    assert second.gap <= first.gap * (1 + 1e-6) + 1e-15


def test_an_outer_search_for_the_bias_starts_with_a_look_too():
    p = problem("hinge", bias="free")
    best = train(p, options("auto")).solution
    again = train(p, options(OuterBias(SDCA())), warm=best).result
    assert again.converged
    assert again.passes == 0


def test_several_classes_start_with_a_look_too():
    X = matrix(60, 5)
    p = MulticlassProblem(X, np.arange(60) % 3, 3, "multinomial", 0.1)
    solver = Subgradient(average="tail")
    best = train(p, options(solver, 0.02))
    assert best.result.converged
    again = train(p, options(solver, 0.02, seed=5), warm=best.solution).result
    assert again.passes == 0
    assert again.gap == pytest.approx(best.result.gap)


def _machine(loss, bias="free"):
    X = matrix(40, 4)
    y = targets(X, get_loss(loss).kind)
    rows = FeatureRows(X, get_kernel("rbf", gamma=0.3))
    return KernelProblem(rows, y, get_loss(loss), 0.05, bias=bias)


def _documents(loss):
    return RankingProblem(matrix(40, 4), np.arange(40) % 3, np.arange(40) // 8, 0.1, loss=loss)


OTHERS = {
    "machine": lambda: _machine("hinge"),
    "machine without a bias": lambda: _machine("squared_hinge", "none"),
    "machine for numbers": lambda: _machine("epsilon_insensitive"),
    "smooth machine": lambda: _machine("logistic"),
    "pairs": lambda: _documents("pairs"),
    "ndcg": lambda: _documents("ndcg"),
    "chain": chains.problem,
    "random field": lambda: ChainLikelihood(*chains.tiny(), 3, 0.1),
    "own": own.problem,
    "joint": lambda: MulticlassProblem(matrix(40, 4), np.arange(40) % 3, 3, "multinomial", 0.1),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_every_kind_of_problem_starts_with_a_look(kind):
    """Whatever solved it, and whatever goes on."""
    p = OTHERS[kind]()
    foreseen, target = Foreseen(0.05, 500), 0.05 * p.primal_at_zero
    for method in (p.default_method, that_solve(p)[-1]):
        best = solve(p, solver_of(method, p, foreseen), gap=target, max_passes=500)
        if not best.converged:
            continue
        for other in that_solve(p):
            solver = warmed(solver_of(other, p, foreseen), best.solution)
            again = solve(p, solver, gap=target, max_passes=500, first=best.solution, seed=3)
            assert again.converged, (method, other)
            assert again.passes <= 2, (method, other)
