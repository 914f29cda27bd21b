"""Linear SVM tasks of Do's and Shalev-Shwartz's experiments: data, λ, and runs looked at often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Literal, Self, TypeVar

import numpy as np

from gapsvm import datasets
from gapsvm.backends import Backend, get_backend
from gapsvm.losses.registry import get_loss
from gapsvm.problems.linear import LinearProblem
from gapsvm.reproduce import style
from gapsvm.reproduce.framework import Bench, Row, Settings, as_numbers
from gapsvm.rows.matrix import Rows, checked_rows
from gapsvm.solvers.subgradient.solver import Subgradient

SPLIT_SEED = 0
Part = Literal["files", "first", "split"]
"""Training rows: all of the training file, its first rows, or some drawn by a permutation."""


@dataclass(frozen=True)
class Original:
    """The paper's own data, which takes the place of what stands in for it where a user has it."""

    data: str
    train: int
    scale: datasets.Scale = "unit"
    part: Part = "files"
    positive: int | None = None


RCV1 = Original("rcv1_train.binary", 20_242)
ASTRO_PH = Original("astro-ph", 29_882)
CCAT = Original("ccat", 781_265)


@dataclass(frozen=True)
class Task:
    """A data set and a λ."""

    name: str
    data: str
    scale: datasets.Scale
    lam: float
    train: int
    """Training rows."""
    part: Part = "files"
    paper: str = ""
    """Its name in the paper; empty if it is not there."""
    stand_in: bool = False
    positive: int | None = None
    """The class against the rest; None where labels are ±1 already."""
    original: Original | None = None
    """What it stands in for, if that may be had."""

    @property
    def own(self) -> Self:
        """The same with the paper's own data."""
        it = self.original
        if it is None:
            return self
        return replace(
            self,
            name=it.data,
            data=it.data,
            scale=it.scale,
            train=it.train,
            part=it.part,
            positive=it.positive,
            stand_in=False,
            original=None,
        )

    @property
    def title(self) -> str:
        if not self.paper:
            return f"{self.data} (not in the paper)"
        name = f"{self.data} (stand-in for {self.paper})" if self.stand_in else self.paper
        return name if self.positive is None else f"{name}, {self.positive} against the rest"

    @property
    def labelled(self) -> str:
        """The data with the class that is +1."""
        return self.data if self.positive is None else f"{self.data}-{self.positive}"


T = TypeVar("T", bound=Task)


def with_originals(tasks: Sequence[T], settings: Settings) -> tuple[T, ...]:
    """The tasks of a run: stand-ins give way to the paper's own data where all of that is there."""
    folder = settings.data_folder

    def at_hand(task: T) -> bool:
        it = task.original
        return it is not None and datasets.available(it.data, folder=folder)

    return tuple(task.own if at_hand(task) else task for task in tasks)


def by_name(tasks: Sequence[T]) -> dict[str, T]:
    """Tasks by their names, those with the paper's own data as well."""
    return {task.name: task for one in tasks for task in (one, one.own)}


@dataclass(frozen=True)
class TaskCell:
    """What every cell depends on: the data and λ."""

    task: str
    data: str
    scale: str
    train: int
    part: str
    lam: float


def about(task: Task) -> dict[str, Any]:
    """The fields of a ``TaskCell``."""
    part = f"split {SPLIT_SEED}" if task.part == "split" else task.part
    return {
        "task": task.name,
        "data": task.labelled,
        "scale": task.scale,
        "train": task.train,
        "part": part,
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
    key = (task.labelled, task.scale, task.train, task.part)
    loaded: Loaded = bench.once(key, lambda: _load(task, bench.settings.data_folder))
    return loaded


def _load(task: Task, folder: Path | None) -> Loaded:
    how: dict[str, Any] = {"scale": task.scale, "dtype": np.float32, "folder": folder}
    X, y = datasets.load(task.data, **how)
    order = np.arange(X.shape[0])
    if task.part == "split":
        order = np.random.default_rng(SPLIT_SEED).permutation(X.shape[0])
        X_test, y_test = X[order[task.train :]], y[order[task.train :]]
    else:
        X_test, y_test = datasets.load(task.data, split="test", **how)
    if task.positive is not None:
        y, y_test = (np.where(v == task.positive, 1.0, -1.0) for v in (y, y_test))
    train = order[: task.train]
    return Loaded(checked_rows(X[train], get_backend()), y[train], X_test, y_test)


def problem_of(task: Task, bench: Bench) -> LinearProblem:
    loaded = load(task, bench)
    return LinearProblem(loaded.rows, loaded.y, get_loss("hinge"), task.lam)


def optimum_of(task: Task, problem: LinearProblem, bench: Bench) -> float:
    """P*, as listed in the data folder or as found here."""
    listed = _listed(task, bench.settings.data_folder) if task.part == "files" else None
    if listed is not None:
        return listed
    part = "" if task.part == "files" else f", {about(task)['part']}"
    key = f"{task.labelled}:{task.scale}:{task.lam:g}:{task.train} rows{part}"
    return bench.optimum(key, problem)


def _listed(task: Task, folder: Path | None) -> float | None:
    try:
        return datasets.optimum(task.labelled, task.scale, task.lam, folder=folder)
    except FileNotFoundError:  # a folder of data without the list
        return None


# -- a run, looked at now and then -----------------------------------------------------------------


@dataclass(frozen=True)
class Look:
    """A run at one moment; ``w`` is its last iterate."""

    steps: int
    w: Any
    objective: float
    state: Any


def run_to(solver: Any, problem: LinearProblem, state: Any, until: int, bench: Bench) -> None:
    """Advance to iteration ``until``, a pass at a time so that Ctrl-C is heard."""
    a_pass = max(1, problem.n_rows // solver.batch_size)
    while state.steps < until:
        bench.check()
        iterations = min(until - state.steps, a_pass)
        solver.advance(problem, state, get_backend(), iterations * solver.batch_size)


def primal(problem: LinearProblem, w: Any, backend: Backend) -> float:
    """P(w), without the cost of D."""
    margins = backend.empty(problem.n_rows)
    with np.errstate(over="ignore", invalid="ignore"):
        backend.margins(problem.rows.view, w, margins)
        return problem.objective(w, 0.0, margins)


def watched(
    solver: Subgradient, problem: LinearProblem, key: Sequence[int], at: Sequence[int], bench: Bench
) -> Iterator[Look]:
    """A run of the seed ``key``, looked at after so many steps."""
    backend = get_backend()
    state = solver.init(problem, backend, np.random.default_rng(list(key)))
    for steps in at:
        run_to(solver, problem, state, steps, bench)
        w = state.weights.w
        yield Look(state.steps, w, primal(problem, w, backend), state)


def error_rate(loaded: Loaded, w: Any) -> float:
    return float(np.mean(np.where(loaded.X_test @ w > 0, 1.0, -1.0) != loaded.y_test))


def hinge_loss(X: Any, y: Any, w: Any) -> float:
    return float(np.mean(np.maximum(0.0, 1.0 - y * (X @ w))))


# -- curves and texts ------------------------------------------------------------------------------


def curves_of(
    rows: Sequence[Row], by: Sequence[str], at: str, column: str
) -> dict[tuple[Any, ...], tuple[Any, Any]]:
    """Curves over ``at`` of ``column``: (places, (least, median, most) over the seeds)."""
    grouped: dict[tuple[Any, ...], dict[Any, list[float]]] = {}
    for row in map(as_numbers, rows):
        curve = grouped.setdefault(tuple(row[name] for name in by), {})
        curve.setdefault(row[at], []).append(float(row[column]))
    return {
        key: (
            np.array(list(curve), dtype=float),
            np.array([(min(v), median(v), max(v)) for v in curve.values()]),
        )
        for key, curve in grouped.items()
    }


def line(axes: Any, x: Any, bands: Any, floor: float = -np.inf, **look: Any) -> None:
    """A median with a band from least to most; what is below the floor is drawn as a limit."""
    low, middle, high = bands.T
    known = middle > floor
    axes.plot(x, np.where(known, middle, np.nan), **look)
    low, high = (np.maximum(edge, floor) for edge in (low, high))
    axes.fill_between(x, low, high, color=look["color"], alpha=0.15, lw=0)
    if not known.all():
        limits = {"color": look["color"], "mfc": "white", "marker": "v", "ms": 5, "clip_on": False}
        axes.plot(np.asarray(x)[~known], np.full(np.sum(~known), floor), ls="", zorder=4, **limits)


def limit_in_legend(floor: float) -> Any:
    """The handle of the limits that ``line`` draws."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {"color": style.GREY, "mfc": "white", "marker": "v", "ms": 5, "ls": ""}
    return Line2D([], [], label=f"below {short(floor)}, not resolved", **look)


def plain_ticks(axes: Any, low: float, high: float) -> None:
    """A log axis of less than two decades: 0.5, 1, 2 rather than powers of ten."""
    if high / low < 50:
        ticks = [m * 10.0**e for e in range(-5, 5) for m in (1, 2, 5)]
        ticks = [tick for tick in ticks if low / 1.2 <= tick <= 1.2 * high]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()


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


def seeds_text(settings: Settings) -> str:
    return "1 seed" if settings.seeds == 1 else f"{settings.seeds} seeds"


def heading(paper: str, which: str, what: str, settings: Settings) -> str:
    """Title of a text, and what kind of run it is."""
    title = f"# {paper}, {which}: {what}\n"
    if settings.quick:
        title += "\n*A quick run on part of the data: it shows that everything works, no more.*\n"
    return title


def title(figure: Any, words: str, settings: Settings) -> None:
    figure.suptitle(words + (" (quick run)" if settings.quick else ""), x=0.01, ha="left")


def stand_in_note(chosen: Sequence[Task]) -> str:
    """Which data is not the paper's, and which test rows were drawn."""
    pairs = [f"{task.data} stands in for {task.paper}" for task in chosen if task.stand_in]
    others = sorted({task.data for task in chosen if not task.paper})
    drawn = sorted({task.data for task in chosen if task.part == "split"})
    text = ""
    if pairs:
        text += f"Stand-ins: {', '.join(pairs)}; the originals are not to be had here. "
    if others:
        text += f"Not in the paper: {', '.join(others)}. "
    if drawn:
        text += f"Training rows of {', '.join(drawn)} are drawn by a permutation of seed "
        text += f"{SPLIT_SEED}, the others are the test rows."
    return text.strip()


COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.SKY, style.YELLOW)
