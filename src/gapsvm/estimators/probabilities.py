"""Probabilities of the classes, for the loss whose scores are their logits."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax


class _OfLogistic:
    """A method that is there if ``loss`` is "logistic"; else the AttributeError says what to do.

    scikit-learn's ``available_if`` hides such a sentence behind one that only names the method.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, classifier: Any, owner: type | None = None) -> Any:
        if classifier is None:
            return self.method
        if classifier.loss != "logistic":
            name = type(classifier).__name__
            raise AttributeError(
                f"{name}(loss={classifier.loss!r}) has no {self.method.__name__}: only the scores "
                f"of loss='logistic' are logits. Fit {name}(loss='logistic'), or wrap this one in "
                "sklearn.calibration.CalibratedClassifierCV"
            )
        return MethodType(self.method, classifier)


class ProbabilitiesMixin:
    """``predict_proba`` and its logarithm, there if ``loss`` is "logistic"."""

    decision_function: Any

    @_OfLogistic
    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, one column per class in the order of ``classes_``.

        Classes that were trained one against the rest are brought to the sum 1.
        """
        return np.exp(self.predict_log_proba(X))

    @_OfLogistic
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of ``predict_proba``, exact where a probability is too small for a number."""
        raw = self.decision_function(X)
        if raw.ndim == 1:
            return log_expit(np.stack([-raw, raw], axis=1))
        joint = getattr(self, "multi_class", "ovr") == "crammer_singer"
        return log_softmax(raw if joint else log_expit(raw), axis=1)
