"""One look at all rows: checking them, their margins, their part of P and D."""

from __future__ import annotations

import numpy as np

from gapsvm.backends.cpu.jit import kernel
from gapsvm.backends.cpu.losses import value_and_conjugate
from gapsvm.backends.cpu.rows import row_axpy, row_dot, row_sq_norm


@kernel
def sq_norms(X, out):
    """out_i = ‖x_i‖² in float64."""
    for i in range(out.size):
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
    if size == 0:
        return 0
    largest = indices[0]
    falls = 0  # over all neighbours, those across two rows included, which are then taken off
    for k in range(1, size):
        largest = max(largest, indices[k])
        falls += indices[k] <= indices[k - 1]
    if largest >= n_features:
        return 2
    for i in range(1, n):
        k = np.uint64(indptr[i])
        if indptr[i + 1] > k and k > 0:
            falls -= indices[k] <= indices[k - np.uint64(1)]
    return 3 if falls > 0 else 0


@kernel
def margins(X, w, out):
    """out_i = ⟨x_i, w⟩."""
    for i in range(out.size):
        out[i] = row_dot(X, i, w)


@kernel
def combination(X, coef, out):
    """out += Σ coef_i x_i.  Modified in place: out."""
    for i in range(coef.size):
        if coef[i] != 0.0:
            row_axpy(X, i, coef[i], out)


@kernel
def evaluate(X, loss, w, bias, alpha, sign, t, weight, scale, margins, combination):
    """Everything a certificate needs, each row read from memory once.

    Given     sign, t and weight: arrays of n numbers, or of one that holds for all rows.
    Modified  margins_i = ⟨x_i, w⟩, combination += Σ c_i α_i x_i with c_i = scale·sign_i·weight_i.
    Returns   Σ s_i φ(z_i) at z_i = σ_i(margins_i + bias), Σ s_i φ*(−α_i) and Σ c_i α_i; sums are
              taken in blocks, so that their rounding error does not grow with n.
    """
    n = alpha.size
    signs, ts, weights = min(sign.size, 2) - 1, min(t.size, 2) - 1, min(weight.size, 2) - 1
    primal = dual = mass = 0.0
    for first in range(0, n, 256):
        p = d = m = 0.0
        for i in range(first, min(first + 256, n)):
            si, ti, wi = sign[i * signs], t[i * ts], weight[i * weights]
            margins[i] = row_dot(X, i, w)
            z = si * (margins[i] + bias)
            value, conjugate = value_and_conjugate(loss, z, alpha[i], ti)
            p += wi * value
            d += wi * conjugate
        # The rows again while they are in cache: two wide vectors at a time would not be.
        for i in range(first, min(first + 256, n)):
            c = scale * sign[i * signs] * weight[i * weights] * alpha[i]
            if c != 0.0:
                row_axpy(X, i, c, combination)
                m += c
        primal += p
        dual += d
        mass += m
    return primal, dual, mass


@kernel
def loss_sum(loss, margins, bias, sign, t, weight):
    """Σ s_i φ(z_i) at z_i = σ_i(margins_i + bias); sums in blocks as above."""
    n = margins.size
    signs, ts, weights = min(sign.size, 2) - 1, min(t.size, 2) - 1, min(weight.size, 2) - 1
    total = 0.0
    for first in range(0, n, 256):
        part = 0.0
        for i in range(first, min(first + 256, n)):
            z = sign[i * signs] * (margins[i] + bias)
            value, _ = value_and_conjugate(loss, z, 0.0, t[i * ts])
            part += weight[i * weights] * value
        total += part
    return total
