"""Weak λ to a certified 1e-8, beside LIBLINEAR's 1,000 iterations (which end short of 1e-4).

python benchmarks/weak_lambda.py [--rounds 3]
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[0] = str(Path(__file__).parents[1])

import numpy as np
from liblinear import liblinearutil
from liblinear.liblinear import problem as LiblinearProblem

from benchmarks.common import Case, Timed, hinge_objective, race, versions
from benchmarks.liblinear import liblinear_weights
from gapsvm import LinearSVC

WEAK = (Case("a9a", "max", 1e-7), Case("ijcnn1", "max", 1e-7), Case("w8a", "max", 1e-8))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(versions("gapsvm", "numba", "numpy", "liblinear-official"))
    print("| problem | gapsvm s | its gap | liblinear, 1,000 iterations, s | its P − P* | ratio |")
    print("|---|---|---|---|---|---|")
    for case in WEAK:
        X, y = case.load()
        X64 = X.astype(np.float64)
        optimum, prob = case.optimum(), LiblinearProblem(y, X64)
        option = f"-s 3 -c {1.0 / (case.lam * X.shape[0]):.17g} -e 1e-12 -B -1 -q"
        estimator = LinearSVC(fit_intercept=False, lam=case.lam, tol=1e-8, method="interior")
        estimator.fit(X, y)

        def check(w: np.ndarray) -> float:
            return hinge_objective(X64, y, case.lam, w) - optimum  # noqa: B023

        ours = Timed("gapsvm", lambda: estimator.fit(X, y), lambda m: check(m.coef_[0]))  # noqa: B023
        peer = Timed(
            "liblinear",
            lambda: liblinearutil.train(prob, option),  # noqa: B023
            lambda m: check(liblinear_weights(m, X.shape[1])),  # noqa: B023
        )
        race([ours], 1e-8, args.rounds)
        race([peer], np.inf, args.rounds)
        print(
            f"| {case.title} | {ours.best:.2f} | {estimator.dual_gap_:.1e} | {peer.best:.2f} | "
            f"{peer.reached:.1e} | {ours.best / peer.best:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
