"""Figure 7: what the mini-batch size costs, at the same number of row visits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from gapsvm.reproduce import style
from gapsvm.reproduce.claims import Bar, Claim, Verdict, plain, sentences
from gapsvm.reproduce.framework import Bench, Row, Settings, markdown_table
from gapsvm.reproduce.linear import (
    COLOURS,
    Task,
    TaskCell,
    about,
    curves_of,
    heading,
    line,
    log2_axis,
    optimum_of,
    problem_of,
    seeds_text,
    short,
    stand_in_note,
    title,
    watched,
    with_originals,
)
from gapsvm.reproduce.pegasos.tasks import BY_NAME, PAPER, QUICK, SECOND, TASK
from gapsvm.solvers.subgradient.solver import Pegasos

FIXED, FIXED_QUICK = (2**15, 2**18, 2**21), (2**12, 2**14, 2**16)
"""kT of the first panel."""
SIZES, SIZES_QUICK = tuple(2**j for j in range(14)), (1, 8, 64, 256, 1024)
SHOWN, SHOWN_QUICK = (256, 1024, 4096), (64, 256, 1024)
"""k of the second panel."""

FLAT = 2.0
"""Up to this factor a sub-optimality counts as that of k = 1."""
FEW_HUNDRED = Claim(
    "at the same kT the sub-optimality does not depend on k up to a few hundred",
    f"k up to which it is within a factor of {FLAT:g} of that of k = 1, median over kT",
    Bar(200, 50),
)
RISES_LATER = Claim(
    "the larger kT, the larger the k at which the curves begin to rise",
    "that k for the largest kT over that for the smallest",
    Bar(4, 1),
)
LARGEST_SLOWEST = Claim(
    "the largest batches make the least progress at first",
    "sub-optimality of the largest k shown over that of the smallest, at worst",
    Bar(FLAT, 1 / FLAT),
)
ALIKE_IN_THE_END = Claim(
    "as kT grows the sub-optimality becomes similar",
    "sub-optimality of the largest k shown over that of the smallest, at the largest kT",
    Bar(FLAT, 10.0),
)
SAME_ON_ANOTHER = Claim(
    "on another set (the paper's CCAT) the results are very similar",
    "ratio between the sets of the k up to which the sub-optimality is flat, worst kT",
    Bar(2.0, 16.0),
)

COLUMNS = ("visits", "suboptimality", "optimum")


@dataclass(frozen=True)
class BatchCell(TaskCell):
    """One run, looked at when kT is a power of √2."""

    k: int
    seed: int
    budget: int
    """Row visits."""


def tasks(settings: Settings) -> tuple[Task, ...]:
    return (QUICK,) if settings.quick else with_originals((TASK, SECOND), settings)


def plan(settings: Settings) -> list[BatchCell]:
    sizes, fixed = (SIZES_QUICK, FIXED_QUICK) if settings.quick else (SIZES, FIXED)
    return [
        BatchCell(**about(task), k=k, seed=seed, budget=fixed[-1])
        for task in tasks(settings)
        for k in sizes
        for seed in range(settings.seeds)
    ]


def measure(cell: BatchCell, bench: Bench) -> list[Row]:
    task = BY_NAME[cell.task]
    problem = problem_of(task, bench)
    best = optimum_of(task, problem, bench)
    halves = range(20, 2 * cell.budget.bit_length() - 1)
    at = sorted({round(2 ** (h / 2) / cell.k) for h in halves} - {0})
    return [
        {
            "visits": look.steps * cell.k,
            "suboptimality": f"{look.objective - best:.5g}",
            "optimum": best,
        }
        for look in watched(Pegasos(cell.k), problem, (cell.seed, cell.k), at, bench)
    ]


@dataclass(frozen=True)
class Batches:
    """Sub-optimality of one task by k: visits, and (least, median, most)."""

    task: Task
    curves: dict[int, tuple[Any, Any]]
    fixed: tuple[int, ...]
    shown: tuple[int, ...]

    @property
    def sizes(self) -> list[int]:
        return sorted(self.curves)

    def at(self, k: int, visits: int) -> Any:
        x, bands = self.curves[k]
        return bands[int(np.flatnonzero(x == visits)[0])]

    def flat_until(self, visits: int) -> int:
        """The largest k up to which all are within a factor of k = 1."""
        limit = FLAT * self.at(1, visits)[1]
        until = 1
        for k in self.sizes:
            if self.at(k, visits)[1] > limit:
                break
            until = k
        return until

    def ratios(self) -> list[float]:
        """The largest k shown over the smallest, wherever both were looked at."""
        small, large = self.shown[0], self.shown[-1]
        both = [v for v in self.curves[large][0] if v in self.curves[small][0]]
        return [float(self.at(large, v)[1] / self.at(small, v)[1]) for v in both]


def batches_of(rows: Sequence[Row], settings: Settings) -> list[Batches]:
    curves = curves_of(rows, ("task", "k"), "visits", "suboptimality")
    how = (FIXED_QUICK, SHOWN_QUICK) if settings.quick else (FIXED, SHOWN)
    return [
        Batches(BY_NAME[name], {k: c for (task, k), c in curves.items() if task == name}, *how)
        for name in dict.fromkeys(str(row["task"]) for row in rows)
    ]


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = batches_of(rows, settings)
    draw(folder / "pegasos-fig7.png", found, settings)
    (folder / "pegasos-fig7.md").write_text(text(found, settings), encoding="utf-8")


def draw(path: Path, found: Sequence[Batches], settings: Settings) -> None:
    with style.drawing(path, 11.0, 4.2 * len(found) + 0.4) as figure:
        grid = figure.subplots(len(found), 2, sharey="row", squeeze=False)
        for (left, right), batches in zip(grid, found):
            _panels(left, right, batches)
        title(figure, f"{PAPER}, Figure 7: mini-batches at equal work", settings)


def _panels(left: Any, right: Any, found: Batches) -> None:
    task = found.task
    for visits, colour in zip(found.fixed, COLOURS):
        bands = np.array([found.at(k, visits) for k in found.sizes])
        label = f"kT = {visits:,} ({visits / task.train:.1f} passes)"
        line(left, found.sizes, bands, color=colour, marker="o", label=label)
    for k, colour in zip(found.shown, COLOURS[3:]):
        x, bands = found.curves[k]
        line(right, x, bands, color=colour, label=f"k = {k:,}")
    log2_axis(left)
    what = f"{task.title}, λ = {short(task.lam)}"
    left.set(yscale="log", ylabel="P(w) − P*", xlabel="mini-batch size k")
    right.set(xscale="log", xlabel="row visits kT")
    left.set_title(f"{what}: fixed kT", fontsize=10)
    right.set_title("fixed k", fontsize=10)
    for axes in (left, right):
        axes.spines["right"].set_visible(False)
        axes.legend(loc="best", fontsize=9)


def text(found: Sequence[Batches], settings: Settings) -> str:
    lines = [
        heading(PAPER, "Figure 7", "the mini-batch size at equal work", settings),
        "![Figure 7](pegasos-fig7.png)",
        "",
        f"P(w) − P* of the last iterate, no projection. Medians over {seeds_text(settings)}, "
        "bands from least to most. The paper prints a figure only: what we can compare is what it "
        "says.",
        "",
        *sentences(verdicts_of(found)),
        "",
    ]
    for batches in found:
        table = [
            [f"{k:,}", *(f"{batches.at(k, visits)[1]:.3g}" for visits in batches.fixed)]
            for k in batches.sizes
        ]
        header = ["k", *(f"kT = {visits:,}" for visits in batches.fixed)]
        what = f"**{batches.task.title}**, λ = {short(batches.task.lam)}:"
        lines += [what, "", markdown_table(header, table), ""]
    lines += [stand_in_note([batches.task for batches in found]), ""]
    return "\n".join(lines)


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return verdicts_of(batches_of(rows, settings))


def verdicts_of(found: Sequence[Batches]) -> list[Verdict]:
    verdicts = [verdict for batches in found for verdict in judged(batches)]
    if len(found) == 2:
        ends = [[batches.flat_until(visits) for visits in batches.fixed] for batches in found]
        worst = max(max(a / b, b / a) for a, b in zip(*ends))
        verdicts.append(SAME_ON_ANOTHER.judge(worst, found[1].task.title))
    return verdicts


def judged(found: Batches) -> list[Verdict]:
    """The paper's statements about one set."""
    on, ratios = found.task.title, found.ratios()
    ends = [found.flat_until(visits) for visits in found.fixed]
    until = ", ".join(f"{k:,} at kT = {v:,}" for k, v in zip(ends, found.fixed))
    return [
        FEW_HUNDRED.judge(median(ends), on, until),
        RISES_LATER.judge(ends[-1] / ends[0], on, f"{plain(ends[-1] / ends[0])}: {until}"),
        LARGEST_SLOWEST.judge(max(ratios), on),
        ALIKE_IN_THE_END.judge(ratios[-1], on),
    ]
