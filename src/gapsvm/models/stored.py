"""What the files of all our models share: safetensors, and JSON whose every field is checked."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import numpy as np

from gapsvm.io.tensors import TensorFileError, read_tensors, write_tensors
from gapsvm.models.base import ModelFormatError, is_text

CLASSES = "classes"  # an array, or for texts an entry of the metadata
_WIDEST = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64}
_TEXT_LIMIT = 1 << 26  # characters of an array of texts: all take as many as the longest
_LABEL_DTYPE = re.compile("bool|u?int(8|16|32|64)|float(16|32|64)|str|object")


def write_described(
    path: str | os.PathLike[str],
    form: tuple[str, int],
    tensors: dict[str, np.ndarray],
    described: dict[str, Any],
) -> None:
    """Write arrays and fields in a format and version; the file appears complete or not at all."""
    try:
        text = json.dumps(described, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the model's metadata cannot be written as JSON: {error}") from error
    name, version = form
    write_tensors(path, tensors, {"format": name, "format_version": str(version), "model": text})


def read_described(
    path: str | os.PathLike[str], form: tuple[str, int]
) -> tuple[dict[str, np.ndarray], Described]:
    """Read what ``write_described`` wrote, in that version or an earlier one."""
    try:
        tensors, texts = read_tensors(path)
    except TensorFileError as error:
        raise ModelFormatError(f"{path} is damaged or no model of gapsvm: {error}") from error
    name, newest = form
    if texts.get("format") != name:
        raise ModelFormatError(f"{path} holds {texts.get('format')!r}, not {name!r}")
    version = texts.get("format_version", "")
    if not re.fullmatch("[0-9]{1,9}", version):
        raise ModelFormatError(f"{path}: {version!r} is not a format version")
    if int(version) > newest:
        raise ModelFormatError(
            f"{path} was written by a newer gapsvm: its format version is {version}, and this one "
            f"reads versions up to {newest}"
        )
    try:
        return tensors, Described(json.loads(texts.get("model", ""), parse_constant=_no_constant))
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not a sound model: {error}") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


class Described:
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


def store_labels(
    classes: np.ndarray, tensors: dict[str, np.ndarray], described: dict[str, Any]
) -> None:
    """Labels into arrays or, if they are texts, fields."""
    kind = classes.dtype.kind
    described["classes_dtype"] = {"U": "str", "O": "object"}.get(kind, classes.dtype.name)
    if is_text(classes):
        described[CLASSES] = classes.tolist()
    else:
        tensors[CLASSES] = classes.astype(_WIDEST[kind])


def stored_labels(tensors: dict[str, np.ndarray], described: Described) -> np.ndarray | None:
    """The labels as they were before they were written; None if there are none."""
    if not described.has("classes_dtype") and CLASSES not in tensors:
        return None
    dtype = described.take("classes_dtype", str)
    texts = described.take(CLASSES, list) if described.has(CLASSES) else None
    return _labels(tensors.get(CLASSES), texts, dtype)


def check_arrays(
    tensors: dict[str, np.ndarray], required: set[str], possible: set[str], reals: set[str]
) -> None:
    """Raise a ValueError unless there are the required arrays and no others than the possible;
    ``reals`` must be float64."""
    missing, unknown = required - tensors.keys(), tensors.keys() - required - possible
    if missing or unknown:
        wrong = f"lacks {sorted(missing)}" if missing else f"has unknown arrays {sorted(unknown)}"
        raise ValueError(f"it {wrong}")
    for name in reals:
        if tensors[name].dtype != np.float64:
            raise ValueError(f"{name} must be float64, got {tensors[name].dtype}")


def stored_names(described: Described) -> list[str] | None:
    """Feature names."""
    names: list[str] | None = described.take("feature_names", list, type(None))
    if not all(isinstance(name, str) for name in names or ()):
        raise ValueError("its feature names are not all texts")
    return names


def stored_lam(described: Described) -> float | None:
    lam = described.take("lam", float, int, type(None))
    return lam if lam is None else float(lam)


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
