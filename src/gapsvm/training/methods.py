"""Every method by name: what plans, checkpoints, estimators and the command line read.

A method is a solver's class and the parameters that a user may set; a solver of a user's own is an
object, or is added with ``METHODS.add``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from gapsvm.problems.base import Problem
from gapsvm.registry import Registry, parsed
from gapsvm.registry.annotations import hints_of
from gapsvm.solvers.base import Foreseen, Solver, refusal_of, tuned
from gapsvm.solvers.bundle.bundle import Bundle
from gapsvm.solvers.bundle.level import LevelBundle
from gapsvm.solvers.bundle.proximal import ProximalBundle
from gapsvm.solvers.frank_wolfe.solver import FrankWolfe
from gapsvm.solvers.minibatch.solver import MiniBatchSDCA
from gapsvm.solvers.newton.exact import Exact
from gapsvm.solvers.newton.interior import InteriorPoint
from gapsvm.solvers.newton.newton import Newton
from gapsvm.solvers.outer_bias import OuterBias
from gapsvm.solvers.quasi_newton.lbfgs import LBFGS
from gapsvm.solvers.sdca.accelerated import AcceleratedSDCA
from gapsvm.solvers.sdca.kernel import KernelSDCA
from gapsvm.solvers.sdca.pairs import PairSDCA
from gapsvm.solvers.sdca.serial import SDCA
from gapsvm.solvers.subgradient.coefficients import CoefficientSubgradient
from gapsvm.solvers.subgradient.rules import STEP_RULES, get_step_rule
from gapsvm.solvers.subgradient.solver import Subgradient
from gapsvm.solvers.working_set.lasvm import LASVM
from gapsvm.solvers.working_set.newton import KernelNewton
from gapsvm.solvers.working_set.smo import SMO
from gapsvm.solvers.working_set.solver import FullGram, WorkingSet
from gapsvm.solvers.working_set.weights import LinearSDCA

AUTO = "auto"
"""The name that leaves the choice to ``gapsvm.training.plan``."""
Method = str | Solver[Any, Any]
"""A name, a spec or a solver."""
METHODS: Registry[Solver[Any, Any]] = Registry("method")
_START = ("alpha", "bias", "w", "start")
"""Where a solver begins is told by warm starts."""


def is_solver(thing: object) -> bool:
    """Whether it has what the loop asks of a solver."""
    return all(callable(getattr(thing, name, None)) for name in ("init", "advance", "iterate"))


def _add(name: str, maker: Callable[..., Solver[Any, Any]], summary: str, **more: Any) -> None:
    hidden = tuple(start for start in _START if start in inspect.signature(maker).parameters)
    METHODS.add(name, maker, summary, hidden=hidden, **more)


def _subgradient_with(rule: str) -> Callable[..., Subgradient]:
    """What makes a ``Subgradient`` of one step rule, from the parameters of both."""
    own, shared = STEP_RULES[rule].maker, dict(inspect.signature(Subgradient).parameters)
    del shared["step_rule"]
    rules_own = inspect.signature(own).parameters

    def make(**given: Any) -> Subgradient:
        own_parameters = {name: given.pop(name) for name in rules_own if name in given}
        step_rule = STEP_RULES[rule](**own_parameters) if own_parameters else rule
        return Subgradient(step_rule=step_rule, **given)

    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in ({**rules_own, **shared}).values()
    ]
    make.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    make.__annotations__ = {**hints_of(Subgradient), **hints_of(own)}
    return make


def _outer_bias(inner: str = "pegasos", passes: float = 2.0) -> OuterBias:
    return OuterBias(METHODS.make(inner), passes)


_add("sdca", SDCA, "dual coordinate ascent on one row at a time")
_add("minibatch", MiniBatchSDCA, "dual ascent on many rows at a time (Takáč et al.)")
_add("accelerated", AcceleratedSDCA, "sdca with momentum, for weak regularisation")
_add("exact", Exact, "small problems in one call; to the last digits")
_add("interior", InteriorPoint, "interior point, for few features or few rows; to 1e-12")
_add("newton", Newton, "Newton's method, for the logistic loss")
for _rule, _entry in STEP_RULES.items():
    _ball = {"projection": True} if getattr(_entry.maker, "needs_ball", False) else {}
    _add(_rule, _subgradient_with(_rule), f"subgradient steps: {_entry.summary}", defaults=_ball)
_add("subgradient", Subgradient, "subgradient steps, by any step rule")
_add("outer-bias", _outer_bias, "a search for a free bias around another method (Pegasos, §6)")
_add("bundle", Bundle, "cutting planes, for any risk with an oracle (SVM-Perf, BMRM)")
_add("proximal-bundle", ProximalBundle, "cutting planes with proximal terms (Do, Algorithm 4)")
_add("level-bundle", LevelBundle, "cutting planes near the best point, below a level of the model")
_add("pair-sdca", PairSDCA, "sdca over all pairs of documents, for ranking")
_add("working-set", WorkingSet, "blocks of rows, for kernel problems")
_add("full-gram", FullGram, "all of K at once, for kernel problems of few rows; to 1e-12")
_add("linear-sdca", LinearSDCA, "sdca over weights, for kernel problems with a linear kernel")
_add("kernel-newton", KernelNewton, "blocks of rows, for kernel problems with the logistic loss")
_add("kernel-sdca", KernelSDCA, "sdca over rows of a kernel matrix")
_add(
    "coefficient-subgradient",
    CoefficientSubgradient,
    "subgradients in the coefficients of a kernel function (Pegasos, eq. 19)",
)
_add("lasvm", LASVM, "support vectors that enter and leave one by one (Bordes et al.)")
_add("smo", SMO, "steps of the best pair of rows, for kernel problems (SVM-Light, LIBSVM)")
_add("frank-wolfe", FrankWolfe, "block-coordinate Frank-Wolfe, for structured problems")
_add("lbfgs", LBFGS, "quasi-Newton steps, for smooth structured problems")


def solver_of(method: Method, problem: Problem[Any], foreseen: Foreseen) -> Solver[Any, Any]:
    """The solver that a name or a spec stands for, tuned to a problem; a solver is itself.

    Raises
    ------
    ValueError
        If there is no such method, or it does not solve such problems; it lists those that do.
    """
    if not isinstance(method, str):
        if not is_solver(method):
            raise TypeError(
                f"a method is a name or a solver (init, advance, iterate, progress), not a "
                f"{type(method).__name__}"
            )
        found = method
    else:
        found = tuned(METHODS.make(method), problem, foreseen)
    reason = refusal_of(found, problem)
    if reason:
        raise ValueError(
            f"method {name_of(method)!r}: {reason}. Methods for this problem: "
            f"{', '.join((AUTO, *that_solve(problem)))}"
        )
    return found


def that_solve(problem: Problem[Any]) -> list[str]:
    """The names of the methods that take a problem as they come."""
    foreseen = Foreseen(math.inf, 1.0)
    return [
        name
        for name, entry in METHODS.items()
        if not refusal_of(tuned(entry(), problem, foreseen), problem)
    ]


def radius_of(method: Method) -> float:
    """The radius of the ball that a method keeps to, which is part of the problem it solves."""
    if isinstance(method, str) and method != AUTO:
        name, given = parsed(method, METHODS.kind)
        if "radius" not in given or name not in (*STEP_RULES, "subgradient"):
            return math.inf
        method = METHODS.make(method)
    return method.radius if isinstance(method, Subgradient) else math.inf


def name_of(method: Method) -> str:
    """What a report calls a method: a name without its parameters."""
    if isinstance(method, str):
        return method if method == AUTO else parsed(method, METHODS.kind)[0]
    if isinstance(method, Subgradient):
        rule = type(get_step_rule(method.step_rule))
        named = (name for name, entry in STEP_RULES.items() if entry.maker is rule)
        return next(named, rule.__name__)
    named = (name for name, entry in METHODS.items() if entry.maker is type(method))
    return "outer-bias" if isinstance(method, OuterBias) else next(named, type(method).__name__)
