"""``gapsvm fit`` with methods that end by themselves, or keep to a ball."""

from __future__ import annotations

import json
import math

import pytest
from commands import Command
from problems import matrix, targets

from gapsvm import write_svmlight
from gapsvm.models.files import read_model


@pytest.fixture
def data(tmp_path):
    X = matrix(200, 5, layout="csr")
    write_svmlight(tmp_path / "data.svm", X, targets(X, "margin"))
    return tmp_path / "data.svm"


@pytest.mark.parametrize(
    ("method", "status"),
    [
        ("pegasos(average=tail, stop=sampled, eps=0.01)", "SETTLED"),
        ("pegasos(average=random, stop=sampled, eps=1, delta=0.1)", "PROMISED"),
        ("pegasos(average=uniform, stop=bound, eps=0.5)", "PROMISED"),
    ],
)
def test_an_end_before_the_gap(data, method, status, run: Command):
    """It is not certified to --gap, so the code is 2; the gap is reported as always."""
    more = "--lam 0.1 --bias penalized --gap 0 --max-passes 1e9 --json"
    code, out, _ = run("fit", data, "--method", method, *more.split())
    found = json.loads(out)
    assert (code, found["status"]) == (2, status)
    assert 0 < found["gap"] < 1


BALL = "proximal(radius={}, average=tail, sampler=permutation)"


def test_a_ball(data, tmp_path, run: Command):
    model = tmp_path / "model.safetensors"
    options = f"--lam 0 --bias none --gap 0.02 --model {model} --json".split()
    code, out, err = run("fit", data, "--method", BALL.format(0.5), *options)
    assert code == 0, err
    found = json.loads(out)
    assert (found["method"], found["lam"]) == (["proximal"], 0.0)
    assert math.hypot(*read_model(model).coef[0]) <= 0.5 * (1 + 1e-12)


def test_a_checkpoint_of_another_ball(data, tmp_path, run: Command):
    file = tmp_path / "run"
    options = f"--lam 0 --bias none --gap 1e-9 --max-passes 2 --checkpoint {file}".split()
    assert run("fit", data, *options, "--method", BALL.format(1)).code == 2
    code, _, err = run("fit", data, *options, "--method", BALL.format(2), "--resume", file)
    assert code == 1
    assert "radius is 1.0 there and 2.0 here" in err
