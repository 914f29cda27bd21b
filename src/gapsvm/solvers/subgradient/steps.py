"""What the solver asks of a problem: its numbers, its steps, and the iterate it certifies.

``steps_of(problem)`` gives the object that answers.  There is one for a ``LinearProblem`` and one
for a ``MulticlassProblem``; a problem of another kind brings its own:
``steps_of.register(MyProblem)(MySteps)``.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple, Protocol

from gapsvm.backends import Backend
from gapsvm.solvers.subgradient.state import MovingWeights


class Stretch(NamedTuple):
    """Some steps, one a batch: w ← Π[decay·w + eta·(mean pull of the batch)]."""

    batches: Any
    """Row numbers, a batch a line."""
    eta: Any
    decay: Any
    """A number a step."""
    past: float
    share: float
    """Before each step w̄ ← past·w̄ + share·w, where sums are kept."""
    radius: float
    """Of the ball of Π; infinite for none."""
    leave_at: float
    """After a step to ‖w‖ ≥ leave_at the rest is left undone."""
    batch_bias: bool
    """A free bias goes to the minimum over b of the loss of each batch."""


class Steps(Protocol):
    """A problem as the solver sees it."""

    problem: Any

    @property
    def size(self) -> int:
        """Numbers that make up w."""

    @property
    def radius(self) -> float:
        """Of the ball that the problem itself is about; infinite for none."""

    @property
    def ball_of_minimum(self) -> float:
        """A bound on ‖w*‖; infinite where λ = 0."""

    @property
    def stiffness(self) -> float:
        """What ``rules.damped`` adds to 1/η outside a ball; 0 where slopes are bounded."""

    def longest_pull(self, ball: float) -> float:
        """The longest subgradient of a row's loss within the ball."""

    def refusal(self, solver: Any) -> str:
        """What of the solver these steps cannot do; empty if nothing."""

    def table(self, backend: Backend) -> Any:
        """What rows were seen to pull: nothing yet."""

    def forget_pulls(self, table: Any) -> None:
        """Of w that are left behind.  Modified: table."""

    def take(self, stretch: Stretch, weights: MovingWeights, table: Any, backend: Backend) -> int:
        """Do the steps, and return how many were done.  Modified: weights, table."""

    def iterate(self, point: Any, table: Any) -> Any:
        """What ``problem.certify`` understands; ``point`` is w and the bias in one vector."""


@singledispatch
def steps_of(problem: object) -> Steps:
    """The steps of a problem of this kind."""
    raise TypeError(
        f"there are no subgradient steps for a problem of type {type(problem).__name__}; register "
        "them with gapsvm.solvers.subgradient.steps.steps_of.register"
    )
