"""Several classes at once: scores, combinations and subgradient steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.rows import Matrix, count_rows, row
from gapsvm.backends.reference.subgradient import store, written_out
from gapsvm.types.curves import MulticlassCurve
from gapsvm.types.steps import Averaging, Labels, StepSizes, WeightArrays


def multiclass_scores(X: Matrix, w: Any, constant: float, out: Any) -> None:
    for i in range(count_rows(X)):
        columns, x = row(X, i)
        out[i] = x @ w[:-1][columns] + constant * w[-1]


def multiclass_combination(X: Matrix, coef: Any, constant: float, out: Any) -> None:
    for i in range(count_rows(X)):
        columns, x = row(X, i)
        out[:-1][columns] += np.outer(x, coef[i])
        out[-1] += constant * coef[i]


def multiclass_steps(
    X: Matrix,
    curve: MulticlassCurve,
    labels: Labels,
    batches: Any,
    sizes: StepSizes,
    averaging: Averaging,
    constant: float,
    radius: float,
    table: Any,
    weights: WeightArrays,
) -> None:
    w, mean, _, _ = written_out(weights)
    for eta, decay, batch in zip(*sizes, batches.astype(np.int64)):
        if mean.size:
            mean = averaging.keep * mean + averaging.gain * w
        step = np.zeros_like(w)
        for i in batch:
            columns, x = row(X, i)
            a = curve.maximiser(x @ w[:-1][columns] + constant * w[-1], labels.y[i])
            table[i, 0] += 1.0
            table[i, 1:] += a
            pull = eta * labels.weight[i] / len(batch) * (np.eye(len(a))[labels.y[i]] - a)
            step[:-1][columns] += np.outer(x, pull)
            step[-1] += constant * pull
        w = decay * w + step
        norm = np.sqrt(np.sum(w * w))
        if norm > radius:
            w = w * (radius / norm)
    store(weights, w, float(np.sum(w * w)), mean, 0.0, 0.0)
