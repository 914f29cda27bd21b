"""§6: four treatments of the bias, which the paper describes and does not measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.losses.registry import get_loss
from gapsvm.problems.linear import Bias, LinearProblem
from gapsvm.reproduce import style
from gapsvm.reproduce.claims import AHEAD, Bar, Claim, Verdict, plain, sentences
from gapsvm.reproduce.framework import Bench, Row, Settings, markdown_table
from gapsvm.reproduce.linear import (
    Task,
    TaskCell,
    about,
    curves_of,
    heading,
    limit_in_legend,
    line,
    load,
    seeds_text,
    short,
    stand_in_note,
    title,
)
from gapsvm.reproduce.pegasos.tasks import PAPER, QUICK
from gapsvm.solvers.outer_bias import OuterBias
from gapsvm.solvers.sdca.serial import SDCA
from gapsvm.solvers.subgradient.solver import Subgradient

TASKS = (
    Task("w8a", "w8a", "max", 1e-5, 49_749),
    Task("cov1", "cov1", "max", 1e-5, 522_911, "split", paper="cov1"),
)
"""3 % of the labels of w8a are positive, 36 % of those of cov1."""
BY_NAME = {task.name: task for task in (*TASKS, QUICK)}


@dataclass(frozen=True)
class Treatment:
    """A solver, the problem it is for, and how it is drawn."""

    label: str
    solver: Any
    colour: str
    bias: Bias = "free"
    dashes: str = "-"
    width: float = 1.6


def _pegasos(size: int = 1, **options: Any) -> Subgradient:
    return Subgradient(size, average="tail", sampler="permutation", **options)


TREATMENTS = {
    "penalized": Treatment("1  penalised", _pegasos(), style.BLUE, "penalized", width=4.0),
    "gradient": Treatment("2  gradient", _pegasos(), style.ORANGE),
    "gradient, proximal": Treatment(
        "2  gradient, proximal steps",
        _pegasos(step_rule="proximal", projection=True),
        style.ORANGE,
        dashes="--",
    ),
    "batch 64": Treatment(
        "3  batch, k = 64", _pegasos(64, bias_step="batch"), style.GREEN, dashes="--"
    ),
    "batch 1024": Treatment("3  batch, k = 1024", _pegasos(1024, bias_step="batch"), style.GREEN),
    "outer": Treatment("4  outer search", OuterBias(_pegasos()), style.PURPLE),
    "outer, sdca": Treatment(
        "4  outer search around SDCA", OuterBias(SDCA()), style.PURPLE, dashes=":"
    ),
    "sdca": Treatment("SDCA, free bias", SDCA(), style.GREY, dashes=":"),
}
PASSES, QUICK_PASSES, LOOKS = 50.0, 10.0, 20
RESOLVED = 1e-6
"""Sub-optimalities below this are not told apart: P* is certified to 1e-7."""

SLOWER = Claim(
    "a subgradient step on a bias that is not penalised is slower than the penalised bias",
    "its sub-optimality, with the best b, over that of the penalised bias",
    AHEAD,
)
LARGE_BATCHES = Claim(
    "the minimum over b inside a batch needs large batches",
    "sub-optimality with k = 64, with the best b, over that with k = 1024",
    Bar(1.5, 1 / 1.5),
)
OUTER = Claim(
    "the outer search keeps Pegasos's rate up to a logarithm",
    "its sub-optimality, with the best b, over that of the penalised bias",
    Bar(4.0, 20.0),
)
"""ln(1/ε) is 14 at the resolution."""

COLUMNS = ("pass", "suboptimality", "with_best_bias", "bias", "optimum")


@dataclass(frozen=True)
class BiasCell(TaskCell):
    """One run, looked at at growing distances."""

    treatment: str
    seed: int
    passes: float


def tasks_of(settings: Settings) -> tuple[Task, ...]:
    return (QUICK,) if settings.quick else TASKS


def plan(settings: Settings) -> list[BiasCell]:
    passes = QUICK_PASSES if settings.quick else PASSES
    return [
        BiasCell(**about(task), treatment=name, seed=seed, passes=passes)
        for task in tasks_of(settings)
        for name in TREATMENTS
        for seed in range(settings.seeds)
    ]


def measure(cell: BiasCell, bench: Bench) -> list[Row]:
    return measured(cell, TREATMENTS[cell.treatment], bench)


def measured(cell: BiasCell, treatment: Treatment, bench: Bench) -> list[Row]:
    """A run of a treatment, looked at at growing distances."""
    task = BY_NAME[cell.task]
    free = problem_with(task, "free", bench)
    best = bench.optimum(free_key(task), free)
    problem = problem_with(task, treatment.bias, bench)
    solver, backend = treatment.solver, get_backend()
    state = solver.init(problem, backend, np.random.default_rng([cell.seed, 6]))
    rows, margins = [], np.empty(free.n_rows)
    for passes in np.geomspace(0.1, cell.passes, LOOKS):
        while (left := round(passes * cell.train) - _visited(solver, problem, state)) > 0:
            bench.check()
            state = solver.advance(problem, state, backend, min(left, problem.slice_rows))
        found = solver.iterate(problem, state)
        backend.margins(free.rows.view, found.w, margins)
        values = [
            free.objective(found.w, b, margins)
            for b in (found.bias, free.best_bias(margins, found.bias))
        ]
        rows.append(
            {
                "pass": f"{passes:.4g}",
                "suboptimality": f"{values[0] - best:.5g}",
                "with_best_bias": f"{values[1] - best:.5g}",
                "bias": f"{found.bias:.5g}",
                "optimum": best,
            }
        )
    return rows


def free_key(task: Task) -> str:
    """The name of the optimum with a free bias."""
    part = about(task)["part"]
    return f"{task.labelled}:{task.scale}:{task.lam:g}:{task.train} rows, {part}, free bias"


def problem_with(task: Task, bias: Bias, bench: Bench) -> LinearProblem:
    loaded = load(task, bench)
    return LinearProblem(loaded.rows, loaded.y, get_loss("hinge"), task.lam, bias=bias)


def _visited(solver: Any, problem: LinearProblem, state: Any) -> int:
    return int(solver.progress(problem, state).rows_visited)


Curves = dict[tuple[str, str], tuple[Any, Any]]
"""Over the passes, by task and treatment."""


def curves(rows: Sequence[Row], column: str) -> Curves:
    found = curves_of(rows, ("task", "treatment"), "pass", column)
    return {(task, name): curve for (task, name), curve in found.items()}


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    own, best = (curves(rows, column) for column in ("suboptimality", "with_best_bias"))
    draw(folder / "pegasos-bias.png", own, best, settings)
    (folder / "pegasos-bias.md").write_text(text(own, best, settings), encoding="utf-8")


def draw(path: Path, own: Curves, best: Curves, settings: Settings) -> None:
    tasks = tasks_of(settings)
    with style.drawing(path, 5.6 * len(tasks) + 0.6, 9.2) as figure:
        grid = figure.subplots(2, len(tasks), sharex=True, sharey="col", squeeze=False)
        words = ("as found, P(w, b) − P*", "b chosen anew, min over b of P(w, b) − P*")
        for row, found, what in zip(grid, (own, best), words):
            for axes, task in zip(row, tasks):
                for name, treatment in TREATMENTS.items():
                    x, bands = found[task.name, name]
                    look: dict[str, Any] = {"color": treatment.colour, "ls": treatment.dashes}
                    if treatment.width > 2:  # wide and pale, so that what runs along it is seen
                        look |= {"lw": treatment.width, "alpha": 0.5}
                    line(axes, x, bands, RESOLVED, label=treatment.label, **look)
                axes.set(xscale="log", yscale="log")
                axes.set_ylim(RESOLVED, None)
                axes.set_title(f"{task.data}, λ = {short(task.lam)}: {what}", fontsize=10)
                axes.spines["right"].set_visible(False)
                axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        for axes in grid[-1]:
            axes.set_xlabel("passes (rows visited / n)")
        for axes in grid[:, 0]:
            axes.set_ylabel("sub-optimality with a free bias")
        handles, _ = grid[0, 0].get_legend_handles_labels()
        handles.append(limit_in_legend(RESOLVED))
        columns = 4 if len(tasks) > 1 else 2
        figure.legend(handles=handles, loc="outside lower center", ncols=columns)
        title(figure, f"{PAPER}, §6: four treatments of the bias", settings)


def last(curve: tuple[Any, Any]) -> float:
    """The last median, at least what is resolved."""
    return max(RESOLVED, float(curve[1][-1, 1]))


def text(own: Curves, best: Curves, settings: Settings) -> str:
    tasks = tasks_of(settings)
    passes = own[tasks[0].name, "sdca"][0][-1]
    header = [""]
    for task in tasks:
        header += [f"{task.data}: as found", "b chosen anew"]
    table = [
        [
            treatment.label,
            *(_number(last(found[task.name, name])) for task in tasks for found in (own, best)),
        ]
        for name, treatment in TREATMENTS.items()
    ]
    lines = [
        heading(PAPER, "§6", "four treatments of the bias", settings),
        "![Four treatments of the bias](pegasos-bias.png)",
        "",
        "Objective less P* of the problem with a free bias, also for the penalised bias, whose own "
        f"problem is another. Hinge loss, {', '.join(_named(task) for task in tasks)}; means of "
        "the later iterates, a new permutation each pass, one row a step unless k is named. "
        f"Medians over {seeds_text(settings)}, bands from least to most. The paper does not "
        "measure this: what we can compare is what it says. P* is certified to 1e-7, "
        f"what is below {short(RESOLVED)} is not told apart.",
        "",
        f"After {passes:g} passes:",
        "",
        markdown_table(header, table),
        "",
        *sentences(judged(best, tasks)),
        "",
        stand_in_note(tasks),
        "",
    ]
    return "\n".join(lines)


def _named(task: Task) -> str:
    return f"{task.title} at λ = {short(task.lam)}"


def _number(value: float) -> str:
    return f"{value:.2g}" if value > RESOLVED else f"< {short(RESOLVED)}"


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return judged(curves(rows, "with_best_bias"), tasks_of(settings))


def judged(best: Curves, tasks: Sequence[Task]) -> list[Verdict]:
    """What §6 says of each treatment, held against the w it finds."""
    pairs = (
        (SLOWER, "gradient", "penalized"),
        (LARGE_BATCHES, "batch 64", "batch 1024"),
        (OUTER, "outer", "penalized"),
    )
    found = []
    for claim, name, other in pairs:
        for task in tasks:
            own, others = last(best[task.name, name]), last(best[task.name, other])
            words = f"{plain(own / others)}: {own:.2g} and {others:.2g}"
            found.append(claim.judge(own / others, _named(task), words))
    return found
