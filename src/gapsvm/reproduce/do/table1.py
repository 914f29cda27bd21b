"""Table 1: the best objective of 100 passes, and the passes to 99 % of what it gains."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from gapsvm.problems.linear import LinearProblem
from gapsvm.reproduce.do.tasks import (
    BY_NAME,
    METHODS,
    PASSES,
    QUICK_PASSES,
    RunCell,
    every_pass,
    tasks,
)
from gapsvm.reproduce.framework import Bench, Row, Settings, as_numbers
from gapsvm.reproduce.linear import Task, about, optimum_of, problem_of

SIZES = (1, 10)
"""k, which the paper does not print."""
SHARE = 0.99

COLUMNS = (
    "best", "passes_to_99", "last", "phases", "radius", "long_rows", "optimum", "seconds",
)  # fmt: skip


def plan(settings: Settings) -> list[RunCell]:
    return [
        RunCell(
            **about(task),
            method=method,
            k=k,
            seed=seed,
            passes=QUICK_PASSES if settings.quick else PASSES,
        )
        for task in tasks(settings)
        for k in SIZES
        for method in METHODS
        for seed in range(settings.seeds)
    ]


def measure(cell: RunCell, bench: Bench) -> list[Row]:
    task = BY_NAME[cell.task]
    problem = problem_of(task, bench)
    best = optimum_of(task, problem, bench)
    started = time.thread_time()
    looks = list(every_pass(cell, task, bench))
    values = [look.objective for look in looks]
    reached = passes_to(SHARE, values, problem.primal_at_zero)
    end = looks[-1].state
    return [
        {
            "best": f"{min(values):.7g}",
            "passes_to_99": "" if reached is None else reached,
            "last": f"{values[-1]:.7g}",
            "phases": end.run.phases,
            "radius": f"{end.R:.6g}",
            "long_rows": f"{long_rows(problem):.4f}",
            "optimum": best,
            "seconds": round(time.thread_time() - started, 2),
        }
    ]


def long_rows(problem: LinearProblem) -> float:
    """The share of rows with ‖x‖ ≥ G/2, whose step from zero leaves the ball of radius R."""
    norms = np.sqrt(problem.sq_norms)
    return float(np.mean(norms >= 0.5 * (norms.max() + math.sqrt(problem.lam))))


def passes_to(share: float, values: Sequence[float], start: float) -> int | None:
    """Passes until that share of the largest reduction; None if the start was never bettered."""
    best = min(values)
    if best >= start:
        return None
    goal = start - share * (start - best)
    return next(p for p, value in enumerate(values, 1) if value <= goal)


@dataclass(frozen=True)
class Result:
    """A line of the table, by method: medians over the seeds, and all of them in order."""

    task: Task
    k: int
    optimum: float
    long_rows: float
    best: dict[str, float]
    passes: dict[str, int | None]
    all_best: dict[str, list[float]]
    all_radii: dict[str, list[float]]


def results_of(rows: Sequence[Row]) -> list[Result]:
    """Tasks in their order, k = 1 before k = 10."""
    grouped: dict[tuple[str, int], dict[str, list[Row]]] = {}
    for row in map(as_numbers, rows):
        by_method = grouped.setdefault((row["task"], row["k"]), {})
        by_method.setdefault(row["method"], []).append(row)
    found = []
    for (name, k), runs in grouped.items():
        one = next(iter(runs.values()))[0]
        best = {m: [float(row["best"]) for row in seeds] for m, seeds in runs.items()}
        found.append(
            Result(
                BY_NAME[name],
                k,
                float(one["optimum"]),
                float(one["long_rows"]),
                {m: median(values) for m, values in best.items()},
                {m: _middle([row["passes_to_99"] for row in seeds]) for m, seeds in runs.items()},
                best,
                {m: [float(row["radius"]) for row in seeds] for m, seeds in runs.items()},
            )
        )
    return found


def _middle(passes: Sequence[int | None]) -> int | None:
    """The upper median; a run that did not better its start counts as longest."""
    ordered = sorted(passes, key=lambda p: (p is None, p or 0))
    return ordered[len(ordered) // 2]
