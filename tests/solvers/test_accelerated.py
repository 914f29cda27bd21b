"""Accelerated SDCA: its outer steps, its own account of the gap, and that it pays."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from problems import BIASES, LAYOUTS, LOSS_NAMES, matrix, objective, problem, targets

from gapsvm import SDCA, AcceleratedSDCA, LinearProblem, get_loss, solve
from gapsvm.backends import get_backend
from gapsvm.solvers.sdca.accelerated import _objective
from gapsvm.training.checkpoint import fingerprint, load_checkpoint, save_checkpoint
from gapsvm.training.train import Options, train
from gapsvm.types.tables import ALPHA

CPU = get_backend("cpu")


def weak(loss="hinge", n=2000, d=50, **options):
    """Features of very different sizes and next to no regularisation."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * np.geomspace(1.0, 0.1, d)
    response = X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    loss = get_loss(loss)
    y = response if loss.kind == "response" else np.where(response > 0, 1.0, -1.0)
    return LinearProblem(X, y, loss, 1e-3 / n, **options)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_w_is_that_of_the_outer_step_and_the_gap_is_known(loss, bias):
    """w = κ/(λ+κ)·v + Σ c'αx however often v moved; screened rows tell P and P − D."""
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    p = problem(loss, 60, 6, lam=0.01, bias=bias, bias_scale=0.7, sample_weight=weight)
    solver = AcceleratedSDCA(kappa=0.05)
    state = solver.init(p, CPU, np.random.default_rng(0))
    known = 0
    for _ in range(80):
        state = solver.advance(p, state, CPU, 60)
        if state.gap < np.inf:
            known += 1
            found = solver.iterate(p, state)
            primal = objective(p, found.w, found.bias)
            assert _objective(p, state, 0.05) == pytest.approx(primal, rel=1e-9)
            if bias != "free":
                gap = p.certify(found, CPU).gap
                assert state.hint == pytest.approx(gap, rel=1e-6, abs=1e-12)
    assert known > 3
    assert state.steps > 1
    X = np.hstack([np.asarray(p.rows.to_scipy()), np.full((60, 1), np.sqrt(p.bias_ratio))])
    c = p.sign * p.weight / (0.06 * p.total_weight)
    v = state.centre if bias == "penalized" else np.append(state.centre, 0.0)
    point = 0.05 / 0.06 * v + X.T @ (c * state.inner.table[:, ALPHA])
    np.testing.assert_allclose(state.inner.w, point[:-1], rtol=1e-9, atol=1e-11)
    if bias != "free":
        assert state.inner.bias == pytest.approx(np.sqrt(p.bias_ratio) * point[-1], abs=1e-10)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "epsilon_insensitive"])
def test_half_the_passes_of_sdca_where_lam_is_weak(loss, bias):
    p = weak(loss, bias=bias)
    gap = 1e-4 * p.primal_at_zero
    fast = solve(p, AcceleratedSDCA(), gap=gap, max_passes=2000)
    assert fast.converged
    assert len(fast.trace) <= 3  # the gap is known when it is looked at
    assert fast.checkpoint.state.steps > 0
    assert not solve(p, SDCA(), gap=gap, max_passes=2 * fast.passes).converged


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_plain_sdca_where_lam_is_strong(loss, bias):
    p = problem(loss, 60, 6, lam=0.1, bias=bias)
    plain, fast = (
        solve(p, solver, gap=1e-6, max_passes=5000) for solver in (SDCA(), AcceleratedSDCA())
    )
    assert fast.checkpoint.state.steps == 0
    assert fast.certificate == plain.certificate
    np.testing.assert_array_equal(fast.solution.alpha, plain.solution.alpha)


@pytest.mark.parametrize("inexactness", [1e-3, 1.0, 10.0])
@pytest.mark.parametrize("kappa", [1e-6, 1e-4, 1e-2])
def test_any_kappa_reaches_the_optimum(kappa, inexactness):
    p = problem("hinge", 300, 8, lam=1e-4)
    found = solve(p, AcceleratedSDCA(kappa, inexactness), gap=1e-5, max_passes=20000)
    assert found.converged


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_warm_start_at_the_optimum_has_nothing_to_do(loss, bias):
    p = problem(loss, 80, 6, lam=0.02, bias=bias)
    cold = solve(p, AcceleratedSDCA(0.05), gap=1e-6 * p.primal_at_zero, max_passes=50000)
    assert cold.converged
    start = AcceleratedSDCA(0.05, alpha=cold.solution.alpha, bias=cold.solution.bias)
    warm = solve(p, start, gap=1e-4 * p.primal_at_zero, max_passes=100, seed=9)
    assert warm.converged
    assert warm.passes <= 20


@pytest.mark.parametrize("bias", BIASES)
def test_warm_start_from_anywhere(bias):
    p = problem("hinge", 60, 5, lam=0.05, bias=bias)
    alpha = np.random.default_rng(1).uniform(-2, 2, 60)
    start = AcceleratedSDCA(0.2, alpha=alpha, bias=0.4)
    assert solve(p, start, gap=1e-6, max_passes=20000).converged


class SlicedProblem(LinearProblem):
    """A small problem that solvers visit a quarter at a time, as they do large ones."""

    slice_rows = 50


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_resume_is_bit_equal(tmp_path, layout, bias):
    """Stopped anywhere, saved, loaded: on to the same end; and the budget is obeyed."""
    X = matrix(200, 5, layout=layout)
    y = targets(matrix(200, 5), "margin")
    p, solver = SlicedProblem(X, y, get_loss("hinge"), 1e-3, bias=bias), AcceleratedSDCA(1e-2)
    whole = solve(p, solver, gap=0.0, max_passes=30, seed=4)
    assert whole.checkpoint.state.steps > 1
    for first in (0.3, 1, 4.5, 11, 23):
        part = solve(p, solver, gap=0.0, max_passes=first, seed=4)
        assert part.passes <= first + 1 / 200
        save_checkpoint(tmp_path / "state", part.checkpoint, fingerprint(p), solver)
        run, again = load_checkpoint(tmp_path / "state", fingerprint(p))
        rest = solve(p, again, gap=0.0, max_passes=30, checkpoint=copy.deepcopy(run))
        assert rest.certificate == whole.certificate
        np.testing.assert_array_equal(rest.solution.w, whole.solution.w)
        np.testing.assert_array_equal(rest.solution.alpha, whole.solution.alpha)


def test_by_name():
    p = weak("squared_hinge", n=500)
    fit = train(p, Options("accelerated", tol=1e-4))
    assert fit.method == "accelerated"
    assert fit.result.converged
    assert train(p, Options(AcceleratedSDCA(), tol=1e-4)).method == "accelerated"
    with pytest.raises(ValueError, match="'accelerated' has no parameter 'batch_size'"):
        train(p, Options("accelerated(batch_size=4)", tol=1e-4))


def test_numbers_that_make_no_sense():
    with pytest.raises(ValueError, match="kappa must be finite"):
        AcceleratedSDCA(kappa=-1.0)
    with pytest.raises(ValueError, match="inexactness must be positive"):
        AcceleratedSDCA(inexactness=0.0)
    p = problem("hinge", radius=1.0)
    with pytest.raises(ValueError, match="cannot keep w in a ball"):
        solve(p, AcceleratedSDCA(), gap=1e-3)
