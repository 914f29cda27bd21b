"""The data of Table 1 and what stands in for it; the four methods; words that texts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm import datasets
from gapsvm.backends import Backend, get_backend
from gapsvm.data.matrix import Rows, checked_rows
from gapsvm.losses import get_loss
from gapsvm.problem import Iterate, LinearProblem
from gapsvm.reproduce import style
from gapsvm.reproduce.framework import Bench, Options
from gapsvm.solvers.minibatch import MiniBatchSDCA
from gapsvm.solvers.subgradient import Pegasos
from gapsvm.spectral import sigma2

PAPER = "Takáč 2013"
TARGET = 1e-3
"""Primal sub-optimality at which Figure 1 stops."""
SPLIT_SEED = 0


@dataclass(frozen=True)
class Printed:
    """A row of the paper's Table 1."""

    name: str
    train: int
    test: int
    features: int
    percent: float
    lam: float


COV = Printed("cov", 522_911, 58_101, 54, 22, 1e-5)
RCV1 = Printed("rcv1", 20_242, 677_399, 47_236, 0.16, 1e-4)
ASTRO = Printed("astro-ph", 29_882, 32_487, 99_757, 0.08, 5e-5)
NEWS20 = Printed("news20", 15_020, 4_976, 1_355_191, 0.04, 1.25e-4)


@dataclass(frozen=True)
class Task:
    """A data set and a λ: a problem of the paper, or what stands in for it."""

    name: str
    data: str
    scale: datasets.Scale
    lam: float
    train: int
    """Training rows."""
    split: bool = False
    """Training and test rows are drawn from the training files, by a seeded permutation."""
    printed: Printed | None = None
    stand_in: bool = False
    passes: int = 100
    """Budget of a run of Figure 1, in passes over the training rows."""

    @property
    def title(self) -> str:
        if self.printed is None:
            return f"{self.data} (not in the paper)"
        role = "stand-in for" if self.stand_in else "the paper's"
        return f"{self.data} ({role} {self.printed.name})"


TASKS = (
    Task("cov1", "cov1", "max", 1e-5, 522_911, True, COV, passes=250),
    Task("imdb-rcv1", "imdb", "unit", 1e-4, 25_000, False, RCV1, True, passes=400),
    Task("imdb-astro", "imdb", "unit", 5e-5, 25_000, False, ASTRO, True, passes=800),
    # As large a share of our 11,314 rows as their 15,020 are of 19,996.
    Task("news20b", "news20b", "unit", 1.25e-4, 8_498, True, NEWS20, True, passes=400),
    # λ is that of cov, the paper's other set that is not text.
    Task("mnist8", "mnist8", "max", 1e-5, 60_000, passes=400),
)
QUICK = (
    replace(TASKS[1], name="imdb-quick", train=3_000, split=True, passes=60),
    Task("a9a-quick", "a9a", "max", 1e-4, 5_000, True, passes=60),
)
BY_NAME = {task.name: task for task in (*TASKS, *QUICK)}


def tasks(options: Options) -> tuple[Task, ...]:
    """The problems of a run; a quick one takes what is at hand."""
    if not options.quick:
        return TASKS
    here = [t for t in QUICK if datasets.available(t.data, folder=options.data_folder)]
    return tuple(here) or QUICK[-1:]


@dataclass(frozen=True)
class TaskCell:
    """What every cell depends on: the data and λ."""

    task: str
    data: str
    scale: str
    train: int
    split_seed: int | None
    lam: float


def about(task: Task) -> dict[str, Any]:
    """The fields of a ``TaskCell``."""
    return {
        "task": task.name,
        "data": task.data,
        "scale": task.scale,
        "train": task.train,
        "split_seed": SPLIT_SEED if task.split else None,
        "lam": task.lam,
    }


@dataclass(frozen=True)
class Loaded:
    """The rows of a task."""

    rows: Rows
    y: Any
    X_test: Any
    y_test: Any


def load(task: Task, bench: Bench) -> Loaded:
    """Training and test rows, read once; tasks that differ in λ alone share them."""
    key = (task.data, task.scale, task.train, task.split)
    loaded: Loaded = bench.once(key, lambda: _load(task, bench.options.data_folder))
    return loaded


def _load(task: Task, folder: Path | None) -> Loaded:
    how: dict[str, Any] = {"scale": task.scale, "dtype": np.float32, "folder": folder}
    X, y = datasets.load(task.data, **how)
    if task.split:
        order = np.random.default_rng(SPLIT_SEED).permutation(X.shape[0])
        train, test = order[: task.train], order[task.train :]
        X, y, X_test, y_test = X[train], y[train], X[test], y[test]
    else:
        X_test, y_test = datasets.load(task.data, split="test", **how)
    return Loaded(checked_rows(X, get_backend()), y, X_test, y_test)


def problem_of(task: Task, bench: Bench) -> LinearProblem:
    loaded = load(task, bench)
    return LinearProblem(loaded.rows, loaded.y, get_loss("hinge"), task.lam)


def optimum_of(task: Task, problem: LinearProblem, bench: Bench) -> float:
    """P*, as listed in the data folder or as found here."""
    listed = None if task.split else _listed(task, bench.options.data_folder)
    if listed is not None:
        return listed
    part = f", split {SPLIT_SEED}" if task.split else ""
    return bench.optimum(f"{task.data}:{task.scale}:{task.lam:g}:{task.train} rows{part}", problem)


def _listed(task: Task, folder: Path | None) -> float | None:
    try:
        return datasets.optimum(task.data, task.scale, task.lam, folder=folder)
    except FileNotFoundError:  # a folder of data without the list
        return None


def sigma2_of(task: Task, bench: Bench) -> float:
    """σ² of the rows as they are, an upper bound of ‖X‖²/n."""
    rows = load(task, bench).rows
    key = ("sigma2", task.data, task.scale, task.train)
    return float(bench.once(key, lambda: sigma2(rows, get_backend(), normalised=False).value))


def batch_sizes(task: Task, options: Options) -> list[int]:
    """1, 2, 4, … 2¹⁴, as far as there are rows; a quick run takes every fourth."""
    sizes = [2**k for k in range(15) if 2**k <= task.train]
    return sizes[::4] if options.quick else sizes


# -- the four methods ------------------------------------------------------------------------------

METHODS = ("pegasos", "naive", "safe", "aggressive")
LABELS = {
    "pegasos": "Pegasos",
    "naive": "naive SDCA",
    "safe": "safe SDCA",
    "aggressive": "aggressive SDCA",
}
LOOKS = {
    "pegasos": (style.BLUE, "o"),
    "naive": (style.ORANGE, "D"),
    "safe": (style.GREEN, "s"),
    "aggressive": (style.PURPLE, "^"),
}


def solver_of(method: str, b: int, found: float) -> Any:
    """Algorithm 1; eq. (14); eq. (15) with β_b; Algorithm 2.  ``found`` is σ²."""
    if method == "pegasos":
        return Pegasos(batch_size=b, average="decaying")
    if method == "naive":
        return MiniBatchSDCA(rule="naive", batch_size=b, average="decaying")
    rule: Any = method
    return MiniBatchSDCA(rule=rule, batch_size=b, sigma2=found, form="unit", average="decaying")


def run_to(solver: Any, problem: LinearProblem, state: Any, until: int, bench: Bench) -> None:
    """Advance to iteration ``until``, a pass at a time so that Ctrl-C is heard."""
    a_pass = max(1, problem.n_rows // solver.batch_size)
    while state.steps < until:
        bench.check()
        iterations = min(until - state.steps, a_pass)
        solver.advance(problem, state, get_backend(), iterations * solver.batch_size)


def weights(problem: LinearProblem, iterate: Iterate, backend: Backend) -> Any:
    """w̄: for the dual methods w(ᾱ)."""
    if iterate.w is not None:
        return iterate.w
    w = np.zeros(problem.n_features)
    backend.combination(problem.rows.view, problem.scale * problem.sign * iterate.alpha, w)
    return w


def primal(problem: LinearProblem, w: Any, backend: Backend) -> float:
    """P(w), without the cost of D."""
    margins = np.empty(problem.n_rows)
    with np.errstate(over="ignore", invalid="ignore"):
        backend.margins(problem.rows.view, w, margins)
        losses = problem.loss.curve.value(problem.sign * margins, problem.t)
        return float(np.mean(losses) + 0.5 * problem.lam * (w @ w))


# -- figures and texts -----------------------------------------------------------------------------

FACTOR = r"$\beta_b\,/\,b$"


def short(number: float) -> str:
    """1e-4 rather than 0.0001."""
    digits, exponent = f"{number:e}".split("e")
    return f"{float(digits):g}e{int(exponent)}"


def log2_axis(axes: Any) -> None:
    """The horizontal axis of mini-batch sizes."""
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 4, 16, 64, 256, 1024, 4096, 16384])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("mini-batch size b")


def heading(which: str, what: str, options: Options) -> str:
    """Title of a text, and what kind of run it is."""
    title = f"# {PAPER}, {which}: {what}\n"
    if options.quick:
        title += "\n*A quick run on part of the data: it shows that everything works, no more.*\n"
    return title


def seeds_text(options: Options) -> str:
    return "1 seed" if options.seeds == 1 else f"{options.seeds} seeds"


def stand_in_note(chosen: Sequence[Task]) -> str:
    """Which data is not the paper's."""
    pairs = [f"{t.data} stands in for {t.printed.name}" for t in chosen if t.stand_in and t.printed]
    others = [task.data for task in chosen if task.printed is None]
    text = ""
    if pairs:
        text += f"Stand-ins: {', '.join(pairs)}; the originals are not to be had here. "
    if others:
        text += f"Not in the paper: {', '.join(others)}. "
    if any(task.split for task in chosen):
        held_out = ", ".join(task.data for task in chosen if task.split)
        text += f"Test rows of {held_out} are held out by a permutation of seed {SPLIT_SEED}."
    return text.strip()
