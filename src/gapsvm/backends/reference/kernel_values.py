"""Kernel values."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.types.matrices import CSR
from gapsvm.types.mercer import OF_PRODUCTS


def _dense(X: Any, width: int) -> Any:
    if not isinstance(X, CSR):
        return X.values.astype(np.float64)
    out = np.zeros((len(X.indptr) - 1, width))
    for i in range(len(out)):
        inside = slice(int(X.indptr[i]), int(X.indptr[i + 1]))
        np.add.at(out[i], X.indices[inside].astype(np.int64), X.data[inside])
    return out


def kernel_block(kernel_: Any, A: Any, B: Any, squares: Any, other_squares: Any, out: Any) -> None:
    """out[i, j] = K(a_i, b_j)."""
    sparse = isinstance(A, CSR)
    width = 1 + max(int(M.indices.max(initial=0)) for M in (A, B)) if sparse else 0
    A, B = _dense(A, width), _dense(B, width)
    if isinstance(kernel_, OF_PRODUCTS):
        out[...] = kernel_.of_products(A @ B.T, (A * A).sum(1), (B * B).sum(1))
    else:
        out[...] = kernel_.of_rows(A, B)
