"""What a user hands over as X, checked before anything reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from gapsvm.backends.structure import as_csr, check_structure
from gapsvm.system.checksums import confirm

FLOATS = [np.float64, np.float32]


def rows_to_learn(estimator: Any, X: Any, **options: Any) -> Any:
    """As scikit-learn checks them, not yet whether CSR rows hold together or numbers are finite:
    whoever computes with them looks, and says where."""
    return validate_data(
        estimator,
        _converted(X),
        accept_sparse="csr",
        dtype=FLOATS,
        order="C",
        accept_large_sparse=True,
        ensure_all_finite=False,
        **options,
    )


def rows_to_predict(estimator: Any, X: Any, **options: Any) -> Any:
    """Rows for a product by SciPy, which does not look where indices point."""
    X = _converted(X)
    if sp.issparse(X):
        confirm(X.indices)
        confirm(X.data)
        check_structure(X)
    return validate_data(estimator, X, accept_sparse="csr", dtype=FLOATS, reset=False, **options)


def _converted(X: Any) -> Any:
    return as_csr(X) if sp.issparse(X) else X
