"""Linear models as safetensors with JSON metadata.

Reading checks every size against the file's length before anything is allocated, runs no code and
has no fallback: what is not a sound model is a ``ModelFormatError``.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from gapsvm.models.base import ModelFormatError
from gapsvm.models.linear import LinearModel
from gapsvm.models.stored import (
    CLASSES,
    Described,
    check_arrays,
    read_described,
    store_labels,
    stored_labels,
    stored_lam,
    stored_names,
    write_described,
)

FORMAT = "gapsvm model"
VERSION = 2
"""1 had no ``label``."""

_ARRAYS = {"coef", "intercept", "primal", "dual"}


def write_native(path: str | os.PathLike[str], model: LinearModel) -> None:
    """Write a model as safetensors with JSON metadata; the file appears complete or not at all."""
    tensors = {name: getattr(model, name) for name in sorted(_ARRAYS)}
    described: dict[str, Any] = {
        "loss": model.loss,
        "lam": model.lam,
        "bias": model.bias,
        "method": model.method,
        "passes": model.passes,
        "status": model.status,
        "feature_names": model.feature_names,
        "label": model.label,
        "metadata": model.metadata,
    }
    if model.classes is not None:
        store_labels(model.classes, tensors, described)
    write_described(path, (FORMAT, VERSION), tensors, described)


def read_native(path: str | os.PathLike[str]) -> LinearModel:
    tensors, described = read_described(path, (FORMAT, VERSION))
    try:
        return _assembled(tensors, described)
    except (ValueError, OverflowError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not a sound model: {error}") from error


def _assembled(tensors: dict[str, np.ndarray], described: Described) -> LinearModel:
    check_arrays(tensors, _ARRAYS, {CLASSES}, _ARRAYS)
    model = LinearModel(
        coef=tensors["coef"],
        intercept=tensors["intercept"],
        classes=stored_labels(tensors, described),
        loss=described.take("loss", str),
        lam=stored_lam(described),
        bias=described.take("bias", str),
        primal=tensors["primal"],
        dual=tensors["dual"],
        method=described.take("method", str),
        passes=float(described.take("passes", float, int)),
        status=described.take("status", str),
        feature_names=stored_names(described),
        label=described.take("label", str, int, type(None)) if described.has("label") else None,
        metadata=described.take("metadata", dict),
    )
    described.end()
    return model
