"""Oracles as a user writes them: labels with pairwise terms, and several classes."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import scipy.sparse as sp

from gapsvm import OracleProblem


class Multilabel:
    """Labels are 0 or 1, each with weights of its own; each pair of labels has a weight too."""

    def __init__(self, n_inputs: int, n_labels: int, sparse: bool = False) -> None:
        self.all = np.array(list(product([0, 1], repeat=n_labels)))
        self.pairs = np.array([[a * b for a, b in combinations(y, 2)] for y in self.all])
        self.cut, self.sparse = n_labels * n_inputs, sparse
        self.n_features = self.cut + self.pairs.shape[1]

    def features(self, x: Any, y: Any) -> Any:
        phi = np.r_[np.outer(y, x).ravel(), [a * b for a, b in combinations(y, 2)]]
        return sp.csr_array(phi[None]) if self.sparse else phi

    def loss(self, truth: Any, y: Any) -> float:
        return float(np.sum(np.not_equal(truth, y)))

    def argmax(self, w: Any, x: Any, truth: Any = None) -> Any:
        own = w[: self.cut].reshape(-1, len(x)) @ x
        scores = self.all @ own + self.pairs @ w[self.cut :]
        if truth is not None:
            scores = scores + (self.all != truth).sum(axis=1)
        return self.all[scores.argmax()]


class Classes:
    """y is one label: Crammer–Singer's multiclass problem."""

    def __init__(self, n_inputs: int, n_classes: int) -> None:
        self.shape = n_classes, n_inputs
        self.n_features = n_classes * n_inputs

    def features(self, x: Any, y: int) -> Any:
        phi = np.zeros(self.shape)
        phi[y] = x
        return phi.ravel()

    def loss(self, truth: int, y: int) -> float:
        return float(y != truth)

    def argmax(self, w: Any, x: Any, truth: int | None = None) -> int:
        scores = w.reshape(self.shape) @ x
        if truth is not None:
            scores = scores + (np.arange(len(scores)) != truth)
        return int(scores.argmax())


def data(n: int = 40, d: int = 4, labels: int = 3, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, labels)) + rng.normal(size=(n, labels)) > 0).astype(int)


def problem(n: int = 40, lam: float = 0.05, sparse: bool = False, **options: Any) -> OracleProblem:
    X, Y = data(n)
    return OracleProblem(Multilabel(4, 3, sparse), X, Y, lam, **options)
