"""The quadratic program of a bundle: small, dense, solved exactly by an active set.

    min q(α) = ½ αᵀHα − fᵀα     over α ≥ 0, Σ α = total

A budget Σ α ≤ total is the same with one more variable, whose row of H and entry of f are 0.  H may
be singular, as it is once there are more cuts than features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from gapsvm.system.lazy import linalg

_RIDGE = 1e-14
"""Share of the largest curvature on a face that is added before it is factorised: a direction
without curvature becomes a long step, which a bound cuts short."""
_REFINEMENTS = 3
"""Newton steps on one face, which make good for the ridge."""
_TOLERANCE = 1e-13
"""What may be missing to the optimum, as a share of the numbers it is the difference of."""
_STEPS_PER_VARIABLE = 20


@dataclass(frozen=True)
class Solution:
    """A feasible α and what is missing to the optimum."""

    alpha: Any
    missing: float
    """q(α) − q* is at most this: ⟨α, g⟩ − total·min g, where g = Hα − f."""
    steps: int


def solve_qp(H: Any, f: Any, total: float, start: Any = None) -> Solution:
    """The minimiser over the simplex, from any ``start`` ≥ 0, which is scaled to the sum.

    Newton steps on the face of the positive variables, each cut short where the first of them
    reaches 0 and leaves; at the optimum of the face the variable of steepest descent enters.  q
    never rises.
    """
    alpha = _feasible(start, len(f), total)
    free = alpha > 0
    on_this_face, step, limit = 0, 0, _STEPS_PER_VARIABLE * (len(f) + 5)
    for step in range(limit):  # noqa: B007
        g = H @ alpha - f
        size = total * float(np.max(np.abs(H) @ alpha + np.abs(f)))
        missing = float(alpha @ g) - total * float(g.min())
        if missing <= _TOLERANCE * size:
            break
        face = np.flatnonzero(free)
        spread = total * float(np.ptp(g[face]))
        entering = -1
        if on_this_face >= _REFINEMENTS or spread <= 0.5 * _TOLERANCE * size:
            entering = int(np.argmin(np.where(free, np.inf, g)))
            if free[entering] or g[entering] >= g[face].min():
                break
            free[entering] = True
            face = np.flatnonzero(free)
        leaving = _step(alpha, face, _newton_direction(H, g, alpha, face))
        if leaving >= 0:
            free[leaving] = False
        if leaving >= 0 and leaving == entering:  # it would only come back
            break
        on_this_face = 0 if leaving >= 0 else 1 if entering >= 0 else on_this_face + 1
        alpha *= total / alpha.sum()
    return Solution(alpha, max(missing, 0.0), step)


def _feasible(start: Any, size: int, total: float) -> Any:
    alpha = np.ones(size) if start is None else np.array(start, dtype=np.float64)
    if start is None or not alpha.sum() > 0:
        alpha = np.eye(1, size)[0]
    return alpha * (total / alpha.sum())


def _newton_direction(H: Any, g: Any, alpha: Any, face: Any) -> Any:
    """To the optimum of the face: the largest variable takes what the others give."""
    largest = int(np.argmax(alpha[face]))
    others = np.delete(face, largest)
    pivot = face[largest]
    across = H[others, pivot]
    reduced = H[np.ix_(others, others)] - across[:, None] - across + H[pivot, pivot]
    towards = _solved(reduced, g[pivot] - g[others])
    return np.insert(towards, largest, -towards.sum())


def _solved(matrix: Any, right: Any) -> Any:
    """matrix⁻¹·right for a matrix that may be singular: with the least ridge that factorises."""
    if right.size == 0:
        return right
    diagonal = np.einsum("ii->i", matrix)
    ridge = _RIDGE * float(diagonal.max()) or 1.0
    while True:
        diagonal += ridge
        try:
            return linalg.cho_solve(
                linalg.cho_factor(matrix, lower=True, check_finite=False), right
            )
        except LinAlgError:
            ridge *= 100.0


def _step(alpha: Any, face: Any, direction: Any) -> int:
    """Move ``alpha`` along a direction, or as far as it stays ≥ 0; the variable that stopped it, or
    −1."""
    falling = np.flatnonzero(direction < 0)
    reach = alpha[face[falling]] / -direction[falling]
    if falling.size == 0 or reach.min() > 1.0:
        alpha[face] += direction
        return -1
    first = int(np.argmin(reach))
    alpha[face] = np.maximum(alpha[face] + reach[first] * direction, 0.0)
    leaving = int(face[falling[first]])
    alpha[leaving] = 0.0
    return leaving
