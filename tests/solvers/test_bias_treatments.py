"""The four treatments of a bias (Pegasos §6): their steps, what they minimise, and errors."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from problems import LAYOUTS, LOSS_NAMES, problem, targets

from gapsvm import (
    SDCA,
    LinearProblem,
    LinearSVC,
    LinearSVR,
    OuterBias,
    Subgradient,
    get_loss,
    solve,
)
from gapsvm.backends import get_backend
from gapsvm.cli import main
from gapsvm.training.checkpoint import fingerprint, load_checkpoint, save_checkpoint
from gapsvm.training.methods import METHODS
from gapsvm.types.steps import Averaging, Ball, BiasStep, StepSizes, WeightArrays
from gapsvm.types.tables import ALPHA, SIGNED_WEIGHT, TARGET

CPU, REFERENCE = get_backend("cpu"), get_backend("reference")
every_loss = pytest.mark.parametrize("name", LOSS_NAMES)
LAM = 0.1


# -- the minimum over b inside a batch -------------------------------------------------------------


def batch_of(loss, rng, size):
    """m, c, t of a batch; whole margins and weights make ties, and steps that sum to zero."""
    whole = rng.random() < 0.5
    m = rng.integers(-2, 3, size).astype(float) if whole else rng.normal(size=size) * 2
    weight = rng.integers(0, 3, size).astype(float) if whole else rng.uniform(0.1, 2, size)
    if loss.kind == "response":
        return m, weight, rng.normal(size=size) * 2
    return m, weight * rng.choice([-1.0, 1.0], size), np.ones(size)


def batch_loss(loss, m, c, t, b):
    return float(np.abs(c) @ loss.curve.value(np.where(c >= 0, 1.0, -1.0) * (m + b), t))


@pytest.mark.parametrize("backend", [CPU, REFERENCE], ids=lambda backend: backend.name)
@every_loss
def test_a_true_subgradient_of_the_minimum_over_b(name, backend):
    """g(u) ≥ g(w) + ⟨∇, u − w⟩ for g = min_b, on many batches, and Σ c_i a_i = 0."""
    loss, rng = get_loss(name), np.random.default_rng(0)
    for size in (1, 2, 3, 8, 31) * 6:
        m, c, t = batch_of(loss, rng, size)
        a, scratch = np.empty(size), np.empty(size)
        b = backend.balanced_pulls(loss.curve, m, c, t, rng.normal(), a)
        total = 1e-12 + np.abs(c).sum()
        value = batch_loss(loss, m, c, t, b)
        assert a.min() >= loss.curve.lo
        assert a.max() <= loss.curve.hi
        assert abs(c @ a) <= 1e-11 * total * (1 + np.abs(a).max())
        for _ in range(8):  # moves of the margins, as any w makes them; b is chosen anew for each
            other = m + rng.choice([0.01, 1.0, 5.0]) * rng.normal(size=size)
            best = backend.balanced_pulls(loss.curve, other, c, t, b, scratch)
            least = batch_loss(loss, other, c, t, best)
            assert least >= value - (c * a) @ (other - m) - 1e-9 * total * (1 + value)
            assert least <= batch_loss(loss, other, c, t, b) + 1e-9 * total
            assert least <= batch_loss(loss, other, c, t, best + rng.normal()) + 1e-9 * total


def test_a_row_at_the_kink_takes_what_balances():
    """Hinge: at b = 1 the row of weight 3 has its kink, the two others pull by 1 − 2."""
    m, c = np.array([0.0, 0.0, -9.0]), np.array([3.0, -2.0, 1.0])
    for backend in (CPU, REFERENCE):
        a = np.empty(3)
        b = backend.balanced_pulls(get_loss("hinge").curve, m, c, np.ones(3), 0.0, a)
        assert b == pytest.approx(1.0, abs=1e-9)
        np.testing.assert_allclose(a, [1 / 3, 1.0, 1.0], atol=1e-9)


@pytest.mark.compiles
@pytest.mark.parametrize("layout", LAYOUTS)
@every_loss
def test_the_kernel_and_its_twin(name, layout):
    """50 steps on the same indices, weighted rows, an average, a ball that acts, a row twice."""
    n, size, steps = 40, 6, 50
    rng = np.random.default_rng(4)
    p = problem(
        *(name, n, 7), layout=layout, bias="free", sample_weight=rng.uniform(0.2, 3.0, n), lam=0.3
    )
    batches = rng.integers(0, n, (steps, size)).astype(np.uint32)
    t = np.arange(1.0, steps + 1)
    got = []
    for backend in (CPU, REFERENCE):
        table = np.zeros((n, 4))
        table[:, SIGNED_WEIGHT], table[:, TARGET] = p.sign * p.weight, p.t
        v, u, scalars = np.zeros(7), np.zeros(7), np.array([1.0, 0, 0, 0, 1, 0])
        for part in (slice(0, 11), slice(11, steps)):
            done = backend.batch_bias_steps(
                *(p.rows.view, p.loss.curve, table, batches[part]),
                *(StepSizes(1 / (0.3 * t[part]), 1 - 1 / t[part]), Averaging(0.9, 0.1)),
                *(BiasStep(1.0, False), Ball(0.8, 0.0, np.inf), WeightArrays(v, u, scalars)),
            )
            assert done == len(batches[part])
        scale, square, bias, share, rest, mean_bias = scalars
        got.append((scale * v, share * v + rest * u, [scale**2 * square, bias, mean_bias], table))
    for a, b in zip(*got):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


@every_loss
def test_the_whole_set_as_a_batch_has_no_deviation(name):
    """k = n: g(w; A) = g(w; S), and Pegasos's rate holds: the certified optimum is approached."""
    p = free(name)
    solver = Subgradient(p.n_rows, True, average="tail", bias_step="batch")
    result = solve(p, solver, gap=0.0, max_passes=4000)
    assert result.certificate.primal - optimum(name).primal <= 1e-3 * p.primal_at_zero


def test_small_batches_deviate():
    """k < n minimises a mean of minima, which is below P: a floor of objective and gap, by k."""
    p = problem("hinge", 400, 5, lam=LAM, bias="free")
    best = solve(p, SDCA(), gap=1e-8, max_passes=20000).certificate.primal
    found = [
        solve(p, Subgradient(k, average="tail", bias_step="batch"), gap=0.0, max_passes=1000)
        for k in (2, 20, 200)
    ]
    excess = [result.certificate.primal - best for result in found]
    assert excess[0] > 3 * excess[1] > 9 * excess[2] > 0
    assert found[0].gap > 3 * found[1].gap > 9 * found[2].gap


# -- all four --------------------------------------------------------------------------------------


def free(name, **options):
    return problem(name, 60, 5, lam=LAM, bias="free", **options)


@cache
def optimum(name):
    p = free(name)
    return solve(p, SDCA(), gap=1e-8 * p.primal_at_zero, max_passes=20000).certificate


TREATMENTS = {
    "penalized": (Subgradient(4, True, average="tail"), 0.01),
    "gradient": (Subgradient(4, True, average="tail"), 0.01),
    "batch": (Subgradient(30, True, average="tail", bias_step="batch"), 0.02),
    "outer, subgradient": (OuterBias(Subgradient(4, True, average="tail")), 0.01),
    "outer, sdca": (OuterBias(SDCA()), 1e-6),
}


@pytest.mark.parametrize("treatment", TREATMENTS)
@every_loss
def test_each_approaches_its_optimum(name, treatment):
    """The free bias's, but for the penalised one, whose problem is another."""
    solver, close = TREATMENTS[treatment]
    p = free(name)
    best = optimum(name).primal
    if treatment == "penalized":
        p = problem(name, 60, 5, lam=LAM, bias="penalized")
        best = solve(p, SDCA(), gap=1e-8, max_passes=20000).certificate.primal
    result = solve(p, solver, gap=0.1 * close * p.primal_at_zero, max_passes=3000)
    assert -1e-7 <= result.certificate.primal - best <= close * p.primal_at_zero
    assert result.gap >= result.certificate.primal - best - 1e-7


# -- the outer search ------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 300.0])
@every_loss
def test_the_outer_search_finds_the_best_bias(name, shift):
    """To a certified 1e-7, through a moved response too; weighted, so that no two rows tie."""
    loss, rng = get_loss(name), np.random.default_rng(7)
    if shift and loss.kind == "margin":
        pytest.skip("labels cannot be moved")
    X = rng.normal(size=(80, 4))
    y = targets(X, loss.kind) + (shift if loss.kind == "response" else 0.0)
    p = LinearProblem(X, y, loss, 0.05, bias="free", sample_weight=rng.uniform(0.5, 2, 80))
    gap = 1e-7 * p.primal_at_zero
    found = solve(p, OuterBias(SDCA()), gap=gap, max_passes=20000)
    assert found.converged, (found.status, found.gap)
    best = solve(p, SDCA(), gap=gap, max_passes=20000).solution
    assert found.solution.bias == pytest.approx(best.bias, abs=5e-3)
    assert found.checkpoint.state.bias == pytest.approx(best.bias, abs=5e-2)
    assert p.kkt_residual(found.solution) <= 0.02


def test_the_slope_of_the_outer_objective():
    """dJ/db = −(1/S) Σ s_i σ_i α_i, against differences of J."""
    p = free("logistic")

    def J(b):
        """By a response-free shift: z + σb for the logistic loss, which has no t."""
        solver, held = SDCA(shrinking=False), p.without_bias
        state = solver.init(held, CPU, np.random.default_rng(0))
        state.bias = b
        state = solver.advance(held, state, CPU, 400 * p.n_rows)
        margins = p.rows.to_scipy() @ state.w
        value = p.objective(state.w, b, margins)
        return value, float(np.mean(p.sign * state.table[:, ALPHA]))

    for b in (-1.0, 0.3, 2.0):
        difference = (J(b + 1e-4)[0] - J(b - 1e-4)[0]) / 2e-4
        assert difference == pytest.approx(-J(b)[1], abs=1e-5)


@pytest.mark.parametrize("inner", [SDCA(), Subgradient(2, True)], ids=lambda s: type(s).__name__)
def test_resuming_is_bit_equal(inner, tmp_path):
    """Through a file, in the middle of a search."""
    p = problem("hinge", 90, 5, bias="free")
    solver = OuterBias(inner)
    whole = solve(p, solver, gap=0.0, max_passes=60, seed=3)
    part = solve(p, solver, gap=0.0, max_passes=23, seed=3)
    file, of = tmp_path / "state", fingerprint(p)
    save_checkpoint(file, part.checkpoint, of, solver)
    checkpoint, same = load_checkpoint(file, of)
    assert same == solver
    resumed = solve(p, same, gap=0.0, max_passes=60, checkpoint=checkpoint)
    assert resumed.certificate.primal == whole.certificate.primal
    assert resumed.certificate.dual == whole.certificate.dual


def test_a_wrong_end_of_the_bracket_is_given_up():
    """The search comes back to b* from a bracket that does not hold it."""
    p = free("smoothed_hinge")
    solver = OuterBias(SDCA())
    state = solver.init(p, CPU, np.random.default_rng(0))
    state.low, state.high, state.bias = 2.0, 2.5, 2.2
    solver._hold(p, state)
    state = solver.advance(p, state, CPU, 1000 * p.n_rows)
    b = solve(p, SDCA(), gap=1e-9, max_passes=20000).solution.bias
    assert state.bias == pytest.approx(b, abs=1e-2)


def test_a_projection_leaves_a_bias_that_is_held():
    p = problem("hinge", 60, 5, lam=2.0, bias="free")
    solver = OuterBias(Subgradient(3, projection=0.01), passes=1000)
    state = solver.init(p, CPU, np.random.default_rng(0))
    held = state.bias
    state = solver.advance(p, state, CPU, 600)
    assert held == state.bias == state.inner.weights.bias != 0.0


# -- estimators, the command line, errors ----------------------------------------------------------


def test_estimators_take_every_treatment():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X @ rng.normal(size=4) + 2.0 + 0.3 * rng.normal(size=300)
    for model, target in ((LinearSVC, y > 1), (LinearSVR, y)):
        exact = model(lam=0.05, tol=1e-6).fit(X, target)
        for method in (Subgradient(50, True, bias_step="batch"), OuterBias(Subgradient(4, True))):
            found = model(lam=0.05, tol=0.03, method=method, random_state=0).fit(X, target)
            np.testing.assert_allclose(found.intercept_, exact.intercept_, atol=0.3)
        assert found.method_ == "outer-bias"


@pytest.mark.parametrize(
    ("method", "solver"),
    [
        ("pegasos(batch_size=8, bias_step=batch)", Subgradient(8, bias_step="batch")),
        ("outer-bias", OuterBias(Subgradient())),
        ("outer-bias(inner=proximal)", OuterBias(Subgradient(1, True, step_rule="proximal"))),
        ("outer-bias(inner=sdca, passes=3)", OuterBias(SDCA(), 3)),
        ("outer-bias(inner=pegasos(batch_size=4))", OuterBias(Subgradient(4))),
    ],
)
def test_every_treatment_has_a_name(method, solver):
    assert METHODS.make(method) == solver


@pytest.mark.parametrize("method", ["pegasos(batch_size=16, bias_step=batch)", "outer-bias"])
def test_the_command_line_fits(method, tmp_path, capsys):
    (tmp_path / "data.svm").write_text("1 1:1 2:1\n-1 1:2\n1 2:3\n-1 1:-1\n-1 2:-2\n" * 20)
    options = ["--method", method, *["--lam", "0.1", "--gap", "0.05", "--json"]]
    with pytest.raises(SystemExit) as end:
        main(["fit", str(tmp_path / "data.svm"), *options])
    assert end.value.code == 0
    assert json.loads(capsys.readouterr().out)["converged"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--method=outer-bias(inner=interior)", "such as Subgradient or SDCA, not InteriorPoint"),
        ("--method=sdca(bias_step=batch)", "'sdca' has no parameter 'bias_step'"),
        ("--method=pegasos(bias_step=batch)", "needs batch_size >= 2"),
        ("--method=outer-bias --bias=none", "OuterBias is for a free bias; this one is 'none'"),
        ("--method=outer-bias(inner=optimistic)", "'optimistic' starts it anew"),
    ],
)
def test_options_that_cannot_act_are_refused(options, sentence, tmp_path, capsys):
    (tmp_path / "data.svm").write_text("1 1:1\n-1 1:2\n" * 20)
    with pytest.raises(SystemExit) as end:
        main(["fit", str(tmp_path / "data.svm"), *options.split()])
    assert end.value.code == 1
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Subgradient(bias_step="batch"), "bias_step='batch' needs batch_size >= 2"),
        (lambda: Subgradient(bias_step="best"), "bias_step must be one of gradient, batch"),
        (lambda: Subgradient(2, stop="bound", eps=0.1, bias_step="batch"), "knows no theorem"),
        (lambda: OuterBias(passes=0), "passes must be positive and finite"),
        (lambda: OuterBias(Subgradient(step_rule="optimistic")), "'optimistic' starts it anew"),
        (lambda: OuterBias(Subgradient(stop="bound", eps=0.1)), "must not end by itself"),
        (lambda: OuterBias(Subgradient(2, bias_step="batch")), "takes no bias_step"),
        (lambda: OuterBias(OuterBias()), "such as Subgradient or SDCA, not OuterBias"),
    ],
)
def test_impossible_solvers(make, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


@pytest.mark.parametrize("bias", ["none", "penalized"])
def test_they_are_for_a_free_bias(bias):
    p = problem("hinge", bias=bias)
    for solver in (Subgradient(4, bias_step="batch"), OuterBias()):
        with pytest.raises(ValueError, match=f"is for a free bias; this one is '{bias}'"):
            solve(p, solver, gap=1e-3)


def test_a_mean_stays_in_its_box():
    """0.1 + 0.1 + 0.1 is more than three times 0.1: D must not be −∞ for that."""
    X = np.ones((4, 1))
    p = LinearProblem(X, np.array([9.0, 8.0, 9.0, 8.0]), get_loss("huber", delta=0.1), 1.0)
    result = solve(p, Subgradient(), gap=0.0, max_passes=12)
    assert np.isfinite(result.certificate.dual)
