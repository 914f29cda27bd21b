"""Time to sub-optimality against LIBLINEAR's own ``train``, one thread, no intercept.

    python benchmarks/liblinear.py [--rounds 5] [--only cov1,imdb] [--loss hinge|squared_hinge]

gapsvm is timed from ``fit()`` to a *certified* gap of the target; LIBLINEAR from ``train()``, its
problem container ready, with the loosest ``-e`` of a sweep that meets the target.  Runs take turns;
the least time of those that met the target counts.  Compilation is outside the clock.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

sys.path[0] = str(Path(__file__).parents[1])  # this file must not pass for the peer's package

import numpy as np
from liblinear import liblinearutil
from liblinear.liblinear import problem as LiblinearProblem

from benchmarks.common import (
    CASES,
    TARGETS,
    Case,
    Timed,
    geometric_mean,
    hinge_objective,
    race,
    versions,
)
from gapsvm import LinearSVC

SWEEP = [10.0 ** (-k / 3) for k in range(22)]


def liblinear_weights(model: object, d: int) -> np.ndarray:
    w = np.ctypeslib.as_array(model.w, shape=(d,)).copy()  # type: ignore[attr-defined]
    return w if model.get_labels()[0] == 1 else -w  # type: ignore[attr-defined]


def loosest_setting(prob: object, C: float, check: object, target: float) -> str | None:
    """The largest -e of the sweep whose run meets the target, three times out of three."""
    for e in SWEEP:
        option = f"-s 3 -c {C:.17g} -e {e:.3g} -B -1 -q"
        if all(check(liblinearutil.train(prob, option)) <= target for _ in range(3)):  # type: ignore[operator]
            return option
    return None


def run_case(case: Case, rounds: int) -> list[tuple[str, float, float, float]]:
    X, y = case.load()
    n, d = X.shape
    optimum = case.optimum()
    X64 = X.astype(np.float64)
    prob = LiblinearProblem(y, X64)

    def ours(tol: float) -> LinearSVC:
        return LinearSVC(fit_intercept=False, lam=case.lam, tol=tol, random_state=0).fit(X, y)

    def check_ours(model: LinearSVC) -> float:
        return hinge_objective(X64, y, case.lam, model.coef_[0]) - optimum

    def check_liblinear(model: object) -> float:
        return hinge_objective(X64, y, case.lam, liblinear_weights(model, d)) - optimum

    ours(1e-3)  # compile
    rows = []
    for target in TARGETS:
        option = loosest_setting(prob, 1.0 / (case.lam * n), check_liblinear, target)
        contenders = [Timed("gapsvm", lambda: ours(target), check_ours)]  # noqa: B023
        if option is not None:
            train = lambda: liblinearutil.train(prob, option)  # noqa: B023, E731
            contenders.append(Timed("liblinear", train, check_liblinear))
        race(contenders, target, rounds)
        mine = contenders[0]
        peer = contenders[1].best if option is not None else float("inf")
        rows.append((case.title, target, mine.best, peer))
        print(
            f"| {case.title:14} | {target:.0e} | {mine.best * 1e3:8.1f} | {peer * 1e3:8.1f} | "
            f"{peer / mine.best:5.2f} | {mine.reached:.1e} |",
            flush=True,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="names of data sets, separated by commas")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    only = set(filter(None, args.only.split(",")))
    print(versions("gapsvm", "numba", "numpy", "liblinear-official"))
    print("| problem | target | gapsvm ms | liblinear ms | ratio | reached |")
    print("|---|---|---|---|---|---|")
    rows = [
        row
        for case in CASES
        if not only or case.name in only
        for row in run_case(case, args.rounds)
    ]
    ratios = [peer / mine for *_, mine, peer in rows if np.isfinite(peer)]
    print(f"geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
