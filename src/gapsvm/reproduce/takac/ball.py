"""§6: Lemma 2 gives mini-batch steps for min L̂(w), ‖w‖ ≤ B the same speed-up, b/β_b.

B is the length of the certified w* of a task's λ: w* then solves the problem with the ball as well,
so that its minimum is L̂(w*), certified to the same gap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.losses.registry import get_loss
from gapsvm.problems.linear import LinearProblem
from gapsvm.reproduce import style
from gapsvm.reproduce.claims import Bar, Claim, Verdict, plain, sentences
from gapsvm.reproduce.framework import Bench, Row, Settings, as_numbers, markdown_table
from gapsvm.reproduce.linear import (
    TaskCell,
    about,
    curves_of,
    heading,
    hinge_loss,
    line,
    load,
    log2_axis,
    primal,
    problem_of,
    run_to,
    seeds_text,
    short,
    stand_in_note,
    title,
)
from gapsvm.reproduce.takac.tasks import (
    BY_NAME,
    PAPER,
    Task,
    batch_sizes,
    sigma2_of,
    tasks,
)
from gapsvm.rows.spectral import beta
from gapsvm.solvers.subgradient.rules import Rates, Scale
from gapsvm.solvers.subgradient.solver import Subgradient
from gapsvm.theory import takac_ball_iterations

EPS = 0.05
CHOSEN = ("imdb-rcv1", "rcv1_train.binary", "news20b", "news20.binary", "mnist8", "a9a-quick")
FIRST_LOOK, GROWTH = 20, 1.06
"""Iterations before the first evaluation, and the factor from one to the next."""
PASSES = 1000
"""Budget of a run."""

SPEED_UP = Claim(
    "Lemma 2 gives mini-batch steps over a ball the same speed-up, b/β_b",
    "least measured speed-up over b/β_b, any b > 1,",
    Bar(0.5, 0.25),
)
WITHIN = Claim(
    "the iterations are within the bound that follows",
    "iterations over those of the bound, at the worst b",
    Bar(1.0, 1.3),
)

COLUMNS = ("iterations", "distance", "radius", "optimum", "sigma2")


@dataclass(frozen=True)
class BallCell(TaskCell):
    """One run to L̂(w̄) − min L̂ ≤ ε."""

    b: int
    seed: int
    eps: float
    passes: int
    looks: str


@dataclass(frozen=True)
class RootRule:
    """η_t = c/√t."""

    c: float

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        return Rates(self.c / np.sqrt(np.arange(first + 1, first + steps + 1)), 0.0, 0.0)


def tasks_of(settings: Settings) -> list[Task]:
    return [task for task in tasks(settings) if task.name in CHOSEN]


def plan(settings: Settings) -> list[BallCell]:
    return [
        BallCell(
            **about(task),
            b=b,
            seed=seed,
            eps=EPS,
            passes=PASSES,
            looks=f"{GROWTH:g} from {FIRST_LOOK}",
        )
        for task in tasks_of(settings)
        for b in batch_sizes(task, settings)[::2]
        for seed in range(settings.seeds)
    ]


def ball_of(task: Task, bench: Bench) -> tuple[LinearProblem, float, float]:
    """The problem, B and the minimum of L̂."""

    def make() -> tuple[LinearProblem, float, float]:
        loaded = load(task, bench)
        w = bench.solved(f"{task.name}, the ball", problem_of(task, bench)).solution.w
        radius = float(np.linalg.norm(w))
        least = hinge_loss(loaded.rows.to_scipy(), loaded.y, w)
        hinge = get_loss("hinge")
        return LinearProblem(loaded.rows, loaded.y, hinge, 0.0, radius=radius), radius, least

    found: tuple[LinearProblem, float, float] = bench.once(("ball", task.name), make)
    return found


def measure(cell: BallCell, bench: Bench) -> list[Row]:
    task, backend = BY_NAME[cell.task], get_backend()
    problem, radius, least = ball_of(task, bench)
    sigma2 = sigma2_of(task, bench)
    rule = RootRule(radius * math.sqrt(cell.b / beta(cell.b, cell.train, sigma2)))
    solver = Subgradient(cell.b, step_rule=rule, average="uniform")
    state = solver.init(problem, backend, np.random.default_rng([cell.seed, cell.b]))
    last = math.ceil(cell.passes * cell.train / cell.b)
    at, distance = FIRST_LOOK, math.inf
    while distance > cell.eps and state.steps < last:
        run_to(solver, problem, state, min(at, last), bench)
        at = max(at + 1, math.ceil(at * GROWTH))
        distance = primal(problem, solver.iterate(problem, state).w, backend) - least
    return [
        {
            "iterations": state.steps if distance <= cell.eps else math.inf,
            "distance": f"{distance:.4g}",
            "radius": f"{radius:.6g}",
            "optimum": f"{least:.9g}",
            "sigma2": sigma2,
        }
    ]


@dataclass(frozen=True)
class Speed:
    """One task: iterations by b, (least, median, most), and what the bound says."""

    task: Task
    b: Any
    iterations: Any
    sigma2: float
    radius: float

    @property
    def factors(self) -> Any:
        """b/β_b."""
        return np.array([b / beta(b, self.task.train, self.sigma2) for b in self.b])

    @property
    def speed_ups(self) -> Any:
        return self.iterations[0, 1] / self.iterations[:, 1]

    @property
    def bound(self) -> Any:
        return np.array(
            [
                takac_ball_iterations(
                    EPS,
                    radius=self.radius,
                    beta=beta(b, self.task.train, self.sigma2),
                    batch_size=b,
                )
                for b in map(int, self.b)
            ]
        )


def speeds_of(rows: Sequence[Row]) -> list[Speed]:
    ordered = sorted(rows, key=lambda row: int(row["b"]))
    curves = curves_of(ordered, ("task",), "b", "iterations")
    facts = {row["task"]: row for row in map(as_numbers, rows)}
    return [
        Speed(BY_NAME[name], *curves[(name,)], float(facts[name]["sigma2"]), facts[name]["radius"])
        for name in dict.fromkeys(str(row["task"]) for row in rows)
    ]


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = speeds_of(rows)
    draw(folder / "takac-ball.png", found, settings)
    (folder / "takac-ball.md").write_text(text(found, settings), encoding="utf-8")


def draw(path: Path, found: Sequence[Speed], settings: Settings) -> None:
    from matplotlib.lines import Line2D

    with style.drawing(path, max(7.0, 4.4 * len(found)), 4.6) as figure:
        panels = figure.subplots(1, len(found), squeeze=False)[0]
        for axes, speed in zip(panels, found):
            line(axes, speed.b, speed.iterations, color=style.BLUE, marker="o")
            axes.plot(speed.b, speed.iterations[0, 1] / speed.factors, "--", color=style.GREY)
            axes.plot(speed.b, speed.bound, ":", color=style.BLACK)
            axes.set(yscale="log")
            axes.set_title(f"{speed.task.title}\nB = {speed.radius:.3g}", fontsize=10)
            axes.axvline(1 / speed.sigma2, color=style.BLACK, lw=0.7)
            axes.spines["right"].set_visible(False)
            log2_axis(axes)
        panels[0].set_ylabel("iterations")
        handles = [
            Line2D([], [], color=style.BLUE, marker="o", label="measured"),
            Line2D([], [], color=style.GREY, ls="--", label="of b = 1, times β_b/b"),
            Line2D([], [], color=style.BLACK, ls=":", label="the bound, B²β_b/(bε²)"),
            Line2D([], [], color=style.BLACK, lw=0.7, label="b = 1/σ²"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
        words = f"iterations to {EPS:g} over a ball, by mini-batch size"
        title(figure, f"{PAPER}, §6: {words}", settings)


def text(found: Sequence[Speed], settings: Settings) -> str:
    lines = [
        heading(PAPER, "§6", "the speed-up of Lemma 2 over a ball", settings),
        "![Over a ball](takac-ball.png)",
        "",
        f"Iterations of projected mini-batch steps until L̂(w̄) − min L̂ ≤ {EPS:g} over ‖w‖ ≤ B, "
        "w̄ the mean of all iterates, steps B/√(tβ_b/b). B is the length of the certified w* of "
        "the task's λ, which therefore solves this problem too. Medians over "
        f"{seeds_text(settings)}. The paper states it without an experiment.",
        "",
        *sentences(verdicts_of(found)),
        "",
    ]
    for speed in found:
        table = [
            [
                f"{int(b):,}",
                plain(iterations[1]),
                f"{speed_up:.3g}",
                f"{factor:.3g}",
                f"{bound:,}",
            ]
            for b, iterations, speed_up, factor, bound in zip(
                speed.b, speed.iterations, speed.speed_ups, speed.factors, speed.bound
            )
        ]
        header = ["b", "iterations", "speed-up", "b/β_b", "iterations of the bound"]
        what = f"**{speed.task.title}**, λ = {short(speed.task.lam)}, B = {speed.radius:.4g}:"
        lines += [what, "", markdown_table(header, table), ""]
    lines += [stand_in_note([speed.task for speed in found]), ""]
    return "\n".join(lines)


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return verdicts_of(speeds_of(rows))


def verdicts_of(found: Sequence[Speed]) -> list[Verdict]:
    speed_ups = [_speed_up(speed) for speed in found]
    return speed_ups + [
        WITHIN.judge(float(np.max(s.iterations[:, 1] / s.bound)), s.task.title) for s in found
    ]


def _speed_up(speed: Speed) -> Verdict:
    if not np.isfinite(speed.iterations[0, 1]):
        return SPEED_UP.judge(math.nan, speed.task.title, "b = 1 did not get there")
    ratios = speed.speed_ups / speed.factors
    worst = 1 + int(np.argmin(ratios[1:]))
    words = f"{plain(ratios[worst])} at b = {int(speed.b[worst]):,}"
    return SPEED_UP.judge(float(ratios[worst]), speed.task.title, words)
