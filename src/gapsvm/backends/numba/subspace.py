"""The best point of the subspace of the last two moves of α: the compiled loops."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from gapsvm.backends.numba.curves import is_free
from gapsvm.backends.numba.jit import kernel
from gapsvm.backends.numba.rows import REORDER, row_axpy_growth
from gapsvm.types.tables import ALPHA, SIGNED_WEIGHT, TARGET

_LONGEST, _AGAIN = 16.0, 1.0  # of the two moves; more would let their rounding errors grow
_HALVINGS = 6
_HELD = 8  # one row in so many may be held at its bound or kink


@register_jitable(**REORDER)
def _products(w, w0, move_w):
    """⟨w, w⟩, ⟨w, u⟩, ⟨w, v⟩, ⟨u, u⟩, ⟨u, v⟩, ⟨v, v⟩ for the moves u = w − w0 and v."""
    ww = wu = wv = uu = uv = vv = 0.0
    for j in range(w.size):
        x, v = np.float64(w[j]), np.float64(move_w[j])
        u = x - w0[j]
        ww += x * x
        wu += x * u
        wv += x * v
        uu += u * u
        uv += u * v
        vv += v * v
    return ww, wu, wv, uu, uv, vv


@register_jitable(**REORDER)
def _propose(w, w0, move_w, c1, c2):
    """move_w becomes w + c₁u + c₂v; returns by how much its squared norm is above that of w."""
    growth = 0.0
    for j in range(w.size):
        x = np.float64(w[j])
        step = c1 * (x - w0[j]) + c2 * move_w[j]
        growth += (2.0 * x + step) * step
        move_w[j] = x + step
    return growth


@register_jitable
def _held_within(curve, a, step):
    """a + step, or the bound or kink at which a is held."""
    new = a + step
    if not is_free(curve, a):
        return a
    if new > curve.hi:
        return curve.hi
    if new < curve.lo:
        return curve.lo
    return 0.0 if curve.eps > 0.0 and new * a < 0.0 else new


@register_jitable
def _best(curve, table, w, bias, ratio, least, last):
    """Whether w has moved by enough, and the c₁, c₂ that maximise D if nothing is held."""
    rows, alpha, move = last.rows, last.alpha, last.move
    size, g1, g2, h11, h12, h22 = _products(w, last.w, last.move_w)
    possible = h11 > least * least * size
    g1, g2, m1, m2 = -g1, -g2, 0.0, 0.0
    for k in range(rows.size):
        i = np.uint64(rows[k])
        a, c, t = table[i, ALPHA], table[i, SIGNED_WEIGHT], table[i, TARGET]
        d1, d2 = a - alpha[k], move[k]
        kink = curve.eps if a > 0.0 else (-curve.eps if a < 0.0 else 0.0)
        slope = abs(c) * (t - curve.curvature * a - kink) - c * bias
        bend = abs(c) * curve.curvature
        g1 += slope * d1
        g2 += slope * d2
        h11 += bend * d1 * d1
        h12 += bend * d1 * d2
        h22 += bend * d2 * d2
        m1 += c * d1
        m2 += c * d2
    h11, h12, h22 = h11 + ratio * m1 * m1, h12 + ratio * m1 * m2, h22 + ratio * m2 * m2
    c1 = c2 = 0.0
    if possible:
        left = h22 - h12 * h12 / h11
        if left > 1e-10 * h22:  # the last move is another direction
            c2 = (g2 - h12 * g1 / h11) / left
            c2 = _AGAIN if c2 > _AGAIN else (-_AGAIN if c2 < -_AGAIN else c2)
        c1 = (g1 - h12 * c2) / h11
        if abs(c1) > _LONGEST:
            c1, c2 = c1 / abs(c1) * _LONGEST, c2 / abs(c1) * _LONGEST
    return possible, c1, c2


@register_jitable
def _share(curve, table, last):
    """The longest of 1, ½, ¼, … of last.move that holds few rows, and how many it holds."""
    rows, move = last.rows, last.move
    share, held = 2.0, rows.size
    for _ in range(_HALVINGS):
        share *= 0.5
        held = 0
        for k in range(rows.size):
            a, step = table[np.uint64(rows[k]), ALPHA], share * move[k]
            held += _held_within(curve, a, step) != a + step
        if _HELD * held <= rows.size:
            break
    return share, held


@register_jitable
def _gain(X, curve, table, w, bias, ratio, last, share, c1, c2):
    """By how much D/λ rises, and Σ c_i δ_i.

    last.move becomes the new α, last.move_w the new w.
    """
    rows, move = last.rows, last.move
    gain, mass = -0.5 * _propose(w, last.w, last.move_w, share * c1, share * c2), 0.0
    for k in range(rows.size):
        i = np.uint64(rows[k])
        a, c, t = table[i, ALPHA], table[i, SIGNED_WEIGHT], table[i, TARGET]
        new = _held_within(curve, a, share * move[k])
        short = c * (new - (a + share * move[k]))
        if short != 0.0:
            gain -= 0.5 * row_axpy_growth(X, i, short, last.move_w)
        rise = t - 0.5 * curve.curvature * (new + a)
        gain += abs(c) * ((new - a) * rise - curve.eps * (abs(new) - abs(a)))
        mass += c * (new - a)
        move[k] = new
    return gain - mass * (bias + 0.5 * ratio * mass), mass


@kernel
def subspace_step(X, curve, table, w, bias, ratio, least, last):
    """The α that maximises D in the plane of this move and the last, as far as bounds allow.

    Given     table, w, bias, ratio as in ``sdca_steps``; a curve of five numbers; least: the share
              of ‖w‖ that w must have moved by, below which its rounding errors would count.
    The step  c maximises D(α + c₁(α − last.alpha) + c₂ last.move), a quadratic; it is halved until
              few rows leave their bounds or cross a kink.  Those are held there, and where any are
              D must rise, or there is no step.
    Modified  table, w, last, for the next step.
    Returns   the new bias.
    """
    rows, alpha, move = last.rows, last.alpha, last.move
    possible, c1, c2 = _best(curve, table, w, bias, ratio, least, last)
    for k in range(rows.size):
        move[k] = c1 * (table[np.uint64(rows[k]), ALPHA] - alpha[k]) + c2 * move[k]
    share, held = _share(curve, table, last)
    possible = possible and _HELD * held <= rows.size
    gain = mass = 0.0
    if possible:
        gain, mass = _gain(X, curve, table, w, bias, ratio, last, share, c1, c2)
    taken = possible and (gain > 0.0 or (held == 0 and curve.eps == 0.0))
    for k in range(rows.size):
        i = np.uint64(rows[k])
        if taken:
            table[i, ALPHA] = move[k]
        move[k] = table[i, ALPHA] - alpha[k]
        alpha[k] = table[i, ALPHA]
    for j in range(w.size):
        if taken:
            w[j] = last.move_w[j]
        last.move_w[j] = w[j] - last.w[j]
        last.w[j] = w[j]
    return bias + ratio * mass if taken else bias
