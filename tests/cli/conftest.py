"""The command line as a function, and small files to give it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command, Outcome, rows_and_scores

import gapsvm
from gapsvm.cli import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs ``gapsvm`` in this process."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("GAPSVM_DATA", raising=False)

    def command(*arguments: Any) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), said.out, said.err)

    return command


@pytest.fixture
def shown(run: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs ``gapsvm`` as on a terminal, one without colours."""
    monkeypatch.setenv("TERM", "dumb")

    def command(*arguments: Any) -> Outcome:
        with monkeypatch.context() as patched:
            patched.setattr(sys.stdout, "isatty", lambda: True)
            return run(*arguments)

    return command


@pytest.fixture
def fails(run: Command) -> Command:
    """Runs a command that must fail: exit code 1 and one sentence, which it returns."""

    def command(*arguments: Any) -> Any:
        outcome = run(*arguments)
        assert outcome.code == 1
        lines = outcome.err.splitlines()
        assert len(lines) == 1, outcome.err
        assert lines[0].startswith("gapsvm: ")
        assert "Traceback" not in outcome.err
        return lines[0]

    return command


@pytest.fixture
def two_classes(tmp_path: Path) -> Path:
    X, scores = rows_and_scores()
    path = tmp_path / "two.svm"
    gapsvm.write_svmlight(path, X, np.where(scores > 0.8, 1, -1))
    return path


@pytest.fixture
def three_classes(tmp_path: Path) -> Path:
    X, scores = rows_and_scores(seed=1)
    path = tmp_path / "three.svm"
    gapsvm.write_svmlight(path, X, np.digitize(scores, [-1.0, 1.5]) + 1)
    return path


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    X, scores = rows_and_scores(seed=2)
    path = tmp_path / "responses.svm"
    gapsvm.write_svmlight(path, X, np.round(scores, 4))
    return path
