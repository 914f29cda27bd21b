"""The mini-batch options of ``gapsvm fit`` reach the solver."""

from __future__ import annotations

import json

import pytest
from problems import matrix, targets

from gapsvm import MiniBatchSDCA, Pegasos, Subgradient, write_svmlight
from gapsvm.cli import main
from gapsvm.cli.fit import _PLAIN_BATCHES, solver_for


@pytest.fixture
def data(tmp_path):
    X = matrix(200, 5, layout="csr")
    write_svmlight(tmp_path / "data.svm", X, targets(X, "margin"))
    return tmp_path / "data.svm"


@pytest.mark.parametrize(
    ("method", "given", "solver"),
    [
        ("auto", {}, "auto"),
        ("interior", {}, "interior"),
        ("sdca", {"batch_size": 8}, MiniBatchSDCA("safe", 8)),
        ("auto", {"staleness": 2}, MiniBatchSDCA("safe", 1, staleness=2)),
        (
            "proximal",
            {"sampler": "fixed"},
            Subgradient(1, True, step_rule="proximal", sampler="fixed"),
        ),
        ("auto", {"batch_size": "auto"}, "auto"),  # whatever ends first
        ("sdca", {"batch_size": "auto"}, MiniBatchSDCA("safe", "auto")),
        (
            "auto",
            {"batch_size": "auto", "rule": "aggressive"},
            MiniBatchSDCA("aggressive", "auto"),
        ),
        ("pegasos", {"batch_size": 8, "average": "tail"}, Pegasos(8, average="tail")),
        (
            "sdca",
            {
                "batch_size": 8,
                "rule": "aggressive",
                "sigma2": "0.5",
                "staleness": 2,
                "inertia": 0.5,
            },
            MiniBatchSDCA("aggressive", 8, 0.5, 0.5, staleness=2),
        ),
    ],
)
def test_options_describe_a_solver(method, given, solver):
    assert solver_for(method, {**_PLAIN_BATCHES, **given}) == solver


@pytest.mark.parametrize(
    "options",
    [
        "--batch-size auto",
        "--batch-size 8 --rule aggressive --sigma2 bound",
        "--batch-size 16 --rule exact --sweeps 2",
        "--batch-size 4 --form rows --staleness 1 --average decaying --sampler permutation",
        "--method pegasos --batch-size 4 --average tail --gap 0.2",
    ],
)
def test_fit_with_batches(data, options, capsys):
    with pytest.raises(SystemExit) as end:
        main(["fit", str(data), "--lam", "0.01", "--json", *options.split()])
    assert end.value.code == 0
    assert json.loads(capsys.readouterr().out)["converged"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--batch-size 0", "must be auto or a whole number from 1, got 0"),
        ("--batch-size many", "must be auto or a whole number from 1, got many"),
        ("--batch-size 4 --sigma2 -1", "must be bound, estimate or a positive number, got -1"),
        ("--batch-size 4 --sigma2 much", "must be bound, estimate or a positive number, got much"),
        ("--batch-size 4 --rule aggressive --inertia 1", "inertia must lie between 0 and 1"),
        ("--batch-size 4 --rule naive --form unit", "rule 'naive' has the forms auto, rows"),
        ("--batch-size 1000", "batch_size must be at most n = 200, got 1000"),
        (
            "--method interior --batch-size 4",
            "--batch-size is for sdca and the subgradient methods",
        ),
        ("--method interior --average tail", "--average is for sdca and the subgradient methods"),
        ("--method pegasos --inertia 0.5", "--inertia is for the method sdca, not pegasos"),
        ("--method interior --sweeps 2", "--sweeps is for sdca and the subgradient methods"),
    ],
)
def test_impossible_options_are_one_sentence(data, options, sentence, capsys):
    with pytest.raises(SystemExit) as end:
        main(["fit", str(data), *options.split()])
    assert end.value.code == 1
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
