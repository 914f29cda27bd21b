"""Subgradient steps for several classes at once: Pegasos §5 with the rules of the binary solver.

    W ← Π[(1 − η_t(λ + κ_t))W + η_t·(mean of s_i x_i (e_{y_i} − a*(z_i))ᵀ over the batch)]

a* is the maximiser of the loss: the class that violates most, or the probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gapsvm.backends import Backend
from gapsvm.kernels.lines import TOGETHER, coefficient_rows
from gapsvm.problems.kernel_multiclass import KernelMulticlassProblem
from gapsvm.problems.multiclass import MulticlassIterate, MulticlassProblem
from gapsvm.solvers.subgradient.balls import ball_radius, heaviest_of
from gapsvm.solvers.subgradient.rules import OptimisticRule
from gapsvm.solvers.subgradient.state import MovingWeights
from gapsvm.solvers.subgradient.steps import Stretch, steps_of
from gapsvm.types.steps import Averaging, Labels, StepSizes, WeightArrays


@steps_of.register(MulticlassProblem)
@dataclass(frozen=True)
class MulticlassSteps:
    """w is W with the weights of the constant feature as its last row, all in one vector; the table
    has (visits, Σ a*) for each row.

    The certificate takes A_i as the mean of a*(z_i) over the visits of row i, for a row never
    visited e_y (hinge) or the uniform distribution (log-loss).
    """

    problem: MulticlassProblem
    usual_average: ClassVar[str] = "tail"

    @property
    def size(self) -> int:
        return (self.problem.n_features + 1) * self.problem.n_classes

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
        """√2·(longest row), since ‖e_y − a‖² ≤ 2."""
        problem = self.problem
        longest = math.sqrt(float(np.max(problem.sq_norms, initial=0.0)) + problem.bias_ratio)
        return max(heaviest_of(problem), 1.0) * math.sqrt(2.0) * longest

    def refusal(self, solver: Any) -> str:
        if isinstance(solver.rule_object, OptimisticRule):
            return "step_rule='optimistic' is for a LinearProblem; try 'proximal'"
        if solver.stop != "gap":
            return f"stop={solver.stop!r} is for a LinearProblem"
        if solver.bias_step != "gradient":
            return "bias_step is for a free bias, which a MulticlassProblem has not"
        return "single is for a LinearProblem" if solver.single else ""

    def table(self, backend: Backend) -> Any:
        return backend.zeros((self.problem.n_rows, 1 + self.problem.n_classes))

    def forget_pulls(self, table: Any) -> None:
        table[:] = 0.0

    def take(self, stretch: Stretch, weights: MovingWeights, table: Any, backend: Backend) -> int:
        return self.take_from(self.problem.rows.view, stretch, weights, table, backend)

    def take_from(
        self, view: Any, stretch: Stretch, weights: MovingWeights, table: Any, backend: Backend
    ) -> int:
        """``take``, where the loop reads rows from ``view``."""
        problem, shape = self.problem, (-1, self.problem.n_classes)
        backend.multiclass_steps(
            view,
            problem.curve,
            Labels(problem.y, problem.weight * (problem.n_rows / problem.total_weight)),
            stretch.batches,
            StepSizes(stretch.eta, stretch.decay),
            Averaging(stretch.past, stretch.share),
            problem.bias_scale,
            stretch.radius,
            table,
            WeightArrays(weights.v.reshape(shape), weights.u.reshape(shape), weights.scalars),
        )
        return len(stretch.batches)

    def iterate(self, point: Any, table: Any) -> MulticlassIterate:
        problem = self.problem
        W, visits = point[:-1].reshape(-1, problem.n_classes), table[:, 0]
        A = table[:, 1:] / np.maximum(visits, 1.0)[:, None]
        never = np.flatnonzero(visits == 0)
        if problem.curve.temperature > 0:
            A[never] = 1.0 / problem.n_classes
        else:
            A[never, problem.y[never]] = 1.0
        return MulticlassIterate(W[:-1].copy(), problem.bias_scale * W[-1], A, try_others=True)


@steps_of.register(KernelMulticlassProblem)
@dataclass(frozen=True)
class KernelMulticlassSteps(MulticlassSteps):
    """The same with coefficients of functions in the place of weights (§4)."""

    problem: KernelMulticlassProblem

    @property
    def grain(self) -> int:
        """Row visits of a call, as for a ``KernelProblem``."""
        return TOGETHER

    def refusal(self, solver: Any) -> str:
        if solver.sampler == "streams":
            return "sampler='streams' is for rows in memory, which a kernel matrix is not"
        return super().refusal(solver)

    def take(self, stretch: Stretch, weights: MovingWeights, table: Any, backend: Backend) -> int:
        coef = weights.v.reshape(-1, self.problem.n_classes)[:-1]
        used = np.flatnonzero(np.any(coef != 0.0, axis=1))
        view = coefficient_rows(self.problem.rows, stretch.batches.ravel(), used)
        return self.take_from(view, stretch, weights, table, backend)
