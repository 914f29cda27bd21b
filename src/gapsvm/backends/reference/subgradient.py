"""Primal subgradient steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.rows import Matrix, row
from gapsvm.types.steps import Averaging, Ball, BiasStep, StepSizes, WeightArrays
from gapsvm.types.tables import PULLS, SIGNED_WEIGHT, TARGET, VISITS

Curve = Any


def written_out(weights: WeightArrays) -> tuple[Any, Any, float, float]:
    """w, its average (empty without averaging), the bias and its average."""
    scale, _, bias, p, r, mean_bias = weights.scalars
    v, u = weights.v, weights.u
    return scale * v, p * v + r * u if u.size else u, bias, mean_bias


def store(weights: WeightArrays, w: Any, mean: Any, bias: float, mean_bias: float) -> None:
    weights.v[:], weights.u[:] = w, mean
    weights.scalars[:] = 1.0, np.sum(w * w), bias, 0.0, 1.0, mean_bias


def _projected(ball: Ball, w: Any, bias: float) -> tuple[Any, float]:
    norm = np.sqrt(w @ w + max(ball.bias_norm, 0.0) * bias**2)
    if norm > ball.radius:
        share = ball.radius / norm
        w, bias = w * share, bias * (share if ball.bias_norm > 0 else 1.0)
    if ball.bias_norm < 0 and ball.radius < np.inf:
        limit = 1 / np.sqrt(-ball.bias_norm)
        bias = min(max(bias, -limit), limit)
    return w, bias


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
    done = 0
    for eta, decay, batch in zip(*sizes, batches.astype(np.int64)):
        if mean.size:
            mean = averaging.keep * mean + averaging.gain * w
            mean_bias = averaging.keep * mean_bias + averaging.gain * bias
        step, total = np.zeros_like(w), 0.0
        for i in batch:
            columns, x = row(X, i)
            weight, z = table[i, SIGNED_WEIGHT], x @ w[columns] + bias
            a = float(curve.maximiser(z if weight >= 0 else -z, table[i, TARGET]))
            table[i, VISITS] += 1.0
            table[i, PULLS] += a
            pull = eta * weight * a / len(batch)
            step[columns] += pull * x
            total += pull
        w = decay * w + step
        bias = (decay if bias_step.decays else 1.0) * bias + bias_step.ratio * total
        w, bias = _projected(ball, w, bias)
        done += 1
        if np.sqrt(w @ w) >= ball.leave_at:
            break
    store(weights, w, mean, bias, mean_bias)
    return done


def balance(lam: float, square: float, curvature: float, total: Any) -> None:
    for t in range(total.size):
        before = curvature + lam
        curvature = total[t] = before + 0.5 * (np.sqrt(before**2 + square) - before)
