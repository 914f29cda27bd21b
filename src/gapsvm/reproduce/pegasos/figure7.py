"""Figure 7: what the mini-batch size costs, at the same number of row visits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.reproduce import style
from gapsvm.reproduce.framework import Bench, Row, Settings, markdown_table
from gapsvm.reproduce.linear import (
    COLOURS,
    TaskCell,
    about,
    curves_of,
    heading,
    line,
    log2_axis,
    optimum_of,
    problem_of,
    said,
    seeds_text,
    short,
    stand_in_note,
    title,
    watched,
)
from gapsvm.reproduce.pegasos.tasks import BY_NAME, PAPER, task_of
from gapsvm.solvers.subgradient.solver import Pegasos

FIXED, FIXED_QUICK = (2**15, 2**18, 2**21), (2**12, 2**14, 2**16)
"""kT of the first panel."""
SIZES, SIZES_QUICK = tuple(2**j for j in range(14)), (1, 8, 64, 256, 1024)
SHOWN, SHOWN_QUICK = (256, 1024, 4096), (64, 256, 1024)
"""k of the second panel."""
FLAT = 2.0
"""Up to this factor a sub-optimality counts as that of k = 1."""

COLUMNS = ("visits", "suboptimality", "optimum")


@dataclass(frozen=True)
class BatchCell(TaskCell):
    """One run, looked at when kT is a power of √2."""

    k: int
    seed: int
    budget: int
    """Row visits."""


def plan(settings: Settings) -> list[BatchCell]:
    sizes, fixed = (SIZES_QUICK, FIXED_QUICK) if settings.quick else (SIZES, FIXED)
    return [
        BatchCell(**about(task_of(settings)), k=k, seed=seed, budget=fixed[-1])
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
    """Sub-optimality by k: visits, and (least, median, most)."""

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


def batches_of(rows: Sequence[Row], settings: Settings) -> Batches:
    curves = curves_of(rows, ("k",), "visits", "suboptimality")
    how = (FIXED_QUICK, SHOWN_QUICK) if settings.quick else (FIXED, SHOWN)
    return Batches({k: curve for (k,), curve in curves.items()}, *how)


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = batches_of(rows, settings)
    draw(folder / "pegasos-fig7.png", found, settings)
    (folder / "pegasos-fig7.md").write_text(text(found, settings), encoding="utf-8")


def draw(path: Path, found: Batches, settings: Settings) -> None:
    task = task_of(settings)
    with style.drawing(path, 11.0, 4.6) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        for visits, colour in zip(found.fixed, COLOURS):
            bands = np.array([found.at(k, visits) for k in found.sizes])
            label = f"kT = {visits:,} ({visits / task.train:.1f} passes)"
            line(left, found.sizes, bands, color=colour, marker="o", label=label)
        for k, colour in zip(found.shown, COLOURS[3:]):
            x, bands = found.curves[k]
            line(right, x, bands, color=colour, label=f"k = {k:,}")
        log2_axis(left)
        left.set(yscale="log", title="fixed kT", ylabel="P(w) − P*", xlabel="mini-batch size k")
        right.set(xscale="log", title="fixed k", xlabel="row visits kT")
        for axes in (left, right):
            axes.spines["right"].set_visible(False)
            axes.legend(loc="best", fontsize=9)
        words = f"{PAPER}, Figure 7: mini-batches on {task.title}, λ = {short(task.lam)}"
        title(figure, words, settings)


def text(found: Batches, settings: Settings) -> str:
    task = task_of(settings)
    table = [
        [f"{k:,}", *(f"{found.at(k, visits)[1]:.3g}" for visits in found.fixed)]
        for k in found.sizes
    ]
    lines = [
        heading(PAPER, "Figure 7", "the mini-batch size at equal work", settings),
        "![Figure 7](pegasos-fig7.png)",
        "",
        f"P(w) − P* of the last iterate on {task.title}, λ = {short(task.lam)}, no projection. "
        f"Medians over {seeds_text(settings)}, bands from least to most. The paper prints a figure "
        "only: what we can compare is what it says.",
        "",
        *(f"- {sentence}" for sentence in judgements(found)),
        "",
        markdown_table(["k", *(f"kT = {visits:,}" for visits in found.fixed)], table),
        "",
        stand_in_note([task]),
        "",
    ]
    return "\n".join(lines)


def judgements(found: Batches) -> list[str]:
    ends = [found.flat_until(visits) for visits in found.fixed]
    where = ", ".join(f"k = {k:,} at kT = {v:,}" for k, v in zip(ends, found.fixed))
    small, *larger = found.shown
    first = {k: max(_ratios(found, k, small)) for k in larger}
    last = {k: _ratios(found, k, small)[-1] for k in larger}
    return [
        "At the same kT, the sub-optimality does not depend on k up to a few hundred: "
        + said((max(ends) >= 128, f"within a factor of {FLAT:g} of k = 1 up to {where}"))
        + ".",
        "The curves begin to rise at different k, later for larger kT: "
        + said((ends[0] < ends[-1] and ends == sorted(ends), ""))
        + ".",
        "The largest batches make the least progress at first: "
        + said((min(first.values()) > FLAT, _times(first, small, "at worst")))
        + ".",
        "As kT grows the sub-optimality becomes similar: "
        + said((max(last.values()) < FLAT, _times(last, small, f"at kT = {found.fixed[-1]:,}")))
        + ".",
    ]


def _times(ratios: dict[int, float], small: int, when: str) -> str:
    words = ", ".join(f"k = {k:,} has {_plain(ratio)} times" for k, ratio in ratios.items())
    return f"{when}, {words} the sub-optimality of k = {small:,}"


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def _ratios(found: Batches, k: int, small: int) -> list[float]:
    """Sub-optimality of k over that of ``small``, wherever both were looked at."""
    both = [v for v in found.curves[k][0] if v in found.curves[small][0]]
    return [float(found.at(k, v)[1] / found.at(small, v)[1]) for v in both]
