"""Tables as lines of text of a given width: what is too wide is wrapped, and no number is cut."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

Rows = Sequence[Sequence[str]]

_GAP = 2
_ROOM = 24
"""A last column of fewer characters goes below its row instead."""


def facts(rows: Rows, width: int) -> list[str]:
    """Rows of names, values and remarks, aligned left; the last column is wrapped."""
    n = max(map(len, rows), default=0)
    rows = [[*row, *[""] * (n - len(row))] for row in rows]
    widths = [max(map(_cells, column)) for column in zip(*rows)][:-1]
    start = sum(widths) + _GAP * len(widths)
    lines: list[str] = []
    for row in rows:
        left = "".join(_padded(cell, w) + " " * _GAP for cell, w in zip(row, widths))
        if start + _cells(row[-1]) <= width or width - start >= _ROOM:
            first, *more = _wrapped(row[-1], width - start)
            lines += [left + first, *(" " * start + line for line in more)]
        else:
            below = _wrapped(row[-1], width - _GAP) if row[-1] else []
            lines += [left, *(" " * _GAP + line for line in below)]
    return [line.rstrip() for line in lines]


def columns(head: Sequence[str], rows: Rows, width: int) -> list[str]:
    """Columns of numbers below their names, aligned right.

    What does not fit beside the others follows below them, beside the first column once more.
    """
    cells = [[name, *column] for name, column in zip(head, zip(*rows))]
    widths = [max(map(_cells, column)) for column in cells]
    lines: list[str] = []
    taken = 1
    while True:
        last, used = taken, widths[0]
        while last < len(cells) and (last == taken or used + _GAP + widths[last] <= width):
            used += _GAP + widths[last]
            last += 1
        shown = [0, *range(taken, last)]
        for k in range(len(rows) + 1):
            parts = [" " * (widths[j] - _cells(cells[j][k])) + cells[j][k] for j in shown]
            lines.append((" " * _GAP).join(parts))
        taken = last
        if taken >= len(cells):
            return lines
        lines.append("")


def _cells(text: str) -> int:
    """Columns of a terminal that the widest line of a text takes."""
    return max(sum(map(_width, line)) for line in text.split("\n"))


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _cells(text))


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of words; a word that is longer than a line stays whole."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += textwrap.wrap(
            line, max(1, width), break_long_words=False, break_on_hyphens=False
        ) or [""]
    return lines
