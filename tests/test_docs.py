"""The pages of the documentation do what they say: every example is run, in order."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import pytest

from gapsvm.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+(e[-+]?\d+)?")

pytestmark = pytest.mark.skipif(not PAGES[0].exists(), reason="not in a checkout")


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.M | re.S)


def steps(session: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a terminal session, each with the lines printed after it."""
    for part in re.split(r"^\$ ", session, flags=re.M)[1:]:
        command, *output = part.splitlines()
        yield command, output


def shape(text: str) -> list[str]:
    """The words of an output, any number as good as another."""
    return NUMBER.sub("#", text).split()


def namespace(page: Path) -> dict[str, Any]:
    """What a page takes for granted."""
    if page.name != "README.md":
        return {}
    from sklearn.datasets import make_classification

    X, y = make_classification(200, 5, random_state=0)
    return {"X": X, "y": y}


def run(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    program, *arguments = shlex.split(command)
    assert program == "gapsvm"
    with pytest.MonkeyPatch.context() as patched:
        for stream in (sys.stdout, sys.stderr):  # the pages show what a terminal does
            patched.setattr(stream, "isatty", lambda: True)
        with pytest.raises(SystemExit) as ended:
            main(arguments)
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out + said.err


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("GAPSVM_DATA", raising=False)
    matplotlib.use("Agg")
    names = namespace(page)
    for language, text in blocks(page):
        if language == "python":
            capsys.readouterr()
            exec(compile(text, page.name, "exec"), names)
        elif language == "text":  # what the block before it prints
            assert shape(capsys.readouterr().out) == shape(text)
        elif language == "console":
            session(text, capsys)


def session(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a terminal session; a code other than 0 must be asked for with ``echo $?``."""
    todo = list(steps(text))
    code = 0
    for (command, output), following in zip(todo, [*(c for c, _ in todo[1:]), ""]):
        if command == "echo $?":
            assert output == [str(code)]
            continue
        capsys.readouterr()
        code, said = run(command, capsys)
        assert code == 0 or following == "echo $?", said
        starts = {shape(line)[0] for line in said.splitlines() if line.strip()}
        for line in output:
            assert not line.strip() or shape(line)[0] in starts, f"{command}: {line}"


def test_the_command_page_shows_every_command() -> None:
    shown = "".join(text for language, text in blocks(ROOT / "docs" / "cli.md"))
    for command in ("fit", "predict", "inspect", "path", "convert", "data", "demo"):
        assert f"$ gapsvm {command} " in shown.replace("\n", " ")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
