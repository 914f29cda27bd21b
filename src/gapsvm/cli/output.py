"""What the commands say: sentences and tables, to a person or to a program.

On a terminal a table is padded, rounded and wrapped; anywhere else its cells stand between tabs,
numbers with all of their digits.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gapsvm.cli import layout
from gapsvm.cli.streams import is_closed, is_terminal, spelled, write_out


class Number(NamedTuple):
    """A number, and how a person wants to see it."""

    value: Any
    shown: str


Cell = str | Number


def say(sentence: str, *, error: bool = False) -> None:
    """A line of its own on standard output, or on standard error."""
    if error:
        print(spelled(sentence, sys.stderr), file=sys.stderr, flush=True)
    else:
        write_out(_coloured(spelled(sentence, sys.stdout)) + "\n")


def note(sentences: Iterable[str]) -> None:
    """What one should know but need not act on, on standard error."""
    for sentence in sentences:
        say(f"gapsvm: note: {' '.join(sentence.split())}", error=True)


def show_facts(rows: Iterable[Sequence[Cell]]) -> None:
    """A table of names, values and remarks."""
    kept = [list(row) for row in rows]
    if is_terminal(sys.stdout):
        _show(layout.facts(_shown(kept), _terminal_width()))
    else:
        _show(_plain(kept))


def show_columns(
    names: Sequence[str], titles: Sequence[str], rows: Iterable[Sequence[Cell]]
) -> None:
    """A table of numbers below titles, or for a program below names."""
    kept = [list(row) for row in rows]
    if is_terminal(sys.stdout):
        head = [spelled(title, sys.stdout) for title in titles]
        _show(layout.columns(head, _shown(kept), _terminal_width()))
    else:
        _show(_plain([list(names), *kept]))


def print_json(found: dict[str, Any]) -> None:
    """One object on standard output."""
    write_out(json.dumps(found) + "\n")


def print_data(text: str) -> None:
    """Data on standard output: what its encoding does not hold is escaped, never spelled."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    write_out(text.encode(encoding, "backslashreplace").decode(encoding))


def require_output(instead: str) -> None:
    """Raise a ValueError if standard output, where the result would go, is closed."""
    if is_closed("stdout"):
        raise ValueError(f"standard output is closed, and the result goes there; {instead}")


def progress(*columns: Any) -> Any:
    """A bar of rich with such columns on standard error; nothing where that is no terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(file=sys.stderr)
    return Progress(*columns, console=console, disable=not is_terminal(sys.stderr))


def _shown(rows: list[list[Cell]]) -> list[list[str]]:
    return [
        [spelled(c.shown if isinstance(c, Number) else c, sys.stdout) for c in row] for row in rows
    ]


def _plain(rows: list[list[Cell]]) -> list[str]:
    """Cells between tabs, each line of a cell as one of its own; none holds a tab."""

    def exact(cell: Cell) -> list[str]:
        text = str(cell.value) if isinstance(cell, Number) else cell
        return [" ".join(line.split()) for line in text.split("\n")]

    return ["\t".join(part for cell in row for part in exact(cell)).rstrip("\t") for row in rows]


def _show(lines: list[str]) -> None:
    if is_terminal(sys.stdout):
        lines = [_coloured(line) for line in lines]
    write_out("".join(f"{line}\n" for line in lines))


def _terminal_width() -> int:
    return shutil.get_terminal_size().columns


def _coloured(line: str) -> str:
    """With numbers and paths in colours, where the terminal has some."""
    if not is_terminal(sys.stdout):
        return line
    from rich.console import Console

    console = Console(file=sys.stdout)
    if console.color_system is None:
        return line
    with console.capture() as captured:
        console.print(line, markup=False, emoji=False, soft_wrap=True, end="")
    return captured.get()
