"""Figure 6: sub-optimality of kernel machines on USPS against λ after so many iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gapsvm.problems.kernel import KernelProblem
from gapsvm.reproduce import style
from gapsvm.reproduce.claims import Verdict, sentences
from gapsvm.reproduce.framework import Bench, Row, Settings, markdown_table
from gapsvm.reproduce.kernel import (
    BY_NAME,
    CERTIFIED,
    QUICK,
    USPS,
    KernelCell,
    about,
    load,
    optimum_of,
    primal,
    problem_of,
    whole_rows,
)
from gapsvm.reproduce.linear import (
    curves_of,
    heading,
    limit_in_legend,
    line,
    seeds_text,
    short,
    title,
)
from gapsvm.reproduce.pegasos.figure6 import ByLambda, judged
from gapsvm.reproduce.pegasos.kernels.clock import COLOURS, LABELS, timed
from gapsvm.reproduce.pegasos.tasks import PAPER

NAME = "pegasos-fig6"
METHODS = ("pegasos", "sdca")
LAMBDAS = tuple(float(f"{10 ** (-k / 2):.3g}") for k in range(2, 15))
QUICK_LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4)
ITERATIONS, QUICK_ITERATIONS = (1_024, 10_240, 102_400), (256, 1_024, 4_096)
"""Multiples of 64, the rows of a group."""
MODERATE = (1e-4, 1e-2)

COLUMNS = ("iterations", "suboptimality", "optimum")


@dataclass(frozen=True)
class LambdaCell(KernelCell):
    """One run, looked at after each number of iterations."""

    method: str
    seed: int
    looks: str


def plan(settings: Settings) -> list[LambdaCell]:
    task = QUICK if settings.quick else USPS
    lambdas, iterations = (
        (QUICK_LAMBDAS, QUICK_ITERATIONS) if settings.quick else (LAMBDAS, ITERATIONS)
    )
    looks = " ".join(map(str, iterations))
    return [
        LambdaCell(**about(replace(task, lam=lam)), method=method, seed=seed, looks=looks)
        for lam in lambdas
        for method in METHODS
        for seed in range(settings.seeds)
    ]


def measure(cell: LambdaCell, bench: Bench) -> list[Row]:
    task = replace(BY_NAME[cell.task], lam=cell.lam)
    best = optimum_of(task, bench)["value"]
    loss = problem_of(task, bench).loss
    problem = KernelProblem(whole_rows(task, bench), load(task, bench).y, loss, task.lam)
    at = [int(look) for look in cell.looks.split()]
    return [
        {
            "iterations": point.visits,
            "suboptimality": f"{primal(task, bench, point.coef, point.margins) - best:.5g}",
            "optimum": best,
        }
        for point in timed(cell.method, problem, (cell.seed, 6), at, bench)
    ]


def results_of(rows: Sequence[Row]) -> list[ByLambda]:
    ordered = sorted(rows, key=lambda row: float(row["lam"]))
    renamed = [{**row, "method": _OF_LINEAR.get(row["method"], row["method"])} for row in ordered]
    curves = curves_of(renamed, ("task", "method", "iterations"), "lam", "suboptimality")
    names: dict[str, Any] = dict.fromkeys(row["task"] for row in rows)
    return [
        ByLambda(BY_NAME[name], {(m, t): c for (task, m, t), c in curves.items() if task == name})
        for name in names
    ]


_OF_LINEAR = {"sdca": "iid"}
"""What the figure of linear problems calls the papers' SDCA."""
_LOOKS = {"pegasos": "pegasos", "iid": "sdca"}


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return [v for result in results_of(rows) for v in judged(result, CERTIFIED, MODERATE)]


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = results_of(rows)
    draw(folder / f"{NAME}.png", found[0], settings)
    (folder / f"{NAME}.md").write_text(text(found[0], settings), encoding="utf-8")


def draw(path: Path, result: ByLambda, settings: Settings) -> None:
    from matplotlib.lines import Line2D

    shapes: tuple[dict[str, Any], ...] = (
        {"ls": ":", "marker": "s"}, {"ls": "--", "marker": "^"}, {"ls": "-", "marker": "o"},
    )  # fmt: skip
    with style.drawing(path, 8.0, 5.2) as figure:
        axes = figure.subplots()
        for name, method in _LOOKS.items():
            for shape, iterations in zip(shapes, result.iterations):
                lam, bands = result.curves[name, iterations]
                line(axes, lam, bands, CERTIFIED, color=COLOURS[method], **shape)
        lam, bands = result.curves["pegasos", result.iterations[-1]]
        middle = len(lam) // 2
        guide = 4 * bands[middle, 1] * lam[middle] / lam
        axes.plot(lam, guide, color=style.GREY, lw=1.0)
        axes.set(xscale="log", yscale="log", xlabel="λ", title=result.task.title)
        axes.set_ylim(CERTIFIED, None)
        axes.set_ylabel("P(f) − P*")
        axes.spines["right"].set_visible(False)
        handles = [Line2D([], [], color=COLOURS[m], label=LABELS[m]) for m in METHODS]
        handles += [
            Line2D([], [], color=style.BLACK, label=f"after {iterations:,} iterations", **shape)
            for shape, iterations in zip(shapes, result.iterations)
        ]
        handles.append(Line2D([], [], color=style.GREY, lw=1.0, label="∝ 1/λ"))
        handles.append(limit_in_legend(CERTIFIED))
        figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9)
        title(figure, f"{PAPER}, Figure 6: the effect of λ", settings)


def text(result: ByLambda, settings: Settings) -> str:
    keys = [(name, t) for name in _LOOKS for t in result.iterations]
    header = ["λ", *(f"{LABELS[_LOOKS[name]]}, {t:,}" for name, t in keys)]
    places = result.curves["pegasos", result.iterations[0]][0]
    table = [
        [short(lam), *(_number(result.curves[key][1][row, 1]) for key in keys)]
        for row, lam in enumerate(places)
    ]
    lines = [
        heading(PAPER, "Figure 6", "the effect of λ", settings),
        f"![Figure 6]({NAME}.png)",
        "",
        f"P(f) − P* on {result.task.title} after a fixed number of iterations, rows drawn "
        "independently, k = 1, no projection, no bias, the last iterate. Medians over "
        f"{seeds_text(settings)}, bands from least to most. P* is certified to {short(CERTIFIED)} "
        "for every λ. The paper's figure prints no numbers: what we can compare is what it says.",
        "",
        markdown_table(header, table),
        "",
        *sentences(judged(result, CERTIFIED, MODERATE)),
        "",
    ]
    return "\n".join(lines)


def _number(distance: float) -> str:
    return f"{distance:.2g}" if distance > CERTIFIED else f"< {short(CERTIFIED)}"
