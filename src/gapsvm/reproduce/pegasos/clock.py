"""Runs on the clock: ours, looked at now and then; neither loading nor looking counts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.kernels.rows import FeatureRows
from gapsvm.problems.kernel import KernelProblem
from gapsvm.problems.linear import LinearProblem
from gapsvm.reproduce import style
from gapsvm.reproduce.framework import Bench
from gapsvm.solvers.bundle.bundle import Bundle
from gapsvm.solvers.minibatch.solver import MiniBatchSDCA
from gapsvm.solvers.sdca.serial import SDCA
from gapsvm.solvers.subgradient.solver import Pegasos
from gapsvm.solvers.working_set.lasvm import LASVM
from gapsvm.types.mercer import Linear

METHODS = ("pegasos", "iid", "sdca")
"""Ours; ``iid`` is the papers' SDCA, which draws each row from all, as Pegasos does."""
LABELS = {"pegasos": "Pegasos", "iid": "SDCA, i.i.d.", "sdca": "SDCA, a new order each pass"}
COLOURS = {"pegasos": style.BLUE, "iid": style.YELLOW, "sdca": style.ORANGE}
NEAR = 1e-5
"""The gap at which a bundle is looked at for the last time."""

LASVM_ROWS, LASVM_SECONDS = 15_000, 60.0
"""LASVM ends with so many rows in its expansion, K among which it keeps, or after so long."""


@dataclass(frozen=True)
class Point:
    """A run at one moment."""

    seconds: float
    """Computing time so far, of this thread."""
    w: Any
    visits: int | None = None
    """Rows visited; None where the program does not say."""


def solver_of(method: str) -> Any:
    if method == "pegasos":
        return Pegasos()
    if method == "iid":
        return MiniBatchSDCA(rule="naive", batch_size=1)  # exact steps on Rand(1)
    return SDCA(shrinking=False)


def timed(
    method: str, problem: LinearProblem, key: Sequence[int], at: Sequence[int], bench: Bench
) -> Iterator[Point]:
    """A run of the seed ``key``, looked at after so many row visits."""
    solver, backend = solver_of(method), get_backend()
    warm = solver.init(problem, backend, np.random.default_rng(0))
    solver.advance(problem, warm, backend, 100)  # kernels are compiled before the clock runs
    started, seconds = time.thread_time(), 0.0
    state = solver.init(problem, backend, np.random.default_rng(list(key)))
    for visits in at:
        bench.check()
        while state.rows_visited < visits:
            solver.advance(problem, state, backend, visits - state.rows_visited)
        seconds += time.thread_time() - started
        w = state.weights.w if method == "pegasos" else state.w
        yield Point(seconds, w, state.rows_visited)
        started = time.thread_time()


def timed_bundle(problem: LinearProblem, at: Sequence[int], bench: Bench) -> Iterator[Point]:
    """The standard bundle method, looked at after so many iterations: its best w so far."""
    solver, backend, rng = Bundle(), get_backend(), np.random.default_rng(0)
    solver.advance(problem, solver.init(problem, backend, rng), backend, 1)  # compiled
    state = solver.init(problem, backend, rng)
    started, seconds = time.thread_time(), 0.0
    for iterations in at:
        while state.evaluations < iterations:
            bench.check()
            state = solver.advance(problem, state, backend, problem.n_rows)
        seconds += time.thread_time() - started
        yield Point(seconds, state.best_w, state.evaluations * problem.n_rows)
        if state.best - state.lower <= NEAR:
            return
        started = time.thread_time()


def timed_lasvm(
    problem: LinearProblem, key: Sequence[int], at: Sequence[int], bench: Bench
) -> Iterator[Point]:
    """LASVM with the linear kernel, looked at after so many row visits, until its expansion or its
    time is too large."""
    solver, backend = LASVM(), get_backend()
    rows = FeatureRows(problem.rows, Linear(), cache_size=0.0)
    machine = KernelProblem(rows, problem.y, problem.loss, problem.lam)
    warm = solver.init(machine, backend, np.random.default_rng(0))
    solver.advance(machine, warm, backend, 64)  # compiled
    state = solver.init(machine, backend, np.random.default_rng(list(key)))
    started, seconds = time.thread_time(), 0.0
    for visits in at:
        while state.rows_visited < visits:
            bench.check()
            solver.advance(machine, state, backend, visits - state.rows_visited)
            if state.expansion.members.size > LASVM_ROWS:
                return
        seconds += time.thread_time() - started
        w = backend.zeros(problem.n_features)
        coef = machine.coef_of(solver.iterate(machine, state))
        backend.combination(problem.rows.view, coef, w)
        yield Point(seconds, w, state.rows_visited)
        if seconds > LASVM_SECONDS:
            return
        started = time.thread_time()


def geometric(first: float, growth: float, last: int) -> list[int]:
    """Row visits to look at: first, first·growth, … last."""
    count = max(0, int(np.ceil(np.log(last / first) / np.log(growth))))
    inner = np.ceil(first * growth ** np.arange(count)).astype(int)
    return sorted({*(int(v) for v in inner if v < last), last})
