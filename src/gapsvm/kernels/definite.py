"""Whether a kernel matrix is what it has to be: finite, symmetric, without negative eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np

CHECKED_ROWS = 2000
"""Rows of a matrix that is looked at for negative eigenvalues."""
_ROWS_AT_A_TIME = 128


def check_matrix(K: Any) -> None:
    """Finite, and symmetric up to rounding."""
    for first in range(0, len(K), _ROWS_AT_A_TIME):
        some = slice(first, first + _ROWS_AT_A_TIME)
        values = K[some]
        if not np.isfinite(values).all():
            raise ValueError("the kernel matrix contains NaN or infinity")
        largest = float(np.max(np.abs(values), initial=0.0))
        rounding = 1e-5 if K.dtype == np.float32 else 1e-8
        if np.max(np.abs(values - K[:, some].T), initial=0.0) > rounding * largest:
            raise ValueError("the kernel matrix is not symmetric: K(a, b) and K(b, a) differ")


def is_definite(K: Any) -> bool | None:
    """Whether no eigenvalue is negative beyond rounding; None for a large matrix."""
    if len(K) > CHECKED_ROWS:
        return None
    if not len(K):
        return True
    size = float(np.abs(K.diagonal()).sum()) or float(np.abs(K).max())
    rounding = (1e-6 if K.dtype == np.float32 else 1e-12) * size
    shifted = np.array(K, dtype=np.float64)
    shifted = 0.5 * (shifted + shifted.T)
    shifted[np.diag_indices_from(shifted)] += rounding + 1e-300
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True
