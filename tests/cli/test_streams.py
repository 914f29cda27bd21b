"""Whatever standard output is: an encoding without λ, a pipe, a full disk, closed, too narrow."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import Command

import gapsvm
from gapsvm.cli.layout import _cells
from gapsvm.cli.streams import spelling

PROGRAM = "import sys; from gapsvm.cli import main; main(sys.argv[1:])"
OTHERS = [("path", "--n-lams", "2"), ("inspect",), ("fit", "--help")]


def ended(
    *arguments: object, redirect: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """A process of its own, below a shell that redirects its streams."""
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirect}', "sh", *command],
        env={**os.environ, **environment},
        capture_output=True,
        encoding="latin-1",
        timeout=120,
    )


def on_a_terminal(*arguments: object, **environment: str) -> str:
    """What a command writes to a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        env={**os.environ, "TERM": "dumb", **environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            block = os.read(ours, 1 << 16)
        except OSError:  # Linux says so when nobody writes any more
            break
        if not block:
            break
        said += block
    os.close(ours)
    assert process.wait(timeout=120) == 0, said
    return said.decode().replace("\r\n", "\n")


@pytest.fixture
def model(run: Command, two_classes: Path, tmp_path: Path) -> Path:
    assert run("fit", two_classes, "-m", tmp_path / "model").code == 0
    return tmp_path / "model"


# -- encodings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "encoding"),
    [
        (("fit",), "ascii"),
        (("fit",), "latin-1"),
        (("stream",), "ascii"),
        *(pytest.param(command, "ascii", marks=pytest.mark.slow) for command in OTHERS),
    ],
)
def test_encodings_without_greek_letters(
    command: tuple[str, ...], encoding: str, two_classes: Path
) -> None:
    name, *options = command
    found = ended(name, two_classes, *options, PYTHONIOENCODING=encoding)
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    assert "\\u" not in found.stdout
    if encoding == "ascii":
        assert found.stdout.isascii()
    if command == ("fit",):
        assert f"240 rows {'x' if encoding == 'ascii' else '×'} 8 features" in found.stdout
    if "stream" in command:
        assert "sigma" in found.stdout
        assert "lambda = 0.0001" in found.stdout


@pytest.mark.slow
def test_tables_stay_aligned_in_ascii(two_classes: Path) -> None:
    options = ("--lam", "1", "--lam", "1e-3")
    lines = on_a_terminal("path", two_classes, *options, PYTHONIOENCODING="ascii").splitlines()
    assert lines[0].split()[0] == "lambda"
    assert len({len(line) for line in lines}) == 1
    text = on_a_terminal("inspect", two_classes, PYTHONIOENCODING="ascii")
    assert text.isascii()
    assert "beta_b/b: steps" in text
    assert "#" * 40 in text


def test_everything_that_is_said_can_be_spelled() -> None:
    """Every text of the sources but docstrings; figures and reports of the papers aside."""
    source = Path(gapsvm.__file__).parent
    for path in source.rglob("*.py"):
        if "reproduce" in path.parts or path.name in ("figures.py", "streams.py"):
            continue
        tree = ast.parse(path.read_text())
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in docs else None
            if isinstance(text, str):
                odd = {character for character in text if not character.isascii()}
                assert all(spelling(c).isascii() and spelling(c)[:1] != "\\" for c in odd), text


def test_spellings() -> None:
    assert list(map(spelling, "λΩσ₂²×ß")) == ["lambda", "Omega", "sigma", "2", "^2", "x", "\\xdf"]


def test_labels_are_escaped_not_spelled(tmp_path: Path) -> None:
    """Two labels never become one."""
    pytest.importorskip("polars")
    table, model = tmp_path / "table.csv", tmp_path / "model"
    table.write_text("x,kind\n" + "1,α\n2,alpha\n" * 5)
    assert ended("fit", table, "-m", model, PYTHONIOENCODING="ascii").returncode == 0
    found = ended("predict", model, table, PYTHONIOENCODING="ascii")
    assert set(found.stdout.split()) == {"\\u03b1", "alpha"}


def test_names_of_files_that_are_no_text(two_classes: Path, tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/\xff.svm"
    try:
        os.rename(two_classes, odd)
    except OSError:
        pytest.skip("the system does not take such names")
    found = ended("fit", os.fsdecode(odd))
    assert found.returncode == 0, found.stderr
    assert "\xff.svm" in found.stdout


# -- pipes -----------------------------------------------------------------------------------------


def test_piped_tables_have_all_digits_and_no_padding(run: Command, two_classes: Path) -> None:
    options = ("path", two_classes, "--lam", "1", "--lam", "0.1", "--test", two_classes)
    head, *lines = run(*options).out.splitlines()
    points = json.loads(run(*options, "--json").out)["points"]
    assert head.split("\t") == [name for name in points[0] if name != "converged"]
    for line, point in zip(lines, points, strict=True):
        for name, cell in zip(head.split("\t"), line.split("\t"), strict=True):
            assert cell == str(point[name])
    said = run("inspect", two_classes).out
    facts = json.loads(run("inspect", two_classes, "--json").out)
    rows = [line.split("\t") for line in said.splitlines()]
    assert [row[1] for row in rows if row[0] == "norm_mean"] == [str(facts["norm_mean"])]
    assert [row[1:] for row in rows if row[0] == "labels"] == [
        [name, str(count)] for name, count in facts["labels"].items()
    ]
    said = run("fit", two_classes, "--seed", "3").out
    summary = json.loads(run("fit", two_classes, "--seed", "3", "--json").out)
    rows = [line.split("\t") for line in said.splitlines()]
    assert [row[1] for row in rows if row[0] in ("primal", "dual", "gap")] == [
        str(summary[name][0]) if name != "gap" else str(summary[name])
        for name in ("primal", "dual", "gap")
    ]


def test_piped_lists_have_a_line_for_each_name(run: Command) -> None:
    for command, cells in ((("reproduce", "--list"), 3), (("data",), 2)):
        lines = run(*command).out.splitlines()
        assert all(line.count("\t") == cells - 1 for line in lines), command


def test_no_width_changes_what_is_piped(two_classes: Path) -> None:
    wide, zero, narrow = (
        ended("path", two_classes, "--lam", "1", COLUMNS=columns) for columns in ("300", "0", "20")
    )
    assert wide.stdout.startswith("lam\t")
    assert wide.stdout == zero.stdout == narrow.stdout


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["0", "12", "30"])
def test_narrow_terminals_wrap(columns: str, two_classes: Path) -> None:
    points = json.loads(ended("path", two_classes, "--lam", "0.1", "--json").stdout)["points"]
    said = on_a_terminal("path", two_classes, "--lam", "0.1", COLUMNS=columns)
    assert f"{points[0]['primal']:.8f}" in said
    assert f"{points[0]['gap']:.1e}" in said
    if columns == "30":
        assert max(map(_cells, said.splitlines())) <= 30
    assert "Usage" in on_a_terminal("--help", COLUMNS=columns)


def test_a_reader_that_goes_away(model: Path, two_classes: Path) -> None:
    shell = '{ "$@"; echo "code $?" >&2; } | true'
    command = [sys.executable, "-c", PROGRAM, "predict", str(model), str(two_classes)]
    found = subprocess.run(
        ["sh", "-c", shell, "sh", *command], capture_output=True, text=True, timeout=120
    )
    assert "Traceback" not in found.stderr
    assert "ignored" not in found.stderr
    assert found.stderr.splitlines()[-1] == "code 141"


# -- closed and full -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_closed_standard_output(model: Path, two_classes: Path, tmp_path: Path) -> None:
    for command in (
        ("predict", model, two_classes),
        ("predict", model, two_classes, "--json", "-o", tmp_path / "labels"),
        ("path", two_classes),
        ("inspect", two_classes),
        ("fit", two_classes),
        ("stream", two_classes),
        ("data",),
        ("methods",),
        ("kernels", "rbf"),
    ):
        found = ended(*command, redirect=">&-")
        assert found.returncode == 1, command
        assert found.stderr.startswith("gapsvm: standard output is closed"), command
        assert len(found.stderr.splitlines()) == 1
    labels, own, other = tmp_path / "labels", tmp_path / "own", tmp_path / "other"
    done = ended("predict", model, two_classes, "-o", labels, redirect=">&-")
    assert (done.returncode, len(labels.read_text().split())) == (0, 240)
    assert ended("fit", two_classes, "-m", own, redirect=">&- 2>&- <&-").returncode == 0
    assert ended("fit", two_classes, "-m", other).returncode == 0
    assert own.read_bytes() == other.read_bytes()


def test_a_closed_standard_error_leaves_data_alone(model: Path, two_classes: Path) -> None:
    expected = ended("predict", model, two_classes)
    found = ended("predict", model, two_classes, redirect="2>&-")
    assert (found.returncode, found.stdout) == (0, expected.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(
    model: Path, two_classes: Path, fails: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in (("predict", model, two_classes), ("fit", two_classes), ("data",)):
        found = ended(*command, redirect=">/dev/full")
        assert found.returncode == 1
        expected = "gapsvm: standard output cannot be written to: No space left on device\n"
        assert found.stderr == expected
    monkeypatch.setattr("gapsvm.cli.fit.load_data", None)
    said = fails("fit", two_classes, "--trace", "/dev/full")
    assert said == "gapsvm: --trace: cannot write /dev/full: No space left on device"
    monkeypatch.setattr("gapsvm.cli.predict.load_matching", None)
    said = fails("predict", model, two_classes, "-o", "/dev/full")
    assert said == "gapsvm: --output: cannot write /dev/full: No space left on device"


# -- progress --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("forced", [{}, {"FORCE_COLOR": "1"}])
def test_no_bar_without_a_terminal(
    forced: dict[str, str], two_classes: Path, tmp_path: Path
) -> None:
    slow = ("--method", "pegasos", "--gap", "0", "--max-passes", "1e9", "--time-limit", "1.5")
    found = ended("fit", two_classes, *slow, **forced)
    assert (found.returncode, found.stderr) == (2, "")
    found = ended("stream", two_classes, **forced)
    assert (found.returncode, found.stderr) == (0, "")
    found = ended("inspect", two_classes, **forced)
    assert (found.returncode, found.stderr) == (0, "")
    convert = ended("convert", two_classes, tmp_path / "folder", **forced)
    assert len(convert.stderr.splitlines()) == 1
