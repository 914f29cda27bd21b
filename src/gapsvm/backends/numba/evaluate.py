"""One look at all rows: their norms, their margins, their part of P and D.

Rows are numbered by unsigned integers everywhere: a signed number is checked for wrap-around,
and a second type of number would compile every function of ``rows`` once more.
"""

from __future__ import annotations

import numpy as np

from gapsvm.backends.numba.curves import value_and_conjugate
from gapsvm.backends.numba.jit import kernel
from gapsvm.backends.numba.rows import row_axpy, row_dot, row_sq_norm

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_ROWS = np.uint64(256)  # rows whose parts are summed apart


@kernel
def sq_norms(X, out):
    """out_i = ‖x_i‖² in float64."""
    for i in range(np.uint64(out.size)):
        out[i] = row_sq_norm(X, i)


@kernel
def column_order(columns, starts):
    """The largest column of CSR rows, and how many values do not lie beyond the one before them.

    Reads columns as data: rows whose pointers ``starts`` are sound may have any.
    """
    largest, falls = columns[0], 0
    for k in range(1, columns.size):  # one long loop, neighbours across two rows included, ...
        largest = columns[k] if columns[k] > largest else largest
        falls += columns[k] <= columns[k - 1]
    for i in range(1, starts.size - 1):  # ... which are taken off again
        k = np.uint64(starts[i])
        if _ZERO < k < starts[i + 1]:
            falls -= columns[k] <= columns[k - _ONE]
    return largest, falls


@kernel
def margins(X, w, out):
    """out_i = ⟨x_i, w⟩."""
    for i in range(np.uint64(out.size)):
        out[i] = row_dot(X, i, w)


@kernel
def combination(X, coef, out):
    """out += Σ coef_i x_i.  Modified in place: out."""
    for i in range(np.uint64(coef.size)):
        if coef[i] != 0.0:
            row_axpy(X, i, coef[i], out)


@kernel
def normal_product(X, v, scale, out):
    """out += Σ scale_i ⟨x_i, v⟩ x_i, each row read from memory once.

    Given     scale: an array of n numbers, or of one that holds for all rows.
    Modified  out: Xᵀ diag(scale) X v is added.
    """
    n = np.uint64(X[-1].shape[0]) - np.uint64(len(X) > 1)  # CSR: one pointer more than rows
    scales = np.uint64(scale.size > 1)
    for i in range(n):
        c = scale[i * scales] * row_dot(X, i, v)
        if c != 0.0:
            row_axpy(X, i, c, out)


@kernel
def evaluate(X, curve, w, bias, alpha, sign, t, weight, scale, margins, combination):
    """Everything a certificate needs, each row read from memory once.

    Given     sign, t and weight: arrays of n numbers, or of one that holds for all rows.
    Modified  margins_i = ⟨x_i, w⟩, combination += Σ c_i α_i x_i with c_i = scale·sign_i·weight_i.
    Returns   Σ s_i φ(z_i) at z_i = σ_i(margins_i + bias), Σ s_i φ*(−α_i) and Σ c_i α_i; sums are
              taken of some rows apart, so that their rounding error does not grow with n.
    """
    n = np.uint64(alpha.size)
    signs, ts, weights = np.uint64(sign.size > 1), np.uint64(t.size > 1), np.uint64(weight.size > 1)
    primal = dual = mass = 0.0
    for first in range(np.uint64(0), n, _ROWS):
        last = first + _ROWS if first + _ROWS < n else n
        p = d = m = 0.0
        for i in range(first, last):
            si, ti, wi = sign[i * signs], t[i * ts], weight[i * weights]
            margins[i] = row_dot(X, i, w)
            z = si * (margins[i] + bias)
            value, conjugate = value_and_conjugate(curve, z, alpha[i], ti)
            p += wi * value
            d += wi * conjugate
        # The rows again while they are in cache: two wide vectors at a time would not be.
        for i in range(first, last):
            c = scale * sign[i * signs] * weight[i * weights] * alpha[i]
            if c != 0.0:
                row_axpy(X, i, c, combination)
                m += c
        primal += p
        dual += d
        mass += m
    return primal, dual, mass
