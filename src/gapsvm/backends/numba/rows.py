"""What a kernel may do with a row: the same names for dense and CSR matrices.

``row_dot``, ``row_axpy``, ``row_sq_norm`` and ``prefetch_row`` are overloaded on the type of the
matrix, so every kernel is written once.  A row of a kernel matrix is one more type of row: its
vector of weights lives where K is known (``gapsvm.types.matrices``).
"""

# ruff: noqa: RET505 - an overload returns a different function on each branch
from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload, register_jitable

from gapsvm.backends.numba.intrinsics import prefetch, prefetch_second, sparse_axpy, sparse_dot
from gapsvm.types.matrices import CSR, CoefficientRows, MarginRows

_1 = np.uint64(1)  # a signed offset would be checked
_LINE, _REACH = np.uint64(16), np.uint64(512)  # values in a cache line; beyond, hardware follows
_INLINE = {"forceinline": True}  # a call would cost more than a short row
REORDER = {"fastmath": {"reassoc", "contract", "nsz"}}  # lets a dense sum use SIMD


@register_jitable(**REORDER)
def simd_dot(x, w):
    """⟨x, w⟩; BLAS would wake its threads for it."""
    total = 0.0
    for j in range(x.size):
        total += x[j] * w[j]
    return total


def _is_csr(X: Any) -> bool:
    return getattr(X, "instance_class", None) is CSR


def _is_coefficients(X: Any) -> bool:
    return getattr(X, "instance_class", None) is CoefficientRows


def _is_margins(X: Any) -> bool:
    return getattr(X, "instance_class", None) is MarginRows


@register_jitable(**REORDER)
def _sum_over_columns(row, columns, w):
    """Σ_j K_ij v_j."""
    total = 0.0
    for j in range(row.size):
        total += row[j] * w[columns[j]]
    return total


@register_jitable
def _add_to_columns(row, columns, scale, w):
    """m_j += scale·K_ij."""
    for j in range(row.size):
        w[columns[j]] += scale * row[j]


def row_dot(X, i, w):
    """⟨x_i, w⟩ in float64."""


def row_axpy(X, i, scale, w):
    """w += scale · x_i."""


def row_axpy_growth(X, i, scale, w):
    """w += scale · x_i; returns by how much ‖w‖² has grown (of a function f: ‖f‖²)."""


def row_clear(X, i, w):
    """w = 0 where x_i has values."""


def row_sq_norm(X, i):
    """‖x_i‖² in float64."""


def block_gram(X, rows, u, out):
    """out[j, k] = ⟨x_i, x_l⟩ for i = rows[j], l = rows[k]; u is zero before and after."""


def prefetch_row(X, far, mid, near):
    """Ask for where row ``far`` begins, for the ends of row ``mid``, for the inside of ``near``."""


@overload(row_dot, jit_options=_INLINE)
def _row_dot(X, i, w):
    if _is_csr(X):

        def csr(X, i, w):
            first, last = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
            return sparse_dot(X.data, X.indices, w, first, last)

        return csr
    elif _is_coefficients(X):
        return lambda X, i, w: _sum_over_columns(X.values[X.place[i]], X.columns, w)
    elif _is_margins(X):
        return lambda X, i, w: w[i]
    else:
        return lambda X, i, w: simd_dot(X.values[i], w)


@overload(row_axpy, jit_options=_INLINE)
def _row_axpy(X, i, scale, w):
    if _is_csr(X):

        def csr(X, i, scale, w):
            first, last = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
            sparse_axpy(X.data, X.indices, w, first, last, np.float64(scale))

        return csr
    elif _is_coefficients(X):

        def coefficients(X, i, scale, w):
            w[i] += scale

        return coefficients
    elif _is_margins(X):
        return lambda X, i, scale, w: _add_to_columns(X.values[X.place[i]], X.columns, scale, w)
    else:

        def dense(X, i, scale, w):
            x = X.values[i]
            for j in range(x.size):
                w[j] += scale * x[j]

        return dense


@overload(row_axpy_growth, jit_options=_INLINE | REORDER)
def _row_axpy_growth(X, i, scale, w):
    if _is_csr(X):

        def csr(X, i, scale, w):
            first, last = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
            return sparse_axpy(X.data, X.indices, w, first, last, np.float64(scale))

        return csr
    elif _is_coefficients(X):

        def coefficients(X, i, scale, w):
            growth = scale * (2.0 * row_dot(X, i, w) + scale * X.diagonal[i])
            w[i] += scale
            return growth

        return coefficients
    elif _is_margins(X):

        def margins(X, i, scale, w):
            growth = scale * (2.0 * w[i] + scale * X.values[X.place[i], X.place[i]])
            row_axpy(X, i, scale, w)
            return growth

        return margins
    else:

        def dense(X, i, scale, w):
            x = X.values[i]
            growth = 0.0
            for j in range(x.size):
                step = scale * x[j]
                growth += (2.0 * w[j] + step) * step
                w[j] += step
            return growth

        return dense


@overload(row_clear, jit_options=_INLINE)
def _row_clear(X, i, w):
    if _is_csr(X):

        def csr(X, i, w):
            for k in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                w[X.indices[k]] = 0.0

        return csr
    else:

        def dense(X, i, w):
            w[:] = 0.0

        return dense


@overload(block_gram)
def _block_gram(X, rows, u, out):
    if _is_csr(X):

        def csr(X, rows, u, out):
            for j in range(rows.size):
                i = np.uint64(rows[j])
                row_axpy(X, i, 1.0, u)
                for k in range(j + 1):
                    out[j, k] = out[k, j] = row_dot(X, np.uint64(rows[k]), u)
                row_clear(X, i, u)

        return csr
    elif _is_margins(X):

        def margins(X, rows, u, out):
            for j in range(rows.size):
                for k in range(rows.size):
                    out[j, k] = X.values[X.place[rows[j]], X.place[rows[k]]]

        return margins
    else:

        def dense(X, rows, u, out):
            block = X.values[rows]
            product = np.dot(block, block.T)
            for j in range(rows.size):
                for k in range(rows.size):
                    out[j, k] = product[j, k]

        return dense


@overload(row_sq_norm, jit_options=_INLINE | REORDER)
def _row_sq_norm(X, i):
    if _is_csr(X):

        def csr(X, i):
            total = 0.0
            for k in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                total += np.float64(X.data[k]) * np.float64(X.data[k])
            return total

        return csr
    else:

        def dense(X, i):
            x = X.values[i]
            total = 0.0
            for j in range(x.size):
                total += np.float64(x[j]) * np.float64(x[j])
            return total

        return dense


@overload(prefetch_row, jit_options=_INLINE)
def _prefetch_row(X, far, mid, near):
    if _is_csr(X):

        def csr(X, far, mid, near):
            prefetch(X.indptr, far)
            first, last = np.uint64(X.indptr[mid]), np.uint64(X.indptr[mid + 1]) - _1
            prefetch(X.data, first)
            prefetch(X.indices, first)
            prefetch(X.data, last)
            prefetch(X.indices, last)
            first, last = np.uint64(X.indptr[near]) + _LINE, np.uint64(X.indptr[near + 1])
            prefetch(X.data, first)
            prefetch(X.indices, first)
            if last > first + _REACH:
                last = first + _REACH
            for k in range(first + _LINE, last, _LINE):
                prefetch_second(X.data, k)
                prefetch_second(X.indices, k)

        return csr
    elif _is_coefficients(X) or _is_margins(X):
        return lambda X, far, mid, near: None
    else:

        def dense(X, far, mid, near):
            start, rest = X.values[mid], X.values[near]
            for j in range(0, min(start.size, 64), 8):
                prefetch(start, j)
            for j in range(64, min(rest.size, 512), 8):
                prefetch(rest, j)

        return dense
