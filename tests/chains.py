"""Tiny chains, and what is known of them by listing all labellings."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np

from gapsvm.problems.structured.chain import ChainProblem


def tiny(n: int = 12, K: int = 3, d: int = 4, longest: int = 4, seed: int = 0) -> tuple[Any, ...]:
    """X, starts, y: labels can be told from X, though not well."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, n)
    starts = np.r_[0, lengths.cumsum()]
    y = rng.integers(0, K, starts[-1])
    X = rng.normal(size=(len(y), d)) + np.eye(d)[y % d]
    return X, starts, y


def problem(lam: float = 0.1, **options: Any) -> ChainProblem:
    size = {name: options.pop(name) for name in ("n", "K", "longest", "seed") if name in options}
    X, starts, y = tiny(**size)
    return ChainProblem(X, starts, y, size.get("K", 3), lam, **options)


def span(p: Any, i: int) -> slice:
    return slice(int(p.chains.starts[i]), int(p.chains.starts[i + 1]))


def labellings(p: Any, i: int) -> list[tuple[int, ...]]:
    """All of chain i that no bar forbids."""
    here = span(p, i)
    ways = product(range(p.n_labels), repeat=here.stop - here.start)
    bars = p.weights.bars
    if bars is None:
        return list(ways)
    return [y for y in ways if np.isfinite([bars[a, b] for a, b in pairwise(y)]).all()]


def features(p: Any, i: int, y: Any) -> Any:
    """φ_i(y), written again from ``gapsvm.rows.chains``."""
    X, d, K = np.asarray(p.rows.to_scipy())[span(p, i)], p.weights.n_features, p.n_labels
    phi = np.zeros(p.weights.shape)
    for t, x in enumerate(X):
        phi[:d, y[t]] += x
        if t:
            phi[d + y[t - 1], y[t]] += 1.0
            if p.weights.paired:
                for j in range(d):
                    phi[d + K + j * K + y[t - 1], y[t]] += x[j]
    return phi


def hinge(p: Any, i: int, w: Any) -> float:
    right = p.y[span(p, i)]
    off = np.vdot(w, features(p, i, right))
    return max(
        np.sum(np.array(y) != right) + np.vdot(w, features(p, i, y)) - off for y in labellings(p, i)
    )


def objective(p: Any, w: Any) -> float:
    total = sum(s * hinge(p, i, w) for i, s in enumerate(p.weight))
    return total / p.weight.sum() + 0.5 * p.lam * np.vdot(w, w)
