"""The compiled functions of ``FiveNumbers``; few, because each costs a tenth of a second at first.

See ``gapsvm.backends.numba.curves`` for what they return.
"""

from __future__ import annotations

from math import copysign, inf

from numba.extending import register_jitable

_ROUNDING = 4.5e-16  # two units in the last place
_TINY = 1e-300  # in place of no curvature at all: whatever pulls goes to a bound


@register_jitable(forceinline=True)
def _value(curve, z, t):
    miss = abs(t - z) - curve.eps
    bound = curve.hi if t > z else -curve.lo
    if miss < 0.0 or bound == 0.0:
        miss = 0.0
    if curve.curvature > 0.0 and miss < curve.curvature * bound:
        return 0.5 * miss * miss / curve.curvature
    return bound * (miss - 0.5 * curve.curvature * bound)


def maximiser(curve, z, t):
    miss = t - z
    if miss > curve.eps:
        pull = miss - curve.eps
        return pull / curve.curvature if pull < curve.curvature * curve.hi else curve.hi
    if miss < -curve.eps:
        pull = miss + curve.eps
        return pull / curve.curvature if pull > curve.curvature * curve.lo else curve.lo
    return 0.0


def bend(curve, z, t):
    miss = abs(t - z) - curve.eps
    bound = curve.hi if t > z else -curve.lo
    inside = miss > 0.0 or (curve.eps == 0.0 and curve.lo < 0.0)
    return 1.0 / curve.curvature if inside and miss < curve.curvature * bound else 0.0


def value_and_conjugate(curve, z, a, t):
    value = _value(curve, z, t)
    if a < curve.lo or a > curve.hi:
        return value, inf
    return value, -t * a + curve.eps * abs(a) + 0.5 * curve.curvature * a * a


def fenchel_gap(curve, z, a, t):
    tangent = a * (z - t) + curve.eps * abs(a) + 0.5 * curve.curvature * a * a
    return _value(curve, z, t) + tangent


def is_free(curve, a):
    return a != 0.0 and a != curve.lo and a != curve.hi


def row_step(curve, a, z, t, q):
    # Ifs, not min() and max(), each of which is one more function to compile.
    slope = t - z - curve.curvature * a
    right = slope - curve.eps if a >= 0 else slope + curve.eps
    left = slope - curve.eps if a > 0 else slope + curve.eps
    v = right if a < curve.hi else -inf
    if a > curve.lo and -left > v:
        v = -left
    if v <= 0.0:
        return v, a
    target = t - z + q * a
    if abs(target) <= curve.eps:
        return v, 0.0
    pull = target - copysign(curve.eps, target)
    curvature = curve.curvature + q
    if pull >= curvature * curve.hi:  # also a zero row without smoothing
        return v, curve.hi
    if pull <= curvature * curve.lo:
        return v, curve.lo
    return v, pull / curvature


def batch_step(curve, a, z, t, q):
    target = t - z + q * a
    over, under = target - curve.eps, target + curve.eps
    pull = over if over > 0.0 else (under if under < 0.0 else 0.0)
    curvature = curve.curvature + q
    new = pull / (curvature if curvature > _TINY else _TINY)
    new = new if new < curve.hi else curve.hi
    new = new if new > curve.lo else curve.lo
    return new if abs(new - a) > _ROUNDING * abs(a) else a
