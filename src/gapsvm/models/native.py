"""Linear models as safetensors with JSON metadata.

Reading checks every size against the file's length before anything is allocated, runs no code and
has no fallback: what is not a sound model is a ``ModelFormatError``.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

import numpy as np

from gapsvm.io.tensors import TensorFileError, read_tensors, write_tensors
from gapsvm.models.base import ModelFormatError, is_text
from gapsvm.models.linear import LinearModel

FORMAT = "gapsvm model"
VERSION = 2
"""1 had no ``label``."""

_REQUIRED_TENSORS = {"coef", "intercept", "primal", "dual"}
_CLASSES = "classes"  # an array, or for texts an entry of the metadata
_WIDEST = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64}
_TEXT_LIMIT = 1 << 26  # characters of an array of texts: all take as many as the longest
_LABEL_DTYPE = re.compile("bool|u?int(8|16|32|64)|float(16|32|64)|str|object")


def write_native(path: str | os.PathLike[str], model: LinearModel) -> None:
    """Write a model as safetensors with JSON metadata; the file appears complete or not at all."""
    tensors = {name: getattr(model, name) for name in sorted(_REQUIRED_TENSORS)}
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
        described["classes_dtype"] = _dtype_name(model.classes.dtype)
        if is_text(model.classes):
            described[_CLASSES] = model.classes.tolist()
        else:
            tensors[_CLASSES] = model.classes.astype(_WIDEST[model.classes.dtype.kind])
    try:
        text = json.dumps(described, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the model's metadata cannot be written as JSON: {error}") from error
    write_tensors(path, tensors, {"format": FORMAT, "format_version": str(VERSION), "model": text})


def _dtype_name(dtype: np.dtype) -> str:
    return {"U": "str", "O": "object"}.get(dtype.kind, dtype.name)


def read_native(path: str | os.PathLike[str]) -> LinearModel:
    try:
        tensors, texts = read_tensors(path)
    except TensorFileError as error:
        raise ModelFormatError(f"{path} is damaged or no model of gapsvm: {error}") from error
    if texts.get("format") != FORMAT:
        raise ModelFormatError(f"{path} holds {texts.get('format')!r}, not {FORMAT!r}")
    version = texts.get("format_version", "")
    if not re.fullmatch("[0-9]{1,9}", version):
        raise ModelFormatError(f"{path}: {version!r} is not a format version")
    if int(version) > VERSION:
        raise ModelFormatError(
            f"{path} was written by a newer gapsvm: its format version is {version}, and this one "
            f"reads versions up to {VERSION}"
        )
    try:
        described = json.loads(texts.get("model", ""), parse_constant=_no_constant)
        return _assembled(tensors, _Described(described))
    except (ValueError, OverflowError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not a sound model: {error}") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


class _Described:
    """The fields of the metadata, each taken once and with its type checked."""

    def __init__(self, fields: Any) -> None:
        if not isinstance(fields, dict):
            raise ValueError("its metadata is not a JSON object")
        self._fields = dict(fields)

    def take(self, name: str, *types: type) -> Any:
        if name not in self._fields:
            raise ValueError(f"field {name!r} is missing")
        value = self._fields.pop(name)
        if type(value) not in types:
            raise ValueError(f"field {name!r} has the wrong type {type(value).__name__}")
        return value

    def has(self, name: str) -> bool:
        return name in self._fields

    def end(self) -> None:
        if self._fields:
            raise ValueError(f"it has unknown fields: {', '.join(map(repr, self._fields))}")


def _assembled(tensors: dict[str, np.ndarray], described: _Described) -> LinearModel:
    missing = _REQUIRED_TENSORS - tensors.keys()
    unknown = tensors.keys() - _REQUIRED_TENSORS - {_CLASSES}
    if missing or unknown:
        wrong = f"lacks {sorted(missing)}" if missing else f"has unknown arrays {sorted(unknown)}"
        raise ValueError(f"it {wrong}")
    for name in _REQUIRED_TENSORS:
        if tensors[name].dtype != np.float64:
            raise ValueError(f"{name} must be float64, got {tensors[name].dtype}")
    classes = None
    if described.has("classes_dtype") or _CLASSES in tensors:
        dtype = described.take("classes_dtype", str)
        texts = described.take(_CLASSES, list) if described.has(_CLASSES) else None
        classes = _labels(tensors.get(_CLASSES), texts, dtype)
    lam = described.take("lam", float, int, type(None))
    names = described.take("feature_names", list, type(None))
    if not all(isinstance(name, str) for name in names or ()):
        raise ValueError("its feature names are not all texts")
    model = LinearModel(
        coef=tensors["coef"],
        intercept=tensors["intercept"],
        classes=classes,
        loss=described.take("loss", str),
        lam=lam if lam is None else float(lam),
        bias=described.take("bias", str),
        primal=tensors["primal"],
        dual=tensors["dual"],
        method=described.take("method", str),
        passes=float(described.take("passes", float, int)),
        status=described.take("status", str),
        feature_names=names,
        label=described.take("label", str, int, type(None)) if described.has("label") else None,
        metadata=described.take("metadata", dict),
    )
    described.end()
    return model


def _labels(numbers: np.ndarray | None, texts: list[Any] | None, dtype: str) -> np.ndarray:
    """The labels as they were before they were written."""
    if not _LABEL_DTYPE.fullmatch(dtype) or (numbers is None) == (texts is None):
        raise ValueError("its labels make no sense")
    if texts is not None:
        if dtype not in ("str", "object") or not all(isinstance(text, str) for text in texts):
            raise ValueError("its labels are not all texts")
        if dtype == "str" and max(map(len, texts), default=0) * len(texts) > _TEXT_LIMIT:
            raise ValueError("its labels are too long for an array of texts")
        return np.array(texts, dtype=dtype)
    assert numbers is not None
    with np.errstate(all="ignore"):
        labels = numbers.astype(dtype)
    if _WIDEST.get(labels.dtype.kind) != numbers.dtype or not np.array_equal(labels, numbers):
        raise ValueError(f"its labels do not fit {dtype}")
    return labels
