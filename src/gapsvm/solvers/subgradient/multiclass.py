"""Subgradient steps for several classes at once: Pegasos §5 with the rules of the binary solver.

    W ← Π[(1 − η_t(λ + κ_t))W + η_t·(mean of s_i x_i (e_{y_i} − a*(z_i))ᵀ over the batch)]

a* is the maximiser of the loss: the class that violates most, or the probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.multiclass import MulticlassIterate, MulticlassProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.subgradient.rules import Scale
from gapsvm.solvers.subgradient.solver import (
    _PASSES_FORESEEN,
    _WEIGHT_OF_PAST,
    Subgradient,
    SubgradientState,
)


@storable
@dataclass(frozen=True)
class MulticlassSubgradient(Subgradient):
    """Stochastic subgradient steps on a ``MulticlassProblem``; the defaults are Pegasos.

    Parameters are those of ``Subgradient``, but for the rule "optimistic" and ``stop``.
    Projection is onto ‖W‖ ≤ √(P₀/λ), where W* lies (docs/design.md).

    The certificate takes A_i as the mean of a*(z_i) over the visits of row i, for a row never
    visited e_y (hinge) or the uniform distribution (log-loss).

    The state's v is W with the weights of the constant feature as its last row, all in one vector;
    its table has (visits, Σ a*) for each row.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule == "optimistic":
            raise ValueError("the optimistic method is for LinearProblem only; try 'proximal'")
        if self.stop != "gap":
            raise ValueError(f"stop={self.stop!r} is for LinearProblem only")
        if self.bias_step != "gradient":
            raise ValueError("bias_step is for a free bias, which a MulticlassProblem has not")

    def init(self, problem: Any, backend: Backend, rng: np.random.Generator) -> SubgradientState:
        if not isinstance(problem, MulticlassProblem):
            raise TypeError("MulticlassSubgradient solves a MulticlassProblem")
        n, size = problem.n_rows, (problem.n_features + 1) * problem.n_classes
        if not 1 <= self.batch_size <= n:
            raise ValueError(f"batch_size must be between 1 and n = {n}, got {self.batch_size}")
        state = SubgradientState(
            table=np.zeros((n, 1 + problem.n_classes)),
            v=np.zeros(size),
            u=np.zeros(size if self.average in ("uniform", "tail", "decaying") else 0),
            scalars=np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
            order=np.arange(n, dtype=np.uint32),
            seed=rng.integers(0, 2**64, size=1, dtype=np.uint64),
            earlier=np.zeros(size + 1 if self.average in ("tail", "random") else 0),
            R=self._ball(problem),
        )
        state.key = int(state.seed[0])
        if self.sampler == "fixed":
            backend.shuffle(state.order, n, state.seed)
        return state

    def _ball(self, problem: Any) -> float:
        if self.projection is not True and self.projection > 0:
            return float(self.projection)
        return math.sqrt(problem.primal_at_zero / problem.lam) or 1.0

    def _scale(self, problem: Any, R: float) -> Scale:
        """λ, R, and G = √2·(longest row) + λ·(radius), since ‖e_y − a‖² ≤ 2."""
        longest = math.sqrt(float(np.max(problem.rows.sq_norms, initial=0.0)) + problem.bias_ratio)
        heaviest = float(np.max(problem.weight)) * problem.n_rows / problem.total_weight
        G = max(heaviest, 1.0) * math.sqrt(2.0) * longest + problem.lam * self._ball(problem)
        horizon = self.horizon or max(1, _PASSES_FORESEEN * problem.n_rows // self.batch_size)
        return Scale(problem.lam, G, R, horizon)

    def _steps(self, problem: Any, state: SubgradientState, backend: Backend, steps: int) -> int:
        if self.average == "random":
            steps = min(steps, self._steps_to_choice(state, state.steps))
        scale = self._scale(problem, state.R)
        batches = self._batches(problem, state, backend, steps)
        rates = self._rule().rates(scale, state.steps, steps, state.curvature, backend)
        decaying = self.average == "decaying"
        shape = (-1, problem.n_classes)
        backend.multiclass_steps(
            problem.rows.view,
            problem.curve,
            problem.y,
            problem.weight * (problem.n_rows / problem.total_weight),
            batches,
            rates.eta,
            1.0 - rates.eta * (problem.lam + rates.kappa),
            _WEIGHT_OF_PAST if decaying else 1.0,
            1.0 - _WEIGHT_OF_PAST if decaying else 1.0,
            problem.bias_scale,
            self.radius(problem),
            state.table,
            state.v.reshape(shape),
            state.u.reshape(shape),
            state.scalars,
        )
        state.steps += steps
        state.rows_visited += steps * self.batch_size
        state.curvature = rates.curvature
        return steps

    def iterate(self, problem: Any, state: SubgradientState) -> Any:
        W = self._output(state)[0].reshape(-1, problem.n_classes)
        visits = state.table[:, 0]
        A = state.table[:, 1:] / np.maximum(visits, 1.0)[:, None]
        never = np.flatnonzero(visits == 0)
        if problem.curve.temperature > 0:
            A[never] = 1.0 / problem.n_classes
        else:
            A[never, problem.y[never]] = 1.0
        return MulticlassIterate(W[:-1].copy(), problem.bias_scale * W[-1], A, try_others=True)
