"""§6: "a slower convergence rate of O(1/√T)" for subgradient steps on a bias without a penalty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.reproduce import style
from gapsvm.reproduce.claims import Bar, Claim, Verdict, sentences
from gapsvm.reproduce.framework import Bench, Row, Settings, markdown_table
from gapsvm.reproduce.linear import (
    Task,
    about,
    curves_of,
    heading,
    line,
    seeds_text,
    short,
    stand_in_note,
    title,
)
from gapsvm.reproduce.pegasos.bias import (
    BY_NAME,
    PASSES,
    QUICK_PASSES,
    TREATMENTS,
    BiasCell,
    Treatment,
    free_key,
    measured,
    problem_with,
    tasks_of,
)
from gapsvm.reproduce.pegasos.tasks import PAPER
from gapsvm.solvers.subgradient.rules import Rates, Scale
from gapsvm.solvers.subgradient.solver import Subgradient

ROOT = "gradient, 1/√t"
SHOWN = {
    "penalized": ("penalised bias, 1/(λt)", style.BLUE),
    "gradient": ("gradient, 1/(λt)", style.ORANGE),
    ROOT: ("gradient, R/(G√t)", style.GREEN),
}
FROM = 1.0
"""Passes from which on the exponent is fitted."""

RATE = {
    name: Claim(
        f"subgradient steps {how} on a bias without a penalty converge at O(1/√T)",
        f"exponent of T, from {FROM:g} pass on,",
        Bar(-0.45, 0.0),
    )
    for name, how in ((ROOT, "of R/(G√t)"), ("gradient", "of 1/(λt)"))
}


@dataclass(frozen=True)
class RootRule:
    """η_t = c/√t, which the standard proof for convex functions takes; c = R/G."""

    c: float

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        eta = self.c / np.sqrt(np.arange(first + 1, first + steps + 1))
        return Rates(np.minimum(eta, 1.0 / scale.lam), 0.0, 0.0)


def plan(settings: Settings) -> list[BiasCell]:
    passes = QUICK_PASSES if settings.quick else PASSES
    return [
        BiasCell(**about(task), treatment=name, seed=seed, passes=passes)
        for task in tasks_of(settings)
        for name in SHOWN
        for seed in range(settings.seeds)
    ]


def measure(cell: BiasCell, bench: Bench) -> list[Row]:
    if cell.treatment != ROOT:
        return measured(cell, TREATMENTS[cell.treatment], bench)
    task = BY_NAME[cell.task]
    rule = RootRule(length(task, bench) / math.sqrt(2.0))  # G of rows of norm ≤ 1 and a constant
    solver = Subgradient(average="tail", sampler="permutation", step_rule=rule)
    return measured(cell, Treatment(SHOWN[ROOT][0], solver, SHOWN[ROOT][1]), bench)


def length(task: Task, bench: Bench) -> float:
    """R = ‖(w*, b*)‖, from the certified optimum."""

    def make() -> float:
        free = problem_with(task, "free", bench)
        solution = bench.solved(free_key(task), free).solution
        return math.hypot(float(np.linalg.norm(solution.w)), float(solution.bias))

    return float(bench.once(("length", task.name), make))


Curves = dict[tuple[str, str], tuple[Any, Any]]


def curves(rows: Sequence[Row]) -> Curves:
    """P(w, b) − P*, by task and steps."""
    found = curves_of(rows, ("task", "treatment"), "pass", "suboptimality")
    return {(task, name): curve for (task, name), curve in found.items()}


def exponent(curve: tuple[Any, Any]) -> float:
    """Of T, by least squares in logarithms."""
    passes, bands = curve
    late = passes >= 0.99 * FROM
    return float(np.polyfit(np.log(passes[late]), np.log(bands[late, 1]), 1)[0])


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found, tasks = curves(rows), tasks_of(settings)
    draw(folder / "pegasos-bias-rate.png", found, tasks, settings)
    (folder / "pegasos-bias-rate.md").write_text(text(found, tasks, settings), encoding="utf-8")


def draw(path: Path, found: Curves, tasks: Sequence[Task], settings: Settings) -> None:
    with style.drawing(path, max(7.6, 5.2 * len(tasks)), 4.6) as figure:
        panels = figure.subplots(1, len(tasks), squeeze=False)[0]
        for axes, task in zip(panels, tasks):
            for name, (label, colour) in SHOWN.items():
                wide = {"lw": 4.0, "alpha": 0.5} if name == "penalized" else {}
                line(axes, *found[task.name, name], color=colour, label=label, **wide)
            passes, bands = found[task.name, ROOT]
            for power, dashes, label in ((-0.5, ":", "∝ 1/√T"), (-1.0, "--", "∝ 1/T")):
                guide = bands[0, 1] * (passes / passes[0]) ** power
                axes.plot(passes, guide, dashes, color=style.GREY, lw=1.0, label=label)
            axes.set(xscale="log", yscale="log", xlabel="passes (T/n)")
            axes.set_title(f"{task.title}, λ = {short(task.lam)}", fontsize=10)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.spines["right"].set_visible(False)
        panels[0].set_ylabel("P(w, b) − P*")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=9)
        title(figure, f"{PAPER}, §6: the rate with a bias that is not penalised", settings)


def text(found: Curves, tasks: Sequence[Task], settings: Settings) -> str:
    table = [
        [label, *(f"{exponent(found[task.name, name]):.2f}" for task in tasks)]
        for name, (label, _) in SHOWN.items()
    ]
    lines = [
        heading(PAPER, "§6", "the rate with a bias that is not penalised", settings),
        "![The rate](pegasos-bias-rate.png)",
        "",
        "P(w, b) − P* of the mean of the later iterates, a new permutation each pass, one row a "
        f"step. Medians over {seeds_text(settings)}, bands from least to most. R = ‖(w*, b*)‖ of "
        "the certified optimum, G = √2. Exponents of T:",
        "",
        markdown_table(["steps", *(f"{task.data}" for task in tasks)], table),
        "",
        *sentences(judged(found, tasks)),
        "",
        "The bound has a constant: steps of 1/(λt) throw b to ±1/λ at first, and on w8a, where 3 % "
        "of the labels are positive, it is still on its way back after all passes.",
        "",
        stand_in_note(tasks),
        "",
    ]
    return "\n".join(lines)


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return judged(curves(rows), tasks_of(settings))


def judged(found: Curves, tasks: Sequence[Task]) -> list[Verdict]:
    return [
        claim.judge(
            exponent(found[task.name, name]), task.title, f"{exponent(found[task.name, name]):.2f}"
        )
        for name, claim in RATE.items()
        for task in tasks
    ]
