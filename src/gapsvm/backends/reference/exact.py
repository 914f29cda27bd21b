"""Small problems without smoothing (γ = 0), solved exactly: the letters are those of
``gapsvm.solvers.newton.exact``."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from gapsvm.types.curves import FiveNumbers
from gapsvm.types.exact import (
    ENDED,
    GAP,
    SINCE,
    STEPS,
    Best,
    BoxPoint,
    ExactRoom,
    Limits,
    SmallRows,
    most_free,
)

_TO_BOUNDARY = 0.995
_CORRECTORS, _LONG, _LONGER = 3, 0.7, 1.05
_FARTHER, _FARTHER_BY, _LEAST, _MOST = 1.3, 0.3, 0.1, 10.0
_NEAR = 1e-3
_EVERY = 8
_RIDGE, _REFINEMENTS = 1e-14, 3
_PATIENCE, _LAST_PATIENCE, _ROUNDING = 12, 3, 1e-11

Curve = Any


class _Equations(NamedTuple):
    by_u: Any
    by_slack: Any
    softness: Any
    sigma: float
    mean: Any
    factor: Any
    products: float
    """Σ s(u·ζ + (U − u)·υ)."""


class _Move(NamedTuple):
    w: Any
    z: Any
    u: Any
    zeta: Any
    upsilon: Any
    reach: float
    first: float
    second: float


def exact_room(features: int, rows: int, sides: int) -> ExactRoom:
    return ExactRoom(*[np.empty(0)] * len(ExactRoom._fields))


def exact_interior(
    rows: SmallRows,
    curve: FiveNumbers,
    point: BoxPoint,
    best: Best,
    room: ExactRoom,
    limits: Limits,
) -> None:
    rows = rows._replace(columns=rows.columns[:, : rows.sign.size])
    for _ in range(limits.steps):
        if best.ledger[ENDED]:
            return
        best.ledger[STEPS] += 1
        best.ledger[SINCE] += 1
        equations = _equations(rows, point)
        if equations is None:
            best.ledger[ENDED] = 1
            return
        move = _combined(rows, point, equations)
        length = min(1.0, _TO_BOUNDARY * move.reach)
        for value, change in zip(point, (move.w, move.u, -move.u, move.zeta, move.upsilon)):
            value += length * change
        point.residual[:] += length * _sides(point.u) * move.z
        _judge(rows, curve, point, best, limits)


def _sides(u: Any) -> Any:
    """e: +1 for p, −1 for m."""
    return np.array([[1.0], [-1.0]])[: len(u)]


def _equations(rows: SmallRows, point: BoxPoint) -> _Equations | None:
    """The matrix λS·I + Σ Ω_i (x_i − m)(x_i − m)ᵀ, factorised; None where that fails."""
    by_u, by_slack = 1.0 / point.u, 1.0 / point.slack
    softness = 1.0 / (point.zeta * by_u + point.upsilon * by_slack)
    omega = rows.weight * softness.sum(axis=0)
    sigma, mean = float(omega.sum()), np.zeros(len(rows.columns))
    if rows.free:
        mean = (rows.columns @ omega) / sigma
    products = (point.u * point.zeta + point.slack * point.upsilon) @ rows.weight
    factor = normal_factor(rows, mean, omega)
    if factor is None:
        return None
    return _Equations(by_u, by_slack, softness, sigma, mean, factor, float(products.sum()))


def normal_factor(rows: SmallRows, mean: Any, omega: Any) -> Any:
    """The Cholesky factor of λS·I + Σ Ω_i (x_i − m)(x_i − m)ᵀ; None if there is none."""
    scaled = (rows.columns - mean[:, None]) * np.sqrt(omega)
    matrix = scaled @ scaled.T
    matrix.flat[:: len(matrix) + 1] += rows.scale
    factor, failed = dpotrf(matrix, lower=1, overwrite_a=1)
    return None if failed or not np.isfinite(factor[-1, -1]) else factor


def _direction(
    rows: SmallRows, point: BoxPoint, equations: _Equations, lower: Any, upper: Any
) -> _Move:
    """Towards u·ζ = lower and (U − u)·υ = upper."""
    e = _sides(point.u)
    by_u, by_slack, softness, sigma, mean, factor, _ = equations
    pull = point.residual - lower * by_u + upper * by_slack
    c = rows.sign * rows.weight * (e * (point.u - pull * softness)).sum(axis=0)
    dw = step_from(rows, c, point.w[:-1], mean, sigma, factor)
    dz = margins_of_small(rows, dw)
    du = -(pull + e * dz) * softness
    dzeta = (lower - point.zeta * (point.u + du)) * by_u
    dupsilon = (upper - point.upsilon * (point.slack - du)) * by_slack
    falls = (-du * by_u, du * by_slack, -dzeta / point.zeta, -dupsilon / point.upsilon)
    fastest = max(float(fall.max()) for fall in falls)
    first = (
        du * (point.zeta - point.upsilon) + point.u * dzeta + point.slack * dupsilon
    ) @ rows.weight
    second = (du * (dzeta - dupsilon)) @ rows.weight
    reach = 1.0 / fastest if fastest > 0 else np.inf
    return _Move(dw, dz, du, dzeta, dupsilon, reach, float(first.sum()), float(second.sum()))


def step_from(rows: SmallRows, c: Any, w: Any, mean: Any, sigma: float, factor: Any) -> Any:
    """(dw, db) of the equations whose right-hand sides are Σ c_i x_i − λS·w and Σ c_i."""
    total = float(c.sum()) if rows.free else 0.0
    dw, _ = dpotrs(factor, rows.columns @ c - total * mean - rows.scale * w, lower=1)
    return np.append(dw, total / sigma - mean @ dw if rows.free else 0.0)


def margins_of_small(rows: SmallRows, w: Any) -> Any:
    """σ_i(⟨x_i, w⟩ + b)."""
    return rows.sign * (w[:-1] @ rows.columns + w[-1])


def _combined(rows: SmallRows, point: BoxPoint, equations: _Equations) -> _Move:
    """Mehrotra's step, and Gondzio's correctors as long as each makes it longer."""
    pairs = 2 * len(point.u) * rows.total
    mu = equations.products / pairs
    none = np.zeros_like(point.u)
    affine = _direction(rows, point, equations, none, none)
    a = min(1.0, affine.reach)
    after = (equations.products + (affine.first + affine.second * a) * a) / pairs
    goal = (after / mu) ** 3 * mu
    lower, upper = goal - affine.u * affine.zeta, goal + affine.u * affine.upsilon
    move = _direction(rows, point, equations, lower, upper)
    for _ in range(_CORRECTORS):
        if not move.reach < _LONG:
            break
        length, least, most = _FARTHER * move.reach + _FARTHER_BY, _LEAST * goal, _MOST * goal
        length = min(1.0, length)
        below = (point.u + length * move.u) * (point.zeta + length * move.zeta)
        above = (point.slack - length * move.u) * (point.upsilon + length * move.upsilon)
        lower = lower + np.maximum(np.clip(below, least, most) - below, -most)
        upper = upper + np.maximum(np.clip(above, least, most) - above, -most)
        other = _direction(rows, point, equations, lower, upper)
        if not other.reach >= _LONGER * move.reach:
            break
        move = other
    return move


def _judge(rows: SmallRows, curve: Curve, point: BoxPoint, best: Best, limits: Limits) -> None:
    """Certify the face the point is near, and the point itself where its products are small."""
    products = (point.u * point.zeta + point.slack * point.upsilon) @ rows.weight
    left = float(products.sum()) / rows.total
    if left <= _NEAR * limits.zero:
        found = _face(rows, curve, point, limits.size)
        if found is not None:
            w, alpha = found
            keep_better(rows, curve, w, np.clip(alpha, curve.lo, curve.hi), best)
    small = left <= max(2.0 * limits.gap, 1e-12 * limits.zero)
    if small or best.ledger[STEPS] % _EVERY == 0:
        alpha = (_sides(point.u) * point.u).sum(axis=0)
        keep_better(rows, curve, point.w, np.clip(alpha, curve.lo, curve.hi), best)
    is_over(best, limits, not np.isfinite(left))


def is_over(best: Best, limits: Limits, broken: bool) -> None:
    """Note in the ledger whether the gap is small enough, or does not fall any more."""
    gap = best.ledger[GAP]
    patience = _PATIENCE if gap > _ROUNDING * limits.zero else _LAST_PATIENCE
    if gap > limits.zero:
        patience *= 5
    best.ledger[ENDED] = gap <= limits.gap or broken or best.ledger[SINCE] > patience


def _face(rows: SmallRows, curve: Curve, point: BoxPoint, size: float) -> Any:
    """(w, b) and α where rows at bounds stay there, and the others lie on their kinks exactly.

    None if there are too many of them.
    """
    e, width = _sides(point.u), point.u + point.slack
    zero = (point.u * size <= point.zeta * width) & (point.u < point.slack)
    full = ~zero & (point.slack * size <= point.upsilon * width)
    alpha = (e * np.where(zero, 0.0, np.where(full, width, point.u))).sum(axis=0)
    free = np.flatnonzero((~(zero | full)).any(axis=0) & (rows.weight > 0))
    d, k = len(rows.columns), free.size
    if k > min(most_free(d), rows.sign.size):
        return None
    s, sign = rows.weight[free], rows.sign[free]
    c = rows.sign * rows.weight * alpha
    w, bias, mass = rows.columns @ c / rows.scale, float(point.w[-1]), float(c.sum())
    if k > 0:
        aim = sign * (rows.t[free] - curve.eps * np.sign(alpha[free]))
        own = rows.columns[:, free]
        factor = _face_factor(own, rows.scale)
        if factor is None:
            return None
        ones, _ = dpotrs(factor, np.ones(k), lower=1)
        for _ in range(_REFINEMENTS):
            change, _ = dpotrs(factor, aim - bias - w @ own, lower=1)
            if rows.free:
                shift = (mass + float(change.sum())) / float(ones.sum())
                bias += shift
                change -= shift * ones
                mass += float(change.sum())
            alpha[free] += change * sign / s
            w += own @ change / rows.scale
    return np.append(w, bias), alpha


def _face_factor(own: Any, scale: float) -> Any:
    matrix = own.T @ own / scale
    k = len(matrix)
    matrix.flat[:: k + 1] += max(_RIDGE * float(np.trace(matrix)) / k, 1e-300)
    factor, failed = dpotrf(matrix, lower=1, overwrite_a=1)
    return None if failed else factor


def keep_better(
    rows: SmallRows, curve: Curve, w: Any, alpha: Any, best: Best, least: float = -math.inf
) -> None:
    """Certify (w, b) and an α in its box, and keep them if none before had a smaller gap.

    Gaps up to ``least`` differ by rounding: there the later one is kept.
    """
    if rows.free:
        alpha = _balanced(rows, alpha)
    values = curve.value(margins_of_small(rows, w), rows.t)
    own = rows.columns @ (rows.sign * rows.weight * alpha)
    lam = rows.scale / rows.total
    primal = rows.weight @ values / rows.total + 0.5 * lam * float(w[:-1] @ w[:-1])
    conjugates = rows.weight @ curve.conjugate(alpha, rows.t)
    dual = -conjugates / rows.total - 0.5 / (rows.scale * rows.total) * float(own @ own)
    gap = float(primal - dual)
    if gap < max(best.ledger[GAP], least):
        if gap < 0.9 * best.ledger[GAP]:
            best.ledger[SINCE] = 0
        best.ledger[GAP] = gap
        best.w[:] = w
        best.alpha[:] = alpha


def _balanced(rows: SmallRows, alpha: Any) -> Any:
    """α with Σ σ_i s_i α_i = 0: the heavier side is scaled down."""
    mass = rows.sign * rows.weight * alpha
    up, down = float(mass[mass > 0].sum()), -float(mass[mass < 0].sum())
    if up == down:
        return alpha
    heavier = mass > 0 if up > down else mass < 0
    return np.where(heavier, alpha * (min(up, down) / max(up, down)), alpha)
