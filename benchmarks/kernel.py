"""SVC against scikit-learn's and scikit-learn-intelex's: RBF kernels, free intercept, one run.

    python benchmarks/kernel.py [--only adult,mnist8] [--rounds 3] [--threads 2] [--skip-slow]

A peer's answer is judged by our certificate: its P and its gap are computed in float64 from its own
dual coefficients.  Ours is then asked for a gap no larger than that of the first peer, and for a P
of at most the peer's plus 1e-6 of P₀; its time includes its certificate.  Peers that are not
installed are left out.  scikit-learn's, which takes minutes, is timed once, the others in turn.
Seconds are wall time and, in brackets, time of the process on all cores: on a machine that others
use the second is the steadier one.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import geometric_mean, versions
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.preprocessing import scale
from sklearn.svm import SVC as SklearnSVC

from gapsvm import SVC, datasets
from gapsvm.backends import get_backend
from gapsvm.kernels.registry import get_kernel
from gapsvm.kernels.rows import FeatureRows
from gapsvm.losses.registry import get_loss
from gapsvm.problems.kernel import KernelIterate, KernelProblem

try:
    from sklearnex.svm import SVC as IntelexSVC
except ImportError:
    IntelexSVC = None

CACHE = 2000


@dataclass(frozen=True)
class Case:
    """Data by name, how many rows of them, and what is asked."""

    data: str
    gamma: float | str
    C: float = 1.0
    rows: int | None = None
    tol: float = 1e-3
    slow: bool = False
    """Whether scikit-learn takes minutes."""

    @property
    def title(self) -> str:
        return f"{self.data}{'' if self.rows is None else f' {self.rows:,}'}, C = {self.C:g}"


LARGE = (
    Case("a9a", 0.05, slow=True),
    Case("mnist8", 0.02, slow=True),
    Case("cov1", 1.0, rows=50_000, slow=True),
    Case("cov1", 1.0, C=100.0, rows=50_000, slow=True),
    Case("a9a", 0.05, C=1e4, rows=10_000, tol=1e-4, slow=True),
)
SEVERAL = (Case("letter", "scale"), Case("usps", "scale"))
SMALL = tuple(Case(name, "scale") for name in ("iris", "wine", "cancer", "digits", "1k", "3k"))


def load(case: Case) -> tuple[Any, Any]:
    """float32 rows and labels."""
    loaders: dict[str, Callable[..., Any]] = {
        "iris": load_iris,
        "wine": load_wine,
        "digits": load_digits,
        "cancer": load_breast_cancer,
    }
    if case.data in loaders:
        X, y = loaders[case.data](return_X_y=True)
        return np.float32(scale(X)), y
    if case.data in ("1k", "3k"):
        n = int(case.data[0]) * 1000
        X, y = make_classification(n, 20, n_informative=10, random_state=0)
        return np.float32(X), y
    X, y = datasets.load(case.data, scale="raw", dtype=np.float32)
    y = np.asarray(y)
    if case.rows is not None and case.data == "cov1":
        some = np.random.default_rng(0).permutation(len(y))[: case.rows]
        X, y = X[some], y[some]
    return X[: case.rows], y[: case.rows]


@dataclass
class Timed:
    """The least seconds of some runs."""

    wall: float = math.inf
    cpu: float = math.inf
    model: Any = None

    def run(self, make: Callable[[], Any], X: Any, y: Any) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        self.model = make().fit(X, y)
        self.wall = min(self.wall, time.perf_counter() - wall)
        self.cpu = min(self.cpu, time.process_time() - cpu)

    def __str__(self) -> str:
        if self.wall == math.inf:
            return "—"
        return f"{self.wall:.3g} ({self.cpu:.3g})"


def judged(case: Case, model: Any, X: Any, y: Any) -> tuple[float, float, float]:
    """P, gap and P₀ of a peer's two-class model: its own f and intercept's best."""
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    rows = FeatureRows(X, get_kernel("rbf", gamma=case.gamma), backend=get_backend("cpu", 2))
    problem = KernelProblem(rows, signs, get_loss("hinge"), 1 / (case.C * len(y)), bias="free")
    coef = np.zeros(len(y))
    dual = model.dual_coef_
    coef[model.support_] = np.ravel(dual.toarray() if hasattr(dual, "toarray") else dual)
    found = problem.certify(KernelIterate(problem.alpha_of(coef), 0.0), rows.backend)
    return found.primal, found.gap, problem.primal_at_zero


def as_good(case: Case, ours: Callable[[float], Any], peer: Any, X: Any, y: Any) -> float:
    """The tolerance at which ours is as good as the peer's."""
    primal, gap, zero = judged(case, peer, X, y)
    tol = min(case.tol, gap / zero)
    while True:
        model = ours(tol).fit(X, y)
        if model.dual_gap_ <= gap and model.primal_objective_ <= primal + 1e-6 * zero:
            print(f"    peer's gap {gap / zero:.1e} P₀; ours asked for {tol:.1e}", flush=True)
            return tol
        tol *= 0.5


def race(case: Case, rounds: int, threads: int, skip_slow: bool) -> tuple[str, float]:
    """A line of the table, and the ratio of scikit-learn's wall time to ours."""
    X, y = load(case)
    common = {"gamma": case.gamma, "C": case.C, "cache_size": CACHE}

    def ours(tol: float) -> Any:
        return SVC(**common, tol=tol, n_jobs=threads)

    ours(case.tol).fit(X[:2000], y[:2000])  # compiled code is loaded
    mine, theirs, intel = Timed(), Timed(), Timed()
    if not (case.slow and skip_slow):
        theirs.run(lambda: SklearnSVC(**common), X, y)
    if IntelexSVC is not None:
        intel.run(lambda: IntelexSVC(**common), X, y)
    peer = intel.model or theirs.model
    tol = case.tol
    if len(np.unique(y)) == 2 and peer is not None:
        tol = as_good(case, ours, peer, X, y)
    for _ in range(rounds):
        mine.run(lambda: ours(tol), X, y)
        if IntelexSVC is not None:
            intel.run(lambda: IntelexSVC(**common), X, y)
        if not case.slow:
            theirs.run(lambda: SklearnSVC(**common), X, y)
    made, n = mine.model, len(y)
    line = (
        f"| {case.title} | {mine} | {theirs} | {intel} | {made.dual_gap_:.1e} | "
        f"{made.support_.size} | {made.n_kernel_evals_ / n:.0f} |"
    )
    return line, theirs.wall / mine.wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="names of data sets, separated by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--skip-slow", action="store_true", help="where scikit-learn takes minutes")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    peers = ["scikit-learn"] + (["scikit-learn-intelex"] if IntelexSVC is not None else [])
    print(versions("gapsvm", *peers), f"{args.threads} threads")
    head = "| data | gapsvm | scikit-learn | intelex | certified gap | SVs | rows of K |"
    print(head, "|---|---|---|---|---|---|---|", sep="\n")
    only = set(filter(None, args.only.split(",")))
    for group in (LARGE, SEVERAL, SMALL):
        ratios = []
        for case in group:
            if only and case.data not in only:
                continue
            rounds = 7 * args.rounds if group is SMALL else args.rounds
            line, ratio = race(case, rounds, args.threads, args.skip_slow)
            print(line, flush=True)
            ratios.append(ratio)
        if any(math.isfinite(ratio) for ratio in ratios):
            print(f"scikit-learn / gapsvm, geometric mean: {geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
