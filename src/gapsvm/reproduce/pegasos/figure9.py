"""Figure 9: Pegasos beside Norma, and beside Zhang's constant step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.reproduce import style
from gapsvm.reproduce.claims import AHEAD, Bar, Claim, Verdict, plain, sentences
from gapsvm.reproduce.framework import Bench, Row, Settings, as_numbers, markdown_table
from gapsvm.reproduce.linear import (
    Task,
    TaskCell,
    about,
    curves_of,
    heading,
    hinge_loss,
    line,
    load,
    optimum_of,
    plain_ticks,
    problem_of,
    seeds_text,
    short,
    stand_in_note,
    title,
    watched,
)
from gapsvm.reproduce.pegasos.tasks import BY_NAME, PAPER, task_of
from gapsvm.solvers.subgradient.rules import ZhangRule
from gapsvm.solvers.subgradient.solver import Subgradient

LAM = 2e-4
GUESS = 1e-5
"""The paper's first η, from Zhang's analysis."""
ETAS = (GUESS, 0.001, 0.01, 0.1, 1.0, 10.0)
METHODS = ("pegasos", "norma", *(f"η = {eta:g}".replace("e-0", "e-") for eta in ETAS))
LABELS = {"pegasos": "Pegasos", "norma": "Norma"}
STEPS, QUICK_STEPS = 1_000_000, 40_000
FIRST, GROWTH = 100, 1.15
"""Steps of the first look, and the factor from one to the next."""

ABOUT, FAR = 3.0, 10.0
"""Distances from P* up to that of Pegasos times this are about the same; from there on, failure."""
AHEAD_OF_NORMA = Claim("Pegasos outperforms Norma", "P − P* of Norma over that of Pegasos", AHEAD)
NORMA_FAILS = Claim(
    "Norma fails to converge even after 1,000,000 iterations",
    "P − P* of Norma over that of Pegasos",
    Bar(FAR, ABOUT),
)
ONE_DOES = Claim(
    "for some η a constant step converges at about the same rate as Pegasos",
    "P − P* of the best η over that of Pegasos",
    Bar(ABOUT, FAR),
)
OTHERS_FAIL = Claim(
    "for other η it fails to converge",
    "P − P* of the worst η over that of Pegasos",
    Bar(FAR, ABOUT),
)
GUESS_FAILS = Claim(
    "η = 1e-5, which the analysis suggests, is a poor choice",
    "P − P* of that η over that of the best",
    Bar(FAR, ABOUT),
)
COLOURS = {
    "pegasos": style.BLUE,
    "norma": style.ORANGE,
    **dict(
        zip(
            METHODS[2:],
            (style.GREY, style.YELLOW, style.SKY, style.GREEN, style.PURPLE, style.ORANGE),
        )
    ),
}

COLUMNS = ("iterations", "objective", "test_loss", "optimum")


@dataclass(frozen=True)
class RateCell(TaskCell):
    """One run."""

    method: str
    seed: int
    steps: int
    looks: str


def chosen_task(settings: Settings) -> Task:
    task = task_of(settings)
    return task if settings.quick else replace(task, lam=LAM)


def plan(settings: Settings) -> list[RateCell]:
    return [
        RateCell(
            **about(chosen_task(settings)),
            method=method,
            seed=seed,
            steps=QUICK_STEPS if settings.quick else STEPS,
            looks=f"{GROWTH:g} from {FIRST}",
        )
        for method in METHODS
        for seed in range(settings.seeds)
    ]


def solver_of(method: str, steps: int) -> Subgradient:
    if method == "pegasos":
        return Subgradient(projection=True)
    if method == "norma":
        return Subgradient(step_rule="norma", horizon=steps)
    return Subgradient(step_rule=ZhangRule(ETAS[METHODS.index(method) - 2]))


def measure(cell: RateCell, bench: Bench) -> list[Row]:
    task = replace(BY_NAME[cell.task], lam=cell.lam)
    problem, loaded = problem_of(task, bench), load(task, bench)
    best = optimum_of(task, problem, bench)
    count = int(np.log(cell.steps / FIRST) / np.log(GROWTH)) + 2
    at = sorted({int(v) for v in np.geomspace(FIRST, cell.steps, count).round()})
    return [
        {
            "iterations": look.steps,
            "objective": f"{look.objective:.6g}",
            "test_loss": f"{hinge_loss(loaded.X_test, loaded.y_test, look.w):.6g}",
            "optimum": best,
        }
        for look in watched(solver_of(cell.method, cell.steps), problem, (cell.seed, 1), at, bench)
    ]


@dataclass(frozen=True)
class Rates:
    """Curves by method: iterations, and (least, median, most)."""

    objective: dict[str, tuple[Any, Any]]
    test_loss: dict[str, tuple[Any, Any]]
    optimum: float

    def last(self, method: str) -> float:
        """Distance from P* over the last looks: single iterates are noisy."""
        return float(np.median(self.objective[method][1][-8:, 1])) - self.optimum


def rates_of(rows: Sequence[Row]) -> Rates:
    objective = curves_of(rows, ("method",), "iterations", "objective")
    test_loss = curves_of(rows, ("method",), "iterations", "test_loss")
    return Rates(
        {method: objective[(method,)] for method in METHODS},
        {method: test_loss[(method,)] for method in METHODS},
        float(as_numbers(rows[0])["optimum"]),
    )


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = rates_of(rows)
    draw(folder / "pegasos-fig9.png", found, settings)
    (folder / "pegasos-fig9.md").write_text(text(found, settings), encoding="utf-8")


def draw(path: Path, found: Rates, settings: Settings) -> None:
    from matplotlib.lines import Line2D

    task = chosen_task(settings)
    with style.drawing(path, 11.4, 5.0) as figure:
        left, right = figure.subplots(1, 2)
        for method in METHODS[:2]:
            colour = COLOURS[method]
            line(left, *found.objective[method], color=colour)
            line(left, *found.test_loss[method], color=colour, ls="--")
        for method in ("pegasos", *METHODS[2:]):
            look = {"lw": 2.2, "zorder": 3} if method == "pegasos" else {}
            line(right, *found.objective[method], color=COLOURS[method], **look)
        for axes in (left, right):
            axes.set(xscale="log", yscale="log", xlabel="iterations")
            axes.axhline(found.optimum, color=style.BLACK, lw=1.0, ls=":")
            axes.spines["right"].set_visible(False)
        highest = max(found.objective[m][1][5:, 1].max() for m in METHODS[2:])
        right.set_ylim(0.85 * found.optimum, max(3.0, 2.4 * highest))
        plain_ticks(right, found.optimum, 2 * highest)
        left.set(ylabel="objective; test loss", title="Norma")
        right.set(ylabel="objective", title="a constant step η (Zhang)")
        grey = style.GREY
        handles = [Line2D([], [], color=COLOURS[m], label=LABELS[m]) for m in METHODS[:2]]
        handles += [
            Line2D([], [], color=grey, label="objective"),
            Line2D([], [], color=grey, ls="--", label="test hinge loss"),
            Line2D([], [], color=style.BLACK, lw=1.0, ls=":", label="certified optimum"),
        ]
        left.legend(handles=handles, fontsize=9)
        handles = [
            Line2D([], [], color=COLOURS[m], label=LABELS.get(m, m))
            for m in ("pegasos", *METHODS[2:])
        ]
        right.legend(handles=handles, loc="upper right", fontsize=9, ncols=3)
        words = f"{PAPER}, Figure 9: step sizes on {task.title}, λ = {short(task.lam)}"
        title(figure, words, settings)


def text(found: Rates, settings: Settings) -> str:
    task = chosen_task(settings)
    table = [
        [
            LABELS.get(method, method),
            f"{found.objective[method][1][-1, 1]:.4f}",
            f"{found.last(method):.2g}",
            f"{found.test_loss[method][1][-1, 1]:.4f}",
        ]
        for method in METHODS
    ]
    steps = int(found.objective["norma"][0][-1])
    lines = [
        heading(PAPER, "Figure 9", "Pegasos, Norma and a constant step", settings),
        "![Figure 9](pegasos-fig9.png)",
        "",
        f"Objective and test hinge loss of the last iterate on {task.title}, λ = "
        f"{short(task.lam)}, k = 1, over {steps:,} iterations. Pegasos projects; Norma's p is the "
        f"one its bound prefers. Medians over {seeds_text(settings)}, bands from least to most. "
        f"P* = {found.optimum:.5f}. The paper prints a figure only: what we can compare is what it "
        "says.",
        "",
        markdown_table(["", "objective", "P − P*, last looks", "test hinge loss"], table),
        "",
        *sentences(judged(found)),
        "",
        stand_in_note([task]),
        "",
    ]
    return "\n".join(lines)


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return judged(rates_of(rows), chosen_task(settings).title)


def judged(found: Rates, on: str = "") -> list[Verdict]:
    """Distances from P* over the last looks, held against that of Pegasos."""
    ratios = {m: found.last(m) / found.last("pegasos") for m in METHODS[1:]}
    constant = {m: ratio for m, ratio in ratios.items() if m != "norma"}
    best, worst = min(constant, key=constant.__getitem__), max(constant, key=constant.__getitem__)
    failed = [m for m, ratio in constant.items() if ratio >= FAR]
    guess = constant[METHODS[2 + ETAS.index(GUESS)]] / constant[best]
    norma = ratios["norma"]
    return [
        AHEAD_OF_NORMA.judge(norma, on),
        NORMA_FAILS.judge(norma, on),
        ONE_DOES.judge(constant[best], on, f"{plain(constant[best])}, {best}"),
        OTHERS_FAIL.judge(
            constant[worst],
            on,
            f"{plain(constant[worst])}, {worst}; {plain(FAR)} or more: {', '.join(failed)}",
        ),
        GUESS_FAILS.judge(guess, on),
    ]
