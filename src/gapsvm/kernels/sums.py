"""Σ coef_i K(v_i, x) for many x: what a kernel machine predicts with, in bounded memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.kernels.rows import part_of, sections
from gapsvm.rows.matrix import Rows
from gapsvm.types.mercer import OF_PRODUCTS

_VECTORS, _ROWS, _SPARSE_ROWS = 128, 512, 4096
"""A tile in float64 that stays in the second-level cache; of sparse rows, one that is worth the
spreading of its vectors."""


def kernel_sums(kernel: Any, vectors: Rows, coef: Any, X: Rows, backend: Backend) -> Any:
    """out[j, l] = Σ_i coef[l, i]·K(v_i, x_j), in float64, all threads at work on rows of X.

    Rows and vectors are of one layout, dense or CSR, and of as many features.
    """
    spread = not isinstance(kernel, OF_PRODUCTS)
    out = np.zeros((X.shape[0], len(coef)))
    many = X.is_sparse and not spread

    def part(rows: slice) -> None:
        of_rows = part_of(X, rows, np.float64, spread=spread)
        for group in sections(vectors.shape[0], _VECTORS):
            of_vectors = part_of(vectors, group, np.float64, spread=spread)
            tile = np.empty((of_vectors.size, of_rows.size))
            backend.kernel_block(
                kernel, of_vectors.view, of_rows.view, of_vectors.squares, of_rows.squares, tile
            )
            out[rows] += tile.T @ coef[:, group].T

    backend.map(part, list(sections(X.shape[0], _SPARSE_ROWS if many else _ROWS)))
    return out
