"""A coordinate of the box problem of a kernel machine (``gapsvm.types.mercer.Block``): which ways
are open to it, and how far."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable


@register_jitable
def open_row(block, point, k):
    """rise and fall of row k."""
    v = point.coef[k]
    eps = block.eps
    up = -eps if v >= 0.0 else eps
    down = eps if v <= 0.0 else -eps
    point.rise[k] = up if v < block.upper[k] else -np.inf
    point.fall[k] = down if v > block.lower[k] else np.inf


@register_jitable
def room_up(block, v, k):
    """How far v may rise: to its bound, or to the kink at 0."""
    return -v if v < 0.0 and block.eps > 0.0 else block.upper[k] - v


@register_jitable
def room_down(block, v, k):
    """How far v may fall."""
    return v if v > 0.0 and block.eps > 0.0 else v - block.lower[k]


@register_jitable
def moved(v, step, room, end):
    """v + step, exactly at the end of its room where it goes that far."""
    return end if abs(step) >= room else v + step


@register_jitable
def end_up(block, v, k):
    """Where the room above v ends."""
    return 0.0 if v < 0.0 and block.eps > 0.0 else block.upper[k]


@register_jitable
def end_down(block, v, k):
    """Where the room below v ends."""
    return 0.0 if v > 0.0 and block.eps > 0.0 else block.lower[k]


@register_jitable
def climb(block, point, k, step, room):
    """v_k rises by a step of at most that room, and its own ridge with it."""
    v = point.coef[k]
    point.coef[k] = moved(v, step, room, end_up(block, v, k))
    point.pull[k] -= block.ridge[k] * step
    open_row(block, point, k)


@register_jitable
def sink(block, point, k, step, room):
    """v_k falls by a step of at most that room."""
    v = point.coef[k]
    point.coef[k] = moved(v, -step, room, end_down(block, v, k))
    point.pull[k] += block.ridge[k] * step
    open_row(block, point, k)
