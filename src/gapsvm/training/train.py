"""One problem, from options to a certified model: the stages of its plan, and the best of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gapsvm.backends import Backend, get_backend
from gapsvm.problems.base import Scaled
from gapsvm.registry.storable import storable
from gapsvm.solvers.base import Foreseen, refuse_nan
from gapsvm.solvers.loop import solve
from gapsvm.solvers.trace import Callback, Checkpoint, Record, Result, Status
from gapsvm.training.methods import AUTO, Method
from gapsvm.training.plan import plan

_NEXT_STAGE = (Status.MAX_PASSES, Status.TOO_SLOW, Status.STALLED, Status.DIVERGED)


@dataclass(frozen=True)
class Options:
    """How to train, once the problem is given.

    Parameters
    ----------
    method : "auto", a name or spec of ``gapsvm.METHODS``, or a solver
    tol : float
        Certified gap to reach, relative to P₀, the objective at w = 0 and the best bias.
    max_passes : float
    time_limit : float, optional
        Seconds.
    seed : int or SeedSequence, optional
    callbacks : sequence of callables
        See ``gapsvm.solvers.trace.Callback``.
    evaluate_every : float, optional
        Passes between evaluations at most.
    backend : str
    threads : int
        For one problem; the same seed and threads give the same model.
    """

    method: Method = AUTO
    tol: float = 1e-3
    max_passes: float = 1000
    time_limit: float | None = None
    seed: Any = 0
    callbacks: Sequence[Callback] = ()
    evaluate_every: float | None = None
    backend: str = "cpu"
    threads: int = 1

    def __post_init__(self) -> None:
        refuse_nan(self, "tol", "max_passes", "time_limit", "evaluate_every")
        if not self.threads >= 1:
            raise ValueError(f"threads must be at least 1, got {self.threads!r}")

    @property
    def foreseen(self) -> Foreseen:
        """What methods may know of the fit before it begins."""
        return Foreseen(self.tol, self.max_passes)


@storable
@dataclass(frozen=True)
class Fit:
    """A trained model and its certificate."""

    result: Result
    method: str
    """The method that produced the certified iterate."""
    primal_at_zero: float
    """P₀, to which the tolerance is relative."""

    @property
    def solution(self) -> Any:
        return self.result.solution

    @property
    def note(self) -> str:
        """What the method chose by itself, and why; empty if there was nothing to choose."""
        return str(getattr(self.result.checkpoint.state, "note", ""))


@storable
@dataclass
class Training:
    """Where a training stands: everything it needs to go on as if it had never stopped."""

    stage: int = 0
    passes: float = 0.0
    """Of the stages before this one."""
    checkpoint: Checkpoint | None = None
    """Of this stage."""
    best: Result | None = None
    """Of the stages before this one."""
    best_method: str = ""


def train(
    problem: Scaled[Any],
    options: Options,
    *,
    warm: Any = None,
    cancelled: Callable[[], bool] | None = None,
    resume: Training | None = None,
    on_slice: Callable[[Training], Any] | None = None,
    backend: Backend | None = None,
) -> Fit:
    """Solve ``problem`` to ``options.tol`` and say which method did it.

    ``warm`` is certified before any step, and a method that can begin at it does.
    ``on_slice`` gets the training a few times a second, to save it; ``resume`` goes on from one.
    """
    ends_at = math.inf if options.time_limit is None else time.perf_counter() + options.time_limit
    p0 = problem.primal_at_zero
    training = resume or Training()
    backend = backend or get_backend(options.backend, options.threads)

    def report(checkpoint: Checkpoint) -> None:
        training.checkpoint = checkpoint
        if on_slice is not None:
            on_slice(training)

    stages = plan(problem, options.method, options.foreseen, warm)
    while True:
        stage = stages[training.stage]
        result = solve(
            problem,
            stage.solver,
            gap=min(options.tol, stage.tol) * p0,
            max_passes=min(stage.max_passes, options.max_passes - training.passes) if p0 > 0 else 0,
            patience=stage.patience,
            time_limit=None if ends_at == math.inf else max(0.0, ends_at - time.perf_counter()),
            callbacks=options.callbacks,
            cancelled=cancelled,
            backend=backend,
            seed=options.seed,
            checkpoint=training.checkpoint,
            on_slice=report,
            evaluate_every=options.evaluate_every,
            first=warm if training.stage == 0 else None,
        )
        best, method = _best(training, result, stage.method, options.tol * p0)
        last = stage is stages[-1] or best.passes >= options.max_passes
        if last or best.status not in _NEXT_STAGE:
            return Fit(best, method, p0)
        training.stage, training.passes, training.checkpoint = training.stage + 1, best.passes, None
        training.best, training.best_method = best, method


def _best(before: Training, result: Result, method: str, target: float) -> tuple[Result, str]:
    """The better one of a stage's result and of what the stages before it had, and its method."""
    passes = before.passes + result.passes
    status = Status.CONVERGED if result.gap <= target else result.status
    if before.best is not None and before.best.gap < result.gap:
        return replace(before.best, status=status, passes=passes), before.best_method
    trace = [] if before.best is None else before.best.trace
    run = replace(result.checkpoint, trace=_joined(trace, result.trace))
    return replace(result, status=status, passes=passes, checkpoint=run), method


def _joined(before: list[Record], after: list[Record]) -> list[Record]:
    """One trace of two stages: passes and seconds go on where the first ended."""
    if not before:
        return after
    end = before[-1]
    moved = [
        replace(
            record,
            passes=record.passes + end.passes,
            seconds=record.seconds + end.seconds,
            evaluation_seconds=record.evaluation_seconds + end.evaluation_seconds,
        )
        for record in after
    ]
    return before + moved
