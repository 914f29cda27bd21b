"""Checkpoints, kills and Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command, rows_and_scores, same_bits

import gapsvm
from gapsvm.modelfile import read_model

SLOW = ("--method", "sdca", "--lam", "1e-6", "--gap", "1e-5", "--dtype", "float64")
"""Takes SDCA a few hundred passes on the small data."""
ENDLESS = ("--method", "pegasos", "--gap", "0", "--max-passes", "1e12")


def start(*arguments: Any) -> subprocess.Popen[str]:
    """``gapsvm`` in a process of its own."""
    program = "import sys; from gapsvm.cli import main; main(sys.argv[1:])"
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    for _ in range(6000):
        if path.exists() or process.poll() is not None:
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} did not appear")


@pytest.mark.parametrize("method", ["sdca", "pegasos", "interior", "auto"])
def test_resume_is_bit_for_bit(
    method: str, run: Command, two_classes: Path, tmp_path: Path
) -> None:
    gap = "0.02" if method == "pegasos" else "1e-5"
    options = ("--method", method, "--lam", "1e-3", "--gap", gap)
    state, whole, parts = tmp_path / "state", tmp_path / "whole", tmp_path / "parts"
    assert run("fit", two_classes, *options, "--model", whole).code == 0
    saving = ("--checkpoint", state, "--checkpoint-every", "0", "--max-passes", "5")
    assert run("fit", two_classes, *options, *saving).code == 2
    assert state.is_file()
    assert run("fit", two_classes, *options, "--resume", state, "--model", parts).code == 0
    assert same_bits(whole, parts)
    assert read_model(whole).passes == read_model(parts).passes


def test_resume_again_and_again(run: Command, two_classes: Path, tmp_path: Path) -> None:
    state, whole, parts = tmp_path / "state", tmp_path / "whole", tmp_path / "parts"
    assert run("fit", two_classes, *SLOW, "--max-passes", "40", "--model", whole).code == 2
    for passes in (10, 20, 30, 40):
        resume = ("--resume", state) if state.exists() else ()
        saving = ("--checkpoint", state, "--checkpoint-every", "0", "--max-passes", passes)
        assert run("fit", two_classes, *SLOW, *saving, *resume, "--model", parts).code == 2
    assert same_bits(whole, parts)


def test_a_fit_that_ends_leaves_a_checkpoint(
    run: Command, two_classes: Path, tmp_path: Path
) -> None:
    """Whoever sets a budget and a checkpoint means to go on later, however short the fit was."""
    state = tmp_path / "state"
    options = ("--max-passes", "5", "--checkpoint", state)
    assert run("fit", two_classes, *SLOW, *options).code == 2
    assert state.is_file()


def test_a_checkpoint_of_another_problem_is_refused(
    run: Command, fails: Command, two_classes: Path, three_classes: Path, tmp_path: Path
) -> None:
    state, model = tmp_path / "state", tmp_path / "model"
    saving = ("--checkpoint", state, "--checkpoint-every", "0", "--max-passes", "5")
    assert run("fit", two_classes, *SLOW, *saving).code == 2
    X, scores = rows_and_scores(seed=9)
    other = tmp_path / "other.svm"
    gapsvm.write_svmlight(other, X, np.sign(scores))
    resume = ("--resume", state, "--model", model)
    assert "another problem" in fails("fit", other, *SLOW, *resume)
    assert "lam is" in fails("fit", two_classes, *SLOW, "--lam", "0.5", *resume)
    assert "loss is" in fails("fit", two_classes, *SLOW, "--loss", "logistic", *resume)
    assert "two classes" in fails("fit", three_classes, *SLOW, *resume)
    assert not model.exists()


def test_a_checkpoint_of_another_method_is_refused(
    run: Command, fails: Command, two_classes: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    saving = ("--checkpoint", state, "--checkpoint-every", "0", "--max-passes", "5")
    assert run("fit", two_classes, *SLOW, *saving).code == 2
    for method in ("pegasos", "interior"):
        fails("fit", two_classes, *SLOW, "--method", method, "--resume", state)


def test_a_damaged_checkpoint_is_refused(
    run: Command, fails: Command, two_classes: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    saving = ("--checkpoint", state, "--checkpoint-every", "0", "--max-passes", "5")
    assert run("fit", two_classes, *SLOW, *saving).code == 2
    sound = state.read_bytes()
    flipped = bytearray(sound)
    flipped[len(sound) - 100] ^= 1
    for damaged in (b"", sound[: len(sound) // 2], bytes(flipped), two_classes.read_bytes()):
        state.write_bytes(damaged)
        assert str(state) in fails("fit", two_classes, *SLOW, "--resume", state)
    assert "No such file" in fails("fit", two_classes, "--resume", tmp_path / "missing")


def test_a_model_is_no_checkpoint(
    run: Command, fails: Command, two_classes: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    assert run("fit", two_classes, "--model", model).code == 0
    assert "gapsvm model" in fails("fit", two_classes, "--resume", model)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_kill_leaves_a_usable_checkpoint_or_none(
    run: Command, two_classes: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    rng = np.random.default_rng(0)
    for _ in range(5):
        resume = ("--resume", state) if state.exists() else ()
        saving = ("--checkpoint", state, "--checkpoint-every", "0", "--max-passes", "1e9")
        process = start("fit", two_classes, *SLOW, "--gap", "0", *saving, *resume)
        wait_for(state, process)
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.communicate(timeout=60)
        if state.exists():
            go_on = ("--resume", state, "--max-passes", "1")
            assert run("fit", two_classes, *SLOW, *go_on, "--gap", "0").code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_killed_fit_goes_on_bit_for_bit(run: Command, two_classes: Path, tmp_path: Path) -> None:
    state, whole, parts = tmp_path / "state", tmp_path / "whole", tmp_path / "parts"
    budget = ("--max-passes", "4000", "--gap", "0")
    code = run("fit", two_classes, *SLOW, *budget, "--model", whole).code
    saving = ("--checkpoint", state, "--checkpoint-every", "0")
    process = start("fit", two_classes, *SLOW, *budget, *saving)
    wait_for(state, process)
    process.kill()
    process.communicate(timeout=60)
    resumed = run("fit", two_classes, *SLOW, *budget, "--resume", state, "--model", parts)
    assert resumed.code == code
    assert same_bits(whole, parts)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("classes", ["two_classes", "three_classes"])
def test_interrupt_leaves_a_certified_model(
    classes: str, run: Command, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    data, model = request.getfixturevalue(classes), tmp_path / "model"
    process = start("fit", data, *ENDLESS, "--model", model)
    assert process.stdout is not None
    assert "240 rows" in process.stdout.readline()  # the reading is over
    time.sleep(0.7)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "Traceback" not in err
    found = read_model(model)
    assert found.status == "INTERRUPTED"
    assert np.isfinite(found.gap).all()
    assert run("predict", model, data).code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_closed_pipe_is_no_traceback(run: Command, two_classes: Path, tmp_path: Path) -> None:
    model, many = tmp_path / "model", tmp_path / "many.svm"
    assert run("fit", two_classes, "--model", model).code == 0
    many.write_bytes(two_classes.read_bytes() * 100)
    process = start("predict", model, many)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.wait(timeout=60)
    process.stderr.close()
    assert "Traceback" not in err
