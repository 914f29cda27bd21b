"""Small problems, solved exactly: compiled and in NumPy, whole and in parts."""

from __future__ import annotations

import numpy as np
import pytest
from problems import BIASES, LOSS_NAMES, matrix, problem, targets

from gapsvm import Exact, InteriorPoint, LinearProblem, LinearSVC, Newton, Status, get_loss, solve

COMPILED, NUMPY = Exact(compiled=True), Exact(compiled=False)
CASES = [
    (name, BIASES[(k + shift) % 3], shape)
    for k, name in enumerate(LOSS_NAMES)
    for shift, shape in enumerate([(40, 5), (30, 60), (150, 12)])
]


def exactly(p, solver=COMPILED, **options):
    return solve(p, solver, gap=1e-15 * p.primal_at_zero, **options)


def weighted(loss, bias, weight, shape=(30, 4), lam=0.05, seed=0):
    """The same rows with weights, and as often as these say."""
    loss = get_loss(loss)
    X = matrix(*shape, seed)
    y = targets(X, loss.kind, seed)
    one = LinearProblem(X, y, loss, lam, sample_weight=weight.astype(float), bias=bias)
    many = LinearProblem(np.repeat(X, weight, 0), np.repeat(y, weight), loss, lam, bias=bias)
    return one, many


@pytest.mark.parametrize(("loss", "bias", "shape"), CASES)
def test_compiled_and_numpy_agree(loss, bias, shape):
    """To 1e-10 in w, b and α, with weights; both are certified to rounding, and optimal."""
    n, d = shape
    weight = np.random.default_rng(1).integers(0, 3, n) + (np.arange(n) < 2.0)
    for lam in (1e-4, 0.05):
        p = problem(loss, n, d, lam=lam, bias=bias, sample_weight=weight)
        a, b = (exactly(p, solver).solution for solver in (COMPILED, NUMPY))
        size = 1.0 + np.abs(b.w).max()
        np.testing.assert_allclose(a.w, b.w, atol=1e-10 * size)
        assert a.bias == pytest.approx(b.bias, abs=1e-10 * size)
        other = solve(p, Newton() if loss == "logistic" else InteriorPoint(), gap=1e-13)
        for solver in (COMPILED, NUMPY):
            result = exactly(p, solver)
            assert result.gap <= 1e-13 * p.primal_at_zero
            assert result.certificate.primal <= other.certificate.primal + 1e-12


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_weights_are_repetitions_exactly(loss, bias):
    """Row twice ≡ weight 2 and weight 0 ≡ row removed, to 1e-12."""
    weight = np.random.default_rng(0).integers(0, 4, 30)
    weight[:2] = 1, 2
    one, many = weighted(loss, bias, weight)
    for solver in (COMPILED, NUMPY):
        a, b = (exactly(p, solver).solution for p in (one, many))
        np.testing.assert_allclose(a.w, b.w, atol=1e-12)
        assert a.bias == pytest.approx(b.bias, abs=1e-12)


@pytest.mark.parametrize("solver", [COMPILED, NUMPY], ids=["compiled", "numpy"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "absolute"])
def test_odd_rows(loss, solver):
    """Copies, columns that are constant, alike or of very different sizes, hardly any rows."""
    kind = get_loss(loss).kind
    X = matrix(40, 6)
    y = targets(X, kind)
    odd = {
        "copies": (np.tile(X, (6, 1)), np.tile(y, 6)),
        "alike": (np.hstack([X, X, np.ones((40, 1))]), y),
        "units": (X * 10.0 ** np.arange(-3, 3), y),
        "two rows": (X[:2], y[:2]),
        "zeros": (np.zeros((4, 3)), y[:4]),
    }
    for name, (rows, told) in odd.items():
        for lam in (1e-5, 1.0, 100.0):
            p = LinearProblem(rows, told, get_loss(loss), lam, bias="free")
            result = exactly(p, solver)
            assert result.gap <= 1e-10 * p.primal_at_zero, (name, lam)


@pytest.mark.parametrize("solver", [COMPILED, NUMPY], ids=["compiled", "numpy"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_in_parts(loss, solver):
    """One call, or a look after every step: the same answer, and a record of each look."""
    p = problem(loss, 80, 6, lam=1e-3, bias="free")
    whole, looks = exactly(p, solver), []
    parts = exactly(p, solver, callbacks=[looks.append], evaluate_every=1)
    assert len(whole.trace) == 1
    assert len(looks) == len(parts.trace) > 3
    assert whole.passes - 1 <= parts.passes <= whole.passes  # seen to be done a step earlier
    np.testing.assert_allclose(parts.solution.w, whole.solution.w, atol=1e-12)
    stopped = exactly(p, solver, callbacks=[lambda record: True], evaluate_every=1)
    assert stopped.status is Status.STOPPED_BY_CALLBACK
    assert stopped.passes == 1
    ended = exactly(p, solver, time_limit=0.0)
    assert ended.status is Status.TIME_LIMIT
    assert ended.passes == 0
    again = exactly(p, solver, checkpoint=stopped.checkpoint)
    np.testing.assert_array_equal(again.solution.w, whole.solution.w)


def test_long_calls_return_to_the_loop():
    """So that Ctrl-C and limits are seen: after some milliseconds of work, by its own estimate."""
    p = problem("hinge", 2000, 100, lam=1e-4, bias="free")
    asked = []
    result = exactly(p, cancelled=lambda: bool(asked.append(1)))
    assert len(asked) > 4
    assert result.converged
    ended = exactly(p, cancelled=lambda: True)
    assert ended.status is Status.INTERRUPTED


@pytest.mark.parametrize("solver", [COMPILED, NUMPY], ids=["compiled", "numpy"])
def test_a_warm_start_is_taken(solver):
    """A model that is exact needs no step; smooth losses begin at any other."""
    p = problem("logistic", 60, 5, lam=1e-3, bias="penalized", bias_scale=2.0)
    best = exactly(p, solver)
    again = solve(p, solver, gap=1e-12, warm=best.solution)
    assert again.passes == 0
    near = solve(p.with_lam(1.1e-3), solver, gap=1e-13, warm=best.solution)
    assert near.passes < best.passes


def test_what_it_does_not_solve():
    for p, why in (
        (problem("hinge", radius=1.0), "cannot keep w in a ball"),
        (problem("hinge", 1200, 1100), "too large"),
    ):
        with pytest.raises(ValueError, match=why):
            solve(p, Exact(), gap=1e-3)


def test_several_classes():
    """One call a class, one record each."""
    X = matrix(60, 4)
    model = LinearSVC().fit(X, np.arange(60) % 3)
    assert model.method_ == ["exact"] * 3
    assert model.dual_gap_ <= 1e-14
    assert [len(one) for one in model.history_] == [1, 1, 1]
