"""A kernel problem whose kernel is ⟨x, x'⟩, solved over weights: no value of K is needed.

α, c and the bias of both problems are the same, so that what SDCA finds for the linear one is a
dual point of this one, whose certificate is as for any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.kernel import KernelIterate, KernelProblem
from gapsvm.problems.linear import LinearProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.sdca.accelerated import AcceleratedSDCA
from gapsvm.solvers.sdca.serial import SDCA
from gapsvm.solvers.trace import Progress


@storable
@dataclass(frozen=True)
class LinearSDCA:
    """SDCA over weights, for kernel machines with a linear kernel; where λ is weak, accelerated.

    Parameters
    ----------
    shrinking : bool
        Leave out rows whose α is held at a bound.
    alpha : array, optional
        Warm start.
    bias : float
        The bias to begin with.
    """

    shrinking: bool = True
    alpha: Any = None
    bias: float = 0.0

    def refusal(self, problem: object) -> str:
        """What the problem lacks for this solver to work; empty if nothing."""
        if not isinstance(problem, KernelProblem):
            return "it is no KernelProblem"
        return "" if problem.in_weights is not None else "its kernel is not linear"

    def warmed(self, iterate: KernelIterate) -> LinearSDCA:
        """The same, to begin at an α."""
        return replace(self, alpha=iterate.alpha, bias=iterate.bias)

    def _inner(self, problem: KernelProblem) -> tuple[SDCA | AcceleratedSDCA, LinearProblem]:
        linear, curve = problem.in_weights, problem.loss.curve
        assert linear is not None
        momentum = AcceleratedSDCA(alpha=self.alpha, bias=self.bias)
        if momentum.acts_on(linear):
            return momentum, linear
        held = not (curve.is_free(curve.lo) and curve.is_free(curve.hi))
        return SDCA(shrinking=self.shrinking and held, alpha=self.alpha, bias=self.bias), linear

    def init(self, problem: KernelProblem, backend: Backend, rng: np.random.Generator) -> Any:
        inner, linear = self._inner(problem)
        return inner.init(linear, backend, rng)

    def advance(self, problem: KernelProblem, state: Any, backend: Backend, budget: int) -> Any:
        inner, linear = self._inner(problem)
        visited = inner.progress(linear, state).rows_visited
        grain = linear.slice_rows - visited % linear.slice_rows
        return inner.advance(linear, state, backend, min(budget, grain))

    def iterate(self, problem: KernelProblem, state: Any) -> KernelIterate:
        inner, linear = self._inner(problem)
        found = inner.iterate(linear, state)
        return KernelIterate(found.alpha, found.bias)

    def progress(self, problem: KernelProblem, state: Any) -> Progress:
        inner, linear = self._inner(problem)
        return inner.progress(linear, state)
