"""Subgradients in the coefficients of a kernel function (Pegasos §4, eq. 19): how not to do it.

    F(v) = (λ/2)vᵀKv + (1/S) Σ s_i φ(σ_i (Kv)_i)          f = Σ v_j K(x_j, ·)

    ∇F = K(λv − u),   u_i = (1/k)·s_i σ_i a*_i on the batch, 0 elsewhere (s_i of mean 1)

A plain step moves along ∇F, in which all coefficients take part, and F is not strongly convex in v:
its steps are R/(G√t), and what is handed out is their mean.  Preconditioned by K⁻¹ (Chapelle 2007)
the step is along λv − u, which is the gradient in w: with 1/(λt) it is Pegasos, iterate by iterate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.kernel import KernelIterate, KernelProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.base import refusal_of_others
from gapsvm.solvers.subgradient.samplers import SAMPLERS
from gapsvm.solvers.trace import Progress

_STEPS = 64
"""Steps of a call."""
_MOST = 20_000
"""Rows at most: all of K is kept."""


@storable
@dataclass
class CoefficientState:
    """Everything the solver knows; resuming from a copy is bit-equal."""

    coef: Any
    margins: Any
    """Kv."""
    mean: Any
    """Of the coefficients before each step, where steps are plain."""
    visits: Any
    pulls: Any
    """Σ a* of the visits of each row."""
    order: Any
    seed: Any
    steps: int = 0
    rows_visited: int = 0


@storable
@dataclass(frozen=True)
class CoefficientSubgradient:
    """Stochastic subgradient steps in the coefficients v of a kernel function.

    Parameters
    ----------
    preconditioned : bool
        By K⁻¹: the steps are then those in w.
    batch_size : int
        k: rows per step.
    eta : float, optional
        η of a step η/√t, where steps are plain; by default R/G, R = 1/(λ√n) the norm that v has at
        most for the hinge, and G the root mean square of ‖K_i‖.
    """

    preconditioned: bool = False
    batch_size: int = 1
    eta: float | None = None

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size!r}")
        if self.eta is not None and not self.eta > 0:
            raise ValueError(f"eta must be positive, got {self.eta!r}")
        if self.preconditioned and self.eta is not None:
            raise ValueError("eta is for plain steps; preconditioned ones have 1/(λt)")

    def refusal(self, problem: object) -> str:
        """What the problem lacks for this solver to work; empty if nothing."""
        if not isinstance(problem, KernelProblem):
            return refusal_of_others(problem, KernelProblem)
        if problem.bias != "none":
            return "it is for a problem without a bias"
        if not self.preconditioned and math.isinf(problem.loss.curve.largest_slope):
            return f"plain steps are for losses of bounded slope, not {problem.loss.name!r}"
        if problem.n_rows > _MOST:
            return f"it keeps all of K, for {_MOST:,} rows at most"
        if self.batch_size > problem.n_rows:
            return f"batch_size must be at most n = {problem.n_rows}, got {self.batch_size}"
        return ""

    def init(
        self, problem: KernelProblem, backend: Backend, rng: np.random.Generator
    ) -> CoefficientState:
        n, seed = problem.n_rows, rng.integers(0, 2**64, size=1, dtype=np.uint64)
        _ = problem.rows.gram
        v, m, mean, visits, pulls = np.zeros((5, n))
        return CoefficientState(v, m, mean, visits, pulls, np.arange(n, dtype=np.uint32), seed)

    def advance(
        self, problem: KernelProblem, state: CoefficientState, backend: Backend, budget: int
    ) -> CoefficientState:
        """Whole calls, so that a break shifts none."""
        batches = np.empty((_STEPS, self.batch_size), dtype=np.uint32)
        SAMPLERS["subsets"].draw(problem, state.order, state.seed, batches, state.steps, backend)
        K, lam, first = problem.rows.gram, problem.lam, self._first_length(problem)
        for batch in batches:
            state.steps += 1
            u = self._pull(problem, state, batch)
            if self.preconditioned:
                eta = 1.0 / (lam * state.steps)
                state.coef = (1.0 - eta * lam) * state.coef + eta * u
                state.margins = (1.0 - eta * lam) * state.margins + eta * (u[batch] @ K[batch])
            else:
                state.mean += (state.coef - state.mean) / state.steps
                eta = first / math.sqrt(state.steps)
                gradient = lam * state.margins - u[batch] @ K[batch]
                state.coef = state.coef - eta * gradient
                state.margins = state.margins - eta * (K @ gradient)
        state.rows_visited += batches.size
        return state

    def _pull(self, problem: KernelProblem, state: CoefficientState, batch: Any) -> Any:
        """u of the batch, whose a* are counted."""
        sign, t, weight = (np.broadcast_to(a, problem.n_rows)[batch] for a in _numbers(problem))
        a = problem.loss.curve.maximiser(sign * state.margins[batch], t)
        state.visits[batch] += 1.0
        state.pulls[batch] += a
        u = np.zeros(problem.n_rows)
        u[batch] = sign * weight * a * (problem.n_rows / problem.total_weight) / len(batch)
        return u

    def _first_length(self, problem: KernelProblem) -> float:
        if self.eta is not None:
            return self.eta
        n, K = problem.n_rows, problem.rows.gram
        G = float(np.linalg.norm(K)) / math.sqrt(n)
        return 1.0 / (problem.lam * math.sqrt(n) * (G or 1.0))

    def iterate(self, problem: KernelProblem, state: CoefficientState) -> KernelIterate:
        curve = problem.loss.curve
        mean = state.pulls / np.maximum(state.visits, 1.0)
        coef = state.coef if self.preconditioned else state.mean
        return KernelIterate(np.clip(mean, curve.lo, curve.hi), 0.0, coef.copy())

    def progress(self, problem: KernelProblem, state: CoefficientState) -> Progress:
        return Progress(state.rows_visited, math.nan)


def _numbers(problem: KernelProblem) -> tuple[Any, Any, Any]:
    return problem.sign, problem.t, problem.weight
