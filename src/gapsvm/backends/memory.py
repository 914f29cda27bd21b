"""Arrays that are read at random: where they begin, and on what pages they lie."""

from __future__ import annotations

from typing import Any

import numpy as np

_LINE = 64
"""Bytes of a cache line."""


def zeros(size: int, dtype: Any = np.float64) -> Any:
    """Like ``np.zeros``, for which NumPy does not ask for huge pages as ``np.empty`` does.

    It begins at a cache line: NumPy's large arrays begin in the middle of one.
    """
    item = np.dtype(dtype).itemsize
    room = np.empty(size + _LINE // item, dtype=dtype)
    first = -room.ctypes.data % _LINE // item
    array = room[first : first + size]
    array.fill(0)
    return array


def row_table(n_rows: int) -> Any:
    """Four numbers a row, row after row: half a cache line each, and never parts of two."""
    return zeros(4 * n_rows)
