"""``gapsvm fit`` with --stop, --eps, --delta and --radius."""

from __future__ import annotations

import json
import math

import pytest
from problems import matrix, targets

from gapsvm import Subgradient, write_svmlight
from gapsvm.cli import main
from gapsvm.cli.fit import _PLAIN_BATCHES, _PLAIN_ENDS, solver_for
from gapsvm.models.files import read_model


@pytest.fixture
def data(tmp_path):
    X = matrix(200, 5, layout="csr")
    write_svmlight(tmp_path / "data.svm", X, targets(X, "margin"))
    return tmp_path / "data.svm"


def run(data, options, capsys):
    with pytest.raises(SystemExit) as end:
        main(["fit", str(data), *options.split()])
    return end.value.code, capsys.readouterr()


@pytest.mark.parametrize(
    ("method", "batches", "ends", "solver"),
    [
        ("pegasos", {}, {}, "pegasos"),
        (
            "pegasos",
            {"average": "tail"},
            {"stop": "sampled", "eps": 0.1, "delta": 0.2},
            Subgradient(average="tail", stop="sampled", eps=0.1, delta=0.2),
        ),
        (
            "proximal",
            {"average": "uniform", "batch_size": 4},
            {"stop": "bound", "eps": 0.1},
            Subgradient(4, True, "uniform", step_rule="proximal", stop="bound", eps=0.1),
        ),
        (
            "optimistic",
            {},
            {"eps": 0.1, "delta": 0.2},
            Subgradient(1, True, step_rule="optimistic", eps=0.1, delta=0.2),
        ),
    ],
)
def test_options_describe_a_solver(method, batches, ends, solver):
    given = {**_PLAIN_BATCHES, **batches}, {**_PLAIN_ENDS, **ends}
    assert solver_for(method, *given) == solver


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ("--method pegasos --average tail --stop sampled --eps 0.01", "SETTLED"),
        ("--method pegasos --average random --stop sampled --eps 1 --delta 0.1", "PROMISED"),
        ("--method pegasos --average uniform --stop bound --eps 0.5", "PROMISED"),
    ],
)
def test_an_end_before_the_gap(data, options, status, capsys):
    """It is not certified to --gap, so the code is 2; the gap is reported as always."""
    more = "--lam 0.1 --bias penalized --gap 0 --max-passes 1e9 --json"
    code, said = run(data, f"{options} {more}", capsys)
    found = json.loads(said.out)
    assert (code, found["status"]) == (2, status)
    assert 0 < found["gap"] < 1


def test_a_ball(data, tmp_path, capsys):
    model = tmp_path / "model.safetensors"
    options = f"--lam 0 --radius 0.5 --bias none --gap 0.02 --model {model} --json"
    code, said = run(data, options, capsys)
    assert code == 0, said
    found = json.loads(said.out)
    assert (found["method"], found["lam"]) == (["proximal"], 0.0)
    assert math.hypot(*read_model(model).coef[0]) <= 0.5 * (1 + 1e-12)
    code, _ = run(data, "--lam 0.01 --radius 0.5 --batch-size 4 --gap 0.1 --json", capsys)
    assert code == 0


def test_a_checkpoint_of_another_ball(data, tmp_path, capsys):
    file = tmp_path / "run"
    options = f"--lam 0 --bias none --gap 1e-9 --max-passes 2 --checkpoint {file}"
    assert run(data, f"{options} --radius 1", capsys)[0] == 2
    code, said = run(data, f"{options} --radius 2 --resume {file}", capsys)
    assert code == 1
    assert "radius is 1.0 there and 2.0 here" in said.err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--stop sampled --eps 0.1", "--stop is for the subgradient methods, not auto"),
        ("--method sdca --eps 0.1", "--eps is for the subgradient methods, not sdca"),
        ("--method pegasos --eps 0.1", "--eps needs --stop bound or sampled"),
        ("--method pegasos --delta 0.1", "--delta needs --stop bound or sampled"),
        ("--method pegasos --stop bound", "'bound' or 'sampled' with eps > 0, got 'bound'"),
        (
            "--method pegasos --stop bound --eps 1 --delta 0.1 --average tail",
            "--delta needs --stop sampled, a random iterate",
        ),
        ("--method optimistic --delta 0.1", "the method optimistic with --eps"),
        ("--method pegasos --stop sampled --eps 0.1", "needs average 'uniform', 'tail' or"),
        (
            "--method pegasos --stop bound --eps 0.1 --average uniform",
            "no theorem is about a free bias",
        ),
        ("--lam 0", "'--lam': must be positive and finite, got 0"),
        ("--radius 0", "'--radius': must be positive and finite, got 0"),
        ("--radius 1 --method sdca", "'sdca' cannot keep w in a ball"),
        ("--radius 1 --lam 0 --method pegasos", "rule 'pegasos' divides by lam, which is 0"),
        ("--stream --radius 1", "--stream does not go with --radius"),
        ("--stream --stop bound", "--stream does not go with --stop"),
    ],
)
def test_impossible_options_are_one_sentence(data, options, sentence, capsys):
    code, said = run(data, options, capsys)
    assert code in (1, 2)
    assert sentence in " ".join(said.err.split())
