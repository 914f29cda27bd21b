"""What exact solutions of small problems cost, compiled and in NumPy, as measured."""

from __future__ import annotations

from typing import Any

from gapsvm.problems.linear import LinearProblem
from gapsvm.types.curves import FiveNumbers, Logit

_STEPS = 8
"""So many times the price below, as measured: most steps cost less."""


def step_nanoseconds(problem: LinearProblem) -> float:
    """Of a compiled step: vectors of rows, a dozen products with X, the matrix, its factor."""
    n, d = problem.rows.shape
    d = min(n, d)
    by_row, by_value = (40.0, 1.8) if has_kinks(problem.loss.curve) else (25.0, 1.0)
    if isinstance(problem.loss.curve, Logit):
        by_row += 60.0
    return 5000.0 + by_row * n + by_value * n * d + 0.06 * n * d**2 + 0.15 * d**3


def nanoseconds(problem: LinearProblem) -> float:
    """Of all steps, compiled, and of turning more columns than rows into as many as these."""
    n, d = problem.rows.shape
    return _STEPS * step_nanoseconds(problem) + (0.3 * d * n**2 if d > n else 0.0)


def has_kinks(curve: Any) -> bool:
    """Whether φ is not smooth."""
    return isinstance(curve, FiveNumbers) and curve.curvature == 0


def numpy_seconds(problem: LinearProblem) -> float:
    """Of all steps, where NumPy makes them."""
    n, d = problem.rows.shape
    d = min(n, d)
    return 15e-9 * (3e5 + 150.0 * n + 12.0 * n * d + 0.15 * n * d**2 + 0.1 * d**3)
