"""Small problems with a smooth loss, solved exactly by Newton's method on P, in one call."""

from __future__ import annotations

from gapsvm.backends.numba.curves import bend, maximiser
from gapsvm.backends.numba.exact_judge import keep_better, note_end
from gapsvm.backends.numba.jit import summing_kernel
from gapsvm.backends.numba.small_algebra import (
    cholesky,
    small_margins,
    small_mean,
    small_normal_matrix,
    small_step,
)
from gapsvm.types.exact import ENDED, GAP, SINCE, STEPS

_FLAT = 0.5
_HALVINGS = 40


@summing_kernel
def _bends(rows, curve, limits, room):
    """Ω = s·φ″, or its bound where all of them are 0; and c = σ·s·a*.  Given room.z."""
    most = 0.0
    for i in range(room.z.size):
        room.c[i] = rows.sign[i] * rows.weight[i] * maximiser(curve, room.z[i], rows.t[i])
        room.omega[i] = rows.weight[i] * bend(curve, room.z[i], rows.t[i])
        most += room.omega[i]
    if most == 0.0:
        for i in range(room.z.size):
            room.omega[i] = rows.weight[i] * limits.bend


@summing_kernel
def _slope(rows, curve, parts, length, room):
    """The slope of S·P along the step at that length; parts: ⟨w, dw⟩ and ‖dw‖²."""
    pull = 0.0
    for i in range(room.z.size):
        a = maximiser(curve, room.z[i] + length * room.dz[i], rows.t[i])
        pull += rows.weight[i] * a * room.dz[i]
    return rows.scale * (parts[0] + length * parts[1]) - pull


@summing_kernel
def _length(rows, curve, w, room):
    """Where the slope of P along the step is at most half of what it is at its beginning.

    P is convex, so it falls on the way there; by bisection from the full step.
    """
    own = square = 0.0
    for j in range(w.size - 1):
        own += w[j] * room.dw[j]
        square += room.dw[j] * room.dw[j]
    parts = own, square
    at_zero = abs(_slope(rows, curve, parts, 0.0, room))
    low, high, length = 0.0, 1.0, 1.0
    for _ in range(_HALVINGS):
        found = _slope(rows, curve, parts, length, room)
        if abs(found) <= _FLAT * at_zero or (length == 1.0 and found < 0.0):
            return length
        if found < 0.0:
            low = length
        else:
            high = length
        length = 0.5 * (low + high)
    return length


@summing_kernel
def exact_newton(rows, curve, w, best, room, limits):
    """Newton's steps from (w, b), each no longer than P falls.

    Modified  w, best; they are where the next call goes on.
    """
    for _ in range(limits.steps):
        if best.ledger[ENDED] != 0.0:
            return
        best.ledger[STEPS] += 1.0
        best.ledger[SINCE] += 1.0
        reached = best.ledger[GAP] <= limits.gap
        small_margins(rows.columns, w, rows.sign, room.z)
        _bends(rows, curve, limits, room)
        sigma = small_mean(rows, room.omega, room.mean)
        small_normal_matrix(rows.columns, room.omega, room.mean, room)
        if not cholesky(room.matrix, rows.columns.shape[0], rows.scale):
            best.ledger[ENDED] = 1.0
            return
        small_step(rows, room.c, w, sigma, room, room.dw)
        small_margins(rows.columns, room.dw, rows.sign, room.dz)
        length, measure = _length(rows, curve, w, room), 0.0
        for j in range(w.size):
            w[j] += length * room.dw[j]
            measure += w[j]
        small_margins(rows.columns, w, rows.sign, room.z)
        for i in range(room.z.size):
            room.alpha[i] = maximiser(curve, room.z[i], rows.t[i])
        keep_better(rows, curve, w, room.alpha, best, room, limits.gap)
        note_end(best, limits, measure)
        if not reached and best.ledger[GAP] <= limits.gap:  # one more step squares what is left
            best.ledger[ENDED] = 0.0
