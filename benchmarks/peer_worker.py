"""The peers, one small class each, and the loop that serves one of them to ``peers.py``.

    python -P benchmarks/peer_worker.py NAME

runs in the peer's own Python, so that no two packages clash; NumPy and SciPy are all it needs
besides.  It answers lines of JSON: {"load": problem} makes the peer's own container once,
{"fit": settings} fits and says how many seconds the fit alone took and where the weights are.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

THIRDS = tuple(float(f"{10 ** (-k / 3):.3g}") for k in range(-3, 22))
"""Tolerances, loosest first."""
PASSES = tuple(sorted({round(1.4**k) for k in range(19)}))


class Peer:
    """A package that minimises mean loss + (λ/2)‖w‖² without an intercept.

    ``variants`` are worth trying on a loss; ``values`` of ``knob`` run from loose to tight.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    environment: ClassVar[str | None] = None
    """Folder of its virtual environment; None: it shares gapsvm's."""
    pip: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Arguments of the ``pip install`` that fill the environment."""
    threads: ClassVar[tuple[int, ...]] = (1,)
    variants: ClassVar[dict[str, list[dict[str, Any]]]]
    knob: ClassVar[str] = "tol"
    values: ClassVar[tuple[float, ...]] = THIRDS

    def __init__(self, folder: str, loss: str, lam: float, epsilon: float, threads: int) -> None:
        X, y = read_arrays(Path(folder))
        self.loss, self.lam, self.epsilon, self.n_jobs = loss, lam, epsilon, threads
        self.C = 1.0 / (lam * len(y))
        self.d = X.shape[1]
        self.hold(X, y)
        self.prepare()

    def hold(self, X: Any, y: Any) -> None:
        """Keep the data as the peer likes them best."""
        self.X, self.y = X.astype(np.float64), y

    def prepare(self) -> None:
        """Import the package before any clock runs."""
        self.estimator()

    def fit(self, **settings: Any) -> Any:
        """What is timed."""
        return self.estimator(**settings).fit(self.X, self.y)

    def estimator(self, **settings: Any) -> Any:
        raise NotImplementedError

    def weights(self, model: Any) -> np.ndarray:
        return np.asarray(model.coef_, dtype=np.float64).ravel()


class Liblinear(Peer):
    name = "liblinear"
    package = environment = "liblinear-official"
    pip = (("liblinear-official", "scipy"),)
    variants = {
        "hinge": [{"s": 3}],
        "squared_hinge": [{"s": 1}, {"s": 2}],
        "logistic": [{"s": 7}, {"s": 0}],
        "epsilon_insensitive": [{"s": 13}],
    }
    knob = "e"

    def hold(self, X: Any, y: Any) -> None:
        from liblinear.liblinear import problem

        self.problem = problem(y, sp.csr_matrix(X, dtype=np.float64))

    def prepare(self) -> None:
        from liblinear.liblinearutil import train

        self.train = train

    def fit(self, s: int, e: float) -> Any:
        epsilon = f" -p {self.epsilon:.17g}" if s == 13 else ""
        return self.train(self.problem, f"-s {s} -c {self.C:.17g} -e {e:g}{epsilon} -B -1 -q")

    def weights(self, model: Any) -> np.ndarray:
        w = np.ctypeslib.as_array(model.w, shape=(self.d,)).copy()
        return -w if self.loss != "epsilon_insensitive" and model.get_labels()[0] != 1 else w


class LiblinearMulticore(Liblinear):
    """One thread of it is LIBLINEAR itself."""

    name = package = environment = "liblinear-multicore"
    pip = (("liblinear-multicore", "scipy"),)
    threads = (2,)
    variants = {"hinge": [{"s": 3}], "squared_hinge": [{"s": 1}, {"s": 2}], "logistic": [{"s": 0}]}

    def fit(self, s: int, e: float) -> Any:
        options = f"-s {s} -c {self.C:.17g} -e {e:g} -m {self.n_jobs} -B -1 -q"
        return self.train(self.problem, options)


class ScikitLearn(Peer):
    name = package = "scikit-learn"
    variants = {
        "hinge": [{}],
        "squared_hinge": [{"dual": True}, {"dual": False}],
        "logistic": [
            {"solver": "liblinear", "dual": True},
            {"solver": "liblinear"},
            {"solver": "lbfgs"},
        ],
        "epsilon_insensitive": [{}],
    }

    def estimator(self, **settings: Any) -> Any:
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC, LinearSVR

        common = {"C": self.C, "fit_intercept": False, "max_iter": 20_000, "random_state": 0}
        if self.loss == "logistic":
            return LogisticRegression(**common, **settings)
        if self.loss == "epsilon_insensitive":
            return LinearSVR(epsilon=self.epsilon, **common, **settings)
        return LinearSVC(loss=self.loss, **common, **settings)


class SGD(Peer):
    name, package = "SGDClassifier", "scikit-learn"
    variants = {
        loss: [{"average": False}, {"average": True}]
        for loss in ("hinge", "squared_hinge", "logistic")
    }
    knob, values = "max_iter", PASSES

    def estimator(self, **settings: Any) -> Any:
        from sklearn.linear_model import SGDClassifier

        loss = "log_loss" if self.loss == "logistic" else self.loss
        return SGDClassifier(
            loss, alpha=self.lam, fit_intercept=False, tol=None, random_state=0, **settings
        )


class Lightning(Peer):
    name = environment = "lightning"
    package = "sklearn-contrib-lightning"
    pip = (
        ("numpy<2", "cython<3", "setuptools<70", "wheel", "scipy<1.14", "scikit-learn<1.6"),
        ("--no-build-isolation", "sklearn-contrib-lightning"),
    )
    variants = {"hinge": [{}], "squared_hinge": [{}]}

    def estimator(self, **settings: Any) -> Any:
        from lightning.classification import LinearSVC

        return LinearSVC(C=self.C, loss=self.loss, max_iter=20_000, random_state=0, **settings)


class LightningSDCA(Lightning):
    name = "lightning SDCA"
    variants = {"hinge": [{}]}
    knob, values = "max_iter", PASSES

    def estimator(self, **settings: Any) -> Any:
        from lightning.classification import SDCAClassifier

        return SDCAClassifier(alpha=self.lam, loss=self.loss, tol=0.0, random_state=0, **settings)


class SnapML(Peer):
    name = package = environment = "snapml"
    pip = (("snapml",),)
    threads = (1, 2)
    variants = {"hinge": [{}], "squared_hinge": [{}], "logistic": [{"dual": True}, {"dual": False}]}

    def hold(self, X: Any, y: Any) -> None:
        self.X, self.y = X.astype(np.float32), y

    def estimator(self, **settings: Any) -> Any:
        from snapml import LogisticRegression, SupportVectorMachine

        strength = self.lam * len(self.y)
        common = {"regularizer": strength, "n_jobs": self.n_jobs, "random_state": 0}
        if self.loss == "logistic":
            return LogisticRegression(**common, **settings)
        return SupportVectorMachine(loss=self.loss, **common, **settings)


PEERS: dict[str, type[Peer]] = {
    peer.name: peer
    for peer in (
        Liblinear,
        LiblinearMulticore,
        ScikitLearn,
        SGD,
        Lightning,
        LightningSDCA,
        SnapML,
    )
}


def write_arrays(folder: Path, X: Any, y: Any) -> None:
    """The rows, sparse or dense, and the labels as .npy files."""
    for old in folder.glob("*.npy"):
        old.unlink()
    np.save(folder / "y.npy", y)
    if not sp.issparse(X):
        np.save(folder / "dense.npy", X)
        return
    for part in ("data", "indices", "indptr"):
        np.save(folder / f"{part}.npy", getattr(X, part))
    np.save(folder / "shape.npy", X.shape)


def read_arrays(folder: Path) -> tuple[Any, Any]:
    y = np.load(folder / "y.npy")
    if (folder / "dense.npy").exists():
        return np.load(folder / "dense.npy"), y
    parts = tuple(np.load(folder / f"{part}.npy") for part in ("data", "indices", "indptr"))
    return sp.csr_matrix(parts, shape=tuple(np.load(folder / "shape.npy"))), y


def serve(peer: type[Peer]) -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what peers print is no answer
    held: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "load" in request:
                held = None
                held = peer(**request["load"])
                answer = {"version": importlib.metadata.version(peer.package)}
            else:
                before = time.perf_counter()
                model = held.fit(**request["fit"])
                seconds = time.perf_counter() - before
                np.save(request["weights"], held.weights(model))
                answer = {"seconds": seconds}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(PEERS[sys.argv[1]])
