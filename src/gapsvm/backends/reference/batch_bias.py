"""Steps at the bias that is best for the batch (Pegasos §6, the third treatment)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.rows import Matrix, add, margins_of, square_of
from gapsvm.backends.reference.subgradient import square, store, written_out
from gapsvm.types.steps import Averaging, Ball, BiasStep, StepSizes, WeightArrays
from gapsvm.types.tables import PULLS, SIGNED_WEIGHT, TARGET, VISITS

Curve = Any


def balanced_pulls(curve: Curve, m: Any, c: Any, t: Any, b: float, a: Any) -> float:
    sign = np.where(c >= 0, 1.0, -1.0)
    low, high, width = -np.inf, np.inf, 1e-3 * (1.0 + abs(b))
    up = down = a
    for step in range(1000):
        a[:] = curve.maximiser(sign * (m + b), t)
        h = c @ a
        if not abs(h) > 1e-13 * np.abs(c).sum():
            return b
        low, up, high, down = (b, a.copy(), high, down) if h > 0 else (low, up, b, a.copy())
        if np.isinf(high - low):
            b += width if h > 0 else -width
            width *= 4.0
            continue
        share = c @ up / (c @ up - c @ down)
        b = low + (0.5 if step % 2 else share) * (high - low)
        if not low < b < high:
            break
    share = c @ up / (c @ up - c @ down)
    a[:] = up + share * (down - up)
    return float(low + share * (high - low))


def batch_bias_steps(
    X: Matrix,
    curve: Curve,
    table: Any,
    batches: Any,
    sizes: StepSizes,
    averaging: Averaging,
    bias_step: BiasStep,
    ball: Ball,
    weights: WeightArrays,
) -> int:
    w, mean, bias, mean_bias = written_out(weights)
    done, length = 0, square(weights)
    for eta, decay, batch in zip(*sizes, batches.astype(np.int64)):
        a, m = np.empty(len(batch)), margins_of(X, batch, w)
        c, t = table[batch, SIGNED_WEIGHT], table[batch, TARGET]
        bias = balanced_pulls(curve, m, c, t, bias, a)
        if mean.size:
            mean = averaging.keep * mean + averaging.gain * w
            mean_bias = averaging.keep * mean_bias + averaging.gain * bias
        w, length = decay * w, decay**2 * length
        for i, pull in zip(batch, a):
            table[i, VISITS] += 1.0
            table[i, PULLS] += pull
            length += add(X, i, eta / len(batch) * table[i, SIGNED_WEIGHT] * pull, w)
        length = square_of(X, w, length)
        share = min(1.0, ball.radius / max(np.sqrt(length), 1e-300))
        w, length = share * w, share**2 * length
        done += 1
        if np.sqrt(length) >= ball.leave_at:
            break
    store(weights, w, square_of(X, w, length), mean, bias, mean_bias)
    return done
