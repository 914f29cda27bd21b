"""What a pass of mini-batch SDCA costs, beside a pass of serial SDCA.

The first pass from α = 0, in which nearly every row moves, the least of several; the contenders
take turns.  Usage: python benchmarks/minibatch.py [rounds [sampler]]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path[0] = str(Path(__file__).parents[1])

from benchmarks.common import CASES, versions
from gapsvm import SDCA, LinearProblem, MiniBatchSDCA, get_loss
from gapsvm.backends import get_backend
from gapsvm.rows.spectral import sigma2

SIZES = (64, 256, 1024)
RULES = ("naive", "safe", "aggressive", "exact")


def dense(n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1).max()
    return X, np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def first_pass(problem: LinearProblem, solver: Any) -> float:
    backend = get_backend()
    state = solver.init(problem, backend, np.random.default_rng(0))
    before = time.perf_counter()
    while state.rows_visited < problem.n_rows:
        state = solver.advance(problem, state, backend, problem.n_rows - state.rows_visited)
    return (time.perf_counter() - before) * problem.n_rows / float(state.rows_visited)


def row(title: str, X: Any, y: Any, lam: float, rounds: int, sampler: Any) -> None:
    problem = LinearProblem(X, y, get_loss("hinge"), lam)
    raw = sigma2(problem.rows, get_backend()).value
    solvers: dict[str, Any] = {"serial": SDCA(shrinking=False)}
    for size in SIZES:
        for rule in RULES:
            if rule != "exact" or size == SIZES[0]:
                known = raw if rule == "safe" else None
                solvers[f"{rule} {size}"] = MiniBatchSDCA(rule, size, sigma2=known, sampler=sampler)
    best = dict.fromkeys(solvers, np.inf)
    for _ in range(rounds + 1):  # the first round compiles
        for name, solver in solvers.items():
            best[name] = min(best[name], first_pass(problem, solver))
    serial = best.pop("serial")
    ratios = " | ".join(f"{seconds / serial:.2f}" for seconds in best.values())
    print(f"| {title} | {serial * 1e3:.1f} | {ratios} |", flush=True)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    sampler = sys.argv[2] if len(sys.argv) > 2 else "subsets"
    print(f"{versions('gapsvm', 'numba', 'numpy')}; batches by {sampler}")
    names = [f"{r} {b}" for b in SIZES for r in RULES if r != "exact" or b == SIZES[0]]
    print(f"| problem | serial ms | {' | '.join(names)} |\n|{'---|' * (len(names) + 2)}")
    for case in CASES:
        if (case.name, case.lam) != ("cov1", 1e-6):
            row(case.title, *case.load(), case.lam, rounds, sampler)
    row("dense 40,000 × 300", *dense(40_000, 300), 1e-4, rounds, sampler)
    row("dense 20,000 × 2,000", *dense(20_000, 2_000), 1e-4, rounds, sampler)


if __name__ == "__main__":
    main()
