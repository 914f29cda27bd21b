"""Figure 8: independent draws, one permutation for all passes, a new one for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.reproduce import style
from gapsvm.reproduce.claims import Bar, Claim, Verdict, plain, sentences
from gapsvm.reproduce.framework import Bench, Row, Settings, markdown_table
from gapsvm.reproduce.linear import (
    COLOURS,
    TaskCell,
    about,
    curves_of,
    heading,
    line,
    optimum_of,
    problem_of,
    seeds_text,
    short,
    stand_in_note,
    title,
    watched,
)
from gapsvm.reproduce.pegasos.tasks import BY_NAME, PAPER, task_of
from gapsvm.solvers.subgradient.solver import Pegasos

SAMPLERS = ("multisets", "fixed", "permutation")
LABELS = {
    "multisets": "i.i.d.",
    "fixed": "one permutation",
    "permutation": "a new permutation each pass",
}
PASSES, QUICK_PASSES = 100, 20

SIGNIFICANT, BETTER = 1.25, 1.1
"""Ratios of sub-optimalities from which on one sampler is significantly better, and better."""
WITHOUT = Claim(
    "sampling without replacement is significantly better than i.i.d.",
    "sub-optimality i.i.d. over the larger of the two others",
    Bar(SIGNIFICANT, 1 / SIGNIFICANT),
)
ANEW = Claim(
    "a new permutation each pass is slightly better than keeping one",
    "sub-optimality with one permutation over that with new ones",
    Bar(BETTER, 1 / BETTER),
)
MORE_THAN_SLIGHTLY = 2.0

COLUMNS = ("pass", "suboptimality", "optimum")


@dataclass(frozen=True)
class SamplerCell(TaskCell):
    """One run, looked at after every pass."""

    sampler: str
    seed: int
    passes: int


def plan(settings: Settings) -> list[SamplerCell]:
    passes = QUICK_PASSES if settings.quick else PASSES
    return [
        SamplerCell(**about(task_of(settings)), sampler=sampler, seed=seed, passes=passes)
        for sampler in SAMPLERS
        for seed in range(settings.seeds)
    ]


def measure(cell: SamplerCell, bench: Bench) -> list[Row]:
    task = BY_NAME[cell.task]
    problem = problem_of(task, bench)
    best = optimum_of(task, problem, bench)
    sampler: Any = cell.sampler
    at = [p * cell.train for p in range(1, cell.passes + 1)]
    looks = watched(Pegasos(sampler=sampler), problem, (cell.seed, 1), at, bench)
    return [
        {"pass": p, "suboptimality": f"{look.objective - best:.5g}", "optimum": best}
        for p, look in enumerate(looks, 1)
    ]


Curves = dict[str, tuple[Any, Any]]


def curves(rows: Sequence[Row]) -> Curves:
    found = curves_of(rows, ("sampler",), "pass", "suboptimality")
    return {sampler: found[(sampler,)] for sampler in SAMPLERS}


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = curves(rows)
    draw(folder / "pegasos-fig8.png", found, settings)
    (folder / "pegasos-fig8.md").write_text(text(found, settings), encoding="utf-8")


def draw(path: Path, found: Curves, settings: Settings) -> None:
    task = task_of(settings)
    with style.drawing(path, 8.0, 4.8) as figure:
        axes = figure.subplots()
        for (sampler, (x, bands)), colour in zip(found.items(), COLOURS):
            line(axes, x, bands, color=colour, label=LABELS[sampler])
        axes.set(xscale="log", yscale="log", xlabel="passes", ylabel="P(w) − P*")
        axes.set_xticks([1, 2, 5, 10, 20, 50, 100][: 7 if not settings.quick else 5])
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.minorticks_off()
        axes.spines["right"].set_visible(False)
        axes.legend()
        axes.set_title(f"{task.title}, λ = {short(task.lam)}")
        title(figure, f"{PAPER}, Figure 8: how rows are drawn", settings)


def text(found: Curves, settings: Settings) -> str:
    task = task_of(settings)
    last = len(found["fixed"][0])
    places = [p for p in (1, 3, 10, 30, 100) if p <= last]
    table = [
        [LABELS[s], *(f"{found[s][1][p - 1, 1]:.3g}" for p in places), f"{late(found[s]):.3g}"]
        for s in SAMPLERS
    ]
    header = ["", *(f"pass {p}" for p in places), f"passes {last // 2}–{last}, geometric mean"]
    lines = [
        heading(PAPER, "Figure 8", "how rows are drawn", settings),
        "![Figure 8](pegasos-fig8.png)",
        "",
        f"P(w) − P* of the last iterate on {task.title}, λ = {short(task.lam)}, k = 1, no "
        f"projection. Medians over {seeds_text(settings)}, bands from least to most. The paper "
        "prints a figure only: what we can compare is what it says.",
        "",
        markdown_table(header, table),
        "",
        *sentences(judged(found)),
        "",
        stand_in_note([task]),
        "",
    ]
    return "\n".join(lines)


def late(curve: tuple[Any, Any]) -> float:
    """The geometric mean over the second half of the passes: single iterates are noisy."""
    middle = curve[1][:, 1]
    return float(np.exp(np.mean(np.log(np.maximum(middle[len(middle) // 2 :], 1e-12)))))


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return judged(curves(rows), task_of(settings).title)


def judged(found: Curves, on: str = "") -> list[Verdict]:
    """The geometric means over the later passes, held against the paper's two statements."""
    drawn, fixed, fresh = (late(found[sampler]) for sampler in SAMPLERS)
    each = f"{plain(drawn / fixed)} times that of one permutation, "
    each += f"{plain(drawn / fresh)} times that of new ones"
    ratio = fixed / fresh
    much = ", which is more than slightly" if ratio > MORE_THAN_SLIGHTLY else ""
    return [
        WITHOUT.judge(drawn / max(fixed, fresh), on, each),
        ANEW.judge(ratio, on, f"{plain(ratio)}{much}"),
    ]
