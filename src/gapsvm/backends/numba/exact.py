"""Small problems without smoothing, solved exactly, in one call: the letters are those of
``gapsvm.solvers.newton.exact``.

Arrays of sides have one row for p and, where α may be negative, a second one for m.
"""

from __future__ import annotations

import numpy as np

from gapsvm.backends.memory import empty, zeros
from gapsvm.backends.numba.exact_face import solve_face
from gapsvm.backends.numba.exact_judge import keep_better, note_end
from gapsvm.backends.numba.jit import finite_kernel, summing_kernel
from gapsvm.backends.numba.small_algebra import (
    cholesky,
    small_margins,
    small_mean,
    small_normal_matrix,
    small_step,
)
from gapsvm.types.exact import ENDED, SINCE, STEPS, ExactRoom, most_free

_TO_BOUNDARY = 0.995
_CORRECTORS, _LONG, _LONGER = 3, 0.7, 1.05
_FARTHER, _FARTHER_BY, _LEAST, _MOST = 1.3, 0.3, 0.1, 10.0
_NEAR = 1e-3
_EVERY = 8
_TILE, _LONGEST = 8192, 512  # values of a tile, which are to stay in the cache, and its rows


def exact_room(features: int, rows: int, sides: int) -> ExactRoom:
    """Room for a problem of that size; no sides where the loss is smooth."""
    of_sides = empty((9, sides, rows))
    padded = -(-features // 4) * 4
    block = max(64, min(-(-rows // 8) * 8, _TILE // padded // 8 * 8, _LONGEST))
    of_rows = empty((6, max(-(-rows // 8) * 8, block)))[:, :rows]
    most = min(most_free(features), rows) if sides else 0
    return ExactRoom(
        *of_sides,
        *of_rows,
        *empty((4, features + 1)),
        matrix=empty((padded, padded)),
        tile=zeros((padded, block)),
        face=empty((most, most)),
        aims=empty((3, most)),
        members=empty((most, features)),
        order=empty(most, np.int64),
    )


@finite_kernel
def _terms(point, weight, room):
    """1/u, 1/(U − u), 1/B and Ω.  Returns Σ s(u·ζ + (U − u)·υ)."""
    omega, products = room.omega, 0.0
    for i in range(omega.size):
        omega[i] = 0.0
    for side in range(len(point.u)):
        u, slack, zeta, upsilon = (
            point.u[side],
            point.slack[side],
            point.zeta[side],
            point.upsilon[side],
        )
        by_u, by_slack, softness = room.by_u[side], room.by_slack[side], room.softness[side]
        for i in range(omega.size):
            a, b = 1.0 / u[i], 1.0 / slack[i]
            by_u[i], by_slack[i] = a, b
            softness[i] = 1.0 / (zeta[i] * a + upsilon[i] * b)
            omega[i] += weight[i] * softness[i]
            products += weight[i] * (u[i] * zeta[i] + slack[i] * upsilon[i])
    return products


@finite_kernel
def _pulls(rows, point, room):
    """c, what the rows pull by."""
    c = room.c
    for i in range(c.size):
        c[i] = 0.0
    for side in range(len(point.u)):
        e = 1.0 - 2.0 * side
        u, residual = point.u[side], point.residual[side]
        by_u, by_slack, softness = room.by_u[side], room.by_slack[side], room.softness[side]
        lower, upper = room.lower[side], room.upper[side]
        for i in range(c.size):
            pull = residual[i] - lower[i] * by_u[i] + upper[i] * by_slack[i]
            c[i] += e * (u[i] - pull * softness[i])
    for i in range(c.size):
        c[i] *= rows.sign[i] * rows.weight[i]


@finite_kernel
def _changes(point, weight, room):
    """The change of u, once that of z is known.

    Returns   the largest relative fall, and c₁, c₂: after a step of length a,
              Σ s(u·ζ + (U − u)·υ) has changed by c₁·a + c₂·a².
    """
    fastest = first = second = 0.0
    dz = room.dz
    for side in range(len(point.u)):
        e = 1.0 - 2.0 * side
        u, slack, zeta = point.u[side], point.slack[side], point.zeta[side]
        upsilon, residual, du = point.upsilon[side], point.residual[side], room.du[side]
        by_u, by_slack, softness = room.by_u[side], room.by_slack[side], room.softness[side]
        lower, upper = room.lower[side], room.upper[side]
        for i in range(dz.size):
            low, high = lower[i] * by_u[i], upper[i] * by_slack[i]
            step = -(residual[i] - low + high + e * dz[i]) * softness[i]
            dzeta = low - zeta[i] - zeta[i] * step * by_u[i]
            dupsilon = high - upsilon[i] + upsilon[i] * step * by_slack[i]
            du[i] = step
            of_u = max(-step * by_u[i], step * by_slack[i])
            fastest = max(fastest, max(of_u, max(-dzeta / zeta[i], -dupsilon / upsilon[i])))
            change = step * (zeta[i] - upsilon[i]) + u[i] * dzeta + slack[i] * dupsilon
            first += weight[i] * change
            second += weight[i] * step * (dzeta - dupsilon)
    return fastest, first, second


@finite_kernel
def _aim(point, room, goal):
    """Products of the goal, less the second-order terms of the step in room.du."""
    for side in range(len(point.u)):
        zeta, upsilon, du = point.zeta[side], point.upsilon[side], room.du[side]
        by_u, by_slack = room.by_u[side], room.by_slack[side]
        lower, upper = room.lower[side], room.upper[side]
        for i in range(du.size):
            lower[i] = goal + du[i] * zeta[i] * (1.0 + du[i] * by_u[i])
            upper[i] = goal - du[i] * upsilon[i] * (1.0 - du[i] * by_slack[i])


@finite_kernel
def _aim_back(point, room, length, goal):
    """Products that a step of that length brings far from the goal are aimed back (Gondzio)."""
    least, most = _LEAST * goal, _MOST * goal
    for side in range(len(point.u)):
        u, slack, zeta = point.u[side], point.slack[side], point.zeta[side]
        upsilon, du = point.upsilon[side], room.kept_du[side]
        by_u, by_slack = room.by_u[side], room.by_slack[side]
        lower, upper = room.lower[side], room.upper[side]
        for i in range(du.size):
            low, high = lower[i] * by_u[i], upper[i] * by_slack[i]
            dzeta = low - zeta[i] - zeta[i] * du[i] * by_u[i]
            dupsilon = high - upsilon[i] + upsilon[i] * du[i] * by_slack[i]
            below = (u[i] + length * du[i]) * (zeta[i] + length * dzeta)
            above = (slack[i] - length * du[i]) * (upsilon[i] + length * dupsilon)
            lower[i] += max(min(max(below, least), most) - below, -most)
            upper[i] += max(min(max(above, least), most) - above, -most)


@finite_kernel
def _keep(room):
    """The step in room.du is the best so far."""
    for side in range(len(room.du)):
        for i in range(room.dz.size):
            room.kept_du[side, i] = room.du[side, i]
            room.kept_lower[side, i] = room.lower[side, i]
            room.kept_upper[side, i] = room.upper[side, i]
    for i in range(room.dz.size):
        room.kept_dz[i] = room.dz[i]
    for j in range(room.dw.size):
        room.kept_dw[j] = room.dw[j]


@finite_kernel
def _move(point, weight, room, length):
    """Take the best step, so much of it.  Returns Σ s(u·ζ + (U − u)·υ) after it."""
    products = 0.0
    for j in range(point.w.size):
        point.w[j] += length * room.kept_dw[j]
    for side in range(len(point.u)):
        e, dz = 1.0 - 2.0 * side, room.kept_dz
        u, slack, zeta = point.u[side], point.slack[side], point.zeta[side]
        upsilon, residual, du = point.upsilon[side], point.residual[side], room.kept_du[side]
        by_u, by_slack = room.by_u[side], room.by_slack[side]
        lower, upper = room.kept_lower[side], room.kept_upper[side]
        for i in range(dz.size):
            step = du[i]
            dzeta = lower[i] * by_u[i] - zeta[i] - zeta[i] * step * by_u[i]
            dupsilon = upper[i] * by_slack[i] - upsilon[i] + upsilon[i] * step * by_slack[i]
            p, q = u[i] + length * step, slack[i] - length * step
            g, h = zeta[i] + length * dzeta, upsilon[i] + length * dupsilon
            u[i], slack[i], zeta[i], upsilon[i] = p, q, g, h
            residual[i] += length * e * dz[i]
            products += weight[i] * (p * g + q * h)
    return products


@summing_kernel
def _clip(curve, alpha):
    """Bring α into its box."""
    for i in range(alpha.size):
        alpha[i] = min(max(alpha[i], curve.lo), curve.hi)


@summing_kernel
def _direction(rows, point, sigma, room):
    """Towards the products in room.lower and room.upper; what ``_changes`` returns."""
    _pulls(rows, point, room)
    small_step(rows, room.c, point.w, sigma, room, room.dw)
    small_margins(rows.columns, room.dw, rows.sign, room.dz)
    return _changes(point, rows.weight, room)


@summing_kernel
def _combined(rows, point, products, sigma, room):
    """Mehrotra's step, and Gondzio's correctors as long as each makes it longer; its reach."""
    pairs = 2 * len(point.u) * rows.total
    for side in range(len(point.u)):
        for i in range(room.dz.size):
            room.lower[side, i] = room.upper[side, i] = 0.0
    fastest, first, second = _direction(rows, point, sigma, room)
    a = min(1.0, 1.0 / fastest) if fastest > 0.0 else 1.0
    mu, after = products / pairs, (products + (first + second * a) * a) / pairs
    goal = (after / mu) ** 3 * mu
    _aim(point, room, goal)
    fastest, _, _ = _direction(rows, point, sigma, room)
    reach = 1.0 / fastest if fastest > 0.0 else np.inf
    _keep(room)
    for _ in range(_CORRECTORS):
        if not reach < _LONG:
            break
        _aim_back(point, room, min(1.0, _FARTHER * reach + _FARTHER_BY), goal)
        fastest, _, _ = _direction(rows, point, sigma, room)
        if not fastest * _LONGER * reach <= 1.0:
            break
        reach = 1.0 / fastest
        _keep(room)
    return reach


@summing_kernel
def exact_interior(rows, curve, point, best, room, limits):
    """Steps of the interior point, each followed by a look at its face once that is near.

    Modified  point, best; they are where the next call goes on.
    """
    for _ in range(limits.steps):
        if best.ledger[ENDED] != 0.0:
            return
        best.ledger[STEPS] += 1.0
        best.ledger[SINCE] += 1.0
        products = _terms(point, rows.weight, room)
        sigma = small_mean(rows, room.omega, room.mean)
        small_normal_matrix(rows.columns, room.omega, room.mean, room)
        if not cholesky(room.matrix, rows.columns.shape[0], rows.scale):
            best.ledger[ENDED] = 1.0
            return
        reach = _combined(rows, point, products, sigma, room)
        left = _move(point, rows.weight, room, min(1.0, _TO_BOUNDARY * reach)) / rows.total
        if left <= _NEAR * limits.zero and solve_face(
            rows, curve, point, limits.size, room.dw, room
        ):
            _clip(curve, room.alpha)
            keep_better(rows, curve, room.dw, room.alpha, best, room, -np.inf)
        small = left <= max(2.0 * limits.gap, 1e-12 * limits.zero)
        if small or best.ledger[STEPS] % _EVERY == 0.0:
            for i in range(room.alpha.size):
                room.alpha[i] = point.u[0, i] - (point.u[1, i] if len(point.u) == 2 else 0.0)
            _clip(curve, room.alpha)
            keep_better(rows, curve, point.w, room.alpha, best, room, -np.inf)
        note_end(best, limits, left)
