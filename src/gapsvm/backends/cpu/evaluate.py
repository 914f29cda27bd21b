"""One look at all rows: checking them, their margins, their part of P and D."""

from __future__ import annotations

import numpy as np

from gapsvm.backends.cpu.jit import kernel
from gapsvm.backends.cpu.losses import conjugate, loss_value, maximiser
from gapsvm.backends.cpu.rows import n_rows, row_axpy, row_dot, row_sq_norm


@kernel
def sq_norms(X, out):
    """out_i = ‖x_i‖² in float64."""
    for i in range(n_rows(X)):
        out[i] = row_sq_norm(X, i)


@kernel
def check_structure(indices, indptr, n_features):
    """Whether a CSR structure can be read: nothing outside the arrays, no column twice in a row.

    Given    unsigned indices and indptr (a negative number is then a huge one).
    Returns  0 all is well; 1 indptr is wrong; 2 an index is out of range; 3 the indices of some
             row are not strictly increasing.
    """
    n, size = indptr.size - 1, indices.size
    if indptr[0] != 0 or indptr[n] != size:
        return 1
    monotone = True
    for i in range(n):
        monotone &= indptr[i] <= indptr[i + 1]
    if not monotone:
        return 1
    largest = np.uint64(0)
    falls = 0  # over all neighbours, those across two rows included, which are then taken off
    for k in range(size):
        largest = max(largest, np.uint64(indices[k]))
    for k in range(1, size):
        falls += indices[k] <= indices[k - 1]
    if size > 0 and largest >= np.uint64(n_features):
        return 2
    for i in range(1, n):
        k = np.uint64(indptr[i])
        if indptr[i + 1] > k and k > 0:
            falls -= indices[k] <= indices[k - np.uint64(1)]
    return 3 if falls > 0 else 0


@kernel
def margins(X, w, out):
    """out_i = ⟨x_i, w⟩."""
    for i in range(n_rows(X)):
        out[i] = row_dot(X, i, w)


@kernel
def margins_and_combination(X, w, coef, out, combination):
    """out_i = ⟨x_i, w⟩ and combination = Σ coef_i x_i, each row read once."""
    for i in range(n_rows(X)):
        out[i] = row_dot(X, i, w)
        if coef[i] != 0.0:
            row_axpy(X, i, coef[i], combination)


@kernel
def loss_sums(loss, m, bias, sign, t, weight, alpha):
    """Σ s_i φ_i(z_i), Σ s_i φ_i*(−α_i), Σ s_i σ_i a*(z_i) at z_i = σ_i(m_i + bias).

    sign, t and weight are arrays of n numbers, or of one that holds for all rows.  Sums are taken
    in blocks, so their rounding error does not grow with n.
    """
    n = m.size
    primal = dual = slope = 0.0
    for first in range(0, n, 256):
        p = d = g = 0.0
        for i in range(first, min(first + 256, n)):
            si = sign[i] if sign.size > 1 else sign[0]
            ti = t[i] if t.size > 1 else t[0]
            wi = weight[i] if weight.size > 1 else weight[0]
            z = si * (m[i] + bias)
            p += wi * loss_value(loss, z, ti)
            d += wi * conjugate(loss, alpha[i], ti)
            g += wi * si * maximiser(loss, z, ti)
        primal += p
        dual += d
        slope += g
    return primal, dual, slope
