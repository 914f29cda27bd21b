"""LASVM: PROCESS, REPROCESS, finishing."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.kernel_steps import move, rooms, slopes

_FLAT = 1e-12


def _inside_slopes(block: Any, point: Any, inside: Any) -> tuple[Any, Any]:
    up, down = slopes(block, point)
    return np.where(inside, up, -np.inf), np.where(inside, down, -np.inf)


def _pair_step(block: Any, point: Any, i: int, j: int, slope: float) -> None:
    curvature = block.diagonal[i] + block.diagonal[j] - 2.0 * float(block.kernel[i, j])
    up, down = rooms(block, point.coef)
    step = min(slope / max(curvature, _FLAT), up[i], down[j])
    move(block, point, i, step)
    move(block, point, j, -step)


def _single_step(block: Any, point: Any, k: int) -> None:
    (up, down), (above, below) = slopes(block, point), rooms(block, point.coef)
    curvature = max(float(block.diagonal[k]), _FLAT)
    rises = up[k] >= down[k]
    step = min(up[k] / curvature, above[k]) if rises else -min(down[k] / curvature, below[k])
    move(block, point, k, step)


def _process(block: Any, point: Any, inside: Any, k: int, tau: float, paired: bool) -> int:
    if inside[k]:
        return 0
    inside[k] = True
    up, down = _inside_slopes(block, point, inside)
    if not paired:
        if max(up[k], down[k]) <= tau:
            return 0
        _single_step(block, point, k)
        return 1
    i, j = int(np.argmax(up)), int(np.argmax(down))
    rising, falling = up[k] + down[j], up[i] + down[k]
    if max(rising, falling) <= tau:
        return 0
    _pair_step(block, point, *((k, j, rising) if rising >= falling else (i, k, falling)))
    return 1


def _reprocess(block: Any, point: Any, inside: Any, tau: float, paired: bool) -> tuple[int, float]:
    up, down = _inside_slopes(block, point, inside)
    top, bottom = np.max(up, initial=-np.inf), np.max(down, initial=-np.inf)
    violation = float(top + bottom if paired else max(top, bottom))
    if not violation > tau:
        return 0, max(violation, 0.0)
    i, j = int(np.argmax(up)), int(np.argmax(down))
    if paired:
        _pair_step(block, point, i, j, violation)
        up, down = _inside_slopes(block, point, inside)
        top, bottom = np.max(up), np.max(down)
    else:
        _single_step(block, point, i if top >= bottom else j)
        up, down = _inside_slopes(block, point, inside)
        top = bottom = 0.0
    inside[inside & (point.coef == 0) & (up <= -bottom) & (down <= -top)] = False
    return 1, violation


def lasvm_steps(block: Any, point: Any, inside: Any, slots: Any, tau: float, paired: bool) -> int:
    """PROCESS and then REPROCESS for each of some slots."""
    steps = 0
    for k in slots:
        steps += _process(block, point, inside, int(k), tau, paired)
        steps += _reprocess(block, point, inside, tau, paired)[0]
    return steps


def lasvm_finish(
    block: Any, point: Any, inside: Any, tau: float, paired: bool, budget: int
) -> tuple[int, float]:
    """REPROCESS until no violation above tau is left in S, or the budget of steps is."""
    steps, violation = 0, np.inf
    while steps < budget:
        more, violation = _reprocess(block, point, inside, tau, paired)
        if not more:
            break
        steps += more
    return steps, violation
