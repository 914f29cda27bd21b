"""Several classes at once: scores, combinations and subgradient steps.

W is features × classes in C order, so that a feature touches contiguous memory; its last row
belongs to a feature of the same value ``constant`` in every row, the bias (0: there is none).
"""

# ruff: noqa: RET505 - an overload returns a different function on each branch
from __future__ import annotations

from math import exp

import numpy as np
from numba.extending import overload, register_jitable

from gapsvm.backends.numba.jit import kernel
from gapsvm.backends.numba.rows import _INLINE, REORDER, _is_coefficients, _is_csr
from gapsvm.types.steps import ClassRoom

_0, _1 = np.uint64(0), np.uint64(1)
_SMALL_SCALE, _SMALL_SHARE = 1e-9, 1e-150  # below, v and the average are written out


def row_span(X, i):
    """Where row i begins and ends, to be counted through."""


def row_entry(X, i, k):
    """Column and value at place k of row i."""


@overload(row_span, jit_options=_INLINE)
def _row_span(X, i):
    if _is_csr(X):
        return lambda X, i: (np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1]))
    elif _is_coefficients(X):
        return lambda X, i: (_0, np.uint64(X.columns.size))
    else:
        return lambda X, i: (_0, np.uint64(X.values.shape[1]))


@overload(row_entry, jit_options=_INLINE)
def _row_entry(X, i, k):
    if _is_csr(X):
        return lambda X, i, k: (np.uint64(X.indices[k]), np.float64(X.data[k]))
    elif _is_coefficients(X):
        return lambda X, i, k: (np.uint64(X.columns[k]), np.float64(X.values[X.place[i], k]))
    else:
        return lambda X, i, k: (k, np.float64(X.values[i, k]))


@register_jitable
def _row_scores(X, i, w, constant, out):
    """out_r = ⟨x_i, w_r⟩ + constant·(last row of w)."""
    classes, last = np.uint64(out.size), np.uint64(w.shape[0]) - _1
    for r in range(classes):
        out[r] = constant * w[last, r]
    begin, end = row_span(X, i)
    for k in range(begin, end):
        column, x = row_entry(X, i, k)
        for r in range(classes):
            out[r] += x * w[column, r]


@register_jitable
def _maximise(curve, z, y, scale):
    """z becomes a*(scale·z); returns the class that leads, y where it is one of them."""
    worst, top = y, scale * z[y]
    for r in range(np.uint64(z.size)):
        z[r] = scale * z[r] + curve.costs[y, r]
        if z[r] > top:
            worst, top = r, z[r]
    if curve.temperature > 0.0:
        total = 0.0
        for r in range(np.uint64(z.size)):
            z[r] = exp((z[r] - top) / curve.temperature)
            total += z[r]
        for r in range(np.uint64(z.size)):
            z[r] /= total
    else:
        for r in range(np.uint64(z.size)):
            z[r] = 1.0 if r == worst else 0.0
    return worst


@register_jitable(**REORDER)
def _push_feature(w, j, step, smooth, a, worst, y):
    """w_j += step·(e_y − a), two classes if a is one class; returns the growth of ‖w_j‖²."""
    if not smooth:
        growth = (2.0 * (w[j, y] - w[j, worst]) + 2.0 * step) * step
        w[j, y] += step
        w[j, worst] -= step
        return growth
    growth = 2.0 * w[j, y] * step + step * step
    w[j, y] += step
    for r in range(np.uint64(a.size)):
        g = -step * a[r]
        growth += (2.0 * w[j, r] + g) * g
        w[j, r] += g
    return growth


@register_jitable
def _class_score(X, i, w, r):
    """⟨x_i, w_r⟩, without the constant feature."""
    score = 0.0
    begin, end = row_span(X, i)
    for k in range(begin, end):
        column, x = row_entry(X, i, k)
        score += x * w[column, r]
    return score


def push_row(X, i, constant, step, smooth, a, worst, y, w):
    """w += step·x_i(e_y − a)ᵀ; returns the growth of ‖w‖² (of functions: Σ_r ‖f_r‖²)."""


@overload(push_row)
def _push_row(X, i, constant, step, smooth, a, worst, y, w):
    if _is_coefficients(X):

        def coefficients(X, i, constant, step, smooth, a, worst, y, w):
            growth = 0.0
            for r in range(np.uint64(a.size)):
                g = 0.0
                if smooth:
                    g = -step * a[r]
                elif r == worst:
                    g = -step
                if r == y:
                    g += step
                if g != 0.0:
                    growth += g * (2.0 * _class_score(X, i, w, r) + g * X.diagonal[i])
                    w[i, r] += g
            return growth

        return coefficients
    else:

        def features(X, i, constant, step, smooth, a, worst, y, w):
            growth = 0.0
            begin, end = row_span(X, i)
            for k in range(begin, end):
                column, x = row_entry(X, i, k)
                growth += _push_feature(w, column, step * x, smooth, a, worst, y)
            if constant != 0.0:
                last = np.uint64(w.shape[0]) - _1
                growth += _push_feature(w, last, step * constant, smooth, a, worst, y)
            return growth

        return features


@register_jitable
def _mix(p, v, r, u):
    """u = p·v + r·u; an array expression would take a second to compile."""
    for j in range(u.shape[0]):
        for m in range(u.shape[1]):
            u[j, m] = p * v[j, m] + r * u[j, m]


@kernel
def multiclass_scores(X, w, constant, out):
    """out_ir = ⟨x_i, w_r⟩ + constant·(last row of w).  Modified in place: out."""
    for i in range(np.uint64(out.shape[0])):
        _row_scores(X, i, w, constant, out[i])


@kernel
def multiclass_combination(X, coef, constant, out):
    """out += Σ x_i coef_iᵀ, the constant feature included.  Modified in place: out."""
    classes, last = np.uint64(coef.shape[1]), np.uint64(out.shape[0]) - _1
    for i in range(np.uint64(coef.shape[0])):
        begin, end = row_span(X, i)
        for k in range(begin, end):
            column, x = row_entry(X, i, k)
            for r in range(classes):
                out[column, r] += x * coef[i, r]
        for r in range(classes):
            out[last, r] += constant * coef[i, r]


@kernel
def multiclass_loop(
    X, curve, labels, batches, sizes, averaging, constant, radius, table, weights, room
):  # fmt: skip
    """W ← Π[decay_k·W + eta_k·(mean of s_i x_i (e_y − a*(z_i))ᵀ)] over batches (Pegasos §5).

    Given     batches (steps × size) row numbers; the others as ``gapsvm.types.steps`` has them.
              A step costs the nonzeros of its batch times the classes it touches: two, or all for
              a smooth loss.
              Π onto ‖W‖ ≤ radius, inf for none; the constant feature counts.
    Modified  table[i] = (visits, Σ a*), weights, room.
    """
    scalars, v, u, a, worst = weights.scalars, weights.v, weights.u, room.a, room.worst
    scale, square, p, r = scalars[0], scalars[1], scalars[3], scalars[4]
    steps, size = batches.shape
    smooth, averaged = curve.temperature > 0.0, u.size > 0
    for k in range(steps):
        if averaged:
            p, r = averaging.keep * p + averaging.gain * scale, averaging.keep * r
        for j in range(size):
            i = np.uint64(batches[k, j])
            _row_scores(X, i, v, constant, a[j])
            worst[j] = _maximise(curve, a[j], np.uint64(labels.y[i]), scale)
            table[i, 0] += 1.0
            for m in range(v.shape[1]):
                table[i, 1 + m] += a[j, m]
        scale *= sizes.decay[k]
        if scale < _SMALL_SCALE or (averaged and r < _SMALL_SHARE):
            # Also the first step of Pegasos, where decay = 0: write v out, never divide by 0.
            if averaged:
                _mix(p, v, r, u)
                p, r = 0.0, 1.0
            _mix(0.0, v, scale, v)
            square *= scale * scale
            scale = 1.0
        for j in range(size):
            i = np.uint64(batches[k, j])
            right, step = np.uint64(labels.y[i]), sizes.eta[k] * labels.weight[i] / (size * scale)
            if smooth or worst[j] != right:
                square += push_row(X, i, constant, step, smooth, a[j], worst[j], right, v)
                if averaged:
                    push_row(X, i, constant, -step * p / r, smooth, a[j], worst[j], right, u)
        norm = scale * np.sqrt(max(square, 0.0))
        if norm > radius:
            scale *= radius / norm
    scalars[0], scalars[1], scalars[3], scalars[4] = scale, square, p, r


def multiclass_steps(
    X, curve, labels, batches, sizes, averaging, constant, radius, table, weights
):  # fmt: skip
    """``multiclass_loop`` with room for a* and the worst class of each row of a batch."""
    size, classes = batches.shape[1], weights.v.shape[1]
    room = ClassRoom(np.empty((size, classes)), np.empty(size, dtype=np.uint64))
    return multiclass_loop(
        X, curve, labels, batches, sizes, averaging, constant, radius, table, weights, room
    )
