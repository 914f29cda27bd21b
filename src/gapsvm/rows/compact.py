"""A small matrix feature by feature, in float64, in as few features as its rows span.

More columns than rows are turned into as many as there are rows: Xᵀ = QR has rows Rᵀ with the same
products, and a w of theirs stands for Qw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends.memory import zeros

_LINE = 8
"""Numbers in a cache line."""


@dataclass(frozen=True)
class Compact:
    """Features of rows, and the way back to their columns.

    Parameters
    ----------
    features : array, d × n or wider
        Each begins at a cache line.
    mean : array or None
        What was taken off the columns.
    basis : array or None
        Q, where there were more columns than rows.
    """

    features: Any
    mean: Any
    basis: Any

    def with_constant(self, value: float) -> Any:
        """The features and one more of that value."""
        d, wide = self.features.shape
        features = zeros((d + 1, wide))
        features[:d], features[d] = self.features, value
        return features

    def outward(self, w: Any, bias: float) -> tuple[Any, float]:
        """Weights of columns and bias for those of features."""
        full = w if self.basis is None else self.basis @ w
        return full, bias - (0.0 if self.mean is None else float(self.mean @ full))

    def inward(self, w: Any, bias: float) -> tuple[Any, float]:
        """Weights of features and bias for those of columns."""
        own = w if self.basis is None else w @ self.basis
        return own, bias + (0.0 if self.mean is None else float(self.mean @ w))


def compact(X: Any, *, centred: bool = False) -> Compact:
    """A dense array or a SciPy matrix, small enough to be copied."""
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    dense = np.asarray(dense, dtype=np.float64)
    mean = dense.mean(axis=0) if centred else None
    if mean is not None:
        dense = dense - mean
    basis, transposed = None, dense.T
    n, d = dense.shape
    if d > n:
        basis, transposed = np.linalg.qr(transposed)
    features = zeros((len(transposed), -(-n // _LINE) * _LINE))
    features[:, :n] = transposed
    return Compact(features, mean, basis)
