"""``gapsvm.warm_up``: compile beforehand what fits would compile when they first need it.

What a user can reach is what the registries hold: every method on every kind of problem that it
solves, for rows of each layout and number type.  Indices of 64 bits, which only matrices with more
than two thousand million values need, are left to the fit that meets them.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.backends.kept_in import kept_in
from gapsvm.backends.renting import settle
from gapsvm.estimators.online import OnlineSVC
from gapsvm.io.svmlight import read_svmlight
from gapsvm.kernels.registry import KERNELS
from gapsvm.kernels.rows import FeatureRows
from gapsvm.losses.registry import get_loss
from gapsvm.problems.kernel import KernelProblem
from gapsvm.problems.linear import LinearProblem
from gapsvm.problems.multiclass import MulticlassProblem
from gapsvm.problems.structured.chain import ChainProblem
from gapsvm.problems.structured.likelihood import ChainLikelihood
from gapsvm.problems.structured.ranking import RankingProblem
from gapsvm.solvers.newton.exact import Exact
from gapsvm.system.lazy import sparse
from gapsvm.training.methods import that_solve
from gapsvm.training.solve import solve

_N, _D = 240, 30
_WIDE = 1 << 19
_PASSES = 30
Job = Callable[[], Any]
Progress = Callable[[int, int, str], Any]


def warm_up(*parts: str, progress: Progress | None = None) -> int:
    """Compile kernels into the cache: some minutes, once for each machine and version.

    For images, clusters and tests, whose processes should not wait.  The cache lies in the folder
    of the user's cache files, or in the one that NUMBA_CACHE_DIR names.

    Parameters
    ----------
    *parts : str
        "small", "text", "linear", "classes", "online", "kernels", "ranking" or "sequences"; all of
        them by default.
    progress : callable, optional
        Called as ``progress(done, total, name)`` before each job, and at the end.

    Returns
    -------
    int
        How many compiled kernels the cache holds then.
    """
    unknown = [part for part in parts if part not in _PARTS]
    if unknown:
        raise ValueError(f"unknown part {unknown[0]!r}; choose of {', '.join(_PARTS)}")
    settle()  # nothing is left to NumPy from here on
    jobs = [job for part in parts or _PARTS for job in _PARTS[part]()]
    tell = progress or (lambda done, total, name: None)
    for done, (name, job) in enumerate(jobs):
        tell(done, len(jobs), name)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            job()
    tell(len(jobs), len(jobs), "")
    folder = kept_in()
    return 0 if folder is None else sum(1 for _ in Path(folder).glob("*.nbc"))


def _layouts() -> Iterator[tuple[str, Any]]:
    """Rows of every kind that loops are compiled for."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(_N, _D)) * (rng.random((_N, _D)) < 0.6)
    for dtype in (np.float32, np.float64):
        X = dense.astype(dtype)
        yield f"dense {X.dtype}", X
        yield f"sparse {X.dtype}", sparse.csr_matrix(X)


def _signs() -> Any:
    return np.where(np.random.default_rng(1).random(_N) < 0.5, 1.0, -1.0)


def _by_every_method(make: Callable[[], Any], passes: float = 3) -> None:
    problem = make()
    for method in that_solve(problem):
        solve(problem, method, gap=0.0, max_passes=passes)


def _by_one(make: Callable[[], Any], method: Any) -> None:
    solve(make(), method, gap=0.0, max_passes=3)


def _small() -> Iterator[tuple[str, Job]]:
    for layout, X in _layouts():
        for loss in ("hinge", "squared_hinge", "logistic"):
            make = partial(LinearProblem, X, _signs(), get_loss(loss), 0.01, bias="free")
            yield f"small, {loss}, {layout}", partial(_by_one, make, Exact(compiled=True))


_VARIANTS = (
    "sdca(streams=2)",
    "minibatch(rule=aggressive, batch_size=8)",
    "minibatch(rule=exact, batch_size=8)",
    "pegasos(batch_size=8, sampler=multisets)",
    "pegasos(batch_size=8, sampler=subsets)",
    "pegasos(average=tail, projection=true)",
)
"""Of linear problems, what default parameters do not reach."""


def _linear_job(X: Any, loss: str) -> None:
    y = _signs()
    for bias in ("free", "none"):
        make = partial(LinearProblem, X, y, get_loss(loss), 1e-2, bias=bias)
        _by_every_method(make, _PASSES)
    for variant in _VARIANTS:
        _by_one(make, variant)


def _linear() -> Iterator[tuple[str, Job]]:
    for layout, X in _layouts():
        for loss in ("hinge", "logistic"):
            yield f"linear, {loss}, {layout}", partial(_linear_job, X, loss)
    for dtype in (np.float32, np.float64):
        eye = sparse.random(40, _WIDE, density=1e-4, format="csr", dtype=dtype, random_state=0)
        make = partial(LinearProblem, eye, _signs()[:40], get_loss("hinge"), 0.1)
        yield f"linear, wide, {np.dtype(dtype)}", partial(solve, make(), "sdca", tol=1e-3)


def _classes() -> Iterator[tuple[str, Job]]:
    y = np.arange(_N) % 3
    for layout, X in _layouts():
        for loss in ("crammer_singer", "multinomial"):
            make = partial(MulticlassProblem, X, y, 3, loss, 0.01)
            yield f"classes, {loss}, {layout}", partial(_by_every_method, make)


def _online() -> Iterator[tuple[str, Job]]:
    for layout, X in _layouts():
        for loss in ("hinge", "logistic"):
            model = OnlineSVC(loss=loss, lam=0.1)
            job = partial(model.partial_fit, X, _signs(), classes=[-1, 1])
            yield f"online, {loss}, {layout}", job


def _kernel_job(X: Any, kernel: str, loss: str) -> None:
    source = FeatureRows(abs(X), KERNELS.make(kernel), cache_size=1.0)
    for bias in ("free", "none"):
        make = partial(KernelProblem, source, _signs(), get_loss(loss), 1.0 / _N, bias=bias)
        _by_every_method(make)


def _kernels() -> Iterator[tuple[str, Job]]:
    for layout, X in _layouts():
        for kernel in KERNELS:
            yield f"kernels, {kernel}, {layout}", partial(_kernel_job, X, kernel, "hinge")
        yield f"kernels, logistic, {layout}", partial(_kernel_job, X, "rbf", "logistic")


def _ranking() -> Iterator[tuple[str, Job]]:
    queries = np.arange(_N) // 20
    for layout, X in _layouts():
        make = partial(RankingProblem, X, np.arange(_N) % 3, queries, 0.1)
        yield f"ranking, {layout}", partial(_by_every_method, make)


def _sequences() -> Iterator[tuple[str, Job]]:
    starts, labels = np.arange(0, _N + 1, 24), np.arange(_N) % 4
    for layout, X in _layouts():
        for kind in (ChainProblem, ChainLikelihood):
            make = partial(kind, X, starts, labels, 4, 0.1)
            yield f"sequences, {kind.__name__}, {layout}", partial(_by_every_method, make)


def _text() -> Iterator[tuple[str, Job]]:
    lines = io.BytesIO(b"1 1:0.5 # words\n-1 2:1e-3\n").getvalue()
    for dtype in (np.float32, np.float64):
        name = f"text as {np.dtype(dtype)}"
        yield name, partial(read_svmlight, lines, dtype=dtype)


_PARTS: dict[str, Callable[[], Iterator[tuple[str, Job]]]] = {
    "small": _small,
    "text": _text,
    "linear": _linear,
    "classes": _classes,
    "online": _online,
    "kernels": _kernels,
    "ranking": _ranking,
    "sequences": _sequences,
}
