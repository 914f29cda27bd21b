"""The risk of a problem: what a bundle method asks for."""

from __future__ import annotations

import math
from functools import singledispatch

from gapsvm.problems.linear import LinearProblem
from gapsvm.problems.linear_risk import LinearRisk
from gapsvm.problems.multiclass import MulticlassProblem
from gapsvm.problems.multiclass_risk import MulticlassRisk
from gapsvm.problems.risk import Risk
from gapsvm.problems.structured.base import StructuredProblem
from gapsvm.problems.structured.likelihood import ChainLikelihood
from gapsvm.problems.structured.risk import LikelihoodRisk, StructuredRisk


@singledispatch
def risk_of(problem: object) -> Risk:
    """R of a problem R(w) + (λ/2)‖w‖²; a ValueError says why there is none.

    A problem of another kind shows it by a method ``risk()``.
    """
    show = getattr(problem, "risk", None)
    if show is None:
        raise ValueError(
            "a bundle method needs a problem of the form R(w) + (lam/2)|w|^2 that shows its R "
            "(value and subgradient); RiskProblem makes one of an oracle"
        )
    risk: Risk = show()
    return risk


@risk_of.register
def _(problem: LinearProblem) -> Risk:
    if problem.radius < math.inf:
        raise ValueError(
            "it cannot keep w in a ball; where a radius is given use a subgradient method, such as "
            "'proximal'"
        )
    return LinearRisk(problem)


@risk_of.register
def _(problem: MulticlassProblem) -> Risk:
    return MulticlassRisk(problem)


@risk_of.register
def _(problem: StructuredProblem) -> Risk:
    return StructuredRisk(problem)


@risk_of.register
def _(problem: ChainLikelihood) -> Risk:
    return LikelihoodRisk(problem)
