"""What a fit reports: the trace of its certificates, how it ended, and its result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from gapsvm.problems.certificate import Certificate
from gapsvm.registry.storable import storable


class Status(Enum):
    """How a fit ended; the value is the sentence a user reads."""

    CONVERGED = "the certified gap reached the tolerance"
    MAX_PASSES = "the budget of passes ended before the gap reached the tolerance"
    TOO_SLOW = "more passes are to go than the method was given patience for"
    TIME_LIMIT = "the time limit ended before the gap reached the tolerance"
    INTERRUPTED = "interrupted by the user"
    STOPPED_BY_CALLBACK = "a callback asked to stop"
    PROMISED = "the steps were done after which a theorem promises the accuracy asked for"
    SETTLED = "on a sample of rows the objective hardly moved while the steps doubled"
    STALLED = "the solver reached the limit of floating-point precision before the tolerance"
    DIVERGED = "the iterates became infinite or NaN"


@storable
@dataclass(frozen=True)
class Record:
    """One line of a trace: where the fit stood when it was evaluated.

    Parameters
    ----------
    passes : float
        Passes over the data so far.
    seconds, evaluation_seconds : float
        Seconds of optimisation without evaluations, and of evaluations.
    primal, dual, gap : float
        The objective, a lower bound of its minimum, and their difference.
    target : float
        The gap at which the fit stops.
    solution
        What was certified; callbacks get it, the trace does not keep it.
    """

    passes: float
    seconds: float
    evaluation_seconds: float
    primal: float
    dual: float
    gap: float
    target: float = 0.0
    solution: Any = field(default=None, repr=False, compare=False)


Callback = Callable[[Record], Any]
"""Called after every evaluation; a true return value stops the fit."""


@dataclass
class Progress:
    """What the loop may ask of a solver's state.

    ``gap_hint`` is the solver's own cheap guess of the gap, NaN if it has none: the loop uses it
    to decide when an evaluation is worth its cost, never to stop.
    """

    rows_visited: int
    gap_hint: float = math.nan
    exhausted: bool = False
    """The solver cannot improve its iterate any more."""
    promised: bool = False
    """The solver has done the steps that a theorem asks for."""
    settled: bool = False
    """The solver sees no more progress of the size that was asked for; nothing is promised."""


@storable
@dataclass
class Checkpoint:
    """Everything a fit needs to go on as if it had never stopped."""

    state: Any
    next_evaluation: float = 1.0
    """Passes at which a scheduled evaluation is due."""
    look_below: float = math.inf
    """A hint below this is worth an evaluation."""
    milestones: list[tuple[float, float]] = field(default_factory=list)
    """(passes, hint) at 4, 8, 16, … passes: from them the passes still to go are foreseen."""
    seconds: float = 0.0
    evaluation_seconds: float = 0.0
    trace: list[Record] = field(default_factory=list)


@storable
@dataclass(frozen=True)
class Result:
    """The last certified iterate, how it was reached and how it ended.

    Where that is worse than the zero model, or not finite, it is the best that is known instead: an
    earlier one, or the zero model, its own lower bound or the iterate's.
    """

    certificate: Certificate
    status: Status
    passes: float
    solver: Any
    checkpoint: Checkpoint
    is_last: bool = True
    """Whether it is the last iterate, if not with the last lower bound."""

    def __repr__(self) -> str:
        """Short: numbers, no arrays."""
        certificate = self.certificate
        return (
            f"Result(gap={self.gap:.3g}, primal={certificate.primal:.6g}, "
            f"dual={certificate.dual:.6g}, status={self.status.name}, passes={self.passes:.4g}, "
            f"solver={type(self.solver).__name__})"
        )

    @property
    def trace(self) -> list[Record]:
        return self.checkpoint.trace

    @property
    def solution(self) -> Any:
        return self.certificate.solution

    @property
    def gap(self) -> float:
        return self.certificate.gap

    @property
    def ending(self) -> str:
        """How the fit ended, and what is handed out if it is not the last iterate."""
        how = self.status.value
        if not self.is_last and not self.converged:
            how += (
                "; the last steps led away from the optimum, and the model is the best one "
                "certified before, at worst that of zero weights"
            )
        return how

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED
