"""The rows of an interior-point step."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.types.curves import FiveNumbers
from gapsvm.types.steps import BarrierAims, BarrierEquations, BarrierMove, BarrierPoint


def _sides(u: Any) -> Any:
    """e: +1 for p, −1 for m."""
    return np.array([[1.0], [-1.0]])[: len(u)]


def barrier_terms(
    curve: FiveNumbers,
    point: BarrierPoint,
    z: Any,
    t: Any,
    weight: Any,
    equations: BarrierEquations,
    omega: Any,
) -> float:
    u, slack, zeta, upsilon = point
    e = _sides(u)
    equations.residual[:] = curve.eps - e * t + curve.curvature * u + e * z
    equations.stiffness[:] = curve.curvature + zeta / u + upsilon / slack
    omega[:] = weight * (1.0 / equations.stiffness).sum(axis=0)
    return float(np.sum(weight * (u * zeta + slack * upsilon)))


def _pull(point: BarrierPoint, equations: BarrierEquations, aims: BarrierAims) -> Any:
    """residual − lower/u + upper/(U − u)."""
    return equations.residual - aims.lower / point.u + aims.upper / point.slack


def barrier_pull(
    point: BarrierPoint,
    equations: BarrierEquations,
    aims: BarrierAims,
    sign: Any,
    weight: Any,
    pull: Any,
) -> None:
    pulls = _sides(point.u) * _pull(point, equations, aims) / equations.stiffness
    pull[:] = sign * weight * pulls.sum(axis=0)


def barrier_direction(
    point: BarrierPoint,
    equations: BarrierEquations,
    aims: BarrierAims,
    dz: Any,
    weight: Any,
    bounded: Any,
    move: BarrierMove,
) -> tuple[float, float, float]:
    (u, slack, zeta, upsilon), (du, dzeta, dupsilon) = point, move
    du[:] = -(_pull(point, equations, aims) + _sides(u) * dz) / equations.stiffness
    dzeta[:] = aims.lower / u - zeta - zeta / u * du
    dupsilon[:] = aims.upper / slack - upsilon + upsilon / slack * du
    dslack = -bounded[:, None] * du
    nearest = np.inf
    for value, change in ((u, du), (slack, dslack), (zeta, dzeta), (upsilon, dupsilon)):
        falls = (change < 0) & (value > 0)
        nearest = min(nearest, np.min(-value[falls] / change[falls], initial=np.inf))
    first = np.sum(weight * (u * dzeta + zeta * du + slack * dupsilon + upsilon * dslack))
    second = np.sum(weight * (du * dzeta + dslack * dupsilon))
    return float(nearest), float(first), float(second)


def barrier_aims(
    point: BarrierPoint,
    move: BarrierMove,
    bounded: Any,
    length: float,
    least: float,
    most: float,
    aims: BarrierAims,
) -> None:
    bounded = bounded[:, None]
    product = (point.u + length * move.u) * (point.zeta + length * move.zeta)
    aims.lower[:] += np.maximum(np.clip(product, least, most) - product, -most)
    product = (point.slack - length * bounded * move.u) * (point.upsilon + length * move.upsilon)
    aims.upper[:] += bounded * np.maximum(np.clip(product, least, most) - product, -most)
