"""One look at all rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gapsvm.backends.reference.rows import Matrix, count_rows, row

Curve = Any


def _each(x: Any, i: int) -> float:
    return float(x[i] if x.size > 1 else x[0])


def sq_norms(X: Matrix, out: Any) -> None:
    for i in range(count_rows(X)):
        _, x = row(X, i)
        out[i] = x @ x


def column_order(columns: Any, starts: Any) -> tuple[int, int]:
    rows = [columns[int(first) : int(last)] for first, last in pairwise(starts)]
    return int(columns.max()), sum(int(np.sum(row[1:] <= row[:-1])) for row in rows)


def margins(X: Matrix, w: Any, out: Any) -> None:
    for i in range(count_rows(X)):
        columns, x = row(X, i)
        out[i] = x @ w[columns]


def combination(X: Matrix, coef: Any, out: Any) -> None:
    for i in range(count_rows(X)):
        columns, x = row(X, i)
        out[columns] += coef[i] * x


def normal_product(X: Matrix, v: Any, scale: Any, out: Any) -> None:
    for i in range(count_rows(X)):
        columns, x = row(X, i)
        out[columns] += _each(scale, i) * (x @ v[columns]) * x


def evaluate(
    X: Matrix,
    curve: Curve,
    w: Any,
    bias: float,
    alpha: Any,
    sign: Any,
    t: Any,
    weight: Any,
    scale: float,
    margins: Any,
    combination: Any,
) -> tuple[float, float, float]:
    coef = scale * sign * weight * alpha
    for i in range(count_rows(X)):
        columns, x = row(X, i)
        margins[i] = x @ w[columns]
        combination[columns] += coef[i] * x
    values = float(np.sum(weight * curve.value(sign * (margins + bias), t)))
    conjugates = float(np.sum(weight * curve.conjugate(alpha, t)))
    return values, conjugates, float(coef.sum())
