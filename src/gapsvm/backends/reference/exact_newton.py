"""Small problems with a smooth loss, solved exactly by Newton's method on P."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.exact import (
    is_over,
    keep_better,
    margins_of_small,
    normal_factor,
    step_from,
)
from gapsvm.types.exact import ENDED, GAP, SINCE, STEPS, Best, ExactRoom, Limits, SmallRows

_FLAT = 0.5
_HALVINGS = 40

Curve = Any


def exact_newton(
    rows: SmallRows, curve: Curve, w: Any, best: Best, room: ExactRoom, limits: Limits
) -> None:
    rows = rows._replace(columns=rows.columns[:, : rows.sign.size])
    for _ in range(limits.steps):
        if best.ledger[ENDED]:
            return
        best.ledger[STEPS] += 1
        best.ledger[SINCE] += 1
        reached = best.ledger[GAP] <= limits.gap
        z = margins_of_small(rows, w)
        alpha = curve.maximiser(z, rows.t)
        omega = rows.weight * curve.bend(z, rows.t)
        if not omega.any():
            omega = rows.weight * limits.bend
        sigma, mean = float(omega.sum()), np.zeros(len(rows.columns))
        if rows.free:
            mean = (rows.columns @ omega) / sigma
        factor = normal_factor(rows, mean, omega)
        if factor is None:
            best.ledger[ENDED] = 1
            return
        step = step_from(rows, rows.sign * rows.weight * alpha, w[:-1], mean, sigma, factor)
        w += _length(rows, curve, w, z, step) * step
        alpha = curve.maximiser(margins_of_small(rows, w), rows.t)
        keep_better(rows, curve, w, alpha, best, limits.gap)
        is_over(best, limits, not np.isfinite(w).all())
        if not reached and best.ledger[GAP] <= limits.gap:  # one more step squares what is left
            best.ledger[ENDED] = 0


def _length(rows: SmallRows, curve: Curve, w: Any, z: Any, step: Any) -> float:
    """Where the slope of P along the step is at most half of what it is at its beginning.

    P is convex, so it falls on the way there; by bisection from the full step.
    """
    dz = margins_of_small(rows, step)
    own, square = float(w[:-1] @ step[:-1]), float(step[:-1] @ step[:-1])

    def slope(length: float) -> float:
        a = curve.maximiser(z + length * dz, rows.t)
        return float(rows.scale * (own + length * square) - (rows.weight * a) @ dz)

    at_zero, low, high, length = abs(slope(0.0)), 0.0, 1.0, 1.0
    for _ in range(_HALVINGS):
        found = slope(length)
        if abs(found) <= _FLAT * at_zero or (length == 1.0 and found < 0):
            return length
        low, high = (length, high) if found < 0 else (low, length)
        length = 0.5 * (low + high)
    return length
