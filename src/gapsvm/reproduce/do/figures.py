"""Figures 1 and 2: training objective and test error over 100 passes, by λ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.reproduce import style
from gapsvm.reproduce.claims import AHEAD, Bar, Claim, Verdict, plain, sentences
from gapsvm.reproduce.do.tasks import (
    BY_NAME,
    COMBINED,
    LABELS,
    LOOKS,
    PAPER,
    PASSES,
    QUICK_PASSES,
    RunCell,
    every_pass,
    tasks,
)
from gapsvm.reproduce.framework import Bench, Row, Settings, as_numbers, markdown_table
from gapsvm.reproduce.linear import (
    Task,
    about,
    curves_of,
    error_rate,
    heading,
    line,
    load,
    optimum_of,
    problem_of,
    seeds_text,
    short,
    stand_in_note,
    title,
    with_originals,
)

RUNS = (("pegasos", 1), ("adaptive", 1), ("kept", 1), ("optimistic", 10))
"""Methods and k: what comes closest to the paper's Table 1, and Algorithm 3 as printed."""
FACTORS = (100, 10, 1)
"""λ/λ_best, from the top row to the bottom."""
LAST = 10
OPTIMUM = "optimum"
"""The cell of the certified w* at each λ."""

DISTANCE, ERROR = "distance from P*", "test error"
LESS_ERROR = Bar(1.1, 1 / 1.1)
"""1.1 times the error is what Shalev-Shwartz et al. call as good."""
ADVANTAGE = {
    what: Claim(
        "Proximal enjoys a comfortable advantage over Pegasos and Adaptive",
        f"{what} of the better other over that of Proximal, last passes, at the worst λ",
        bar,
    )
    for what, bar in ((DISTANCE, AHEAD), (ERROR, LESS_ERROR))
}
SMALL_LAMBDA = {
    what: Claim(
        "especially for small λ",
        f"that ratio of {what} at λ_best over that at 100 λ_best",
        bar,
    )
    for what, bar in ((DISTANCE, AHEAD), (ERROR, LESS_ERROR))
}
CHOSEN = ("w8a", "covtype", "a9a-quick")

COLUMNS_1 = ("pass", "objective", "optimum")
COLUMNS_2 = ("pass", "test_error")


def panels(settings: Settings) -> list[Task]:
    """The left column is w8a in place of combined."""
    found = {task.name: task for task in tasks(settings) if task.name in CHOSEN}
    ordered = [found[name] for name in CHOSEN if name in found]
    stand_in = [
        replace(task, paper="combined", stand_in=True, original=COMBINED)
        if task.name == "w8a"
        else task
        for task in ordered
    ]
    return list(with_originals(stand_in, settings))


def plan(settings: Settings) -> list[RunCell]:
    """The runs of Figure 1."""
    return [
        RunCell(
            **about(replace(task, lam=factor * task.lam)),
            method=method,
            k=k,
            seed=seed,
            passes=QUICK_PASSES if settings.quick else PASSES,
        )
        for task in panels(settings)
        for factor in FACTORS
        for method, k in RUNS
        for seed in range(settings.seeds)
    ]


def plan_2(settings: Settings) -> list[RunCell]:
    """The same for Figure 2, and each λ's optimum."""
    runs = plan(settings)
    return runs + [
        replace(run, method=OPTIMUM)
        for run in runs
        if (run.method, run.k, run.seed) == (*RUNS[0], 0)
    ]


def measure_1(cell: RunCell, bench: Bench) -> list[Row]:
    task = replace(BY_NAME[cell.task], lam=cell.lam)
    best = optimum_of(task, problem_of(task, bench), bench)
    return [
        {"pass": p, "objective": f"{look.objective:.6g}", "optimum": best}
        for p, look in enumerate(every_pass(cell, task, bench), 1)
    ]


def measure_2(cell: RunCell, bench: Bench) -> list[Row]:
    task = replace(BY_NAME[cell.task], lam=cell.lam)
    loaded = load(task, bench)
    if cell.method == OPTIMUM:
        w = bench.solved(f"{cell.task}:{cell.lam:g}", problem_of(task, bench)).solution.w
        return [{"pass": cell.passes, "test_error": f"{error_rate(loaded, w):.5f}"}]
    return [
        {"pass": p, "test_error": f"{error_rate(loaded, look.w):.5f}"}
        for p, look in enumerate(every_pass(cell, task, bench), 1)
    ]


@dataclass(frozen=True)
class Panel:
    """One λ of one task."""

    task: Task
    factor: int
    curves: dict[str, tuple[Any, Any]]
    """By method: passes, and (least, median, most)."""
    optimum: float = 0.0
    """P*, or the test error of w*."""

    def best(self, method: str) -> float:
        return float(self.curves[method][1][:, 1].min())

    def last(self, method: str) -> float:
        """The middle of the last passes: single iterates are noisy."""
        return float(np.median(self.curves[method][1][-LAST:, 1]))


def panels_of(rows: Sequence[Row], column: str, settings: Settings) -> list[list[Panel]]:
    """Rows of the figure, from the strongest λ to the weakest."""
    curves = curves_of(rows, ("task", "lam", "method"), "pass", column)
    optima = {
        (r["task"], r["lam"]): float(r["optimum" if column == "objective" else column])
        for r in map(as_numbers, rows)
        if column == "objective" or r["method"] == OPTIMUM
    }
    grid: list[list[Panel]] = []
    for factor in FACTORS:
        grid.append([])
        for task in panels(settings):
            lam = float(factor * task.lam)
            own = {m: curves[task.name, lam, m] for m, _ in RUNS}
            best = optima[task.name, lam]
            grid[-1].append(Panel(replace(task, lam=lam), factor, own, best))
    return grid


def report_1(folder: Path, rows: list[Row], settings: Settings) -> None:
    grid = panels_of(rows, "objective", settings)
    _draw(folder / "do-fig1.png", grid, "P(w) − P*", "Figure 1: training objective", settings)
    _write(folder / "do-fig1.md", grid, "Figure 1", "training objective", settings)


def report_2(folder: Path, rows: list[Row], settings: Settings) -> None:
    grid = panels_of(rows, "test_error", settings)
    _draw(folder / "do-fig2.png", grid, "test error (%)", "Figure 2: test error", settings)
    _write(folder / "do-fig2.md", grid, "Figure 2", "test error", settings)


def _draw(path: Path, grid: list[list[Panel]], label: str, words: str, settings: Settings) -> None:
    from matplotlib.lines import Line2D

    objective = label != "test error (%)"
    with style.drawing(path, max(7.0, 4.7 * len(grid[0]) + 0.3), 8.6) as figure:
        cells = figure.subplots(len(grid), len(grid[0]), squeeze=False, sharex=True)
        for line_of_axes, line_of_panels in zip(cells, grid):
            for axes, panel in zip(line_of_axes, line_of_panels):
                for method, _ in RUNS:
                    x, bands = panel.curves[method]
                    shown = bands - panel.optimum if objective else 100 * bands
                    line(axes, x, shown, color=LOOKS[method][0], lw=1.2)
                if objective:
                    axes.set_yscale("log")
                else:
                    axes.axhline(100 * panel.optimum, color=style.BLACK, lw=1.0, ls=":")
                    _scale(axes, panel)
                axes.spines["right"].set_visible(False)
                times = " = λ_best" if panel.factor == 1 else f" = {panel.factor} λ_best"
                name = f"{panel.task.title}, " if panel.factor == FACTORS[0] else ""
                axes.set_title(f"{name}λ = {short(panel.task.lam)}{times}", fontsize=10)
            line_of_axes[0].set_ylabel(label)
        for axes in cells[-1]:
            axes.set(xlabel="effective iterations (passes)", xlim=(0, None))
        handles = [
            Line2D([], [], color=LOOKS[m][0], label=f"{LABELS[m]}, k = {k}") for m, k in RUNS
        ]
        if not objective:
            label = "test error of the certified optimum"
            handles.append(Line2D([], [], color=style.BLACK, lw=1.0, ls=":", label=label))
        figure.legend(handles=handles, loc="outside lower center", ncols=3)
        title(figure, f"{PAPER}, {words} by λ", settings)


def _scale(axes: Any, panel: Panel) -> None:
    """Errors from a little below the least to what is typical."""
    medians = [100 * bands[:, 1] for _, bands in panel.curves.values()]
    low = min(100 * panel.optimum, *(m.min() for m in medians))
    high = max(m[1:].max() for m in medians)
    axes.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))


# -- what the paper says ---------------------------------------------------------------------------


def _write(path: Path, grid: list[list[Panel]], which: str, what: str, settings: Settings) -> None:
    objective = which == "Figure 1"
    unit, form = (1.0, ".4f") if objective else (100.0, ".2f")
    table = []
    for panel in (panel for row in grid for panel in row):
        numbers = [
            f"{unit * panel.best(m):{form}} / {unit * panel.last(m):{form}}" for m, _ in RUNS
        ]
        where = f"{panel.task.title}, {short(panel.task.lam)}"
        table.append([where, *numbers, f"{unit * panel.optimum:{form}}"])
    header = ["data, λ", *(f"{LABELS[m]}, k = {k}" for m, k in RUNS)]
    header += ["P*" if objective else "at the optimum"]
    kind = "Least objective" if objective else "Least test error in per cent"
    lines = [
        heading(PAPER, which, f"{what} over the passes", settings),
        f"![{which}](do-{'fig1' if objective else 'fig2'}.png)",
        "",
        f"{kind}, and the median of the last {LAST} passes, by the iterate after each; medians "
        f"over {seeds_text(settings)}, bands from least to most. Top row λ = 100 λ_best, bottom "
        "row λ_best. do-table1 says why there are two kinds of Proximal. The paper prints a figure "
        "only: what we can compare is what it says.",
        "",
        markdown_table(header, table),
        "",
        *sentences(judged(grid, objective)),
        "",
        stand_in_note(panels(settings)),
        "",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")


OTHERS = ("pegasos", "adaptive")


def verdicts_1(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return judged(panels_of(rows, "objective", settings), True)


def verdicts_2(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return judged(panels_of(rows, "test_error", settings), False)


def judged(grid: list[list[Panel]], objective: bool) -> list[Verdict]:
    """Both readings of Proximal, on each set."""
    found = []
    what = DISTANCE if objective else ERROR
    for column in zip(*grid):
        for method, k in RUNS[2:]:
            on = f"{column[0].task.title}, {LABELS[method]}, k = {k}"
            ratios = [_advantage(panel, method, objective) for panel in column]
            each = ", ".join(
                f"{plain(r)} at λ = {short(p.task.lam)}" for r, p in zip(ratios, column)
            )
            found.append(ADVANTAGE[what].judge(min(ratios), on, each))
            if ratios[-1] > 1:
                found.append(SMALL_LAMBDA[what].judge(ratios[-1] / ratios[0], on))
            else:
                words = f"no advantage at λ_best, {plain(ratios[-1])}"
                found.append(SMALL_LAMBDA[what].judge(math.nan, on, words))
    return found


def _advantage(panel: Panel, method: str, objective: bool) -> float:
    """The better other's last value over Proximal's; objectives are counted from P*."""
    base = panel.optimum if objective else 0.0
    other = min(panel.last(m) for m in OTHERS)
    return (other - base) / max(panel.last(method) - base, 1e-9)
