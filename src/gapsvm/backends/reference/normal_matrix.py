"""Xᵀ diag(ω) X."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.rows import Matrix, row


def normal_matrix(X: Matrix, omega: Any, n_features: int) -> Any:
    dense = np.zeros((omega.size, n_features))
    for i in range(omega.size):
        columns, x = row(X, i)
        dense[i, columns] = x
    return dense.T @ (omega[:, None] * dense)
