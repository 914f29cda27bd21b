"""Linear models as files: safetensors with JSON metadata, and LIBLINEAR's text format.

Reading checks every size against the file's length before anything is allocated, runs no code and
has no fallback: what is not a sound model is a `ModelFormatError`.  No scikit-learn in here.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np

from gapsvm.io.atomic import replacing
from gapsvm.io.tensors import TensorFileError, looks_like_tensors, read_tensors, write_tensors
from gapsvm.rows.matrix import checked_rows

FORMAT = "gapsvm model"
VERSION = 1

_REQUIRED_TENSORS = {"coef", "intercept", "primal", "dual"}
_CLASSES = "classes"  # an array, or for texts an entry of the metadata
_WIDEST = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64}
_TEXT_LIMIT = 1 << 26  # characters of an array of texts: all take as many as the longest
_LABEL_DTYPE = re.compile("bool|u?int(8|16|32|64)|float(16|32|64)|str|object")
_BIASES = ("none", "penalized", "free")


class ModelFormatError(ValueError):
    """A file that is not a sound model; the message names the file and what is wrong with it."""


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
        if self.classes.ndim != 1 or not (_is_text(self.classes) or _is_numeric(self.classes)):
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

        X may be memory-mapped: it is read once for each function and never copied.
        """
        from gapsvm.backends import get_backend

        backend = get_backend("cpu")
        rows = checked_rows(X, backend)
        n, d = rows.shape
        if d != self.n_features:
            raise ValueError(f"X has {d} features, but the model has {self.n_features}")
        scores = np.empty((self.coef.shape[0], n))
        for w, b, out in zip(self.coef, self.intercept, scores):
            backend.margins(rows.view, w, out)
            out += b
        return scores[0] if len(scores) == 1 else scores.T

    def predict(self, X: Any) -> Any:
        """The label of each row; for regression the number itself."""
        scores = self.decision_function(X)
        if self.classes is None:
            return scores
        if len(self.classes) == 2:
            return self.classes[(scores > 0).astype(np.intp)]
        return self.classes[scores.reshape(-1, len(self.classes)).argmax(axis=1)]


def _is_text(labels: np.ndarray) -> bool:
    """Texts of NumPy's own, or Python's in an array of objects, as pandas hands them over."""
    if labels.dtype.kind == "O":
        return all(isinstance(label, str) for label in labels)
    return labels.dtype.kind == "U"


def _is_numeric(labels: np.ndarray) -> bool:
    return labels.dtype.kind in "biuf" and labels.dtype.itemsize <= 8


def read_model(path: str | os.PathLike[str]) -> LinearModel:
    """Read a model, ours or LIBLINEAR's; the content says which it is.

    Raises
    ------
    ModelFormatError
        A ValueError that names the file and what is wrong with it.
    """
    with open(path, "rb") as file:
        start = file.read(64)
    if start.startswith(b"svm_type"):
        raise ModelFormatError(f"{path} is a LIBSVM model; only linear models are read")
    if start.startswith(b"solver_type"):
        return read_liblinear(path)
    if not looks_like_tensors(start):
        raise ModelFormatError(f"{path} is no model file, neither gapsvm's nor LIBLINEAR's")
    return _read_own(path)


# -- safetensors -----------------------------------------------------------------------------------


def write_model(path: str | os.PathLike[str], model: LinearModel) -> None:
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
        "metadata": model.metadata,
    }
    if model.classes is not None:
        described["classes_dtype"] = _dtype_name(model.classes.dtype)
        if _is_text(model.classes):
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


def _read_own(path: str | os.PathLike[str]) -> LinearModel:
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


# -- LIBLINEAR -------------------------------------------------------------------------------------

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
    if _is_text(classes):
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
        with open(path, "rb") as file:
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
    while block := file.read(_BYTES_PER_READ):
        words = (unfinished + block).split()
        unfinished = words.pop() if words and not block[-1:].isspace() else b""
        if len(unfinished) > _WORD_LIMIT:
            raise ModelFormatError("its weights are not all numbers")
        yield words
    yield [unfinished] if unfinished else []


def _number(word: bytes) -> float:
    if b"_" in word:  # a liberty of Python's float
        raise ModelFormatError(f"{word[:40]!r} is not a number")
    return float(word)
