"""Ctrl-C, threads and compiled kernels: what happens before a fit begins."""

from __future__ import annotations

import bz2
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from commands import Command

import gapsvm
from gapsvm.cli.app import CORES

PROGRAM = "import sys; from gapsvm.cli import main; main(sys.argv[1:])"


def interrupt(*arguments: Any, **options: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "place",
    [
        "typer.main.get_command",  # programs are loaded
        "gapsvm.cli.fit.load_data",
        "gapsvm.training.fitting.checked_rows",
        "gapsvm.training.train.get_backend",  # kernels are loaded
        "gapsvm.training.fitting.LinearProblem",
    ],
)
def test_ctrl_c_before_the_fit_is_one_sentence_and_code_130(
    place: str, run: Command, two_classes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, interrupt)
    model = tmp_path / "model"
    outcome = run("fit", two_classes, "--model", model)
    assert outcome.code == 130
    assert outcome.err.splitlines()[-1] == "gapsvm: interrupted before there was a result"
    assert "Traceback" not in outcome.err
    assert not model.exists()


@pytest.mark.parametrize("command", ["predict", "inspect", "path", "convert"])
def test_ctrl_c_in_commands_that_do_not_fit(
    command: str, run: Command, two_classes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("fit", two_classes, "--model", tmp_path / "model").code == 0
    monkeypatch.setattr(gapsvm.io.svmlight.SvmlightReader, "__iter__", interrupt)
    arguments = {
        "predict": (tmp_path / "model", two_classes),
        "convert": (two_classes, tmp_path / "folder"),
    }.get(command, (two_classes,))
    outcome = run(command, *arguments)
    assert outcome.code == 130
    assert outcome.err == "gapsvm: interrupted before there was a result\n"
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize("delay", [0.25, 0.6, 1.2])
def test_ctrl_c_while_kernels_are_compiled(delay: float, two_classes: Path, tmp_path: Path) -> None:
    """With nothing kept: sooner or later while it is loaded, reads, compiles or fits."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    endless = ("--method", "pegasos", "--gap", "0", "--max-passes", "1e12")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "fit", str(two_classes), *endless],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if "KeyboardInterrupt" in said and "gapsvm.cli" not in said:
        pytest.skip("it came before Python had begun to load gapsvm")
    assert process.returncode in (130, 2)
    assert "Traceback" not in said


def test_thousands_of_threads_are_as_many_as_cores(
    run: Command, two_classes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    load = gapsvm.cli.fit.load_data

    def noted(*arguments: Any, threads: int, **options: Any) -> Any:
        asked.append(threads)
        return load(*arguments, threads=threads, **options)

    monkeypatch.setattr("gapsvm.cli.fit.load_data", noted)
    for threads in (5000, 10**6, 10**30):
        assert run("fit", two_classes, "--threads", threads, "-m", tmp_path / "model").code == 0
    assert asked == [CORES] * 3


@pytest.mark.slow
def test_damaged_kernels_are_not_blamed_on_the_data(two_classes: Path, tmp_path: Path) -> None:
    """Compressed data, so that what cannot be unpacked could be taken for it."""
    packed = tmp_path / "rows.svm.bz2"
    packed.write_bytes(bz2.compress(two_classes.read_bytes()))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}

    compiled = f"from gapsvm.backends import renting; renting.settle(); {PROGRAM}"

    def convert(folder: str) -> subprocess.CompletedProcess[str]:
        arguments = ("convert", str(packed), str(tmp_path / folder))
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", compiled, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    first = convert("first")
    assert first.returncode == 0, first.stderr
    kept = [path for path in (tmp_path / "kernels").rglob("*") if path.is_file()]
    assert kept
    for number, path in enumerate(kept):
        path.write_bytes(path.read_bytes()[: (0, 10, 3000)[number % 3]])
    again = convert("again")
    assert again.returncode == 0, again.stderr
    said = [words.stderr.rpartition(" in ")[0].rpartition(": ")[2] for words in (first, again)]
    assert said[0] == said[1] != "", said


def test_without_a_writable_home_nothing_is_left_behind(two_classes: Path, tmp_path: Path) -> None:
    """Neither in the place for temporary files nor anywhere else."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    unwanted = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    environment = {k: v for k, v in os.environ.items() if k not in unwanted}
    environment |= {"HOME": "/dev/null/home", "TMPDIR": str(temporary)}
    code = (
        "from gapsvm.backends import get_backend; from gapsvm.rows.matrix import as_rows\n"
        "import numpy as np; out = np.empty(1)\n"
        "get_backend().margins(as_rows(np.ones((1, 3))).view, np.ones(3), out); print(out[0])"
    )
    environment["PYTHONPATH"] = str(Path(gapsvm.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3.0\n", "")
    assert list(temporary.iterdir()) == []
