"""Primal subgradient steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.rows import Matrix, add, dot, square_of
from gapsvm.types.steps import Averaging, Ball, BiasStep, StepSizes, WeightArrays
from gapsvm.types.tables import PULLS, SIGNED_WEIGHT, TARGET, VISITS

Curve = Any


def written_out(weights: WeightArrays) -> tuple[Any, Any, float, float]:
    """w, its average (empty without averaging), the bias and its average."""
    scale, _, bias, p, r, mean_bias = weights.scalars
    v, u = weights.v, weights.u
    return scale * v, p * v + r * u if u.size else u, bias, mean_bias


def square(weights: WeightArrays) -> float:
    """‖w‖²."""
    return float(weights.scalars[0] ** 2 * weights.scalars[1])


def store(
    weights: WeightArrays, w: Any, square: float, mean: Any, bias: float, mean_bias: float
) -> None:
    weights.v[:], weights.u[:] = w, mean
    weights.scalars[:] = 1.0, square, bias, 0.0, 1.0, mean_bias


def _share(ball: Ball, square: float, bias: float) -> float:
    """Of (w, b) that is left of it in the ball."""
    norm = np.sqrt(square + max(ball.bias_norm, 0.0) * bias**2)
    return float(ball.radius / norm) if norm > ball.radius else 1.0


def _projected(ball: Ball, share: float, bias: float) -> float:
    bias *= share if ball.bias_norm > 0 else 1.0
    if ball.bias_norm < 0 and ball.radius < np.inf:
        limit = 1 / np.sqrt(-ball.bias_norm)
        bias = min(max(bias, -limit), limit)
    return bias


def subgradient_steps(
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
        if mean.size:
            mean = averaging.keep * mean + averaging.gain * w
            mean_bias = averaging.keep * mean_bias + averaging.gain * bias
        pulls = np.empty(len(batch))
        for j, i in enumerate(batch):
            weight, z = table[i, SIGNED_WEIGHT], dot(X, i, w) + bias
            a = float(curve.maximiser(z if weight >= 0 else -z, table[i, TARGET]))
            table[i, VISITS] += 1.0
            table[i, PULLS] += a
            pulls[j] = eta * weight * a / len(batch)
        w, length = decay * w, decay**2 * length
        length += sum(add(X, i, pull, w) for i, pull in zip(batch, pulls))
        bias = (decay if bias_step.decays else 1.0) * bias + bias_step.ratio * pulls.sum()
        length = square_of(X, w, length)
        share = _share(ball, length, bias)
        w, length, bias = share * w, share**2 * length, _projected(ball, share, bias)
        done += 1
        if np.sqrt(length) >= ball.leave_at:
            break
    store(weights, w, square_of(X, w, length), mean, bias, mean_bias)
    return done


def balance(lam: float, square: float, curvature: float, total: Any) -> None:
    for t in range(total.size):
        before = curvature + lam
        curvature = total[t] = before + 0.5 * (np.sqrt(before**2 + square) - before)
