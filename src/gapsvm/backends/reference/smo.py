"""Steps of SMO."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.kernel_steps import rooms, slopes

_FLAT = 1e-12


def smo_open(block: Any, point: Any) -> None:
    """Nothing: slopes are made when they are asked for."""


def smo_first(block: Any, point: Any, paired: bool) -> tuple[int, float, float]:
    up, down = slopes(block, point)
    violation = np.maximum(np.maximum(up, down), 0.0)
    gain = violation**2 / np.maximum(block.diagonal, _FLAT)
    best = int(np.argmax(up if paired else gain))
    return best, float(up.max()), -float(down.max())


def smo_second(block: Any, point: Any, i: int, row: Any) -> int:
    up, down = slopes(block, point)
    slope = np.maximum(up[i] + down, 0.0)
    curvature = np.maximum(block.diagonal[i] + block.diagonal - 2.0 * row, _FLAT)
    return int(np.argmax(slope**2 / curvature))


def _shift(block: Any, point: Any, k: int, step: float, row: Any) -> None:
    up, down = (float(room[k]) for room in rooms(block, point.coef))
    v, ends = float(point.coef[k]), (block.lower[k], block.upper[k])
    if step >= up or -step >= down:
        v = 0.0 if block.eps > 0 and v * step < 0 else ends[1 if step > 0 else 0]
    else:
        v += step
    point.coef[k] = v
    point.pull[:] -= step * row
    point.pull[k] -= step * block.ridge[k]


def smo_pair(block: Any, point: Any, i: int, j: int, row: Any, other: Any) -> float:
    (up, down), (above, below) = slopes(block, point), rooms(block, point.coef)
    curvature = max(block.diagonal[i] + block.diagonal[j] - 2.0 * row[j], _FLAT)
    step = float(min((up[i] + down[j]) / curvature, above[i], below[j]))
    _shift(block, point, i, step, row)
    _shift(block, point, j, -step, other)
    return step


def smo_single(block: Any, point: Any, i: int, row: Any) -> float:
    (up, down), (above, below) = slopes(block, point), rooms(block, point.coef)
    curvature = max(float(block.diagonal[i]), _FLAT)
    rises = up[i] >= down[i]
    step = float(min(up[i] / curvature, above[i]) if rises else -min(down[i] / curvature, below[i]))
    _shift(block, point, i, step, row)
    return step
