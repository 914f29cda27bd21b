"""Kernel machines in LIBSVM's text format."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from gapsvm.models.base import ModelFormatError, is_text
from gapsvm.models.support_vectors import SupportVectorModel
from gapsvm.system.atomic import replacing
from gapsvm.system.lazy import sparse as sp
from gapsvm.system.regular import open_regular
from gapsvm.types.mercer import Gaussian, Linear, Polynomial, Sigmoid

_KERNEL_TYPES: dict[str, Any] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "rbf": Gaussian,
    "sigmoid": Sigmoid,
}
_CLASSIFICATION, _REGRESSION = ("c_svc", "nu_svc"), ("epsilon_svr", "nu_svr")
_ONE = {"svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv"}
_SEVERAL = {"rho", "label", "nr_sv", "probA", "probB", "prob_density_marks"}
_LAST_INT32 = 2**31 - 1
_LINE_LIMIT = 1 << 26  # bytes of a line
_VECTORS_PER_WRITE = 1 << 10


def write_libsvm(path: str | os.PathLike[str], model: SupportVectorModel) -> None:
    """Write a kernel machine in LIBSVM's text format; ``svm-predict`` then gives the same answers.

    The format keeps neither the certificate nor λ nor the loss, and labels only as integers.

    Parameters
    ----------
    path
        The file to write or replace; it appears complete or not at all.
    model : SupportVectorModel
        ``SVC.as_model()``, ``SVR.as_model()``, or what ``read_libsvm`` returned.

    Raises
    ------
    ValueError
        The kernel, the labels or a machine for each of several classes have no place there.
    """
    kinds = {kind: name for name, kind in _KERNEL_TYPES.items()}
    if type(model.kernel) not in kinds:
        raise ValueError(
            f"LIBSVM has no kernel {type(model.kernel).__name__}; it has {', '.join(_KERNEL_TYPES)}"
        )
    k = 2 if model.classes is None else len(model.classes)
    if k > 2 and model.counts is None:
        raise ValueError("LIBSVM takes one class against one; this is one against all others")
    lines = [
        f"svm_type {_REGRESSION[0] if model.classes is None else _CLASSIFICATION[0]}",
        f"kernel_type {kinds[type(model.kernel)]}",
        *(f"{name} {value!r}" for name, value in model.kernel._asdict().items()),
        f"nr_class {k}",
        f"total_sv {model.vectors.shape[0]}",
        f"rho {' '.join(repr(float(-b)) for b in np.ravel(model.intercept))}",
    ]
    order = np.arange(model.vectors.shape[0])
    if model.classes is not None:
        labels, counts = _integer_labels(model.classes), model.counts
        if k == 2:  # a positive value means the first label there, the second here
            labels.reverse()
            positive = np.asarray(model.coef)[0] > 0
            order = np.concatenate([np.flatnonzero(positive), np.flatnonzero(~positive)])
            counts = [np.count_nonzero(positive), np.count_nonzero(~positive)]
        lines.append(f"label {' '.join(map(str, labels))}")
        lines.append(f"nr_sv {' '.join(str(int(count)) for count in counts)}")
    vectors, coef = sp.csr_matrix(model.vectors)[order], np.asarray(model.coef)[:, order]
    with replacing(path) as file:
        file.write("".join(f"{line}\n" for line in [*lines, "SV"]).encode())
        for text in _vector_lines(vectors, coef):
            file.write(text)


def _integer_labels(classes: np.ndarray) -> list[int]:
    if is_text(classes):
        raise ValueError(f"LIBSVM's labels are integers, not texts such as {str(classes[0])!r}")
    labels = [int(label) for label in classes]
    if labels != classes.tolist() or max(map(abs, labels), default=0) > _LAST_INT32:
        raise ValueError("LIBSVM's labels are integers of 32 bits; some classes are not")
    return labels


def _vector_lines(vectors: Any, coef: Any) -> Iterator[bytes]:
    """A line for each vector; numbers are the shortest that read back equal."""
    vectors.sort_indices()
    values, places = vectors.data.astype(np.float64).tolist(), (vectors.indices + 1).tolist()
    ends = vectors.indptr.tolist()
    for start in range(0, vectors.shape[0], _VECTORS_PER_WRITE):
        lines = []
        for i in range(start, min(start + _VECTORS_PER_WRITE, vectors.shape[0])):
            columns = range(ends[i], ends[i + 1])
            words = [repr(float(c)) for c in coef[:, i]]
            words += [f"{places[j]}:{values[j]!r}" for j in columns]
            lines.append(" ".join(words) + " \n")
        yield "".join(lines).encode()


def read_libsvm(path: str | os.PathLike[str], n_features: int | None = None) -> SupportVectorModel:
    """Read a kernel machine in LIBSVM's text format, of classification or regression.

    Parameters
    ----------
    path
        The file to read.
    n_features : int, optional
        Columns of the rows to predict; by default the last feature that a support vector has.

    Raises
    ------
    ModelFormatError
        A ValueError that names the file and what is wrong with it.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            fields = _read_header(file)
            return _read_model(file, fields, size, n_features)
    except (ValueError, OverflowError) as error:
        raise ModelFormatError(f"{path} is not a sound LIBSVM model: {error}") from error


def _read_header(file: IO[bytes]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    while (line := file.readline(_LINE_LIMIT)).split() != [b"SV"]:
        if not line.endswith(b"\n"):
            raise ModelFormatError("the line 'SV', after which the vectors follow, is missing")
        name, *words = line.decode("ascii").split() or [""]
        if name not in _ONE | _SEVERAL:
            raise ModelFormatError(f"{name[:40]!r} is not a field of a LIBSVM model")
        if name in fields:
            raise ModelFormatError(f"{name} is there twice")
        if name in _ONE and len(words) != 1:
            raise ModelFormatError(f"{name} must have one value")
        fields[name] = words
    for name in ("svm_type", "kernel_type", "nr_class", "total_sv", "rho"):
        if name not in fields:
            raise ModelFormatError(f"{name} is missing")
    return fields


def _kernel(fields: dict[str, list[str]]) -> Any:
    name = fields["kernel_type"][0]
    if name not in _KERNEL_TYPES:
        raise ModelFormatError(f"kernel_type {name!r} is none of {', '.join(_KERNEL_TYPES)}")
    numbers: dict[str, Any] = {}
    for parameter in _KERNEL_TYPES[name]._fields:
        if parameter not in fields:
            raise ModelFormatError(f"{parameter} is missing")
        word = fields[parameter][0]
        numbers[parameter] = _integer(word) if parameter == "degree" else _number(word)
    return _KERNEL_TYPES[name](**numbers)


def _read_model(
    file: IO[bytes], fields: dict[str, list[str]], size: int, n_features: int | None
) -> SupportVectorModel:
    kind, kernel = fields["svm_type"][0], _kernel(fields)
    if kind not in _CLASSIFICATION + _REGRESSION:
        raise ModelFormatError(f"svm_type {kind!r} is none that gapsvm has")
    k, total = _integer(fields["nr_class"][0]), _integer(fields["total_sv"][0])
    if k < 2 or total < 0:
        raise ModelFormatError("nr_class must be at least 2, and total_sv not negative")
    if total * (k - 1) > size or k * (k - 1) // 2 > size:
        raise ModelFormatError(f"it declares {total} vectors of {k} classes; the file is too short")
    intercept = -np.array([_number(word) for word in fields["rho"]])
    if intercept.size != k * (k - 1) // 2:
        raise ModelFormatError(f"rho has {intercept.size} values for {k} classes")
    coef, vectors = _read_vectors(file, total, k - 1, n_features)
    how: dict[str, Any] = {"bias": "free", "method": "libsvm", "metadata": {"svm_type": kind}}
    if kind in _REGRESSION:
        return SupportVectorModel(kernel, vectors, coef, intercept, **how)
    labels = np.array([_integer(word) for word in fields.get("label", [])], dtype=np.int64)
    counts = np.array([_integer(word) for word in fields.get("nr_sv", [])], dtype=np.int64)
    if labels.size != k or counts.size != k or counts.sum() != total or np.any(counts < 0):
        raise ModelFormatError(f"label and nr_sv do not fit {k} classes and {total} vectors")
    if k == 2:
        return SupportVectorModel(kernel, vectors, coef, intercept, labels[::-1].copy(), **how)
    return SupportVectorModel(kernel, vectors, coef, intercept, labels, counts, **how)


def _read_vectors(
    file: IO[bytes], total: int, n_coef: int, n_features: int | None
) -> tuple[Any, Any]:
    """Coefficients, a row for each function, and the vectors as CSR."""
    coef = np.empty((n_coef, total))
    places: list[int] = []
    values: list[float] = []
    ends = [0]
    for i in range(total):
        words = _line(file, i, total).split()
        if len(words) < n_coef:
            raise ModelFormatError(f"vector {i + 1} has {len(words)} of {n_coef} coefficients")
        coef[:, i] = [_number(word) for word in words[:n_coef]]
        last = 0
        for word in words[n_coef:]:
            index, _, value = word.partition(":")
            place = _integer(index)
            if place <= last:
                raise ModelFormatError(f"features of vector {i + 1} are not in order, from 1")
            last = place
            places.append(place - 1)
            values.append(_number(value))
        ends.append(len(places))
    if file.read(1 << 10).strip():
        raise ModelFormatError(f"something follows its {total} vectors")
    width = max(places, default=-1) + 1
    if n_features is not None and n_features < width:
        raise ModelFormatError(f"it has {width} features, not {n_features}")
    shape = total, width if n_features is None else n_features
    return coef, sp.csr_matrix((np.array(values), np.array(places, dtype=np.int32), ends), shape)


def _line(file: IO[bytes], i: int, total: int) -> str:
    line = file.readline(_LINE_LIMIT)
    if not line.strip():
        raise ModelFormatError(f"it is truncated: it has {i} of its {total} vectors")
    return line.decode("ascii")


def _integer(word: str) -> int:
    if not re.fullmatch("[+-]?[0-9]{1,10}", word) or abs(int(word)) > _LAST_INT32:
        raise ModelFormatError(f"{word[:40]!r} is not an integer of 32 bits")
    return int(word)


def _number(word: str) -> float:
    number = math.nan if "_" in word else float(word)  # a liberty of Python's float
    if not math.isfinite(number):
        raise ModelFormatError(f"{word[:40]!r} is not a finite number")
    return number
