"""Steps on blocks of the dual of a kernel machine."""

from __future__ import annotations

from typing import Any

import numpy as np

_FLAT = 1e-12


def add_kernel_rows(values: Any, rows: Any, coef: Any, out: Any) -> None:
    """out += Σ coef_r·values[rows_r]."""
    for r, c in zip(rows, coef):
        out += float(c) * values[r].astype(np.float64)


def slopes(block: Any, point: Any) -> tuple[Any, Any]:
    """Of a move of each row up, and of one down; −∞ where a bound forbids it."""
    v, eps = point.coef, block.eps
    up = point.pull + np.where(v >= 0, -eps, eps)
    down = -(point.pull + np.where(v <= 0, eps, -eps))
    return np.where(v < block.upper, up, -np.inf), np.where(v > block.lower, down, -np.inf)


def rooms(block: Any, v: Any) -> tuple[Any, Any]:
    """How far each v may rise and fall: to its bound, or to the kink at 0."""
    kinked = block.eps > 0
    up = np.where(kinked & (v < 0), -v, block.upper - v)
    down = np.where(kinked & (v > 0), v, v - block.lower)
    return up, down


def move(block: Any, point: Any, k: int, step: float) -> None:
    """v_k += step, exactly to the end of its room where it goes that far."""
    v = float(point.coef[k])
    up, down = (float(room[k]) for room in rooms(block, point.coef))
    if step >= up or -step >= down:
        kink = block.eps > 0 and v * step < 0
        point.coef[k] = 0.0 if kink else (block.upper[k] if step > 0 else block.lower[k])
    else:
        point.coef[k] = v + step
    point.pull[:] -= step * block.kernel[k]
    point.pull[k] -= step * block.ridge[k]


def pair_steps(
    block: Any, point: Any, share: float, least: float, budget: int
) -> tuple[int, float, float]:
    """Steps of two rows that keep Σv."""
    target, before, steps = -1.0, 0.0, 0
    while True:
        up, down = slopes(block, point)
        violation = float(np.max(up, initial=-np.inf) + np.max(down, initial=-np.inf))
        if target < 0:
            before = max(violation, 0.0)
            target = max(share * before, least)
        if not violation > target or steps >= budget:
            return steps, before, max(violation, 0.0)
        i = int(np.argmax(up))
        slope = np.maximum(up[i] + down, 0.0)
        curvature = block.diagonal[i] + block.diagonal - 2.0 * block.kernel[i].astype(np.float64)
        j = int(np.argmax(slope * slope / np.maximum(curvature, _FLAT)))
        above, below = rooms(block, point.coef)
        step = min(slope[j] / max(curvature[j], _FLAT), above[i], below[j])
        move(block, point, i, step)
        move(block, point, j, -step)
        steps += 1


def single_steps(
    block: Any, point: Any, share: float, least: float, budget: int
) -> tuple[int, float, float]:
    """Steps of one row."""
    target, before, steps = -1.0, 0.0, 0
    while True:
        up, down = slopes(block, point)
        violation = np.maximum(np.maximum(up, down), 0.0)
        largest = float(np.max(violation, initial=0.0))
        if target < 0:
            before = largest
            target = max(share * before, least)
        if not largest > target or steps >= budget:
            return steps, before, largest
        curvature = np.maximum(block.diagonal, _FLAT)
        i = int(np.argmax(violation * violation / curvature))
        above, below = rooms(block, point.coef)
        upward = up[i] >= down[i]
        step = min(violation[i] / curvature[i], (above if upward else below)[i])
        move(block, point, i, step if upward else -step)
        steps += 1
