"""Other programs for the same problem, where they are installed: LIBLINEAR and scikit-learn's.

LIBLINEAR and LinearSVC cannot be looked at while they run: their points are one run each, with a
stricter and stricter tolerance.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

import numpy as np

from gapsvm.problems.linear import LinearProblem
from gapsvm.reproduce import style
from gapsvm.reproduce.framework import Bench
from gapsvm.reproduce.pegasos.clock import Point

TOLERANCES = (10.0, 5.0, 3.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.03, 0.01)


@dataclass(frozen=True)
class Job:
    """What a program is to do."""

    problem: LinearProblem
    data: str
    """Names the rows, so that they are converted once."""
    seed: int
    at: Sequence[int]
    """Row visits to look at."""
    bench: Bench

    @property
    def X(self) -> Any:
        """The rows in float64."""
        rows = self.problem.rows
        return self.bench.once(("float64", self.data), lambda: rows.to_scipy().astype(np.float64))

    @property
    def C(self) -> float:
        return 1 / (self.problem.lam * self.problem.n_rows)


def liblinear(job: Job) -> Iterator[Point]:
    """``train`` of its own package, its problem container ready; it cannot be seeded."""
    util = import_module("liblinear.liblinearutil")
    container = job.bench.once(
        ("liblinear", job.data), lambda: util.problem(job.problem.sign, job.X)
    )
    for tol in TOLERANCES:
        job.bench.check()
        options = f"-s 3 -c {job.C:.17g} -e {tol:g} -B -1 -q"
        started = time.thread_time()
        model = util.train(container, options)
        seconds = time.thread_time() - started
        w = np.ctypeslib.as_array(model.w, shape=(job.problem.n_features,)).copy()
        yield Point(seconds, w if model.get_labels()[0] == 1 else -w)


def linear_svc(job: Job) -> Iterator[Point]:
    """``LinearSVC.fit``: LIBLINEAR, with a copy into its format on the clock."""
    svm = import_module("sklearn.svm")
    how: dict[str, Any] = {"loss": "hinge", "C": job.C, "fit_intercept": False}
    X, y = job.X, job.problem.sign
    for tol in TOLERANCES:
        job.bench.check()
        model = svm.LinearSVC(**how, tol=tol, max_iter=100_000, random_state=job.seed)
        started = time.thread_time()
        model.fit(X, y)
        yield Point(time.thread_time() - started, model.coef_[0])


def sgd_classifier(job: Job) -> Iterator[Point]:
    """``SGDClassifier.partial_fit``, in a new order each pass, its steps 1/(λ(t + t₀))."""
    linear_model = import_module("sklearn.linear_model")
    how: dict[str, Any] = {"alpha": job.problem.lam, "fit_intercept": False}
    model = linear_model.SGDClassifier(**how, random_state=job.seed)
    rng, X, y = np.random.default_rng([job.seed, 4]), job.X, job.problem.sign
    seconds, visits, order = 0.0, 0, rng.permutation(len(y))
    for until in job.at:
        while visits < until:
            job.bench.check()
            place = visits % len(y)
            if place == 0:
                order = rng.permutation(len(y))
            rows = order[place : place + until - visits]
            part, signs = X[rows], y[rows]
            started = time.thread_time()
            model.partial_fit(part, signs, classes=(-1.0, 1.0))
            seconds += time.thread_time() - started
            visits += len(rows)
        yield Point(seconds, model.coef_[0].copy(), visits)


@dataclass(frozen=True)
class Peer:
    """A program that is not ours."""

    label: str
    colour: str
    package: str
    """As it is installed."""
    module: str
    runs: Callable[[Job], Iterator[Point]]
    watched: bool = False
    """Whether one run is looked at now and then, as ours are."""

    @property
    def installed(self) -> bool:
        return find_spec(self.module) is not None

    @property
    def version(self) -> str:
        return f"{self.package} {metadata.version(self.package)}"


PEERS = {
    "liblinear": Peer("LIBLINEAR", style.GREEN, "liblinear-official", "liblinear", liblinear),
    "linear_svc": Peer("LinearSVC", style.PURPLE, "scikit-learn", "sklearn", linear_svc),
    "sgd_classifier": Peer(
        "SGDClassifier", style.GREY, "scikit-learn", "sklearn", sgd_classifier, watched=True
    ),
}
