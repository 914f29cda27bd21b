"""The best unpenalised bias for given margins: a weighted quantile, or the root of a slope.

P(b) = Σ s_i φ(σ_i(m_i + b)) has slope −h(b), h(b) = Σ s_i σ_i a*(σ_i(m_i + b)), and h never
increases.  For losses with γ = 0 it is a staircase and the minimiser is found exactly among its
steps; otherwise it is continuous and a bracketed root finder does it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.losses.base import Curve
from gapsvm.types.curves import FiveNumbers

_SORT_AT_ONCE = 8192
_ROOT_STEPS = 500


def best_bias(
    curve: Curve, margins: Any, sign: Any, t: Any, weight: Any, guess: float = 0.0
) -> float:
    """argmin_b Σ weight_i φ(sign_i(margins_i + b)); the middle of the interval if many are.

    sign, t and weight are arrays as long as margins, or of one number that holds for all.
    """
    if margins.size == 0:
        return 0.0
    if isinstance(curve, FiveNumbers) and curve.gamma == 0.0:
        return _staircase_bias(curve, margins, sign, t, weight)

    def slope(b: float) -> float:
        return float(np.sum(weight * sign * curve.maximiser(sign * (margins + b), t)))

    # No row pulls, or all pull the same way, beyond this: a guess from there, as a first step of
    # 1/λ may give, would leave a bracket of many orders of magnitude.
    reach = float(np.max(np.abs(margins)) + np.max(np.abs(t)) + getattr(curve, "eps", 0.0))
    guess = min(max(guess, -reach), reach) if np.isfinite(guess) else 0.0
    return _flat_middle(slope, guess, flat=1e-13 * float(np.sum(weight * np.ones(margins.size))))


def _staircase_bias(curve: FiveNumbers, margins: Any, sign: Any, t: Any, weight: Any) -> float:
    """h falls by s_i·hi where t − z_i = ε and by −s_i·lo where t − z_i = −ε."""
    weight = np.broadcast_to(weight, margins.shape)
    points = [sign * (t - curve.eps) - margins]
    falls = [weight * curve.hi]
    at_minus_infinity = float(np.sum(weight * np.where(sign > 0, curve.hi, -curve.lo)))
    if curve.lo < 0:
        points.append(sign * (t + curve.eps) - margins)
        falls.append(weight * -curve.lo)
    return _crossing(np.concatenate(points), np.concatenate(falls), at_minus_infinity)


def _crossing(points: Any, falls: Any, height: float) -> float:
    """Where a staircase that starts at ``height`` and falls at ``points`` crosses zero."""
    keep = falls > 0
    if not keep.all():
        points, falls = points[keep], falls[keep]
    if points.size == 0:
        return 0.0
    if points.size > _SORT_AT_ONCE:
        points, falls, height = _narrowed(points, falls, height)
    order = np.argsort(points, kind="stable")
    points, after = points[order], height - np.cumsum(falls[order])
    rounding = 1e-12 * (abs(height) + falls.sum())
    first = min(int(np.searchsorted(-after, -rounding)), points.size - 1)
    last = int(np.searchsorted(-after, rounding, side="right"))
    if first == last or last >= points.size:
        return float(points[first])
    return float(0.5 * (points[first] + points[last]))


def _narrowed(points: Any, falls: Any, height: float) -> tuple[Any, Any, float]:
    """The steps near the crossing, found from a sample; all of them if the sample misleads."""
    step = points.size // 2048
    sample = np.argsort(points[::step], kind="stable")
    falls_before = np.cumsum(falls[::step][sample])
    place = np.searchsorted(falls_before, height * falls_before[-1] / falls.sum())
    low = points[::step][sample[max(place - 120, 0)]]
    high = points[::step][sample[min(place + 120, sample.size - 1)]]
    below, above = points < low, points > high
    height_at_low = height - float(falls[below].sum())
    inside = ~(below | above)
    if height_at_low <= 0 or height_at_low - falls[inside].sum() >= 0:
        return points, falls, height
    return points[inside], falls[inside], height_at_low


def _flat_middle(slope: Any, guess: float, flat: float) -> float:
    """Zero of a nonincreasing function; the middle of the interval where |slope| ≤ flat.

    An interval that never ends counts by the end it has.
    """
    zero = _root(slope, guess)
    if zero is None:
        return guess
    near = 1e-6 * (1.0 + abs(zero))
    left: float | None = zero
    right: float | None = zero
    if abs(slope(zero - near)) <= flat:
        left = _root(lambda b: slope(b) - flat, zero)
    if abs(slope(zero + near)) <= flat:
        right = _root(lambda b: slope(b) + flat, zero)
    ends = [end for end in (left, right) if end is not None]
    return sum(ends) / len(ends) if ends else zero


def _root(slope: Any, guess: float) -> float | None:
    """Zero of a nonincreasing function, from a bracket that grows around the guess."""
    from scipy.optimize import brentq  # a quarter of a second, which most fits do not need

    at_guess = slope(guess)
    if at_guess == 0.0:
        return guess
    direction = 1.0 if at_guess > 0 else -1.0
    width, near = 1e-3 * (1.0 + abs(guess)), guess
    for _ in range(40):
        far = near + direction * width
        at_far = slope(far)
        if at_far == 0.0:
            return far
        if at_far * direction < 0:
            # Any b has a certificate, so the best one in sight will do should it not converge.
            return float(
                brentq(slope, near, far, xtol=1e-15, rtol=1e-14, maxiter=_ROOT_STEPS, disp=False)
            )
        near, width = far, 4.0 * width
    return None
