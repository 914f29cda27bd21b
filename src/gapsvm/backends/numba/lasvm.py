"""LASVM (Bordes, Ertekin, Weston and Bottou 2005): steps on the rows of an expansion.

The rows lie in slots of a block, K among all of them at hand; ``inside`` says which slots belong to
the expansion S, and the pull y − Kv of every slot, inside or not, is kept up to date.  A row of a
margin loss without a coefficient has one way open, for which PROCESS is as printed; one that has
two takes the steeper.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from gapsvm.backends.numba.box import climb, open_row, room_down, room_up, sink
from gapsvm.backends.numba.jit import kernel

_FLAT = 1e-12


@register_jitable
def _subtract(block, point, k, step):
    """pull −= step·K_k."""
    row = block.kernel[k]
    for s in range(point.pull.size):
        point.pull[s] -= step * row[s]


@register_jitable
def _ends(point, inside):
    """The rows of S with the steepest way up and the steepest way down, and their slopes."""
    up, down, i, j = -np.inf, np.inf, -1, -1
    for s in range(point.pull.size):
        if inside[s]:
            if point.pull[s] + point.rise[s] > up:
                up, i = point.pull[s] + point.rise[s], s
            if point.pull[s] + point.fall[s] < down:
                down, j = point.pull[s] + point.fall[s], s
    return i, j, up, down


@register_jitable
def _pair_step(block, point, i, j, slope):
    """The best step up on i and down on j."""
    curvature = max(block.diagonal[i] + block.diagonal[j] - 2.0 * block.kernel[i, j], _FLAT)
    room, other = room_up(block, point.coef[i], i), room_down(block, point.coef[j], j)
    step = min(slope / curvature, min(room, other))
    climb(block, point, i, step, room)
    sink(block, point, j, step, other)
    _subtract(block, point, i, step)
    _subtract(block, point, j, -step)


@register_jitable
def _single_step(block, point, k):
    """The best step of one row, along its steeper way."""
    curvature = max(block.diagonal[k], _FLAT)
    up, down = point.pull[k] + point.rise[k], -(point.pull[k] + point.fall[k])
    if up >= down:
        room = room_up(block, point.coef[k], k)
        step = min(up / curvature, room)
        climb(block, point, k, step, room)
    else:
        room = room_down(block, point.coef[k], k)
        step = min(down / curvature, room)
        sink(block, point, k, step, room)
        step = -step
    _subtract(block, point, k, step)


@register_jitable
def _process(block, point, inside, k, tau, paired):
    """PROCESS: row k enters S, and moves if it has a violation above τ.  Returns its steps."""
    if inside[k]:
        return 0
    inside[k] = True
    open_row(block, point, k)
    own_up, own_down = point.pull[k] + point.rise[k], point.pull[k] + point.fall[k]
    if not paired:
        if max(own_up, -own_down) <= tau:
            return 0
        _single_step(block, point, k)
        return 1
    i, j, up, down = _ends(point, inside)
    rising, falling = own_up - down, up - own_down
    if max(rising, falling) <= tau:
        return 0
    if rising >= falling:
        _pair_step(block, point, k, j, rising)
    else:
        _pair_step(block, point, i, k, falling)
    return 1


@register_jitable
def _reprocess(block, point, inside, tau, paired):
    """REPROCESS: a step on the most violating pair, or row, of S; rows without a coefficient that
    no violation involves leave S.  Returns its steps and the violation before it."""
    i, j, up, down = _ends(point, inside)
    violation = up - down if paired else max(up, -down)
    if not violation > tau:
        return 0, max(violation, 0.0)
    if paired:
        _pair_step(block, point, i, j, violation)
        i, j, up, down = _ends(point, inside)
    else:
        _single_step(block, point, i if up >= -down else j)
        up = down = 0.0
    for s in range(point.coef.size):
        rises, falls = point.pull[s] + point.rise[s], point.pull[s] + point.fall[s]
        if inside[s] and point.coef[s] == 0.0 and rises <= down and falls >= up:
            inside[s] = False
    return 1, violation


@kernel
def lasvm_steps(block, point, inside, slots, tau, paired):
    """PROCESS and then REPROCESS for each of some slots.

    Given     block: K, its diagonal with the ridge, ridge and bounds of all slots; tau: the least
              violation that a step is made for; paired: steps keep Σv.
    Modified  point, inside.
    Returns   the steps.
    """
    steps = 0
    for s in range(point.coef.size):
        open_row(block, point, s)
    for k in range(slots.size):
        steps += _process(block, point, inside, slots[k], tau, paired)
        more, _ = _reprocess(block, point, inside, tau, paired)
        steps += more
    return steps


@kernel
def lasvm_finish(block, point, inside, tau, paired, budget):
    """REPROCESS until no violation above tau is left in S, or the budget of steps is.

    Returns   the steps, and the violation before the last of them.
    """
    steps, violation = 0, np.inf
    for s in range(point.coef.size):
        open_row(block, point, s)
    while steps < budget:
        more, violation = _reprocess(block, point, inside, tau, paired)
        if not more:
            break
        steps += more
    return steps, violation
