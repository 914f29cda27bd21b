"""Subgradient steps on a ``RankingProblem``: a query is what a row is elsewhere.

w ← Π[(1 − η_t(λ + κ_t))w − η_t·(mean of n v_q ∂R_q over the batch)]      Σ v_q = 1, n queries
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.risk import RiskIterate
from gapsvm.problems.structured.ranking import RankingProblem, ScoreRisk
from gapsvm.registry.storable import storable
from gapsvm.solvers.subgradient.balls import ball_radius
from gapsvm.solvers.subgradient.state import MovingWeights
from gapsvm.solvers.subgradient.steps import Stretch, steps_of


@storable
@dataclass
class QueryPulls:
    """What queries were seen to pull: a cut of R_q is (Σ pull_i x_i, offset)."""

    visits: Any
    """Of each query that counts."""
    offsets: Any
    """Σ over the visits of the offsets, ..."""
    pulls: Any
    """... and of the pulls of each document."""


@steps_of.register(RankingProblem)
@dataclass(frozen=True)
class RankingSteps:
    """A step sorts, or assigns, the documents of its queries and changes all of w.

    The certificate takes the mean of the cuts of each query over its visits, R_q ≥ 0 for a query
    never visited: their weighted sum is a cut of R.
    """

    problem: RankingProblem

    @property
    def size(self) -> int:
        return self.problem.n_features

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
        """Of a query: its weight, times the most that its loss follows scores, times ‖x‖."""
        problem, risk = self.problem, self.problem.risk()
        counted = problem.counted.tolist()
        square = [problem.rows.sq_norms[problem.queries.rows(q)].max() for q in counted]
        reach = np.array([risk.reach(q) for q in counted])
        share = problem.share[problem.counted] * problem.n_rows
        return float(np.max(np.maximum(share, 1.0) * reach * np.sqrt(square)))

    def refusal(self, solver: Any) -> str:
        if solver.stop != "gap":
            return f"stop={solver.stop!r} is for a LinearProblem"
        if solver.bias_step != "gradient":
            return "bias_step is for a free bias, which a ranking has not"
        if solver.sampler == "streams":
            return "sampler='streams' is for rows, and steps are by query; try 'permutation'"
        return "single is for a LinearProblem" if solver.single else ""

    def table(self, backend: Backend) -> QueryPulls:
        problem = self.problem
        return QueryPulls(
            *(np.zeros(size) for size in (problem.n_rows, problem.n_rows, problem.n_documents))
        )

    def forget_pulls(self, table: QueryPulls) -> None:
        for sums in (table.visits, table.offsets, table.pulls):
            sums[:] = 0.0

    def take(
        self, stretch: Stretch, weights: MovingWeights, table: QueryPulls, backend: Backend
    ) -> int:
        w, risk = weights.w, self.problem.risk()
        _, _, _, p, r, _ = weights.scalars
        mean = p * weights.v + r * weights.u if weights.u.size else weights.u
        done = 0
        for batch, eta, decay in zip(stretch.batches, stretch.eta, stretch.decay):
            if mean.size:
                mean = stretch.past * mean + stretch.share * w
            slopes = [self._visit(int(k), w, risk, table, backend) for k in batch]
            w = decay * w - (eta / len(batch)) * sum(slopes[1:], slopes[0])
            norm = float(np.linalg.norm(w))
            if norm > stretch.radius:
                w *= stretch.radius / norm
                norm = stretch.radius
            done += 1
            if norm >= stretch.leave_at:
                break
        weights.v[:], weights.u[:] = w, mean
        weights.scalars[:] = 1.0, w @ w, 0.0, 0.0, 1.0, 0.0
        return done

    def _visit(self, k: int, w: Any, risk: ScoreRisk, table: QueryPulls, backend: Backend) -> Any:
        """The subgradient of n v_q R_q for the k-th query that counts.  Modified: table."""
        problem = self.problem
        q = int(problem.counted[k])
        documents = problem.queries.rows(q)
        first, last = int(documents[0]), int(documents[-1]) + 1
        rows = problem.rows
        neighbours = last - first == documents.size
        view = rows.part(first, last) if neighbours else rows.taken(documents).view
        scores, slope = np.empty(documents.size), np.zeros(self.size)
        backend.margins(view, w, scores)
        _, offset, pull = risk.judge_query(q, scores, backend)
        backend.combination(view, pull, slope)
        table.visits[k] += 1.0
        table.offsets[k] += offset
        table.pulls[documents] += pull
        return problem.share[q] * problem.n_rows * risk.confined(slope)

    def iterate(self, point: Any, table: QueryPulls) -> RiskIterate:
        problem = self.problem
        share = np.zeros(len(problem.queries))
        share[problem.counted] = problem.share[problem.counted] / np.maximum(table.visits, 1.0)
        pulls = share[problem.queries.of_row] * table.pulls
        slope = problem.risk().slope(pulls, problem.backend)
        offset = float(share[problem.counted] @ table.offsets)
        return RiskIterate(point[:-1].copy(), 0.0, slope, offset)
