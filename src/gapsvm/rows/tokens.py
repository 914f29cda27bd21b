"""Sequences as a user has them, made into rows of a matrix with boundaries.

Tokens are rows of arrays, or features by name: dicts as sklearn-crfsuite takes them, or lists of
names.  In a dict a number is the value of the feature ``name``, true and false are 1 and 0, a text
makes the feature ``name:text`` of value 1, a list of texts one such feature each, and a dict the
features ``name:…`` of what it holds.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from gapsvm.backends.structure import check_structure
from gapsvm.system.lazy import sparse as sp
from gapsvm.system.texts import shown

Kind = Literal["arrays", "names", "hashed"]
KINDS: tuple[Kind, ...] = ("arrays", "names", "hashed")
_SIGN = 1 << 31
_LISTS = (
    "X must be a list of sequences, a sequence a list of tokens, a token a dict or a list of names "
    "(or a row of numbers); {}"
)


class Sequences:
    """A matrix of tokens, dense or CSR, and where sequences begin: no list, no copy.

    Parameters
    ----------
    X : array or sparse matrix
        A row for each token.
    starts : array of integers
        Sequence i has the rows starts[i] … starts[i + 1] − 1; the last entry is the number of rows.
    """

    def __init__(self, X: Any, starts: Any) -> None:
        self.X = X
        self.starts = np.asarray(starts)
        n = X.shape[0]
        if self.starts.ndim != 1 or self.starts.dtype.kind not in "iu" or len(self.starts) < 1:
            raise ValueError("starts must be a list of whole numbers: 0, …, the number of rows")
        if self.starts[0] != 0 or self.starts[-1] != n or np.any(np.diff(self.starts) < 0):
            raise ValueError(f"starts must rise from 0 to {n}, the number of rows of X")

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, i: int) -> Any:
        """The tokens of one sequence."""
        k = range(len(self))[i]
        return self.X[self.starts[k] : self.starts[k + 1]]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


@dataclass
class TokenEncoder:
    """Makes sequences into a matrix and boundaries, the same columns whenever it is asked.

    Parameters
    ----------
    kind : "arrays", "names" or "hashed"
        Tokens are rows of numbers; or features by name, each with a column of its own, or with one
        that its name is hashed to, which needs no list of names.
    width : int
        Columns; for names those of the names known.
    names : list of texts
        Of the columns, where ``kind`` is "names".
    """

    kind: Kind
    width: int = 0
    names: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, X: Any, hashed: bool = False, n_hashed: int = 1 << 20) -> TokenEncoder:
        """An encoder for sequences of that kind, not yet acquainted with them."""
        if isinstance(X, Sequences) or not _has_names(X):
            return cls("arrays")
        return cls("hashed", n_hashed) if hashed else cls("names")

    def learn(self, X: Any) -> tuple[Any, Any]:
        """Matrix and boundaries; new names get columns, and the width of arrays is noted."""
        if self.kind == "arrays":
            matrix, starts = _stacked(X)
            self.width = matrix.shape[1]
            return matrix, starts
        if self.kind == "hashed":
            return self._from_names(X, {})
        known: dict[str, int] = {name: k for k, name in enumerate(self.names)}
        columns, values, ends, starts = _named(X, _Growing(known))
        self.names, self.width = list(known), len(known)
        return self._matrix(columns, values, ends), starts

    def encode(self, X: Any) -> tuple[Any, Any]:
        """Matrix and boundaries; features whose names are not known are left out."""
        count_of(X)
        if self.kind == "arrays":
            if not isinstance(X, Sequences) and _has_names(X):
                raise ValueError("X has features by name, but the model was fitted to arrays")
            matrix, starts = _stacked(X, self.width)
            if matrix.shape[1] != self.width:
                raise ValueError(
                    f"X has {matrix.shape[1]} features, but the model has {self.width}"
                )
            return matrix, starts
        if isinstance(X, Sequences) or (count_of(X) and not _has_names(X)):
            raise ValueError("X has arrays, but the model was fitted to features by name")
        known = {name: k for k, name in enumerate(self.names)} if self.kind == "names" else {}
        return self._from_names(X, known)

    def _from_names(self, X: Any, known: dict[str, int]) -> tuple[Any, Any]:
        place: Any = _Hashed(self.width) if self.kind == "hashed" else known
        columns, values, ends, starts = _named(X, place)
        if self.kind == "hashed":
            signs = np.where(columns & _SIGN, -1.0, 1.0)
            columns, values = columns & (_SIGN - 1), values * signs
        else:
            told = columns >= 0
            ends = np.r_[0, np.cumsum(told)][ends]
            columns, values = columns[told], values[told]
        return self._matrix(columns, values, ends), starts

    def _matrix(self, columns: Any, values: Any, ends: Any) -> Any:
        """A CSR matrix with sorted columns, each at most once a row."""
        index = np.int32 if max(self.width, len(columns)) < _SIGN - 1 else np.int64
        parts = values.astype(np.float32), columns.astype(index), ends.astype(index)
        matrix = sp.csr_matrix(parts, (len(ends) - 1, self.width))
        matrix.sum_duplicates()
        return matrix


class _Growing(dict[str, int]):
    """Columns by name; one that is asked for and not there is the next."""

    def __init__(self, known: dict[str, int]) -> None:
        super().__init__(known)
        self._known = known

    def get(self, name: str, default: Any = None) -> int:
        return self._known.setdefault(name, len(self._known))


class _Hashed:
    """A column for every name, by CRC-32, with a sign so that collisions cancel on average."""

    def __init__(self, width: int) -> None:
        if not 1 <= width < _SIGN:
            raise ValueError(f"n_hashed must be between 1 and {_SIGN - 1}, got {width!r}")
        self._width = width

    def get(self, name: str, default: Any = None) -> int:
        code = zlib.crc32(name.encode())
        return (code & (_SIGN - 1)) % self._width | (code & _SIGN)


def count_of(X: Any) -> int:
    """How many sequences there are."""
    try:
        if isinstance(X, str | Mapping):
            raise TypeError
        return len(X)
    except TypeError:
        raise ValueError(_LISTS.format(f"it is {shown(X)}")) from None


def _has_names(X: Any) -> bool:
    """Whether the first token there is has its features by name."""
    for sequence in X:
        if sp.issparse(sequence) or isinstance(sequence, np.ndarray):
            return False
        _refuse_one_level_less(sequence)
        for token in sequence:
            if isinstance(token, list | tuple | set | frozenset):
                return not token or any(isinstance(feature, str) for feature in token)
            return isinstance(token, Mapping)
    return False


def _refuse_one_level_less(sequence: Any) -> None:
    """Raise a ValueError where the first sequence looks like a token: the list is one itself."""
    lists = isinstance(sequence, Iterable) and not isinstance(sequence, str | Mapping)
    if not lists or any(isinstance(token, str) for token in sequence):
        raise ValueError(_LISTS.format(f"sequence 0 is {shown(sequence)}"))


def _stacked(X: Any, width: int = 0) -> tuple[Any, Any]:
    """One matrix of a list of them, and where each begins."""
    if isinstance(X, Sequences):
        empty = np.flatnonzero(np.diff(X.starts) == 0)
        if len(empty):
            raise ValueError(f"sequence {empty[0]} is empty; leave it out")
        return X.X, X.starts
    if sp.issparse(X) or getattr(X, "ndim", 3) == 2:
        raise ValueError(
            "X must be a list of sequences; a matrix of all tokens goes into "
            "gapsvm.Sequences(X, starts)"
        )
    parts = [part if sp.issparse(part) else np.asarray(part) for part in X]
    for i, part in enumerate(parts):
        if part.ndim != 2:
            raise ValueError(
                f"sequence {i} must be an array of tokens × features, got shape {part.shape}"
            )
        if part.shape[0] == 0:
            raise ValueError(f"sequence {i} is empty; leave it out")
        if sp.issparse(part):
            _check_sequence(part, i)
        if part.shape[1] != parts[0].shape[1]:
            raise ValueError(
                f"sequence {i} has {part.shape[1]} features, but sequence 0 has {parts[0].shape[1]}"
            )
    starts = np.r_[0, np.cumsum([part.shape[0] for part in parts], dtype=np.int64)]
    if not parts:
        return np.zeros((0, width)), starts
    sparse = any(sp.issparse(part) for part in parts)
    for i, part in enumerate(parts):
        values: Any = part.data if sp.issparse(part) else part
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError(f"sequence {i} contains NaN or infinity")
    return (sp.vstack(parts, format="csr") if sparse else np.vstack(parts)), starts


def _check_sequence(part: Any, i: int) -> None:
    """Raise a ValueError if reading a sparse sequence would leave its arrays."""
    try:
        check_structure(part)
    except ValueError as error:
        raise ValueError(f"sequence {i}: {error}") from None


def _named(X: Any, place: Any) -> tuple[Any, Any, Any, Any]:
    """Columns (−1 for names without one), values, ends of tokens, and where sequences begin."""
    columns: list[int] = []
    values: list[float] = []
    ends, starts = [0], [0]
    column, put, weigh = place.get, columns.append, values.append
    for i, sequence in enumerate(X):
        if len(sequence) == 0:
            raise ValueError(f"sequence {i} is empty; leave it out")
        for t, token in enumerate(sequence):
            if isinstance(token, Mapping):
                for name, value in token.items():
                    if isinstance(value, str):
                        put(column(f"{name}:{value}", -1))
                        weigh(1.0)
                    elif isinstance(value, int | float | np.number | np.bool_):
                        put(column(str(name), -1))
                        weigh(float(value))
                    elif isinstance(value, Mapping):
                        for text, number in _nested(value, i, t, name):
                            put(column(text, -1))
                            weigh(number)
                    else:
                        for text in _texts(value, i, t, name):
                            put(column(f"{name}:{text}", -1))
                            weigh(1.0)
            else:
                for name in _texts(token, i, t, None):
                    put(column(name, -1))
                    weigh(1.0)
            ends.append(len(columns))
        starts.append(len(ends) - 1)
    found = np.array(columns, dtype=np.int64), np.array(values, dtype=np.float64)
    bounds = np.array(ends, dtype=np.int64), np.array(starts, dtype=np.int64)
    strange = np.flatnonzero(~np.isfinite(found[1]))
    if strange.size:
        token = int(np.searchsorted(bounds[0], strange[0], side="right")) - 1
        i = int(np.searchsorted(bounds[1], token, side="right")) - 1
        raise ValueError(f"token {token - starts[i]} of sequence {i} has a value NaN or infinity")
    return *found, *bounds


def _nested(features: Any, i: int, t: int, prefix: Any) -> Iterator[tuple[str, float]]:
    """Names and values of what a dict inside a token holds."""
    for name, value in features.items():
        full = f"{prefix}:{name}"
        if isinstance(value, str):
            yield f"{full}:{value}", 1.0
        elif isinstance(value, int | float | np.number | np.bool_):
            yield full, float(value)
        elif isinstance(value, Mapping):
            yield from _nested(value, i, t, full)
        else:
            yield from ((f"{full}:{text}", 1.0) for text in _texts(value, i, t, full))


def _texts(value: Any, i: int, t: int, name: Any) -> Sequence[str]:
    """A list of texts, or an error that says where it is not one."""
    if isinstance(value, list | tuple | set | frozenset) and all(
        isinstance(text, str) for text in value
    ):
        return sorted(value) if isinstance(value, set | frozenset) else list(value)
    what = "must be a dict, or a list of names" if name is None else f"has no value for {name!r}"
    raise ValueError(
        f"token {t} of sequence {i} {what}: a number, a text or a list of texts, got {value!r}"
        if name is not None
        else f"token {t} of sequence {i} {what}; got {value!r}"
    )


def encoded_labels(y: Any, starts: Any, classes: Any = None) -> tuple[Any, Any]:
    """A number for the label of each token, and the classes they count.

    ``y`` holds a list of labels for each sequence, or one label for each token of all.
    """
    n = int(starts[-1])
    flat = isinstance(y, np.ndarray) and y.dtype != object and y.ndim == 1 and len(y) == n
    if not flat:
        if len(y) != len(starts) - 1:
            raise ValueError(f"X has {len(starts) - 1} sequences, but y has {len(y)}")
        for i, (labels, (first, last)) in enumerate(zip(y, pairwise(starts))):
            if len(labels) != last - first:
                raise ValueError(
                    f"sequence {i} has {last - first} tokens, but y has {len(labels)} labels for it"
                )
        _refuse_mixed(y)
        y = np.concatenate([np.asarray(labels) for labels in y]) if len(y) else np.empty(0)
    if y.dtype.kind == "O":
        y = np.array([str(label) for label in y])
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity")
    if classes is None:
        return np.unique(y, return_inverse=True)[::-1]
    numbers = np.searchsorted(classes, y)
    unseen = np.flatnonzero(classes[np.minimum(numbers, len(classes) - 1)] != y)
    if len(unseen):
        i = int(np.searchsorted(starts, unseen[0], side="right")) - 1
        raise ValueError(
            f"sequence {i} has the label {y[unseen[0]].item()!r}, which fit has not seen"
        )
    return numbers, classes


def later_tokens(starts: Any) -> Any:
    """The tokens that have one before them in their sequence."""
    inside = np.ones(int(starts[-1]), dtype=bool)
    inside[np.asarray(starts[:-1])] = False
    return np.flatnonzero(inside)


def seen_steps(labels: Any, starts: Any, n_labels: int) -> Any:
    """Which label follows which somewhere: an array of booleans (labels × labels)."""
    seen = np.zeros((n_labels, n_labels), dtype=bool)
    later = later_tokens(starts)
    seen[labels[later - 1], labels[later]] = True
    return seen


def _refuse_mixed(y: Any) -> None:
    """Raise a ValueError for no label, and for texts beside numbers, which would become texts."""
    texts: bool | None = None
    for i, labels in enumerate(y):
        for kind in set(map(type, labels)):
            if kind is type(None):
                raise ValueError(f"sequence {i} has a token without a label (None)")
            if texts is None:
                texts = issubclass(kind, str)
            if texts is not issubclass(kind, str):
                raise ValueError(
                    f"sequence {i} has labels of another kind than those before: texts and numbers "
                    "cannot be mixed"
                )
