"""Several classes at once: scores, combinations and subgradient steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.rows import Matrix, count_rows, row
from gapsvm.backends.reference.subgradient import square, store, written_out
from gapsvm.types.curves import MulticlassCurve
from gapsvm.types.matrices import CoefficientRows
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
    (w, mean, _, _), length = written_out(weights), square(weights)
    for eta, decay, batch in zip(*sizes, batches.astype(np.int64)):
        if mean.size:
            mean = averaging.keep * mean + averaging.gain * w
        pulls = []
        for i in batch:
            a = curve.maximiser(_scores(X, i, w) + constant * w[-1], labels.y[i])
            table[i, 0] += 1.0
            table[i, 1:] += a
            pull = eta * labels.weight[i] / len(batch) * (np.eye(len(a))[labels.y[i]] - a)
            pulls.append(pull)
        w, length = decay * w, decay**2 * length
        for i, pull in zip(batch, pulls):
            length += _push(X, i, pull, constant, w)
        length = length if isinstance(X, CoefficientRows) else float(np.sum(w * w))
        if np.sqrt(length) > radius:
            w, length = w * (radius / np.sqrt(length)), radius**2
    store(weights, w, length, mean, 0.0, 0.0)


def _scores(X: Matrix, i: int, w: Any) -> Any:
    if isinstance(X, CoefficientRows):
        return X.values[X.place[i]] @ w[X.columns]
    columns, x = row(X, i)
    return x @ w[:-1][columns]


def _push(X: Matrix, i: int, pull: Any, constant: float, w: Any) -> float:
    """w += x_i pullᵀ; returns the growth of the squared norm."""
    before = _scores(X, i, w)
    if isinstance(X, CoefficientRows):
        w[i] += pull
        return float(pull @ (2.0 * before + pull * X.diagonal[i]))
    columns, x = row(X, i)
    w[:-1][columns] += np.outer(x, pull)
    w[-1] += constant * pull
    return 0.0
