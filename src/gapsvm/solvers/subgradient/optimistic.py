"""Do's Algorithm 3: a radius is guessed, and when w comes close to it, it grows by √2 and the rule
starts anew.  A phase that ends within its ball has done what Theorem 4 asks for."""

from __future__ import annotations

import math

from gapsvm.solvers.subgradient.rules import OptimisticRule, Scale
from gapsvm.solvers.subgradient.state import Course, Run
from gapsvm.theory import do_phase_iterations, do_theorem4_counts


def first_radius(lam: float, eps: float) -> float:
    """R of the first phase: the least that it would not leave at once."""
    radius = min(1.0, 1.0 / math.sqrt(lam))
    while radius < math.sqrt(2.0 * eps / lam):
        radius *= math.sqrt(2.0)
    return radius


def leaves_at(radius: float, lam: float, eps: float) -> float:
    """The ‖w‖ at which a phase ends."""
    return radius - math.sqrt(2.0 * eps / lam)


def steps_left(run: Run, scale: Scale, eps: float, delta: float, batch_size: int) -> float:
    """Steps until this phase promises ε with probability 1 − δ; without end for ε = 0."""
    if eps == 0:
        return math.inf
    counts = do_theorem4_counts(eps, lam=scale.lam, delta=delta, G=scale.G, batch_size=batch_size)
    length = do_phase_iterations(eps, lam=scale.lam, G=scale.G, R=scale.R, delta=counts.delta)
    return run.phase + length - run.steps


def begin_phase(course: Course, rule: OptimisticRule) -> None:
    """The next one, with a larger R."""
    course.R *= math.sqrt(2.0)
    course.run.phase, course.curvature = course.run.steps, 0.0
    course.run.phases += 1
    course.kept.chosen = 1
    if not rule.keep_w:
        course.weights.clear()
        course.kept.clear(course.run.steps)
