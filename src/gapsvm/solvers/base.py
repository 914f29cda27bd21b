"""What a solver owes to the loop; what it may offer beyond that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from gapsvm.backends import Backend
from gapsvm.solvers.trace import Progress

State = TypeVar("State")


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
