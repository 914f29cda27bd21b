"""The optimum on a face: rows at their bounds and kinks stay there, the free ones solve a system.

    (K_FF + diag(r_F))v_F + b·1 = y_F − ε·sign(v_F) − K_FB v_B,     Σ v_F = −Σ v_B  (a free bias)

Where the free rows are those of the optimum, v is the optimum up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from gapsvm.problems.kernel import KernelProblem

_REFINEMENTS = 2


@dataclass(frozen=True)
class FaceSolution:
    """v, feasible, and the bias."""

    coef: Any
    bias: float


def solved_face(problem: KernelProblem, coef: Any, most: int) -> FaceSolution | None:
    """The optimum on the face of v; None where it has too many free rows or leaves the box.

    A step that would leave the box ends at it.
    """
    lower, upper = problem.box
    eps = problem.eps
    free = (coef > lower) & (coef < upper) & ((coef != 0.0) | (eps == 0.0))
    chosen = np.flatnonzero(free)
    if not 0 < chosen.size <= most:
        return None
    held = np.where(free, 0.0, coef)
    gram = problem.rows.gram
    Q = gram[np.ix_(chosen, chosen)]
    Q[np.diag_indices_from(Q)] += problem.ridge[chosen]
    target = problem.y[chosen] - eps * np.sign(coef[chosen]) - gram[chosen] @ held
    found = _solved(Q, target, -float(held.sum()) if problem.bias == "free" else None)
    if found is None:
        return None
    values, bias = found
    low, high = lower[chosen], upper[chosen]
    if eps:
        low = np.where(coef[chosen] > 0, 0.0, low)
        high = np.where(coef[chosen] < 0, 0.0, high)
    if not (np.all(values >= low) and np.all(values <= high)):
        return None
    held[chosen] = values
    return FaceSolution(held, bias)


def _solved(Q: Any, target: Any, mass: float | None) -> tuple[Any, float] | None:
    """v and b with Qv + b = target and Σv = mass; without a mass b is 0."""
    try:
        factor = cho_factor(Q, lower=True, check_finite=False)
    except LinAlgError:
        return None
    ones = np.ones(len(Q))
    across = cho_solve(factor, ones, check_finite=False) if mass is not None else ones
    total = float(across.sum())

    def once(target: Any, mass: float) -> tuple[Any, float]:
        v = cho_solve(factor, target, check_finite=False)
        b = (float(v.sum()) - mass) / total
        return v - b * across, b

    if mass is None:
        v, b = cho_solve(factor, target, check_finite=False), 0.0
        for _ in range(_REFINEMENTS):
            v += cho_solve(factor, target - Q @ v, check_finite=False)
        return v, b
    v, b = once(target, mass)
    for _ in range(_REFINEMENTS):
        dv, db = once(target - Q @ v - b, mass - float(v.sum()))
        v, b = v + dv, b + db
    return v, b
