"""Every certified optimum of the data folder, reached again: float32 and float64, gap ≤ 1e-6.

    python benchmarks/certified.py [--gap 1e-6] [--only a9a,cov1]

Prints, per problem and dtype, the certified gap, P − P* (which must not exceed it) and the time.
Exits 1 if any certificate is wrong or missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from gapsvm import LinearSVC, datasets


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gap", type=float, default=1e-6)
    parser.add_argument("--only", default="", help="names of problems, separated by commas")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    optima = json.loads((Path(os.environ["GAPSVM_DATA"]) / "optima.json").read_text())
    only = set(filter(None, args.only.split(",")))
    failures = 0
    print("| problem | dtype | gap | P − P* | method | passes | seconds |")
    print("|---|---|---|---|---|---|---|")
    for key, known in optima.items():
        name, scale, lam = key.split(":")
        if only and name not in only:
            continue
        for dtype in (np.float64, np.float32):
            X, y = datasets.load(name, scale=scale, dtype=dtype)
            before = time.perf_counter()
            model = LinearSVC(fit_intercept=False, lam=float(lam), tol=args.gap, max_iter=100_000)
            model.fit(X, y)
            seconds = time.perf_counter() - before
            above = model.primal_objective_ - known["primal"]
            # the optimum itself is known to its own gap; float32 rounds the data
            slack = known["gap"] + (1e-7 if dtype == np.float32 else 1e-12)
            right = model.dual_gap_ <= args.gap and -slack <= above <= model.dual_gap_ + slack
            failures += not right
            print(
                f"| {key} | {np.dtype(dtype).name} | {model.dual_gap_:.1e} | {above:.1e} | "
                f"{model.method_} | {model.n_iter_} | {seconds:.2f} |{'' if right else ' WRONG'}",
                flush=True,
            )
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
