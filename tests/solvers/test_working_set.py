"""Kernel machines: the certificate by brute force, and the working-set solver."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import INTERIOR_LOSSES, feasible_points, matrix, targets
from scipy.optimize import approx_fprime, minimize
from sklearn.metrics.pairwise import rbf_kernel

from gapsvm import Status, get_loss, solve
from gapsvm.backends import get_backend
from gapsvm.kernels.registry import get_kernel
from gapsvm.kernels.rows import FeatureRows, MatrixRows
from gapsvm.problems.kernel import KernelIterate, KernelProblem
from gapsvm.solvers.working_set.newton import KernelNewton
from gapsvm.solvers.working_set.solver import WorkingSet

BLOCKS = WorkingSet(block_size=16, whole=0)
BIASES = ("none", "free")
SMOOTH = ["squared_hinge", "smoothed_hinge", "squared_epsilon_insensitive", "huber", "half_squared"]


def kernel_problem(name, n=60, *, bias="free", C=2.0, seed=0, backend="cpu", **options):
    loss = get_loss(name)
    X = matrix(n, 4, seed)
    rows = FeatureRows(X, get_kernel("rbf", gamma=0.3), backend=backend)
    return KernelProblem(rows, targets(X, loss.kind, seed), loss, 1 / (C * n), bias=bias, **options)


def objective(p, coef, bias=0.0, K=None):
    """P(f, b), written again."""
    K = rbf_kernel(p.rows.rows.to_scipy(), gamma=0.3) if K is None else K
    s = np.broadcast_to(p.weight, p.n_rows)
    values = p.loss.curve.value(p.sign * (K @ coef + bias), p.t)
    return float(s @ values / s.sum() + 0.5 * p.lam * coef @ K @ coef)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", INTERIOR_LOSSES)
def test_a_certificate_is_what_it_says(name, bias, weighted):
    """P and D written again from the definitions; the gap is that of the rows; D ≤ P."""
    rng = np.random.default_rng(1)
    weight = rng.uniform(0, 2, 60) * (rng.random(60) < 0.8) if weighted else None
    p = kernel_problem(name, bias=bias, sample_weight=weight)
    alpha = feasible_points(p.loss, 60, rng)
    found = p.certify(KernelIterate(alpha, 0.3), get_backend("cpu"))
    point = found.solution
    coef = p.c * point.alpha
    assert bias == "none" or abs(coef.sum()) <= 1e-12 * np.abs(coef).sum()
    assert found.primal == pytest.approx(objective(p, coef, point.bias), rel=1e-12)
    K, s = rbf_kernel(p.rows.rows.to_scipy(), gamma=0.3), np.broadcast_to(p.weight, 60)
    conjugates = s @ p.loss.curve.conjugate(point.alpha, p.t) / s.sum()
    assert found.dual == pytest.approx(-conjugates - 0.5 * p.lam * coef @ K @ coef, rel=1e-10)
    assert p.gap_of(point.alpha, K @ coef, point.bias) == pytest.approx(found.gap, rel=1e-9)
    best = solve(p, WorkingSet(), gap=1e-10)
    assert found.dual <= best.certificate.dual + 1e-10
    assert found.primal >= best.certificate.primal - 1e-10


@pytest.mark.parametrize("solver", [WorkingSet(), BLOCKS], ids=["whole", "blocks"])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", INTERIOR_LOSSES)
def test_reaches_the_optimum(name, bias, solver):
    p = kernel_problem(name, bias=bias)
    result = solve(p, solver, gap=1e-9 * p.primal_at_zero, max_passes=2000)
    assert result.status is Status.CONVERGED
    assert -1e-12 <= result.gap <= 1e-9 * p.primal_at_zero
    coef = p.coef_of(result.solution)
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-3):
        other = objective(p, coef + size * rng.normal(size=60), result.solution.bias)
        assert other >= result.certificate.primal - result.gap


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_objectives_against_scipy(name):
    p = kernel_problem(name, 30)
    K = rbf_kernel(p.rows.rows.to_scipy(), gamma=0.3)
    found = minimize(
        lambda v: objective(p, v[:-1], v[-1], K), np.zeros(31), method="BFGS", tol=1e-7
    )
    best = solve(p, WorkingSet(), gap=1e-10)
    assert best.certificate.primal <= found.fun + 1e-9
    assert best.certificate.primal == pytest.approx(found.fun, abs=1e-4)


def test_the_reference_backend_solves_the_same_problem():
    results = []
    for backend in ("cpu", "reference"):
        p = kernel_problem("hinge", backend=backend)
        results.append(solve(p, BLOCKS, gap=1e-8, backend=backend))
    assert results[0].converged
    assert results[1].converged
    a, b = (r.certificate.primal for r in results)
    assert a == pytest.approx(b, abs=2e-8)


@pytest.mark.parametrize("solver", [WorkingSet(), BLOCKS], ids=["whole", "blocks"])
def test_weights_are_repetitions(solver):
    """Row twice ≡ weight 2 and weight 0 ≡ row removed."""
    X, y = matrix(40, 4), targets(matrix(40, 4), "margin")
    weight = np.random.default_rng(0).integers(0, 3, 40).astype(float)
    kernel, times = get_kernel("rbf", gamma=0.3), weight.astype(int)
    loss, C = get_loss("hinge"), 3.0
    lam = 1 / (C * weight.sum())
    a = KernelProblem(FeatureRows(X, kernel), y, loss, lam, sample_weight=weight, bias="free")
    many = FeatureRows(np.repeat(X, times, axis=0), kernel)
    b = KernelProblem(many, np.repeat(y, times), loss, lam, bias="free")
    one, two = (solve(p, solver, gap=1e-11, max_passes=5000) for p in (a, b))
    assert one.certificate.primal == pytest.approx(two.certificate.primal, abs=1e-10)
    np.testing.assert_array_equal(one.solution.alpha[weight == 0], 0.0)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", INTERIOR_LOSSES)
def test_rows_that_are_left_out_change_no_optimum(name, bias):
    """Shrinking, the look at all rows, and a certificate with margins in float32."""
    p = kernel_problem(name, 400, bias=bias, C=20.0)
    plain = solve(p, WorkingSet(block_size=64, whole=0), gap=1e-6)
    seen = []

    class Watched(WorkingSet):
        def advance(self, problem, state, *rest):
            state = super().advance(problem, state, *rest)
            seen.append(400 if state.active is None else state.active.size)
            return state

    fresh = kernel_problem(name, 400, bias=bias, C=20.0)
    result = solve(fresh, Watched(block_size=64, whole=0, aim=1e-6), gap=1e-6)
    assert result.converged
    assert result.certificate.primal == pytest.approx(plain.certificate.primal, abs=2e-6)
    exact = objective(fresh, fresh.coef_of(result.solution), result.solution.bias)
    assert result.certificate.primal == pytest.approx(exact, rel=1e-11)
    if name in ("hinge", "epsilon_insensitive", "absolute"):
        assert min(seen) < 400


def test_a_warm_start_at_the_optimum_stops_at_once():
    p = kernel_problem("hinge", 200)
    first = solve(p, BLOCKS, gap=1e-6).solution
    again = solve(p, BLOCKS.warmed(first), gap=1.1e-6, warm=first)
    assert again.passes == 0
    assert again.converged


def test_resumed_is_uninterrupted():
    p = kernel_problem("hinge", 200)
    straight = solve(p, BLOCKS, gap=1e-9)
    part = solve(p, BLOCKS, gap=1e-9, max_passes=0.5)
    assert part.status is Status.MAX_PASSES
    p.rows.forget()
    rest = solve(p, BLOCKS, gap=1e-9, checkpoint=part.checkpoint)
    assert rest.converged
    assert rest.certificate.primal == pytest.approx(straight.certificate.primal, abs=2e-9)


@pytest.mark.parametrize("layout", ["sparse", "dense"])
def test_resumed_is_uninterrupted_bit_for_bit(layout):
    """Rows that were left out, kept rows of K that are gone, another cache: nothing changes.  Of
    dense rows BLAS rounds a value by its place in a tile: none is kept where it has to be so."""
    X = np.where(np.random.default_rng(0).random((600, 20)) < 0.2, matrix(600, 20), 0.0)
    if layout == "dense":
        X = matrix(600, 20)
    y, loss = targets(X, "margin"), get_loss("hinge")

    def problem(megabytes):
        data = X if layout == "dense" else sp.csr_matrix(X)
        rows = FeatureRows(data, get_kernel("rbf", gamma=0.05), cache_size=megabytes)
        rows.repeatable = True
        return KernelProblem(rows, y, loss, 1 / (10 * 600), bias="free")

    solver = WorkingSet(block_size=64, whole=0, aim=1e-6)
    saved = []

    def save(checkpoint):
        saved.append(copy.deepcopy(checkpoint))

    straight = solve(problem(10), solver, gap=1e-6, on_slice=save)
    assert any(one.state.active is not None for one in saved)
    assert len(saved) > 8
    for part in (saved[0], saved[len(saved) // 2], saved[-2]):
        rest = solve(problem(0.2 if layout == "sparse" else 10), solver, gap=1e-6, checkpoint=part)
        np.testing.assert_array_equal(rest.solution.alpha, straight.solution.alpha)
        assert rest.certificate.primal == straight.certificate.primal
        assert rest.passes == straight.passes


@settings(max_examples=40)
@given(
    name=st.sampled_from([*INTERIOR_LOSSES, "logistic"]),
    kernel=st.sampled_from(["rbf", "poly", "laplacian", "linear"]),
    C=st.floats(1e-2, 1e3),
    bias=st.sampled_from(BIASES),
    n=st.integers(4, 60),
    passes=st.floats(0.05, 5),
    seed=st.integers(0, 99),
)
def test_a_gap_is_never_below_what_is_left(name, kernel, C, bias, n, passes, seed):
    """Whatever the kernel, loss, weights and C, wherever a fit is cut short: P − P* ≤ gap."""
    rng, loss = np.random.default_rng(seed), get_loss(name)
    X, weight = matrix(n, 4, seed), rng.uniform(0, 2, n) + 1e-3
    y = targets(X, loss.kind, seed)
    if loss.kind == "margin":
        y[:2] = 1.0, -1.0
    rows = FeatureRows(X, get_kernel(kernel, gamma=0.3, coef0=1.0))
    p = KernelProblem(rows, y, loss, 1 / (C * weight.sum()), sample_weight=weight, bias=bias)
    kind = KernelNewton if name == "logistic" else WorkingSet
    best = solve(p, kind(), gap=1e-10 * p.primal_at_zero, max_passes=500)
    cut = solve(p, kind(block_size=8, whole=0), gap=0.0, max_passes=passes)
    slack = 1e-12 * max(1.0, p.primal_at_zero)
    assert cut.gap >= -slack
    assert cut.certificate.primal - best.certificate.primal <= cut.gap + slack
    assert cut.certificate.dual <= best.certificate.primal + slack


def test_impossible_gap_stalls_and_says_so():
    for solver in (WorkingSet(), BLOCKS):
        result = solve(kernel_problem("hinge"), solver, gap=-1.0, max_passes=10_000)
        assert result.status is Status.STALLED
        assert result.gap <= 1e-10


def test_an_indefinite_kernel_ends_where_every_row_is_content():
    """The gap is then a sum of one term a row, and proves no more."""
    X = matrix(40, 4)
    K = np.tanh(0.5 * X @ X.T - 0.2)
    rows = MatrixRows(K)
    assert rows.is_definite is False
    p = KernelProblem(rows, targets(X, "margin"), get_loss("hinge"), 1 / 40, bias="free")
    result = solve(p, WorkingSet(), gap=1e-6, max_passes=1000)
    assert result.converged


@pytest.mark.parametrize("solver", [KernelNewton(), KernelNewton(block_size=16, whole=0)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_the_logistic_loss(C, bias, weighted, solver):
    """The optimum by another method, over the primal."""
    weight = np.random.default_rng(0).uniform(0, 2, 40) if weighted else None
    p = kernel_problem("logistic", 40, bias=bias, C=C, sample_weight=weight)
    result = solve(p, solver, gap=1e-10 * p.primal_at_zero, max_passes=2000)
    assert result.converged
    assert p.loss.curve.hi >= result.solution.alpha.max()

    def of(v):
        return objective(p, v[:-1], v[-1] * (bias == "free"))

    start = np.append(p.coef_of(result.solution), result.solution.bias)
    assert of(start) == pytest.approx(result.certificate.primal, rel=1e-12)
    gradient = approx_fprime(start, of, 1e-6)
    assert np.abs(gradient).max() <= 4e-5  # √(2·gap·λ‖K‖)


def test_rows_that_are_all_alike_and_rows_that_are_all_different():
    """γ = 0 makes K = 1, a huge one K = I; labels that contradict each other."""
    X, y = matrix(30, 3), targets(matrix(30, 3), "margin")
    for gamma in (0.0, 1e9):
        rows = FeatureRows(X, get_kernel("rbf", gamma=gamma))
        for bias in BIASES:
            p = KernelProblem(rows, y, get_loss("hinge"), 1 / 30, bias=bias)
            assert solve(p, WorkingSet(), gap=1e-9).converged


def test_what_does_not_fit_is_refused():
    p = kernel_problem("hinge", 10)
    with pytest.raises(ValueError, match="'logistic' is not one of five numbers"):
        solve(KernelProblem(p.rows, p.y, get_loss("logistic"), 1.0), WorkingSet(), gap=1e-3)
    with pytest.raises(ValueError, match="bias must be 'none' or 'free'"):
        KernelProblem(p.rows, p.y, get_loss("hinge"), 1.0, bias="penalized")
    with pytest.raises(ValueError, match="has 10 rows but y has shape"):
        KernelProblem(p.rows, p.y[:5], get_loss("hinge"), 1.0)
