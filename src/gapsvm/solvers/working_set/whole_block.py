"""The dual of a kernel problem as a block: its numbers, for steps that see all rows or some."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.problems.kernel import KernelProblem
from gapsvm.types.curves import FiveNumbers
from gapsvm.types.mercer import Block, BlockPoint


def refusal_of_curves(problem: object) -> str:
    """Why steps in the box of a five-number loss are not for a problem; empty if they are."""
    if not isinstance(problem, KernelProblem):
        return "it is no KernelProblem"
    if not isinstance(problem.loss.curve, FiveNumbers):
        return f"loss {problem.loss.name!r} is not one of five numbers"
    return ""


def block_of(problem: KernelProblem, rows: Any, kernel: Any) -> Block:
    """The block of some rows; ``kernel`` is K among them, or nothing."""
    lower, upper = (bound[rows] for bound in problem.box)
    ridge = problem.ridge[rows]
    diagonal = np.maximum(problem.rows.diagonal[rows], 0.0) + ridge
    return Block(kernel, diagonal, ridge, lower, upper, problem.eps)


def point_of(coef: Any, pull: Any) -> BlockPoint:
    """Where the block stands, with room for its steps."""
    scratch = np.empty(coef.size), np.empty(coef.size), np.empty(0, dtype=np.float32)
    return BlockPoint(coef, pull, *scratch)


def feasible_coef(problem: KernelProblem, alpha: Any) -> Any:
    """v of an α that is moved into its box, Σv = 0 where the bias is free; zeros for None."""
    if alpha is None:
        return np.zeros(problem.n_rows)
    curve = problem.loss.curve
    inside = np.clip(np.nan_to_num(alpha), curve.lo, curve.hi)
    return problem.c * (problem.balanced(inside) if problem.bias == "free" else inside)
