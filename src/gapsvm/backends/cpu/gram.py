"""Xᵀ diag(ω) X, where the time of the interior point goes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from gapsvm.backends.cpu.jit import kernel
from gapsvm.data.matrix import CSR, Dense

_BLOCK = 2048  # rows scaled at a time: 2048 × d doubles stay near the cache
_DENSE_ENOUGH = 0.25  # above this share of nonzeros BLAS on expanded rows wins over scatter


@kernel
def _scatter_gram(X, omega, first, stop, out):
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


def _expand(X: CSR, first: int, stop: int, n_features: int) -> Any:
    block = np.zeros((stop - first, n_features))
    begin, end = int(X.indptr[first]), int(X.indptr[stop])
    counts = np.diff(X.indptr[first : stop + 1].astype(np.int64))
    block[np.repeat(np.arange(stop - first), counts), X.indices[begin:end]] = X.data[begin:end]
    return block


def weighted_gram(X: Dense | CSR, omega: Any, n_features: int) -> Any:
    """Xᵀ diag(ω) X in float64, ω ≥ 0; the upper triangle repeats the lower."""
    n = omega.size
    if isinstance(X, CSR) and X.data.size < _DENSE_ENOUGH * n * n_features:
        out = np.zeros((n_features, n_features))
        _scatter_gram(X, omega, 0, n, out)
    else:
        upper = np.zeros((n_features, n_features), order="F")
        for first in range(0, n, _BLOCK):
            stop = min(first + _BLOCK, n)
            if isinstance(X, CSR):
                block = _expand(X, first, stop, n_features)
                block *= np.sqrt(omega[first:stop, None])
            else:
                block = X.values[first:stop] * np.sqrt(omega[first:stop, None])
            upper = dsyrk(1.0, block.T, beta=1.0, c=upper, overwrite_c=True)
        out = upper.T
    return np.tril(out) + np.tril(out, -1).T
