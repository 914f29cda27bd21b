"""Balls: which one holds the minimum, and what keeps steps sound where there is none."""

from __future__ import annotations

import math

from gapsvm.losses.base import Curve
from gapsvm.problems.multiclass import MulticlassProblem
from gapsvm.problems.row_losses import RowLosses


def ball_radius(lam: float, at_zero: float) -> float:
    """‖w*‖ ≤ √(P(0)/λ), Pegasos's eq. (6) for any loss φ ≥ 0; 1/√λ for the hinge.

    docs/design/subgradient.md derives it.

    ``at_zero``: P at w = 0 and any one bias, or what is no smaller.
    """
    if lam == 0:
        return math.inf
    return math.sqrt(at_zero) / math.sqrt(lam) or 1.0


def ball_of_minimum(problem: RowLosses) -> float:
    """‖w*‖ is no larger.  P(0) has the best bias for responses; for margins 0, as in the paper."""
    if problem.loss.kind == "response":
        return ball_radius(problem.lam, problem.primal_at_zero)
    return ball_radius(problem.lam, float(problem.loss.curve.value(0.0, 1.0)))


def limit_of_bias(R: float, largest_target: float, longest: float) -> float:
    """How far from 0 the best free bias for a w of ‖w‖ ≤ R may be, as ``bias_norm`` of a step.

    It is at most max|t| + R·max‖x‖, and a step of 1/(λt) would throw it far beyond.
    """
    reach = largest_target + R * longest
    return -1.0 / (reach * reach) if reach else 0.0


def stiffness_of(curve: Curve, heaviest: float, square: float) -> float:
    """L of ``rules.damped``: s(‖x‖² + ρ)·(φ″ at most) where slopes are unbounded; 0 elsewhere."""
    if math.isfinite(curve.largest_slope):
        return 0.0
    return heaviest * square * curve.slope_within(1.0, 0.0)


def heaviest_of(problem: RowLosses | MulticlassProblem) -> float:
    """The largest s_i, where their mean is 1."""
    return float(problem.weight.max()) * problem.n_rows / problem.total_weight
