"""Converted folders that are damaged: every command says so, unless it is told not to look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import Command


@pytest.fixture
def damaged(run: Command, two_classes: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "rows.gsv"
    assert run("convert", two_classes, folder).code == 0
    values = folder / "data.npy"
    content = bytearray(values.read_bytes())
    content[1000] ^= 1
    values.write_bytes(content)
    return folder


COMMANDS = {
    "fit": lambda data, model: ("fit", data),
    "stream": lambda data, model: ("stream", data),
    "inspect": lambda data, model: ("inspect", data),
    "path": lambda data, model: ("path", data, "--n-lams", 1),
    "predict": lambda data, model: ("predict", model, data),
}


@pytest.mark.parametrize("size", [0, 1 << 26])
@pytest.mark.parametrize("command", COMMANDS)
def test_damage_is_found_unless_nobody_looks(
    command: str,
    size: int,
    run: Command,
    fails: Command,
    damaged: Path,
    two_classes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In arrays that are checked at once, and in those that are checked as they are read."""
    monkeypatch.setattr("gapsvm.io.folder._SMALL", size)
    model = tmp_path / "model.safetensors"
    assert run("fit", two_classes, "--model", model).code == 0
    arguments: Any = COMMANDS[command](damaged, model)
    assert "data.npy is damaged: its contents are not those that were written" in fails(*arguments)
    assert run(*arguments, "--no-verify").code == 0
    of_text: Any = COMMANDS[command](two_classes, model)
    assert "--no-verify is for converted folders" in fails(*of_text, "--no-verify")
