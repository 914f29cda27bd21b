"""SOLVERS × LOSSES × layouts × dtypes × biases: what every solver owes every problem."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import (
    BIASES,
    DTYPES,
    INTERIOR_LOSSES,
    LAYOUTS,
    LOSS_NAMES,
    dual_objective,
    matrix,
    objective,
    problem,
    targets,
)

from gapsvm import (
    SDCA,
    AcceleratedSDCA,
    Bundle,
    Exact,
    InteriorPoint,
    LinearProblem,
    MiniBatchSDCA,
    Newton,
    OuterBias,
    Pegasos,
    Status,
    get_loss,
    solve,
)

# solver, relative gap it reaches here, passes it may take
SOLVERS = {
    "sdca": (SDCA(), 1e-7, 20000),
    "accelerated": (AcceleratedSDCA(kappa=0.3), 1e-7, 20000),  # by itself it has no κ at this λ
    "naive batches": (MiniBatchSDCA("naive", 2), 1e-3, 20000),  # of two rows it cannot diverge
    "safe batches": (MiniBatchSDCA("safe", 4), 1e-4, 20000),
    "safe, by rows, late": (MiniBatchSDCA("safe", 4, form="rows", staleness=2), 1e-3, 20000),
    "aggressive batches": (MiniBatchSDCA("aggressive", 6), 1e-4, 20000),
    "aggressive, tail": (MiniBatchSDCA("aggressive", 4, average="tail"), 1e-3, 20000),
    "exact blocks": (MiniBatchSDCA("exact", 8), 1e-6, 20000),
    "exact": (Exact(compiled=True), 1e-13, 100),
    "exact, NumPy": (Exact(compiled=False), 1e-13, 100),
    "interior": (InteriorPoint(), 1e-11, 100),
    "newton": (Newton(), 1e-11, 100),
    "bundle": (Bundle(), 1e-5, 4000),
    "pegasos": (Pegasos(), 0.08, 4000),
    "pegasos, batches": (Pegasos(4, projection=True), 0.08, 4000),
    "bias of each batch": (Pegasos(30, projection=True, bias_step="batch"), 0.08, 4000),
    "outer bias": (OuterBias(SDCA()), 1e-4, 20000),
    "outer bias, pegasos": (OuterBias(Pegasos(projection=True)), 0.08, 4000),
}
LOSSES_OF = {"interior": INTERIOR_LOSSES, "newton": ["logistic"]}
FOR_A_FREE_BIAS = ("bias of each batch", "outer bias", "outer bias, pegasos")
CASES = [
    (solver, loss, bias)
    for solver in SOLVERS
    for loss in LOSSES_OF.get(solver, LOSS_NAMES)
    for bias in (("free",) if solver in FOR_A_FREE_BIAS else BIASES)
]
every_case = pytest.mark.parametrize(("solver", "loss", "bias"), CASES)
LAM = 0.1


def solver_for(p, name):
    """Without projection Pegasos needs a loss of bounded slope; a batch has n rows at most.

    Where no bias is free there is none to search for.
    """
    solver = SOLVERS[name][0]
    if p.bias != "free":
        solver = getattr(solver, "inner", solver)
    if name == "bias of each batch" and (p.bias != "free" or p.n_rows < 2):
        solver = replace(solver, bias_step="gradient")
    if getattr(solver, "batch_size", 1) > p.n_rows:
        solver = replace(solver, batch_size=p.n_rows)
    if name == "pegasos" and np.isinf(p.loss.curve.hi):
        return replace(solver, projection=True)
    return solver


def run(p, name, **options):
    _, tol, passes = SOLVERS[name]
    target = tol * p.primal_at_zero
    return solve(p, solver_for(p, name), gap=target, max_passes=passes, **options)


@cache
def optimum(loss, layout="dense", dtype=np.float64, bias="none"):
    """P* by the other family: interior point, or Newton's method for the logistic loss."""
    p = problem(loss, lam=LAM, layout=layout, dtype=dtype, bias=bias)
    return run(p, "interior" if loss in INTERIOR_LOSSES else "newton").certificate.primal


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@every_case
def test_certified_optimum(solver, loss, layout, dtype, bias):
    """Weak duality at every look, the target met, an honest gap, P* found, no drift."""
    p = problem(loss, lam=LAM, layout=layout, dtype=dtype, bias=bias)
    result = run(p, solver, evaluate_every=1)
    scale, found = p.primal_at_zero, result.solution
    assert result.converged, result.status
    assert all(r.gap >= -1e-12 * scale and r.gap == r.primal - r.dual for r in result.trace)
    assert result.gap <= SOLVERS[solver][1] * scale
    assert result.certificate.primal == pytest.approx(objective(p, found.w, found.bias), rel=1e-11)
    dual = dual_objective(p, found.alpha)
    assert result.certificate.dual == pytest.approx(dual, rel=1e-11, abs=1e-13)
    curve = p.loss.curve
    assert found.alpha.min() >= curve.lo
    assert found.alpha.max() <= curve.hi
    best = optimum(loss, layout, dtype, bias)
    assert -1e-6 * scale <= result.certificate.primal - best <= result.gap + 1e-6 * scale
    if solver in ("sdca", "exact", "exact, NumPy", "interior", "newton"):
        w = np.asarray(p.rows.to_scipy().T @ (p.scale * p.sign * found.alpha)).ravel()
        np.testing.assert_allclose(found.w, w, atol=2e-3)
        assert p.kkt_residual(found) <= 0.02
    if solver == "sdca" and bias != "free":
        np.testing.assert_allclose(found.w, w, rtol=1e-10, atol=1e-12)


@every_case
def test_weights_are_repetitions(solver, loss, bias):
    """Weight 2 ≡ row twice, weight 0 ≡ row removed: the same P*, within both gaps."""
    loss_ = get_loss(loss)
    X = matrix(40, 5)
    y = targets(X, loss_.kind)
    count = np.random.default_rng(2).integers(0, 3, 40)
    count[:2] = 1, 2
    options = {"bias": bias, "bias_scale": 1.0}
    weighted = LinearProblem(X, y, loss_, LAM, sample_weight=count.astype(float), **options)
    repeated = LinearProblem(np.repeat(X, count, 0), np.repeat(y, count), loss_, LAM, **options)
    assert weighted.primal_at_zero == pytest.approx(repeated.primal_at_zero, rel=1e-12)
    a, b = run(weighted, solver), run(repeated, solver)
    assert a.converged
    assert b.converged
    gap = max(a.gap, b.gap) + 1e-12
    assert abs(a.certificate.primal - b.certificate.primal) <= gap
    moved = objective(repeated, a.solution.w, a.solution.bias)  # one model, two readings
    assert moved == pytest.approx(a.certificate.primal, rel=1e-11)
    if solver in ("sdca", "exact", "exact, NumPy", "interior", "newton"):  # λ/2‖w − w*‖² ≤ gap
        reach = 2 * np.sqrt(2 * gap / LAM)
        np.testing.assert_allclose(a.solution.w, b.solution.w, atol=reach)


@settings(max_examples=40)
@given(st.data())
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_gap_bounds_the_sub_optimality(solver, data):
    """P(w) − P* ≤ reported gap, wherever a fit is stopped, on random problems."""
    losses = LOSSES_OF.get(solver, LOSS_NAMES)
    p = problem(
        data.draw(st.sampled_from(losses), label="loss"),
        data.draw(st.integers(4, 30), label="n"),
        data.draw(st.integers(1, 12), label="d"),
        seed=data.draw(st.integers(0, 10**6), label="seed"),
        lam=10.0 ** data.draw(st.integers(-5, 2), label="log10 lam"),
        bias=data.draw(st.sampled_from(BIASES), label="bias"),
        layout=data.draw(st.sampled_from(LAYOUTS), label="layout"),
    )
    passes = data.draw(st.integers(1, 12), label="passes")
    result = solve(p, solver_for(p, solver), gap=0.0, max_passes=passes, seed=passes)
    exact = Newton() if p.loss.name == "logistic" else InteriorPoint()
    best = solve(p, exact, gap=1e-12 * p.primal_at_zero, max_passes=200)
    rounding = 1e-11 * (p.primal_at_zero + abs(result.certificate.primal))
    assert result.gap >= -rounding
    assert result.certificate.primal - best.certificate.dual <= result.gap + best.gap + rounding
    assert best.certificate.dual <= result.certificate.primal + rounding


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_compiled_and_the_obvious_backend_agree(solver):
    """The same seed on both: the same iterates to rounding, through the whole loop."""
    loss = "logistic" if solver == "newton" else "smoothed_hinge"
    p = problem(loss, lam=LAM, bias="free")
    a, b = (
        solve(p, SOLVERS[solver][0], gap=0.0, max_passes=6, backend=name, seed=3)
        for name in ("cpu", "reference")
    )
    np.testing.assert_allclose(a.solution.w, b.solution.w, rtol=1e-6, atol=1e-8)
    assert a.gap == pytest.approx(b.gap, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("bias", BIASES)
def test_divergence_is_a_status(bias):
    """Pegasos without projection on a squared loss and a tiny λ: no exception, no warning."""
    p = problem("half_squared", 8, 3, lam=1e-5, bias=bias)
    result = solve(p, Pegasos(), gap=1e-3, max_passes=40)
    assert result.status in (Status.DIVERGED, Status.MAX_PASSES)


SHAPES = {
    "n=1": (1, 4),
    "d=1": (20, 1),
    "d≫n": (8, 300),
    "zero X": (12, 3),
}


@pytest.mark.parametrize("shape", SHAPES)
@every_case
def test_odd_shapes_have_a_defined_answer(solver, loss, shape, bias):
    """One row, one column, many columns, nothing but zeros: finite, with an honest gap."""
    loss_ = get_loss(loss)
    if (loss, shape, bias) == ("logistic", "n=1", "free"):
        pytest.skip("one class: the infimum lies at an infinite bias")
    n, d = SHAPES[shape]
    X = matrix(max(n, 2), d)[:n] * (shape != "zero X")
    y = targets(matrix(max(n, 2), d), loss_.kind)[:n]
    p = LinearProblem(X, y, loss_, LAM, bias=bias)
    result = solve(
        p, solver_for(p, solver), gap=1e-6 * max(p.primal_at_zero, 1e-6), max_passes=2000
    )
    assert np.isfinite([result.certificate.primal, result.gap, *result.solution.w]).all()
    assert result.gap >= -1e-12 * (1 + p.primal_at_zero)
    if solver in ("sdca", "exact", "exact, NumPy", "interior", "newton"):
        assert result.converged, (result.status, result.gap)
