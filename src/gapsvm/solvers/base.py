"""What a solver owes to the loop; what it may offer beyond that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from gapsvm.backends import Backend
from gapsvm.solvers.trace import Progress

State = TypeVar("State")

_WIDE, _COARSE = 1 << 19, 5e-7
"""From so many features on, w is kept in float32 for gaps no finer than this."""


class Solver(Protocol[State]):
    """A frozen dataclass of hyper-parameters; everything that changes is in the state.

    A solver may also offer

    ``refusal(problem) -> str``: what the problem lacks for it to work; empty if nothing.
    ``warmed(iterate) -> Solver``: the same solver, to begin at an iterate of the problem.
    ``tuned(problem, foreseen) -> Solver``: the same with what was left open filled in.
    """

    def init(self, problem: Any, backend: Backend, rng: np.random.Generator) -> State:
        """The state before the first step."""

    def advance(self, problem: Any, state: State, backend: Backend, budget: int) -> State:
        """The state after at most ``budget`` more rows; may change ``state`` in place."""

    def iterate(self, problem: Any, state: State) -> Any:
        """What ``problem.certify`` understands; shares no memory with the state."""

    def progress(self, problem: Any, state: State) -> Progress:
        """Rows visited so far and, if it is to be had for free, a guess of the gap."""


@dataclass(frozen=True)
class Foreseen:
    """What is known of a fit before it begins."""

    tol: float
    """Relative to P₀."""
    max_passes: float

    def allows_float32(self, problem: Any) -> bool:
        """Whether w is wider than caches, and float32 exact enough for it."""
        return bool(problem.n_features >= _WIDE and self.tol >= _COARSE)


def refusal_of(solver: Any, problem: Any) -> str:
    """What the problem lacks for the solver to work; empty if nothing."""
    ask = getattr(solver, "refusal", None)
    return str(ask(problem)) if ask is not None else ""


def tuned(solver: Any, problem: Any, foreseen: Foreseen) -> Any:
    """The solver with what was left open filled in for this problem."""
    tune = getattr(solver, "tuned", None)
    return tune(problem, foreseen) if tune is not None else solver


def warmed(solver: Any, warm: Any) -> Any:
    """The solver, told where to start if it can be."""
    begin = getattr(solver, "warmed", None)
    return begin(warm) if begin is not None and warm is not None else solver


def refusal_of_others(problem: Any, kind: type) -> str:
    """Why a solver for one kind of problems does not take this one; empty if it does."""
    if isinstance(problem, kind):
        return ""
    return f"it is for a {kind.__name__}, not for a {type(problem).__name__}"


def refusal_of_balls(problem: Any) -> str:
    """Why a problem with a radius is not for methods that need w(α) to be linear in α."""
    if problem.radius == math.inf:
        return ""
    return (
        "it cannot keep w in a ball; where a radius is given use a subgradient method, such as "
        "'proximal'"
    )
