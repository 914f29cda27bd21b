"""From rows of a kernel matrix and tasks to certified kernel machines.

A task is a problem over some of the rows: a class against another, or against all others.  Tasks
share the rows: where all of K is small it is computed once, and rows of K that were kept for one
class against all others serve the next.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any, Literal

import numpy as np

from gapsvm.kernels.rows import KernelRows
from gapsvm.losses.base import Loss
from gapsvm.problems.kernel import KernelIterate, KernelProblem
from gapsvm.problems.limits import lam_of
from gapsvm.solvers.base import Foreseen, tuned, warmed
from gapsvm.solvers.loop import deferred_interrupt, solve
from gapsvm.solvers.trace import Callback, Result, Status
from gapsvm.solvers.working_set.solver import WorkingSet
from gapsvm.solvers.working_set.weights import LinearSDCA
from gapsvm.system.blas import one_blas_thread
from gapsvm.system.cores import at_most_cores
from gapsvm.training.methods import AUTO, METHODS, solver_of
from gapsvm.training.plan import LINEAR_PASSES

_SHARED = 3000
"""Rows up to which all of K is computed at once for several problems."""
_WORTH_THREADS = 3e6
"""Nanoseconds for K of a problem, in the mean, from which on several are solved side by side."""
_EXACT = 1e-12
"""Small problems are solved to this share of P₀ whatever the tolerance, as long as that does not
take much longer."""
_MORE_STEPS = 3.0
"""Steps that may be spent on that, as a multiple of those to the tolerance, ..."""
_FEW_PASSES = 20.0
"""... and passes that always may."""


@dataclass(frozen=True)
class FunctionTask:
    """A problem over some rows: which of them (None: all), their targets and weights."""

    index: Any
    y: Any
    weight: Any = None


def class_tasks(labels: Any, n_classes: int, weight: Any, *, pairs: bool) -> list[FunctionTask]:
    """The problems of labels 0, 1, …: of two classes one, whose second is positive; of more one for
    each pair, whose first is positive, or one for each class against all others."""
    if n_classes == 2:
        return [FunctionTask(None, np.where(labels == 1, 1.0, -1.0), weight)]
    if not pairs:
        return [
            FunctionTask(None, np.where(labels == c, 1.0, -1.0), weight) for c in range(n_classes)
        ]
    members = [np.flatnonzero(labels == c) for c in range(n_classes)]
    tasks = []
    for i, j in combinations(range(n_classes), 2):
        index = np.concatenate([members[i], members[j]])
        y = np.concatenate([np.ones(members[i].size), -np.ones(members[j].size)])
        tasks.append(FunctionTask(index, y, None if weight is None else weight[index]))
    return tasks


@dataclass(frozen=True)
class Support:
    """The rows that machines predict with: class by class, and their coefficients in the order of
    ``gapsvm.models.support_vectors.SupportVectorModel``."""

    rows: Any
    counts: Any
    """How many there are of each class."""
    coef: Any


def support_of(
    labels: Any, n_classes: int, tasks: Sequence[FunctionTask], coefs: Sequence[Any]
) -> Support:
    """Support vectors of the problems of ``class_tasks``, from their coefficients."""
    if tasks[0].index is None:
        full = np.stack(list(coefs))
    else:
        full = np.zeros((n_classes - 1, len(labels)))
        for (i, j), task, coef in zip(combinations(range(n_classes), 2), tasks, coefs):
            first = int(np.sum(task.y > 0))
            full[j - 1, task.index[:first]] = coef[:first]
            full[i, task.index[first:]] = coef[first:]
    used = np.flatnonzero(np.any(full != 0.0, axis=0))
    order = used[np.argsort(labels[used], kind="stable")]
    counts = np.bincount(labels[order], minlength=n_classes).astype(np.int32)
    return Support(order, counts, full[:, order])


@dataclass(frozen=True)
class MachineOptions:
    """How to train.

    Parameters
    ----------
    C, lam : float
        λ = 1/(C·S) with S the sum of the weights of a task, where lam is None.
    tol : float
        Certified gap to reach, relative to P₀.
    max_steps : float
        Steps of pairs or single rows for each task.
    time_limit : float, optional
        Seconds for all tasks.
    method : "auto", a name or spec of ``gapsvm.METHODS``, or a solver
    threads : int
    shrinking : bool
        Whether rows that stay at a bound may be left out of the steps, where the solver can.
    seed : int
        Of a solver that draws.
    """

    C: float = 1.0
    lam: float | None = None
    bias: Literal["none", "free"] = "free"
    tol: float = 1e-3
    max_steps: float = math.inf
    time_limit: float | None = None
    callbacks: Sequence[Callback] = ()
    method: Any = AUTO
    threads: int = 1
    shrinking: bool = True
    seed: int = 0

    def lam_for(self, total: float) -> float:
        """λ, where the weights have that sum."""
        return self.lam if self.lam is not None else lam_of(self.C, total)


@dataclass(frozen=True)
class Machine:
    """A trained task."""

    result: Result
    primal_at_zero: float
    coef: Any
    """v over the rows of the task."""
    evaluations: int
    """Values of K that were computed for it alone."""


def train_machines(
    rows: KernelRows,
    tasks: Sequence[FunctionTask],
    loss: Loss,
    options: MachineOptions,
    *,
    warm: Sequence[KernelIterate | None] | None = None,
    watch: Callable[[int], Sequence[Callback]] = lambda k: (),
) -> list[Machine]:
    """One problem a task, as many at a time as there are threads.

    Ctrl-C ends all of them; each gives its last certified iterate.
    """
    ends_at = math.inf if options.time_limit is None else time.perf_counter() + options.time_limit
    alone = len(tasks) == 1 or any(task.index is None for task in tasks)
    small = not alone and _are_small(rows, tasks)
    threads = 1 if small else options.threads
    at_once = 1 if alone else min(threads, len(tasks))
    with one_blas_thread(), deferred_interrupt() as interrupted:
        share_rows(rows, len(tasks))
        common = alone and len(tasks) > 1
        rows.share(max(1, threads // at_once), several=common)
        of_all = replace(options, shrinking=options.shrinking and not common)

        def one(k: int) -> Machine:
            chosen, watching = of_all, watch(k)
            if watching:
                chosen = replace(of_all, callbacks=[*options.callbacks, *watching])
            if ends_at < math.inf:
                share = math.ceil((len(tasks) - k) / at_once)
                left = max(0.0, ends_at - time.perf_counter())
                chosen = replace(chosen, time_limit=left / share)
            problem = problem_of(rows, tasks[k], loss, chosen.bias, chosen.lam_for)
            machine = _trained(problem, chosen, warm[k] if warm else None, interrupted)
            evaluations = 0 if problem.rows is rows else problem.rows.evaluations
            if not common or k == len(tasks) - 1:
                problem.rows.forget()
            return replace(machine, evaluations=evaluations)

        if at_once == 1:
            return [one(k) for k in range(len(tasks))]
        with ThreadPoolExecutor(at_most_cores(at_once)) as pool:
            return list(pool.map(one, range(len(tasks))))


def _are_small(rows: KernelRows, tasks: Sequence[FunctionTask]) -> bool:
    """Whether problems are mostly Python, of which one thread runs at a time: others would only
    hand it to and fro."""
    values = sum(len(task.y) ** 2 for task in tasks) / len(tasks)
    return values * rows.value_nanoseconds < _WORTH_THREADS


def share_rows(rows: KernelRows, n_problems: int) -> None:
    """Compute all of K once, where several problems of few rows will want it."""
    room = rows.n_rows**2 * 8 <= rows.cache_size * 2**20
    if n_problems > 1 and room and rows.n_rows <= _SHARED:
        _ = rows.gram


def problem_of(
    rows: KernelRows, task: FunctionTask, loss: Loss, bias: Any, lam_for: Callable[[float], float]
) -> KernelProblem:
    """The problem of a task; ``lam_for`` gives λ for the sum of its weights."""
    some = rows if task.index is None else rows.subset(task.index)
    total = len(task.y) if task.weight is None else float(np.sum(task.weight))
    return KernelProblem(some, task.y, loss, lam_for(total), sample_weight=task.weight, bias=bias)


@cache
def _made(name: str) -> Any:
    """A method as it comes: looked up once, however many small problems there are."""
    return METHODS.make(name)


def _solver(problem: KernelProblem, options: MachineOptions, warm: Any, max_passes: float) -> Any:
    method = _made(problem.default_method) if options.method == AUTO else options.method
    foreseen = Foreseen(options.tol, max_passes)
    solver = tuned(solver_of(method, problem, foreseen), problem, foreseen)
    if not options.shrinking and isinstance(solver, WorkingSet):
        solver = replace(solver, aim=0.0)
    return warmed(solver, warm)


def _trained(
    problem: KernelProblem,
    options: MachineOptions,
    warm: KernelIterate | None,
    interrupted: Callable[[], bool],
) -> Machine:
    """To the tolerance, and where that costs little on to the last digits."""
    p0, n = problem.primal_at_zero, max(problem.n_rows, 1)
    most = min(options.max_steps / n, 1e12) if p0 > 0 else 0
    solver = _solver(problem, options, warm, most)
    limits: dict[str, Any] = {
        "callbacks": options.callbacks,
        "cancelled": interrupted,
        "backend": problem.rows.backend,
        "seed": options.seed,
    }
    by_weights = options.method == AUTO and isinstance(solver, LinearSDCA)
    started = time.perf_counter()
    result = solve(
        problem,
        solver,
        gap=options.tol * p0,
        max_passes=min(most, LINEAR_PASSES) if by_weights else most,
        time_limit=options.time_limit,
        first=warm,
        **limits,
    )
    if by_weights and result.status is Status.MAX_PASSES and result.passes < most:
        left = options.max_steps - result.passes * n
        seconds = _left(options, started)
        rest = replace(options, method="working-set", max_steps=left, time_limit=seconds)
        return _trained(problem, rest, result.solution, interrupted)
    small = n <= getattr(solver, "whole", 0) and result.passes > 0
    if small and result.converged and result.gap > _EXACT * p0:
        more = solve(
            problem,
            solver,
            gap=_EXACT * p0,
            max_passes=min(most, _MORE_STEPS * result.passes + _FEW_PASSES),
            time_limit=_left(options, started),
            checkpoint=result.checkpoint,
            **limits,
        )
        kept = more if more.gap <= result.gap else replace(result, passes=more.passes)
        was_interrupted = more.status is Status.INTERRUPTED
        result = replace(kept, status=more.status if was_interrupted else Status.CONVERGED)
    elif result.gap <= options.tol * p0 and result.status is not Status.INTERRUPTED:
        result = replace(result, status=Status.CONVERGED)
    return Machine(result, p0, problem.coef_of(result.solution), 0)


def _left(options: MachineOptions, started: float) -> float | None:
    """Seconds that are left."""
    if options.time_limit is None:
        return None
    return max(0.0, options.time_limit - (time.perf_counter() - started))
