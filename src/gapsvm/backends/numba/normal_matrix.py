"""Xᵀ diag(ω) X, where the time of the interior point goes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from gapsvm.backends.numba.jit import kernel
from gapsvm.types.matrices import CSR, Dense

_ROWS = 2048  # rows scaled at a time: 2048 × d doubles stay near the cache
_DENSE_ENOUGH = 0.5  # above this share of nonzeros BLAS on expanded rows wins over scatter


@kernel
def _scatter(X, omega, first, stop, out):
    """out += Σ_i ω_i x_i x_iᵀ over CSR rows first ≤ i < stop, lower triangle only.

    Needs indices that increase within a row.  Modified in place: out.
    """
    for i in range(first, stop):
        if omega[i] == 0.0:
            continue
        begin, end = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
        for k in range(begin, end):
            row = out[X.indices[k]]
            scaled = omega[i] * X.data[k]
            for m in range(begin, k + np.uint64(1)):
                row[X.indices[m]] += scaled * X.data[m]


@kernel
def _expand(X, omega, first, stop, out):
    """out = rows first ≤ i < stop of diag(√ω)·X, all values written out.  Modified: out."""
    out[:] = 0.0
    for i in range(first, stop):
        root = np.sqrt(omega[i])
        for k in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            out[i - first, X.indices[k]] = root * X.data[k]


def normal_matrix(X: Dense | CSR, omega: Any, n_features: int) -> Any:
    """Xᵀ diag(ω) X in float64, ω ≥ 0; the upper triangle repeats the lower."""
    n = omega.size
    if isinstance(X, CSR) and X.indptr[n] - X.indptr[0] < _DENSE_ENOUGH * n * n_features:
        out = np.zeros((n_features, n_features))
        _scatter(X, omega, 0, n, out)
    else:
        upper = np.zeros((n_features, n_features), order="F")
        some = np.empty((min(n, _ROWS), n_features))
        for first in range(0, n, _ROWS):
            stop = min(first + _ROWS, n)
            some = some[: stop - first]
            if isinstance(X, CSR):
                _expand(X, omega, first, stop, some)
            else:
                np.multiply(X.values[first:stop], np.sqrt(omega[first:stop, None]), out=some)
            upper = dsyrk(1.0, some.T, beta=1.0, c=upper, overwrite_c=True)
        out = upper.T
    return np.tril(out) + np.tril(out, -1).T
