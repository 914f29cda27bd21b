"""Probabilities of the classes, for the loss whose scores are their logits."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.utils.metaestimators import available_if


def _is_logistic(classifier: Any) -> bool:
    if classifier.loss != "logistic":
        raise AttributeError(
            f"only loss='logistic' has probabilities, not loss={classifier.loss!r}; "
            "CalibratedClassifierCV makes some of decision_function"
        )
    return True


class ProbabilitiesMixin:
    """``predict_proba`` and its logarithm, there if ``loss`` is "logistic"."""

    decision_function: Any

    @available_if(_is_logistic)
    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, one column per class in the order of ``classes_``.

        Classes that were trained one against the rest are brought to the sum 1.
        """
        return np.exp(self.predict_log_proba(X))

    @available_if(_is_logistic)
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of ``predict_proba``, exact where a probability is too small for a number."""
        raw = self.decision_function(X)
        if raw.ndim == 1:
            return log_expit(np.stack([-raw, raw], axis=1))
        joint = getattr(self, "multi_class", "ovr") == "crammer_singer"
        return log_softmax(raw if joint else log_expit(raw), axis=1)
