"""What the exact unpenalised intercept costs in passes and time, to a certified gap of 1e-4.

The gap is absolute in both cases: P(0) is smaller with an intercept, so tol is made larger.

    python benchmarks/intercept.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[0] = str(Path(__file__).parents[1])

import numpy as np

from benchmarks.common import CASES, versions
from gapsvm import LinearSVC


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print(versions("gapsvm", "numba", "numpy"))
    print("| problem | passes without | with | ratio | ms without | with | ratio |")
    print("|---|---|---|---|---|---|---|")
    for case in CASES:
        X, y = case.load()
        best = {}
        passes = {}
        for _ in range(args.rounds + 1):  # the first one compiles
            for intercept in (False, True):
                share = 2.0 * min(np.mean(y > 0), np.mean(y < 0)) if intercept else 1.0  # P(0)
                model = LinearSVC(
                    fit_intercept=intercept, lam=case.lam, tol=1e-4 / share, random_state=0
                )
                before = time.perf_counter()
                model.fit(X, y)
                seconds = time.perf_counter() - before
                best[intercept] = min(best.get(intercept, seconds), seconds)
                passes[intercept] = model.history_[-1].passes
        print(
            f"| {case.title} | {passes[False]:.1f} | {passes[True]:.1f} | "
            f"{passes[True] / passes[False]:.2f} | {best[False] * 1e3:.1f} | "
            f"{best[True] * 1e3:.1f} | {best[True] / best[False]:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
