"""Linear models in LIBLINEAR's text format."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np

from gapsvm.models.base import ModelFormatError, is_text
from gapsvm.models.linear import LinearModel
from gapsvm.system.atomic import replacing
from gapsvm.system.regular import open_regular

_LIBLINEAR_LOSSES = {
    # solver_type: loss
    "L2R_LR": "logistic",
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L2R_L2LOSS_SVC": "squared_hinge",
    "L2R_L1LOSS_SVC_DUAL": "hinge",
    "MCSVM_CS": "",
    "L1R_L2LOSS_SVC": "squared_hinge",
    "L1R_LR": "logistic",
    "L2R_LR_DUAL": "logistic",
    "L2R_L2LOSS_SVR": "squared_epsilon_insensitive",
    "L2R_L2LOSS_SVR_DUAL": "squared_epsilon_insensitive",
    "L2R_L1LOSS_SVR_DUAL": "epsilon_insensitive",
}
_SOLVER_TYPES = {
    # loss: solver_type
    "hinge": "L2R_L1LOSS_SVC_DUAL",
    "squared_hinge": "L2R_L2LOSS_SVC_DUAL",
    "logistic": "L2R_LR",
    "epsilon_insensitive": "L2R_L1LOSS_SVR_DUAL",
    "absolute": "L2R_L1LOSS_SVR_DUAL",
    "squared_epsilon_insensitive": "L2R_L2LOSS_SVR_DUAL",
    "half_squared": "L2R_L2LOSS_SVR_DUAL",
}
_ONE_CLASS = "ONECLASS_SVM"
_LAST_INT32 = 2**31 - 1
_LINE_LIMIT = 1 << 24  # bytes of a header line
_BYTES_PER_READ = 1 << 20
_WORD_LIMIT = 1 << 10  # bytes of a number
_NUMBERS_PER_WRITE = 1 << 16


def write_liblinear(path: str | os.PathLike[str], model: LinearModel) -> None:
    """Write a model in LIBLINEAR's text format; its ``predict`` then gives the same answers.

    An intercept becomes the weight of LIBLINEAR's bias feature of value 1.  The format keeps
    neither the certificate nor λ, and labels only as integers.
    """
    if model.loss not in _SOLVER_TYPES:
        raise ValueError(
            f"LIBLINEAR has no solver for loss {model.loss!r}; it has some for "
            f"{', '.join(_SOLVER_TYPES)}"
        )
    solver_type = _SOLVER_TYPES[model.loss]
    if solver_type.endswith("SVR_DUAL") != (model.classes is None):
        kind = "regression" if model.classes is None else "classification"
        raise ValueError(f"loss {model.loss!r} does not fit a {kind} model")
    lines = [f"solver_type {solver_type}"]
    if model.classes is None:
        lines.append("nr_class 2")
    else:
        labels = _integer_labels(model.classes)
        if len(labels) == 2:  # a positive score means the first label there, the second here
            labels.reverse()
        lines += [f"nr_class {len(labels)}", f"label {' '.join(map(str, labels))}"]
    has_bias = bool(np.any(model.intercept != 0.0))
    lines += [f"nr_feature {model.n_features}", f"bias {1 if has_bias else -1}", "w"]
    with replacing(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
        for text in _weight_lines(model.coef.T):
            file.write(text)
        if has_bias:
            for text in _weight_lines(model.intercept[None, :]):
                file.write(text)


def _integer_labels(classes: np.ndarray) -> list[int]:
    if is_text(classes):
        raise ValueError(f"LIBLINEAR's labels are integers, not texts such as {str(classes[0])!r}")
    labels = [int(label) for label in classes if np.isfinite(label)]
    if labels != classes.tolist() or max(map(abs, labels), default=0) > _LAST_INT32:
        raise ValueError("LIBLINEAR's labels are integers of 32 bits; some classes are not")
    return labels


def _weight_lines(weights: np.ndarray) -> Iterator[bytes]:
    """A line for each row, numbers as ``repr`` writes them: the shortest that read back equal."""
    rows_at_once = max(1, _NUMBERS_PER_WRITE // weights.shape[1])
    for start in range(0, len(weights), rows_at_once):
        rows = weights[start : start + rows_at_once].tolist()
        yield "".join(" ".join(map(repr, row)) + " \n" for row in rows).encode()


def read_liblinear(path: str | os.PathLike[str]) -> LinearModel:
    """Read a model in LIBLINEAR's text format.

    Models of all its classification and regression solvers are read.  ``metadata`` keeps the
    name of the solver; nothing is known of λ and of the gap.

    Raises
    ------
    ModelFormatError
        A ValueError that names the file and what is wrong with it.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            header = _read_liblinear_header(file)
            left = size - file.tell()
            # Each number takes a digit and a blank; the very last blank may be missing.
            if header.n_weights > (left + 1) // 2:
                raise ModelFormatError(
                    f"it declares {header.n_weights} weights, but only {left} bytes follow"
                )
            weights = _read_numbers(file, header.n_weights)
        return header.model(weights)
    except ValueError as error:
        raise ModelFormatError(f"{path} is not a sound LIBLINEAR model: {error}") from error


@dataclass(frozen=True)
class _LiblinearHeader:
    """What stands before the weights."""

    solver_type: str
    n_classes: int
    labels: list[int] | None
    n_features: int
    bias: float

    def __post_init__(self) -> None:
        if self.solver_type == _ONE_CLASS:
            raise ModelFormatError("it is a one-class model, which gapsvm does not have")
        if self.solver_type not in _LIBLINEAR_LOSSES:
            raise ModelFormatError(f"solver_type {self.solver_type!r} is unknown")
        if self.labels is None and not self.is_regression:
            raise ModelFormatError("it has no line with labels")
        if self.labels is not None and len(self.labels) != self.n_classes:
            raise ModelFormatError(
                f"nr_class is {self.n_classes}, but there are {len(self.labels)} labels"
            )

    @property
    def is_regression(self) -> bool:
        return "SVR" in self.solver_type

    @property
    def n_functions(self) -> int:
        if self.is_regression or (self.n_classes == 2 and self.solver_type != "MCSVM_CS"):
            return 1
        return self.n_classes

    @property
    def n_weights(self) -> int:
        return (self.n_features + (self.bias >= 0)) * self.n_functions

    def model(self, weights: np.ndarray) -> LinearModel:
        columns = weights.reshape(-1, self.n_functions)
        intercept = np.zeros(self.n_functions)
        if self.bias >= 0:
            intercept = self.bias * columns[-1]
        coef = columns[: self.n_features].T
        labels = self.labels
        if labels is not None and len(labels) == 2:
            # A positive score means the first label there, the second here; LIBLINEAR looks at the
            # first of two functions only.
            labels, coef, intercept = labels[::-1], coef[:1], intercept[:1]
        return LinearModel(
            coef=coef,
            intercept=intercept,
            classes=None if self.is_regression else np.array(labels, dtype=np.int64),
            loss=_LIBLINEAR_LOSSES[self.solver_type],
            bias="penalized" if self.bias >= 0 else "none",
            method="liblinear",
            metadata={"solver_type": self.solver_type},
        )


def _read_liblinear_header(file: IO[bytes]) -> _LiblinearHeader:
    fields: dict[str, list[str]] = {}
    while (line := file.readline(_LINE_LIMIT)).split() != [b"w"]:
        if not line.endswith(b"\n"):
            raise ModelFormatError("the line 'w', after which the weights follow, is missing")
        name, *words = line.decode("ascii").split() or [""]
        if name not in ("solver_type", "nr_class", "label", "nr_feature", "bias"):
            raise ModelFormatError(f"{name[:40]!r} is not a field of a LIBLINEAR model")
        if name in fields:
            raise ModelFormatError(f"{name} is there twice")
        fields[name] = words

    def only(name: str) -> str:
        if len(fields.get(name, ())) != 1:
            raise ModelFormatError(f"{name} must be there, with one value")
        return fields[name][0]

    n_classes, n_features = _integer(only("nr_class")), _integer(only("nr_feature"))
    if n_classes < 1 or n_features < 0:
        raise ModelFormatError("nr_class must be positive, and nr_feature not negative")
    labels = [_integer(word) for word in fields["label"]] if "label" in fields else None
    bias = _number(only("bias").encode())
    if not math.isfinite(bias):
        raise ModelFormatError("bias must be finite")
    return _LiblinearHeader(only("solver_type"), n_classes, labels, n_features, bias)


def _integer(word: str) -> int:
    if not re.fullmatch("[+-]?[0-9]{1,10}", word) or abs(int(word)) > _LAST_INT32:
        raise ModelFormatError(f"{word[:40]!r} is not an integer of 32 bits")
    return int(word)


def _read_numbers(file: IO[bytes], count: int) -> np.ndarray:
    """Exactly ``count`` numbers and nothing else, up to the end of the file."""
    numbers = np.empty(count)
    filled = 0
    for words in _words(file):
        if filled + len(words) > count:
            raise ModelFormatError(f"something follows its {count} weights")
        numbers[filled : filled + len(words)] = list(map(_number, words))
        filled += len(words)
    if filled < count:
        raise ModelFormatError(f"it is truncated: it has {filled} of its {count} weights")
    return numbers


def _words(file: IO[bytes]) -> Iterator[list[bytes]]:
    """What stands between blanks, a megabyte at a time."""
    unfinished = b""
    while chunk := file.read(_BYTES_PER_READ):
        words = (unfinished + chunk).split()
        unfinished = words.pop() if words and not chunk[-1:].isspace() else b""
        if len(unfinished) > _WORD_LIMIT:
            raise ModelFormatError("its weights are not all numbers")
        yield words
    yield [unfinished] if unfinished else []


def _number(word: bytes) -> float:
    if b"_" in word:  # a liberty of Python's float
        raise ModelFormatError(f"{word[:40]!r} is not a number")
    return float(word)
