"""The logistic loss, log(1 + e^−z): smooth, and not of the family of five numbers.

Its conjugate is −H(a), the entropy; its dual step has no closed form (Newton in a bracket).
"""

from __future__ import annotations

from gapsvm.losses.base import Loss
from gapsvm.types.curves import Logit


def logistic() -> Loss:
    """The logistic loss."""
    return Loss("logistic", "margin", Logit())


LOSS = ("logistic", logistic, "log(1 + e^−z)")
"""What a module of this package registers."""
