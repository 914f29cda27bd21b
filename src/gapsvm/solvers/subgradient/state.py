"""What the steps of one function keep: w and its sums, where the run stands, what an average holds.

Fits and streams share it; ``SubgradientState`` adds what only a fit has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.registry.storable import storable
from gapsvm.solvers.tail import Tail
from gapsvm.types.steps import WeightArrays


@storable
@dataclass
class MovingWeights:
    """w = scale·v and, where it is kept, an average (or sum) w̄ = p·v + r·u, so that a step costs
    the nonzeros of its batch (Pegasos §2.4)."""

    v: Any
    u: Any
    """Empty without sums."""
    scalars: Any
    """scale, ‖v‖², bias, p, r, average bias."""

    @staticmethod
    def at_zero(
        size: int, backend: Backend, *, summed: bool, single: bool = False
    ) -> MovingWeights:
        """w = 0, of so many numbers; ``single``: v in float32."""
        v = backend.zeros(size, np.float32 if single else np.float64)
        u = backend.zeros(size if summed else 0)
        return MovingWeights(v, u, np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]))

    @property
    def arrays(self) -> WeightArrays:
        """What compiled loops change."""
        return WeightArrays(self.v, self.u, self.scalars)

    @property
    def w(self) -> Any:
        return self.scalars[0] * self.v

    @property
    def bias(self) -> float:
        return float(self.scalars[2])

    @property
    def length(self) -> float:
        """‖w‖."""
        square = max(0.0, float(self.scalars[1]))  # a sum of changes: of a tiny w it is rounding
        return math.sqrt(square) * abs(float(self.scalars[0]))

    @property
    def point(self) -> Any:
        """w and the bias, in one vector."""
        return np.append(self.w, self.scalars[2])

    @property
    def sums(self) -> Any:
        """w̄ and the average (or sum) of the bias, in one vector."""
        _, _, _, p, r, bias = self.scalars
        return np.append(p * self.v + r * self.u, bias)

    @property
    def are_finite(self) -> bool:
        return bool(np.isfinite(self.scalars).all())

    def clear_sums(self) -> None:
        self.u[:] = 0.0
        self.scalars[3:] = 0.0, 1.0, 0.0

    def clear(self) -> None:
        """Back to w = 0."""
        self.v[:] = self.u[:] = 0.0
        self.scalars[:] = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0

    def hold_bias(self, bias: float) -> None:
        """Put a bias that no step moves."""
        self.scalars[2] = bias

    def widen(self, more: int, *, summed: bool) -> None:
        """Add so many columns, of weight zero."""
        self.v = np.append(self.v, np.zeros(more))
        if summed:
            self.u = np.append(self.u, np.zeros(more))


@storable
@dataclass
class Run:
    """Where a run stands."""

    key: int = 0
    """What its random choices hang on."""
    steps: int = 0
    phase: int = 0
    """The step at which this phase of the optimistic method began."""
    phases: int = 1

    @property
    def steps_in_phase(self) -> int:
        return self.steps - self.phase


@storable
@dataclass
class Kept:
    """What an average holds besides the sums of ``MovingWeights``."""

    earlier: Any
    """Tail: the sums of w and of the bias over the window before this one.  Random iterate: the
    one chosen so far."""
    tail: Tail = field(default_factory=Tail)
    """The steps of which the sums are."""
    chosen: int = 1
    """Random iterate: the last t whose w_t was kept, or will be, counted in this phase."""
    attempt: int = 0
    """Random iterate: a second attempt makes choices of its own."""

    def clear(self, steps: int) -> None:
        """After so many steps w is zero again."""
        self.earlier[:] = 0.0
        self.tail.restart(steps)

    def widen(self, more: int) -> None:
        """Add so many columns, of weight zero."""
        if self.earlier.size:
            self.earlier = np.concatenate([self.earlier[:-1], np.zeros(more), self.earlier[-1:]])


@storable
@dataclass(kw_only=True)
class Course:
    """How far the steps of one function have come."""

    weights: MovingWeights
    kept: Kept
    R: float
    """The radius that the step rule believes in."""
    run: Run = field(default_factory=Run)
    curvature: float = 0.0
    """λ_{1:t} + τ_{1:t} of the rules that keep it."""

    @property
    def steps(self) -> int:
        return self.run.steps


@storable
@dataclass
class StopState:
    """When the output is judged next, and what was found."""

    due: int = 0
    """The step after which a theorem promises ε, or at which the output is judged; 0: never."""
    promised: bool = False
    """That step is done, or a phase of the optimistic method."""
    settled: bool = False
    """The output was judged twice with the same result."""
    judged: float = math.inf
    """The objective of the output on the sampled rows when it was judged last."""
    rival: Kept | None = None
    """The second attempt at a random iterate."""


@storable
@dataclass(kw_only=True)
class SubgradientState(Course):
    """All of a fit."""

    table: Any
    """What each row was seen to pull, for the certificate; its shape is the problem's business."""
    order: Any
    """Of the rows, and ..."""
    seed: Any
    """... of the batches drawn from them."""
    stop: StopState = field(default_factory=StopState)
    rows_visited: int = 0
