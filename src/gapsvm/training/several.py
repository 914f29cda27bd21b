"""Several problems over the same rows: a few at a time, one clock, Ctrl-C, and where they stand."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from gapsvm.solvers.loop import deferred_interrupt
from gapsvm.solvers.trace import Callback
from gapsvm.system.blas import one_blas_thread
from gapsvm.system.cores import at_most_cores
from gapsvm.training.train import Fit, Options, Training, train


class Problems(Protocol):
    """What there is to solve; a problem is made when its turn comes."""

    def __len__(self) -> int:
        """How many problems there are."""

    def problem(self, k: int) -> Any:
        """The k-th one."""


@dataclass
class Standing:
    """Where each problem stands: finished, under way, or None for not begun.

    ``save`` is called a few times a second, when ``of`` may be stored; the problems are then
    trained one after another, so that no other one is in mid-step.
    """

    of: list[Fit | Training | None]
    save: Callable[[], Any] | None = None

    def reopen(self, tol: float) -> None:
        """Begin again where a problem was finished to a coarser tolerance."""
        for k, before in enumerate(self.of):
            if isinstance(before, Fit) and before.result.gap > tol * before.primal_at_zero:
                self.of[k] = None  # nothing is left to go on from

    @property
    def unfinished(self) -> list[int]:
        return [k for k, before in enumerate(self.of) if not isinstance(before, Fit)]


def train_several(
    problems: Problems,
    options: Options,
    *,
    warm: Sequence[Any] | None = None,
    watch: Callable[[int], Sequence[Callback]] = lambda k: (),
    standing: Standing | None = None,
) -> list[Fit]:
    """Every problem, as many at a time as ``options.threads``.

    Ctrl-C ends all of them; each gives its last certified iterate.  ``watch(k)`` gives further
    callbacks for problem k.  What is in ``standing`` goes on from there, and is kept up to date.
    """
    count = len(problems)
    standing = Standing([None] * count) if standing is None else standing
    standing.reopen(options.tol)
    at_once = 1 if standing.save is not None else max(1, min(options.threads, count))
    with deferred_interrupt() as interrupted:
        each = _Each(problems, options, warm, watch, standing, at_once, interrupted)
        if at_once == 1:
            return [each.trained(k) for k in range(count)]
        with one_blas_thread(), ThreadPoolExecutor(at_most_cores(at_once)) as pool:
            futures = [pool.submit(each.trained, k) for k in range(count)]
            return [future.result() for future in futures]


@dataclass
class _Each:
    """What the problems share."""

    problems: Problems
    options: Options
    warm: Sequence[Any] | None
    watch: Callable[[int], Sequence[Callback]]
    standing: Standing
    at_once: int
    interrupted: Callable[[], bool]
    ends_at: float = field(init=False)
    seeds: Sequence[Any] = field(init=False)
    unfinished: Sequence[int] = field(init=False)

    def __post_init__(self) -> None:
        limit = self.options.time_limit
        self.ends_at = math.inf if limit is None else time.perf_counter() + limit
        self.seeds = np.random.SeedSequence(self.options.seed).spawn(len(self.problems))
        self.unfinished = self.standing.unfinished

    def trained(self, k: int) -> Fit:
        """Problem k, from where it stands."""
        before = self.standing.of[k]
        if isinstance(before, Fit):
            return before
        turn = _Turn(k, self.standing, self.interrupted)
        fit = train(
            self.problems.problem(k),
            self._options(k),
            warm=self.warm[k] if self.warm else None,
            cancelled=turn.cancelled,
            resume=before,
            on_slice=turn.note,
        )
        if turn.ended_by_a_look and fit.result.converged:  # else a larger budget would go on
            self.standing.of[k] = fit
        return fit

    def _options(self, k: int) -> Options:
        """Those of problem k: its share of the threads and of the time that is left."""
        limit = None
        if self.ends_at < math.inf:
            share = math.ceil(sum(j >= k for j in self.unfinished) / self.at_once)
            limit = max(0.0, self.ends_at - time.perf_counter()) / share
        return replace(
            self.options,
            seed=self.seeds[k],
            callbacks=[*self.options.callbacks, *self.watch(k)],
            threads=max(1, self.options.threads // self.at_once),
            time_limit=limit,
        )


@dataclass
class _Turn:
    """One problem's training, as it is noted and saved between steps."""

    k: int
    standing: Standing
    interrupted: Callable[[], bool]
    ended_by_a_look: bool = False

    def note(self, training: Training) -> None:
        """After each step."""
        self.standing.of[self.k], self.ended_by_a_look = training, True

    def cancelled(self) -> bool:
        """Before each step, when the last one has been looked at."""
        self.ended_by_a_look = False
        if self.standing.save is not None and not self.interrupted():
            self.standing.save()
        return self.interrupted()
