"""Subgradient steps on a ``KernelProblem``: kernelised Pegasos (Figure 3) with every step rule.

The vector that steps move holds the coefficients v of f = Σ v_j K(x_j, ·) instead of weights; for
Pegasos' rule, v_j = y_j α[j]/(λ(t − 1)) before step t, α[j] the count of Figure 3 (eq. 13), so that
f is Figure 1's w_t step for step.  The loop is that of linear problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.kernels.lines import TOGETHER, coefficient_rows
from gapsvm.problems.kernel import KernelIterate, KernelProblem
from gapsvm.solvers.subgradient.linear_steps import RowSteps
from gapsvm.solvers.subgradient.state import MovingWeights
from gapsvm.solvers.subgradient.steps import Stretch, steps_of
from gapsvm.types.tables import VISITS

_CLOSE = 16
"""So few rows visited beyond those with coefficients leave no room for values too many."""


@steps_of.register(KernelProblem)
@dataclass(frozen=True)
class KernelSteps(RowSteps):
    """w holds coefficients; the certificate reports the better of f and f(α)."""

    problem: KernelProblem

    @property
    def size(self) -> int:
        return self.problem.n_rows

    @property
    def grain(self) -> int:
        """Row visits of a call: their values of K are computed together, whenever fits break."""
        return TOGETHER

    def refusal(self, solver: Any) -> str:
        if solver.sampler == "streams":
            return "sampler='streams' is for rows in memory, which a kernel matrix is not"
        if solver.single:
            return "single is for a LinearProblem"
        if solver.stop == "sampled":
            return "stop='sampled' is for a LinearProblem"
        return super().refusal(solver)

    def take(self, stretch: Stretch, weights: MovingWeights, table: Any, backend: Backend) -> int:
        """No step computes more than Figure 3's min(t, n) values of K."""
        used = np.flatnonzero(weights.v)
        exactly = used.size + _CLOSE > min(float(table[:, VISITS].sum()), self.problem.n_rows)
        view = coefficient_rows(self.problem.rows, stretch.batches.ravel(), used, exactly=exactly)
        return self.take_from(view, stretch, weights, table, backend)

    def iterate(self, point: Any, table: Any) -> KernelIterate:
        return KernelIterate(self.dual_point(table), float(point[-1]), point[:-1].copy())
