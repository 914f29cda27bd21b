"""Primal subgradient methods: Pegasos, Figures 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problem import Iterate, LinearProblem
from gapsvm.samplers import subsets
from gapsvm.trace import Progress


@dataclass
class SubgradientState:
    """w = scalars[0]·v; what each row was seen to pull is kept for the certificate."""

    v: Any
    scalars: Any
    """The scale of v, ‖w‖² and the bias."""
    visits: Any
    mass: Any
    rng: np.random.Generator
    steps: int = 0
    rows_visited: int = 0


@dataclass(frozen=True)
class Pegasos:
    """w_{t+1} = Π[(1 − 1/t)w_t + (1/(λt))·mean of a*(z_i)x̃_i over the batch] (Pegasos Fig. 1, 2).

    The certificate takes α_i as the mean of a*(z_i) over the visits of row i (for the hinge:
    violations over visits), 0 if unvisited, and reports the better of w and w(α).

    Parameters
    ----------
    batch_size : int
        k: rows per step, a uniform subset; 1 is Figure 1.
    projection : bool
        Project after each step, for the hinge onto the paper's ‖w‖ ≤ 1/√λ (eq. 6); other losses
        have no such bound and take ‖w‖ ≤ √(2P₀/λ), which follows from P(w*) ≤ P₀.
    """

    batch_size: int = 1
    projection: bool = False

    def init(
        self, problem: LinearProblem, backend: Backend, rng: np.random.Generator
    ) -> SubgradientState:
        n, d = problem.rows.shape
        if not 1 <= self.batch_size <= n:
            raise ValueError(f"batch_size must be between 1 and n = {n}, got {self.batch_size}")
        return SubgradientState(
            v=np.zeros(d),
            scalars=np.array([1.0, 0.0, 0.0]),
            visits=np.zeros(n),
            mass=np.zeros(n),
            rng=rng,
        )

    def radius(self, problem: LinearProblem) -> float:
        if not self.projection:
            return np.inf
        if problem.loss.name == "hinge":
            return float(1.0 / np.sqrt(problem.lam))
        return float(np.sqrt(2.0 * problem.primal_at_zero / problem.lam))

    def advance(
        self, problem: LinearProblem, state: SubgradientState, backend: Backend, budget: int
    ) -> SubgradientState:
        steps = max(1, budget // self.batch_size)
        batches = subsets(state.rng, problem.n_rows, self.batch_size, steps)
        t = np.arange(state.steps + 1, state.steps + steps + 1, dtype=np.float64)
        decay = 1.0 - 1.0 / t
        free = problem.bias == "free"
        ratio = 1.0 if free else problem.bias_ratio
        backend.subgradient_steps(
            problem.rows.view,
            problem.loss.curve,
            problem.sign,
            problem.t,
            problem.weight * (problem.n_rows / problem.total_weight),
            batches,
            1.0 / (problem.lam * t),
            decay,
            np.ones(steps) if free else decay,
            ratio,
            1.0 / ratio if problem.bias == "penalized" else 0.0,
            self.radius(problem),
            state.v,
            state.scalars,
            state.visits,
            state.mass,
        )
        state.steps += steps
        state.rows_visited += batches.size
        return state

    def iterate(self, problem: LinearProblem, state: SubgradientState) -> Iterate:
        alpha = state.mass / np.maximum(state.visits, 1.0)
        scale, _, bias = state.scalars
        return Iterate(scale * state.v, float(bias), alpha, try_combination=True)

    def progress(self, problem: LinearProblem, state: SubgradientState) -> Progress:
        return Progress(state.rows_visited)
