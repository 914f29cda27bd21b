"""Figure 5 and Table 2: sub-optimality and test error of kernel machines against time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from gapsvm.reproduce.claims import AHEAD, Bar, Claim, Verdict, plain
from gapsvm.reproduce.framework import Bench, Row, Settings, as_numbers
from gapsvm.reproduce.kernel import (
    BY_NAME,
    KernelCell,
    KernelTask,
    about,
    error_on_test,
    optimum_of,
    primal,
    problem_of,
    tasks,
)
from gapsvm.reproduce.pegasos.clock import geometric
from gapsvm.reproduce.pegasos.kernels.clock import (
    DRAW,
    LIBSVM,
    PAPERS,
    TOLERANCES,
    Point,
    methods,
    program,
    timed,
    whole_fit,
)

FIRST, GROWTH = 64, 1.6
"""Row visits before the first look, and the factor from one to the next."""
MOST_VISITS = 400
"""Passes, whatever the budget."""
NEAR = 1e-5
"""Sub-optimality at which a run ends."""
ALLOWED = 1.1
"""The test error that ε guarantees, in units of the optimum's."""
LOW = 0.1
"""A reasonably low objective: this share of the way from P(0) to P* is left."""
FINE = ("usps", "mnist")
COARSE = ("reuters", "adult")
"""The data whose ε is fine, and coarse, in the paper."""

ERROR = Claim(
    "the optimum has the test error that the paper has",
    "distance of the ratio of the two errors from 1",
    Bar(0.1, 0.5),
)
DOMINATES = Claim(
    "LASVM essentially dominates Pegasos and stochastic DCA",
    "time of the faster of the two over LASVM's",
    AHEAD,
)
QUICKLY = Claim(
    "Pegasos achieves a reasonably low objective much faster than SVM-Light, here SMO",
    f"time of SMO over that of Pegasos to P − P* ≤ {LOW:g}·(P(0) − P*)",
    Bar(3.0, 1.0),
)
HARDER = Claim(
    "where ε is fine, that accuracy is much harder to achieve by the stochastic methods",
    "time of Pegasos over that of SMO",
    Bar(5.0, 1.0),
)
COMPETITIVE = Claim(
    "where ε is coarse, Pegasos is competitive",
    "time of Pegasos over that of SMO",
    Bar(5.0, 25.0),
)
COLUMNS = (
    "visits", "seconds", "evaluations", "support", "suboptimality", "test_error", "optimum",
    "optimum_error",
)  # fmt: skip


@dataclass(frozen=True)
class RaceCell(KernelCell):
    """One run, on the clock."""

    method: str
    program: str
    """Package and version, if it is not ours."""
    seed: int
    budget: float
    """Seconds of computing."""
    looks: str


def plan(settings: Settings) -> list[RaceCell]:
    return [
        RaceCell(
            **about(task),
            method=method,
            program=program(method),
            seed=seed,
            budget=task.budget,
            looks=looks,
        )
        for task in tasks(settings)
        for method in methods()
        for seed in range(settings.seeds if method in DRAW else 1)
        for looks in _looks(method)
    ]


def _looks(method: str) -> list[str]:
    """Of whole fits one each, so that a cell does not take long."""
    if method == LIBSVM:
        return [f"tolerance {tol:g}" for tol in TOLERANCES]
    return [f"{GROWTH:g} from {FIRST:g}"]


def measure(cell: RaceCell, bench: Bench) -> list[Row]:
    """The clock is the thread's own; neither loading nor evaluation count."""
    task = BY_NAME[cell.task]
    bias = "free" if cell.method == LIBSVM else "none"
    problem, best = problem_of(task, bench, bias=bias), optimum_of(task, bench, bias=bias)
    points: Iterable[Point]
    if cell.method == LIBSVM:
        points = [whole_fit(problem, task, bench, float(cell.looks.split()[-1]))]
    else:
        at = geometric(FIRST, GROWTH, MOST_VISITS * cell.train)
        points = timed(cell.method, problem, (cell.seed, 5), at, bench)
    rows: list[Row] = []
    for point in points:
        distance = primal(task, bench, point.coef, point.margins, point.bias) - best["value"]
        rows.append(
            {
                "visits": point.visits,
                "seconds": f"{point.seconds:.5f}",
                "evaluations": point.evaluations,
                "support": int(np.count_nonzero(point.coef)),
                "suboptimality": f"{distance:.5g}",
                "test_error": f"{error_on_test(task, bench, point.coef, point.bias):.6f}",
                "optimum": best["value"],
                "optimum_error": best["error"],
            }
        )
        if point.seconds > cell.budget or distance <= NEAR:
            break
    return rows


@dataclass(frozen=True)
class Race:
    """The runs of one task, by method: (seconds, sub-optimality, test error) of each seed."""

    task: KernelTask
    runs: dict[str, list[Any]]
    optimum: float
    error: float
    """The test error of the certified optimum without a bias."""

    @property
    def eps(self) -> float:
        """The least sub-optimality seen with more than the allowed error, by the paper's methods;
        where there is none, the largest one seen."""
        looks = np.concatenate([run for method in PAPERS for run in self.runs[method]])
        worse = looks[looks[:, 2] > ALLOWED * self.error, 1]
        return float(worse.min()) if worse.size else float(looks[:, 1].max())

    def reached(self, method: str, eps: float | None = None) -> tuple[float, float]:
        """Seconds from which on P − P* stays below ε, and the test error then: medians."""
        eps, ends = self.eps if eps is None else eps, []
        for run in self.runs[method]:
            above = np.flatnonzero(run[:, 1] >= eps)
            entry = above[-1] + 1 if above.size else 0
            ends.append(run[entry, [0, 2]] if entry < len(run) else np.array([np.inf, np.nan]))
        if sum(e[0] < np.inf for e in ends) * 2 <= len(ends):
            return math.inf, math.nan
        return float(median(e[0] for e in ends)), float(np.nanmedian([e[1] for e in ends]))

    def curve(self, method: str, column: int) -> tuple[Any, Any]:
        """Seconds and (least, median, most) at each look, over the seeds."""
        looks = min(len(run) for run in self.runs[method])
        runs = np.array([run[:looks] for run in self.runs[method]])
        values = np.sort(runs[:, :, column], axis=0)
        middle = np.median(values, axis=0)
        return np.median(runs[:, :, 0], axis=0), np.array([values[0], middle, values[-1]]).T


def races_of(rows: Sequence[Row]) -> list[Race]:
    grouped: dict[str, dict[str, dict[int, list[list[float]]]]] = {}
    optima: dict[str, tuple[float, float]] = {}
    for row in map(as_numbers, rows):
        runs = grouped.setdefault(row["task"], {}).setdefault(row["method"], {})
        look = [float(row[name]) for name in ("seconds", "suboptimality", "test_error")]
        runs.setdefault(row["seed"], []).append(look)
        if row["method"] != LIBSVM:
            optima[row["task"]] = float(row["optimum"]), float(row["optimum_error"])
    return [
        Race(
            BY_NAME[name],
            {method: [np.array(run) for run in runs.values()] for method, runs in by.items()},
            *optima[name],
        )
        for name, by in grouped.items()
    ]


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    return judged(races_of(rows))


def judged(found: Sequence[Race]) -> list[Verdict]:
    """Claim by claim."""
    by_claim = [
        [_error(race) for race in found if race.task.error],
        [_dominates(race) for race in found],
        [_quickly(race) for race in found],
        [_beside_smo(HARDER, race) for race in found if race.task.name in FINE],
        [_beside_smo(COMPETITIVE, race) for race in found if race.task.name in COARSE],
    ]
    return [verdict for verdicts in by_claim for verdict in verdicts]


def _error(race: Race) -> Verdict:
    ours = 100 * race.error
    words = f"{ours:.3g} % beside {race.task.error:g} %"
    return ERROR.judge(abs(ours / race.task.error - 1.0), race.task.title, words)


def _ratio(slow: float, fast: float) -> float:
    """NaN where neither ended."""
    return math.nan if slow == fast == math.inf else slow / fast


def _dominates(race: Race) -> Verdict:
    two = {method: race.reached(method)[0] for method in ("pegasos", "sdca")}
    lasvm = race.reached("lasvm")[0]
    words = ", ".join(f"{plain(_ratio(t, lasvm))} of {name}" for name, t in two.items())
    return DOMINATES.judge(_ratio(min(two.values()), lasvm), race.task.title, words)


def _quickly(race: Race) -> Verdict:
    target = LOW * (1.0 - race.optimum)
    ratio = _ratio(race.reached("smo", target)[0], race.reached("pegasos", target)[0])
    return QUICKLY.judge(ratio, race.task.title)


def _beside_smo(claim: Claim, race: Race) -> Verdict:
    ratio = _ratio(race.reached("pegasos")[0], race.reached("smo")[0])
    return claim.judge(ratio, race.task.title)
