"""The losses as kernels see them; ``gapsvm.losses`` is the definition they are tested against.

Three functions, because each costs a tenth of a second to compile on first use, and none calls
another, because Numba would compile the callee once more.
"""

# ruff: noqa: RET505 - an overload returns a different function on each branch
from __future__ import annotations

from math import copysign, exp, inf, log, log1p
from typing import Any

from numba.extending import overload, register_jitable

from gapsvm.losses import Logit

_INLINE = {"forceinline": True}


def _is_logit(loss: Any) -> bool:
    return getattr(loss, "instance_class", None) is Logit


def maximiser(loss, z, t):
    """a*(z), minus a subgradient of φ at z."""


def value_and_conjugate(loss, z, a, t):
    """φ(z) and φ*(−a); the latter is infinite outside [lo, hi]."""


def row_step(loss, a, z, t, q):
    """What SDCA wants of a row: how far a is from optimal, and the exact new a.

    The former is the violation of the dual derivative at a; negative: the slack of an a that is
    held, whose step is none.
    """


def is_free(loss, a):
    """Whether a is at no bound and no kink, so that it follows z wherever that goes."""


@register_jitable
def _sigmoid(u):
    """1/(1 + e^−u) without overflow, and exact near 0 and 1."""
    e = exp(-abs(u))
    return (1.0 if u >= 0 else e) / (1.0 + e)


@overload(maximiser, jit_options=_INLINE)
def _maximiser(loss, z, t):
    if _is_logit(loss):
        return lambda loss, z, t: _sigmoid(-z)
    else:

        def five(loss, z, t):
            pull = copysign(max(abs(t - z) - loss.eps, 0.0), t - z)
            if loss.gamma > 0:
                return min(max(pull / loss.gamma, loss.lo), loss.hi)
            return loss.hi if pull > 0 else (loss.lo if pull < 0 else 0.0)

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
            miss = abs(t - z) - loss.eps
            bound = loss.hi if t > z else -loss.lo
            if miss <= 0.0 or bound == 0.0:
                value = 0.0
            elif loss.gamma > 0.0 and miss < loss.gamma * bound:
                value = 0.5 * miss * miss / loss.gamma
            else:
                value = bound * (miss - 0.5 * loss.gamma * bound)
            if a < loss.lo or a > loss.hi:
                return value, inf
            return value, -t * a + loss.eps * abs(a) + 0.5 * loss.gamma * a * a

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
            # Newton on u + z + q(p − a) = 0 inside a bracket, as in ``gapsvm.losses``.  The first
            # step is from the logit of a, where p is known without an exponential.
            low, high = -z - q * (1.0 - a), -z + q * a
            last = high - low
            if a <= 0.0 or a >= 1.0:
                v, u = inf, 0.5 * (low + high)
            else:
                logit_a = log(a) - log1p(-a)
                v = abs(logit_a + z)
                u = logit_a - (logit_a + z) / (1.0 + q * a * (1.0 - a))
                u = min(max(u, low), high)
            for _ in range(loss.newton_steps):
                p = _sigmoid(u)
                excess = u + z + q * (p - a)
                if excess > 0:
                    high = u
                else:
                    low = u
                new = u - excess / (1.0 + q * p * (1.0 - p))
                if abs(new - u) <= 1e-8 * (1.0 + abs(u)):  # the next one would be its square
                    u = new
                    break
                if not (low < new < high and abs(new - u) < 0.5 * last):
                    new = 0.5 * (low + high)
                last = abs(new - u)
                u = new
            return v, _sigmoid(u)

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
