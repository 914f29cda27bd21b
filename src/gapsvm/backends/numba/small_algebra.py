"""Linear algebra of small dense problems, rows feature by feature: products, the matrix of a step,
its factor.  No BLAS: its calls cost more than what they do here, and its threads spin."""

from __future__ import annotations

import math

from gapsvm.backends.numba.jit import summing_kernel


@summing_kernel
def small_margins(columns, w, sign, out):
    """out_i = σ_i(⟨x_i, w⟩ + b), b the last of w."""
    n, d = sign.size, columns.shape[0]
    for i in range(n):
        out[i] = w[d]
    whole = d - d % 4
    for j in range(0, whole, 4):
        w0, w1, w2, w3 = w[j], w[j + 1], w[j + 2], w[j + 3]
        x0, x1, x2, x3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        for i in range(n):
            out[i] += w0 * x0[i] + w1 * x1[i] + w2 * x2[i] + w3 * x3[i]
    for j in range(whole, d):
        wj, x = w[j], columns[j]
        for i in range(n):
            out[i] += wj * x[i]
    for i in range(n):
        out[i] *= sign[i]


@summing_kernel
def small_combination(columns, c, out):
    """out_j = Σ c_i x_ij."""
    n, d = c.size, columns.shape[0]
    whole = d - d % 4
    for j in range(0, whole, 4):
        x0, x1, x2, x3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        a0 = a1 = a2 = a3 = 0.0
        for i in range(n):
            a0 += c[i] * x0[i]
            a1 += c[i] * x1[i]
            a2 += c[i] * x2[i]
            a3 += c[i] * x3[i]
        out[j], out[j + 1], out[j + 2], out[j + 3] = a0, a1, a2, a3
    for j in range(whole, d):
        x, a = columns[j], 0.0
        for i in range(n):
            a += c[i] * x[i]
        out[j] = a


@summing_kernel
def _tile_products(tile, count, j, k, matrix):
    """Adds the products of features j … j + 3 and k … k + 3 over the rows of a tile."""
    a0, a1, a2, a3 = tile[j], tile[j + 1], tile[j + 2], tile[j + 3]
    b0, b1, b2, b3 = tile[k], tile[k + 1], tile[k + 2], tile[k + 3]
    c00 = c01 = c02 = c03 = c10 = c11 = c12 = c13 = 0.0
    c20 = c21 = c22 = c23 = c30 = c31 = c32 = c33 = 0.0
    for i in range(count):
        x0, x1, x2, x3 = a0[i], a1[i], a2[i], a3[i]
        y0, y1, y2, y3 = b0[i], b1[i], b2[i], b3[i]
        c00 += x0 * y0
        c01 += x0 * y1
        c02 += x0 * y2
        c03 += x0 * y3
        c10 += x1 * y0
        c11 += x1 * y1
        c12 += x1 * y2
        c13 += x1 * y3
        c20 += x2 * y0
        c21 += x2 * y1
        c22 += x2 * y2
        c23 += x2 * y3
        c30 += x3 * y0
        c31 += x3 * y1
        c32 += x3 * y2
        c33 += x3 * y3
    m0, m1, m2, m3 = matrix[j], matrix[j + 1], matrix[j + 2], matrix[j + 3]
    m0[k] += c00
    m0[k + 1] += c01
    m0[k + 2] += c02
    m0[k + 3] += c03
    m1[k] += c10
    m1[k + 1] += c11
    m1[k + 2] += c12
    m1[k + 3] += c13
    m2[k] += c20
    m2[k + 1] += c21
    m2[k + 2] += c22
    m2[k + 3] += c23
    m3[k] += c30
    m3[k + 1] += c31
    m3[k + 2] += c32
    m3[k + 3] += c33


@summing_kernel
def small_normal_matrix(columns, omega, mean, room):
    """room.matrix = Σ Ω_i (x_i − m)(x_i − m)ᵀ, lower triangle, by tiles of 4 × 4 in registers.

    Given     room.tile: as many features as the matrix has, a multiple of 4; those beyond d are 0.
    Modified  room.matrix, room.tile.
    """
    n, d, matrix, tile = omega.size, columns.shape[0], room.matrix, room.tile
    padded, block = tile.shape
    for j in range(padded):
        for k in range(padded):
            matrix[j, k] = 0.0
    for first in range(0, n, block):
        count = min(block, n - first)
        root = room.alpha
        for i in range(count):
            root[i] = math.sqrt(omega[first + i])
        for j in range(d):
            x, out, m = columns[j], tile[j], mean[j]
            for i in range(count):
                out[i] = root[i] * (x[first + i] - m)
        for j in range(0, padded, 4):
            for k in range(0, j + 4, 4):
                _tile_products(tile, count, j, k, matrix)


@summing_kernel
def cholesky(matrix, d, ridge):
    """The factor of matrix + ridge·I in its lower triangle, with 1/L_jj on the diagonal.

    Returns whether there is one.
    """
    for j in range(d):
        row = matrix[j]
        for k in range(j):
            other, left = matrix[k], row[k]
            for m in range(k):
                left -= row[m] * other[m]
            row[k] = left * other[k]
        left = row[j] + ridge
        for m in range(j):
            left -= row[m] * row[m]
        if not left > 0.0:
            return False
        row[j] = 1.0 / math.sqrt(left)
    return True


@summing_kernel
def cholesky_solve(factor, d, b):
    """b ← A⁻¹b, with the factor of ``cholesky``."""
    for j in range(d):
        row, left = factor[j], b[j]
        for m in range(j):
            left -= row[m] * b[m]
        b[j] = left * row[j]
    for j in range(d - 1, -1, -1):
        row = factor[j]
        left = b[j] * row[j]
        b[j] = left
        for m in range(j):
            b[m] -= row[m] * left


@summing_kernel
def small_step(rows, c, w, sigma, room, out):
    """(dw, db) of the equations whose right-hand sides are Σ c_i x_i − λS·w and Σ c_i.

    Given     room.matrix: factorised; room.mean, 0 where there is no bias.
    Modified  out: dw, and db in the last place.
    """
    d = rows.columns.shape[0]
    total = 0.0
    if rows.free:
        for i in range(c.size):
            total += c[i]
    small_combination(rows.columns, c, out)
    for j in range(d):
        out[j] -= total * room.mean[j] + rows.scale * w[j]
    cholesky_solve(room.matrix, d, out)
    out[d] = 0.0
    if rows.free:
        out[d] = total / sigma
        for j in range(d):
            out[d] -= room.mean[j] * out[j]


@summing_kernel
def small_mean(rows, omega, mean):
    """m = Σ Ω_i x_i/Σ Ω_i where there is a bias, else 0.  Returns Σ Ω_i."""
    sigma = 0.0
    for i in range(omega.size):
        sigma += omega[i]
    if rows.free:
        small_combination(rows.columns, omega, mean)
    for j in range(rows.columns.shape[0]):
        mean[j] = mean[j] / sigma if rows.free else 0.0
    return sigma
