"""Values of kernels for blocks of rows: products by BLAS or by sparse loops, then the kernel.

Whatever a value's row or column, and in whatever block it lies, the loops that finish it are the
same.  The exponential is written here, so that the compiler puts it into SIMD: it is exact to two
units in the last place, in float32 relative to 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as numba_types
from numba.extending import overload, register_jitable

from gapsvm.backends.numba.intrinsics import double_of_bits, single_of_bits, sparse_block_dots
from gapsvm.backends.numba.jit import kernel
from gapsvm.backends.numba.rows import REORDER
from gapsvm.types.matrices import CSR
from gapsvm.types.mercer import (
    OF_PRODUCTS,
    ChiSquared,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)

_INLINE = {"forceinline": True, "fastmath": {"contract", "nsz"}}
_F32 = np.float32
SPARSE_WIDTH = 32
"""Rows whose products with another row are made at once: the values of a feature in two registers
of 64 bytes each, in float32."""
_STRIP = 32

_LOG2E, _LN2_HIGH, _LN2_LOW = (
    1.4426950408889634,
    6.93147180369123816490e-01,
    1.90821492927058770e-10,
)
_C2, _C3, _C4, _C5, _C6, _C7, _C8 = 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040, 1 / 40320
_C9, _C10, _C11, _C12, _C13 = (
    1 / 362880,
    1 / 3628800,
    1 / 39916800,
    1 / 479001600,
    1 / 6227020800,
)


@register_jitable(**_INLINE)
def _exp_single(x):
    """e^x by a polynomial on |r| ≤ ln 2 / 2; x is kept within ±87."""
    x = min(max(x, _F32(-87.0)), _F32(87.0))
    k = np.rint(x * _F32(1.4426950408889634))
    r = x - k * _F32(0.693359375)
    r = r - k * _F32(-2.12194440e-4)
    p = _F32(1.9875691500e-4)
    p = p * r + _F32(1.3981999507e-3)
    p = p * r + _F32(8.3334519073e-3)
    p = p * r + _F32(4.1665795894e-2)
    p = p * r + _F32(1.6666665459e-1)
    p = p * r + _F32(5.0000001201e-1)
    p = p * (r * r) + r + _F32(1.0)
    return p * single_of_bits((np.int32(k) + np.int32(127)) << np.int32(23))


@register_jitable(**_INLINE)
def _exp_double(x):
    """The same by Taylor's series to the thirteenth power; x is kept within ±708."""
    x = min(max(x, -708.0), 708.0)
    k = np.rint(x * _LOG2E)
    r = x - k * _LN2_HIGH
    r = r - k * _LN2_LOW
    p = _C13
    for c in (_C12, _C11, _C10, _C9, _C8, _C7, _C6, _C5, _C4, _C3, _C2):
        p = p * r + c
    p = p * (r * r) + r + 1.0
    return p * double_of_bits((np.int64(k) + np.int64(1023)) << np.int64(52))


def fast_exp(x):
    """e^x in the precision of x."""


@overload(fast_exp, jit_options={"forceinline": True})
def _fast_exp(x):
    if x == numba_types.float32:
        return lambda x: _exp_single(x)
    return lambda x: _exp_double(x)


def finished(kernel_, product, square, other_square):
    """K of one pair of rows, from their product and squared norms; all of one precision."""


@overload(finished, jit_options=_INLINE)
def _finished(kernel_, product, square, other_square):
    kind = getattr(kernel_, "instance_class", None)
    if kind is Gaussian:

        def gaussian(kernel_, product, square, other_square):
            distance = square + other_square - (product + product)
            return fast_exp(-kernel_.gamma * max(distance, distance - distance))

        return gaussian
    if kind is Sigmoid:

        def sigmoid(kernel_, product, square, other_square):
            u = kernel_.gamma * product + kernel_.coef0
            e = fast_exp(u + u)
            return (e - e / e) / (e + e / e)

        return sigmoid

    def polynomial(kernel_, product, square, other_square):
        return (kernel_.gamma * product + kernel_.coef0) ** kernel_.degree

    return polynomial


@kernel
def finish_products(kernel_, squares, other_squares, out):
    """Turns products into values of the kernel.  Modified: out."""
    for i in range(out.shape[0]):
        row, square = out[i], squares[i]
        for j in range(row.size):
            row[j] = finished(kernel_, row[j], square, other_squares[j])


@kernel
def sparse_products(X, Y, table, strip, out):
    """out[i, j] = ⟨x_i, y_j⟩ for at most ``SPARSE_WIDTH`` CSR rows of X.

    ``table`` has SPARSE_WIDTH numbers a feature and is zero before and after; ``strip`` is scratch:
    SPARSE_WIDTH numbers for each of some columns, which then go to ``out`` together, since its rows
    lie far apart.  Modified: table, strip, out.
    """
    width = np.uint64(SPARSE_WIDTH)
    n, total, at_once = X.indptr.size - 1, Y.indptr.size - 1, strip.shape[0]
    for i in range(n):
        for k in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            table[np.uint64(X.indices[k]) * width + np.uint64(i)] = X.data[k]
    for start in range(0, total, at_once):
        count = min(at_once, total - start)
        for j in range(count):
            first, last = np.uint64(Y.indptr[start + j]), np.uint64(Y.indptr[start + j + 1])
            sparse_block_dots(Y.data, Y.indices, table, strip[j], first, last)
        for i in range(n):
            row = out[i]
            for j in range(count):
                row[start + j] = strip[j, i]
    for i in range(n):
        for k in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            table[np.uint64(X.indices[k]) * width + np.uint64(i)] = 0.0


@register_jitable(**REORDER)
def _city_block(a, b):
    total = a[0] - a[0]
    for k in range(a.size):
        total += abs(a[k] - b[k])
    return total


@register_jitable(**REORDER)
def _chi_squares(a, b):
    total = a[0] - a[0]
    for k in range(a.size):
        both = a[k] + b[k]
        difference = a[k] - b[k]
        total += difference * difference / (both if both > 0.0 else both + 1)
    return total


@kernel
def city_block_distances(A, B, out):
    """out[i, j] = Σ|a_i − b_j| over the features.  Modified: out."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = _city_block(A[i], B[j])


@kernel
def chi_square_distances(A, B, out):
    """out[i, j] = Σ (a_i − b_j)²/(a_i + b_j) over the features.  Modified: out."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = _chi_squares(A[i], B[j])


@kernel
def exponentials(gamma, out):
    """out = e^(−γ·out).  Modified: out."""
    for i in range(out.shape[0]):
        row = out[i]
        for j in range(row.size):
            row[j] = fast_exp(-gamma * row[j])


def kernel_block(kernel_: Any, A: Any, B: Any, squares: Any, other_squares: Any, out: Any) -> None:
    """out[i, j] = K(a_i, b_j), in the precision of ``out``; A and B are of one layout.

    Dense rows and squared norms have that precision already; CSR rows may have any.
    """
    single = out.dtype.type
    if not isinstance(kernel_, OF_PRODUCTS):
        _by_coordinates(kernel_, A.values, B.values, out)
        return
    if isinstance(A, CSR):
        _sparse_products(A, B, out)
    else:
        np.matmul(A.values, B.values.T, out=out)
    if isinstance(kernel_, Polynomial):
        _raise_to(kernel_, out)
    elif not isinstance(kernel_, Linear):
        numbers = type(kernel_)(*map(single, kernel_))
        finish_products(numbers, squares, other_squares, out)


def _raise_to(kernel_: Polynomial, out: Any) -> None:
    """Powers by products: a multiplication is an instruction, a power a function."""
    out *= out.dtype.type(kernel_.gamma)
    out += out.dtype.type(kernel_.coef0)
    if kernel_.degree == 2:
        np.multiply(out, out, out=out)
    elif kernel_.degree == 3:
        out *= out * out
    elif kernel_.degree != 1:
        np.power(out, kernel_.degree, out=out)


def _by_coordinates(kernel_: Laplacian | ChiSquared, A: Any, B: Any, out: Any) -> None:
    distances = city_block_distances if isinstance(kernel_, Laplacian) else chi_square_distances
    if A.shape[1]:
        distances(A, B, out)
    else:
        out.fill(0)
    exponentials(out.dtype.type(kernel_.gamma), out)


def _sparse_products(A: CSR, B: CSR, out: Any) -> None:
    """In groups of rows of A, whose values lie feature by feature."""
    n = A.indptr.size - 1
    width = 1 + max(int(M.indices.max(initial=0)) for M in (A, B))
    table = np.zeros(width * SPARSE_WIDTH, out.dtype)
    strip = np.empty((_STRIP, SPARSE_WIDTH), out.dtype)
    for first in range(0, n, SPARSE_WIDTH):
        rows = A._replace(indptr=A.indptr[first : min(first + SPARSE_WIDTH, n) + 1])
        sparse_products(rows, B, table, strip, out[first : first + SPARSE_WIDTH])
