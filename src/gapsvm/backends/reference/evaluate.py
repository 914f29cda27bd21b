"""One look at all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.rows import count_rows, products, rows_of_values
from gapsvm.types.matrices import CSR, Dense

Curve = Any


def sq_norms(X: Dense | CSR, out: Any) -> None:
    if isinstance(X, Dense):
        out[:] = np.einsum("ij,ij->i", X.values, X.values, dtype=np.float64)
    else:
        out[:] = np.bincount(rows_of_values(X), X.data.astype(float) ** 2, count_rows(X))


def column_order(columns: Any, starts: Any) -> tuple[int, int]:
    falls = columns[1:] <= columns[:-1]
    between_rows = starts[(starts > 0) & (starts < columns.size)].astype(np.intp) - 1
    falls[between_rows] = False
    return int(columns.max()), int(np.sum(falls))


def margins(X: Dense | CSR, w: Any, out: Any) -> None:
    out[:] = products(X, w)


def combination(X: Dense | CSR, coef: Any, out: Any) -> None:
    add_rows(X, coef, out)


def add_rows(X: Dense | CSR, coef: Any, out: Any) -> None:
    """out += Σ coef_i x_i; w may have more rows than X has columns."""
    if isinstance(X, Dense):
        out[: X.values.shape[1]] += coef @ X.values
    else:
        out += np.bincount(X.indices, X.data * coef[rows_of_values(X)], out.size)


def normal_product(X: Dense | CSR, v: Any, scale: Any, out: Any) -> None:
    combination(X, scale * products(X, v), out)


def evaluate(
    X: Dense | CSR,
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
    coef = np.broadcast_to(scale * sign * weight * alpha, alpha.shape)
    margins[:] = products(X, w)
    add_rows(X, coef, combination)
    values = float(np.sum(weight * curve.value(sign * (margins + bias), t)))
    conjugates = float(np.sum(weight * curve.conjugate(alpha, t)))
    return values, conjugates, float(coef.sum())
