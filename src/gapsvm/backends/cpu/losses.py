"""The losses as kernels see them; ``gapsvm.losses`` is the definition they are tested against."""

# ruff: noqa: RET505 - an overload returns a different function on each branch
from __future__ import annotations

from math import copysign, exp, inf, log, log1p
from typing import Any

from numba import types
from numba.extending import overload, register_jitable

from gapsvm.losses import Logit


def _is_logit(loss: Any) -> bool:
    return isinstance(loss, types.NamedTuple) and loss.instance_class is Logit


def maximiser(loss, z, t):
    """a*(z), minus a subgradient of φ at z."""


def loss_value(loss, z, t):
    """φ(z)."""


def conjugate(loss, a, t):
    """φ*(−a), infinite outside [lo, hi]."""


def dual_step(loss, a, z, t, q):
    """The exact maximiser of −φ*(−a⁺) − z(a⁺ − a) − (q/2)(a⁺ − a)²."""


def violation(loss, a, z, t):
    """How far the dual derivative at a is from optimal; negative: the slack of a stuck a."""


@register_jitable(forceinline=True)
def _soft(x, eps):
    return copysign(max(abs(x) - eps, 0.0), x)


@register_jitable
def sigmoid(u):
    """1/(1 + e^−u) without overflow, and exact near 0 and 1."""
    if u >= 0:
        return 1.0 / (1.0 + exp(-u))
    e = exp(u)
    return e / (1.0 + e)


@overload(maximiser, jit_options={"forceinline": True})
def _maximiser(loss, z, t):
    if _is_logit(loss):
        return lambda loss, z, t: sigmoid(-z)
    else:

        def five(loss, z, t):
            pull = _soft(t - z, loss.eps)
            if loss.gamma > 0:
                return min(max(pull / loss.gamma, loss.lo), loss.hi)
            if pull > 0:
                return loss.hi
            if pull < 0:
                return loss.lo
            return 0.0

        return five


@overload(loss_value, jit_options={"forceinline": True})
def _loss_value(loss, z, t):
    if _is_logit(loss):

        def logit(loss, z, t):
            return log1p(exp(-z)) if z > 0 else log1p(exp(z)) - z

        return logit
    else:

        def five(loss, z, t):
            a = maximiser(loss, z, t)
            return (t - z) * a - loss.eps * abs(a) - 0.5 * loss.gamma * a * a

        return five


@overload(conjugate, jit_options={"forceinline": True})
def _conjugate(loss, a, t):
    if _is_logit(loss):

        def logit(loss, a, t):
            if a < 0 or a > 1:
                return inf
            entropy = 0.0
            if a > 0:
                entropy += a * log(a)
            if a < 1:
                entropy += (1 - a) * log1p(-a)
            return entropy

        return logit
    else:

        def five(loss, a, t):
            if a < loss.lo or a > loss.hi:
                return inf
            return -t * a + loss.eps * abs(a) + 0.5 * loss.gamma * a * a

        return five


@overload(dual_step, jit_options={"forceinline": True})
def _dual_step(loss, a, z, t, q):
    if _is_logit(loss):

        def logit(loss, a, z, t, q):
            low, high = -z - q * (1.0 - a), -z + q * a
            u = 0.5 * (low + high)
            for _ in range(loss.newton_steps):
                p = sigmoid(u)
                excess = u + z + q * (p - a)
                if excess > 0:
                    high = u
                else:
                    low = u
                new = u - excess / (1.0 + q * p * (1.0 - p))
                if not (low <= new <= high):
                    new = 0.5 * (low + high)
                if abs(new - u) <= 1e-15 * (1.0 + abs(u)):
                    break
                u = new
            return sigmoid(u)

        return logit
    else:

        def five(loss, a, z, t, q):
            pull = _soft(t - z + q * a, loss.eps)
            curvature = loss.gamma + q
            if curvature == 0.0:  # a zero row and no smoothing: its bound at once
                if pull == 0.0:
                    return a
                return loss.hi if pull > 0 else loss.lo
            return min(max(pull / curvature, loss.lo), loss.hi)

        return five


@overload(violation, jit_options={"forceinline": True})
def _violation(loss, a, z, t):
    if _is_logit(loss):

        def logit(loss, a, z, t):
            if a <= 0.0 or a >= 1.0:
                return inf
            return abs(log(a) - log1p(-a) + z)

        return logit
    else:

        def five(loss, a, z, t):
            slope = t - z - loss.gamma * a
            right = slope - loss.eps if a >= 0 else slope + loss.eps
            left = slope - loss.eps if a > 0 else slope + loss.eps
            up = right if a < loss.hi else -inf
            down = -left if a > loss.lo else -inf
            return max(up, down)

        return five
