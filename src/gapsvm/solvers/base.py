"""What a solver owes to the loop; what it may offer beyond that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.base import Problem
from gapsvm.problems.linear import LinearProblem
from gapsvm.problems.row_losses import RowLosses
from gapsvm.solvers.trace import Progress

P = TypeVar("P", contravariant=True)
State = TypeVar("State")

_WIDE, _COARSE = 1 << 19, 5e-7
"""From so many features on, w is kept in float32 for gaps no finer than this."""


class Solver(Protocol[P, State]):
    """A frozen dataclass of hyper-parameters for problems ``P``; what changes is in the state.

    A solver may also offer

    ``refusal(problem) -> str``: what the problem lacks for it to work; empty if nothing.
    ``warmed(iterate) -> Solver``: the same solver, to begin at an iterate of the problem.
    ``tuned(problem, foreseen) -> Solver``: the same with what was left open filled in.
    ``slice_rows(problem) -> int``: rows of some milliseconds, where they are not the problem's.
    ``backend_for(problem, backend) -> Backend``: another one, where that would have to be waited
    for.
    """

    def init(self, problem: P, backend: Backend, rng: np.random.Generator) -> State:
        """The state before the first step."""

    def advance(self, problem: P, state: State, backend: Backend, budget: int) -> State:
        """The state after at most ``budget`` more rows; may change ``state`` in place."""

    def iterate(self, problem: P, state: State) -> Any:
        """What ``problem.certify`` understands; shares no memory with the state."""

    def progress(self, problem: P, state: State) -> Progress:
        """Rows visited so far and, if it is to be had for free, a guess of the gap."""


@dataclass(frozen=True)
class Foreseen:
    """What is known of a fit before it begins."""

    tol: float
    """Relative to P₀."""
    max_passes: float

    def allows_float32(self, problem: LinearProblem) -> bool:
        """Whether w is wider than caches, and float32 exact enough for it."""
        return bool(problem.n_features >= _WIDE and self.tol >= _COARSE)


def refusal_of(solver: object, problem: object) -> str:
    """What the problem lacks for the solver to work; empty if nothing."""
    ask = getattr(solver, "refusal", None)
    return str(ask(problem)) if ask is not None else ""


def tuned(solver: Solver[Any, Any], problem: Problem[Any], foreseen: Foreseen) -> Solver[Any, Any]:
    """The solver with what was left open filled in for this problem."""
    tune = getattr(solver, "tuned", None)
    found: Solver[Any, Any] = solver if tune is None else tune(problem, foreseen)
    return found


def warmed(solver: Solver[Any, Any], warm: Any) -> Solver[Any, Any]:
    """The solver, told where to start if it can be."""
    begin = getattr(solver, "warmed", None)
    found: Solver[Any, Any] = solver if begin is None or warm is None else begin(warm)
    return found


def refusal_of_others(problem: object, *kinds: type) -> str:
    """Why a solver for some kinds of problems does not take this one; empty if it does."""
    if isinstance(problem, kinds):
        return ""
    names = " or a ".join(kind.__name__ for kind in kinds)
    return f"it is for a {names}, not for a {type(problem).__name__}"


def refusal_of_balls(problem: RowLosses) -> str:
    """Why a problem with a radius is not for methods that need w(α) to be linear in α."""
    if problem.radius == math.inf:
        return ""
    return (
        "it cannot keep w in a ball; where a radius is given use a subgradient method, such as "
        "'proximal'"
    )


def refuse_nan(limits: object, *names: str) -> None:
    """Raise a ValueError that names the first of these attributes that is NaN: no comparison with
    it holds, so that nothing would ever end a fit, or anything at once."""
    for name in names:
        value = getattr(limits, name)
        if value is not None and math.isnan(value):
            raise ValueError(f"{name} must be a number, got nan")
