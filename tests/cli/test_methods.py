"""``--method`` and ``--loss`` reach everything that an object has; the lists say what there is."""

from __future__ import annotations

import json

import pytest
from commands import Command
from problems import matrix, targets

from gapsvm import KERNELS, LOSSES, METHODS, MiniBatchSDCA, Pegasos, Subgradient, write_svmlight
from gapsvm.cli.tasks import TASKS


@pytest.fixture
def data(tmp_path):
    X = matrix(200, 5, layout="csr")
    write_svmlight(tmp_path / "data.svm", X, targets(X, "margin"))
    return tmp_path / "data.svm"


@pytest.mark.parametrize(
    ("spec", "solver"),
    [
        ("minibatch(batch_size=8)", MiniBatchSDCA("safe", 8)),
        ("minibatch(batch_size=1, staleness=2)", MiniBatchSDCA("safe", 1, staleness=2)),
        ("proximal(sampler=fixed)", Subgradient(1, True, step_rule="proximal", sampler="fixed")),
        ("minibatch", MiniBatchSDCA("safe", "auto")),
        ("minibatch(rule=aggressive)", MiniBatchSDCA("aggressive", "auto")),
        ("pegasos(batch_size=8, average=tail)", Pegasos(8, average="tail")),
        (
            "minibatch(rule=aggressive, batch_size=8, sigma2=0.5, staleness=2, inertia=0.5)",
            MiniBatchSDCA("aggressive", 8, 0.5, 0.5, staleness=2),
        ),
        (
            "pegasos(average=tail, stop=sampled, eps=0.1, delta=0.2)",
            Subgradient(average="tail", stop="sampled", eps=0.1, delta=0.2),
        ),
        (
            "proximal(batch_size=4, average=uniform, stop=bound, eps=0.1)",
            Subgradient(4, True, "uniform", step_rule="proximal", stop="bound", eps=0.1),
        ),
        (
            "optimistic(eps=0.1, delta=0.2)",
            Subgradient(1, True, step_rule="optimistic", eps=0.1, delta=0.2),
        ),
    ],
)
def test_a_spec_is_a_solver(spec, solver):
    assert METHODS.make(spec) == solver


@pytest.mark.parametrize(
    "method",
    [
        "minibatch",
        "minibatch(batch_size=8, rule=aggressive, sigma2=bound)",
        "minibatch(batch_size=16, rule=exact, sweeps=2)",
        "minibatch(batch_size=4, form=rows, staleness=1, average=decaying, sampler=permutation)",
        "bundle",
        "proximal-bundle(max_cuts=50)",
    ],
)
def test_fit_by_a_spec(data, method, run: Command):
    outcome = run("fit", data, "--lam", "0.01", "--json", "--method", method)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["converged"]
    assert json.loads(outcome.out)["method"] == [method.partition("(")[0]]


def test_a_loss_with_parameters(data, run: Command):
    outcome = run("fit", data, "--loss", "smoothed_hinge(smoothing=0.2)", "--json")
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        ("minibatch(batch_size=0)", "batch_size must be 'auto' or at least 1, got 0"),
        ("minibatch(batch_size=many)", "takes as batch_size a whole number or 'auto', not 'many'"),
        ("minibatch(sigma2=-1)", "sigma2 must be None, 'bound', 'estimate' or a positive number"),
        ("minibatch(sigma2=much)", "takes as sigma2 a number, 'bound', 'estimate' or none"),
        ("minibatch(rule=aggressive, inertia=1)", "inertia must lie between 0 and 1"),
        ("minibatch(rule=naive, form=unit)", "rule 'naive' has the forms auto, rows"),
        ("minibatch(batch_size=1000)", "batch_size must be at most n = 200, got 1000"),
        ("interior(batch_size=4)", "'interior' has no parameter 'batch_size'; it takes: none"),
        ("pegasos(inertia=0.5)", "'pegasos' has no parameter 'inertia'"),
        ("minibatch(inertia=0.9)", "inertia is for rule 'aggressive', not 'safe'"),
        ("minibatch(batch_size=4, sweeps=2)", "sweeps is for rule 'exact', not 'safe'"),
        ("minibatch(rule=naive, batch_size=4, sigma2=0.1)", "sigma2 is for rules 'safe' and"),
        ("pegasos(eps=0.1)", "eps is for stop='bound' or 'sampled'"),
        ("pegasos(delta=0.1)", "delta is for"),
        ("pegasos(stop=bound)", "'bound' or 'sampled' with eps > 0, got 'bound'"),
        ("pegasos(stop=bound, eps=1, delta=0.1, average=tail)", "delta is for"),
        ("optimistic(delta=0.1)", "delta is for"),
        ("pegasos(stop=sampled, eps=0.1)", "needs average 'uniform', 'tail' or"),
        ("pegasos(stop=bound, eps=0.1, average=uniform)", "no theorem is about a free bias"),
        ("proximal(radius=0)", "radius must be positive, got 0"),
        ("sdca(radius=1)", "'sdca' has no parameter 'radius'"),
        ("frank-wolfe", "it needs a structured problem"),
        ("neuton", "did you mean 'newton'?"),
        ("sdca(", "write a name, or name(parameter=value, ...)"),
    ],
)
def test_impossible_methods_are_one_sentence(data, method, sentence, fails: Command):
    assert sentence in " ".join(fails("fit", data, "--method", method).split())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--loss", "hubber"), "did you mean 'huber'?"),
        (("--loss", "huber(width=1)"), "'huber' has no parameter 'width'; it takes: delta"),
        (("--loss", "huber(delta=-1)"), "'huber' needs"),
        (("--bias", "penalized(scale=0)"), "scale must be a positive number"),
        (("--bias", "penalized(scale=nan)"), "scale must be a positive number"),
        (("--bias", "penalized(size=2)"), "only penalized has a parameter"),
        (("--bias", "free(scale=2)"), "only penalized has a parameter"),
        (("--lam", "0"), "may be 0 only where a radius is given"),
        (("--lam", "0", "--method", "pegasos(radius=1)"), "rule 'pegasos' divides by lam"),
        (("--task", "joint"), "has no unpenalised intercept"),
        (("--task", "joint", "--bias", "none", "--method", "sdca"), "it is for a LinearProblem"),
    ],
)
def test_impossible_objectives_are_one_sentence(data, options, sentence, fails: Command):
    assert sentence in " ".join(fails("fit", data, *options).split())


LISTS = [("methods", METHODS), ("losses", LOSSES), ("kernels", KERNELS), ("tasks", TASKS)]


@pytest.mark.parametrize(("command", "registry"), LISTS)
def test_lists(command, registry, run: Command):
    said = run(command)
    assert said.code == 0
    assert all(entry.summary in said.out for entry in registry.values())
    assert json.loads(run(command, "--json").out).keys() == set(registry)
    for name, entry in registry.items():
        one = run(command, name)
        assert one.code == 0
        found = json.loads(run(command, name, "--json").out)
        assert [p["parameter"] for p in found["parameters"]] == list(entry.parameters)
        assert all(parameter in one.out for parameter in entry.parameters)


def test_a_wrong_name_in_a_list(fails: Command):
    assert "did you mean 'pegasos'?" in fails("methods", "pegassos")


def test_joint_classes(run: Command, three_classes, tmp_path):
    model = tmp_path / "model"
    options = ("--task", "joint", "--bias", "penalized", "--gap", "0.1", "--json")
    outcome = run("fit", three_classes, *options, "--model", model)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["method"] == ["level-bundle"]
    assert run("predict", model, three_classes).code == 0


def test_fit_has_no_more_options_than_a_person_can_read():
    import typer

    from gapsvm.cli.app import app

    fit = typer.main.get_command(app).commands["fit"]
    options = [p for p in fit.params if p.param_type_name == "option"]
    assert len(options) <= 24
