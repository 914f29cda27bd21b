"""Steps of block-coordinate Frank–Wolfe on chains, with every feature vector φ written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.chains import spans
from gapsvm.backends.reference.rows import Matrix, entries
from gapsvm.types.chains import KeptLabellings

_WORTH = 0.1


def _features(X: Matrix, w: Any, d: int, tokens: slice, y: Any) -> Any:
    """φ(y), of the shape of w: emissions, transitions and, if w has them, features of steps."""
    phi, K = np.zeros_like(w), w.shape[1]
    emissions, steps, pairs = phi[:d], phi[d : d + K], phi[d + K :].reshape(-1, K, K)
    for k, t in enumerate(range(tokens.start, tokens.stop)):
        columns, x = entries(X, t)
        emissions[columns, y[k]] += x
        if k > 0:
            steps[y[k - 1], y[k]] += 1.0
            if pairs.size:
                pairs[columns, y[k - 1], y[k]] += x
    return phi


def _read(X: Matrix, tokens: slice, y: Any, truth: Any) -> float:
    """Features of the tokens that two labellings label differently."""
    return float(sum(len(entries(X, tokens.start + k)[1]) for k in np.flatnonzero(y != truth)))


def _place_for(share: Any, cost: Any) -> int:
    """The first empty slot, else that of the least weight, but not that of the truth."""
    empty = np.flatnonzero(cost < 0.0)
    return int(empty[0]) if len(empty) else 1 + int(share[1:].argmin())


def chain_block_steps(
    X: Matrix,
    w: Any,
    d: int,
    starts: Any,
    order: Any,
    found: Any,
    kept: KeptLabellings,
    weight: Any,
    scale: Any,
    most: int,
    gains: Any,
    gaps: Any,
) -> tuple[float, float, int]:
    growth, work, crowded = 0.0, 0.0, 0
    for i, results, tokens in spans(starts, order):
        labels, share, cost = kept.labels[:, tokens], kept.share[i], kept.cost[i]
        unit = weight[i] * scale[0]
        if unit == 0.0:
            gaps[i] = 0.0
            continue
        phi = [_features(X, w, int(d), tokens, y) for y in labels]
        if found.size and not np.any((labels == found[results]).all(axis=1) & (cost >= 0.0)):
            s = _place_for(share, cost)
            crowded += int(cost[s] >= 0.0 and share[s] > 0.0)
            labels[s], cost[s] = found[results], scale[1] * np.sum(found[results] != labels[0])
            new = _features(X, w, int(d), tokens, labels[s])
            w += share[s] * unit * (phi[s] - new)
            phi[s] = new
        for step in range(most):
            filled = cost >= 0.0
            margins = np.array([np.vdot(w, of - phi[0]) for of in phi])
            gains[:] = np.where(filled, cost + margins, -np.inf)
            work += sum(_read(X, tokens, y, labels[0]) for y in labels[filled])
            a, b = gains.argmax(), np.where(filled & (share > 0.0), gains, np.inf).argmin()
            gap = gains[a] - share[filled] @ gains[filled]
            if step == 0:
                enough = _WORTH * gap
                if found.size:
                    gaps[i] = weight[i] * max(gap, 0.0)
            pull, apart = gains[a] - gains[b], phi[b] - phi[a]
            if not (gap > enough and pull > 0.0):
                break
            curvature = unit * np.vdot(apart, apart)
            far = share[b] if pull >= share[b] * curvature else pull / curvature
            w += far * unit * apart
            share[a] += far
            share[b] -= far
            growth += weight[i] * far * (pull - 0.5 * far * curvature)
    return growth, work, crowded


def chain_push(
    X: Matrix, w: Any, d: int, starts: Any, order: Any, found: Any, truth: Any, steps: Any
) -> float:
    before = np.vdot(w, w)
    for step, (_, results, tokens) in zip(steps, spans(starts, order)):
        right, wrong = (_features(X, w, int(d), tokens, y) for y in (truth[tokens], found[results]))
        w += step * (right - wrong)
    return float(np.vdot(w, w) - before)


def chain_pull(X: Matrix, w: Any, starts: Any, order: Any, coef: Any, step: float) -> float:
    before = np.vdot(w, w)
    for _, results, tokens in spans(starts, order):
        for pull, t in zip(coef[results], range(tokens.start, tokens.stop)):
            columns, x = entries(X, t)
            w[columns] += step * np.outer(x, pull)
    return float(np.vdot(w, w) - before)
