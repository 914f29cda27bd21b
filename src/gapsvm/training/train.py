"""From arrays and options to a certified model: methods, their choice, one-vs-rest.

scikit-learn is not needed here; the estimators and the command line are thin over this module.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.losses.base import Loss
from gapsvm.problems.linear import Bias, Iterate, LinearProblem
from gapsvm.registry.storable import storable
from gapsvm.rows.matrix import Rows, checked_rows
from gapsvm.solvers.loop import deferred_interrupt, solve
from gapsvm.solvers.minibatch.solver import MiniBatchSDCA
from gapsvm.solvers.newton.interior import InteriorPoint
from gapsvm.solvers.newton.newton import Newton
from gapsvm.solvers.newton.normal_equations import one_blas_thread
from gapsvm.solvers.sdca.accelerated import AcceleratedSDCA
from gapsvm.solvers.sdca.serial import SDCA
from gapsvm.solvers.subgradient.rules import get_step_rule, needs_ball
from gapsvm.solvers.subgradient.solver import Subgradient
from gapsvm.solvers.trace import Callback, Checkpoint, Record, Result, Status
from gapsvm.system.cores import at_most_cores
from gapsvm.types.curves import Logit

SUBGRADIENT = ("pegasos", "norma", "zhang", "adaptive", "proximal", "optimistic")
METHODS = ("auto", "sdca", "accelerated", "interior", *SUBGRADIENT)
PRIMAL = "primal"
"""auto, among the methods that work on w: interior point for few features, else Pegasos."""
_EXACT = 1e-12
"""Small problems are solved to this share of P₀ whatever the tolerance, ..."""
_POLISHED = 1e-15
"""... and on to this one as long as steps still help."""
_SMALL = 3e5
"""Nanoseconds of an interior-point step up to which a problem counts as small."""
_INTERIOR_WIDTH = 4000
"""Largest min(n, d) whose normal equations are formed without being asked."""
_INTERIOR_STEPS, _NEWTON_STEPS = 30, 12
_WIDE, _COARSE = 1 << 19, 5e-7
"""From so many features on, w is kept in float32 for gaps no finer than this."""


_NEXT_STAGE = (Status.MAX_PASSES, Status.TOO_SLOW, Status.STALLED, Status.DIVERGED)
_ONE_AT_A_TIME = (
    "rows step one at a time: on one machine batches take more passes and save nothing; "
    "method 'sdca' or a rule takes the largest batch that the data allow"
)


@dataclass(frozen=True)
class Options:
    """How to train, once the problem is given.

    Parameters
    ----------
    method : one of ``METHODS``, or a solver
    batch_size : int or "auto"
        Rows that step together, for the methods sdca (which auto then means) and pegasos.  "auto":
        for sdca as many as the data allow, for auto whatever ends first, which is one at a time
        unless a rule other than "safe" asks for batches.
    rule : one of ``BATCH_RULES``
        How rows that step together share the way, see ``MiniBatchSDCA``.
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
    threads : int
        For one problem; the same seed and threads give the same model.
    """

    method: Any = "auto"
    tol: float = 1e-3
    max_passes: float = 1000
    time_limit: float | None = None
    seed: Any = 0
    callbacks: Sequence[Callback] = ()
    evaluate_every: float | None = None
    batch_size: Any = 1
    rule: Any = "safe"
    backend: str = "cpu"
    threads: int = 1


@storable
@dataclass(frozen=True)
class Fit:
    """A trained binary or regression model and its certificate."""

    result: Result
    method: str
    """The method that produced the certified iterate."""
    primal_at_zero: float
    """P₀, to which the tolerance is relative."""
    why: str = ""
    """What was chosen before the method began, and why."""

    @property
    def solution(self) -> Iterate:
        return self.result.solution

    @property
    def note(self) -> str:
        """What the method chose by itself, and why; empty if there was nothing to choose."""
        return self.why or str(getattr(self.result.checkpoint.state, "note", ""))


@dataclass(frozen=True)
class Stage:
    """A solver and how long it may try before the next one does."""

    method: str
    solver: Any
    max_passes: float = math.inf
    patience: float = math.inf
    """Passes that the next stage would take: give up when more than these are still to go."""
    tol: float = math.inf
    """A tighter tolerance than the user's, where it costs nothing."""


def plan(problem: LinearProblem, options: Options, warm: Iterate | None = None) -> list[Stage]:
    """The solvers to run, in order, until one of them reaches the tolerance.

    auto: with a radius proximal steps in random order; the mean of the later iterates counts.
    Otherwise small problems are solved exactly by the interior point.  The others start with SDCA,
    accelerated where λ is weak, and change to the interior point when it is foreseen to be cheaper,
    and at the latest when they have cost as much as that would: who rents until the rent equals the
    price pays at most twice what the better way would have cost.
    """
    method = options.method
    if not isinstance(method, str):
        return [Stage(_name_of(method), _warmed(method, warm))]
    confined = problem.radius < math.inf and method in ("auto", PRIMAL)
    if confined:
        method = "proximal"
    if method == PRIMAL:
        narrow = min(problem.rows.shape) <= _INTERIOR_WIDTH
        method = "interior" if narrow else "pegasos"
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}")
    size = options.batch_size
    single = problem.n_features >= _WIDE and options.tol >= _COARSE
    if method in SUBGRADIENT:
        size = 1 if size == "auto" else size
        horizon = math.ceil(min(options.max_passes, 1e6) * problem.n_rows / size)
        how = {"average": "tail", "sampler": "permutation"} if confined else {}
        return [Stage(method, subgradient(method, size, horizon=horizon, single=single, **how))]
    if size != 1 and not leaves_the_batch_to_us(options):
        if method in ("accelerated", "interior"):
            raise ValueError(f"batch_size is for sdca and the subgradient methods, not {method}")
        return [Stage("sdca", _warmed(MiniBatchSDCA(options.rule, size), warm))]
    logistic = _is_logistic(problem)  # no α of it is ever held: there is nothing to screen
    sdca = Stage("sdca", _warmed(SDCA(shrinking=not logistic, single=single), warm))
    accelerated = Stage("accelerated", _warmed(AcceleratedSDCA(), warm))
    interior = Stage("interior", _warmed(Newton() if logistic else InteriorPoint(), warm))
    for stage in (sdca, accelerated, interior):
        if method == stage.method:
            return [stage]
    if _is_small(problem):
        exact = replace(interior, tol=_POLISHED)
        return [exact] if warm is None else [replace(sdca, max_passes=2, tol=_EXACT), exact]
    first = accelerated if AcceleratedSDCA().acts_on(problem) else sdca
    worth = passes_worth_an_interior_point(problem)
    if worth == math.inf:
        return [first]
    patience = worth if first is sdca else math.inf  # momentum gathers before the gap falls
    return [replace(first, max_passes=worth, patience=patience), interior]


def leaves_the_batch_to_us(options: Options) -> bool:
    """Whether the batch size is to be the fastest one, which on one machine is 1."""
    return options.method == "auto" and options.batch_size == "auto" and options.rule == "safe"


_NAMES = {
    SDCA: "sdca",
    MiniBatchSDCA: "sdca",
    AcceleratedSDCA: "accelerated",
    InteriorPoint: "interior",
    Newton: "interior",
}


def subgradient(method: str, batch_size: int, **options: Any) -> Subgradient:
    """The subgradient method of that name; the rules that are made for a ball get one."""
    return Subgradient(batch_size, needs_ball(get_step_rule(method)), step_rule=method, **options)


def _name_of(solver: Any) -> str:
    if isinstance(solver, Subgradient) and isinstance(solver.step_rule, str):
        return solver.step_rule
    return _NAMES.get(type(solver), type(solver).__name__)


def _warmed(solver: Any, warm: Iterate | None) -> Any:
    """The solver, told where to start if it can be: at an α, or at a w."""
    if warm is None:
        return solver
    if hasattr(solver, "alpha"):
        return replace(solver, alpha=warm.alpha, bias=warm.bias)
    return replace(solver, w=warm.w, bias=warm.bias) if hasattr(solver, "w") else solver


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
    problem: LinearProblem,
    options: Options,
    *,
    warm: Iterate | None = None,
    cancelled: Callable[[], bool] | None = None,
    resume: Training | None = None,
    on_slice: Callable[[Training], Any] | None = None,
) -> Fit:
    """Solve ``problem`` to ``options.tol`` and say which method did it.

    ``warm`` is certified before any step, and a method that can begin at an α goes on from its.
    ``on_slice`` gets the training a few times a second, to save it; ``resume`` goes on from one.
    """
    ends_at = math.inf if options.time_limit is None else time.perf_counter() + options.time_limit
    p0 = problem.primal_at_zero
    target = options.tol * p0
    now = resume or Training()

    def report(checkpoint: Checkpoint) -> None:
        now.checkpoint = checkpoint
        if on_slice is not None:
            on_slice(now)

    stages = plan(problem, options, warm)
    while True:
        stage = stages[now.stage]
        result = solve(
            problem,
            stage.solver,
            gap=min(options.tol, stage.tol) * p0,
            max_passes=min(stage.max_passes, options.max_passes - now.passes) if p0 > 0 else 0,
            patience=stage.patience,
            time_limit=None if ends_at == math.inf else max(0.0, ends_at - time.perf_counter()),
            callbacks=options.callbacks,
            cancelled=cancelled,
            backend=get_backend(options.backend, options.threads),
            seed=options.seed,
            checkpoint=now.checkpoint,
            on_slice=report,
            evaluate_every=options.evaluate_every,
            first=warm if now.stage == 0 else None,
        )
        passes = now.passes + result.passes
        status = Status.CONVERGED if result.gap <= target else result.status
        if now.best is not None and now.best.gap < result.gap:
            best, method = replace(now.best, status=status, passes=passes), now.best_method
        else:
            trace = [] if now.best is None else now.best.trace
            run = replace(result.checkpoint, trace=_joined(trace, result.trace))
            best = replace(result, status=status, passes=passes, checkpoint=run)
            method = stage.method
        last = stage is stages[-1] or passes >= options.max_passes
        if last or status not in _NEXT_STAGE:
            return Fit(best, method, p0, _ONE_AT_A_TIME if leaves_the_batch_to_us(options) else "")
        now.stage, now.passes, now.checkpoint = now.stage + 1, passes, None
        now.best, now.best_method = best, method


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


def _is_logistic(problem: LinearProblem) -> bool:
    return isinstance(problem.loss.curve, Logit)


def _interior_step_cost(problem: LinearProblem) -> float:
    """Nanoseconds of one interior-point step, as measured on tables, text and dense data.

    Vectors of length n cost 110 ns a row, the ten or so looks at a value 11 ns, a product that is
    scattered 0.8 ns (there are half as many as pairs in a row), one by BLAS 0.05 ns.
    """
    n, d = problem.rows.shape
    stored = problem.rows.n_stored
    if n < d:
        return 110.0 * n + 11.0 * stored + 0.05 * n**3
    by_blas = 0.05 * n * d**2
    if not problem.rows.is_sparse:
        return 110.0 * n + 4.0 * stored + by_blas + 0.02 * d**3
    scattered = 0.4 * stored**2 / max(n, 1)
    return 110.0 * n + 11.0 * stored + min(scattered, by_blas + 2.0 * n * d) + 0.02 * d**3


def _pass_cost(problem: LinearProblem) -> float:
    """Nanoseconds of one pass of SDCA; a logistic step takes 80 more than the others."""
    a_value, a_row = (2.0, 20.0) if problem.rows.is_sparse else (1.0, 40.0)
    if _is_logistic(problem):
        a_row += 80.0
    return a_value * problem.rows.n_stored + a_row * problem.n_rows


def _is_small(problem: LinearProblem) -> bool:
    return _interior_step_cost(problem) <= _SMALL


def passes_worth_an_interior_point(problem: LinearProblem) -> float:
    """Passes of SDCA that cost as much as the interior point; infinite where that is too large."""
    if min(problem.rows.shape) > _INTERIOR_WIDTH:
        return math.inf
    steps = _NEWTON_STEPS if _is_logistic(problem) else _INTERIOR_STEPS
    price = steps * _interior_step_cost(problem)
    return max(10.0, math.ceil(price / _pass_cost(problem)))


def train_all(
    X: Any,
    targets: Sequence[Any],
    loss: Loss,
    lam: float,
    options: Options,
    *,
    sample_weight: Any = None,
    bias: Bias = "none",
    bias_scale: float = 1.0,
    radius: float = math.inf,
    warm: Sequence[Iterate | None] | None = None,
    threads: int = 1,
    watch: Callable[[int], Sequence[Callback]] = lambda k: (),
    standing: list[Fit | Training | None] | None = None,
    save: Callable[[], Any] | None = None,
) -> tuple[list[Fit], Rows]:
    """One problem per target vector over the same rows, as many at a time as there are threads.

    X is checked once and shared.  Ctrl-C ends all of them; each gives its last certified iterate.
    ``watch(k)`` gives further callbacks for problem k.

    ``standing`` says where each problem stands: finished, under way, or None for not begun.  They
    go on from there, and the list is kept up to date.  ``save`` is called a few times a second,
    when the list may be stored; the problems are then trained one after another, so that no other
    one is in mid-step.
    """
    rows = checked_rows(X, get_backend(options.backend))
    children = np.random.SeedSequence(options.seed).spawn(len(targets))
    at_once = 1 if save is not None else max(1, min(threads, len(targets)))
    ends_at = math.inf if options.time_limit is None else time.perf_counter() + options.time_limit
    now: list[Fit | Training | None] = [None] * len(targets) if standing is None else standing
    for k, before in enumerate(now):
        if isinstance(before, Fit) and before.result.gap > options.tol * before.primal_at_zero:
            now[k] = None  # finished to a coarser tolerance: nothing is left to go on from
    unfinished = [k for k, before in enumerate(now) if not isinstance(before, Fit)]

    with deferred_interrupt() as interrupted:

        def one(k: int) -> Fit:
            before = now[k]
            if isinstance(before, Fit):
                return before
            problem = LinearProblem(
                rows,
                targets[k],
                loss,
                lam,
                sample_weight=sample_weight,
                bias=bias,
                bias_scale=bias_scale,
                radius=radius,
                backend=options.backend,
            )
            callbacks = [*options.callbacks, *watch(k)]
            mine = replace(
                options, seed=children[k], callbacks=callbacks, threads=max(1, threads // at_once)
            )
            if options.time_limit is not None:
                share = math.ceil(sum(j >= k for j in unfinished) / at_once)
                mine = replace(mine, time_limit=max(0.0, ends_at - time.perf_counter()) / share)

            ended_by_a_look = False

            def note(training: Training) -> None:  # after each step
                nonlocal ended_by_a_look
                now[k], ended_by_a_look = training, True

            def cancelled() -> bool:  # before each step, when the last one has been looked at
                nonlocal ended_by_a_look
                ended_by_a_look = False
                if save is not None and not interrupted():
                    save()
                return interrupted()

            fit = train(
                problem,
                mine,
                warm=warm[k] if warm else None,
                cancelled=cancelled,
                resume=before,
                on_slice=note,
            )
            if ended_by_a_look and fit.result.converged:  # else a larger budget would go on
                now[k] = fit
            return fit

        if at_once == 1:
            return [one(k) for k in range(len(targets))], rows
        with one_blas_thread(), ThreadPoolExecutor(at_most_cores(at_once)) as pool:
            futures = [pool.submit(one, k) for k in range(len(targets))]
            return [future.result() for future in futures], rows
