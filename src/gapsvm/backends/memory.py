"""Arrays of the backends that compute on the processor: where they begin, and on what pages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapsvm.types.tables import COLUMNS

_LINE = 64
"""Bytes of a cache line."""


def empty(shape: int | tuple[int, ...], dtype: Any = np.float64) -> Any:
    """Room in C order that begins at a cache line: NumPy's large arrays begin in the middle."""
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    item = np.dtype(dtype).itemsize
    room = np.empty(size + _LINE // item, dtype=dtype)
    first = -room.ctypes.data % _LINE // item
    return room[first : first + size].reshape(shape)


def zeros(shape: int | tuple[int, ...], dtype: Any = np.float64) -> Any:
    """Like ``np.zeros``, for which NumPy does not ask for huge pages as ``np.empty`` does."""
    array = empty(shape, dtype)
    array.fill(0)
    return array


def row_table(n_rows: int) -> Any:
    """The columns of ``gapsvm.types.tables``: half a cache line a row, and never parts of two."""
    return zeros((n_rows, COLUMNS))


def place(array: Any) -> Any:
    """An array of NumPy's where the loops of the backend read it: here it is there already."""
    return array
