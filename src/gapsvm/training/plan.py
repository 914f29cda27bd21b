"""Which solvers to run, and in which order, until one of them reaches the tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

from gapsvm.backends.renting import is_due
from gapsvm.problems.base import Problem
from gapsvm.problems.kernel import KernelProblem
from gapsvm.problems.linear import LinearProblem
from gapsvm.solvers.base import Foreseen, Solver, refusal_of, tuned, warmed
from gapsvm.solvers.newton import exact_cost
from gapsvm.solvers.newton.exact import Exact
from gapsvm.solvers.newton.normal_equations import are_narrow, step_nanoseconds
from gapsvm.solvers.sdca.accelerated import AcceleratedSDCA
from gapsvm.solvers.working_set.newton import KernelNewton
from gapsvm.solvers.working_set.solver import WorkingSet
from gapsvm.training.methods import AUTO, METHODS, Method, name_of, radius_of, solver_of

PRIMAL = "primal"
"""auto, among the methods that work on w: interior point for few features, else Pegasos."""
_EXACT = 1e-12
"""Small problems are solved to this share of P₀ whatever the tolerance, ..."""
_POLISHED = 1e-15
"""... and on to this one as long as steps still help."""
_SMALL = 1e6
"""Nanoseconds that "exact" may take for a problem that counts as small, whatever others take."""
_SPARSE, _FEW = 3, 1_000_000
"""Rows are written out by "exact" where that takes so many times the stored values, and so many
more."""
_FEWEST_PASSES, _GROWTH, _OF_SEPARABLE = 8.0, 0.4, 30.0
_EXACTLY = Exact()
LINEAR_PASSES = 300
"""Passes of SDCA over the weights of a linear kernel, before working sets take over."""
_INTERIOR_STEPS, _NEWTON_STEPS = 30, 12


@dataclass(frozen=True)
class Stage:
    """A solver and how long it may try before the next one does."""

    method: str
    solver: Solver[Any, Any]
    max_passes: float = math.inf
    patience: float = math.inf
    """Passes that the next stage would take: give up when more than these are still to go."""
    tol: float = math.inf
    """A tighter tolerance than the user's, where it costs nothing."""


def plan(
    problem: Problem[Any], method: Method, foreseen: Foreseen, warm: Any = None
) -> list[Stage]:
    """The solvers to run, in order, until one of them reaches the tolerance.

    A method that is named is the only one.  "auto" is what suits the problem: for a linear one see
    ``_of_linear``, for others their ``default_method``.
    """
    check_radius(method, problem)
    if isinstance(method, str) and method in (AUTO, PRIMAL):
        return by_itself(problem, method, foreseen, warm)
    solver = warmed(solver_of(method, problem, foreseen), warm)
    return [Stage(name_of(method), solver)]


def check_name(method: Method) -> None:
    """Raise a ValueError for a method that there is not, before anything else is looked at."""
    if isinstance(method, str) and method not in (AUTO, PRIMAL):
        METHODS.make(method)


def check_radius(method: Method, problem: Problem[Any]) -> None:
    """A radius is part of the problem; a method may repeat it, not change it."""
    asked, given = radius_of(method), getattr(problem, "radius", math.inf)
    if asked not in (math.inf, given):
        raise ValueError(
            f"method {name_of(method)!r}: its radius is {asked:g}, that of the problem {given:g}"
        )


@singledispatch
def by_itself(problem: Problem[Any], method: str, foreseen: Foreseen, warm: Any) -> list[Stage]:
    """What suits a problem of that kind."""
    chosen = getattr(problem, "default_method", None)
    if chosen is None:
        raise ValueError(
            f"there is no default method for a {type(problem).__name__}; name one, or give it a "
            "default_method"
        )
    return plan(problem, chosen, foreseen, warm)


@by_itself.register
def _of_linear(problem: LinearProblem, method: str, foreseen: Foreseen, warm: Any) -> list[Stage]:
    """With a radius proximal steps in random order; the mean of the later iterates counts.

    Otherwise small problems are solved exactly.  The others start with SDCA, accelerated where λ is
    weak, and change to an exact method when that is foreseen to be cheaper, and at the latest when
    they have cost as much as it would: who rents until the rent equals the price pays at most twice
    what the better way would have cost.
    """
    if problem.radius < math.inf:
        return plan(problem, "proximal(average=tail, sampler=permutation)", foreseen, warm)
    if method == PRIMAL:
        narrow = are_narrow(problem.rows)
        return plan(problem, "interior" if narrow else "pegasos", foreseen, warm)
    tol = _POLISHED if warm is None else _EXACT
    exact = replace(_stage("exact", problem, foreseen, warm), tol=tol)
    interior = _stage("interior", problem, foreseen, warm)
    writable = is_writable(problem)
    if writable and is_small(problem, foreseen):
        return [exact, interior]
    n, d = problem.rows.shape
    separable = writable and d >= n  # momentum would have nothing to gather
    accelerates = AcceleratedSDCA().acts_on(problem) and not separable
    first = _stage("accelerated" if accelerates else "sdca", problem, foreseen, warm)
    worth = math.inf
    if writable:
        worth = max(10.0, math.ceil(exact_cost.nanoseconds(problem) / problem.pass_nanoseconds))
    elif not refusal_of(interior.solver, problem):
        worth = passes_worth(interior.solver, problem)
    if worth == math.inf:
        return [first]
    patience = math.inf if accelerates else worth  # momentum gathers before the gap falls
    later = [exact, interior] if writable else [interior]
    return [replace(first, max_passes=worth, patience=patience), *later]


def is_writable(problem: LinearProblem) -> bool:
    """Whether "exact" solves such a problem, and its rows may be written out for it."""
    n, d = problem.rows.shape
    few = n * d <= _SPARSE * problem.rows.n_stored + _FEW
    return few and not refusal_of(_EXACTLY, problem)


def is_small(problem: LinearProblem, foreseen: Foreseen) -> bool:
    """Whether to solve a problem exactly: in a millisecond or so, or sooner than SDCA is expected
    to come near, or at once where other methods would have to wait for a compiler."""
    price = exact_cost.nanoseconds(problem)
    if price <= max(_SMALL, passes_expected(problem, foreseen.tol) * problem.pass_nanoseconds):
        return True
    return not is_due("sdca", "sdca_steps", exact_cost.numpy_seconds(problem))


def passes_expected(problem: LinearProblem, tol: float) -> float:
    """Passes of SDCA, accelerated where that helps, as measured on tables with some noise.

    More than there are passes worth of "exact" cost no more than that: then it takes over.
    """
    n, d = problem.rows.shape
    stiffness = problem.mean_sq_norm * problem.scale
    digits = max(1.0, -math.log10(max(tol, 1e-15)) / 3.0)
    passes = _FEWEST_PASSES + stiffness**_GROWTH
    return digits * (min(passes, _OF_SEPARABLE) if d >= n else passes)


@by_itself.register
def _of_kernels(problem: KernelProblem, method: str, foreseen: Foreseen, warm: Any) -> list[Stage]:
    """What suits the loss and the kernel; problems of few rows are solved exactly."""
    stage = _stage(problem.default_method, problem, foreseen, warm)
    if stage.method == "linear-sdca":
        blocks = _stage("working-set", problem, foreseen, warm)
        return [replace(stage, max_passes=LINEAR_PASSES), blocks]
    whole = stage.solver.whole if isinstance(stage.solver, WorkingSet | KernelNewton) else 0
    return [replace(stage, tol=_EXACT)] if problem.n_rows <= whole else [stage]


def _stage(name: str, problem: Problem[Any], foreseen: Foreseen, warm: Any) -> Stage:
    return Stage(name, warmed(tuned(METHODS[name](), problem, foreseen), warm))


def passes_worth(exact: Solver[Any, Any], problem: LinearProblem) -> float:
    """Passes of SDCA that cost as much as an exact method; infinite where that is too large."""
    if not are_narrow(problem.rows):
        return math.inf
    steps = _INTERIOR_STEPS if name_of(exact) == "interior" else _NEWTON_STEPS
    price = steps * step_nanoseconds(problem)
    return max(10.0, math.ceil(price / problem.pass_nanoseconds))
