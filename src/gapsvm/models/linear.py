"""Linear models: what predicts, whatever it was trained by."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapsvm.models.base import is_numeric, is_text
from gapsvm.rows.matrix import Rows, checked_rows

_BIASES = ("none", "penalized", "free")


@dataclass(frozen=True, eq=False)
class LinearModel:
    """One linear function per class, or a single one for two classes and for regression.

    Parameters
    ----------
    coef : array of shape (k, d)
    intercept : array of shape (k,)
    classes : array of labels, or None for regression
        Two labels (k = 1): a score above zero means the second.  Otherwise one label for each row
        of ``coef``: the largest score wins.
    loss : str
        Its name in ``gapsvm.losses.family.LOSSES``, or "" if it is not one of them.
    lam : float, optional
        λ, where it is known.
    bias : "none", "penalized" or "free"
    primal, dual : arrays of shape (k,)
        The certificate: values of the objective and of its lower bound; NaN where nothing is
        proved.
    method : str
        What found the weights.
    passes : float
        Over the data.
    status : str
        How the fit ended, a name of ``gapsvm.solvers.trace.Status``; "" if that is not known.
    feature_names : list of d texts, optional
    label : text or int, optional
        Name of the label column of the table that it was trained on, or its number from 0 if the
        table had no names.
    metadata : dict
        Anything else that JSON can hold.
    """

    coef: Any
    intercept: Any
    classes: Any = None
    loss: str = ""
    lam: float | None = None
    bias: str = "none"
    primal: Any = math.nan
    dual: Any = math.nan
    method: str = ""
    passes: float = 0.0
    status: str = ""
    feature_names: list[str] | None = None
    label: str | int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        coef = np.ascontiguousarray(self.coef, dtype=np.float64)
        if coef.ndim != 2:
            raise ValueError(f"coef must have two dimensions, got shape {coef.shape}")
        k = coef.shape[0]
        columns = {"coef": coef}
        for name in ("intercept", "primal", "dual"):
            numbers = np.asarray(getattr(self, name), dtype=np.float64)
            columns[name] = np.full(k, numbers) if numbers.ndim == 0 else numbers.copy()
            if columns[name].shape != (k,):
                raise ValueError(f"{name} must have shape ({k},), got {columns[name].shape}")
        for name in ("coef", "intercept"):
            if not np.isfinite(columns[name]).all():
                raise ValueError(f"{name} contains NaN or infinity")
        for name, array in columns.items():
            object.__setattr__(self, name, array)
        if self.classes is not None:
            object.__setattr__(self, "classes", np.asarray(self.classes))
            self._check_classes()
        elif k != 1:
            raise ValueError(f"a regression model has one row of coefficients, not {k}")
        names = self.feature_names
        if names is not None and len(names) != coef.shape[1]:
            raise ValueError(f"there are {len(names)} feature names for {coef.shape[1]} features")
        if self.bias not in _BIASES:
            raise ValueError(f"bias must be one of {', '.join(_BIASES)}, got {self.bias!r}")

    def _check_classes(self) -> None:
        if self.classes.ndim != 1 or not (is_text(self.classes) or is_numeric(self.classes)):
            raise ValueError("classes must be a list of integers, floats, booleans or strings")
        if len(np.unique(self.classes)) != len(self.classes):
            raise ValueError("classes contains a label twice")
        n_classes, k = len(self.classes), self.coef.shape[0]
        if k != (1 if n_classes == 2 else n_classes):
            raise ValueError(f"coef has {k} rows, which does not fit {n_classes} classes")

    @property
    def n_features(self) -> int:
        return self.coef.shape[1]

    @property
    def gap(self) -> Any:
        """P − D for each row of ``coef``: how far its objective can be from the minimum."""
        return self.primal - self.dual

    def decision_function(self, X: Any) -> Any:
        """⟨x, w⟩ + b for rows dense or CSR: shape (n,), or (n, k) if there are k > 1 functions.

        X may be memory-mapped: it is read a little at a time, and never copied as a whole.
        Products are BLAS's and SciPy's, so that nobody waits for a compiler.
        """
        from gapsvm.backends import get_backend

        rows = checked_rows(X, get_backend("reference"))
        n, d = rows.shape
        if d != self.n_features:
            raise ValueError(f"X has {d} features, but the model has {self.n_features}")
        scores = np.empty((self.coef.shape[0], n))
        for part in rows.pieces:
            shape = (part.stop - part.start, d)
            piece = Rows(rows.confirmed(part), shape).to_scipy()
            scores[:, part] = (piece @ self.coef.T).T + self.intercept[:, None]
        return scores[0] if len(scores) == 1 else scores.T

    def predict(self, X: Any) -> Any:
        """The label of each row; for regression the number itself."""
        scores = self.decision_function(X)
        if self.classes is None:
            return scores
        if len(self.classes) == 2:
            return self.classes[(scores > 0).astype(np.intp)]
        return self.classes[scores.reshape(-1, len(self.classes)).argmax(axis=1)]
