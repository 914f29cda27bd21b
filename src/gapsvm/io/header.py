"""Whether the first line of a text table holds names or is a row already."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO

_SAMPLE = 1 << 20  # bytes
_LINE_LIMIT = 1 << 24
_MISSING = {"", "-", "?", "na", "n/a", "nan", "none", "null"}
_COUNTED = 3
"""So many cells 0, 1, 2, … are as pandas names columns without names."""


class TableError(ValueError):
    """A table that cannot be rows and labels; the message names the file and the column."""


def has_names(
    path: Path,
    file: IO[bytes],
    separator: str,
    label: str | int | None = None,
    known: Sequence[str] = (),
) -> bool:
    """Whether the text of a table begins with a line of names; ``path`` is for errors.

    Features are numbers, so a first line with a text above numbers (or a number above texts) holds
    names, and one with numbers, and with a label that occurs again below it, is a row.  ``label``,
    if it is a name, must be one of them, and a line with ``known`` names holds names.

    Raises
    ------
    TableError
        A ValueError: it may be either.
    """
    if isinstance(label, str):
        return True
    lines = _sample(path, file, separator)
    if not lines:
        return True
    first = lines[0]
    held = set(known) & set(first)
    if held and (held == set(known) or any(_kind(name) == "text" for name in held)):
        return True
    columns = list(zip(*(line for line in lines[1:] if len(line) == len(first))))
    if not columns:
        return any(_kind(cell) == "text" for cell in first)
    repeated = 0
    for cell, below in zip(first, columns):
        kinds = {_kind(other) for other in below} - {"missing"}
        kind = _kind(cell)
        if kind != "missing" and kinds and kind not in kinds:
            return True
        repeated += kind == "text" and cell in below
    texts = [cell for cell in first if _kind(cell) == "text"]
    counted = len(first) >= _COUNTED and first == [str(k) for k in range(len(first))]
    if (texts and not repeated and len(texts) < len(first)) or counted:
        shown = separator.join(first)[:60]
        raise TableError(
            f"{path}: its first line, {shown}, may hold names or be a row; say which by --header "
            "or --no-header (in Python by header=True or False)"
        )
    return bool(texts) and not repeated


def _kind(cell: str) -> str:
    if cell.casefold() in _MISSING:
        return "missing"
    try:
        float(cell)
    except ValueError:
        return "text"
    return "text" if "_" in cell else "number"  # 1_000 is a liberty of Python's float


def _sample(path: Path, file: IO[bytes], separator: str) -> list[list[str]]:
    """The cells of the first lines, without blanks around them."""
    content = file.readline(_LINE_LIMIT) + file.read(_SAMPLE)
    ended = not file.read(1)
    text = content.decode("utf-8-sig", errors="replace")
    lines = list(io.StringIO(text, newline=None))
    whole = lines if ended or len(lines) < 2 else lines[:-1]
    limit = csv.field_size_limit(_LINE_LIMIT)
    try:
        reader = csv.reader(whole, delimiter=separator)
        return [[cell.strip() for cell in line] for line in reader if line]
    except csv.Error as error:
        raise TableError(f"{path} cannot be read: {error}") from error
    finally:
        csv.field_size_limit(limit)
