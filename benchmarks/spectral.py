"""σ² to 1 %: how many passes it takes, counted and on the clock.

python benchmarks/spectral.py [--rounds 5] [--sets a9a imdb ...]

A pass is one product of X with a vector (``backend.margins``), the cheapest look at all rows there
is; "time" is the time of σ² over that of a pass.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[0] = str(Path(__file__).parents[1])

import numpy as np

from benchmarks.common import versions
from gapsvm import datasets
from gapsvm.backends import get_backend
from gapsvm.rows.matrix import checked_rows
from gapsvm.rows.spectral import batch_worth_using, sigma2

# a9a, cov1, ... as published; for text that is rows of norm 1.  Sets that differ in labels only
# (mnist8, cov2, ...) are left out.
SETS = (
    *("a9a", "w8a", "ijcnn1", "connect4", "cov1", "mnist8", "ocr-letters", "usps", "letter"),
    *("reuters", "sector", "imdb", "news20", "news20b"),
    *("abalone", "cadata", "cpusmall", "mq2008", "ohsumed"),
)


def least_time(run: Callable[[], Any], rounds: int) -> float:
    best = np.inf
    for _ in range(rounds):
        before = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - before)
    return float(best)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=SETS)
    args = parser.parse_args()
    backend = get_backend()
    print(versions("gapsvm", "numba", "numpy") + "\n")
    print("| set | n | d | σ² | kind | accuracy | passes | ms | time | 1/σ² | batch |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in args.sets:
        rows = checked_rows(datasets.load(name, dtype=np.float32).X, backend)
        n, d = rows.shape
        w, margins = np.ones(d), np.empty(n)
        backend.margins(rows.view, w, margins)
        for normalised in (False, True):

            def run(normalised: bool = normalised) -> Any:
                return sigma2(rows, backend, normalised=normalised)  # noqa: B023

            found = run()
            seconds = least_time(run, args.rounds)
            a_pass = least_time(lambda: backend.margins(rows.view, w, margins), args.rounds)  # noqa: B023
            batch = f"{1 / found.value:.3g} | {batch_worth_using(n, found.value):,}"
            print(
                f"| {name} {'unit' if normalised else 'raw'} | {n:,} | {d:,} | {found.value:.5g} | "
                f"{found.kind} | {found.value / found.lower - 1:.1e} | {found.passes:.1f} | "
                f"{1e3 * seconds:.1f} | {seconds / a_pass:.1f} | "
                f"{batch if normalised else ' | '} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
