"""§2.4: a step on sparse rows costs O(d), d the nonzeros of a row, whatever the number of features.

The rows are made up: d distinct features, drawn at random from so many, values ±1/√d.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from gapsvm.backends import get_backend
from gapsvm.losses.registry import get_loss
from gapsvm.problems.linear import LinearProblem
from gapsvm.reproduce import style
from gapsvm.reproduce.claims import Bar, Claim, Verdict, plain, sentences
from gapsvm.reproduce.framework import Bench, Row, Settings, markdown_table
from gapsvm.reproduce.linear import curves_of, heading, line, title
from gapsvm.reproduce.pegasos.tasks import PAPER
from gapsvm.rows.matrix import checked_rows
from gapsvm.solvers.subgradient.solver import Pegasos

ROWS = 2_000
NONZEROS = tuple(2**k for k in range(2, 12))
FEATURES = tuple(2**k for k in range(11, 23))
FIXED_FEATURES, FIXED_NONZEROS = 2**16, 64
"""What is held where the other one changes."""
LEAST_SECONDS, QUICK_SECONDS = 0.2, 0.01
"""A measurement takes at least so long."""
REPEATS = 5
LARGE = 128
"""Nonzeros from which on the cost of the nonzeros is the larger part."""

LINEAR = Claim(
    "a step costs O(d), d the nonzeros of a row",
    f"exponent of d in the time of a step, from d = {LARGE} on,",
    Bar(1.1, 1.5),
)
WHATEVER_WIDTH = Claim(
    "whatever the number of features",
    f"time of a step at the most features over that at the fewest, {FEATURES[-1] // FEATURES[0]:,} "
    "times fewer",
    Bar(3.0, (FEATURES[-1] / FEATURES[0]) ** 0.5),
)
"""A cost that grew like the root of the number of features would contradict it."""

COLUMNS = ("nanoseconds",)


@dataclass(frozen=True)
class CostCell:
    """Steps on made-up rows, on the clock."""

    nonzeros: int
    features: int
    n: int
    seed: int
    seconds: float


def plan(settings: Settings) -> list[CostCell]:
    kinds = [(d, FIXED_FEATURES) for d in NONZEROS] + [(FIXED_NONZEROS, n) for n in FEATURES]
    seconds = QUICK_SECONDS if settings.quick else LEAST_SECONDS
    return [
        CostCell(d, n, ROWS, seed, seconds)
        for d, n in dict.fromkeys(kinds)
        for seed in range(settings.seeds)
    ]


def problem_of(cell: CostCell) -> LinearProblem:
    rng = np.random.default_rng([cell.seed, cell.nonzeros, cell.features])
    d, n = cell.nonzeros, cell.n
    stride = cell.features // d  # one feature of each stretch: they are distinct
    columns = np.arange(d) * stride + rng.integers(0, stride, size=(n, d))
    values = rng.choice([-1.0, 1.0], size=(n, d)).astype(np.float32) / np.float32(np.sqrt(d))
    X = csr_matrix(
        (values.ravel(), columns.ravel(), np.arange(0, n * d + 1, d)), shape=(n, cell.features)
    )
    y = rng.choice([-1.0, 1.0], size=n)
    return LinearProblem(checked_rows(X, get_backend()), y, get_loss("hinge"), 1e-4)


def measure(cell: CostCell, bench: Bench) -> list[Row]:
    problem, solver, backend = problem_of(cell), Pegasos(), get_backend()
    best = np.inf
    for _ in range(REPEATS):
        bench.check()
        state = solver.init(problem, backend, np.random.default_rng(cell.seed))
        solver.advance(problem, state, backend, 1000)
        steps, budget, seconds = state.steps, 2000, 0.0
        started = time.thread_time()
        while seconds < cell.seconds:
            solver.advance(problem, state, backend, budget)
            seconds, budget = time.thread_time() - started, 2 * budget
        best = min(best, seconds / (state.steps - steps))
    return [{"nanoseconds": f"{1e9 * best:.2f}"}]


@dataclass(frozen=True)
class Costs:
    """Nanoseconds of a step, (least, median, most), by nonzeros and by features."""

    by_nonzeros: tuple[Any, Any]
    by_features: tuple[Any, Any]

    @property
    def exponent(self) -> float:
        d, bands = self.by_nonzeros
        large = d >= LARGE
        return float(np.polyfit(np.log(d[large]), np.log(bands[large, 1]), 1)[0])

    @property
    def growth(self) -> float:
        middle = self.by_features[1][:, 1]
        return float(middle[-1] / middle[0])


def costs_of(rows: Sequence[Row]) -> Costs:
    ordered = sorted(rows, key=lambda row: (int(row["nonzeros"]), int(row["features"])))
    by_nonzeros = [row for row in ordered if int(row["features"]) == FIXED_FEATURES]
    by_features = [row for row in ordered if int(row["nonzeros"]) == FIXED_NONZEROS]
    (one,) = curves_of(by_nonzeros, ("features",), "nonzeros", "nanoseconds").values()
    (other,) = curves_of(by_features, ("nonzeros",), "features", "nanoseconds").values()
    return Costs(one, other)


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = costs_of(rows)
    draw(folder / "pegasos-cost.png", found, settings)
    (folder / "pegasos-cost.md").write_text(text(found, settings), encoding="utf-8")


def draw(path: Path, found: Costs, settings: Settings) -> None:
    with style.drawing(path, 10.0, 4.4) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        d, bands = found.by_nonzeros
        line(left, d, bands, color=style.BLUE, marker="o", label="measured")
        left.plot(d, bands[-1, 1] * d / d[-1], ":", color=style.GREY, label="∝ d")
        line(right, *found.by_features, color=style.BLUE, marker="o")
        for axes in (left, right):
            axes.set(xscale="log", yscale="log")
            axes.set_xscale("log", base=2)
            axes.spines["right"].set_visible(False)
        left.set(xlabel="nonzeros of a row, d", ylabel="nanoseconds of a step")
        left.set_title(f"{FIXED_FEATURES:,} features", fontsize=10)
        right.set(xlabel="features")
        right.set_title(f"{FIXED_NONZEROS} nonzeros a row", fontsize=10)
        left.legend()
        title(figure, f"{PAPER}, §2.4: what a step on a sparse row costs", settings)


def text(found: Costs, settings: Settings) -> str:
    table = [[f"{int(d)}", f"{ns[1]:.0f}", f"{ns[1] / d:.2f}"] for d, ns in zip(*found.by_nonzeros)]
    widths = [[f"{int(n):,}", f"{ns[1]:.0f}"] for n, ns in zip(*found.by_features)]
    lines = [
        heading(PAPER, "§2.4", "what a step on a sparse row costs", settings),
        "![The cost of a step](pegasos-cost.png)",
        "",
        f"Nanoseconds of a Pegasos step, k = 1, i.i.d., on {ROWS:,} made-up rows of d distinct "
        f"random features; the least of {REPEATS} measurements of at least {LEAST_SECONDS:g} s.",
        "",
        *sentences(judged(found)),
        "",
        "What is left of a dependence on the number of features is memory: w outgrows the caches, "
        "and each feature of a row then waits for a line of its own.",
        "",
        markdown_table([f"d, of {FIXED_FEATURES:,} features", "ns", "ns a nonzero"], table),
        "",
        markdown_table([f"features, d = {FIXED_NONZEROS}", "ns"], widths),
        "",
    ]
    return "\n".join(lines)


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return judged(costs_of(rows))


def judged(found: Costs) -> list[Verdict]:
    return [
        LINEAR.judge(found.exponent, words=f"{found.exponent:.2f}"),
        WHATEVER_WIDTH.judge(found.growth, words=plain(found.growth)),
    ]
