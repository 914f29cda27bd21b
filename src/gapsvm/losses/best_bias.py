"""The best unpenalised bias for given margins: a weighted quantile, or the root of a slope.

P(b) = Σ s_i φ(σ_i(m_i + b)) has slope −h(b), h(b) = Σ s_i σ_i a*(σ_i(m_i + b)), and h never
increases.  For losses with γ = 0 it is a staircase and the minimiser is found exactly among its
steps; otherwise it is continuous and a bracketed root finder does it.

Rows come in parts, and all that is asked of a part are sums, largest values, a sample and, in the
end, the few steps near the crossing: nobody needs all margins in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gapsvm.losses.base import Curve
from gapsvm.types.curves import FiveNumbers

_SORT_AT_ONCE = 8192
_ROOT_STEPS = 500


class Part(NamedTuple):
    """Some rows: ⟨x_i, w⟩, σ_i, t_i and s_i.

    The last three are as long as the margins, or of one number that holds for all.
    """

    margins: Any
    sign: Any
    t: Any
    weight: Any


def loss_sum(curve: Curve, parts: Sequence[Part], bias: float) -> float:
    """Σ s_i φ(z_i); NumPy, since a compiled loop would cost more to compile than it ever saves."""

    def of(part: Part) -> float:
        values = curve.value(part.sign * (part.margins + bias), part.t)
        return float(np.sum(part.weight * values))

    return sum(of(part) for part in parts)


def best_bias(curve: Curve, parts: Sequence[Part], guess: float = 0.0) -> float:
    """argmin_b Σ s_i φ(σ_i(m_i + b)); the middle of the interval if many are."""
    parts = [part for part in parts if part.margins.size]
    if not parts:
        return 0.0
    if isinstance(curve, FiveNumbers) and curve.curvature == 0.0:
        steps = [_steps(curve, part) for part in parts]
        return _crossing(steps, sum(_at_minus_infinity(curve, part) for part in parts))

    def slope(b: float) -> float:
        return sum(_slope(curve, part, b) for part in parts)

    # No row pulls, or all pull the same way, beyond this: a guess from there, as a first step of
    # 1/λ may give, would leave a bracket of many orders of magnitude.
    reach = max(_reach(curve, part) for part in parts)
    guess = min(max(guess, -reach), reach) if np.isfinite(guess) else 0.0
    mass = sum(float(np.sum(part.weight * np.ones(part.margins.size))) for part in parts)
    return _flat_middle(slope, guess, flat=1e-13 * mass)


def _slope(curve: Curve, part: Part, b: float) -> float:
    """What the rows add to h(b)."""
    margins, sign, t, weight = part
    return float(np.sum(weight * sign * curve.maximiser(sign * (margins + b), t)))


def _reach(curve: Curve, part: Part) -> float:
    farthest = np.max(np.abs(part.margins)) + np.max(np.abs(part.t))
    return float(farthest + getattr(curve, "eps", 0.0))


_Steps = tuple[Any, Any]
"""Where a staircase falls, and by how much."""


def _steps(curve: FiveNumbers, part: Part) -> _Steps:
    """h falls by s_i·hi where t − z_i = ε and by −s_i·lo where t − z_i = −ε."""
    margins, sign, t, weight = part
    weight = _of_each(weight, margins)
    points = [sign * (t - curve.eps) - margins]
    falls = [weight * curve.hi]
    if curve.lo < 0:
        points.append(sign * (t + curve.eps) - margins)
        falls.append(weight * -curve.lo)
    return _kept(np.concatenate(points), np.concatenate(falls))


def _at_minus_infinity(curve: FiveNumbers, part: Part) -> float:
    weight = _of_each(part.weight, part.margins)
    return float(np.sum(weight * np.where(part.sign > 0, curve.hi, -curve.lo)))


def _of_each(weight: Any, margins: Any) -> Any:
    """One weight a row; ``np.broadcast_to`` costs more than the array of a small problem."""
    return weight if weight.size == margins.size else np.full(margins.shape, weight[0])


def _kept(points: Any, falls: Any) -> _Steps:
    """Without the steps that are none."""
    keep = falls > 0
    return (points, falls) if keep.all() else (points[keep], falls[keep])


def _together(steps: Sequence[_Steps]) -> _Steps:
    points, falls = zip(*steps)
    return np.concatenate(points), np.concatenate(falls)


def _crossing(steps: Sequence[_Steps], height: float) -> float:
    """Where a staircase that starts at ``height`` crosses zero."""
    size = sum(points.size for points, _ in steps)
    if size == 0:
        return 0.0
    if size > _SORT_AT_ONCE:
        steps, height = _narrowed(steps, size, height)
    points, falls = _together(steps)
    order = np.argsort(points, kind="stable")
    points, after = points[order], height - np.cumsum(falls[order])
    rounding = 1e-12 * (abs(height) + falls.sum())
    first = min(int(np.searchsorted(-after, -rounding)), points.size - 1)
    last = int(np.searchsorted(-after, rounding, side="right"))
    if first == last or last >= points.size:
        return float(points[first])
    return float(0.5 * (points[first] + points[last]))


def _narrowed(steps: Sequence[_Steps], size: int, height: float) -> tuple[Sequence[_Steps], float]:
    """The steps near the crossing, found from a sample; all of them if the sample misleads."""
    every = size // 2048
    points, falls = _together([(points[::every], falls[::every]) for points, falls in steps])
    sample = np.argsort(points, kind="stable")
    falls_before = np.cumsum(falls[sample])
    total = sum(falls.sum() for _, falls in steps)
    place = np.searchsorted(falls_before, height * falls_before[-1] / total)
    low = points[sample[max(place - 120, 0)]]
    high = points[sample[min(place + 120, sample.size - 1)]]
    near = [_between(points, falls, low, high) for points, falls in steps]
    height_at_low = height - sum(below for _, below in near)
    inside = [part for part, _ in near]
    if height_at_low <= 0 or height_at_low - sum(falls.sum() for _, falls in inside) >= 0:
        return steps, height
    return inside, height_at_low


def _between(points: Any, falls: Any, low: float, high: float) -> tuple[_Steps, float]:
    """The steps from low to high, and how far the staircase falls below."""
    below, above = points < low, points > high
    inside = ~(below | above)
    return (points[inside], falls[inside]), float(falls[below].sum())


def _flat_middle(slope: Any, guess: float, flat: float) -> float:
    """Zero of a nonincreasing function; the middle of the interval where |slope| ≤ flat.

    An interval that never ends counts by the end it has.
    """
    zero = _root(slope, guess, 0.01 * flat)
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


def _root(slope: Any, guess: float, rounding: float = 0.0) -> float | None:
    """Zero of a nonincreasing function, from a bracket that grows around the guess; the guess
    where it is no farther from one than rounding goes."""
    at_guess = slope(guess)
    if abs(at_guess) <= rounding:
        return guess
    from scipy.optimize import brentq  # a quarter of a second, which most fits do not need

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
