"""Subgradient steps on a ``LinearProblem``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.solvers.subgradient.balls import (
    ball_of_minimum,
    heaviest_of,
    limit_of_bias,
    stiffness_of,
)
from gapsvm.solvers.subgradient.state import MovingWeights
from gapsvm.solvers.subgradient.steps import Stretch, steps_of
from gapsvm.types.steps import Averaging, Ball, BiasStep, StepSizes
from gapsvm.types.tables import PULLS, SIGNED_WEIGHT, TARGET, VISITS


def count_less(table: Any, share: float) -> None:
    """Let the visits so far count for so much.  Modified: table."""
    table[:, [VISITS, PULLS]] *= share


class RowSteps:
    """What steps have in common where every row has a loss of its margin.

    The table holds (visits, Σ a*, σ_i s_i, t_i), row after row, s_i of mean 1.  The certificate
    takes α_i as the mean of a*(z_i) over the visits of row i (for the hinge: violations over
    visits), 0 if unvisited.
    """

    problem: Any

    @property
    def radius(self) -> float:
        return float(self.problem.radius)

    @property
    def ball_of_minimum(self) -> float:
        return ball_of_minimum(self.problem)

    @property
    def stiffness(self) -> float:
        problem = self.problem
        ratio = 1.0 if problem.bias == "free" else problem.bias_ratio
        square = problem.largest_sq_norm + ratio
        return stiffness_of(problem.loss.curve, heaviest_of(problem), square)

    def longest_pull(self, ball: float) -> float:
        problem, curve = self.problem, self.problem.loss.curve
        longest = math.sqrt(problem.largest_sq_norm + problem.bias_ratio)
        slope = curve.largest_slope
        if math.isinf(slope):
            slope = curve.slope_within(longest * ball, self._largest_target)
        return max(heaviest_of(problem), 1.0) * longest * slope

    @property
    def _largest_target(self) -> float:
        return float(np.max(np.abs(self.problem.t)))

    def refusal(self, solver: Any) -> str:
        if solver.bias_step == "batch" and self.problem.bias != "free":
            return f"bias_step='batch' is for a free bias; this one is {self.problem.bias!r}"
        return ""

    def table(self, backend: Backend) -> Any:
        problem = self.problem
        table = backend.row_table(problem.n_rows)
        table[:, SIGNED_WEIGHT] = (
            problem.sign * problem.weight * (problem.n_rows / problem.total_weight)
        )
        table[:, TARGET] = problem.t
        return table

    def forget_pulls(self, table: Any) -> None:
        table[:, [VISITS, PULLS]] = 0.0

    def take_from(
        self, view: Any, stretch: Stretch, weights: MovingWeights, table: Any, backend: Backend
    ) -> int:
        """``take``, where the loop reads rows from ``view``."""
        problem = self.problem
        ratio = 1.0 if problem.bias == "free" else problem.bias_ratio
        take = backend.subgradient_steps
        if stretch.batch_bias:
            take = backend.batch_bias_steps
        return int(
            take(
                view,
                problem.loss.curve,
                table,
                stretch.batches,
                StepSizes(stretch.eta, stretch.decay),
                Averaging(stretch.past, stretch.share),
                BiasStep(ratio, problem.bias == "penalized"),
                Ball(stretch.radius, self._bias_norm(stretch.radius), stretch.leave_at),
                weights.arrays,
            )
        )

    def _bias_norm(self, radius: float) -> float:
        """How the bias counts in the projection: 1/ρ, or a limit of its own where it is free."""
        problem = self.problem
        if problem.bias == "penalized":
            return 1.0 / problem.bias_ratio
        if problem.bias == "none" or math.isinf(radius) or not math.isinf(problem.radius):
            return 0.0
        longest = math.sqrt(problem.largest_sq_norm)
        return limit_of_bias(radius, self._largest_target, longest)

    def dual_point(self, table: Any) -> Any:
        """α: the mean of a* over the visits of a row."""
        visits, mass, curve = table[:, VISITS], table[:, PULLS], self.problem.loss.curve
        mean = mass / np.where(visits > 0, visits, 1.0)
        return np.clip(mean, curve.lo, curve.hi)  # by rounding a mean may leave the box


@steps_of.register(LinearProblem)
@dataclass(frozen=True)
class LinearSteps(RowSteps):
    """w is that of the problem; the certificate reports the better of w and w(α)."""

    problem: LinearProblem

    @property
    def size(self) -> int:
        return self.problem.n_features

    def take(self, stretch: Stretch, weights: MovingWeights, table: Any, backend: Backend) -> int:
        return self.take_from(self.problem.rows.view, stretch, weights, table, backend)

    def iterate(self, point: Any, table: Any) -> Iterate:
        alpha = self.dual_point(table)
        return Iterate(point[:-1].copy(), float(point[-1]), alpha, try_combination=True)
