"""Run every kernel and print a digest of all that each job's kernels returned and modified.

A program, not a test: ``python every_kernel.py forwards|backwards``.  The last line names the
kernels that no job has reached.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import pkgutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from gapsvm import (
    SDCA,
    Bundle,
    ChainLikelihood,
    ChainProblem,
    Exact,
    FrankWolfe,
    InteriorPoint,
    LinearProblem,
    MiniBatchSDCA,
    OnlineSVC,
    RankingProblem,
    Subgradient,
    read_svmlight,
    solve,
    write_svmlight,
)
from gapsvm.backends import get_backend
from gapsvm.backends import numba as cpu
from gapsvm.backends.numba import functions
from gapsvm.backends.numba.text import parse_integer_table
from gapsvm.backends.renting import settle
from gapsvm.kernels.rows import FeatureRows
from gapsvm.losses.registry import get_loss
from gapsvm.problems.kernel import KernelProblem
from gapsvm.problems.multiclass import MulticlassProblem
from gapsvm.rows import folding
from gapsvm.rows.matrix import as_rows
from gapsvm.solvers.base import refusal_of
from gapsvm.solvers.working_set.lasvm import LASVM
from gapsvm.solvers.working_set.smo import SMO
from gapsvm.solvers.working_set.solver import WorkingSet
from gapsvm.types.mercer import ChiSquared, Gaussian, Laplacian, Sigmoid

N, D = 240, 150
RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(N, D)) * (RNG.random((N, D)) < 0.6)  # rows long enough for SIMD
Y = np.where(DENSE @ RNG.normal(size=D) + 4 * RNG.normal(size=N) > 0, 1.0, -1.0)
ROWS = {"dense": DENSE, "csr": sp.csr_matrix(DENSE)}


def solved(
    X: Any,
    solver: Any,
    bias: str = "none",
    passes: float = 4,
    lam: float = 1e-3,
    loss: str = "hinge",
) -> None:
    problem = LinearProblem(X, Y, get_loss(loss), lam, bias=bias)
    solve(problem, solver, gap=0.0, max_passes=passes)


def several_classes(X: Any) -> None:
    problem = MulticlassProblem(X, np.arange(N) % 3, 3, "crammer_singer", 1e-2)
    solve(problem, Subgradient(4, average="tail"), gap=0.0, max_passes=3)


def text(X: Any) -> None:
    table = np.zeros((2, 3), dtype=np.int64)
    DIGEST.update(table[: parse_integer_table(np.frombuffer(b"1,2,3\n4,5,6\n", np.uint8), table)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        write_svmlight(path, X, Y)
        read = read_svmlight(path)[0]
    DIGEST.update(read.data.tobytes() + read.indices.tobytes())


def machine(X: Any) -> None:
    """Kernel machines in blocks; K by products, and by coordinates."""
    for kernel in (Gaussian(0.01), Sigmoid(0.01), Laplacian(0.01), ChiSquared(0.01)):
        source = FeatureRows(abs(X), kernel, cache_size=0.1)
        for bias in ("free", "none"):
            problem = KernelProblem(source, Y, get_loss("hinge"), 1 / N, bias=bias)
            solve(problem, WorkingSet(block_size=60, whole=0), gap=1e-6, max_passes=1)


def papers_machines(X: Any) -> None:
    """LASVM, and the best pair or the best row of all."""
    for bias in ("free", "none"):
        for solver in (LASVM(), SMO()):
            rows = FeatureRows(X, Gaussian(0.01))
            problem = KernelProblem(rows, Y, get_loss("hinge"), 1 / N, bias=bias)
            if not refusal_of(solver, problem):
                solve(problem, solver, gap=1e-6, max_passes=2)


def pulls(X: Any) -> None:
    m, c, a = X @ np.ones(D), 0.3 * Y, np.zeros(N)
    get_backend("cpu").balanced_pulls(get_loss("hinge").curve, m, c, np.ones(N), 0.0, a)


def chains(X: Any) -> None:
    cpu, rows, K = get_backend("cpu"), as_rows(X).view, 4
    starts, order = np.arange(0, N + 1, 24, dtype=np.uint64), np.arange(10, dtype=np.uint32)
    truth, edges = (np.arange(N) % K).astype(np.uint16), np.zeros((1, K, K))
    scores, values, room = np.empty((N, K)), np.empty(10), np.empty((26, K))
    for best in (True, False):
        cpu.chain_scores(rows, np.ones((D, K)), starts, order, best, scores)
        chosen = scores, edges, *(() if best else (np.exp(edges), np.zeros(1))), starts, order
        if best:
            cpu.chain_best(*chosen, truth, 1.0, np.empty(K), truth.copy(), values)
        else:
            rest = np.ones(10), room, np.empty((24, K)), edges.copy(), values
            cpu.chain_marginals(*chosen, truth, *rest)
    cpu.chain_max_marginals(scores, edges, starts, order, room[0], room[1], scores.copy())
    problem = ChainProblem(X, starts, np.arange(N) % K, K, 0.1)
    solve(problem, FrankWolfe(), gap=0.0, max_passes=3)
    likelihood = ChainLikelihood(X, starts, np.arange(N) % K, K, 0.1)
    for one in (problem, likelihood):
        solve(one, Subgradient(), gap=0.0, max_passes=1)


def ranking(X: Any) -> None:
    problem = RankingProblem(X, np.arange(N) % 3, np.arange(N) // 40, 0.1)
    solve(problem, Bundle(), gap=0.0, max_passes=3)


def folds(X: Any) -> None:
    rng, cpu = np.random.default_rng(0), get_backend("cpu")
    scores = folding.scores_of(rng.normal(size=len(folding.feature_names())))
    codes = folding.encoded("".join(rng.choice(list("ACGU"), 120)), "sequence")
    found = folding.fold(codes, scores, cpu)
    folding.structure_features(codes, found.partners, cpu)


JOBS = {
    "sdca": lambda X: solved(X, SDCA(), passes=60, lam=1e-2),
    "streams": lambda X: solved(X, SDCA(streams=2)),
    "minibatch": lambda X: solved(X, MiniBatchSDCA("aggressive", 8), passes=8),
    "exact": lambda X: solved(X, MiniBatchSDCA("exact", 8)),
    "small": lambda X: solved(X, Exact(compiled=True), "free"),
    "small and smooth": lambda X: solved(X, Exact(compiled=True), loss="logistic"),
    "interior": lambda X: solved(X, InteriorPoint(), passes=6),
    "short rows": lambda X: solved(sp.csr_matrix(DENSE * (DENSE > 1)), InteriorPoint(), passes=6),
    "proximal": lambda X: solved(X, Subgradient(8, step_rule="proximal", sampler="multisets")),
    "batch bias": lambda X: solved(X, Subgradient(8, bias_step="batch"), "free"),
    "online": lambda X: OnlineSVC(lam=1e-2).partial_fit(X, Y, classes=[-1, 1]),
    "chains": chains,
    "classes": several_classes,
    "folds": folds,
    "machine": machine,
    "machine of few values": lambda X: machine(sp.csr_matrix(DENSE * (DENSE > 2))),
    "papers' machines": papers_machines,
    "pulls": pulls,
    "ranking": ranking,
    "text": text,
}
DIGEST = hashlib.sha256()


def updated_by(value: Any) -> None:
    """Take every array and number of what a kernel was given, or has returned."""
    if isinstance(value, np.ndarray):
        DIGEST.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (tuple, list)):
        for part in value:
            updated_by(part)
    else:
        DIGEST.update(repr(value).encode())


def recorded(function: Any) -> Any:
    def call(*arguments: Any) -> Any:
        returned = function(*arguments)
        updated_by(arguments)
        updated_by(returned)
        return returned

    return call


def unreached() -> list[str]:
    """Kernels without a compiled signature."""
    names = set()
    for module in pkgutil.iter_modules(cpu.__path__):
        things = vars(importlib.import_module(f"gapsvm.backends.numba.{module.name}")).values()
        kernels = [one for one in things if hasattr(one, "py_func") and one.stats.cache_path]
        names |= {kernel.py_func.__name__ for kernel in kernels if not kernel.signatures}
    return sorted(names)


def main(backwards: bool) -> None:
    warnings.simplefilter("ignore")
    settle()
    np.empty, np.empty_like = np.zeros, np.zeros_like  # scratch that no kernel fills is equal, too
    for name in functions.__all__:
        setattr(functions, name, recorded(getattr(functions, name)))
    jobs = [(name, layout) for name in JOBS for layout in ROWS]
    digests = {}
    for name, layout in reversed(jobs) if backwards else jobs:
        global DIGEST
        DIGEST = hashlib.sha256()
        JOBS[name](ROWS[layout])
        digests[f"{name}, {layout}"] = DIGEST.hexdigest()
    print(json.dumps(digests, sort_keys=True))
    print(json.dumps(unreached()))


if __name__ == "__main__":
    main(sys.argv[1] == "backwards")
