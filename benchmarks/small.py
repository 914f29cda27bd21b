"""Small data, warm: beside scikit-learn, auto beside every method, grid searches, short texts.

    python benchmarks/small.py peers            fits beside scikit-learn's of the same loss
    python benchmarks/small.py methods          auto beside the best method, sixty problems
    python benchmarks/small.py grid             GridSearchCV over ten C, n_jobs 1 and 2
    python benchmarks/small.py text             parts of texts to 1e-3, beside LIBLINEAR's train

Fits with default tolerances, of dense float64 rows; contenders take turns, and the least time of
each counts.  ``--rounds N`` turns, ``--only WORD`` the problems whose names have it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

sys.path[0] = str(Path(__file__).parents[1])  # this file must not pass for a peer's package

import numpy as np
from sklearn import datasets as toy
from sklearn import svm
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from benchmarks.common import geometric_mean, versions
from gapsvm import LinearSVC, LinearSVR, datasets
from gapsvm.backends.renting import settle


def scaled(X: Any) -> Any:
    return StandardScaler().fit_transform(X)


def made(n: int, d: int) -> tuple[Any, Any]:
    useful = max(2, d - d // 4)
    return toy.make_classification(
        n, d, n_informative=useful, n_redundant=0, flip_y=0.1, random_state=0
    )


def small_sets() -> dict[str, tuple[Any, Any]]:
    """The sets of the tables: scikit-learn's, raw and scaled, and made ones."""
    found = {}
    for name in ("iris", "wine", "breast_cancer", "digits"):
        X, y = getattr(toy, f"load_{name}")(return_X_y=True)
        found[f"{name} raw"], found[f"{name} scaled"] = (X, y), (scaled(X), y)
    for n, d in ((100, 5), (1000, 20), (3000, 50), (10_000, 20)):
        found[f"{n} × {d}"] = made(n, d)
    return found


def in_turns(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least time of each, in milliseconds; a first turn is not counted.

    Within a turn short ones repeat until a few milliseconds are over.
    """
    best = dict.fromkeys(contenders, np.inf)
    for run in contenders.values():
        run()
    for _ in range(rounds):
        for name, run in contenders.items():
            until = time.perf_counter() + 0.01
            while True:
                before = time.perf_counter()
                run()
                after = time.perf_counter()
                best[name] = min(best[name], 1e3 * (after - before))
                if after > until:
                    break
    return best


def peers(rounds: int, only: str) -> None:
    print("| problem | gapsvm ms | scikit-learn ms | ratio | method |\n|---|---|---|---|---|")
    ratios = []
    cases: list[tuple[str, Any, Any, Any, Any]] = []
    for name, (X, y) in small_sets().items():
        for loss in ("hinge", "squared_hinge"):
            dual = loss == "hinge" or "auto"
            theirs = svm.LinearSVC(loss=loss, dual=dual)
            cases.append((f"{name}, {loss}", X, y, LinearSVC(loss=loss), theirs))
    X, y = toy.load_diabetes(return_X_y=True)
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        theirs = svm.LinearSVR(loss=loss, dual="auto" if loss[0] == "s" else True)
        cases.append((f"diabetes, {loss}", X, y, LinearSVR(loss=loss), theirs))
    for name, X, y, ours, theirs in cases:
        if only in name:
            found = in_turns(
                {"ours": lambda: ours.fit(X, y), "theirs": lambda: theirs.fit(X, y)},  # noqa: B023
                rounds,
            )
            ratios.append(found["theirs"] / found["ours"])
            print(
                f"| {name} | {found['ours']:.2f} | {found['theirs']:.2f} | {ratios[-1]:.2f} | "
                f"{np.ravel(ours.method_)[0]} |",
                flush=True,
            )
    print(f"\ngeometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}")


def sixty() -> Iterator[tuple[str, Any, Any, Any]]:
    """Name, X, y and estimator of sixty problems: sets, C and losses pairwise."""
    losses = ("hinge", "squared_hinge", "logistic", "smoothed_hinge")
    strengths = (1e-3, 1e-1, 1.0, 1e1, 1e3)
    sets = list(small_sets().items())
    sets += [(f"{n} × {d}", made(n, d)) for n, d in ((50, 2), (300, 300), (2000, 5), (5000, 100))]
    for k in range(48):
        name, (X, y) = sets[k % len(sets)]
        C, loss = strengths[(k + k // 5) % 5], losses[(k + k // 16) % 4]
        yield f"{name}, {loss}, C = {C:g}", X, y, LinearSVC(loss=loss, C=C)
    responses = ("epsilon_insensitive", "squared_epsilon_insensitive", "huber", "absolute")
    X, y = toy.load_diabetes(return_X_y=True)
    tables = [("diabetes", X, y)]
    for n, d in ((200, 10), (5000, 30)):
        tables.append(
            (f"regression {n} × {d}", *toy.make_regression(n, d, noise=5, random_state=0))
        )
    for k in range(12):
        name, X, y = tables[k % 3]
        C, loss = strengths[(2 * k + 1) % 5], responses[k % 4]
        yield f"{name}, {loss}, C = {C:g}", X, y, LinearSVR(loss=loss, C=C)


METHODS = ("auto", "exact", "sdca", "accelerated", "interior")


def methods(rounds: int, only: str) -> None:
    print(f"| problem | {' | '.join(METHODS)} | auto took | auto / best |")
    print("|---" * (len(METHODS) + 3) + "|")
    ratios = []
    for name, X, y, model in sixty():
        if only not in name:
            continue
        runs: dict[str, Callable[[], Any]] = {}
        for method in METHODS:
            one = type(model)(**{**model.get_params(), "method": method, "time_limit": 1.0})
            one.fit(X, y)
            if one.converged_:
                runs[method] = lambda one=one: one.fit(X, y)  # type: ignore[misc] # noqa: B023
            if method == "auto":
                took = np.ravel(one.method_)[0]
        found = in_turns(runs, rounds)
        best = min(value for method, value in found.items() if method != "auto")
        ratios.append(found["auto"] / best)
        cells = [f"{found[m]:.2f}" if m in found else "—" for m in METHODS]
        print(f"| {name} | {' | '.join(cells)} | {took} | {ratios[-1]:.2f} |", flush=True)
    print(f"\n{len(ratios)} problems: geometric mean {geometric_mean(ratios):.2f}, ", end="")
    print(f"most {max(ratios):.2f}")


def grid(rounds: int, only: str) -> None:
    print("| set | n_jobs | gapsvm s | scikit-learn s | theirs / ours |\n|---|---|---|---|---|")
    C = {"C": list(10.0 ** np.linspace(-2, 2.5, 10))}
    for name in ("breast_cancer", "digits"):
        if only not in name:
            continue
        X, y = getattr(toy, f"load_{name}")(return_X_y=True)
        X = scaled(X)
        for jobs in (1, 2):
            seconds = {}
            for who, model in (("ours", LinearSVC()), ("theirs", svm.LinearSVC(loss="hinge"))):
                best = np.inf
                model.fit(X, y)
                for _ in range(rounds):
                    if jobs > 1:
                        from joblib.externals.loky import get_reusable_executor

                        get_reusable_executor().shutdown(wait=True)  # new workers every time
                    before = time.perf_counter()
                    GridSearchCV(model, C, n_jobs=jobs).fit(X, y)
                    best = min(best, time.perf_counter() - before)
                seconds[who] = best
            ratio = seconds["theirs"] / seconds["ours"]
            cells = f"{seconds['ours']:.2f} | {seconds['theirs']:.2f} | {ratio:.2f}"
            print(f"| {name} | {jobs} | {cells} |", flush=True)


def text(rounds: int, only: str) -> None:
    from liblinear import liblinearutil
    from liblinear.liblinear import problem as LiblinearProblem

    from benchmarks.common import hinge_objective
    from benchmarks.liblinear import liblinear_weights, loosest_setting

    print("| part | λ | gapsvm ms | liblinear ms | ratio |\n|---|---|---|---|---|")
    ratios = []
    for name in ("news20", "imdb", "reuters"):
        if name not in datasets.names() or only not in name:
            continue
        X_all, y_all = datasets.load(name, scale="unit", dtype=np.float32)
        order = np.random.default_rng(0).permutation(X_all.shape[0])
        for n in (1000, 3000, 10_000):
            X, y = X_all[order[:n]], np.ascontiguousarray(y_all[order[:n]])
            X64 = X.astype(np.float64)
            container = LiblinearProblem(y, X64)
            for lam in (1e-3, 1e-4):
                exact = LinearSVC(fit_intercept=False, lam=lam, tol=1e-6).fit(X, y)
                optimum = exact.dual_objective_

                def check(model: Any, X: Any = X64, y: Any = y, lam: float = lam) -> float:
                    w = liblinear_weights(model, X.shape[1])
                    return hinge_objective(X, y, lam, w) - optimum  # noqa: B023

                option = loosest_setting(container, 1.0 / (lam * len(y)), check, 1e-3)
                ours = LinearSVC(fit_intercept=False, lam=lam, tol=1e-3, random_state=0)
                found = in_turns(
                    {
                        "ours": lambda: ours.fit(X, y),  # noqa: B023
                        "theirs": lambda: liblinearutil.train(container, option),  # noqa: B023
                    },
                    rounds,
                )
                ratios.append(found["theirs"] / found["ours"])
                times = f"{found['ours']:.2f} | {found['theirs']:.2f} | {ratios[-1]:.2f}"
                print(f"| {name}, {n} rows | {lam:g} | {times} |", flush=True)
    print(f"\ngeometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}")


TABLES = {"peers": peers, "methods": methods, "grid": grid, "text": text}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="problems whose names have it")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    settle()  # warm: loops are compiled in a first turn; new workers decide by themselves
    print(versions("gapsvm", "scikit-learn", "numba", "numpy"))
    TABLES[args.table](args.rounds, args.only)


if __name__ == "__main__":
    main()
