"""Kernel methods on the clock: looked at now and then; neither loading nor looking counts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.problems.kernel import KernelProblem
from gapsvm.reproduce import style
from gapsvm.reproduce.framework import Bench
from gapsvm.reproduce.kernel import CACHE, KernelTask, load
from gapsvm.solvers.sdca.kernel import KernelSDCA
from gapsvm.solvers.subgradient.solver import Pegasos
from gapsvm.solvers.working_set.lasvm import LASVM
from gapsvm.solvers.working_set.smo import SMO
from gapsvm.solvers.working_set.solver import WorkingSet
from gapsvm.types.tables import ALPHA

PAPERS = ("pegasos", "sdca", "smo", "lasvm")
"""The methods of the paper's table, SMO in the place of SVM-Light."""
OURS = ("passes", "working-set")
LIBSVM = "libsvm"
LABELS = {
    "pegasos": "Pegasos",
    "sdca": "SDCA",
    "smo": "SMO",
    "lasvm": "LASVM",
    "passes": "SDCA in passes (ours)",
    "working-set": "working sets (ours)",
    LIBSVM: "LIBSVM, with a bias",
}
COLOURS = {
    "pegasos": style.BLUE,
    "sdca": style.ORANGE,
    "smo": style.PURPLE,
    "lasvm": style.GREEN,
    "passes": style.YELLOW,
    "working-set": style.BLACK,
    LIBSVM: style.GREY,
}
DRAW = ("pegasos", "sdca", "lasvm", "passes")
"""Methods that draw rows, and so have seeds."""
TOLERANCES = (1.0, 0.1, 0.01, 1e-3, 1e-4)
_WARM = 64


@dataclass(frozen=True)
class Point:
    """A run at one moment."""

    seconds: float
    """Computing time so far, of this thread."""
    visits: int
    evaluations: int
    """Values of K computed so far."""
    coef: Any
    margins: Any = None
    """Kv, where the method keeps them."""
    bias: float = 0.0


def solver_of(method: str) -> Any:
    """As the paper has it: rows drawn independently, no values of K kept, but for SMO; LASVM keeps
    those of its expansion."""
    return {
        "pegasos": Pegasos(),
        "sdca": KernelSDCA(sampler="uniform", cache_rows=False),
        "smo": SMO(),
        "lasvm": LASVM(),
        "passes": KernelSDCA(),
        "working-set": WorkingSet(aim=1e-6),
    }[method]


def methods() -> tuple[str, ...]:
    """Those that can be run here."""
    there = (LIBSVM,) if find_spec("sklearn") is not None else ()
    return (*PAPERS, *OURS, *there)


def program(method: str) -> str:
    """Package and version, if it is not ours."""
    return f"scikit-learn {metadata.version('scikit-learn')}" if method == LIBSVM else ""


def timed(
    method: str, problem: KernelProblem, seed: Sequence[int], at: Sequence[int], bench: Bench
) -> Iterator[Point]:
    """A run, looked at after so many row visits (of SMO and working sets: steps)."""
    solver, backend = solver_of(method), get_backend()
    _compile(solver, problem)
    started, seconds = time.thread_time(), 0.0
    state = solver.init(problem, backend, np.random.default_rng(list(seed)))
    for look in at:
        visits = solver.progress(problem, state).rows_visited
        if visits >= look:
            continue
        while visits < look:
            if solver.progress(problem, state).exhausted:
                return
            bench.check()
            state = solver.advance(problem, state, backend, max(1, look - visits))
            visits = solver.progress(problem, state).rows_visited
        seconds += time.thread_time() - started
        yield _point(method, problem, state, seconds, visits)
        started = time.thread_time()


def _compile(solver: Any, problem: KernelProblem) -> None:
    """Loops are compiled before the clock runs."""
    some = problem.rows.subset(np.linspace(0, problem.n_rows - 1, _WARM).astype(np.int64))
    y = np.where(np.arange(_WARM) % 2 == 0, 1.0, -1.0)
    tiny = KernelProblem(some, y, problem.loss, problem.lam, bias=problem.bias)
    if isinstance(solver, WorkingSet):
        solver = replace(solver, whole=0)
    state = solver.init(tiny, get_backend(), np.random.default_rng(0))
    for _ in range(3):
        state = solver.advance(tiny, state, get_backend(), _WARM)


def _point(method: str, problem: KernelProblem, state: Any, seconds: float, visits: int) -> Point:
    evaluations, margins = problem.rows.evaluations, None
    if method == "pegasos":
        coef = state.weights.w
    elif method == "lasvm":
        coef = problem.coef_of(solver_of(method).iterate(problem, state))
    elif method in ("sdca", "passes"):
        coef, margins = problem.c * state.table[:, ALPHA], state.margins
    else:
        coef = state.coef
        if getattr(state, "active", None) is None:
            margins = problem.y - state.pull - problem.ridge * coef
    return Point(seconds, visits, evaluations, coef, margins)


def whole_fit(problem: KernelProblem, task: KernelTask, bench: Bench, tol: float) -> Point:
    """LIBSVM by scikit-learn, which cannot be looked at: a fit with a bias."""
    svm = import_module("sklearn.svm")
    rows = load(task, bench).rows.rows
    X = bench.once(("float64", task.name), lambda: rows.to_scipy().astype(np.float64))
    C = 1.0 / (problem.lam * problem.n_rows)
    bench.check()
    model = svm.SVC(C=C, kernel="rbf", gamma=task.gamma, tol=tol, cache_size=CACHE)
    started = time.thread_time()
    model.fit(X, problem.y)
    seconds = time.thread_time() - started
    coef, dual = np.zeros(problem.n_rows), model.dual_coef_
    coef[model.support_] = (dual.toarray() if hasattr(dual, "toarray") else dual)[0]
    sign = 1.0 if model.classes_[1] == 1.0 else -1.0
    bias = sign * float(model.intercept_[0])
    return Point(seconds, int(np.sum(model.n_iter_)), 0, sign * coef, bias=bias)
