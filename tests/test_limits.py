"""Numbers with which the objective over- or underflows are refused, each under its own name."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from problems import matrix, problem, targets

import gapsvm
from gapsvm import (
    LinearProblem,
    LinearSVC,
    LinearSVR,
    MiniBatchSDCA,
    MulticlassProblem,
    OnlineSVC,
    OnlineSVR,
    Pegasos,
    Subgradient,
    get_loss,
    solve,
    svm_path,
)
from gapsvm.losses.best_bias import Part, best_bias
from gapsvm.losses.registry import LOSSES
from gapsvm.training.plan import plan
from gapsvm.training.train import Options, train

X = matrix(20, 3)
Y = targets(X, "margin")
RESPONSES = [name for name in LOSSES if get_loss(name).kind == "response"]
NO_BIAS = {"fit_intercept": False}
JOINT = {"multi_class": "crammer_singer", **NO_BIAS}
SMALL, LARGE = "is too small", "is too large"


def test_targets_whose_objective_overflows():
    """An infinite gap was called converged."""
    for model in (LinearSVR(loss="absolute"), LinearSVR(loss="epsilon_insensitive")):
        for y in ([1e307, -1e307, 1e307, 1.7e308], [1e308, 1e308, -1e308, 1e308]):
            with pytest.raises(ValueError, match="the objective overflows: y has values of size"):
                model.fit(np.eye(4), y)


@pytest.mark.parametrize("name", RESPONSES)
def test_targets_of_any_size(name):
    """Fitted with a finite certificate, or refused."""
    y = targets(X, "response")
    for size in 10.0 ** np.arange(-320, 308, 31):
        if not 1e-140 < size < 1e140:
            try:
                LinearProblem(X, size * y, get_loss(name), 0.1, bias="free")
            except ValueError:
                continue
        p = LinearProblem(X, size * y, get_loss(name), 0.1, bias="free")
        result = solve(p, Pegasos(projection=True), gap=0.1 * p.primal_at_zero, max_passes=2)
        assert np.isfinite(result.gap)
        assert result.gap <= p.primal_at_zero


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (LinearSVC(lam=1e-320), f"lam = 1e-320 {SMALL}.*raise lam"),
        (LinearSVC(lam=1e308), f"lam = 1e.308 {LARGE}.*lower lam"),
        (LinearSVC(C=1e308), f"C = 1e.308 {LARGE}: lam = 1/.*lower C"),
        (LinearSVC(C=1e-320), f"C = 1e-320 {SMALL}: lam = 1/.*raise C"),
        (LinearSVC(method="proximal(radius=1e-300)"), "radius must lie between 1e-150 and 1e.150"),
        (LinearSVC(method="proximal(radius=1e200)"), "radius must lie between 1e-150 and 1e.150"),
        (LinearSVC(penalize_intercept=True, intercept_scaling=1e200), "intercept_scaling must lie"),
        (LinearSVC(penalize_intercept=True, intercept_scaling=1e-200), "intercept_scaling must"),
        (LinearSVC(class_weight={1: -1.0}), "class_weight of class 1.* is -1.0"),
        (LinearSVC(class_weight={1: np.nan}), "class_weight of class 1.* is nan"),
        (LinearSVC(class_weight={1: np.inf}), "class_weight of class 1.* is inf"),
        (LinearSVC(class_weight={1: "heavy"}), "class_weight of class 1.* is 'heavy'"),
        (LinearSVC(class_weight={1: 1e308}), "the sum of class_weight times sample_weight is inf"),
        (LinearSVC(lam=1e-320, **JOINT), f"lam = 1e-320 {SMALL}"),
        (LinearSVC(C=1e308, **JOINT), f"C = 1e.308 {LARGE}"),
        (LinearSVR(lam=1e-320), f"lam = 1e-320 {SMALL}"),
        (LinearSVR(C=1e308), f"C = 1e.308 {LARGE}"),
        (LinearSVR(method="proximal(radius=1e-300)"), "radius must lie between"),
        (LinearSVR(intercept_scaling=1e200), "intercept_scaling must lie between"),
        (OnlineSVC(lam=1e-320), f"lam = 1e-320 {SMALL}"),
        (OnlineSVR(lam=1e-320), f"lam = 1e-320 {SMALL}"),
    ],
)
def test_parameters_are_refused_by_name(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, Y)


def test_problems_refuse_by_name():
    for make in (
        lambda **options: LinearProblem(X, Y, get_loss("hinge"), **options),
        lambda **options: MulticlassProblem(X, (Y > 0), 2, "multinomial", **options),
        lambda lam, **options: svm_path(X, Y, lams=[lam], **options),
    ):
        with pytest.raises(ValueError, match=f"lam = 1e-320 {SMALL}"):
            make(lam=1e-320)
        with pytest.raises(ValueError, match="the sum of sample_weight is inf"):
            make(lam=0.1, sample_weight=np.full(20, 1e308))
        with pytest.raises(ValueError, match=r"the sum of sample_weight is 1\.99998e-319"):
            make(lam=0.1, sample_weight=np.full(20, 1e-320))
    for size in (1e200, 1e-200):
        options = {"bias": "penalized", "bias_scale": size}
        with pytest.raises(ValueError, match="bias_scale must lie between 1e-150 and"):
            LinearProblem(X, Y, get_loss("hinge"), 0.1, **options)
        with pytest.raises(ValueError, match="bias_scale must lie between 1e-150 and"):
            MulticlassProblem(X, (Y > 0), 2, "multinomial", 0.1, **options)
    norms = r"squared row norms of .* divided by lam = 1e-150, exceed 1e.300"
    with pytest.raises(ValueError, match=norms):
        LinearProblem(1e100 * X, Y, get_loss("hinge"), 1e-150)
    with pytest.raises(ValueError, match=norms):
        MulticlassProblem(1e100 * X, (Y > 0), 2, "multinomial", 1e-150)


@pytest.mark.parametrize("model", [LinearSVC(), LinearSVR(), OnlineSVC(), OnlineSVR()])
def test_weights_whose_sum_overflows(model):
    fit = model.partial_fit if hasattr(model, "partial_fit") else model.fit
    more = {"classes": [-1, 1]} if isinstance(model, OnlineSVC) else {}
    with pytest.raises(ValueError, match=r"the sum of sample_weight is (2e|inf)"):
        fit(X, Y, sample_weight=np.full(20, 1e307), **more)


def test_solvers_refuse_by_name():
    for size in (1e-200, 1e200):
        with pytest.raises(ValueError, match="projection must lie between 1e-150 and"):
            Subgradient(projection=size)
        with pytest.raises(ValueError, match="projection must lie between 1e-150 and"):
            OnlineSVC(projection=size).fit(X, Y)
    p = LinearProblem(1e140 * X, Y, get_loss("hinge"), 1.0, sample_weight=np.arange(20.0) ** 80)
    assert (
        solve(p, Subgradient(projection=True, step_rule="bound"), gap=0.1, max_passes=1).gap <= 1.0
    )


# -- the best bias ---------------------------------------------------------------------------------


def test_a_best_bias_far_from_the_guess():
    """The bracket reached over so many orders of magnitude that no root was found in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearSVC(loss="squared_hinge", method="pegasos", lam=1e-4, max_iter=100)
        model.fit(np.zeros((2, 1)), [1, -1])
    assert model.intercept_ == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", list(LOSSES))
@pytest.mark.parametrize("guess", [1e-300, 1.0, -1e8, 1e24, -1e170, 1e308, np.inf, np.nan])
def test_the_best_bias_does_not_depend_on_the_guess(name, guess):
    loss = get_loss(name)
    p = problem(name, 30, 3)
    margins = np.linspace(-2.0, 3.0, 30)
    want = best_bias(loss.curve, [Part(margins, p.sign, p.t, p.weight)], 0.0)
    found = best_bias(loss.curve, [Part(margins, p.sign, p.t, p.weight)], guess)
    assert found == pytest.approx(want)


@pytest.mark.parametrize("name", list(LOSSES))
@pytest.mark.parametrize("size", [1e-200, 1e100, 1e300, np.inf, np.nan])
def test_the_best_bias_of_any_margins(name, size):
    """No exception: a w that diverged has a certificate too."""
    p = problem(name, 30, 3)
    with np.errstate(all="ignore"):
        best_bias(
            p.loss.curve,
            [Part(size * np.linspace(-2.0, 3.0, 30), p.sign, p.t, p.weight)],
            1e9,
        )


# -- promises --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "solver", "sentence"),
    [
        ("hinge", {"step_rule": "proximal"}, "rule 'proximal' needs iterates in a ball"),
        ("hinge", {"step_rule": "bound"}, "rule 'bound' needs iterates in a ball"),
        ("half_squared", {}, "'half_squared', whose slope has no bound, needs iterates in a ball"),
        ("squared_hinge", {"average": "random"}, "needs iterates in a ball; set projection=True"),
        ("half_squared", {"average": "tail"}, "needs iterates in a ball"),
        ("half_squared", {"step_rule": "proximal"}, "needs iterates in a ball"),
        ("hinge", {"projection": 0.1}, "the best w in the ball of radius 0.1, but the minimum may"),
        ("hinge", {"average": "tail", "tail_from": 7}, "stop='bound' sets tail_from itself"),
    ],
)
def test_no_promise_without_its_premise(name, solver, sentence):
    options = {"average": "uniform", "stop": "bound", "eps": 0.5, **solver}
    with pytest.raises(ValueError, match=sentence):
        solve(problem(name, lam=0.2), Subgradient(10, **options), gap=0.1)


@pytest.mark.parametrize("name", ["half_squared", "squared_hinge", "logistic", "huber"])
@pytest.mark.parametrize("rule", ["pegasos", "proximal", "bound"])
def test_a_promise_in_a_ball_holds(name, rule):
    p = problem(name, 40, 3, lam=0.5, bias="penalized")
    eps = 0.3 * p.primal_at_zero
    solver = Subgradient(20, True, "uniform", step_rule=rule, stop="bound", eps=eps)
    best = train(p, Options("interior", tol=1e-9)).result.certificate.dual
    result = solve(p, solver, gap=-1.0, max_passes=1e9)
    assert result.status.name == "PROMISED"
    assert result.certificate.primal - best <= eps


def test_the_promised_tail_is_the_later_half():
    p = problem("hinge", 40, 3, lam=0.5)
    solver = Subgradient(20, average="tail", stop="bound", eps=0.9)
    state = solve(p, solver, gap=-1.0, max_passes=1e9).checkpoint.state
    assert state.kept.tail.first == state.stop.due // 2


# -- batches of any size ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(60, 4), (3000, 12), (300, 900)])
@pytest.mark.parametrize("lam", [1e-6, 1e-1])
def test_batches_are_taken_only_where_they_are_asked_for(n, d, lam):
    """On one machine they take more passes and save nothing."""
    p = LinearProblem(matrix(n, d), targets(matrix(n, d), "margin"), get_loss("hinge"), lam)
    (stage,) = plan(p, "minibatch", Options().foreseen)
    assert stage.solver == MiniBatchSDCA()
    default = plan(p, "auto", Options().foreseen)
    assert not any(isinstance(stage.solver, MiniBatchSDCA) for stage in default)


def test_automatic_batches_say_so():
    assert LinearSVC(lam=0.01).fit(X, Y).method_note_ == ""
    batches = LinearSVC(lam=0.01, method="minibatch(rule=aggressive)").fit(X, Y)
    assert "the largest b with β_b ≤ 2" in batches.method_note_


# -- budgets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gap", "tol", "max_passes", "time_limit", "evaluate_every"])
@pytest.mark.parametrize("method", ["auto", "sdca"])
def test_limits_that_are_no_numbers_are_refused(method, name):
    p = LinearProblem(X, Y, get_loss("hinge"), 0.1)
    with pytest.raises(ValueError, match=name):
        gapsvm.solve(p, method, **{name: np.nan})


def test_paths_refuse_what_no_estimator_takes():
    for path in (gapsvm.svm_path, gapsvm.kernel_path):
        with pytest.raises(ValueError, match="tol must be a number"):
            path(X, Y, tol=np.nan)
    with pytest.raises(ValueError, match="max_passes must be a number"):
        gapsvm.svm_path(X, Y, max_iter=np.nan)
    with pytest.raises(ValueError, match="threads must be at least 1"):
        gapsvm.kernel_path(X, Y, threads=0)
