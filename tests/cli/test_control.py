"""Checkpoints, kills and Ctrl-C."""

from __future__ import annotations

import json
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
from gapsvm.io.tensors import read_tensors
from gapsvm.models.files import read_model
from gapsvm.training.checkpoint import save_tree

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


@pytest.fixture(params=["two_classes", "three_classes"])
def data(request: pytest.FixtureRequest) -> Any:
    """A file of two classes (one problem), then one of three (three problems)."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("method", ["sdca", "pegasos", "interior", "auto"])
@pytest.mark.parametrize("passes", [5, 14])
def test_resume_is_bit_for_bit(
    method: str, passes: int, run: Command, data: Path, tmp_path: Path
) -> None:
    """After 14 passes some classes are finished, and one is good enough but not yet polished."""
    options = ("--method", method, "--lam", "1e-3", "--gap", "1e-5")
    if method == "pegasos":
        options = ("--method", method, "--lam", "0.05", "--gap", "0.02")
    state, whole, parts = tmp_path / "state", tmp_path / "whole", tmp_path / "parts"
    assert run("fit", data, *options, "--model", whole).code == 0
    saving = ("--checkpoint", state, "--checkpoint-every", "0", "--max-passes", passes)
    assert run("fit", data, *options, *saving).code in ((2,) if passes == 5 else (0, 2))
    assert state.is_file()
    assert run("fit", data, *options, "--resume", state, "--model", parts).code == 0
    assert same_bits(whole, parts)
    assert read_model(whole).passes == read_model(parts).passes


def test_a_checkpoint_does_not_change_the_model(run: Command, data: Path, tmp_path: Path) -> None:
    options = ("--method", "sdca", "--lam", "1e-3", "--gap", "1e-4")
    saving = ("--checkpoint", tmp_path / "state", "--checkpoint-every", "0", "--threads", "2")
    assert run("fit", data, *options, "--model", tmp_path / "a").code == 0
    assert run("fit", data, *options, *saving, "--model", tmp_path / "b").code == 0
    assert same_bits(tmp_path / "a", tmp_path / "b")


def test_resume_again_and_again(run: Command, data: Path, tmp_path: Path) -> None:
    """The same command each time, the first one included, but for its budget."""
    state, whole, parts = tmp_path / "state", tmp_path / "whole", tmp_path / "parts"
    assert run("fit", data, *SLOW, "--max-passes", "40", "--model", whole).code == 2
    saving = ("--checkpoint", state, "--resume", state, "--checkpoint-every", "0")
    for passes in (10, 20, 30, 40):
        budget = ("--max-passes", passes)
        outcome = run("fit", data, *SLOW, *saving, *budget, "--model", parts)
        assert outcome.code == 2
        assert ("from the beginning" in outcome.out) == (passes == 10)
    assert same_bits(whole, parts)


def test_a_break_after_any_save(
    run: Command, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever class it was at, and between two as well: on to the same model."""
    options = ("--method", "sdca", "--lam", "0.01", "--gap", "1e-3")
    state, whole, parts = tmp_path / "state", tmp_path / "whole", tmp_path / "parts"
    assert run("fit", data, *options, "--model", whole).code == 0
    saves = 0
    for last in range(1, 1000, 7):
        saves = 0

        def save_and_break(*arguments: Any, last: int = last) -> None:
            nonlocal saves
            save_tree(*arguments)
            saves += 1
            if saves == last:
                raise OSError("the power is gone")

        with monkeypatch.context() as patched:
            patched.setattr("gapsvm.cli.saved.save_tree", save_and_break)
            saving = ("--checkpoint", state, "--checkpoint-every", "0")
            code = run("fit", data, *options, *saving).code
        assert run("fit", data, *options, "--resume", state, "--model", parts).code == 0
        assert same_bits(whole, parts)
        assert read_model(whole).passes == read_model(parts).passes
        if code == 0:
            break
    assert saves > 10


def test_finished_classes_are_kept_without_their_state(
    run: Command, three_classes: Path, tmp_path: Path
) -> None:
    """The file has room for one state and the weights of the classes before it."""
    state, options = tmp_path / "state", ("--method", "sdca", "--lam", "0.01", "--gap", "1e-3")
    saving = ("--checkpoint", state, "--checkpoint-every", "0", "--max-passes", "200")
    assert run("fit", three_classes, *options, *saving).code == 0
    arrays, _ = read_tensors(state)
    assert {"tree.0", "tree.1", "tree.2"} == {".".join(name.split(".")[:2]) for name in arrays}
    for k in (0, 1):
        held = [array.shape for name, array in arrays.items() if name.startswith(f"tree.{k}.")]
        assert held == [(8,)]


def test_a_tighter_gap_after_a_coarse_one(
    run: Command, three_classes: Path, tmp_path: Path
) -> None:
    """What is finished to 0.05 is not finished to 1e-6."""
    state, model = tmp_path / "state", tmp_path / "model"
    options = ("--method", "sdca", "--lam", "0.01")
    saving = ("--checkpoint", state, "--checkpoint-every", "0")
    assert run("fit", three_classes, *options, *saving, "--gap", "0.05").code == 0
    resume = ("--resume", state, "--model", model)
    assert run("fit", three_classes, *options, *resume, "--gap", "1e-6").code == 0
    assert (read_model(model).gap <= 1e-6).all()
    assert run("fit", three_classes, *options, *resume, "--gap", "1e-6").code == 0


def test_no_time_at_all_still_leaves_a_checkpoint(run: Command, data: Path, tmp_path: Path) -> None:
    state, whole, parts = tmp_path / "state", tmp_path / "whole", tmp_path / "parts"
    options = ("--method", "sdca", "--lam", "0.01", "--gap", "1e-3")
    assert run("fit", data, *options, "--model", whole).code == 0
    assert run("fit", data, *options, "--time-limit", "0", "--checkpoint", state).code == 2
    assert run("fit", data, *options, "--resume", state, "--model", parts).code == 0
    assert same_bits(whole, parts)


def test_a_checkpoint_may_move(run: Command, three_classes: Path, tmp_path: Path) -> None:
    """--resume one file and --checkpoint another: the second has all that the first had."""
    one, two, whole, parts = (tmp_path / name for name in ("one", "two", "whole", "parts"))
    assert run("fit", three_classes, *SLOW, "--max-passes", "30", "--model", whole).code == 2
    assert run("fit", three_classes, *SLOW, "--max-passes", "20", "--checkpoint", one).code == 2
    moving = ("--resume", one, "--checkpoint", two, "--time-limit", "0")
    assert run("fit", three_classes, *SLOW, *moving).code == 2
    resumed = run("fit", three_classes, *SLOW, "--max-passes", "30", "--resume", two, "-m", parts)
    assert resumed.code == 2
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
    wrong = fails("fit", three_classes, *SLOW, *resume)
    assert "number of problems is 1 there and 3 here" in wrong
    assert not model.exists()


def test_a_checkpoint_of_other_classes_is_refused(
    run: Command, fails: Command, two_classes: Path, three_classes: Path, tmp_path: Path
) -> None:
    """Each class is a problem; all of their labels count."""
    state = tmp_path / "state"
    saving = ("--checkpoint", state, "--checkpoint-every", "0", "--max-passes", "5")
    assert run("fit", three_classes, *SLOW, *saving).code == 2
    X, y, _ = gapsvm.read_svmlight(three_classes)
    for classes in ([1, 3, 2], [2, 1, 3], [3, 2, 1]):
        other = tmp_path / "other.svm"
        gapsvm.write_svmlight(other, X, np.array(classes)[y.astype(int) - 1])
        assert "labels differs" in fails("fit", other, *SLOW, "--resume", state)
    assert "lam is" in fails("fit", three_classes, *SLOW, "--lam", "0.5", "--resume", state)
    wrong = fails("fit", two_classes, *SLOW, "--resume", state)
    assert "number of problems is 3 there and 1 here" in wrong


def test_another_tree_is_no_checkpoint_of_a_fit(
    run: Command, fails: Command, two_classes: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    saving = ("--checkpoint", state, "--max-passes", "5")
    assert run("fit", two_classes, *SLOW, *saving).code == 2
    _, texts = read_tensors(state)
    mark = json.loads(texts["state"])["fingerprint"]
    for tree in (None, [], [None, None], [0.5], {"checkpoint": None}):
        save_tree(state, tree, mark)
        assert "not a checkpoint of gapsvm fit" in fails(
            "fit", two_classes, *SLOW, "--resume", state
        )


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
def test_kill_leaves_a_usable_checkpoint_or_none(run: Command, data: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    rng = np.random.default_rng(0)
    for _ in range(5):
        resume = ("--resume", state) if state.exists() else ()
        saving = ("--checkpoint", state, "--checkpoint-every", "0", "--max-passes", "1e9")
        process = start("fit", data, *SLOW, "--gap", "0", *saving, *resume)
        wait_for(state, process)
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.communicate(timeout=60)
        if state.exists():
            go_on = ("--resume", state, "--max-passes", "1")
            assert run("fit", data, *SLOW, *go_on, "--gap", "0").code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_killed_fit_goes_on_bit_for_bit(run: Command, data: Path, tmp_path: Path) -> None:
    state, whole, parts = tmp_path / "state", tmp_path / "whole", tmp_path / "parts"
    budget = ("--max-passes", "2000", "--gap", "0")
    code = run("fit", data, *SLOW, *budget, "--model", whole).code
    saving = ("--checkpoint", state, "--checkpoint-every", "0")
    process = start("fit", data, *SLOW, *budget, *saving)
    wait_for(state, process)
    process.kill()
    process.communicate(timeout=60)
    resumed = run("fit", data, *SLOW, *budget, "--resume", state, "--model", parts)
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


def test_interrupt_leaves_a_checkpoint(
    run: Command, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--method", "sdca", "--lam", "0.01", "--gap", "1e-3")
    state, whole, parts = tmp_path / "state", tmp_path / "whole", tmp_path / "parts"
    assert run("fit", data, *options, "--model", whole).code == 0
    saves = 0

    def save_and_interrupt(*arguments: Any) -> None:
        nonlocal saves
        save_tree(*arguments)
        saves += 1
        if saves == 6:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr("gapsvm.cli.saved.save_tree", save_and_interrupt)
        saving = ("--checkpoint", state, "--checkpoint-every", "0", "--json")
        code, out, _ = run("fit", data, *options, *saving)
    assert (code, json.loads(out)["status"]) == (2, "INTERRUPTED")
    assert saves == 7
    assert run("fit", data, *options, "--resume", state, "--model", parts).code == 0
    assert same_bits(whole, parts)


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
