"""What exact solutions of small problems cost, compiled and in NumPy, as measured."""

from __future__ import annotations

from gapsvm.problems.linear import LinearProblem


def step_nanoseconds(problem: LinearProblem) -> float:
    """Of a compiled step: vectors of rows, a dozen products with X, the matrix, its factor."""
    n, d = problem.rows.shape
    d = min(n, d)
    return 2000.0 + 60.0 * n + 4.0 * n * d + 0.12 * n * d**2 + 0.2 * d**3


def numpy_seconds(problem: LinearProblem) -> float:
    """Of all steps, where NumPy makes them."""
    n, d = problem.rows.shape
    d = min(n, d)
    return 15e-9 * (3e5 + 150.0 * n + 12.0 * n * d + 0.15 * n * d**2 + 0.1 * d**3)
