"""What is certified on the way of an exact solution, and when it is over."""

from __future__ import annotations

import numpy as np

from gapsvm.backends.numba.curves import value_and_conjugate
from gapsvm.backends.numba.jit import summing_kernel
from gapsvm.backends.numba.small_algebra import small_combination, small_margins
from gapsvm.types.exact import ENDED, GAP, SINCE

_PATIENCE, _LAST_PATIENCE, _ROUNDING = 12, 3, 1e-11


@summing_kernel
def keep_better(rows, curve, w, alpha, best, room, least):
    """Certify (w, b) and an α in its box, and keep them if none before had a smaller gap.

    Gaps up to ``least`` differ by rounding: there the later one is kept.

    Modified  alpha: where the bias is free, brought to Σ σ_i s_i α_i = 0 by scaling down the
              heavier side.
    """
    n, d, sign, weight = rows.sign.size, rows.columns.shape[0], rows.sign, rows.weight
    up = down = 0.0
    for i in range(n):
        mass = sign[i] * weight[i] * alpha[i]
        up += max(mass, 0.0)
        down += max(-mass, 0.0)
    positive = down / up if rows.free and up > down else 1.0
    negative = up / down if rows.free and down > up else 1.0
    z, c = room.z, room.c
    small_margins(rows.columns, w, sign, z)
    losses = conjugates = 0.0
    for i in range(n):
        alpha[i] *= positive if sign[i] * alpha[i] > 0.0 else negative
        c[i] = sign[i] * weight[i] * alpha[i]
        value, conjugate = value_and_conjugate(curve, z[i], alpha[i], rows.t[i])
        losses += weight[i] * value
        conjugates += weight[i] * conjugate
    small_combination(rows.columns, c, room.own)
    square = own = 0.0
    for j in range(d):
        square += w[j] * w[j]
        own += room.own[j] * room.own[j]
    primal = losses / rows.total + 0.5 * rows.scale / rows.total * square
    gap = primal + conjugates / rows.total + 0.5 / (rows.scale * rows.total) * own
    if gap < max(best.ledger[GAP], least):
        if gap < 0.9 * best.ledger[GAP]:
            best.ledger[SINCE] = 0.0
        best.ledger[GAP] = gap
        for j in range(d + 1):
            best.w[j] = w[j]
        for i in range(n):
            best.alpha[i] = alpha[i]


@summing_kernel
def note_end(best, limits, measure):
    """Note in the ledger whether the gap is small enough, or does not fall any more.

    ``measure`` is no number where the steps have lost their way.
    """
    gap = best.ledger[GAP]
    patience = _PATIENCE if gap > _ROUNDING * limits.zero else _LAST_PATIENCE
    if gap > limits.zero:
        patience *= 5
    if gap <= limits.gap or not np.isfinite(measure) or best.ledger[SINCE] > patience:
        best.ledger[ENDED] = 1.0
    else:
        best.ledger[ENDED] = 0.0
