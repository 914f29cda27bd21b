"""A row of a matrix, dense or sparse, or of a kernel matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.types.matrices import CSR, CoefficientRows, Dense, MarginRows

Matrix = Dense | CSR | CoefficientRows | MarginRows


def row(X: Any, i: int) -> tuple[Any, Any]:
    """Columns and float64 values of row i."""
    if isinstance(X, Dense):
        return slice(None), X.values[i].astype(float)
    inside = slice(int(X.indptr[i]), int(X.indptr[i + 1]))
    return X.indices[inside], X.data[inside].astype(float)


def entries(X: Any, i: int) -> tuple[Any, Any]:
    """As ``row``, with columns numbered one by one: of a w that has more rows than X columns."""
    columns, x = row(X, i)
    return (np.arange(len(x)) if isinstance(columns, slice) else columns), x


def count_rows(X: Any) -> int:
    return len(X.values) if isinstance(X, Dense) else len(X.indptr) - 1


def dot(X: Matrix, i: int, w: Any) -> float:
    """⟨x_i, w⟩."""
    if isinstance(X, MarginRows):
        return float(w[i])
    if isinstance(X, CoefficientRows):
        return float(X.values[X.place[i]] @ w[X.columns])
    columns, x = row(X, i)
    return float(x @ w[columns])


def add(X: Matrix, i: int, scale: float, w: Any) -> float:
    """w += scale·x_i; returns by how much ‖w‖² has grown."""
    before = dot(X, i, w)
    if isinstance(X, CoefficientRows):
        w[i] += scale
        return scale * (2.0 * before + scale * float(X.diagonal[i]))
    if isinstance(X, MarginRows):
        w[X.columns] += scale * X.values[X.place[i]]
        return scale * (2.0 * before + scale * float(X.values[X.place[i], X.place[i]]))
    columns, x = row(X, i)
    w[columns] += scale * x
    return scale * (2.0 * before + scale * float(x @ x))


def square_of(X: Matrix, w: Any, grown: float) -> float:
    """‖w‖², of a function what it has grown to."""
    return grown if isinstance(X, CoefficientRows | MarginRows) else float(w @ w)


def margins_of(X: Matrix, rows: Any, w: Any) -> Any:
    """⟨x_i, w⟩ of those rows."""
    return np.array([dot(X, int(i), w) for i in rows])


def rows_of_values(X: CSR) -> Any:
    """The row of each stored value."""
    return np.repeat(np.arange(count_rows(X)), X.indptr[1:].astype(int) - X.indptr[:-1].astype(int))


def products(X: Dense | CSR, w: Any) -> Any:
    """⟨x_i, w⟩ of every row; w may have more rows than X has columns."""
    if isinstance(X, Dense):
        return X.values @ w[: X.values.shape[1]]
    return np.bincount(rows_of_values(X), X.data * w[X.indices], count_rows(X))
