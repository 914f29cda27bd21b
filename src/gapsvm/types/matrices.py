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


class CoefficientRows(NamedTuple):
    """Some rows of K, for loops whose vector w holds the coefficients v of f = Σ v_j K(x_j, ·).

    ⟨x_i, w⟩ is f(x_i) = Σ_j K_ij v_j, and w += s·x_i is v_i += s.  Columns that are not there
    belong to coefficients that are zero.
    """

    values: np.ndarray
    """Rows × columns."""
    place: np.ndarray
    """Which line of ``values`` row i is; of all rows that a loop visits."""
    columns: np.ndarray
    """Which row each column belongs to."""
    diagonal: np.ndarray
    """K_ii of all rows."""


class MarginRows(NamedTuple):
    """K among some rows, for loops whose vector w holds the margins m = Kv of all rows.

    ⟨x_i, w⟩ is m_i, and w += s·x_i adds s·K_ij to the margins of the rows that are here; whoever
    calls the loop sees to the others.
    """

    values: np.ndarray
    """Square."""
    place: np.ndarray
    columns: np.ndarray


KernelViews = (CoefficientRows, MarginRows)
