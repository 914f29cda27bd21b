"""Subgradient steps on structured problems: Pegasos §5 for labellings, Do's proximal steps.

    w ← Π[(1 − η_t(λ + κ_t))w + η_t·(mean of (s_i n/S)(φ_i(y_i) − φ_i(ŷ_i)) over the batch)]

ŷ_i is the labelling with the largest loss + score at w.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.structured.base import StructuredIterate, StructuredProblem
from gapsvm.solvers.subgradient.balls import ball_radius
from gapsvm.solvers.subgradient.state import MovingWeights
from gapsvm.solvers.subgradient.steps import Stretch, steps_of

_SMALL = 1e-9
"""A scale below which v is written out."""


@steps_of.register(StructuredProblem)
@dataclass(frozen=True)
class StructuredSteps:
    """The table is a dual point whose weights are visits: how often a labelling was found.

    The certificate takes the mean over the visits of each example as its part of α; the truth for
    an example never visited.
    """

    problem: StructuredProblem[Any]

    @property
    def size(self) -> int:
        return math.prod(self.problem.shape)

    @property
    def radius(self) -> float:
        return math.inf

    @property
    def ball_of_minimum(self) -> float:
        return ball_radius(self.problem.lam, self.problem.primal_at_zero)

    @property
    def stiffness(self) -> float:
        return 0.0

    def longest_pull(self, ball: float) -> float:
        problem = self.problem
        return problem.longest_pull * max(float(problem.mean_weight.max()) * problem.n_rows, 1.0)

    def refusal(self, solver: Any) -> str:
        if solver.stop != "gap":
            return f"stop={solver.stop!r} is for a LinearProblem"
        if solver.bias_step != "gradient":
            return "bias_step is for a free bias, which a structured problem has not"
        if solver.sampler == "streams":
            return "sampler='streams' is for rows, and steps are by example; try 'permutation'"
        return "single is for a LinearProblem" if solver.single else ""

    def table(self, backend: Backend) -> Any:
        table = self.problem.truth()
        table.share[:] = 0.0
        return table

    def forget_pulls(self, table: Any) -> None:
        table.share[:] = 0.0

    def take(self, stretch: Stretch, weights: MovingWeights, table: Any, backend: Backend) -> int:
        problem, done = self.problem, 0
        v = weights.v.reshape(problem.shape)
        u = weights.u.reshape(problem.shape) if weights.u.size else None
        pulls = problem.mean_weight * problem.n_rows
        for batch, eta, decay in zip(stretch.batches, stretch.eta, stretch.decay):
            state = weights.scalars
            if u is not None:
                state[3] = stretch.past * state[3] + stretch.share * state[0]
                state[4] *= stretch.past
            found, _ = problem.worst_at(float(state[0]), v, batch, backend)
            problem.tally(table, batch, found)
            state[0] *= decay
            if abs(state[0]) < _SMALL or abs(state[4]) < _SMALL:
                _write_out(weights)
            steps = (eta / len(batch) / state[0]) * pulls[batch]
            state[1] += problem.push(v, batch, found, steps, backend)
            if u is not None:
                problem.push(u, batch, found, -state[3] / state[4] * steps, backend)
            if weights.length > stretch.radius:
                state[0] *= stretch.radius / weights.length
            done += 1
            if weights.length >= stretch.leave_at:
                break
        return done

    def iterate(self, point: Any, table: Any) -> StructuredIterate:
        w = point[:-1].reshape(self.problem.shape).copy()
        dual = self.problem.room_for(table)
        visits = dual.share.sum(axis=1)
        dual.share /= np.maximum(visits, 1.0)[:, None]
        dual.share[visits == 0, 0] = 1.0
        return StructuredIterate(w, dual, try_combination=True)


def _write_out(weights: MovingWeights) -> None:
    """Scales go back to 1: v becomes w, and u its average."""
    state = weights.scalars
    if weights.u.size:
        weights.u *= state[4]
        weights.u += state[3] * weights.v
    weights.v *= state[0]
    state[[0, 1, 3, 4]] = 1.0, float(weights.v @ weights.v), 0.0, 1.0
