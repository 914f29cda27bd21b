"""§4.2 and §6: what β safe SDCA bears, and what a wrong σ² does to safe and aggressive SDCA.

σ² is handed to the solver multiplied by a factor.  β = β_b of that, so that the sweep is one over β
for safe SDCA, and over the range [1, β_b] and the beginning of β for the aggressive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.reproduce import style
from gapsvm.reproduce.claims import NOISE, Bar, Claim, Verdict, plain, sentences
from gapsvm.reproduce.framework import Bench, Row, Settings, as_numbers, markdown_table
from gapsvm.reproduce.linear import (
    TaskCell,
    about,
    heading,
    optimum_of,
    primal,
    problem_of,
    run_to,
    seeds_text,
    short,
    stand_in_note,
    title,
)
from gapsvm.reproduce.takac.figure1 import FAR, FAR_GROWTH, FIRST_LOOK, GROWTH
from gapsvm.reproduce.takac.tasks import (
    BY_NAME,
    LABELS,
    LOOKS,
    PAPER,
    TARGET,
    Task,
    sigma2_of,
    tasks,
    weights,
)
from gapsvm.rows.spectral import beta
from gapsvm.solvers.minibatch.solver import MiniBatchSDCA

FACTORS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 10.0)
QUICK_FACTORS = (0.01, 0.1, 1.0, 10.0)
BATCH = {
    "cov1": 256,
    "imdb-astro": 512,
    "astro-ph": 512,
    "news20b": 1024,
    "news20.binary": 1024,
    "mnist8": 256,
    "a9a-quick": 256,
}
"""b, several times 1/σ²."""
BETA_RULES = ("safe", "aggressive")
PASSES, QUICK_PASSES = 3000, 60
"""Budget of a run."""
TRACED = ("cov1", "a9a-quick")
TRACED_SIZES = (32, 64, 128, 256, 512, 1024, 4096)
"""b at which β of Algorithm 2 is followed: where Figure 1 has its bump."""
TRACE_STEPS, QUICK_TRACE_STEPS = 16_000, 60

CONVERGES = Claim(
    "safe SDCA converges with β = β_b",
    "P − P* at the end over the target",
    Bar(1.0, 10.0),
)
TOO_SMALL = Claim(
    "with too small a β safe SDCA may not converge",
    f"its iterations at σ² × {FACTORS[0]:g} over those at σ²",
    Bar(NOISE, 1.0),
)
TOO_LARGE = Claim(
    "with too large a β the speed-up is reduced",
    "its iterations at 2σ² over those at σ²",
    Bar(NOISE, 1.0),
)
CONSERVATIVE = Claim(
    "β_b is safe, and may be much more than is needed",
    "its iterations at β_b over the fewest at any smaller β",
    Bar(2.0, 1.0),
)
CRUDE = Claim(
    "aggressive SDCA can do with a very crude upper bound on σ²",
    "its iterations at 10σ² over those at σ²",
    Bar(NOISE, 3.0),
)

COLUMNS = ("outcome", "iterations", "suboptimality", "beta", "sigma2", "optimum")


@dataclass(frozen=True)
class SweepCell(TaskCell):
    """One run with σ² times a factor; or, for ``trace`` steps, β on its way."""

    rule: str
    b: int
    factor: float
    seed: int
    target: float
    budget: int
    """Row visits."""
    trace: int


def tasks_of(settings: Settings) -> list[Task]:
    return [task for task in tasks(settings) if task.name in BATCH]


def plan(settings: Settings) -> list[SweepCell]:
    factors = QUICK_FACTORS if settings.quick else FACTORS
    passes = QUICK_PASSES if settings.quick else PASSES
    steps = QUICK_TRACE_STEPS if settings.quick else TRACE_STEPS
    sweeps = [
        SweepCell(
            **about(task), rule=rule, b=BATCH[task.name], factor=factor, seed=seed,
            target=TARGET, budget=passes * task.train, trace=0,
        )
        for task in tasks_of(settings)
        for rule in BETA_RULES
        for factor in factors
        for seed in range(settings.seeds)
    ]  # fmt: skip
    traces = [
        SweepCell(
            **about(task), rule="aggressive", b=b, factor=1.0, seed=0,
            target=TARGET, budget=steps * b, trace=steps,
        )
        for task in tasks_of(settings)
        if task.name in TRACED
        for b in TRACED_SIZES
        if b <= task.train
    ]  # fmt: skip
    return sweeps + traces


def solver_of(cell: SweepCell, sigma2: float) -> MiniBatchSDCA:
    rule: Any = cell.rule
    found = min(1.0, cell.factor * sigma2)
    return MiniBatchSDCA(rule, cell.b, sigma2=found, form="unit", average="decaying")


def measure(cell: SweepCell, bench: Bench) -> list[Row]:
    """Iterations until P(w̄) − P* ≤ target; a trace goes on to its last step."""
    task, backend = BY_NAME[cell.task], get_backend()
    problem = problem_of(task, bench)
    best, sigma2 = optimum_of(task, problem, bench), sigma2_of(task, bench)
    solver = solver_of(cell, sigma2)
    state = solver.init(problem, backend, np.random.default_rng([cell.seed, cell.b]))
    last = math.ceil(cell.budget / cell.b)
    at = 1 if cell.trace else max(1, math.ceil(FIRST_LOOK * cell.train / cell.b))
    rows: list[Row] = []
    seen: list[float] = []
    outcome = ""
    while not outcome:
        run_to(solver, problem, state, min(at, last), bench)
        w = weights(problem, solver.iterate(problem, state), backend)
        distance = primal(problem, w, backend) - best
        seen.append(distance)
        at = max(at + 1, math.ceil(at * (GROWTH if distance <= FAR * cell.target else FAR_GROWTH)))
        if distance <= cell.target and not cell.trace:
            outcome = "reached"
        elif state.steps >= last:
            outcome = "budget"
        elif not cell.trace and stuck(seen, cell, state.rows_visited):
            outcome = "stuck"
        row = {
            "outcome": outcome,
            "iterations": state.steps,
            "suboptimality": f"{distance:.4g}",
            "beta": f"{state.beta:.6g}",
            "sigma2": sigma2,
            "optimum": best,
        }
        rows = [*rows, row] if cell.trace else [row]
    return rows


def stuck(seen: Sequence[float], cell: SweepCell, visited: int) -> bool:
    """Whether too small a σ² has left the run at rest: nothing gained over three quarters of it.

    Evaluations are equally far apart in logarithms: the last twelve are three quarters of a run or
    more.  At β_b and above Theorem 2 forbids it, and the run has its budget.
    """
    if cell.factor >= 1 or visited < 40 * cell.train:
        return False
    quarter = math.ceil(math.log(4) / math.log(FAR_GROWTH))
    late, early = min(seen[-quarter:]), min(seen[:-quarter], default=math.inf)
    return late > 5 * cell.target and late > 0.8 * early


@dataclass(frozen=True)
class Sweep:
    """One task: runs by rule and factor, and traces of β by b."""

    task: Task
    sigma2: float
    runs: dict[tuple[str, float], list[Row]]
    traces: dict[int, list[Row]]

    @property
    def b(self) -> int:
        return BATCH[self.task.name]

    @property
    def factors(self) -> list[float]:
        return sorted({factor for _, factor in self.runs})

    def beta(self, factor: float) -> float:
        return beta(self.b, self.task.train, min(1.0, factor * self.sigma2))

    def iterations(self, rule: str, factor: float) -> float:
        """The median over seeds; infinite where most did not get there."""
        return median(
            row["iterations"] if row["outcome"] == "reached" else math.inf
            for row in self.runs[rule, factor]
        )

    def over(self, rule: str, factor: float, other: float) -> float:
        own, others = self.iterations(rule, factor), self.iterations(rule, other)
        return own / others if others < math.inf else math.nan


def sweeps_of(rows: Sequence[Row]) -> list[Sweep]:
    found: dict[str, Sweep] = {}
    for row in map(as_numbers, rows):
        name = row["task"]
        sweep = found.setdefault(name, Sweep(BY_NAME[name], float(row["sigma2"]), {}, {}))
        if row["trace"]:
            sweep.traces.setdefault(row["b"], []).append(row)
        else:
            sweep.runs.setdefault((row["rule"], float(row["factor"])), []).append(row)
    return list(found.values())


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = sweeps_of(rows)
    draw(folder / "takac-beta.png", found, settings)
    (folder / "takac-beta.md").write_text(text(found, settings), encoding="utf-8")


def draw(path: Path, found: Sequence[Sweep], settings: Settings) -> None:
    traced = [sweep for sweep in found if sweep.traces]
    panels = len(found) + len(traced)
    columns = min(3, panels)
    lines = math.ceil(panels / columns)
    with style.drawing(path, max(7.0, 4.6 * columns), 3.9 * lines + 0.6) as figure:
        grid = figure.subplots(lines, columns, squeeze=False).ravel()
        for axes, sweep in zip(grid, found):
            _sweep_panel(axes, sweep)
        for axes, sweep in zip(grid[len(found) :], traced):
            _trace_panel(axes, sweep)
        for axes in grid[panels:]:
            axes.axis("off")
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        title(figure, f"{PAPER}, §4: β and a wrong σ²", settings)


def _sweep_panel(axes: Any, sweep: Sweep) -> None:
    factors = sweep.factors
    for rule in BETA_RULES:
        colour, marker = LOOKS[rule]
        counts = [sweep.iterations(rule, factor) for factor in factors]
        reached = [(f, c) for f, c in zip(factors, counts) if c < math.inf]
        places = [f for f, _ in reached]
        axes.plot(places, [c for _, c in reached], color=colour, marker=marker, label=LABELS[rule])
        lost = [f for f, c in zip(factors, counts) if c == math.inf]
        look: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "ls": "", "ms": 6}
        height = 0.95 if rule == "safe" else 0.89
        axes.plot(lost, [height] * len(lost), "x", color=colour, **look)
    axes.axvline(1.0, color=style.BLACK, lw=0.7)
    axes.plot([], [], "x", color=style.GREY, label="does not get there")
    if not any(sweep.iterations(*key) < math.inf for key in sweep.runs):
        axes.set_ylim(1, 10)
    axes.set(xscale="log", yscale="log", xlabel="σ² taken, over σ²")
    axes.set_ylabel(f"iterations to {short(TARGET)}")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    name = f"{sweep.task.title}\nλ = {short(sweep.task.lam)}, b = {sweep.b:,}, "
    axes.set_title(f"{name}β_b = {plain(sweep.beta(1.0))}", fontsize=10)
    axes.spines["right"].set_visible(False)


def _trace_panel(axes: Any, sweep: Sweep) -> None:
    shades = np.linspace(0.25, 1.0, len(sweep.traces))
    for (b, rows), shade in zip(sorted(sweep.traces.items()), shades):
        at_b = beta(b, sweep.task.train, sweep.sigma2)
        steps = [row["iterations"] for row in rows]
        colour = LOOKS["aggressive"][0]
        share = [row["beta"] / at_b for row in rows]
        axes.plot(steps, share, color=colour, alpha=shade, lw=1.2)
        axes.annotate(f"{b:,}", (steps[-1], share[-1]), xytext=(3, 0), textcoords="offset points",
                      fontsize=8, va="center", annotation_clip=False)  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="iterations", ylabel="β over β_b, by b")
    axes.set_title(f"{sweep.task.title}: β of aggressive SDCA", fontsize=10)
    axes.spines["right"].set_visible(False)


def text(found: Sequence[Sweep], settings: Settings) -> str:
    lines = [
        heading(PAPER, "§4.2, §4.3, §6", "β, and a σ² that is wrong", settings),
        "![β and a wrong σ²](takac-beta.png)",
        "",
        f"Iterations until P(w̄) − P* ≤ {short(TARGET)} when the solver is given σ² times a factor "
        "(1 at most, which is always right): safe SDCA then takes β = β_b of that, aggressive SDCA "
        f"begins there and stays below. Medians over {seeds_text(settings)}. The paper states "
        "these things without a figure.",
        "",
        *sentences(verdicts_of(found)),
        "",
        "Of a σ² that is too small the paper does not speak. Aggressive SDCA may then not take β "
        "as large as it must: "
        + ", ".join(f"on {sweep.task.name} {_lost(sweep)}" for sweep in found)
        + ".",
        "",
    ]
    for sweep in found:
        table = [
            [
                f"{factor:g}",
                f"{sweep.beta(factor):.3g}",
                *(_count(sweep, rule, factor) for rule in BETA_RULES),
            ]
            for factor in sweep.factors
        ]
        header = ["factor", "β_b of it", *(LABELS[rule] for rule in BETA_RULES)]
        what = f"**{sweep.task.title}**, λ = {short(sweep.task.lam)}, b = {sweep.b:,}:"
        lines += [what, "", markdown_table(header, table), ""]
        if sweep.traces:
            lines += [*_traces(sweep), ""]
    lines += [stand_in_note([sweep.task for sweep in found]), ""]
    return "\n".join(lines)


def _lost(sweep: Sweep) -> str:
    """Up to which share of σ² aggressive SDCA gets nowhere."""
    lost = [f for f in sweep.factors if math.isinf(sweep.iterations("aggressive", f))]
    return (
        f"it does not get there up to σ² × {max(lost):g}" if lost else "it gets there all the same"
    )


def _count(sweep: Sweep, rule: str, factor: float) -> str:
    count = sweep.iterations(rule, factor)
    if count < math.inf:
        return f"{count:,.0f}"
    middle = median(float(row["suboptimality"]) for row in sweep.runs[rule, factor])
    return f"ends at {middle:.2g}"


def _traces(sweep: Sweep) -> list[str]:
    """β of Algorithm 2 on its way, where Figure 1 has a bump."""
    places = (100, 1_000, 5_000, 15_000)
    table = []
    for b, rows in sorted(sweep.traces.items()):
        at_b = beta(b, sweep.task.train, sweep.sigma2)
        cells = []
        for place in places:
            before = [row for row in rows if row["iterations"] <= place]
            row = before[-1] if before else rows[0]
            cells.append(f"{row['beta']:.3g} ({float(row['suboptimality']):.2g})")
        table.append([f"{b:,}", f"{at_b:.3g}", *cells])
    header = ["b", "β_b", *(f"after {place:,}" for place in places)]
    words = "β of aggressive SDCA, and P(w̄) − P* in brackets, after so many iterations:"
    return [words, "", markdown_table(header, table)]


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return verdicts_of(sweeps_of(rows))


def verdicts_of(found: Sequence[Sweep]) -> list[Verdict]:
    each = [judged(sweep) for sweep in found]
    return [verdict for line in zip(*each) for verdict in line]


def judged(sweep: Sweep) -> list[Verdict]:
    on = f"{sweep.task.title}, b = {sweep.b:,}"
    least = sweep.factors[0]
    end = median(float(row["suboptimality"]) for row in sweep.runs["safe", 1.0])
    own = sweep.iterations("safe", 1.0)
    smaller = [f for f in sweep.factors if f < 1]
    best = min(smaller, key=lambda f: sweep.iterations("safe", f))
    gain = sweep.over("safe", 1.0, best)
    small = sweep.over("safe", least, 1.0)
    lost = [f for f in smaller if sweep.iterations("safe", f) == math.inf]
    words = f"does not get there up to σ² × {max(lost):g}" if math.isinf(small) else ""
    large = sweep.over("safe", 2.0, 1.0) if ("safe", 2.0) in sweep.runs else math.nan
    crude = sweep.over("aggressive", 10.0, 1.0)
    return [
        CONVERGES.judge(end / TARGET, on, f"{plain(own)} iterations, ends at {end:.2g}"),
        TOO_SMALL.judge(small, on, words),
        TOO_LARGE.judge(large, on),
        CONSERVATIVE.judge(gain, on, f"{plain(gain)}, at σ² × {best:g}"),
        CRUDE.judge(crude, on),
    ]
