"""Figure 6, for linear problems: sub-optimality against λ after so many iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.reproduce import style
from gapsvm.reproduce.claims import Bar, Claim, Verdict, plain, sentences
from gapsvm.reproduce.framework import Bench, Row, Settings, markdown_table
from gapsvm.reproduce.linear import (
    Task,
    TaskCell,
    about,
    by_name,
    curves_of,
    heading,
    limit_in_legend,
    line,
    optimum_of,
    primal,
    problem_of,
    seeds_text,
    short,
    stand_in_note,
    title,
    with_originals,
)
from gapsvm.reproduce.pegasos import figure4
from gapsvm.reproduce.pegasos.clock import COLOURS, LABELS, METHODS, timed
from gapsvm.reproduce.pegasos.tasks import PAPER, QUICK, TASK

TASKS = (TASK, figure4.BY_NAME["cov1"])
BY_NAME = by_name((*TASKS, QUICK))
LAMBDAS = tuple(float(f"{10 ** (-k / 2):.3g}") for k in range(2, 15))
QUICK_LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
ITERATIONS, QUICK_ITERATIONS = (10_000, 100_000, 1_000_000), (1_000, 10_000, 100_000)
FLOOR = 1e-7
"""P* is certified to this: smaller distances are not told apart."""
STRONG = 1e-3
"""λ from here on are looked at once more by themselves."""
MODERATE = (1e-5, 1e-3)
"""λ between these are moderate."""

INVERSE = Claim(
    "the sub-optimality of Pegasos after a fixed number of iterations is inversely proportional "
    "to λ",
    "distance of the exponent of λ from −1, at worst",
    Bar(0.15, 0.5),
)
BETTER_BEHAVED = Claim(
    "SDCA is much better behaved when λ is very small",
    "sub-optimality of Pegasos over that of SDCA, i.i.d., at the least λ, at worst",
    Bar(10.0, 1.0),
)
COMPARABLE = Claim(
    "for moderate λ the two are comparable",
    "ratio of the larger sub-optimality to the smaller, i.i.d., at moderate λ, median over λ and "
    "the numbers of iterations",
    Bar(3.0, 10.0),
)

COLUMNS = ("iterations", "suboptimality", "optimum")


@dataclass(frozen=True)
class LambdaCell(TaskCell):
    """One run, looked at after each number of iterations."""

    method: str
    seed: int
    looks: str


def tasks(settings: Settings) -> tuple[Task, ...]:
    return (QUICK,) if settings.quick else with_originals(TASKS, settings)


def plan(settings: Settings) -> list[LambdaCell]:
    lambdas, iterations = (
        (QUICK_LAMBDAS, QUICK_ITERATIONS) if settings.quick else (LAMBDAS, ITERATIONS)
    )
    looks = " ".join(map(str, iterations))
    return [
        LambdaCell(**about(replace(task, lam=lam)), method=method, seed=seed, looks=looks)
        for task in tasks(settings)
        for lam in lambdas
        for method in METHODS
        for seed in range(settings.seeds)
    ]


def measure(cell: LambdaCell, bench: Bench) -> list[Row]:
    task, backend = replace(BY_NAME[cell.task], lam=cell.lam), get_backend()
    problem = problem_of(task, bench)
    best = optimum_of(task, problem, bench)
    at = [int(look) for look in cell.looks.split()]
    return [
        {
            "iterations": point.visits,
            "suboptimality": f"{primal(problem, point.w, backend) - best:.5g}",
            "optimum": best,
        }
        for point in timed(cell.method, problem, (cell.seed, 6), at, bench)
    ]


@dataclass(frozen=True)
class ByLambda:
    """One task: by method and iterations, λ from the least on, and (least, median, most)."""

    task: Any
    """It has a title."""
    curves: dict[tuple[str, int], tuple[Any, Any]]

    @property
    def iterations(self) -> list[int]:
        return sorted({iterations for _, iterations in self.curves})

    def slope(
        self, method: str, iterations: int, least: float = 0.0, floor: float = FLOOR
    ) -> float:
        """Exponent of λ: least squares in logarithms, where P* is known well enough."""
        lam, bands = self.curves[method, iterations]
        known = (bands[:, 1] > 10 * floor) & (lam >= least)
        if known.sum() < 2:
            return float("nan")
        return float(np.polyfit(np.log(lam[known]), np.log(bands[known, 1]), 1)[0])

    def ratios(self, iterations: int, floor: float = FLOOR) -> Any:
        """Pegasos' sub-optimality over that of the papers' SDCA."""
        pegasos, sdca = (
            np.maximum(self.curves[method, iterations][1][:, 1], floor)
            for method in ("pegasos", "iid")
        )
        return pegasos / sdca


def results_of(rows: Sequence[Row]) -> list[ByLambda]:
    ordered = sorted(rows, key=lambda row: float(row["lam"]))
    curves = curves_of(ordered, ("task", "method", "iterations"), "lam", "suboptimality")
    names = dict.fromkeys(row["task"] for row in rows)
    return [
        ByLambda(BY_NAME[name], {(m, t): c for (task, m, t), c in curves.items() if task == name})
        for name in names
    ]


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = results_of(rows)
    draw(folder / "pegasos-fig6-linear.png", found, settings)
    (folder / "pegasos-fig6-linear.md").write_text(text(found, settings), encoding="utf-8")


def draw(path: Path, found: Sequence[ByLambda], settings: Settings) -> None:
    from matplotlib.lines import Line2D

    looks: tuple[dict[str, Any], ...] = (
        {"ls": ":", "marker": "s"}, {"ls": "--", "marker": "^"}, {"ls": "-", "marker": "o"},
    )  # fmt: skip
    with style.drawing(path, max(8.0, 5.4 * len(found)), 5.2) as figure:
        panels = figure.subplots(1, len(found), squeeze=False, sharey=True)[0]
        for axes, result in zip(panels, found):
            for method in METHODS:
                for look, iterations in zip(looks, result.iterations):
                    lam, bands = result.curves[method, iterations]
                    line(axes, lam, bands, FLOOR, color=COLOURS[method], **look)
            lam, bands = result.curves["pegasos", result.iterations[-1]]
            middle = len(lam) // 2
            guide = 4 * bands[middle, 1] * lam[middle] / lam
            axes.plot(lam, guide, color=style.GREY, lw=1.0)
            axes.set(xscale="log", yscale="log", xlabel="λ", title=result.task.title)
            axes.set_ylim(FLOOR, None)
            axes.spines["right"].set_visible(False)
        panels[0].set_ylabel("P(w) − P*")
        handles = [Line2D([], [], color=COLOURS[m], label=LABELS[m]) for m in METHODS]
        handles += [
            Line2D([], [], color=style.BLACK, label=f"after {iterations:,} iterations", **look)
            for look, iterations in zip(looks, found[0].iterations)
        ]
        handles.append(Line2D([], [], color=style.GREY, lw=1.0, label="∝ 1/λ"))
        handles.append(limit_in_legend(FLOOR))
        figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9)
        title(figure, f"{PAPER}, Figure 6 for linear problems: the effect of λ", settings)


def text(found: Sequence[ByLambda], settings: Settings) -> str:
    lines = [
        heading(PAPER, "Figure 6", "the effect of λ, for linear problems", settings),
        "![Figure 6](pegasos-fig6-linear.png)",
        "",
        "P(w) − P* of the last iterate after a fixed number of iterations, k = 1, no projection. "
        f"Medians over {seeds_text(settings)}, bands from least to most. P* is certified to "
        f"{short(FLOOR)} for every λ. The paper's figure is of USPS with a kernel and prints no "
        "numbers: what we can compare is what it says, here on linear problems.",
        "",
    ]
    for result in found:
        header = ["λ", *(f"{LABELS[m]}, {t:,}" for m in METHODS for t in result.iterations)]
        places = result.curves["pegasos", result.iterations[0]][0]
        table = [
            [
                short(lam),
                *(
                    _number(result.curves[m, t][1][row, 1])
                    for m in METHODS
                    for t in result.iterations
                ),
            ]
            for row, lam in enumerate(places)
        ]
        lines += [f"**{result.task.title}**, P(w) − P* after so many iterations:", ""]
        lines += [markdown_table(header, table), ""]
        lines += [*sentences(judged(result)), "", *_slopes(result), ""]
    lines += [stand_in_note([result.task for result in found]), ""]
    return "\n".join(lines)


def _number(distance: float) -> str:
    return f"{distance:.2g}" if distance > FLOOR else f"< {short(FLOOR)}"


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return [verdict for result in results_of(rows) for verdict in judged(result)]


def judged(
    result: ByLambda, floor: float = FLOOR, between: tuple[float, float] = MODERATE
) -> list[Verdict]:
    """``floor``: what P* is certified to; ``between``: the moderate λ."""
    on, last = result.task.title, result.iterations[-1]
    slopes = {t: result.slope("pegasos", t, floor=floor) for t in result.iterations}
    worst = max(abs(slope + 1) for slope in slopes.values())
    exponents = ", ".join(f"λ^{slope:.2f} after {t:,}" for t, slope in slopes.items())
    weakest = {t: float(result.ratios(t, floor)[0]) for t in result.iterations}
    behind = ", ".join(f"{plain(ratio)} after {t:,}" for t, ratio in weakest.items())
    lam = result.curves["pegasos", last][0]
    moderate = (lam >= 0.99 * between[0]) & (lam <= 1.01 * between[1])
    ratios = np.array([result.ratios(t, floor)[moderate] for t in result.iterations])
    either = float(np.median(np.maximum(ratios, 1 / ratios))) if moderate.any() else np.nan
    return [
        INVERSE.judge(worst, on, exponents),
        BETTER_BEHAVED.judge(min(weakest.values()), on, behind),
        COMPARABLE.judge(either, on),
    ]


def _slopes(result: ByLambda) -> list[str]:
    """What holds for the stronger λ alone."""
    slopes = [f"λ^{result.slope('pegasos', t, STRONG):.2f}" for t in result.iterations]
    return [f"From λ = {short(STRONG)} on Pegasos' exponents are {', '.join(slopes)}."]
