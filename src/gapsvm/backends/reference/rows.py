"""A row of a matrix, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.types.matrices import CSR, Dense

Matrix = Dense | CSR


def row(X: Matrix, i: int) -> tuple[Any, Any]:
    """Columns and float64 values of row i."""
    if isinstance(X, Dense):
        return slice(None), X.values[i].astype(float)
    inside = slice(int(X.indptr[i]), int(X.indptr[i + 1]))
    return X.indices[inside], X.data[inside].astype(float)


def entries(X: Matrix, i: int) -> tuple[Any, Any]:
    """As ``row``, with columns numbered one by one: of a w that has more rows than X columns."""
    columns, x = row(X, i)
    return (np.arange(len(x)) if isinstance(columns, slice) else columns), x


def count_rows(X: Matrix) -> int:
    return len(X.values) if isinstance(X, Dense) else len(X.indptr) - 1


def margins_of(X: Matrix, rows: Any, w: Any) -> Any:
    """⟨x_i, w⟩ of those rows."""
    return np.array([x @ w[columns] for columns, x in (row(X, int(i)) for i in rows)])
