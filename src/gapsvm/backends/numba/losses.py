"""The losses as kernels see them; ``gapsvm.types.curves`` is the definition they are tested by.

Few functions, because each costs a tenth of a second to compile on first use.
"""

# ruff: noqa: RET505 - an overload returns a different function on each branch
from __future__ import annotations

from math import copysign, exp, inf, log, log1p
from typing import Any

from numba.extending import overload, register_jitable

from gapsvm.types.curves import Logit

_INLINE = {"forceinline": True}
_ROUNDING = 4.5e-16  # two units in the last place
_TINY = 1e-300  # in place of no curvature at all: whatever pulls goes to a bound


def _is_logit(loss: Any) -> bool:
    return getattr(loss, "instance_class", None) is Logit


def maximiser(loss, z, t):
    """a*(z), minus a subgradient of φ at z."""


def value_and_conjugate(loss, z, a, t):
    """φ(z) and φ*(−a); the latter is infinite outside [lo, hi]."""


def fenchel_gap(loss, z, a, t):
    """φ(z) + φ*(−a) + a·z, what the row adds to the duality gap."""


def row_step(loss, a, z, t, q):
    """What SDCA wants of a row: how far a is from optimal, and the exact new a.

    The former is the violation of the dual derivative at a; negative: the slack of an a that is
    held, whose step is none.
    """


def batch_step(loss, a, z, t, q):
    """The new a of ``row_step``, without branches on what a row brings: guesses cost more.

    What differs from a by rounding alone is a.
    """


def is_free(loss, a):
    """Whether a is at no bound and no kink, so that it follows z wherever that goes."""


@register_jitable
def _sigmoid(u):
    """1/(1 + e^−u) without overflow, and exact near 0 and 1."""
    e = exp(-abs(u))
    return (1.0 if u >= 0 else e) / (1.0 + e)


@register_jitable(**_INLINE)
def _value(loss, z, t):
    """φ(z) of the five numbers."""
    miss = abs(t - z) - loss.eps
    bound = loss.hi if t > z else -loss.lo
    if miss < 0.0 or bound == 0.0:
        miss = 0.0
    if loss.gamma > 0.0 and miss < loss.gamma * bound:
        return 0.5 * miss * miss / loss.gamma
    return bound * (miss - 0.5 * loss.gamma * bound)


@overload(maximiser, jit_options=_INLINE)
def _maximiser(loss, z, t):
    if _is_logit(loss):
        return lambda loss, z, t: _sigmoid(-z)
    else:

        def five(loss, z, t):
            miss = t - z
            if miss > loss.eps:
                pull = miss - loss.eps
                return pull / loss.gamma if pull < loss.gamma * loss.hi else loss.hi
            if miss < -loss.eps:
                pull = miss + loss.eps
                return pull / loss.gamma if pull > loss.gamma * loss.lo else loss.lo
            return 0.0

        return five


@overload(value_and_conjugate, jit_options=_INLINE)
def _value_and_conjugate(loss, z, a, t):
    if _is_logit(loss):

        def logit(loss, z, a, t):
            value = log1p(exp(-abs(z))) + max(-z, 0.0)
            if a < 0 or a > 1:
                return value, inf
            entropy = a * log(a) if a > 0 else 0.0
            if a < 1:
                entropy += (1 - a) * log1p(-a)
            return value, entropy

        return logit
    else:

        def five(loss, z, a, t):
            value = _value(loss, z, t)
            if a < loss.lo or a > loss.hi:
                return value, inf
            return value, -t * a + loss.eps * abs(a) + 0.5 * loss.gamma * a * a

        return five


@overload(fenchel_gap, jit_options=_INLINE)
def _fenchel_gap(loss, z, a, t):
    if _is_logit(loss):

        def logit(loss, z, a, t):
            # How much log(1 + e^−z) is above its tangent at the logit of a; near there by a series,
            # which needs no logarithm, loses no digits, and errs by less than 1e-10 of the whole.
            logit_a = log(a / (1.0 - a))
            d = -z - logit_a
            if abs(d) < 0.04:
                s, r = a * (1.0 - a), 1.0 - 2.0 * a
                tail = (1.0 - 6.0 * s) / 24.0 + d * r * (1.0 - 12.0 * s) / 120.0
                tail += d * d * (1.0 - 30.0 * s * (1.0 - 4.0 * s)) / 720.0
                return s * d * d * (0.5 + d * (r / 6.0 + d * tail))
            e = exp(-abs(z))
            if 0.0 < a < 1.0:
                return max(-z, 0.0) + log1p(e - a * (1.0 + e)) - a * d
            return max(-z, 0.0) + log1p(e) + a * z if a == 0.0 or a == 1.0 else inf

        return logit
    else:

        def five(loss, z, a, t):
            tangent = a * (z - t) + loss.eps * abs(a) + 0.5 * loss.gamma * a * a
            return _value(loss, z, t) + tangent

        return five


@overload(is_free, jit_options=_INLINE)
def _is_free(loss, a):
    if _is_logit(loss):
        return lambda loss, a: True
    else:
        return lambda loss, a: a != 0.0 and a != loss.lo and a != loss.hi


@overload(row_step, jit_options=_INLINE)
def _row_step(loss, a, z, t, q):
    if _is_logit(loss):

        def logit(loss, a, z, t, q):
            # u + z + q(p − a) = 0 by Householder's method of order four, whose derivatives need no
            # more than p, inside a bracket.  At the logit of a, where it begins, p is known.
            u, p = log(a / (1.0 - a)), a
            v = abs(u + z)
            low, high = max(min(u, -z), -z - q), min(max(u, -z), -z + q)
            last = inf
            if v == inf:
                u, p = -z, _sigmoid(-z)
            for _ in range(loss.newton_steps):
                s, r = p * (1.0 - p), 1.0 - 2.0 * p
                f, f1 = u + z + q * (p - a), 1.0 + q * s
                f2, f3 = q * s * r, q * s * (1.0 - 6.0 * s)
                step = -f * (f1 * f1 - 0.5 * f * f2) / (f1 * (f1 * f1 - f * f2) + f * f * f3 / 6.0)
                if abs(f) <= 1e-3 * f1:  # of a short step the error is its fourth power
                    bend = 0.5 * r + step * (1.0 - 6.0 * s) / 6.0
                    bend += step * step * r * (1.0 - 12.0 * s) / 24.0
                    return v, p + s * step * (1.0 + step * bend)
                if f > 0:
                    high = min(u, high)
                else:
                    low = max(u, low)
                step = min(max(u + step, low), high) - u
                if not 0.0 < abs(step) < 0.5 * last:
                    step = 0.5 * (low + high) - u
                last = abs(step)
                u += step
                p = _sigmoid(u)
            return v, p

        return logit
    else:

        def five(loss, a, z, t, q):
            # Ifs, not min() and max(), each of which is one more function to compile.
            slope = t - z - loss.gamma * a
            right = slope - loss.eps if a >= 0 else slope + loss.eps
            left = slope - loss.eps if a > 0 else slope + loss.eps
            v = right if a < loss.hi else -inf
            if a > loss.lo and -left > v:
                v = -left
            if v <= 0.0:
                return v, a
            target = t - z + q * a
            if abs(target) <= loss.eps:
                return v, 0.0
            pull = target - copysign(loss.eps, target)
            curvature = loss.gamma + q
            if pull >= curvature * loss.hi:  # also a zero row without smoothing
                return v, loss.hi
            if pull <= curvature * loss.lo:
                return v, loss.lo
            return v, pull / curvature

        return five


@overload(batch_step, jit_options=_INLINE)
def _batch_step(loss, a, z, t, q):
    if _is_logit(loss):
        return lambda loss, a, z, t, q: row_step(loss, a, z, t, q)[1]
    else:

        def five(loss, a, z, t, q):
            target = t - z + q * a
            over, under = target - loss.eps, target + loss.eps
            pull = over if over > 0.0 else (under if under < 0.0 else 0.0)
            curvature = loss.gamma + q
            new = pull / (curvature if curvature > _TINY else _TINY)
            new = new if new < loss.hi else loss.hi
            new = new if new > loss.lo else loss.lo
            return new if abs(new - a) > _ROUNDING * abs(a) else a

        return five
