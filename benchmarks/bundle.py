"""Bundle methods: iterations and seconds beside SDCA, the quadratic program, and ranking by folds.

python benchmarks/bundle.py hinge      # a9a and covtype, λ = 1e-4 … 1e-7, to 1e-3
python benchmarks/bundle.py hinge --set cov1 --lam 1e-6
python benchmarks/bundle.py speed      # the program of 200 cuts, 1,000 iterations on covtype
python benchmarks/bundle.py ranking    # OHSUMED and MQ2008, five folds
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[0] = str(Path(__file__).parents[1])

import math
import time
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.common import versions
from gapsvm import (
    SDCA,
    Bundle,
    LevelBundle,
    LinearProblem,
    ProximalBundle,
    RankingProblem,
    RankSVC,
    datasets,
    get_loss,
    mean_average_precision,
    mean_ndcg,
    solve,
)
from gapsvm.backends import get_backend
from gapsvm.solvers.bundle import bundle as bundle_module
from gapsvm.training.train import Options, train

TARGET = 1e-3
MOST = 3000
SETS = ("a9a", "cov1")
LAMBDAS = (1e-4, 1e-5, 1e-6, 1e-7)
SOLVERS = {"standard": Bundle(), "proximal": ProximalBundle(), "level": LevelBundle()}
GRID = tuple(10.0**-k for k in range(7))
THREADS = 2


@dataclass
class Run:
    """Iterations until the best value and the gap are within the target, and the seconds then."""

    value: float = math.inf
    gap: float = math.inf
    seconds: float = math.inf


def run(solver: Any, problem: Any, optimum: float) -> Run:
    backend, found = get_backend("cpu", THREADS), Run()
    solver.advance(problem, solver.init(problem, backend, np.random.default_rng(0)), backend, 1)
    state = solver.init(problem, backend, np.random.default_rng(0))
    started = time.perf_counter()
    for iteration in range(1, MOST + 1):
        state = solver.advance(problem, state, backend, problem.n_rows)
        if state.best - optimum <= TARGET and math.isinf(found.value):
            found.value = iteration
        if state.best - state.lower <= TARGET:
            found.gap, found.seconds = iteration, time.perf_counter() - started
            return found
    return found


def hinge(chosen: argparse.Namespace) -> None:
    """The mean hinge loss, rows divided by the largest norm, no bias; gaps are absolute."""
    heads = "".join(f" {name}: P − P* | gap | s |" for name in SOLVERS)
    print(f"| problem |{heads} SDCA s |")
    print("|---|" + "---:|" * (3 * len(SOLVERS) + 1))
    for name in chosen.set or SETS:
        X, y = datasets.load(name, scale="max", dtype=np.float32)
        for lam in chosen.lam or LAMBDAS:
            problem = LinearProblem(X, y, get_loss("hinge"), lam)
            best = train(problem, Options(tol=1e-6, max_passes=5000)).result.certificate.primal
            runs = [run(solver, problem, best) for solver in SOLVERS.values()]
            cells = [cell for r in runs for cell in (_count(r.value), _count(r.gap), _seconds(r))]
            seconds = min(sdca(problem) for _ in range(3))
            print(f"| {name} {lam:g} | " + " | ".join(cells) + f" | {seconds:.3f} |", flush=True)


def sdca(problem: LinearProblem) -> float:
    """Seconds of a fit to a certified gap of the target."""
    started = time.perf_counter()
    found = solve(problem, SDCA(), gap=TARGET, max_passes=5000)
    assert found.converged
    return time.perf_counter() - started


def _count(number: float) -> str:
    return f"> {MOST}" if math.isinf(number) else f"{number:g}"


def _seconds(run: Run) -> str:
    return "" if math.isinf(run.seconds) else f"{run.seconds:.2f}"


def speed(chosen: argparse.Namespace) -> None:
    """The standard method on covtype; the time of its quadratic programs."""
    X, y = datasets.load("cov1", scale="max", dtype=np.float32)
    problem, backend = LinearProblem(X, y, get_loss("hinge"), 1e-7), get_backend("cpu", THREADS)
    inner, times = bundle_module.solve_qp, []

    def timed(H: Any, *rest: Any) -> Any:
        started = time.perf_counter()
        found = inner(H, *rest)
        times.append((len(H), time.perf_counter() - started))
        return found

    bundle_module.solve_qp = timed
    solver = Bundle()
    solver.advance(problem, solver.init(problem, backend, np.random.default_rng(0)), backend, 1)
    state = solver.init(problem, backend, np.random.default_rng(0))
    started, computed = time.perf_counter(), time.process_time()
    for _ in range(1000):
        state = solver.advance(problem, state, backend, problem.n_rows)
    total, computed = time.perf_counter() - started, time.process_time() - computed
    bundle_module.solve_qp = inner
    large = [seconds for cuts, seconds in times if cuts >= 190]
    print(
        f"1,000 iterations on covtype, {THREADS} threads: {total:.1f} s, "
        f"{computed:.1f} s of computing"
    )
    print(
        f"warm-started programs of 190 to 201 cuts: median {1e3 * np.median(large):.2f} ms, "
        f"90 % below {1e3 * np.quantile(large, 0.9):.2f} ms ({len(large)} of them)"
    )


def ranking(chosen: argparse.Namespace) -> None:
    """Train on three folds, choose λ on the fourth by NDCG@10, measure on the fifth."""
    print("| data | fold | λ | fit s | P | SDCA on all pairs: s | P | NDCG@10 | MAP | LightGBM |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in ("ohsumed", "mq2008"):
        data, lines = datasets.load(name), []
        for k in range(1, 6):
            parts = [
                _rows(data, [(k + j - 1) % 5 + 1 for j in span]) for span in (range(3), (3,), (4,))
            ]
            lines.append(_fold(name, k, *parts))
        ndcg, precision, peer = np.mean(lines, axis=0)
        print(f"| {name} | mean | | | | | | {ndcg:.4f} | {precision:.4f} | {_peer(peer)} |")


def _rows(data: Any, folds: list[int]) -> tuple[Any, Any, Any]:
    chosen = np.isin(data.folds, folds)
    return data.X[chosen], data.y[chosen], data.qid[chosen]


def _fold(name: str, k: int, train_on: Any, held: Any, test: Any) -> tuple[float, float, float]:
    best: tuple[float, float, Any] = (-1.0, 0.0, None)
    for lam in GRID:
        model = RankSVC(lam=lam, tol=TARGET, max_iter=MOST, n_jobs=THREADS)
        X, y, qid = train_on
        model.fit(X, y, qid=qid)
        score = model.score(held[0], held[1], held[2])
        if score > best[0]:
            best = score, lam, model
    _, lam, model = best
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        model.fit(X, y, qid=qid)
        seconds.append(time.perf_counter() - started)
    started = time.perf_counter()
    pairs = RankingProblem(X, y, qid, lam).pairs
    exact = solve(pairs, SDCA(), gap=1e-6, max_passes=5000)
    took = time.perf_counter() - started
    assert model.primal_objective_ - exact.certificate.dual >= -1e-9
    assert model.primal_objective_ - exact.certificate.primal <= model.dual_gap_
    scores = model.predict(test[0])
    ndcg = mean_ndcg(test[1], scores, test[2])
    precision = mean_average_precision(test[1], scores, test[2])
    peer = lightgbm(train_on, held, test)
    print(
        f"| {name} | {k} | {lam:g} | {min(seconds):.2f} | {model.primal_objective_:.5f} | "
        f"{took:.2f} | {exact.certificate.primal:.5f} | {ndcg:.4f} | {precision:.4f} | "
        f"{_peer(peer)} |",
        flush=True,
    )
    return ndcg, precision, peer


def _peer(value: float) -> str:
    return "not installed" if math.isnan(value) else f"{value:.4f}"


def lightgbm(train_on: Any, held: Any, test: Any) -> float:
    """NDCG@10 of lambdarank: 300 trees at most, early stopping on the held fold."""
    if find_spec("lightgbm") is None:
        return math.nan
    import lightgbm as lgb

    def sets(part: Any) -> tuple[Any, Any, Any]:
        X, y, qid = part
        order = np.argsort(qid, kind="stable")
        return X[order].toarray(), y[order], np.unique(qid, return_counts=True)[1]

    (X, y, sizes), (X_held, y_held, held_sizes) = sets(train_on), sets(held)
    model = lgb.LGBMRanker(n_estimators=300, verbose=-1)
    stop = lgb.early_stopping(50, verbose=False)
    model.fit(
        *(X, y), group=sizes, eval_set=[(X_held, y_held)], eval_group=[held_sizes],
        eval_at=[10], callbacks=[stop],
    )  # fmt: skip
    return mean_ndcg(test[1], model.predict(test[0].toarray()), test[2])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(versions("gapsvm", "numba", "numpy") + f", {THREADS} threads\n")
    parts = {"hinge": hinge, "speed": speed, "ranking": ranking}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(parts))
    parser.add_argument("--set", action="append", choices=SETS)
    parser.add_argument("--lam", action="append", type=float)
    arguments = parser.parse_args()
    for name in arguments.parts:
        parts[name](arguments)
        print()
