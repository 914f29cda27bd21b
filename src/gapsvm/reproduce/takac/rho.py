"""§4.3: "we could potentially continue iteratively updating ρ according to δ_A and δ_A according to
ρ, but we found that this does not improve performance significantly".

Algorithm 2 in NumPy, with any number of rounds; with one it is the algorithm as printed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.problems.linear import LinearProblem
from gapsvm.reproduce import style
from gapsvm.reproduce.claims import NOISE, Bar, Claim, Verdict, plain, sentences
from gapsvm.reproduce.framework import Bench, Row, Settings, markdown_table
from gapsvm.reproduce.linear import (
    TaskCell,
    about,
    curves_of,
    heading,
    line,
    load,
    optimum_of,
    primal,
    problem_of,
    seeds_text,
    short,
    stand_in_note,
    title,
)
from gapsvm.reproduce.takac.beta import BATCH, tasks_of
from gapsvm.reproduce.takac.tasks import BY_NAME, PAPER, TARGET, Task, sigma2_of
from gapsvm.rows.spectral import beta

ROUNDS = (1, 2, 5)
INERTIA, PAST = 0.95, 0.9
"""γ of Algorithm 2; what w̄ keeps of itself."""
STEPS, QUICK_STEPS = 40_000, 300
"""Budget of a run, in iterations."""
FIRST_LOOK, GROWTH = 20, 1.06

NO_GAIN = Claim(
    "iterating ρ ↔ δ does not improve performance significantly",
    f"iterations with one round over those with {ROUNDS[-1]}",
    Bar(NOISE, 2.0),
)

COLUMNS = ("iterations", "suboptimality", "refusals", "optimum")


@dataclass(frozen=True)
class RoundsCell(TaskCell):
    """One run to the target."""

    b: int
    rounds: int
    seed: int
    target: float
    steps: int


def plan(settings: Settings) -> list[RoundsCell]:
    return [
        RoundsCell(
            **about(task), b=BATCH[task.name], rounds=rounds, seed=seed,
            target=TARGET, steps=QUICK_STEPS if settings.quick else STEPS,
        )
        for task in tasks_of(settings)
        for rounds in ROUNDS
        for seed in range(settings.seeds)
    ]  # fmt: skip


@dataclass
class Ascent:
    """Where Algorithm 2 is: after each step w, its average w̄, β, and the steps refused."""

    w: Any
    mean: Any
    beta: float
    refusals: int = 0


def algorithm2(
    rows: Any, y: Any, lam: float, b: int, limit: float, rounds: int, rng: np.random.Generator
) -> Iterator[Ascent]:
    """Takáč's Algorithm 2 for rows of norm at most 1; ρ and δ are found ``rounds`` times a step."""
    n, width = rows.shape
    alpha, at = np.zeros(n), Ascent(np.zeros(width), np.zeros(width), limit)
    while True:
        batch = rng.choice(n, size=b, replace=False)
        part, signs, old = rows[batch], y[batch], alpha[batch]
        slack = lam * n * (1.0 - signs * (part @ at.w))

        def steps(curvature: float) -> tuple[Any, Any]:
            """δ of eq. (15), and Σ δ_i y_i x_i."""
            delta = np.clip(slack / curvature, -old, 1.0 - old)  # noqa: B023
            return delta, part.T @ (signs * delta)  # noqa: B023

        delta, move = steps(at.beta)
        square = float(delta @ delta)
        if square > 0:
            for turn in range(rounds):
                rho = min(limit, max(1.0, float(move @ move) / square))
                if turn == 0:
                    at.beta = min(limit, max(1.0, at.beta**INERTIA * rho ** (1 - INERTIA)))
                delta, move = steps(rho)
                square = float(delta @ delta)
                if square == 0:
                    break
            change = move / (lam * n)
            rise = delta.sum() / n - 0.5 * lam * float(2 * at.w @ change + change @ change)
            if rise > 0:
                alpha[batch] += delta
                at.w += change
            else:
                at.refusals += 1
        at.mean *= PAST
        at.mean += (1.0 - PAST) * at.w
        yield at


def measure(cell: RoundsCell, bench: Bench) -> list[Row]:
    task = BY_NAME[cell.task]
    problem: LinearProblem = problem_of(task, bench)
    best, sigma2 = optimum_of(task, problem, bench), sigma2_of(task, bench)
    rows = bench.once(
        ("float64", task.name), lambda: load(task, bench).rows.to_scipy().astype(float).tocsr()
    )
    limit = beta(cell.b, cell.train, sigma2)
    rng = np.random.default_rng([cell.seed, cell.b])
    look, reached, distance = FIRST_LOOK, math.inf, math.inf
    run = algorithm2(rows, load(task, bench).y, task.lam, cell.b, limit, cell.rounds, rng)
    for step, at in enumerate(run, 1):
        if step < look and step < cell.steps:
            continue
        bench.check()
        distance = primal(problem, at.mean, get_backend()) - best
        if distance <= cell.target:
            reached = step
        if reached < math.inf or step >= cell.steps:
            break
        look = max(look + 1, math.ceil(look * GROWTH))
    return [
        {
            "iterations": reached,
            "suboptimality": f"{distance:.4g}",
            "refusals": at.refusals,
            "optimum": best,
        }
    ]


Curves = dict[str, tuple[Any, Any]]
"""Iterations by rounds, of each task."""


def curves(rows: Sequence[Row]) -> Curves:
    ordered = sorted(rows, key=lambda row: int(row["rounds"]))
    found = curves_of(ordered, ("task",), "rounds", "iterations")
    return {name: found[(name,)] for name in dict.fromkeys(str(row["task"]) for row in rows)}


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = curves(rows)
    draw(folder / "takac-rho.png", found, settings)
    (folder / "takac-rho.md").write_text(text(found, settings), encoding="utf-8")


def draw(path: Path, found: Curves, settings: Settings) -> None:
    colours = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE)
    with style.drawing(path, 7.6, 4.6) as figure:
        axes = figure.subplots()
        for (name, (rounds, bands)), colour in zip(found.items(), colours):
            label = f"{name}, b = {BATCH[name]:,}"
            if np.isfinite(bands[0, 1]):
                line(axes, rounds, bands / bands[0, 1], color=colour, marker="o", label=label)
        axes.axhspan(1 / NOISE, NOISE, color=style.GREY, alpha=0.15, lw=0)
        axes.set(xlabel="rounds of ρ ↔ δ a step", ylabel="iterations, over those of one round")
        axes.set_xticks(ROUNDS)
        axes.set_ylim(0, None)
        axes.spines["right"].set_visible(False)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="lower left", ncols=2)
        title(figure, f"{PAPER}, §4.3: iterating ρ ↔ δ", settings)


def text(found: Curves, settings: Settings) -> str:
    table = [
        [_named(BY_NAME[name]), *(f"{plain(band[1])}" for band in bands)]
        for name, (_, bands) in found.items()
    ]
    lines = [
        heading(PAPER, "§4.3", "iterating ρ ↔ δ in Algorithm 2", settings),
        "![Rounds of ρ and δ](takac-rho.png)",
        "",
        f"Iterations of aggressive SDCA until P(w̄) − P* ≤ {short(TARGET)}, when ρ is found from δ "
        "and δ from ρ once, as in Algorithm 2, or more often; β follows the first ρ. Medians over "
        f"{seeds_text(settings)}; grey: a tie.",
        "",
        markdown_table(["data", *(f"{rounds} rounds" for rounds in ROUNDS)], table),
        "",
        *sentences(judged(found)),
        "",
        stand_in_note([BY_NAME[name] for name in found]),
        "",
    ]
    return "\n".join(lines)


def _named(task: Task) -> str:
    return f"{task.title}, b = {BATCH[task.name]:,}"


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return judged(curves(rows))


def judged(found: Curves) -> list[Verdict]:
    verdicts = []
    for name, (_, bands) in found.items():
        one, many = float(bands[0, 1]), float(bands[-1, 1])
        ratio = one / many if many < math.inf else (0.0 if one < math.inf else math.nan)
        verdicts.append(NO_GAIN.judge(ratio, _named(BY_NAME[name])))
    return verdicts
