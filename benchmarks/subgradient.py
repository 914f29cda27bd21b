"""Pegasos beside scikit-learn's SGDClassifier: a pass, and the time to sub-optimality 1e-3.

One thread, k = 1, no intercept.  A pass: the least of several, in turns, rows drawn as in the paper
and in a new order every pass, which is what SGDClassifier does.  Time to 1e-3: the fewest
passes (from a doubling schedule) after which P − P* ≤ 1e-3, timed in one go, both in a new order
every pass; ours is the better of Pegasos with and without a tail average, theirs the better of
learning_rate="optimal" with and without average.  Also the cost of a sparse step against the number
of features.

    python benchmarks/subgradient.py [rounds] [a9a,imdb]
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path[0] = str(Path(__file__).parents[1])

from benchmarks.common import CASES, hinge_objective, versions
from gapsvm import LinearProblem, Subgradient, get_loss
from gapsvm.backends import get_backend

BACKEND = get_backend()
PASSES = (1, 2, 4, 8, 16, 32, 64, 128)


def ours(problem: LinearProblem, solver: Any, passes: int) -> tuple[float, Any]:
    before = time.perf_counter()
    state = solver.init(problem, BACKEND, np.random.default_rng(0))
    state = solver.advance(problem, state, BACKEND, passes * problem.n_rows)
    w = solver.iterate(problem, state).w
    return time.perf_counter() - before, w


def theirs(X: Any, y: Any, lam: float, passes: int, average: bool) -> tuple[float, Any]:
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(
        alpha=lam, max_iter=passes, tol=None, fit_intercept=False, average=average, random_state=0
    )
    with warnings.catch_warnings(action="ignore"):
        before = time.perf_counter()
        model.fit(X, y)
        return time.perf_counter() - before, model.coef_[0]


def time_to(target: float, run: Any, value: Any) -> float:
    """Seconds of the shortest run that reaches the target, best of three; infinite if none does."""
    for passes in PASSES:
        if value(run(passes)[1]) <= target:
            return min(run(passes)[0] for _ in range(3))
    return np.inf


def peer_row(case: Any, rounds: int) -> None:
    X, y = case.load()
    problem, reach = LinearProblem(X, y, get_loss("hinge"), case.lam), case.optimum() + 1e-3
    wide = problem.n_features >= 1 << 19
    few, many = (2, 6) if problem.rows.n_stored > 3e6 else (4, 24)
    runs = [
        lambda passes: ours(problem, Subgradient(single=wide), passes)[0],
        lambda passes: ours(problem, Subgradient(sampler="streams", single=wide), passes)[0],
        lambda passes: theirs(X, y, case.lam, passes, False)[0],
    ]
    for run in runs:
        run(1)
    least = np.full((3, 2), np.inf)
    for _ in range(rounds):
        for run, best in zip(runs, least):
            best[:] = np.minimum(best, [run(few), run(many)])
    drawn, ordered, yours = (least[:, 1] - least[:, 0]) / (many - few)

    def value(w: Any) -> float:
        return hinge_objective(X, y, case.lam, w)

    def run_ours(average: Any) -> Any:
        solver = Subgradient(average=average, sampler="streams", single=wide)
        return lambda passes: ours(problem, solver, passes)

    def run_theirs(average: bool) -> Any:
        return lambda passes: theirs(X, y, case.lam, passes, average)

    a = min(time_to(reach, run_ours(average), value) for average in (None, "tail"))
    b = min(time_to(reach, run_theirs(average), value) for average in (False, True))
    print(
        f"| {case.title} | {1e3 * drawn:.2f} | {1e3 * ordered:.2f} | {1e3 * yours:.2f} | "
        f"{yours / drawn:.2f} | {yours / ordered:.2f} | "
        f"{a:.3f} | {b:.3f} | {b / a:.2f} |",
        flush=True,
    )


def width_row(d: int) -> None:
    """Rows of 50 values over 10,000 of the d columns."""
    rng = np.random.default_rng(0)
    n, k = 20_000, 50
    columns = np.sort(rng.integers(0, min(d, 10**4), (n, k)), axis=1) * max(1, d // 10**4)
    X = sp.csr_matrix((np.ones(n * k, np.float32), columns.ravel(), np.arange(n + 1) * k), (n, d))
    problem = LinearProblem(X, np.where(rng.random(n) < 0.5, 1.0, -1.0), get_loss("hinge"), 1e-4)
    cells = []
    for solver in (Subgradient(), Subgradient(1, True, "uniform")):
        ours(problem, solver, 1)
        times = [ours(problem, solver, passes)[0] for passes in (44, 4) * 3]
        cells.append((min(times[0::2]) - min(times[1::2])) / (40 * n) * 1e9)
    print(f"| {d:,} | {cells[0]:.0f} | {cells[1]:.0f} |", flush=True)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(versions("gapsvm", "numba", "scikit-learn"))
    print(
        "| problem | pass ms | in order ms | SGDClassifier ms | ratio | in order | to 1e-3 s | "
        "SGDClassifier s | ratio |"
    )
    print("|" + "---|" * 9)
    only = sys.argv[2].split(",") if len(sys.argv) > 2 else [case.name for case in CASES]
    for case in CASES:
        if case.name in only:
            peer_row(case, rounds)
    print("\n| features | step ns | with average and projection ns |\n|---|---|---|")
    for exponent in range(3, 8):
        width_row(10**exponent)


if __name__ == "__main__":
    main()
