"""Mini-batch SDCA against twins of Takáč's formulas, and what his theorems promise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from problems import BIASES, LAYOUTS, LOSS_NAMES, dual_objective, matrix, problem, targets

from gapsvm import SDCA, LinearProblem, LinearSVC, MiniBatchSDCA, get_loss, solve
from gapsvm.backends import get_backend
from gapsvm.rows.spectral import beta, sigma2
from gapsvm.solvers.minibatch.solver import BATCH_RULES
from gapsvm.solvers.row_order import new_order
from gapsvm.theory import takac_theorem2_counts
from gapsvm.training.train import Options, train
from gapsvm.types.tables import ALPHA, CURVATURE

CPU = get_backend("cpu")


def drawn(state, size, steps):
    """The batches that a state will draw."""
    batches = np.empty((steps, size), dtype=np.uint32)
    get_backend("reference").draw_subsets(state.order.copy(), batches, state.seed.copy())
    return batches.astype(int)


def unit_problem(n=40, d=5, lam=0.05, seed=0, **options):
    """A hinge problem with rows of norm at most 1, as the paper wants them, and dense X."""
    X = matrix(n, d, seed)
    y = targets(X, "margin", seed)
    X = X / np.linalg.norm(X, axis=1).max()
    return LinearProblem(X, y, get_loss("hinge"), lam, **options), X * y[:, None]


def run(p, solver, steps, seed=0):
    state = solver.init(p, CPU, np.random.default_rng(seed))
    batches = drawn(state, state.batch_size, steps)
    state = solver.advance(p, state, CPU, steps * state.batch_size)
    return state, batches


def dual(XY, alpha, lam):
    n = len(alpha)
    return alpha.mean() - 0.5 * lam * np.sum((XY.T @ alpha / (lam * n)) ** 2)


def step_15(XY, alpha, lam, batch, curvature):
    """Eq. (14) with curvature ‖x_i‖², eq. (15) with β: δ of the rows of a batch."""
    n = len(alpha)
    w = XY.T @ alpha / (lam * n)
    delta = lam * n * (1 - XY[batch] @ w) / curvature
    return np.clip(delta, -alpha[batch], 1 - alpha[batch])


@pytest.mark.parametrize("batch_size", [1, 4, 40])
def test_naive_is_equation_14(batch_size):
    p, XY = unit_problem()
    XY[20] = p.rows.view.values[20] * p.y[20]
    state, batches = run(p, MiniBatchSDCA("naive", batch_size), 12)
    alpha, norms = np.zeros(40), (XY**2).sum(1)
    for batch in batches:
        with np.errstate(divide="ignore"):  # a zero row goes to its bound
            alpha[batch] += step_15(XY, alpha, p.lam, batch, norms[batch])
    np.testing.assert_allclose(state.table[:, ALPHA], alpha, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("batch_size", [1, 4, 40])
def test_safe_in_unit_form_is_equation_15(batch_size):
    p, XY = unit_problem()
    state, batches = run(p, MiniBatchSDCA("safe", batch_size, form="unit"), 12)
    top = np.linalg.norm(XY, 2) ** 2 / 40
    assert state.beta == pytest.approx(beta(batch_size, 40, top), rel=0.02)
    alpha = np.zeros(40)
    for batch in batches:
        alpha[batch] += step_15(XY, alpha, p.lam, batch, state.beta)
    np.testing.assert_allclose(state.table[:, ALPHA], alpha, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("batch_size", "sigma2"), [(2, None), (6, None), (6, 0.5), (40, "bound")])
def test_aggressive_in_unit_form_is_algorithm_2(batch_size, sigma2):
    """ρ, both steps, the geometric mean, the refusals; without σ² the poster's form, unclipped."""
    p, XY = unit_problem(lam=0.02)
    solver = MiniBatchSDCA("aggressive", batch_size, inertia=0.7, sigma2=sigma2, form="unit")
    state = solver.init(p, CPU, np.random.default_rng(1))
    b, limit = state.beta, state.limit
    assert limit == np.inf if sigma2 is None else limit == b
    alpha, refused = np.zeros(40), 0
    for batch in drawn(state, batch_size, 60):
        tentative = step_15(XY, alpha, p.lam, batch, b)
        if np.sum(tentative**2) > 0:
            ratio = np.sum((tentative @ XY[batch]) ** 2) / np.sum(tentative**2)
            rho = min(max(ratio, 1.0), limit)
            b = b**0.7 * rho**0.3
            new = alpha.copy()
            new[batch] += step_15(XY, alpha, p.lam, batch, rho)
            rises = dual(XY, new, p.lam) > dual(XY, alpha, p.lam)
            alpha, refused = (new, refused) if rises else (alpha, refused + 1)
        before = dual_objective(p, state.table[:, ALPHA])
        state = solver.advance(p, state, CPU, batch_size)
        assert dual_objective(p, state.table[:, ALPHA]) >= before - 1e-15  # no step lowers D
    np.testing.assert_allclose(state.table[:, ALPHA], alpha, rtol=1e-7, atol=1e-9)
    assert state.beta == pytest.approx(b)
    assert state.refusals == refused


def test_two_equal_rows():
    """Takáč §4.1: naive goes to and fro between D = 0 and D = 0, the others reach 1/4."""
    p = LinearProblem(np.ones((2, 1)), np.ones(2), get_loss("hinge"), 0.5)
    for rule in BATCH_RULES:
        solver = MiniBatchSDCA(rule, 2)
        state = solver.init(p, CPU, np.random.default_rng(0))
        duals = []
        for _ in range(6):
            state = solver.advance(p, state, CPU, 2)
            duals.append(p.certify(solver.iterate(p, state), CPU).dual)
        if rule == "naive":
            np.testing.assert_allclose(duals, 0.0, atol=1e-15)
        else:
            assert duals[-1] == pytest.approx(0.25)


@pytest.mark.parametrize("form", ["unit", "rows", "tight"])
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("constant", [0.0, 0.8])
def test_safe_steps_raise_the_dual_in_expectation(form, size, constant):
    """Lemma 3, by enumeration: the mean of D over all batches is at least what H promises, also in
    the direction in which the rows, with the constant feature of a bias, add up the most."""
    X = matrix(6, 3, 2)
    X *= np.sqrt(1 - constant**2) / np.linalg.norm(X, axis=1).max()
    y = targets(X, "margin", 2)
    bias = {"bias": "penalized", "bias_scale": constant} if constant else {}
    p = LinearProblem(X, y, get_loss("hinge"), 0.1, **bias)
    XY = np.column_stack([X, np.full(6, constant)]) * y[:, None]
    solver = MiniBatchSDCA("safe", size, form=form)
    state = solver.init(p, CPU, np.random.default_rng(0))
    q = state.beta * state.table[:, CURVATURE] * p.lam * 6  # β v_i
    rng = np.random.default_rng(3)
    steepest = np.linalg.eigh(XY @ XY.T)[1][:, -1]
    for delta in (steepest, *rng.uniform(-1, 1, (5, 6))):
        alpha, after = rng.uniform(0, 1, 6), []
        for batch in combinations(range(6), size):
            moved = alpha.copy()
            moved[list(batch)] += delta[list(batch)]
            after.append(dual(XY, moved, p.lam))
        d0 = dual(XY, alpha, p.lam)
        w = XY.T @ alpha / (p.lam * 6)
        h = d0 + np.mean(delta * (1 - XY @ w)) - np.sum(q * delta**2) / (2 * p.lam * 36)
        assert np.mean(after) >= (1 - size / 6) * d0 + size / 6 * h - 1e-12


def test_the_tight_form_is_never_worse():
    p, _ = unit_problem()
    for size in (2, 10, 40):
        tight, unit = (
            MiniBatchSDCA("safe", size, form=form).init(p, CPU, np.random.default_rng(0))
            for form in ("tight", "unit")
        )
        assert (
            tight.beta * tight.table[:, CURVATURE]
            <= unit.beta * unit.table[:, CURVATURE] * (1 + 1e-9)
        ).all()


def test_unit_form_wants_short_rows():
    p = problem("hinge")
    with pytest.raises(ValueError, match="rows of norm at most 1; the largest here is"):
        MiniBatchSDCA("safe", 2, form="unit").init(p, CPU, np.random.default_rng(0))


@pytest.mark.parametrize("size", [2, 8])
def test_theorem_2_count(size):
    """After T steps of eq. (15) the gap of the averaged ᾱ is at most ε, in the mean over seeds."""
    p, _ = unit_problem(n=40, lam=0.1)
    top = sigma2(p.rows, CPU).value
    counts = takac_theorem2_counts(
        0.02, lam=0.1, beta=beta(size, 40, top), batch_size=size, n_rows=40
    )
    solver = MiniBatchSDCA(
        "safe", size, sigma2=top, form="unit", average="tail", tail_from=counts.T0
    )
    gaps = []
    for seed in range(10):
        state, _ = run(p, solver, counts.T, seed)
        gaps.append(p.certify(solver.iterate(p, state), CPU).gap)
    assert np.mean(gaps) <= 0.02


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", LOSS_NAMES)
@pytest.mark.parametrize("bias", BIASES)
def test_exact_blocks_are_serial_sdca(name, layout, bias):
    """The same order, step for step, for three passes with a ragged last block."""
    p = problem(name, 37, 6, layout=layout, bias=bias)
    blocks, serial = MiniBatchSDCA("exact", 8), SDCA(shrinking=False)
    a = blocks.init(p, CPU, np.random.default_rng(4))
    b = serial.init(p, CPU, np.random.default_rng(4))
    while a.rows_visited < 3 * 37:
        a = blocks.advance(p, a, CPU, 8)
    while b.rows_visited < 3 * 37:
        b = serial.advance(p, b, CPU, 37)
    np.testing.assert_allclose(a.table[:, ALPHA], b.table[:, ALPHA], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(a.w, b.w, rtol=1e-9, atol=1e-10)
    assert a.bias == pytest.approx(b.bias, rel=1e-9, abs=1e-10)


def test_more_sweeps_need_fewer_passes():
    p = problem("hinge", 200, 5, lam=1e-3)
    passes = [
        solve(p, MiniBatchSDCA("exact", 50, sweeps=k), gap=1e-4, max_passes=5000).passes
        for k in (1, 5)
    ]
    assert passes[1] < passes[0]


@pytest.mark.parametrize(
    ("average", "tail_from"), [("tail", 20), ("tail", None), ("decaying", None)]
)
@pytest.mark.parametrize("rule", ["naive", "safe", "aggressive"])
def test_averages(rule, average, tail_from):
    """ᾱ is the average of the iterates, and what is certified is (w(ᾱ), ᾱ)."""
    p = problem("hinge", 30, 5, lam=0.1)
    solver = MiniBatchSDCA(rule, 3, average=average, tail_from=tail_from)
    plain = MiniBatchSDCA(rule, 3)
    state, one = (s.init(p, CPU, np.random.default_rng(8)) for s in (solver, plain))
    points, T = [one.table[:, ALPHA].copy()], 41
    for _ in range(T):
        one = plain.advance(p, one, CPU, 3)
        points.append(one.table[:, ALPHA].copy())
    for steps in (4, 16, 21):
        state = solver.advance(p, state, CPU, steps * 3)
    if average == "decaying":
        want = points[0]
        for point in points[1:]:
            want = 0.9 * want + 0.1 * point
    else:  # α of t = T₀, …, T − 1, eq. (21)
        want = np.mean(points[20 if tail_from is not None else 16 : T], axis=0)
    got = solver.iterate(p, state)
    np.testing.assert_allclose(got.alpha, want, rtol=1e-9, atol=1e-12)
    found = p.certify(got, CPU)
    w = p.rows.to_scipy().T @ (p.scale * p.sign * want)
    np.testing.assert_allclose(found.solution.w, w, rtol=1e-9, atol=1e-12)
    assert found.dual == pytest.approx(dual_objective(p, want), rel=1e-10)


@pytest.mark.parametrize("staleness", [1, 3])
def test_staleness_is_a_delay(staleness):
    """Batch t is looked at with the w of t and applied s steps later; w stays w(α)."""
    p, XY = unit_problem()
    solver = MiniBatchSDCA("safe", 4, form="unit", staleness=staleness)
    state, batches = run(p, solver, 25)
    assert state.limit == pytest.approx(beta(4 * (staleness + 1), 40, sigma2(p.rows, CPU).value))
    alpha, waiting = np.zeros(40), []
    for batch in batches:
        old = alpha[batch].copy()
        waiting.append((batch, old, old + step_15(XY, alpha, p.lam, batch, state.beta)))
        if len(waiting) > staleness:
            rows, old, new = waiting.pop(0)
            alpha[rows] = np.where(alpha[rows] == old, new, alpha[rows])
    np.testing.assert_allclose(state.table[:, ALPHA], alpha, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.w, XY.T @ alpha / (p.lam * 40), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rule", BATCH_RULES)
def test_resume_is_bit_equal(rule):
    p = problem("hinge", 50, 5, lam=0.01, bias="free")
    solver = MiniBatchSDCA(rule, 4, average="tail" if rule == "safe" else None)
    whole = solve(p, solver, gap=0.0, max_passes=9, seed=5)
    part = solve(p, solver, gap=0.0, max_passes=4, seed=5)
    rest = solve(p, solver, gap=0.0, max_passes=9, checkpoint=part.checkpoint)
    np.testing.assert_array_equal(whole.solution.alpha, rest.solution.alpha)
    assert whole.certificate.primal == rest.certificate.primal


@pytest.mark.parametrize("sampler", ["permutation", "streams"])
def test_every_row_once_a_pass(sampler):
    p = problem("hinge", 30, 5)
    solver = MiniBatchSDCA("safe", 10, sampler=sampler, average=None)
    state = solver.advance(p, solver.init(p, CPU, np.random.default_rng(0)), CPU, 30)
    assert state.rows_visited == 30
    assert (state.table[:, ALPHA] > 0).sum() >= 25  # from zero nearly every row moves


@pytest.mark.parametrize("rule", ["safe", "aggressive"])
def test_streams_through_long_rows(rule):
    """Enough long rows for the streams: the order is SDCA's own, and the optimum the same."""
    X = np.random.default_rng(1).normal(size=(5000, 64)).astype(np.float32)
    y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1.0, -1.0)
    p = LinearProblem(X / 8, y, get_loss("hinge"), 1e-3)
    solver = MiniBatchSDCA(rule, 64, sampler="streams")
    state = solver.init(p, CPU, np.random.default_rng(0))
    order, seed = state.order.copy(), state.seed.copy()
    new_order(p, order, 5000, seed, CPU)
    state = solver.advance(p, state, CPU, 64)
    np.testing.assert_array_equal(state.queue[0][0], order[:64])
    assert np.sum(np.diff(np.sort(order)) == 1) == 4999
    assert solve(p, solver, gap=1e-3, max_passes=100).converged


def test_auto_says_why():
    p = problem("hinge", 300, 5, lam=0.01)
    fit = train(p, Options("minibatch"))
    size = fit.result.checkpoint.state.batch_size
    assert fit.result.converged
    assert size >= 2
    assert f"batches of {size}: the largest b with β_b ≤ 2" in fit.note
    assert "σ² =" in fit.note


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "bold"}, "unknown rule 'bold'; choose one of naive, safe, aggressive, exact"),
        ({"batch_size": 0}, "batch_size must be 'auto' or at least 1"),
        ({"inertia": 1.0}, "inertia must lie between 0 and 1"),
        ({"sigma2": -1.0}, "sigma2 must be None, 'bound', 'estimate' or a positive number"),
        ({"sigma2": "guess"}, "sigma2 must be None"),
        ({"rule": "naive", "form": "unit"}, "rule 'naive' has the forms auto, rows, not 'unit'"),
        ({"staleness": -1}, "staleness must be 0 or more"),
        ({"average": "mean"}, "average must be None, 'tail' or 'decaying'"),
        ({"sampler": "all"}, "sampler must be 'subsets', 'permutation' or 'streams'"),
        ({"sweeps": 0}, "sweeps must be at least 1"),
    ],
)
def test_impossible_values(options, message):
    with pytest.raises(ValueError, match=message):
        MiniBatchSDCA(**options)


def test_batches_larger_than_the_data():
    with pytest.raises(ValueError, match="batch_size must be at most n = 40, got 41"):
        solve(problem("hinge"), MiniBatchSDCA("safe", 41), gap=1e-3)


def test_estimator_reaches_it():
    X = matrix(200, 5)
    y = targets(X, "margin")
    for method in (
        "minibatch(batch_size=8)",
        "minibatch(rule=aggressive, batch_size=8)",
        MiniBatchSDCA("aggressive", 16, staleness=1),
    ):
        model = LinearSVC(lam=0.01, method=method).fit(X, y)
        assert model.converged_
        assert model.method_ == "minibatch"
    assert LinearSVC(lam=0.01, method="minibatch").fit(X, y).method_note_
    with pytest.raises(ValueError, match="'interior' has no parameter 'batch_size'"):
        LinearSVC(method="interior(batch_size=4)").fit(X, y)
