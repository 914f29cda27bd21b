"""The papers' methods on kernel problems: naive twins, linear kernels, counts, resumption."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from problems import KERNEL_ROWS as N
from problems import LOSS_NAMES, feasible_points, kernel_problem, matrix
from sklearn.metrics.pairwise import rbf_kernel

from gapsvm import (
    KERNELS,
    SVC,
    CoefficientSubgradient,
    KernelMulticlassProblem,
    KernelSDCA,
    MiniBatchSDCA,
    MulticlassProblem,
    OuterBias,
    Status,
    Subgradient,
    get_loss,
    solve,
)
from gapsvm.backends import get_backend
from gapsvm.kernels.callable import CallableRows
from gapsvm.kernels.registry import get_kernel
from gapsvm.kernels.rows import FeatureRows, MatrixRows
from gapsvm.kernels.spectral import kernel_sigma2
from gapsvm.problems.kernel import KernelProblem
from gapsvm.problems.linear import LinearProblem

CPU = get_backend("cpu")


def linear_twin(problem):
    """The same problem over rows of features, for the linear kernel."""
    weight = None if problem.weight.size == 1 else problem.weight
    return LinearProblem(
        matrix(problem.n_rows, 5, 2),
        problem.y,
        problem.loss,
        problem.lam,
        sample_weight=weight,
        bias=problem.bias,
    )


def drawn(solver, problem, steps):
    """The rows that the solver will draw, k a step."""
    state = solver.init(problem, CPU, np.random.default_rng(5))
    batches = np.empty((steps, solver.batch_size), dtype=np.uint32)
    solver.sampler_object.draw(problem, state.order, state.seed, batches, 0, CPU)
    return batches


def test_figure_3_as_printed_but_exact():
    """Pegasos Figure 3 with λ(t − 1) and w₁ = 0, in Python, on the same rows."""
    problem, solver = kernel_problem(), Subgradient()
    K, y, lam = problem.rows.product, problem.y, problem.lam
    K = np.stack([K(e) for e in np.eye(N)])
    count = np.zeros(N)
    state = solver.init(problem, CPU, np.random.default_rng(5))
    rows = drawn(solver, problem, 64).ravel()
    for t, i in enumerate(rows, start=1):
        margin = y[i] * sum(count[j] * y[j] * K[i, j] for j in range(N)) / (lam * max(t - 1, 1))
        count[i] += margin < 1
    state = solver.advance(problem, state, CPU, 64)
    assert state.steps == 64
    np.testing.assert_allclose(state.weights.w, count * y / (lam * 64), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("lam", [1e-4, 0.1])
def test_a_step_of_figure_3_needs_at_most_min_t_n_values(layout, lam):
    problem = kernel_problem(lam=lam, layout=layout)
    rows, solver = problem.rows, Subgradient()
    state = solver.init(problem, CPU, np.random.default_rng(0))
    for _ in range(8):
        before, first = rows.evaluations, state.steps
        state = solver.advance(problem, state, CPU, 64)
        most = sum(min(t, N) for t in range(first, state.steps))
        assert rows.evaluations - before <= most


RULES = ("pegasos", "norma", "zhang", "adaptive", "proximal", "bound", "optimistic")
VARIANTS = [
    *({"step_rule": rule, "projection": rule not in ("pegasos", "zhang")} for rule in RULES),
    *({"average": average} for average in ("uniform", "tail", "decaying", "random")),
    *({"sampler": sampler} for sampler in ("multisets", "permutation", "fixed")),
    {"batch_size": 7},
    {"batch_size": 7, "projection": True, "average": "tail"},
]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_on_the_linear_kernel_it_is_figure_1_step_for_step(variant):
    kernel, solver = kernel_problem(kernel="linear"), Subgradient(**variant)
    linear, X = linear_twin(kernel), matrix(N, 5, 2)
    ours, theirs = (solver.init(p, CPU, np.random.default_rng(1)) for p in (kernel, linear))
    for _ in range(5):
        before = ours.rows_visited
        ours = solver.advance(kernel, ours, CPU, 64)
        theirs = solver.advance(linear, theirs, CPU, ours.rows_visited - before)
        np.testing.assert_array_equal(ours.table, theirs.table)
        point, want = solver.output(ours), solver.output(theirs)
        np.testing.assert_allclose(X.T @ point[:-1], want[:-1], rtol=1e-9, atol=1e-10)
        assert ours.weights.length == pytest.approx(theirs.weights.length, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("name", LOSS_NAMES)
@pytest.mark.parametrize("bias", ["none", "free"])
def test_every_loss_on_the_linear_kernel(name, bias):
    """And a free bias by steps of its own; weights of the rows."""
    weight = np.random.default_rng(3).uniform(0, 2, N)
    kernel = kernel_problem(name, kernel="linear", bias=bias, sample_weight=weight)
    linear, X = linear_twin(kernel), matrix(N, 5, 2)
    for solver in (
        Subgradient(batch_size=4, projection=True),
        MiniBatchSDCA(rule="naive", batch_size=1),
    ):
        ours, theirs = (solver.init(p, CPU, np.random.default_rng(1)) for p in (kernel, linear))
        for _ in range(3):
            before = ours.rows_visited
            ours = solver.advance(kernel, ours, CPU, 64)
            theirs = solver.advance(linear, theirs, CPU, ours.rows_visited - before)
        np.testing.assert_allclose(ours.table, theirs.table, rtol=1e-7, atol=1e-9)
        if isinstance(solver, Subgradient):
            got = X.T @ ours.weights.w, ours.weights.bias
            want = theirs.weights.w, theirs.weights.bias
        else:
            got, want = (ours.w, ours.bias), (X @ theirs.w, theirs.bias)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-7, atol=1e-9)
        assert got[1] == pytest.approx(want[1], rel=1e-7, abs=1e-9)


def test_the_best_bias_of_a_batch_on_the_linear_kernel():
    kernel = kernel_problem(kernel="linear", bias="free")
    solver = Subgradient(batch_size=8, bias_step="batch")
    problems = kernel, linear_twin(kernel)
    ours, theirs = (solver.init(p, CPU, np.random.default_rng(1)) for p in problems)
    for _ in range(3):
        ours, theirs = (solver.advance(p, s, CPU, 64) for p, s in zip(problems, (ours, theirs)))
    want = theirs.weights.w, theirs.weights.bias
    np.testing.assert_allclose(matrix(N, 5, 2).T @ ours.weights.w, want[0], rtol=1e-8, atol=1e-9)
    assert ours.weights.bias == pytest.approx(want[1], rel=1e-8)


BATCHES = [
    {"rule": "naive", "batch_size": 6},
    {"rule": "safe", "batch_size": 6, "sigma2": 0.2, "form": "rows"},
    {"rule": "safe", "batch_size": 6, "sigma2": 0.5},
    {"rule": "aggressive", "batch_size": 6},
    {"rule": "aggressive", "batch_size": 6, "staleness": 2},
    {"rule": "aggressive", "batch_size": 5, "sampler": "permutation", "average": "decaying"},
    {"rule": "exact", "batch_size": 16, "sampler": "permutation", "sweeps": 2},
    {"rule": "naive", "batch_size": 1, "average": "tail"},
]


@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("variant", BATCHES, ids=str)
def test_batches_on_the_linear_kernel_are_those_of_linear_problems(variant, bias):
    kernel, solver = kernel_problem(kernel="linear", bias=bias), MiniBatchSDCA(**variant)
    linear, X = linear_twin(kernel), matrix(N, 5, 2)
    ours, theirs = (solver.init(p, CPU, np.random.default_rng(1)) for p in (kernel, linear))
    for _ in range(12):
        steps = ours.steps
        ours = solver.advance(kernel, ours, CPU, 1)
        while theirs.steps < ours.steps:
            theirs = solver.advance(linear, theirs, CPU, 1)
        assert ours.steps > steps
    np.testing.assert_allclose(ours.table, theirs.table, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.w, X @ theirs.w, rtol=1e-7, atol=1e-8)
    assert (ours.refusals, ours.beta) == (theirs.refusals, pytest.approx(theirs.beta, rel=1e-9))


@pytest.mark.parametrize("sampler", ["permutation", "uniform"])
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_sdca_is_exact_coordinate_ascent(name, sampler):
    """50 steps written again, on the rows that the state says; margins are those of α."""
    problem = kernel_problem(name)
    K = np.stack([problem.rows.product(e) for e in np.eye(N)])
    solver = KernelSDCA(
        sampler=sampler, alpha=feasible_points(problem.loss, N, np.random.default_rng(1))
    )
    state = solver.init(problem, CPU, np.random.default_rng(2))
    twin = copy.deepcopy(state)
    rows = solver._next_rows(problem, twin, CPU, 64)
    alpha, curve = state.table[:, 0].copy(), problem.loss.curve
    for i in rows:
        z = np.sign(problem.c[i]) * (K[i] @ (problem.c * alpha))
        t = np.broadcast_to(problem.t, N)[i]
        alpha[i] = curve.dual_step(alpha[i], z, t, abs(problem.c[i]) * K[i, i])
    state = solver.advance(problem, state, CPU, 1)
    np.testing.assert_allclose(state.table[:, 0], alpha, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(state.margins, K @ (problem.c * alpha), rtol=1e-8, atol=1e-8)


def test_subgradients_in_alpha_preconditioned_by_k_are_those_in_w():
    """Pegasos §4: iterate by iterate, for a batch as well."""
    for size in (1, 5):
        problem, solver = kernel_problem(), CoefficientSubgradient(True, batch_size=size)
        pegasos = Subgradient(batch_size=size)
        ours, theirs = (s.init(problem, CPU, np.random.default_rng(1)) for s in (solver, pegasos))
        for _ in range(3):
            ours = solver.advance(problem, ours, CPU, 1)
            while theirs.steps < ours.steps:
                theirs = pegasos.advance(problem, theirs, CPU, 1)
            if theirs.steps == ours.steps:
                want = theirs.weights.w
                np.testing.assert_allclose(ours.coef, want, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(ours.margins, problem.rows.gram @ ours.coef, atol=1e-9)


@pytest.mark.parametrize("name", ["hinge", "logistic", "huber"])
def test_plain_subgradients_in_alpha_are_those_of_eq_19(name):
    """Against differences of F, every row in the batch; and 50 steps lower F."""
    problem = kernel_problem(name)
    K, n = problem.rows.gram, problem.n_rows

    def F(v):
        m = K @ v
        return problem.loss_sum(m, 0.0) / n + 0.5 * problem.lam * v @ m

    solver = CoefficientSubgradient(batch_size=n, eta=1e-9)
    state = solver.init(problem, CPU, np.random.default_rng(1))
    state.coef = np.random.default_rng(0).normal(size=n)
    state.margins = K @ state.coef
    before, start = F(state.coef), state.coef.copy()
    state = solver.advance(problem, state, CPU, 1)
    move = state.coef - start
    length = 1e-9 * np.sum(1 / np.sqrt(np.arange(1, 65)))
    fell = (before - F(start + move)) / length
    assert fell == pytest.approx(move @ move / length**2, rel=1e-3)
    found = solve(problem, "coefficient-subgradient", tol=0.5, max_passes=60)
    assert found.certificate.primal < problem.primal_at_zero


@pytest.mark.parametrize("loss", ["crammer_singer", "multinomial"])
@pytest.mark.parametrize(
    "variant",
    [{}, {"batch_size": 5, "projection": True, "average": "tail"}, {"step_rule": "zhang(eta=0.1)"}],
    ids=str,
)
def test_several_classes_on_the_linear_kernel(loss, variant):
    """Pegasos §5 step for step, and its certificate; both backends."""
    X, y, weight = matrix(N, 5, 2), np.arange(N) % 4, np.linspace(0.5, 2, N)
    linear = MulticlassProblem(X, y, 4, loss, 0.05, sample_weight=weight)
    solver = Subgradient(**variant)
    for name in ("cpu", "reference"):
        rows, backend = FeatureRows(X, get_kernel("linear"), backend=name), get_backend(name)
        kernel = KernelMulticlassProblem(rows, y, 4, loss, 0.05, sample_weight=weight)
        ours, theirs = (solver.init(p, backend, np.random.default_rng(1)) for p in (kernel, linear))
        for _ in range(3):
            before = ours.rows_visited
            ours = solver.advance(kernel, ours, backend, 64)
            theirs = solver.advance(linear, theirs, backend, ours.rows_visited - before)
        np.testing.assert_allclose(ours.table, theirs.table, rtol=1e-8, atol=1e-10)
        assert ours.weights.length == pytest.approx(theirs.weights.length, rel=1e-7)
        one, other = (solver.iterate(p, s) for p, s in ((kernel, ours), (linear, theirs)))
        np.testing.assert_allclose(X.T @ one.W, other.W, rtol=1e-7, atol=1e-9)
        got, want = kernel.certify(one, backend), linear.certify(other, backend)
        assert (got.primal, got.dual) == pytest.approx((want.primal, want.dual), rel=1e-8)


def test_several_classes_with_a_gaussian_kernel():
    X = matrix(N, 5, 2)
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    rows = FeatureRows(X, get_kernel("rbf(gamma=0.3)"))
    problem = KernelMulticlassProblem(rows, y, 3, "crammer_singer", 0.05)
    found = solve(problem, tol=0.1, max_passes=500)
    assert found.converged


@pytest.mark.parametrize("average", ["uniform", "tail"])
def test_theorems_say_when_to_end(average):
    """Pegasos Theorem 1 and Takáč Theorem 1, whose σ² is that of K: ε is kept."""
    problem = kernel_problem(lam=0.5)
    best = solve(problem, tol=1e-9).certificate.primal
    solver = Subgradient(average=average, stop="bound", eps=0.3)
    found = solve(problem, solver, gap=0.0, max_passes=1e4)
    assert found.status is Status.PROMISED
    assert found.certificate.primal - best <= 0.3


def test_a_search_for_the_bias_around_pegasos():
    """Pegasos §6, the last treatment: on the linear kernel it is that of linear problems."""
    kernel = kernel_problem(kernel="linear", bias="free", lam=0.1)
    problems = kernel, linear_twin(kernel)
    solver = OuterBias(Subgradient(batch_size=2, average="tail"), passes=2.0)
    ours, theirs = (solver.init(p, CPU, np.random.default_rng(1)) for p in problems)
    for _ in range(12):
        ours = solver.advance(kernel, ours, CPU, N)
        theirs = solver.advance(problems[1], theirs, CPU, N)
    assert ours.bias != 0.0
    found = solve(kernel, solver, tol=0.15, max_passes=400)
    assert found.converged


METHODS = (
    "pegasos(average=tail)",
    "kernel-sdca",
    "kernel-sdca(sampler=uniform)",
    "kernel-sdca(cache_rows=false)",
    "minibatch(rule=aggressive, batch_size=8)",
    "minibatch(rule=safe, batch_size=8)",
    "minibatch(rule=exact)",
    "lasvm",
    "smo",
)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bias", ["none", "free"])
def test_the_methods_certify_one_optimum(method, bias):
    """The gap of each contains the optimum of the working-set solver; both backends."""
    best = solve(kernel_problem(lam=0.05, bias=bias), tol=1e-9).certificate.primal
    for backend, tol in (("cpu", 1e-3), ("reference", 3e-2)):
        problem = kernel_problem(lam=0.05, bias=bias, backend=backend)
        tol = 0.1 if "pegasos" in method else tol
        found = solve(problem, method, tol=tol, max_passes=3000, backend=backend)
        assert found.converged
        assert found.certificate.dual <= best + 1e-9 <= found.certificate.primal + 2e-9


@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize(
    "solver",
    [
        Subgradient(4, average="tail", projection=True),
        Subgradient(step_rule="optimistic"),
        KernelSDCA(),
        MiniBatchSDCA("aggressive", 8),
        MiniBatchSDCA("exact", 16, sampler="permutation"),
    ],
    ids=lambda solver: f"{type(solver).__name__}-{getattr(solver, 'rule', '')}",
)
def test_both_backends_do_the_same(solver, bias):
    """Loops over rows of K, compiled and written out, on the same indices."""
    found = []
    for name in ("cpu", "reference"):
        problem = kernel_problem(bias=bias, backend=name)
        backend = get_backend(name)
        state = solver.init(problem, backend, np.random.default_rng(1))
        for _ in range(4):
            state = solver.advance(problem, state, backend, 64)
        point = solver.iterate(problem, state)
        found.append((state.table, problem.coef_of(point), point.bias))
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize(
    "method", [*METHODS, "minibatch(rule=aggressive,batch_size=8,staleness=1)"]
)
def test_resumed_is_uninterrupted_bit_for_bit(method, layout):
    def problem():
        return kernel_problem(layout=layout, cache_size=0.02)

    at_once = solve(problem(), method, gap=0.0, max_passes=7)
    part = solve(problem(), method, gap=0.0, max_passes=2.6)
    rest = solve(problem(), method, gap=0.0, max_passes=7, checkpoint=part.checkpoint)
    assert at_once.passes == rest.passes
    np.testing.assert_array_equal(at_once.solution.alpha, rest.solution.alpha)


def test_kept_rows_change_nothing_but_the_count():
    kept, anew = kernel_problem(), kernel_problem()
    one = solve(kept, "kernel-sdca", gap=0.0, max_passes=6)
    other = solve(anew, "kernel-sdca(cache_rows=false)", gap=0.0, max_passes=6)
    np.testing.assert_allclose(one.solution.alpha, other.solution.alpha, rtol=1e-9, atol=1e-10)
    assert kept.rows.evaluations < anew.rows.evaluations


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_every_kernel(kernel, layout):
    """Methods lower P, or, of a kernel that is not definite, end with numbers."""
    X = abs(matrix(N, 5, 2))
    y = np.where(X[:, 0] > np.median(X[:, 0]), 1.0, -1.0)
    rows = FeatureRows(sp.csr_matrix(X) if layout == "csr" else X, get_kernel(kernel))
    problem = KernelProblem(rows, y, get_loss("hinge"), 0.1)
    for method in METHODS:
        found = solve(problem, method, gap=0.0, max_passes=15)
        assert found.certificate.is_finite
        if kernel != "sigmoid":
            assert found.certificate.primal < problem.primal_at_zero


def test_a_callable_is_its_kernel_by_name():
    problem = kernel_problem()
    X = problem.rows.rows.to_scipy()
    rows = CallableRows(X, lambda a, b: rbf_kernel(a, b, gamma=0.3))
    called = KernelProblem(rows, problem.y, problem.loss, problem.lam)
    for method in ("pegasos", "kernel-sdca"):
        one, other = (solve(p, method, gap=0.0, max_passes=2) for p in (problem, called))
        np.testing.assert_allclose(one.solution.alpha, other.solution.alpha, atol=1e-8)


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("kernel", ["rbf(gamma=0.3)", "linear", "poly(gamma=1, coef0=1)"])
def test_sigma2_of_k(kernel, normalised):
    rows = kernel_problem(kernel=kernel).rows
    K = np.stack([rows.product(e) for e in np.eye(N)])
    if normalised:
        size = np.sqrt(np.diag(K))
        inverse = np.divide(1.0, size, out=np.zeros(N), where=size > 0)
        K = K * np.outer(inverse, inverse)
    true = np.linalg.eigvalsh(K)[-1] / N
    for some in (rows, kernel_problem(kernel=kernel, cache_size=0.0).rows):
        found = kernel_sigma2(some, normalised=normalised)
        assert true * (1 - 1e-12) <= found.value <= 1.02 * true
        assert found.lower <= true * (1 + 1e-12)
    assert kernel_sigma2(rows, normalised=normalised, sample=40).kind == "estimate"


def test_a_matrix_serves_as_well():
    problem = kernel_problem()
    K = np.stack([problem.rows.product(e) for e in np.eye(N)])
    given = KernelProblem(MatrixRows(K), problem.y, problem.loss, problem.lam)
    for method in METHODS:
        if "safe" in method or method in ("lasvm", "smo"):
            continue  # another bound of σ²; two gradients that are equal but for rounding
        one, other = (solve(p, method, gap=0.0, max_passes=3) for p in (problem, given))
        np.testing.assert_allclose(one.solution.alpha, other.solution.alpha, atol=1e-8)


@pytest.mark.parametrize(
    "method", ["pegasos(average=tail)", "kernel-sdca", "minibatch", "lasvm", "smo"]
)
def test_svc_takes_them_by_name(method):
    X = matrix(N, 5, 2)
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    model = SVC(method=method, C=1.0, tol=0.2, gamma=0.3).fit(X, y)
    assert model.converged_
    assert model.score(X, y) > 0.7
    assert model.n_kernel_evals_ > 0


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("pegasos(sampler=streams)", "streams"),
        ("minibatch(sampler=streams)", "streams"),
        ("pegasos(single=true)", "single"),
        ("pegasos(stop=sampled, average=uniform, eps=0.1)", "sampled"),
        ("sdca", "KernelProblem"),
    ],
)
def test_what_has_no_meaning_is_refused(method, words):
    with pytest.raises(ValueError, match=words):
        solve(kernel_problem(), method)
