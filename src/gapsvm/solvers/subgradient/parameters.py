"""The parameters of the subgradient methods, and what a problem makes of them: balls, G, rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from gapsvm.backends import Backend
from gapsvm.problems.base import Regularised
from gapsvm.problems.limits import check_square
from gapsvm.solvers.subgradient.averages import Average, AverageName, average_of
from gapsvm.solvers.subgradient.rules import (
    OptimisticRule,
    PegasosRule,
    Rates,
    Scale,
    StepRule,
    damped,
    get_step_rule,
)
from gapsvm.solvers.subgradient.samplers import Sampler, SamplerName, sampler_of
from gapsvm.solvers.subgradient.state import Course
from gapsvm.solvers.subgradient.steps import steps_of

BiasStep = Literal["gradient", "batch"]
StopName = Literal["gap", "bound", "sampled"]
_PASSES_FORESEEN = 100
_DELTA = 0.5


@dataclass(frozen=True)
class SubgradientParameters:
    """See ``Subgradient``, which takes them."""

    batch_size: int = 1
    projection: bool | float = False
    average: AverageName | None = None
    tail_from: int | None = None
    step_rule: str | StepRule = "pegasos"
    sampler: SamplerName = "subsets"
    horizon: int | None = None
    stop: StopName = "gap"
    eps: float = 0.0
    delta: float = _DELTA
    single: bool = False
    radius: float = math.inf
    bias_step: BiasStep = "gradient"

    def __post_init__(self) -> None:
        rule = self.rule_object
        average_of(self.average)
        sampler_of(self.sampler)
        if self.stop not in get_args(StopName) or (self.stop != "gap" and not self.eps > 0):
            raise ValueError(
                f"stop must be 'gap', or 'bound' or 'sampled' with eps > 0, got {self.stop!r}"
            )
        if self.stop == "sampled" and self.average not in ("uniform", "tail", "random"):
            raise ValueError(
                "stop='sampled' needs average 'uniform', 'tail' or 'random': the output of "
                f"{self.average!r} goes up and down too much to be judged twice"
            )
        if self.stop != "gap" and isinstance(rule, OptimisticRule):
            raise ValueError("the optimistic method stops by itself where eps > 0: leave out stop")
        if self.projection is not True and not self.projection >= 0:
            raise ValueError(f"projection must be a bool or a radius, got {self.projection!r}")
        if not isinstance(self.projection, bool) and 0 < self.projection < math.inf:
            check_square("projection", self.projection)
        if not self.radius > 0:
            raise ValueError(f"radius must be positive, got {self.radius!r}")
        if self.radius < math.inf:
            check_square("radius", self.radius)
        if self.bias_step not in get_args(BiasStep):
            names = ", ".join(get_args(BiasStep))
            raise ValueError(f"bias_step must be one of {names}, got {self.bias_step!r}")
        if self.bias_step == "batch" and self.batch_size < 2:
            raise ValueError(
                "bias_step='batch' needs batch_size >= 2: one row alone is met by a bias at no loss"
            )
        if self.bias_step == "batch" and self.stop == "bound":
            raise ValueError("stop='bound' knows no theorem for bias_step='batch'")
        self._refuse_idle()

    def _refuse_idle(self) -> None:
        """Raise a ValueError for a parameter that would change nothing."""
        phases = isinstance(self.rule_object, OptimisticRule)
        if self.eps and self.stop == "gap" and not phases:
            raise ValueError("eps is for stop='bound' or 'sampled', or the optimistic method")
        plain = isinstance(self.rule_object, PegasosRule)
        by_chance = self.stop == "sampled" or (plain and self.average == "random")
        if self.delta != _DELTA and not (by_chance or (phases and self.eps)):
            raise ValueError(
                "delta is for stop='sampled', a random iterate of pegasos, or the optimistic "
                "method with eps > 0"
            )

    @cached_property
    def rule_object(self) -> StepRule:
        """What ``step_rule`` names."""
        return get_step_rule(self.step_rule)

    @cached_property
    def average_object(self) -> Average:
        """What ``average`` names."""
        return average_of(self.average, self.tail_from)

    @cached_property
    def sampler_object(self) -> Sampler:
        """What ``sampler`` names."""
        return sampler_of(self.sampler)

    # -- what a problem makes of the parameters ----------------------------------------------------

    def ball_of_minimum(self, problem: Regularised[Any]) -> float:
        """A bound on ‖w*‖, of the problem's own ball if it has one."""
        steps = steps_of(problem)
        return min(steps.ball_of_minimum, steps.radius)

    def ball(self, problem: Regularised[Any]) -> float:
        """The radius within which slopes are bounded and rules count on the iterates."""
        if self.projection is not True and self.projection > 0:
            return min(float(self.projection), steps_of(problem).radius)
        return self.ball_of_minimum(problem)

    def projection_radius(self, problem: Regularised[Any]) -> float:
        """Of the ball that iterates are projected onto; infinite for none."""
        confined = steps_of(problem).radius < math.inf
        always = confined or isinstance(self.rule_object, OptimisticRule)  # it projects as printed
        return self.ball(problem) if self.projection or always else math.inf

    def longest_pull(self, problem: Regularised[Any]) -> float:
        """The longest subgradient of a row's loss within the ball."""
        return steps_of(problem).longest_pull(self.ball(problem))

    def scale(self, problem: Regularised[Any], R: float) -> Scale:
        """λ, R, and G: the longest row times the largest slope in the ball, plus λ·(its radius)."""
        G = self.longest_pull(problem) + problem.lam * self.ball(problem)
        horizon = self.horizon or max(1, _PASSES_FORESEEN * problem.n_rows // self.batch_size)
        return Scale(problem.lam, G or 1.0, R, horizon)

    def rates(
        self,
        problem: Regularised[Any],
        scale: Scale,
        first: int,
        count: int,
        curvature: float,
        backend: Backend,
    ) -> Rates:
        """Those of the rule; damped where no theory of a rule holds: squares outside a ball."""
        rates = self.rule_object.rates(scale, first, count, curvature, backend)
        if self.projection_radius(problem) < math.inf:
            return rates
        return damped(rates, steps_of(problem).stiffness)

    def output(self, state: Course) -> Any:
        """w and the bias that are handed out, in one vector."""
        return self.average_object.output(state.kept, state.weights, state.run)
