"""Subgradient steps on structured problems: Pegasos §5 for labellings, Do's proximal steps.

    w ← Π[(1 − η_t(λ + κ_t))w + η_t·(mean of (s_i n/S)(φ_i(y_i) − φ_i(ŷ_i)) over the batch)]

ŷ_i is the labelling with the largest loss + score at w; for the log-loss φ_i(ŷ_i) is the mean of
the features in the model.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.structured.base import StructuredIterate, StructuredProblem
from gapsvm.problems.structured.likelihood import ChainLikelihood, SmoothIterate
from gapsvm.solvers.subgradient.balls import ball_radius
from gapsvm.solvers.subgradient.state import MovingWeights
from gapsvm.solvers.subgradient.steps import Stretch, steps_of

_SMALL = 1e-9
"""A scale below which v is written out."""


@dataclass(frozen=True)
class ScaledSteps(ABC):
    """Steps on w = scale·v that cost what their examples have, whatever the size of w."""

    problem: Any

    @abstractmethod
    def look(self, scale: float, v: Any, batch: Any, table: Any, backend: Backend) -> Any:
        """What the examples pull at w = scale·v.  Modified: table."""

    @abstractmethod
    def push(self, w: Any, pull: Any, step: float, backend: Backend) -> float:
        """w += step·(sum of the pulls); returns by how much ‖w‖² grew."""

    @abstractmethod
    def iterate(self, point: Any, table: Any) -> Any: ...

    @abstractmethod
    def table(self, backend: Backend) -> Any: ...

    @abstractmethod
    def forget_pulls(self, table: Any) -> None: ...

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
        longest: float = problem.longest_pull
        return longest * max(float(problem.mean_weight.max()) * problem.n_rows, 1.0)

    def refusal(self, solver: Any) -> str:
        if solver.stop != "gap":
            return f"stop={solver.stop!r} is for a LinearProblem"
        if solver.bias_step != "gradient":
            return "bias_step is for a free bias, which a structured problem has not"
        if solver.sampler == "streams":
            return "sampler='streams' is for rows, and steps are by example; try 'permutation'"
        return "single is for a LinearProblem" if solver.single else ""

    def take(self, stretch: Stretch, weights: MovingWeights, table: Any, backend: Backend) -> int:
        shape, done = self.problem.shape, 0
        v = weights.v.reshape(shape)
        u = weights.u.reshape(shape) if weights.u.size else None
        for batch, eta, decay in zip(stretch.batches, stretch.eta, stretch.decay):
            state = weights.scalars
            if u is not None:
                state[3] = stretch.past * state[3] + stretch.share * state[0]
                state[4] *= stretch.past
            pull = self.look(float(state[0]), v, batch, table, backend)
            state[0] *= decay
            if abs(state[0]) < _SMALL or abs(state[4]) < _SMALL:
                _write_out(weights)
            step = eta / len(batch) / state[0]
            state[1] += self.push(v, pull, step, backend)
            if u is not None:
                self.push(u, pull, -state[3] / state[4] * step, backend)
            if weights.length > stretch.radius:
                state[0] *= stretch.radius / weights.length
            done += 1
            if weights.length >= stretch.leave_at:
                break
        return done


@steps_of.register(StructuredProblem)
class StructuredSteps(ScaledSteps):
    """The table is a dual point whose weights are visits: how often a labelling was found.

    The certificate takes the mean over the visits of each example as its part of α; the truth for
    an example never visited.
    """

    def look(self, scale: float, v: Any, batch: Any, table: Any, backend: Backend) -> Any:
        found, _ = self.problem.worst_at(scale, v, batch, backend)
        self.problem.tally(table, batch, found)
        return batch, found, self.problem.mean_weight[batch] * self.problem.n_rows

    def push(self, w: Any, pull: Any, step: float, backend: Backend) -> float:
        batch, found, weights = pull
        growth: float = self.problem.push(w, batch, found, step * weights, backend)
        return growth

    def table(self, backend: Backend) -> Any:
        table = self.problem.truth()
        table.share[:] = 0.0
        return table

    def forget_pulls(self, table: Any) -> None:
        table.share[:] = 0.0

    def iterate(self, point: Any, table: Any) -> StructuredIterate:
        w = point[:-1].reshape(self.problem.shape).copy()
        dual = self.problem.room_for(table)
        visits = dual.share.sum(axis=1)
        dual.share /= np.maximum(visits, 1.0)[:, None]
        dual.share[visits == 0, 0] = 1.0
        return StructuredIterate(w, dual, try_combination=True)


@steps_of.register(ChainLikelihood)
class LikelihoodSteps(ScaledSteps):
    """The pull of a chain is φ(truth) less its mean in the model.  Nothing is kept of it: every
    gradient over all chains is a certificate."""

    def refusal(self, solver: Any) -> str:
        if self.problem.weights.paired:
            return "its steps know no features of transitions; try LBFGS()"
        return super().refusal(solver)

    def look(self, scale: float, v: Any, batch: Any, table: Any, backend: Backend) -> Any:
        problem = self.problem
        weights = problem.mean_weight * problem.n_rows
        return batch, *problem.scores(v, backend).pulls(batch, problem.y, weights, scale)

    def push(self, w: Any, pull: Any, step: float, backend: Backend) -> float:
        problem = self.problem
        batch, labels, steps = pull
        growth = backend.chain_pull(
            problem.rows.view, w, problem.chains.starts, batch, labels, -step
        )
        edges, move = problem.weights.transitions(w), -step * steps
        growth += float(np.vdot(2.0 * edges + move, move))
        edges += move
        return float(growth)

    def table(self, backend: Backend) -> Any:
        return np.zeros(0)

    def forget_pulls(self, table: Any) -> None:
        return

    def iterate(self, point: Any, table: Any) -> SmoothIterate:
        return SmoothIterate(point[:-1].reshape(self.problem.shape).copy())


def _write_out(weights: MovingWeights) -> None:
    """Scales go back to 1: v becomes w, and u its average."""
    state = weights.scalars
    if weights.u.size:
        weights.u *= state[4]
        weights.u += state[3] * weights.v
    weights.v *= state[0]
    state[[0, 1, 3, 4]] = 1.0, float(weights.v @ weights.v), 0.0, 1.0
