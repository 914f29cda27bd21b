"""What goes wrong with model files, and what labels may be."""

from __future__ import annotations

import numpy as np


class ModelFormatError(ValueError):
    """A file that is not a sound model; the message names the file and what is wrong with it."""


def is_text(labels: np.ndarray) -> bool:
    """Texts of NumPy's own, or Python's in an array of objects, as pandas hands them over."""
    if labels.dtype.kind == "O":
        return all(isinstance(label, str) for label in labels)
    return labels.dtype.kind == "U"


def is_numeric(labels: np.ndarray) -> bool:
    return labels.dtype.kind in "biuf" and labels.dtype.itemsize <= 8
