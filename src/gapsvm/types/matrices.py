"""What compiled loops read rows from; loops are overloaded on these types."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Dense(NamedTuple):
    """A dense matrix, row by row."""

    values: np.ndarray


class CSR(NamedTuple):
    """Compressed sparse rows.

    ``indices`` and ``indptr`` are unsigned views of the user's arrays: Numba then leaves out the
    test for a negative index, which is worth a factor of two to six.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
