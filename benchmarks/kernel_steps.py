"""A step of kernelised Pegasos and of kernel SDCA, no values kept, beside one row's products.

    GAPSVM_DATA=… python benchmarks/kernel_steps.py

The floor is one product of the rows with a row, by NumPy or SciPy, without the exponential of the
kernel; the step has it.  Least of several, in microseconds, on one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gapsvm import KernelSDCA, Subgradient, datasets, get_loss
from gapsvm.backends import get_backend
from gapsvm.kernels.rows import FeatureRows
from gapsvm.problems.kernel import KernelProblem
from gapsvm.types.mercer import Gaussian

CASES = (
    ("reuters", "raw", 1.0, 1.29e-4, 7_770, 1),
    ("a9a", "raw", 0.05, 3.07e-5, 20_000, 1),
    ("usps", "unit", 2.0, 1.36e-4, 7_291, 0),
)
GROUPS = 8


def least(run: Callable[[], Any], times: int) -> float:
    """Seconds of the fastest of so many runs."""
    found = []
    for _ in range(times):
        started = time.perf_counter()
        run()
        found.append(time.perf_counter() - started)
    return min(found)


def product(S: Any, rows: Any) -> float:
    """Seconds of the products of some rows with a row."""
    some, one = S[rows], S[0]
    one = np.asarray(one.todense()).ravel() if hasattr(one, "todense") else one
    return least(lambda: some @ one, 20)


def pegasos(problem: KernelProblem, S: Any) -> str:
    """After a pass, when S hardly grows any more."""
    solver, backend = Subgradient(), get_backend()
    state = solver.init(problem, backend, np.random.default_rng(0))
    while state.rows_visited < problem.n_rows:
        state = solver.advance(problem, state, backend, 64)

    def groups() -> None:
        for _ in range(GROUPS):
            solver.advance(problem, state, backend, 64)

    seconds = least(groups, 3) / (64 * GROUPS)
    used = np.flatnonzero(state.weights.v)
    floor = product(S, used)
    return f"Pegasos, |S| = {used.size:,}: {1e6 * seconds:.0f} beside {1e6 * floor:.0f}"


def sdca(problem: KernelProblem, S: Any) -> str:
    """The first groups, nearly all of whose rows move; seconds for each of those."""
    solver, backend = KernelSDCA(sampler="uniform", cache_rows=False), get_backend()
    state, found = solver.init(problem, backend, np.random.default_rng(0)), []
    for _ in range(10):
        before, started = state.table[:, 0].copy(), time.perf_counter()
        state = solver.advance(problem, state, backend, 64)
        seconds = time.perf_counter() - started
        found.append(seconds / max(1, np.count_nonzero(state.table[:, 0] != before)))
    floor = product(S, slice(None))
    size = f"n = {problem.n_rows:,}"
    return f"SDCA, {size}, a row that moves: {1e6 * min(found):.0f} beside {1e6 * floor:.0f}"


def main() -> None:
    for name, scale, gamma, lam, n, positive in CASES:
        X, y = datasets.load(name, scale=scale)  # type: ignore[arg-type]
        rows = FeatureRows(X[:n], Gaussian(gamma), cache_size=0.0)
        labels = np.where(y[:n] == positive, 1.0, -1.0)
        problem = KernelProblem(rows, labels, get_loss("hinge"), lam)
        S = rows.rows.to_scipy()
        print(f"{name}: {pegasos(problem, S)}; {sdca(problem, S)}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
