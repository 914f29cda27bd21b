"""Steps of two rows, or of one, on the whole dual of a kernel machine: what SMO asks for K for."""

from __future__ import annotations

import numpy as np

from gapsvm.backends.numba.box import climb, open_row, room_down, room_up, sink
from gapsvm.backends.numba.jit import kernel

_FLAT = 1e-12


@kernel
def smo_open(block, point):
    """Which ways are open to each row.  Modified: point."""
    for k in range(point.coef.size):
        open_row(block, point, k)


@kernel
def smo_first(block, point, paired):
    """The row with the steepest way up; of single rows the one whose step gains most.

    Returns the row, the steepest way up and the steepest way down, as ends of an interval.
    """
    up, down, gain, best = -np.inf, np.inf, -1.0, 0
    for k in range(point.coef.size):
        rises, falls = point.pull[k] + point.rise[k], point.pull[k] + point.fall[k]
        if paired and rises > up:
            best = k
        if not paired:
            violation = max(max(rises, -falls), 0.0)
            if violation * violation / max(block.diagonal[k], _FLAT) > gain:
                gain, best = violation * violation / max(block.diagonal[k], _FLAT), k
        up, down = max(up, rises), min(down, falls)
    return best, up, down


@kernel
def smo_second(block, point, i, row):
    """The row with which a pair gains most, by second order (Fan, Chen and Lin 2005)."""
    top, gain, best = point.pull[i] + point.rise[i], -1.0, 0
    for k in range(point.coef.size):
        slope = max(top - (point.pull[k] + point.fall[k]), 0.0)
        curvature = max(block.diagonal[i] + block.diagonal[k] - 2.0 * row[k], _FLAT)
        if slope * slope / curvature > gain:
            gain, best = slope * slope / curvature, k
    return best


@kernel
def smo_pair(block, point, i, j, row, other):
    """The best step up on i and down on j, whose rows of K are ``row`` and ``other``.

    Modified: point.  Returns the step.
    """
    slope = point.pull[i] + point.rise[i] - (point.pull[j] + point.fall[j])
    curvature = max(block.diagonal[i] + block.diagonal[j] - 2.0 * row[j], _FLAT)
    room, below = room_up(block, point.coef[i], i), room_down(block, point.coef[j], j)
    step = min(slope / curvature, min(room, below))
    climb(block, point, i, step, room)
    sink(block, point, j, step, below)
    for k in range(point.coef.size):
        point.pull[k] -= step * (row[k] - other[k])
    return step


@kernel
def smo_single(block, point, i, row):
    """The best step of row i, along its steeper way.  Modified: point.  Returns the step."""
    curvature = max(block.diagonal[i], _FLAT)
    up, down = point.pull[i] + point.rise[i], -(point.pull[i] + point.fall[i])
    if up >= down:
        room = room_up(block, point.coef[i], i)
        step = min(up / curvature, room)
        climb(block, point, i, step, room)
    else:
        room = room_down(block, point.coef[i], i)
        step = min(down / curvature, room)
        sink(block, point, i, step, room)
        step = -step
    for k in range(point.coef.size):
        point.pull[k] -= step * row[k]
    return step
