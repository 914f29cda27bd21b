"""The rows of an interior-point step: what is done number by number, each read from memory once.

Arrays have one row for p and, where α may be negative, a second one for m; see
``gapsvm.solvers.newton.interior`` for the letters.
"""

from __future__ import annotations

import numpy as np

from gapsvm.backends.numba.jit import kernel


@kernel
def barrier_terms(curve, point, z, t, weight, equations, omega):
    """What the Newton matrix and all right-hand sides are made of.

    Modified  equations.residual = ε − e·t + γu + e·z, equations.stiffness = γ + ζ/u + υ/(U − u),
              omega_i = s_i Σ 1/stiffness.
    Returns   Σ s_i (u·ζ + (U − u)·υ).
    """
    omega[:] = 0.0
    products = 0.0
    for side in range(len(point.u)):
        e = 1.0 - 2.0 * side
        uk, sk = point.u[side], point.slack[side]
        zk, vk = point.zeta[side], point.upsilon[side]
        rk, bk = equations.residual[side], equations.stiffness[side]
        for i in range(uk.size):
            rk[i] = curve.eps - e * t[i] + curve.curvature * uk[i] + e * z[i]
            bk[i] = curve.curvature + zk[i] / uk[i] + vk[i] / sk[i]
            omega[i] += weight[i] / bk[i]
        for i in range(uk.size):
            products += weight[i] * (uk[i] * zk[i] + sk[i] * vk[i])
    return products


@kernel
def barrier_pull(point, equations, aims, sign, weight, pull):
    """pull_i = σ_i s_i Σ e·(residual − lower/u + upper/(U − u))/stiffness: −Σ σ s dα at dz = 0.

    Modified  pull.
    """
    pull[:] = 0.0
    for side in range(len(point.u)):
        e = 1.0 - 2.0 * side
        uk, sk = point.u[side], point.slack[side]
        rk, bk = equations.residual[side], equations.stiffness[side]
        lk, hk = aims.lower[side], aims.upper[side]
        for i in range(pull.size):
            pull[i] += e * (rk[i] - lk[i] / uk[i] + hk[i] / sk[i]) / bk[i]
    for i in range(pull.size):
        pull[i] *= sign[i] * weight[i]


@kernel
def barrier_direction(point, equations, aims, dz, weight, bounded, move):
    """The rest of Newton's step, once its change of z is known.

    Given     bounded: 1 for the sides with a finite U, else 0.
    Modified  move.
    Returns   the step to the nearest boundary, and c₁, c₂: after a step of length a,
              Σ s_i (u·ζ + (U − u)·υ) has changed by c₁·a + c₂·a².
    """
    nearest = np.inf
    first = second = 0.0
    for side in range(len(point.u)):
        e, bound = 1.0 - 2.0 * side, bounded[side]
        uk, sk = point.u[side], point.slack[side]
        zk, vk = point.zeta[side], point.upsilon[side]
        rk, bk = equations.residual[side], equations.stiffness[side]
        lk, hk = aims.lower[side], aims.upper[side]
        duk, dzk, dvk = move.u[side], move.zeta[side], move.upsilon[side]
        for i in range(dz.size):
            to_lower, to_upper = lk[i] / uk[i], hk[i] / sk[i]
            step = -(rk[i] - to_lower + to_upper + e * dz[i]) / bk[i]
            duk[i] = step
            dzk[i] = to_lower - zk[i] - zk[i] / uk[i] * step
            dvk[i] = to_upper - vk[i] + vk[i] / sk[i] * step
        fastest = 0.0  # the largest relative fall: the step ends where its product with it is 1
        for i in range(dz.size):
            step, ds = duk[i], -bound * duk[i]
            fastest = max(fastest, -step / uk[i], -ds / sk[i], -dzk[i] / zk[i])
            if vk[i] > 0.0:
                fastest = max(fastest, -dvk[i] / vk[i])
            first += weight[i] * (uk[i] * dzk[i] + zk[i] * step + sk[i] * dvk[i] + vk[i] * ds)
            second += weight[i] * (step * dzk[i] + ds * dvk[i])
        if fastest > 0.0:
            nearest = min(nearest, 1.0 / fastest)
    return nearest, first, second


@kernel
def barrier_aims(point, move, bounded, length, least, most, aims):
    """Aim products that a step of that length brings below least or above most back there.

    None is lowered by more than most.  Modified in place: aims.
    """
    for side in range(len(point.u)):
        bound = bounded[side]
        uk, sk = point.u[side], point.slack[side]
        zk, vk = point.zeta[side], point.upsilon[side]
        duk, dzk, dvk = move.u[side], move.zeta[side], move.upsilon[side]
        lk, hk = aims.lower[side], aims.upper[side]
        for i in range(uk.size):
            product = (uk[i] + length * duk[i]) * (zk[i] + length * dzk[i])
            lk[i] += max(min(max(product, least), most) - product, -most)
            product = (sk[i] - length * bound * duk[i]) * (vk[i] + length * dvk[i])
            hk[i] += bound * max(min(max(product, least), most) - product, -most)
