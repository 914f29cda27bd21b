"""The face that a point of the interior is near, solved exactly."""

from __future__ import annotations

import numpy as np

from gapsvm.backends.numba.jit import summing_kernel
from gapsvm.backends.numba.small_algebra import cholesky, cholesky_solve, small_combination

_RIDGE, _REFINEMENTS = 1e-14, 3


@summing_kernel
def _members(rows, point, size, alpha, order):
    """Which rows are at no bound, and α with the others at theirs.

    Modified  alpha, order: the rows.
    Returns   how many there are; −1: more than fit.
    """
    k = 0
    for i in range(alpha.size):
        alpha[i], free, e = 0.0, False, 1.0
        for side in range(len(point.u)):
            u, slack = point.u[side, i], point.slack[side, i]
            width = u + slack
            zero = u * size <= point.zeta[side, i] * width and u < slack
            full = not zero and slack * size <= point.upsilon[side, i] * width
            alpha[i] += e * (0.0 if zero else (width if full else u))
            free = free or not (zero or full)
            e = -1.0
        if free and rows.weight[i] > 0.0:
            if k == order.size:
                return -1
            order[k] = i
            k += 1
    return k


@summing_kernel
def _equations(rows, k, room):
    """The rows' features in room.members, and the factor of their products over λS in room.face."""
    columns, members, face = rows.columns, room.members, room.face
    d, trace = columns.shape[0], 0.0
    for a in range(k):
        i, own = room.order[a], members[a]
        for j in range(d):
            own[j] = columns[j, i]
        for b in range(a + 1):
            other, product = members[b], 0.0
            for j in range(d):
                product += own[j] * other[j]
            face[a, b] = product / rows.scale
        trace += face[a, a]
    return cholesky(face, k, max(_RIDGE * trace / k, 1e-300))


@summing_kernel
def _refine(rows, curve, k, w, mass, room):
    """Move α of the members, w and b until the rows lie on their kinks.

    Modified  room.alpha, w.
    """
    d = rows.columns.shape[0]
    change, ones, members, alpha = room.aims[0], room.aims[1], room.members, room.alpha
    total = 0.0
    for a in range(k):
        ones[a] = 1.0
    cholesky_solve(room.face, k, ones)
    for a in range(k):
        total += ones[a]
    for _ in range(_REFINEMENTS):
        for a in range(k):
            i, own = room.order[a], members[a]
            kink = rows.t[i] - curve.eps * np.sign(room.aims[2, a])
            left = rows.sign[i] * kink - w[d]
            for j in range(d):
                left -= own[j] * w[j]
            change[a] = left
        cholesky_solve(room.face, k, change)
        if rows.free:
            shift = mass
            for a in range(k):
                shift += change[a]
            shift /= total
            w[d] += shift
            for a in range(k):
                change[a] -= shift * ones[a]
                mass += change[a]
        for a in range(k):
            i = room.order[a]
            alpha[i] += change[a] * rows.sign[i] / rows.weight[i]
        for j in range(d):
            move = 0.0
            for a in range(k):
                move += change[a] * members[a, j]
            w[j] += move / rows.scale


@summing_kernel
def solve_face(rows, curve, point, size, w, room):
    """(w, b) and room.alpha where rows at bounds stay there, and the others lie on their kinks.

    Modified  w, room.alpha.  Returns whether there are few enough of them.
    """
    d, alpha, c = rows.columns.shape[0], room.alpha, room.c
    k = _members(rows, point, size, alpha, room.order)
    if k < 0:
        return False
    mass = 0.0
    for i in range(alpha.size):
        c[i] = rows.sign[i] * rows.weight[i] * alpha[i]
        mass += c[i]
    small_combination(rows.columns, c, w)
    for j in range(d):
        w[j] /= rows.scale
    w[d] = point.w[d]
    if k > 0:
        if not _equations(rows, k, room):
            return False
        for a in range(k):
            room.aims[2, a] = alpha[room.order[a]]
        _refine(rows, curve, k, w, mass, room)
    return True
