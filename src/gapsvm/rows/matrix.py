"""Views of a data matrix that kernels understand: no copy unless the layout leaves no choice.

Dense C-order and CSR arrays of float32 or float64 are used as they are, read-only and
memory-mapped ones included.  What has to be converted is converted once, and ``Rows.note``
says what was copied and why.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.backends.structure import as_csr, check_pointers, outside
from gapsvm.rows.compact import Compact, compact
from gapsvm.system.checksums import confirm
from gapsvm.system.lazy import sparse as sp
from gapsvm.system.memory import TOO_WIDE, check_vector
from gapsvm.types.matrices import CSR, Dense

_SAMPLED_ROWS = 1000
"""Rows that are looked at to tell a matrix from others."""
_VALUES_PER_READ = 1 << 22
_FEW_VALUES = {False: 1_000_000, True: 20_000}
"""Values of dense and of sparse rows up to which NumPy checks them."""


@dataclass(frozen=True)
class Rows:
    """A matrix as kernels see it."""

    view: Dense | CSR
    shape: tuple[int, int]
    note: str | None = None
    """What had to be copied, and why; None when nothing was."""
    sq_norms: Any = None
    """‖x_i‖²; present once the rows were checked."""

    @property
    def n_stored(self) -> int:
        """Stored values: what one pass over the matrix reads."""
        return self.view.values.size if isinstance(self.view, Dense) else self.view.data.size

    @property
    def is_sparse(self) -> bool:
        return isinstance(self.view, CSR)

    def part(self, first: int, last: int) -> Dense | CSR:
        """A view of the rows first … last."""
        if isinstance(self.view, Dense):
            return Dense(self.view.values[first:last])
        return self.view._replace(indptr=self.view.indptr[first : last + 1])

    def taken(self, chosen: Any) -> Rows:
        """A copy of these rows of checked ones, in that order."""
        view: Dense | CSR
        if isinstance(self.view, Dense):
            view = Dense(self.view.values[chosen])
        else:
            data, indices, indptr = self.view
            starts = indptr[chosen].astype(np.int64)
            counts = indptr[chosen + 1].astype(np.int64) - starts
            ends = np.cumsum(counts)
            places = np.arange(counts.sum()) + np.repeat(starts - (ends - counts), counts)
            pointers = np.concatenate([[0], ends]).astype(indptr.dtype)
            view = CSR(data[places], indices[places], pointers)
        for array in view:
            array.flags.writeable = False  # kernels are compiled for one kind of array
        return Rows(view, (len(chosen), self.shape[1]), sq_norms=self.sq_norms[chosen])

    def slices(self, count: int) -> list[slice]:
        """All rows, in so many parts of nearly equal size."""
        ends = [k * self.shape[0] // count for k in range(count + 1)]
        return [slice(*pair) for pair in pairwise(ends)]

    @property
    def is_mapped(self) -> bool:
        """Whether the values are read from a file as they are needed."""
        return _mapping(self.view[0]) is not None

    def expect(self, first: int, last: int) -> None:
        """Ask for the rows first … last of a mapped matrix, all at once and without waiting."""
        if isinstance(self.view, Dense):
            _ask_for(self.view.values[first:last])
        else:
            stored = slice(int(self.view.indptr[first]), int(self.view.indptr[last]))
            _ask_for(self.view.data[stored])
            _ask_for(self.view.indices[stored])

    @cached_property
    def compact(self) -> Compact:
        """The rows of a small matrix as exact methods read them, kept with these."""
        return compact(self.to_scipy())

    @cached_property
    def centred(self) -> Compact:
        """The same less the mean of each column."""
        return compact(self.to_scipy(), centred=True)

    @property
    def reads(self) -> int:
        """In how many parts rows are read for the first time: those of a file a little at a time,
        so that each is checked and used while it is near."""
        return max(1, self.n_stored // _VALUES_PER_READ) if self.is_mapped else 1

    @property
    def pieces(self) -> list[slice]:
        """All rows in parts so small that a copy of one, with wider numbers, does no harm."""
        return self.slices(max(1, self.n_stored // _VALUES_PER_READ))

    def confirmed(self, part: slice) -> Dense | CSR:
        """These rows alone, compared with the checksums of their file, if it has any."""
        if isinstance(self.view, Dense):
            values = self.view.values[part]
            confirm(values)
            return Dense(values)
        pointers = self.view.indptr[part.start : part.stop + 1]
        stored = slice(int(pointers[0]), int(pointers[-1]))
        data, indices = self.view.data[stored], self.view.indices[stored]
        confirm(data)
        confirm(indices)
        return CSR(data, indices, _frozen(pointers - pointers[0]) if pointers[0] else pointers)

    def fingerprint(self) -> dict[str, Any]:
        """Sizes, and a hash of up to a thousand rows, evenly spread, whatever the index width."""
        n, _ = self.shape
        chosen = np.unique(np.linspace(0, max(n - 1, 0), min(n, _SAMPLED_ROWS)).astype(np.int64))
        digest = hashlib.sha256()
        for i in chosen:
            if isinstance(self.view, CSR):
                row = slice(int(self.view.indptr[i]), int(self.view.indptr[i + 1]))
                digest.update(self.view.indices[row].astype(np.uint64).data)
                digest.update(self.view.data[row].data)
            else:
                digest.update(self.view.values[i].data)
        return {
            "shape": list(self.shape),
            "stored values": self.n_stored,
            "sample of X": digest.hexdigest(),
        }

    def to_scipy(self) -> Any:
        """The same memory as a NumPy array or a SciPy CSR matrix, for products with BLAS."""
        if isinstance(self.view, Dense):
            return self.view.values
        data, indices, indptr = self.view
        return sp.csr_matrix((data, _signed(indices), _signed(indptr)), self.shape, copy=False)


def _mapping(array: Any) -> np.memmap | None:
    """The mapped file that an array is a view of."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array


def _ask_for(array: np.ndarray) -> None:
    mapping = _mapping(array)
    file = getattr(mapping, "_mmap", None)
    if mapping is None or file is None or not hasattr(mmap, "MADV_WILLNEED") or array.size == 0:
        return
    ahead = mapping.offset % mmap.ALLOCATIONGRANULARITY  # the mapping begins before the array
    start = array.ctypes.data - mapping.ctypes.data + ahead
    page = start // mmap.PAGESIZE * mmap.PAGESIZE
    file.madvise(mmap.MADV_WILLNEED, page, start - page + array.nbytes)


def _frozen(array: np.ndarray) -> np.ndarray:
    """A read-only view: kernels are compiled once, for one kind of array."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def _unsigned(array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array)
    return _frozen(array.view(np.uint32 if array.dtype == np.int32 else np.uint64))


def _signed(array: np.ndarray) -> np.ndarray:
    return array.view(np.int32 if array.dtype == np.uint32 else np.int64)


def _float_dtype(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float32) if dtype == np.float32 else np.dtype(np.float64)


def copy_note(X: Any) -> str | None:
    """What of X has to be copied before kernels can read it, and why; None if nothing has."""
    reasons = list(_reasons_to_copy(X))
    return f"X was copied once: {', '.join(reasons)}" if reasons else None


def _reasons_to_copy(X: Any) -> Iterator[str]:
    sparse = sp.issparse(X)
    if not sparse and not isinstance(X, np.ndarray):
        yield f"{type(X).__name__} to an array"
        return
    if sparse and X.format != "csr":
        yield f"{X.format} to csr"
    if X.dtype != _float_dtype(X.dtype):
        yield f"{_kind(X.dtype)} to {_float_dtype(X.dtype)}"
    if not sparse:
        if not X.flags.c_contiguous:
            yield "kernels read rows, and X is not in C order"
    elif X.format == "csr":
        for name, array, dtype in zip(("indices", "indptr"), _index_arrays(X), _index_dtypes(X)):
            if array.dtype != dtype:
                yield f"{name} from {_kind(array.dtype)} to {dtype}"
        for name in ("data", "indices", "indptr"):
            if not getattr(X, name).flags.c_contiguous:
                yield f"{name} is not contiguous"


def _kind(dtype: np.dtype) -> str:
    """The name of a number type, with its byte order where that is not this machine's."""
    return str(dtype) if dtype.isnative else f"{dtype.name} of the other byte order"


def _index_arrays(X: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(X.indices), np.asarray(X.indptr)


def _index_dtypes(X: Any) -> tuple[np.dtype, np.dtype]:
    """What kernels read the indices and the pointers of a CSR matrix as: int32 or int64."""
    indices, _ = _index_arrays(X)
    if not np.can_cast(indices.dtype, np.int32):
        return np.dtype(np.int64), np.dtype(np.int64)
    fits = indices.size <= np.iinfo(np.int32).max
    return np.dtype(np.int32), np.dtype(np.int32 if fits else np.int64)


def joined_notes(*notes: str | None) -> str | None:
    """One note of several, each sentence once."""
    sentences = [sentence for note in notes if note for sentence in note.split("; ")]
    return "; ".join(dict.fromkeys(sentences)) or None


def as_rows(X: Any) -> Rows:
    """View ``X`` as rows; copies only what kernels cannot read, and notes it."""
    if isinstance(X, Rows):
        return X
    note = copy_note(X)
    if sp.issparse(X):
        return _sparse_rows(X, note)
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(f"X must have two dimensions, got an array of shape {values.shape}")
    values = np.ascontiguousarray(values, dtype=_float_dtype(values.dtype))
    return Rows(Dense(_frozen(values)), values.shape, note)


def _sparse_rows(X: Any, note: str | None) -> Rows:
    X = as_csr(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got an array of shape {X.shape}")
    data = np.asarray(X.data, dtype=_float_dtype(X.data.dtype))
    indices, indptr = _index_arrays(X)
    check_pointers(indptr, indices, data.size, X.shape[0], "csr")
    indices, indptr = (a.astype(t, copy=False) for a, t in zip((indices, indptr), _index_dtypes(X)))
    view = CSR(_frozen(np.ascontiguousarray(data)), _unsigned(indices), _unsigned(indptr))
    return Rows(view, X.shape, note)


def check_width(n_columns: int) -> None:
    """Raise a MemoryError if there cannot be a weight for each of so many columns."""
    check_vector(n_columns, f"X has {n_columns:,} columns", TOO_WIDE)


def checked_rows(X: Any, backend: Any) -> Rows:
    """Rows that are safe to read and finite, with their squared norms.

    CSR rows with unsorted or duplicate indices are put in order in a copy.
    """
    rows = as_rows(X)
    if rows.sq_norms is not None:
        return rows
    check_width(rows.shape[1])
    if isinstance(X, Rows) and isinstance(X.view, CSR):
        check_pointers(X.view.indptr, X.view.indices, X.n_stored, X.shape[0], "csr")
    if rows.n_stored <= _FEW_VALUES[rows.is_sparse]:
        backend = get_backend("reference")  # no wait for a compiler, and always the same last bits
    sq_norms, unordered = np.empty(rows.shape[0]), False
    by_numpy = backend.name == "reference"  # which makes copies
    for part in rows.pieces if by_numpy else rows.slices(rows.reads):
        view = rows.confirmed(part)
        if isinstance(view, CSR) and view.indices.size:
            largest, falls = backend.column_order(view.indices, view.indptr)
            if largest >= rows.shape[1]:
                raise outside("column", rows.shape[1])
            unordered = unordered or bool(falls)
        backend.sq_norms(view, sq_norms[part])
    if unordered:
        tidy = rows.to_scipy().copy()
        tidy.sum_duplicates()
        note = "X was copied once: its rows had unsorted or duplicate indices"
        return replace(checked_rows(tidy, backend), note=joined_notes(rows.note, note))
    if not np.isfinite(sq_norms.sum()):
        raise ValueError(_first_bad_value(rows, sq_norms))
    return replace(rows, sq_norms=sq_norms)


def _first_bad_value(rows: Rows, sq_norms: Any) -> str:
    """Where the first NaN or infinity of X is, or which row's norm overflows."""
    bad_rows = np.flatnonzero(~np.isfinite(sq_norms))
    if bad_rows.size == 0:
        return "the sum of the squared norms of X overflows float64; rescale X"
    i = int(bad_rows[0])
    if isinstance(rows.view, CSR):
        inside = slice(int(rows.view.indptr[i]), int(rows.view.indptr[i + 1]))
        columns, values = rows.view.indices[inside], rows.view.data[inside]
    else:
        columns, values = np.arange(rows.shape[1]), rows.view.values[i]
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size == 0:
        return f"the squared norm of row {i} of X overflows float64; rescale X"
    kind = "NaN" if np.isnan(values[bad[0]]) else "infinity"
    return f"X contains {kind}: first at row {i}, column {columns[bad[0]]}"
