"""svmlight rows with nothing unusual in them: small files need no compiled parser."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.types.text import NO_QID

_USUAL = b"0123456789+-.eE: \t\r\n"
_EXACT_DIGITS = 15


def parse_plain_rows(text: Any, offset: int, lowest: int, limit: int, dtype: Any) -> Any:
    """Labels, qids, row ends, indices and values of ``label index:value ...``, line by line.

    None where anything is unusual (comments, qids, what is no number): the compiled parser then
    says what it is.  ``offset`` is subtracted from indices, lowest <= index < limit.
    """
    raw = text.tobytes()
    if raw.translate(None, _USUAL):
        return None
    rows = [row for row in map(bytes.split, raw.split(b"\n")) if row]
    pairs = [pair.partition(b":") for row in rows for pair in row[1:]]
    columns = [column for column, _, _ in pairs]
    if not all(column.isdigit() and len(column) <= _EXACT_DIGITS for column in columns):
        return None
    try:
        labels = np.array([float(row[0]) for row in rows])
        numbers = np.array([float(number) for _, _, number in pairs])
    except ValueError:
        return None
    indices, counts = np.array(columns, dtype=np.int64), np.array([len(row) - 1 for row in rows])
    row_ends = np.cumsum(counts, dtype=np.int64)
    falls = indices[1:] <= indices[:-1]
    falls[row_ends[(row_ends > 0) & (row_ends < indices.size)] - 1] = False
    with np.errstate(over="ignore"):
        values = numbers.astype(dtype)
    sound = not falls.any() and np.isfinite(labels).all() and np.isfinite(values).all()
    if not sound or np.any((indices < lowest) | (indices >= limit)):
        return None
    return labels, np.full(len(rows), NO_QID), row_ends, indices - offset, values
