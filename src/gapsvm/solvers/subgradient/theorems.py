"""After how many steps a theorem promises ε, and what must hold before it may be asked.

No promise without its premise: what is missing is a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gapsvm.backends import Backend
from gapsvm.problems.linear import LinearProblem
from gapsvm.rows.spectral import beta
from gapsvm.solvers.dual_rows import dual_rows_of
from gapsvm.solvers.subgradient.parameters import SubgradientParameters
from gapsvm.solvers.subgradient.rules import (
    BoundRule,
    PegasosRule,
    ProximalRule,
    StepRule,
    needs_ball,
)
from gapsvm.theory import (
    do_theorem2_iterations,
    pegasos_lemma3_iterations,
    pegasos_theorem1_iterations,
    takac_theorem1_iterations,
)


@dataclass(frozen=True)
class Facts:
    """What theorems count with."""

    problem: LinearProblem
    backend: Backend
    G: float
    R: float
    longest: float
    """The longest subgradient of a row's loss in the ball."""
    projected: bool
    """Onto a ball no larger than ‖w‖ ≤ 1/√λ."""
    delta: float
    batch_size: int


def _pegasos_theorem1(eps: float, facts: Facts) -> int:
    return pegasos_theorem1_iterations(
        eps, lam=facts.problem.lam, R=facts.longest, projected=facts.projected
    )


def _pegasos_lemma3(eps: float, facts: Facts) -> int:
    return pegasos_lemma3_iterations(
        eps,
        lam=facts.problem.lam,
        R=max(1.0, facts.longest),
        delta=facts.delta,
        projected=facts.projected,
    )


def _takac_theorem1(eps: float, facts: Facts) -> int:
    """On rows scaled to norm 1, for which λ is λ/r²."""
    problem, ratio = facts.problem, facts.problem.bias_ratio
    square = problem.largest_sq_norm + ratio or 1.0
    found = dual_rows_of(problem).sigma2(facts.backend, normalised=False, sample=None)
    share = min(1.0, (found.value + ratio) / square)
    return takac_theorem1_iterations(
        eps,
        lam=problem.lam / square,
        beta=beta(facts.batch_size, problem.n_rows, share),
        batch_size=facts.batch_size,
        lipschitz=facts.longest / math.sqrt(square),
    )


def _do_theorem2(eps: float, facts: Facts) -> int:
    return do_theorem2_iterations(eps, lam=facts.problem.lam, G=facts.G, R=facts.R)


_THEOREMS: dict[tuple[type, Any], Callable[[float, Facts], int]] = {
    (PegasosRule, "uniform"): _pegasos_theorem1,
    (PegasosRule, "random"): _pegasos_lemma3,
    (PegasosRule, "tail"): _takac_theorem1,
    (ProximalRule, "uniform"): _do_theorem2,
    (ProximalRule, "random"): _do_theorem2,
    (BoundRule, "uniform"): _do_theorem2,
    (BoundRule, "random"): _do_theorem2,
}


def promised_steps(
    parameters: SubgradientParameters, problem: LinearProblem, backend: Backend, eps: float
) -> int:
    """The T of the theorem for this rule and output; ``missing_premise`` must be empty."""
    scale, lam = parameters.scale(problem, parameters.ball(problem)), problem.lam
    facts = Facts(
        problem,
        backend,
        G=scale.G,
        R=scale.R,
        longest=parameters.longest_pull(problem) or 1.0,
        projected=parameters.projection_radius(problem) <= 1.0 / math.sqrt(lam) if lam else True,
        delta=parameters.delta,
        batch_size=parameters.batch_size,
    )
    return _THEOREMS[type(parameters.rule_object), parameters.average](eps, facts)


def missing_premise(parameters: SubgradientParameters, problem: LinearProblem) -> str:
    """What the theorem for this rule and output needs and has not; empty if nothing."""
    rule = parameters.rule_object
    if problem.bias == "free":
        return "no theorem is about a free bias; penalise it or leave it out"
    if not parameters.sampler_object.is_uniform:
        return f"no theorem is about sampler={parameters.sampler!r}; choose 'subsets'"
    if parameters.tail_from is not None:
        return "stop='bound' sets tail_from itself: the tail is the later half"
    if type(rule) in {kind for kind, _ in _THEOREMS}:
        missing = _missing_ball(parameters, rule, problem)
        if missing:
            return missing
    if (type(rule), parameters.average) not in _THEOREMS:
        return (
            "stop='bound' knows theorems for step_rule='pegasos' with average 'uniform', 'tail' or "
            "'random', and for 'proximal' and 'bound' with 'uniform' or 'random'; not for "
            f"step_rule={parameters.step_rule!r} with average={parameters.average!r}"
        )
    return ""


def _missing_ball(parameters: SubgradientParameters, rule: StepRule, problem: LinearProblem) -> str:
    """Iterates in a ball that holds the minimum: where the rule or the loss needs one."""
    radius = parameters.projection_radius(problem)
    if math.isinf(radius):
        unbounded = math.isinf(problem.loss.curve.largest_slope)
        if not (needs_ball(rule) or unbounded):
            return ""
        loss = f"loss {problem.loss.name!r}, whose slope has no bound,"
        return (
            f"the theorem for {loss if unbounded else f'step rule {parameters.step_rule!r}'} needs "
            "iterates in a ball; set projection=True"
        )
    needed = parameters.ball_of_minimum(problem)
    if radius < needed:
        return (
            f"the theorem speaks of the best w in the ball of radius {radius:g}, but the minimum "
            f"may lie anywhere up to {needed:g}; set projection=True, or give the problem that "
            "radius"
        )
    return ""
