"""The problems of ``peers.py``: data, λ, loss, the objective and its certified minimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.common import TARGETS, Case
from gapsvm import LinearSVC, LinearSVR, datasets

EPSILON = 0.1
FEATURES, WORDS = 47_000, 84
"""Width of the synthetic text, and words drawn for each row: 75 of them differ."""


@dataclass(frozen=True)
class PeerCase(Case):
    """A case of any loss, on the first ``rows`` of the data in random order, or on all of them."""

    loss: str = "hinge"
    rows: int = 0

    @property
    def title(self) -> str:
        name = f"{self.name} {self.lam:g}"
        name += f", {self.rows:,} rows" if self.rows else ""
        return name + (f", {self.loss.replace('_', ' ')}" if self.loss != "hinge" else "")

    @property
    def key(self) -> str:
        return f"{self.name}:{self.scale}:{self.lam:g}:{self.loss}:{self.rows}"

    def load(self, dtype: Any = np.float32) -> tuple[Any, Any]:
        if self.name.startswith("dense"):
            X, y = synthetic_dense(*map(int, self.name.split()[1].split("x")), self.loss)
        elif self.name == "text":
            X, y = synthetic_text(self.rows)
        elif self.loss == "epsilon_insensitive":
            X, y = standardised(self.name)
        else:
            X, y = super().load()
        if self.rows and self.rows < len(y):
            chosen = np.sort(np.random.default_rng(0).permutation(len(y))[: self.rows])
            X, y = X[chosen], y[chosen]
        return X.astype(dtype, copy=False), y

    def objective(self, X: Any, y: Any, w: Any) -> float:
        """mean φ + (λ/2)‖w‖², computed by nobody's solver, in float64."""
        w = np.asarray(w, dtype=np.float64)
        z = X @ w
        if self.loss == "epsilon_insensitive":
            losses = np.maximum(0.0, np.abs(z - y) - EPSILON)
        elif self.loss == "logistic":
            losses = np.logaddexp(0.0, -y * z)
        else:
            losses = np.maximum(0.0, 1.0 - y * z) ** (2 if self.loss == "squared_hinge" else 1)
        return float(losses.mean() + 0.5 * self.lam * (w @ w))

    def estimator(self, gap: float, y: Any, threads: int = 1, **options: Any) -> Any:
        """gapsvm, told to certify an absolute gap."""
        at_zero = self.objective(sp.csr_matrix((len(y), 1)), y, np.zeros(1))
        common = {
            "lam": self.lam,
            "tol": gap / at_zero,
            "fit_intercept": False,
            "random_state": 0,
            "n_jobs": threads,
        }
        if self.loss == "epsilon_insensitive":
            return LinearSVR(epsilon=EPSILON, **common, **options)
        return LinearSVC(loss=self.loss, **common, **options)

    def minimum(self, X: Any, y: Any, gap: float) -> float:
        """P*: the data folder's, or a lower bound certified to ``gap``."""
        if self.loss == "hinge" and not self.rows and self.name in datasets.names():
            listed = datasets.optimum(self.name, self.scale, self.lam)  # type: ignore[arg-type]
            if listed is not None:
                return listed
        model = self.estimator(gap, y, max_iter=1_000_000).fit(X.astype(np.float64), y)
        if not model.converged_:
            raise RuntimeError(f"{self.title}: no gap of {gap:g}: {model.status_}")
        return float(model.dual_objective_)


@dataclass(frozen=True)
class Table:
    """Cases that are shown together."""

    title: str
    cases: tuple[PeerCase, ...]
    targets: tuple[float, ...] = TARGETS
    peers: tuple[str, ...] = ()
    """Names of those that take part; all, if none are named."""
    threads: int = 1
    slopes: bool = False
    """The cases of a name grow: show with which power of n the time does."""


def synthetic_dense(n: int, d: int, loss: str = "hinge") -> tuple[Any, Any]:
    """Gaussian rows divided by the largest norm; a noisy linear response, or its sign."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    response = X @ rng.standard_normal(d).astype(np.float32) / np.float32(np.sqrt(d))
    response = response.astype(np.float64) + 0.5 * rng.standard_normal(n)
    X /= np.sqrt(np.einsum("ij,ij->i", X, X).max())
    return X, response if loss == "epsilon_insensitive" else np.where(response > 0, 1.0, -1.0)


def synthetic_text(n: int) -> tuple[Any, Any]:
    """Unit rows of words drawn by Zipf's law, weighted by their rarity; a noisy linear rule."""
    rng = np.random.default_rng(0)
    share = np.cumsum(1.0 / np.arange(1, FEATURES + 1) ** 0.9)
    words = np.searchsorted(share / share[-1], rng.random((n, WORDS)))
    X = sp.csr_matrix(
        (np.ones(words.size, np.float32), words.ravel(), np.arange(n + 1) * WORDS),
        shape=(n, FEATURES),
    )
    X.sum_duplicates()
    X.data = (1.0 + np.log(X.data)) * np.log(np.arange(FEATURES) + 2.0)[X.indices]
    X.data /= np.repeat(np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()), np.diff(X.indptr))
    response = X @ rng.standard_normal(FEATURES) + 0.5 * rng.standard_normal(n)
    return X.astype(np.float32), np.where(response > 0, 1.0, -1.0)


def standardised(name: str) -> tuple[Any, Any]:
    """A regression set, dense, columns and response of mean 0 and variance 1, largest norm 1."""
    X, y = datasets.load(name)
    X = X.toarray()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X / np.sqrt((X * X).sum(axis=1).max()), (y - y.mean()) / y.std()


def halved(n: int, times: int) -> list[int]:
    return [n >> k for k in range(times, -1, -1)]


_PAPERS = (
    ("a9a", "max", 1e-4),
    ("w8a", "max", 1e-5),
    ("ijcnn1", "max", 1e-5),
    ("cov1", "max", 1e-5),
    ("mnist8", "max", 1e-5),
    ("connect4", "max", 1e-5),
    ("news20", "unit", 1e-4),
    ("news20b", "unit", 1.25e-4),
    ("imdb", "unit", 1e-4),
    ("dense 500000x54", "max", 1e-6),
    ("dense 40000x2000", "max", 1e-4),
)
LINEAR = tuple(
    PeerCase(name, scale, lam * share) for name, scale, lam in _PAPERS for share in (1.0, 0.1)
)
_LARGE = ("cov1", "mnist8", "dense 500000x54", "dense 40000x2000")
_BESIDE = ("liblinear", "scikit-learn", "lightning", "snapml")

TABLES = {
    "linear": Table("One thread, the papers' λ and ten times weaker", LINEAR),
    "threads": Table(
        "Two threads, sets of 5 million nonzeros and more; peers at one and two",
        tuple(case for case in LINEAR if case.name in _LARGE),
        threads=2,
    ),
    "weak": Table(
        "Weak λ",
        (
            PeerCase("a9a", "max", 1e-7),
            PeerCase("w8a", "max", 1e-8),
            PeerCase("ijcnn1", "max", 1e-7),
            PeerCase("connect4", "raw", 1e-7),
            PeerCase("cov2", "raw", 1e-8),
        ),
        targets=(1e-6,),
    ),
    "growth": Table(
        "Growth with the number of rows",
        (
            *(PeerCase("cov1", "max", 1e-5, rows=n) for n in halved(581_012, 5)),
            *(PeerCase("text", "unit", 1e-4, rows=n) for n in halved(266_666, 5)),
        ),
        targets=(1e-3,),
        peers=("liblinear",),
        slopes=True,
    ),
    "losses": Table(
        "Other losses",
        (
            *(
                PeerCase(name, scale, lam, loss)
                for loss in ("squared_hinge", "logistic")
                for name, scale, lam in _PAPERS
                if name in ("a9a", "w8a", "cov1", "mnist8", "news20", "imdb")
            ),
            *(
                PeerCase(name, "max", lam, "epsilon_insensitive")
                for name, lam in (
                    ("abalone", 1e-4),
                    ("cadata", 1e-5),
                    ("cpusmall", 1e-5),
                    ("dense 500000x54", 1e-6),
                )
            ),
        ),
        peers=_BESIDE,
    ),
}
