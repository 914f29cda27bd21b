"""The compiled functions of ``Logit``.

See ``gapsvm.backends.numba.curves`` for what they return.
"""

from __future__ import annotations

from math import exp, inf, log, log1p

from numba.extending import register_jitable


@register_jitable
def _sigmoid(u):
    """1/(1 + e^−u) without overflow, and exact near 0 and 1."""
    e = exp(-abs(u))
    return (1.0 if u >= 0 else e) / (1.0 + e)


def maximiser(curve, z, t):
    return _sigmoid(-z)


def bend(curve, z, t):
    p = _sigmoid(-z)
    return p * (1.0 - p)


def value_and_conjugate(curve, z, a, t):
    value = log1p(exp(-abs(z))) + max(-z, 0.0)
    if a < 0 or a > 1:
        return value, inf
    entropy = a * log(a) if a > 0 else 0.0
    if a < 1:
        entropy += (1 - a) * log1p(-a)
    return value, entropy


def fenchel_gap(curve, z, a, t):
    # How much log(1 + e^−z) is above its tangent at the logit of a; near there by a series, which
    # needs no logarithm, loses no digits, and errs by less than 1e-10 of the whole.
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


def row_step(curve, a, z, t, q):
    # u + z + q(p − a) = 0 by Householder's method of order four, whose derivatives need no more
    # than p, inside a bracket.  At the logit of a, where it begins, p is known.
    u, p = log(a / (1.0 - a)), a
    v = abs(u + z)
    low, high = max(min(u, -z), -z - q), min(max(u, -z), -z + q)
    last = inf
    if v == inf:
        u, p = -z, _sigmoid(-z)
    for _ in range(curve.newton_steps):
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
