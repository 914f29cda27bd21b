"""The one loop.

The loop knows nothing of w or α: a solver advances a state, a problem certifies the iterate that
the solver reads off it, and the loop decides when to look and when to stop.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.problems.base import Problem, knows_zero
from gapsvm.problems.certificate import Certificate
from gapsvm.solvers.base import Solver, refusal_of, refuse_nan
from gapsvm.solvers.trace import Callback, Checkpoint, Record, Result, Status

_LESS_THAN_A_ROW = 1e-6


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag that the loop reads; the second one acts as always.

    Only the main thread may do so; in another thread the flag stays down.
    """
    raised = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield raised.is_set
        return
    before = signal.getsignal(signal.SIGINT)

    def note(signum: int, frame: Any) -> None:
        raised.set()
        signal.signal(signal.SIGINT, before)

    if before is None or before is signal.SIG_IGN:  # set outside Python, or not wanted at all
        yield raised.is_set
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield raised.is_set
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class Aim:
    """What a call of the loop is to reach, within what, and who is told.

    Parameters
    ----------
    gap : float
        Target for the certified duality gap, absolute.
    max_passes, time_limit : float
        Budgets: passes over the rows (in all, a resumed part included) and seconds of this call.
    patience : float
        Give up when more passes than these are foreseen to be still to go.
    callbacks : sequence of callables
        Each gets the latest ``Record`` after every evaluation; a true answer stops the fit.
    cancelled : callable
        Asked between slices; true ends the fit as Ctrl-C does.  By default it is Ctrl-C itself.
    backend, seed
        Where the work is done, and what random orders begin with.
    checkpoint : Checkpoint, optional
        ``Result.checkpoint`` of an earlier call with the same problem and solver: go on from there.
    on_slice : callable, optional
        Gets the checkpoint after every slice, a few hundredths of a second apart: to save it.
    evaluate_every : float, optional
        Evaluate at least every so many passes.  By default rarely: when the solver's hint says
        that the target may be reached, and at pass counts that grow geometrically.
    first : iterate, optional
        A warm start, certified as it is before the first step: it may be all that is asked for,
        whatever the solver makes of it.
    """

    gap: float
    max_passes: float = 1000
    patience: float = math.inf
    time_limit: float | None = None
    callbacks: Sequence[Callback] = ()
    cancelled: Callable[[], bool] | None = None
    backend: str | Backend = "cpu"
    seed: int | np.random.SeedSequence | None = 0
    checkpoint: Checkpoint | None = None
    on_slice: Callable[[Checkpoint], Any] | None = None
    evaluate_every: float | None = None
    first: Any = None

    def __post_init__(self) -> None:
        refuse_nan(self, "gap", "max_passes", "time_limit", "patience", "evaluate_every")


def solve(problem: Problem[Any], solver: Solver[Any, Any], **aim: Any) -> Result:
    """``run`` with the fields of ``Aim`` as keywords."""
    return run(problem, solver, Aim(**aim))


def run(problem: Problem[Any], solver: Solver[Any, Any], aim: Aim) -> Result:
    """Advance ``solver`` on ``problem`` until its certified gap is at most ``aim.gap``.

    Returns
    -------
    Result
        The last certified iterate, whatever ended the fit, or the first where that is better; never
        one that is not finite, nor one whose gap is above that of the zero model.
    """
    reason = refusal_of(solver, problem)
    if reason:
        raise ValueError(f"{type(solver).__name__} cannot solve this: {reason}")
    backend = get_backend(aim.backend)
    if hasattr(solver, "backend_for"):
        backend = solver.backend_for(problem, backend)
    checkpoint = aim.checkpoint
    if checkpoint is None:
        state = solver.init(problem, backend, np.random.default_rng(aim.seed))
        checkpoint = Checkpoint(state, next_evaluation=aim.evaluate_every or 1.0)
    loop = _Loop(problem, solver, backend, checkpoint, aim)
    with (
        deferred_interrupt() if aim.cancelled is None else nullcontext(aim.cancelled)
    ) as interrupted:
        while True:
            status = loop.ends(interrupted)
            if status is None and loop.may_advance():
                loop.advance()
                if not loop.worth_a_look():
                    continue
            status = loop.look(status)
            if status is not None:
                return loop.result(status)


@dataclass
class _Loop:
    """The moves of the loop: advance, decide whether to look, look."""

    problem: Problem[Any]
    solver: Solver[Any, Any]
    backend: Backend
    run: Checkpoint
    aim: Aim
    warm: Certificate | None = None
    """The certificate of ``aim.first``."""
    latest: Certificate | None = None
    """The current iterate's, or, if that is not finite, what was kept."""
    kept: Certificate = field(default_factory=lambda: Certificate(math.inf, -math.inf))
    """The latest that is no worse than the zero model; otherwise the best that is known."""
    diverged: bool = False
    ends_at: float = math.inf

    def __post_init__(self) -> None:
        if self.aim.time_limit is not None:
            self.ends_at = time.perf_counter() + self.aim.time_limit

    @cached_property
    def slice_rows(self) -> int:
        """Rows between two looks at the clock: the solver's, if it has an opinion; no more than
        there are between two evaluations that are due by passes."""
        own = getattr(self.solver, "slice_rows", None)
        if own is None or self.watched:
            return self.problem.slice_rows
        return int(own(self.problem))

    @property
    def watched(self) -> bool:
        """Whether somebody looks at passes."""
        return bool(self.aim.callbacks) or self.aim.evaluate_every is not None

    def ends(self, interrupted: Callable[[], bool]) -> Status | None:
        """Why no further step is to be made; None if one is."""
        progress = self.solver.progress(self.problem, self.run.state)
        if interrupted():
            return Status.INTERRUPTED
        if time.perf_counter() >= self.ends_at:
            return Status.TIME_LIMIT
        if self.passes >= self.aim.max_passes:
            return Status.MAX_PASSES
        if progress.promised:
            return Status.PROMISED
        if progress.settled:
            return Status.SETTLED
        if progress.exhausted:
            return Status.STALLED
        return Status.TOO_SLOW if self.passes_to_go() > self.aim.patience else None

    def may_advance(self) -> bool:
        """Whether there is nothing to look at first: a warm start, or what a hint says is done."""
        hint = self.solver.progress(self.problem, self.run.state).gap_hint
        return bool(self.run.trace) or not (self.aim.first is not None or hint <= self.aim.gap)

    def look(self, status: Status | None) -> Status | None:
        """Certify, tell the callbacks, and say why the fit ends; None if it goes on."""
        trace = self.run.trace
        records = len(trace)
        certificate = self.certificate(in_a_hurry=status is Status.INTERRUPTED)
        answers: list[Any] = []
        if self.aim.callbacks and len(trace) > records:
            record = replace(trace[-1], solution=certificate.solution)
            answers = [callback(record) for callback in self.aim.callbacks]
        if self.kept.is_finite and self.kept.gap <= self.aim.gap:
            return Status.CONVERGED
        if self.diverged:
            return Status.DIVERGED
        if status is None and any(answers):
            return Status.STOPPED_BY_CALLBACK
        return status

    @property
    def passes(self) -> float:
        visited = self.solver.progress(self.problem, self.run.state).rows_visited
        return float(visited / max(self.problem.n_rows, 1))

    def advance(self) -> None:
        left = (self.aim.max_passes - self.passes) * self.problem.n_rows
        left = math.ceil(left - _LESS_THAN_A_ROW)  # rounding adds none
        visited = self.solver.progress(self.problem, self.run.state).rows_visited
        slice_rows = self.slice_rows
        grain = slice_rows - visited % slice_rows  # a break shifts none
        budget = max(1, min(grain, left))
        before = time.perf_counter()
        self.run.state = self.solver.advance(self.problem, self.run.state, self.backend, budget)
        self.run.seconds += time.perf_counter() - before
        if self.aim.on_slice is not None:
            self.aim.on_slice(self.run)

    def passes_to_go(self) -> float:
        """As foreseen at the last milestone if the gap goes on to fall as it did since the one
        before; 0 as long as nothing can be said."""
        milestones = self.run.milestones
        hint = self.solver.progress(self.problem, self.run.state).gap_hint
        if math.isnan(hint):
            return 0.0
        due, stale = (2.0 * milestones[-1][0], milestones[-1][1]) if milestones else (4.0, math.nan)
        if self.passes >= due and hint != stale:
            milestones.append((self.passes, hint))
        if len(milestones) < 2:
            return 0.0
        (earlier, before), (later, latest) = milestones[-2:]
        if latest <= self.aim.gap:
            return 0.0
        if latest >= before or self.aim.gap <= 0:
            return math.inf
        return (later - earlier) * math.log(latest / self.aim.gap) / math.log(before / latest)

    def worth_a_look(self) -> bool:
        """An evaluation costs half a pass: look when the hint says so, or on schedule.

        The schedule is for solvers without a hint, for fits that somebody watches, and for those
        who asked; it depends on passes alone, so the same seed gives the same fit.
        """
        hint = self.solver.progress(self.problem, self.run.state).gap_hint
        if hint > self.aim.gap:
            self.run.look_below = self.aim.gap
        scheduled = math.isnan(hint) or self.watched
        due = scheduled and self.passes >= self.run.next_evaluation
        return due or hint <= min(self.run.look_below, self.aim.gap)

    def certificate(self, in_a_hurry: bool) -> Certificate:
        """The certificate of the current state, or in a hurry the latest one at hand."""
        run, trace = self.run, self.run.trace
        if self.latest is not None:
            slow = trace[-1].evaluation_seconds > 0.5 * len(trace)
            if trace[-1].passes == self.passes or (in_a_hurry and slow):
                return self.latest
        before = time.perf_counter()
        given = self.aim.first is not None and not trace
        iterate = self.aim.first if given else self.solver.iterate(self.problem, run.state)
        found: Certificate = self.problem.certify(iterate, self.backend)
        finite = math.isfinite(found.primal)
        self.warm = found if given and finite else self.warm
        self.kept = self._better(found)
        self.diverged = not finite and not given
        if not finite:
            found = self.kept
        run.evaluation_seconds += time.perf_counter() - before
        passes = self.passes
        self._record(found)
        if passes >= run.next_evaluation:  # an evaluation forced by a break moves no schedule
            run.next_evaluation = passes + (self.aim.evaluate_every or max(1.0, 0.25 * passes))
        hint = self.solver.progress(self.problem, run.state).gap_hint
        if hint <= self.aim.gap < found.gap:  # the hint was too hopeful: ask for more next time
            run.look_below = 0.9 * hint * max(self.aim.gap / found.gap, 0.25)
        self.latest = found
        return found

    def _better(self, found: Certificate) -> Certificate:
        """``found``, unless it is worse than the zero model: then the best of what was kept and of
        the two, point by point."""
        if not knows_zero(self.problem):
            return found if found.is_finite else self.kept
        if found.is_finite and found.gap <= self.problem.primal_at_zero:  # D(0) = 0
            return found
        zero: Certificate = self.problem.at_zero()
        primal = found if found.primal <= zero.primal else zero
        dual = found if math.inf > found.dual >= zero.dual else zero
        joined: Certificate = self.problem.joined(primal, dual)
        return min(self.kept, joined, key=lambda certificate: certificate.gap)

    def _record(self, found: Certificate) -> None:
        run = self.run
        values = found.primal, found.dual, found.gap, self.aim.gap
        run.trace.append(Record(self.passes, run.seconds, run.evaluation_seconds, *values))

    def result(self, status: Status) -> Result:
        """What was kept, or the warm start where that is better; the trace ends with it."""
        if self.warm is not None and self.warm.gap < self.kept.gap:
            self.kept = self.warm
        same_point = self.latest is not None and self.kept.primal == self.latest.primal
        is_last = same_point and not self.diverged
        if self.kept is not self.latest:
            self._record(self.kept)
        return Result(self.kept, status, self.passes, self.solver, self.run, is_last)
