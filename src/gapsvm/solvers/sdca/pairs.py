"""SDCA on the pairs of a ranking: a row x_i − x_j for each, held in memory.

    P(w) = Σ c_ij max(0, 1 − ⟨x_i − x_j, w⟩) + (λ/2)‖w‖²      Σ c_ij = 1
    D(α) = Σ c_ij α_ij − (λ/2)‖w(α)‖²                        0 ≤ α ≤ 1

α is a cut of the risk, (−Σ c_ij α_ij (x_i − x_j), Σ c_ij α_ij), by which the ranking certifies it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.risk import RiskIterate
from gapsvm.problems.structured.ranking import RankingProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.sdca.serial import SDCA, SDCAState
from gapsvm.solvers.trace import Progress


@storable
@dataclass(frozen=True)
class PairSDCA:
    """SDCA over all pairs: ahead of a bundle where they are not many times the documents.

    Parameters
    ----------
    inner : SDCA
        What goes through the pairs.
    """

    inner: SDCA = field(default_factory=SDCA)

    def refusal(self, problem: object) -> str:
        """What the problem lacks; empty if nothing."""
        if not isinstance(problem, RankingProblem):
            return f"PairSDCA is for a RankingProblem, not {type(problem).__name__}"
        if problem.loss != "pairs":
            return f"loss {problem.loss!r} is not a sum over pairs; try Bundle()"
        return ""

    def init(self, problem: RankingProblem, backend: Backend, rng: np.random.Generator) -> Any:
        return self.inner.init(problem.pairs, backend, rng)

    def advance(
        self, problem: RankingProblem, state: SDCAState, backend: Backend, budget: int
    ) -> SDCAState:
        pairs = problem.pairs
        share = math.ceil(budget * pairs.n_rows / problem.n_rows)
        return self.inner.advance(pairs, state, backend, share)

    def iterate(self, problem: RankingProblem, state: SDCAState) -> RiskIterate:
        pairs = problem.pairs
        found = self.inner.iterate(pairs, state)
        mass = pairs.weight * np.clip(found.alpha, 0.0, 1.0) / pairs.total_weight
        slope = np.zeros(problem.n_features)
        problem.backend.combination(pairs.rows.view, mass, slope)
        return RiskIterate(found.w, 0.0, -slope, float(mass.sum()))

    def progress(self, problem: RankingProblem, state: SDCAState) -> Progress:
        """Visits of pairs, in units of queries."""
        inner = self.inner.progress(problem.pairs, state)
        visited = inner.rows_visited * problem.n_rows // problem.pairs.n_rows
        return Progress(visited, inner.gap_hint, inner.exhausted)
