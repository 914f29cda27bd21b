"""Figure 1: iterations to a sub-optimality of 1e-3, against the mini-batch size."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.reproduce.framework import Bench, Row, Settings, as_numbers
from gapsvm.reproduce.linear import TaskCell, about, optimum_of, primal, problem_of, run_to
from gapsvm.reproduce.takac.tasks import (
    BY_NAME,
    METHODS,
    TARGET,
    batch_sizes,
    sigma2_of,
    solver_of,
    tasks,
    weights,
)
from gapsvm.rows.spectral import beta

FIRST_LOOK = 0.25
"""Passes before the first evaluation."""
GROWTH, FAR_GROWTH, FAR = 1.06, 1.12, 10.0
"""Evaluations are 6 % of the iterations apart; 12 % while over ten times the target away."""
LEAST = {
    ("cov1", "safe"): 60_000,
    ("imdb-rcv1", "safe"): 3_000,
    ("imdb-astro", "safe"): 6_500,
    ("imdb-astro", "pegasos"): 1_800,
    ("news20b", "safe"): 800,
    ("news20b", "pegasos"): 2_000,
    ("mnist8", "safe"): 20_000,
    ("mnist8", "aggressive"): 2_000,
}
"""Iterations that the budget allows whatever b, so that it does not end on a plateau."""
STUCK_FROM = 16.0
"""Passes from which on naive SDCA may be called stuck."""
PROTOCOL = f"looks {GROWTH:g}/{FAR_GROWTH:g}/{FAR:g} from {FIRST_LOOK:g}; stuck from {STUCK_FROM:g}"

COLUMNS = (
    "outcome", "iterations", "passes", "suboptimality", "optimum", "sigma2", "beta", "seconds",
)  # fmt: skip


@dataclass(frozen=True)
class CountCell(TaskCell):
    """One run of Figure 1."""

    method: str
    b: int
    seed: int
    target: float
    budget: int
    """Row visits."""
    protocol: str


def plan(settings: Settings) -> list[CountCell]:
    return [
        CountCell(
            **about(task),
            method=method,
            b=b,
            seed=seed,
            target=TARGET,
            budget=max(task.passes * task.train, b * LEAST.get((task.name, method), 0)),
            protocol=PROTOCOL,
        )
        for task in tasks(settings)
        for method in METHODS
        for b in batch_sizes(task, settings)
        for seed in range(settings.seeds)
    ]


def measure(cell: CountCell, bench: Bench) -> list[Row]:
    """Iterations until P(w̄) − P* ≤ target at one of the evaluations."""
    task, backend = BY_NAME[cell.task], get_backend()
    problem = problem_of(task, bench)
    best, found = optimum_of(task, problem, bench), sigma2_of(task, bench)
    solver = solver_of(cell.method, cell.b, found)
    started = time.thread_time()
    state = solver.init(problem, backend, np.random.default_rng([cell.seed, cell.b]))
    trace: list[tuple[int, float]] = []
    last = math.ceil(cell.budget / cell.b)
    look_at = max(1, math.ceil(FIRST_LOOK * cell.train / cell.b))
    outcome = ""
    while not outcome:
        run_to(solver, problem, state, min(look_at, last), bench)
        w = weights(problem, solver.iterate(problem, state), backend)
        distance = primal(problem, w, backend) - best
        trace.append((state.rows_visited, distance))
        growth = GROWTH if distance <= FAR * cell.target else FAR_GROWTH
        look_at = max(look_at + 1, math.ceil(look_at * growth))
        if distance <= cell.target:
            outcome = "reached"
        elif state.steps >= last:
            outcome = "budget"
        elif cell.method == "naive" and stuck(trace, cell):
            outcome = "stuck"
    return [
        {
            "outcome": outcome,
            "iterations": state.steps,
            "passes": round(state.rows_visited / cell.train, 3),
            "suboptimality": f"{trace[-1][1]:.4g}",
            "optimum": best,
            "sigma2": found,
            "beta": beta(cell.b, cell.train, found),
            "seconds": round(time.thread_time() - started, 2),
        }
    ]


def stuck(trace: Sequence[tuple[int, float]], cell: Any) -> bool:
    """Whether naive SDCA has come to rest far from the optimum.

    It is, if its best value in the last three quarters of its row visits is hardly better than in
    the first, and five times the target away.  The other methods are never given up: their
    objective may stay, or even rise, over half a run and then fall within a few passes.
    """
    visited = trace[-1][0]
    if visited < STUCK_FROM * cell.train:
        return False
    early = [distance for at, distance in trace if at <= visited / 4]
    late = min(distance for at, distance in trace if at > visited / 4)
    return bool(early) and late > 5 * cell.target and late > 0.8 * min(early)


@dataclass(frozen=True)
class Counts:
    """Figure 1's numbers of one task."""

    task: Any
    """It has a name and a title, λ, rows and passes."""
    sigma2: float
    runs: dict[tuple[str, int], list[Row]]
    """By method and b, one for each seed."""

    @property
    def sizes(self) -> list[int]:
        return sorted({b for _, b in self.runs})

    @property
    def knee(self) -> int:
        """The largest b of the grid that is at most 1/σ²."""
        return max(b for b in self.sizes if b <= max(1.0, 1 / self.sigma2))

    def iterations(self, method: str, b: int) -> float:
        """The median over seeds; infinite where most of them did not get there."""
        runs = self.runs[method, b]
        return median(
            row["iterations"] if row["outcome"] == "reached" else math.inf for row in runs
        )

    def speed_up(self, method: str, b: int) -> float:
        """T(1)/T(b); 0 where b did not get there."""
        return self.iterations(method, 1) / self.iterations(method, b)

    def gained(self, method: str, b: int, to: int) -> float:
        """How many times fewer iterations it takes with the larger b."""
        return self.iterations(method, b) / self.iterations(method, to)

    def allowed(self, b: int, to: int) -> float:
        """The same of β_b/b, the factor of the bound."""
        n = self.task.train
        return (beta(b, n, self.sigma2) / b) / (beta(to, n, self.sigma2) / to)

    def stuck(self, method: str, b: int) -> bool:
        """Whether it was stopped for coming to rest, not for its budget."""
        outcomes = [row["outcome"] for row in self.runs[method, b]]
        return outcomes.count("stuck") > len(outcomes) / 2

    def reached(self, method: str) -> list[int]:
        return [b for b in self.sizes if self.iterations(method, b) < math.inf]

    def failure(self) -> int | None:
        """The smallest b at which naive SDCA fails or takes 1.25 times what a smaller b took."""
        best = math.inf
        for b in self.sizes:
            count = self.iterations("naive", b)
            if count > 1.25 * best or count == math.inf:
                return b
            best = min(best, count)
        return None


def counts_of(rows: Sequence[Row], tasks: Mapping[str, Any] = BY_NAME) -> list[Counts]:
    """The numbers of each task, which ``tasks`` has by name."""
    by_task: dict[str, Counts] = {}
    for row in map(as_numbers, rows):
        counts = by_task.setdefault(
            row["task"], Counts(tasks[row["task"]], float(row["sigma2"]), {})
        )
        counts.runs.setdefault((row["method"], row["b"]), []).append(row)
    return list(by_task.values())
