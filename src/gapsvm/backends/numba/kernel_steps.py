"""Steps on a block of the dual, in the coefficients v = c∘α of the rows.

Problem: maximise ⟨y, v⟩ − ε‖v‖₁ − ½vᵀQv over lower ≤ v ≤ upper, with Σv held where there is a free
bias.  The slope of a move of v_k up is pull_k + rise_k, of one down −(pull_k + fall_k), with
rise = ∓ε and fall = ±ε by the sign of v_k, and −∞ or +∞ at a bound; a move ends at the kink 0.

A step looks at every row of the block twice.  What it looks for is the largest of some numbers and
its place: both go into one integer, the number's bits above the place's, since the compiler finds
the largest of integers in SIMD and that of floats one by one.  Choices are made in float32, of
differences from a recent value, moves in float64.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from gapsvm.backends.numba.box import end_down, end_up, moved, open_row, room_down, room_up
from gapsvm.backends.numba.intrinsics import bits_of_single
from gapsvm.backends.numba.jit import kernel

_FUSED = {"fastmath": {"contract", "nsz"}}
_F32, _I32, _I64 = np.float32, np.int32, np.int64
_LEAST = -(1 << 63)
_PLACE = 0xFFFFFFFF
_FLAT = 1e-12  # the least curvature of a move, as where K is not positive definite
_LOOK_EVERY = 16  # steps between two looks at the largest violation


@register_jitable(**_FUSED)
def _ordered(number, place):
    """An integer that grows with the number, whatever its sign; its low half is the place."""
    bits = bits_of_single(number)
    bits = bits ^ ((bits >> _I32(31)) & _I32(0x7FFFFFFF))
    return (_I64(bits) << _I64(32)) | _I64(place)


@register_jitable(**_FUSED)
def _move_pair(point, first, second, step, centre):
    """pull −= step·(first − second); returns the row with the steepest way up."""
    pull, rise, fall, low = point.pull, point.rise, point.fall, point.low
    best = _I64(_LEAST)
    for k in range(pull.size):
        p = pull[k] - step * (np.float64(first[k]) - np.float64(second[k]))
        pull[k] = p
        low[k] = _F32(p + fall[k] - centre)
        best = max(best, _ordered(_F32(p + rise[k] - centre), k))
    return best & _I64(_PLACE)


@register_jitable(**_FUSED)
def _best_partner(low, row, diagonal, top, own):
    """The row with which a pair gains most: (difference of slopes)² by curvature."""
    best = _I64(0)
    for k in range(low.size):
        slope = max(top - low[k], _F32(0.0))
        curvature = max(own + _F32(diagonal[k]) - _F32(2.0) * _F32(row[k]), _F32(_FLAT))
        gain = bits_of_single(slope * slope / curvature)
        best = max(best, (_I64(gain) << _I64(32)) | _I64(k))
    return best


@register_jitable(**_FUSED)
def _lowest(low):
    best = _I64(_LEAST)
    for k in range(low.size):
        best = max(best, _ordered(-low[k], k))
    return low[best & _I64(_PLACE)]


@kernel
def pair_steps(block, point, share, least, budget):
    """Steps of two rows that keep Σv, chosen by second order (Fan, Chen and Lin 2005).

    Until the largest violation, the difference of the slopes up and down, is at most ``share`` of
    the first one, or ``least``, or ``budget`` steps are done.  Modified: point.
    Returns the steps, the first violation and the last one.
    """
    n = point.coef.size
    for k in range(n):
        open_row(block, point, k)
    i, j, step, centre = 0, 0, 0.0, 0.0
    target, before, violation, steps = -1.0, 0.0, 0.0, 0
    if n == 0:
        return steps, before, violation
    i = _move_pair(point, block.kernel[i], block.kernel[j], step, centre)
    centre = point.pull[i] + point.rise[i]
    if not centre > -np.inf:  # nothing may rise
        return steps, before, violation
    while True:
        i = _move_pair(point, block.kernel[i], block.kernel[j], step, centre)
        top = point.pull[i] + point.rise[i]
        if not top > -np.inf:
            return steps, before, 0.0
        if steps % _LOOK_EVERY == 0 or steps >= budget:
            violation = top - (centre + _lowest(point.low))
            if target < 0.0:
                before = max(violation, 0.0)
                target = max(share * before, least)
            if not violation > target or steps >= budget:
                return steps, before, max(violation, 0.0)
        row, own = block.kernel[i], _F32(block.diagonal[i])
        found = _best_partner(point.low, row, block.diagonal, _F32(top - centre), own)
        j = found & _I64(_PLACE)
        slope = top - (point.pull[j] + point.fall[j])
        if not slope > 0.0:
            return steps, before, 0.0
        curvature = max(block.diagonal[i] + block.diagonal[j] - 2.0 * row[j], _FLAT)
        v, w = point.coef[i], point.coef[j]
        room, other = room_up(block, v, i), room_down(block, w, j)
        step = min(slope / curvature, min(room, other))
        point.coef[i] = moved(v, step, room, end_up(block, v, i))
        point.coef[j] = moved(w, -step, other, end_down(block, w, j))
        point.pull[i] -= block.ridge[i] * step
        point.pull[j] += block.ridge[j] * step
        open_row(block, point, i)
        open_row(block, point, j)
        centre = top
        steps += 1


@register_jitable(**_FUSED)
def _move_single(block, point, row, step):
    """pull −= step·row; returns the row whose step gains most, violation² by curvature."""
    pull, rise, fall, low = point.pull, point.rise, point.fall, point.low
    best = _I64(_LEAST)
    for k in range(pull.size):
        p = pull[k] - step * row[k]
        pull[k] = p
        violation = max(max(_F32(p + rise[k]), _F32(-(p + fall[k]))), _F32(0.0))
        low[k] = -violation
        gain = violation * violation / max(_F32(block.diagonal[k]), _F32(_FLAT))
        best = max(best, (_I64(bits_of_single(gain)) << _I64(32)) | _I64(k))
    return best & _I64(_PLACE)


@kernel
def single_steps(block, point, share, least, budget):
    """Steps of one row, for problems without a free bias; otherwise as ``pair_steps``.

    The violation is the largest slope.
    """
    n = point.coef.size
    for k in range(n):
        open_row(block, point, k)
    i, step = 0, 0.0
    target, before, largest, steps = -1.0, 0.0, 0.0, 0
    if n == 0:
        return steps, before, largest
    while True:
        i = _move_single(block, point, block.kernel[i], step)
        if steps % _LOOK_EVERY == 0 or steps >= budget:
            largest = -_lowest(point.low)
            if target < 0.0:
                before = largest
                target = max(share * before, least)
            if not largest > target or steps >= budget:
                return steps, before, largest
        v, curvature = point.coef[i], max(block.diagonal[i], _FLAT)
        up, down = point.pull[i] + point.rise[i], -(point.pull[i] + point.fall[i])
        if not max(up, down) > 0.0:  # none moves: a look every so many steps has not seen it yet
            return steps, before, 0.0
        if up >= down:
            room = room_up(block, v, i)
            step = min(up / curvature, room)
            point.coef[i] = moved(v, step, room, end_up(block, v, i))
        else:
            room = room_down(block, v, i)
            step = -min(down / curvature, room)
            point.coef[i] = moved(v, step, room, end_down(block, v, i))
        if not abs(step) > 0.0:
            return steps, before, 0.0
        point.pull[i] -= block.ridge[i] * step
        open_row(block, point, i)
        steps += 1


@register_jitable(**_FUSED)
def _add_four(a, b, c, d, w, out):
    for j in range(out.size):
        out[j] += (w[0] * a[j] + w[1] * b[j]) + (w[2] * c[j] + w[3] * d[j])


@register_jitable(**_FUSED)
def _add_one(a, w, out):
    for j in range(out.size):
        out[j] += w * a[j]


@kernel
def add_kernel_rows(values, rows, coef, out):
    """out += Σ coef_r·values[rows_r], in float64; four rows for one look at ``out``, a part of
    which stays in cache.  Modified: out."""
    part = 1024
    for first in range(0, out.size, part):
        last = min(first + part, out.size)
        piece = out[first:last]
        r = 0
        while r + 4 <= rows.size:
            a, b = values[rows[r]][first:last], values[rows[r + 1]][first:last]
            c, d = values[rows[r + 2]][first:last], values[rows[r + 3]][first:last]
            _add_four(a, b, c, d, coef[r : r + 4], piece)
            r += 4
        while r < rows.size:
            _add_one(values[rows[r]][first:last], coef[r], piece)
            r += 1
