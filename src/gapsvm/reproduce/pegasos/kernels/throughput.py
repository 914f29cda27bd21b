"""Table 3: values of K computed a second, relative to Pegasos."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from gapsvm.reproduce import style
from gapsvm.reproduce.claims import Bar, Claim, Verdict, plain, sentences
from gapsvm.reproduce.framework import Bench, Row, Settings, as_numbers, markdown_table
from gapsvm.reproduce.kernel import (
    BY_NAME,
    KernelCell,
    KernelTask,
    about,
    problem_of,
    tasks,
)
from gapsvm.reproduce.linear import heading, seeds_text, title
from gapsvm.reproduce.pegasos.kernels.clock import COLOURS, LABELS, PAPERS, timed
from gapsvm.reproduce.pegasos.tasks import PAPER

NAME = "pegasos-table3"
SECONDS, QUICK_SECONDS = 15.0, 0.3
"""Of computing, from the first step on."""
TABLE = {
    "reuters": (1.0, 1.03, 1.14, 0.88),
    "adult": (1.0, 0.90, 0.94, 0.60),
    "usps": (1.0, 0.97, 0.69, 0.81),
    "mnist": (1.0, 0.94, 0.99, 0.61),
}
"""Pegasos, SDCA, SVM-Light, LASVM."""
MINOR = Claim(
    "the discrepancy between runtime and kernel evaluations is fairly minor",
    "throughput of SDCA or LASVM over that of Pegasos, or its inverse, at worst",
    Bar(2.0, 5.0),
)
COLUMNS = ("seconds", "visits", "evaluations")


@dataclass(frozen=True)
class ThroughputCell(KernelCell):
    """The first seconds of a run."""

    method: str
    seed: int
    budget: float


def plan(settings: Settings) -> list[ThroughputCell]:
    budget = QUICK_SECONDS if settings.quick else SECONDS
    return [
        ThroughputCell(**about(task), method=method, seed=seed, budget=budget)
        for task in tasks(settings)
        for method in PAPERS
        for seed in range(settings.seeds)
    ]


def measure(cell: ThroughputCell, bench: Bench) -> list[Row]:
    problem = problem_of(BY_NAME[cell.task], bench)
    at = [*itertools.islice(itertools.count(640, 640), 100_000)]
    seconds, visits, evaluations = 0.0, 0, 0
    for point in timed(cell.method, problem, (cell.seed, 7), at, bench):
        seconds, visits, evaluations = point.seconds, point.visits, point.evaluations
        if seconds >= cell.budget:
            break
    return [{"seconds": f"{seconds:.4f}", "visits": visits, "evaluations": evaluations}]


@dataclass(frozen=True)
class Rates:
    """Values of K a second of one task, by method: medians over the seeds."""

    task: KernelTask
    rates: dict[str, float]

    def relative(self, method: str) -> float:
        return self.rates[method] / self.rates["pegasos"]


def rates_of(rows: Sequence[Row]) -> list[Rates]:
    grouped: dict[str, dict[str, list[float]]] = {}
    for row in map(as_numbers, rows):
        rate = float(row["evaluations"]) / max(float(row["seconds"]), 1e-9)
        grouped.setdefault(row["task"], {}).setdefault(row["method"], []).append(rate)
    return [
        Rates(BY_NAME[name], {method: median(rates) for method, rates in by.items()})
        for name, by in grouped.items()
    ]


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return [_minor(rates) for rates in rates_of(rows)]


def _minor(rates: Rates) -> Verdict:
    found = {method: rates.relative(method) for method in ("sdca", "lasvm")}
    worst = max(max(ratio, 1.0 / ratio) for ratio in found.values())
    words = ", ".join(f"{plain(ratio)} of {LABELS[method]}" for method, ratio in found.items())
    return MINOR.judge(worst, rates.task.title, words)


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = rates_of(rows)
    draw(folder / f"{NAME}.png", found, settings)
    (folder / f"{NAME}.md").write_text(text(found, settings), encoding="utf-8")


def draw(path: Path, found: Sequence[Rates], settings: Settings) -> None:
    with style.drawing(path, max(8.2, 2.4 * len(found)), 3.6) as figure:
        axes = figure.subplots()
        for k, method in enumerate(PAPERS):
            places = [place + 0.2 * (k - 1.5) for place in range(len(found))]
            heights = [rates.relative(method) for rates in found]
            axes.bar(places, heights, 0.18, color=COLOURS[method], label=LABELS[method])
            paper = [TABLE.get(rates.task.name, (None,) * 4)[k] for rates in found]
            there = [(x, y) for x, y in zip(places, paper) if y is not None]
            if there:
                label = "the paper's" if k == len(PAPERS) - 1 else None
                axes.plot(*zip(*there), "_", color=style.BLACK, ms=11, mew=1.6, label=label)
        axes.set_xticks(range(len(found)), [rates.task.title for rates in found])
        axes.set_ylabel("values of K a second,\nPegasos = 1")
        axes.spines["right"].set_visible(False)
        figure.legend(loc="outside lower center", ncols=5, fontsize=9)
        title(figure, f"{PAPER}, Table 3: throughput of kernel evaluations", settings)


def text(found: Sequence[Rates], settings: Settings) -> str:
    table = []
    for rates in found:
        if rates.task.name in TABLE:
            numbers = [f"{number:g}" for number in TABLE[rates.task.name]]
            table.append([f"**{rates.task.paper}, the paper's**", *numbers, ""])
        numbers = [plain(rates.relative(method)) for method in PAPERS]
        table.append([rates.task.title, *numbers, f"{rates.rates['pegasos'] / 1e6:.3g}"])
    header = ["data", *(LABELS[method] for method in PAPERS), "Pegasos, millions a second"]
    header[3] += "; the paper's: SVM-Light"
    seconds = QUICK_SECONDS if settings.quick else SECONDS
    lines = [
        heading(PAPER, "Table 3", "kernel evaluations a second", settings),
        f"![Table 3]({NAME}.png)",
        "",
        f"Values of K computed in the first {seconds:g} seconds of a run, or until it ends, over "
        f"these seconds, relative to Pegasos; medians over {seeds_text(settings)}. Rows step in "
        "groups of 64 whose values are computed together, so a value costs less than in a loop "
        "over pairs of rows; SMO and LASVM spend part of their time on rows that they keep.",
        "",
        markdown_table(header, table),
        "",
        *sentences([_minor(rates) for rates in found]),
        "",
    ]
    return "\n".join(lines)
