"""What the pages of the documentation show, measured anew: ``python docs/transcripts.py [PAGE]``.

Every Python block of a page runs, in order, and every command of its terminal sessions; what they
print takes the place of the ``text`` block behind them and of the lines below each command.  A
Python block with the name of a file beside its language is written there, and can be imported.  A
page is one program, begun in an empty folder.  What differs in nothing but times stays as it is,
and ``tests/test_docs.py`` asks that nothing else differs.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from gapsvm.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(r"^```(python|text|console)(?: (\w+\.py))?\n(.*?)^```$", re.M | re.S)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)
_CODE = "echo $?"
_TERMINAL = {"COLUMNS": "110", "TERM": "dumb", "MPLBACKEND": "Agg"}
_HIDDEN = ("GAPSVM_DATA", "FORCE_COLOR", "TTY_COMPATIBLE", "LINES")


def measured(page: Path) -> str:
    """The page with everything that it shows printed anew."""
    names = _granted(page)
    printed = ""

    def anew(block: re.Match[str]) -> str:
        nonlocal printed
        language, file, text = block.groups()
        if file:
            Path(file).write_text(text)
            return block[0]
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(text, page.name, "exec"), names)
            printed = out.getvalue()
        elif language == "text":
            text = text if alike(text, printed) else printed
        else:
            text = _session(text)
        return f"```{language}\n{text}```"

    with _empty_folder():
        return _BLOCK.sub(anew, page.read_text())


def _granted(page: Path) -> dict[str, Any]:
    """What a page takes for granted."""
    if page.name != "README.md":
        return {}
    from sklearn.datasets import make_classification

    X, y = make_classification(200, 5, random_state=0)
    return {"X": X, "y": y}


@contextlib.contextmanager
def _empty_folder() -> Iterator[None]:
    """A folder, a terminal, no data but what the page makes, for as long as it takes.

    One core, since several add numbers in another order.
    """
    before, modules, path = dict(os.environ), set(sys.modules), list(sys.path)
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    os.environ.update(_TERMINAL)
    for name in _HIDDEN:
        os.environ.pop(name, None)
    empty = ""
    try:
        if cores:
            os.sched_setaffinity(0, {min(cores)})
        with tempfile.TemporaryDirectory() as empty, contextlib.chdir(empty):
            sys.path.insert(0, empty)
            importlib.invalidate_caches()
            yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", None)).startswith(empty):
                del sys.modules[name]
        if cores:
            os.sched_setaffinity(0, cores)
        os.environ.clear()
        os.environ.update(before)


# -- terminal sessions -----------------------------------------------------------------------------


def _session(text: str) -> str:
    """The commands of a terminal session, each with what it prints.

    A code other than 0 must be asked for by the next command.
    """
    steps = _COMMAND.findall(text)
    lines: list[str] = []
    code = 0
    for (command, before), (following, _) in zip(steps, [*steps[1:], ("", "")]):
        if command == _CODE:
            said = f"{code}\n"
        else:
            code, said = _run(command)
        if code and _CODE not in (command, following):
            raise SystemExit(f"{command}: exit code {code}, not asked for by {_CODE}\n{said}")
        lines += [f"$ {command}\n", before if alike(before, said) else said]
    return "".join(lines)


class _Screen(io.TextIOBase):
    """One of the two outputs, both of which add to the same lines."""

    encoding = "utf-8"

    def __init__(self, written: list[str], *, terminal: bool) -> None:
        self.written, self.terminal = written, terminal

    def write(self, text: str) -> int:
        self.written.append(text)
        return len(text)

    def isatty(self) -> bool:
        return self.terminal


def _run(command: str) -> tuple[int, str]:
    """Exit code and output as on a terminal, but without bars of progress."""
    program, *arguments = shlex.split(command)
    if program != "gapsvm":
        raise SystemExit(f"{command}: a session runs gapsvm and nothing else")
    written: list[str] = []
    out, err = _Screen(written, terminal=True), _Screen(written, terminal=False)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, "".join(f"{line.rstrip()}\n" for line in "".join(written).splitlines())


# -- what is the same ------------------------------------------------------------------------------

_TIME = re.compile(r"\b\d+(\.\d+)? s\b|(?<=seconds\": )[-+.e\d]+")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def alike(one: str, other: str) -> bool:
    """Whether two outputs differ in nothing but times and what a processor's rounding decides.

    The seed fixes the digits on one kind of processor.  Others add in another order: fractions
    may differ by one unit of their last place, or of their seventh, and a fit may end a little
    sooner or later: numbers of passes by a tenth, gaps (with an exponent) by a factor of four.
    """
    one, other = _TIME.sub("time", one), _TIME.sub("time", other)
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    return all(map(_equal, _NUMBER.findall(one), _NUMBER.findall(other)))


def _equal(one: str, other: str) -> bool:
    if one == other:
        return True
    a, b = (Decimal(text.replace(",", "")) for text in (one, other))
    places = max(int(a.as_tuple().exponent), int(b.as_tuple().exponent))
    if places >= 0:  # a count
        return False
    least, most = sorted((abs(a), abs(b)))
    if "e" in one and "e" in other:
        return most <= 4 * least
    share = Decimal("0.1" if places == -1 else "1e-6")
    return abs(a - b) <= max(Decimal(1).scaleb(places), share * most)


if __name__ == "__main__":
    for page in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        text = page.read_text()
        anew = measured(page)
        if anew != text:
            page.write_text(anew)
        print(page.relative_to(ROOT), "written" if anew != text else "as it was")
