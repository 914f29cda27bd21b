"""Memory-mapped folders: a data set of any size, opened in no time and never copied.

A folder holds the arrays of a CSR matrix and its labels as plain .npy files (``data``, ``indices``,
``indptr``, ``labels`` and, for ranking, ``qid``) and ``header.json``, which says what they must be.
Any program that reads .npy files can read them.  ``checksums`` are those of the chunks of all of
them, one after the other, so that a chunk can be checked when it is first read.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from gapsvm.io.svmlight import Source, SvmlightError, SvmlightReader, TextBlock
from gapsvm.system.atomic import NewFile, about, check_can_write, claimed, temporary_neighbour
from gapsvm.system.checksums import (
    DIGEST,
    Chunks,
    DamagedError,
    RunningDigests,
    attach,
    confirm,
    count_chunks,
)
from gapsvm.system.lazy import sparse
from gapsvm.system.regular import open_regular

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FORMAT = "gapsvm folder"
VERSION = 2

_HEADER_NAME = "header.json"
_CHECKSUMS = "checksums"
_HEADER_LIMIT = 1 << 16  # bytes of header.json
_NPY_START = 128  # bytes before the numbers of an .npy file
_VALUES_PER_COPY = 1 << 20
_SMALL = 1 << 26
"""Bytes of an array that is checked at once, whoever reads it later."""
_LAST_INT32 = np.iinfo(np.int32).max
_DTYPES = {
    "data": ("float32", "float64"),
    "indices": ("int32", "int64"),
    "indptr": ("int32", "int64"),
    "labels": ("float64",),
    "qid": ("int64",),
    _CHECKSUMS: ("uint8",),
}
_OF_ROWS = ("indptr", "labels", "qid")
"""Short beside what the rows hold, and read at once: checked at once."""


class FolderError(ValueError):
    """A folder that is not what its header says, or not one of ours."""


class FolderData(NamedTuple):
    """What `open_folder` returns: rows, labels and, where there are any, query numbers."""

    X: csr_matrix
    y: np.ndarray
    qid: np.ndarray | None


@dataclass(frozen=True)
class FolderInfo:
    """What `convert` wrote."""

    path: Path
    n_rows: int
    n_features: int
    n_values: int
    dtype: str
    has_qid: bool


def convert(
    source: Source,
    folder: str | os.PathLike[str],
    *,
    dtype: Any = np.float32,
    zero_based: bool | Literal["auto"] = "auto",
    n_features: int | None = None,
    threads: int = 1,
    progress: Callable[[int, int], Any] | None = None,
) -> FolderInfo:
    """Stream svmlight text into a memory-mapped folder.

    Memory is what a chunk of a few megabytes takes, however large the file is.  The folder appears
    under its name when it is complete, or not at all.  Indices take 32 bits each unless there are
    2**31 columns or values.

    Parameters
    ----------
    source
        A path, or the text itself; compressed or not.  See `read_svmlight`.
    folder
        The folder to make; nothing may have that name.
    dtype
        Of the values: float32 or float64.
    zero_based, n_features, threads
        As for `read_svmlight`.
    progress
        Called after each chunk with the bytes of the file read so far and the file's length (0 if
        unknown, as for a pipe).

    Raises
    ------
    SvmlightError
        For text that `read_svmlight` would refuse, and if some rows have a ``qid`` and others none.
    OSError
        Naming ``folder``: it exists, the disk is full, ...
    """
    folder = Path(folder)
    if folder.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(folder))
    check_can_write(folder)
    reader = SvmlightReader(
        source, n_features=n_features, dtype=dtype, zero_based=zero_based, threads=threads
    )
    with _naming(folder), ExitStack() as stack:
        arrays = _Arrays(folder.parent, reader, stack)
        for block in reader:
            arrays.append(block)
            if progress is not None:
                progress(reader.file_bytes_read, reader.file_bytes)
        shape, entries = arrays.finish()
        files = {f"{name}.npy": array.file for name, array in arrays.arrays.items()}
        files[_HEADER_NAME] = _header_file(folder.parent, shape, entries, stack)
        _appear(folder, files)
    return FolderInfo(
        folder, *shape, entries["data"]["length"], entries["data"]["dtype"], "qid" in entries
    )


def open_folder(folder: str | os.PathLike[str], *, verify: bool = True) -> FolderData:
    """Map a folder made by `convert`: large arrays are not read until they are needed, and nothing
    is copied.

    The header is checked against the sizes of the files before they are mapped; the arrays are
    read-only.  Indices are taken on trust here and checked by whoever computes with them
    (``gapsvm.rows.matrix.checked_rows``), since that means to read them all.

    Parameters
    ----------
    verify
        Compare contents with their SHA-256: labels and whatever is small at once, large arrays a
        chunk at a time, when gapsvm first reads it.

    Raises
    ------
    FolderError
        A ValueError that says what is wrong with which file.
    """
    folder = Path(folder)
    (n_rows, n_features), entries = _read_header(folder)
    maps = {name: _mapped(folder, name, entry) for name, entry in entries.items()}
    checksums = maps.pop(_CHECKSUMS)
    if verify:
        _attach_checksums(folder, maps, entries, checksums)
    arrays = {name: mapped.view(np.ndarray) for name, mapped in maps.items()}
    data, indices, indptr, y = (arrays[name] for name in ("data", "indices", "indptr", "labels"))
    qid = arrays.get("qid")
    for name, expected in (
        ("indptr", n_rows + 1),
        ("labels", n_rows),
        ("qid", n_rows),
        ("indices", data.size),
    ):
        if name in arrays and arrays[name].size != expected:
            raise FolderError(f"{folder}: {name} has {arrays[name].size} numbers, not {expected}")
    if indptr.dtype != indices.dtype:
        raise FolderError(f"{folder}: indices are {indices.dtype}, but indptr is {indptr.dtype}")
    if indptr[0] != 0 or indptr[-1] != data.size:
        raise FolderError(f"{folder}: indptr must go from 0 to {data.size}, the number of values")
    X = sparse.csr_matrix((n_rows, n_features), dtype=data.dtype)
    # Handed to the constructor, int64 indices would be read through, and perhaps copied as int32.
    X.data, X.indices, X.indptr = data, indices, indptr
    X.has_sorted_indices = X.has_canonical_format = True
    return FolderData(X, y, qid)


# -- writing ---------------------------------------------------------------------------------------


@contextmanager
def _naming(folder: Path) -> Iterator[None]:
    """A full disk's error names no file."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(folder)
        raise


def _header_file(
    place: Path, shape: tuple[int, int], entries: dict[str, dict[str, Any]], stack: ExitStack
) -> NewFile:
    header = {"format": FORMAT, "version": VERSION, "shape": shape, "arrays": entries}
    header["sha256"] = _header_digest(header)
    file = NewFile(place)
    stack.callback(file.close)
    file.stream.write(json.dumps(header, indent=2).encode() + b"\n")
    file.settle()
    return file


def _header_digest(header: dict[str, Any]) -> str:
    """Of all that the header says otherwise, however it is laid out."""
    said = {name: value for name, value in header.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _appear(folder: Path, files: dict[str, NewFile]) -> None:
    """A folder of these files, which are on the disk already, or none."""
    with about(folder):
        temporary = temporary_neighbour(folder)
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, temporary, ignore_errors=True)
            temporary.mkdir()
            stack.enter_context(claimed(temporary))
            for name, file in files.items():
                file.appear(temporary / name)
            os.rename(temporary, folder)


class _Arrays:
    """The arrays of a folder as they grow."""

    def __init__(self, place: Path, reader: SvmlightReader, stack: ExitStack) -> None:
        self.reader = reader
        self.n_rows = 0
        self.has_qid: bool | None = None
        self._place = place
        self._stack = stack
        self.arrays = {
            "data": self._new(reader.dtype),
            "indices": self._new(np.dtype(np.int32)),
            "indptr": self._new(np.dtype(np.int32)),
            "labels": self._new(np.dtype(np.float64)),
        }
        self.arrays["indptr"].append(np.zeros(1, dtype=np.int32))

    def _new(self, dtype: np.dtype) -> _GrowingArray:
        array = _GrowingArray(self._place, dtype)
        self._stack.callback(array.close)
        return array

    def append(self, block: TextBlock) -> None:
        if block.labels.size == 0:
            return
        self._check_qids(block.qids)
        arrays = self.arrays
        arrays["indices"].widen(block.indices.dtype)
        before = arrays["data"].length
        if before + block.values.size > _LAST_INT32:
            arrays["indptr"].widen(np.dtype(np.int64))
        arrays["indptr"].append(block.row_ends + before)
        arrays["indices"].append(block.indices)
        arrays["data"].append(block.values)
        arrays["labels"].append(block.labels)
        if self.has_qid:
            arrays["qid"].append(block.qids)
        self.n_rows += block.labels.size

    def _check_qids(self, qids: np.ndarray) -> None:
        present = qids >= 0
        if self.has_qid is None:
            self.has_qid = bool(present[0])
            if self.has_qid:
                self.arrays["qid"] = self._new(np.dtype(np.int64))
        odd_one = np.flatnonzero(present != self.has_qid)
        if odd_one.size:
            raise SvmlightError(
                f"{self.reader.name}: row {self.n_rows + int(odd_one[0]) + 1} has "
                f"{'no' if self.has_qid else 'a'} qid, unlike the rows before it"
            )

    def finish(self) -> tuple[tuple[int, int], dict[str, dict[str, Any]]]:
        """The shape of the matrix and what the header says of each array."""
        shift, n_features = self.reader.columns()
        arrays = self.arrays
        if shift:
            arrays["indices"].rewrite(arrays["indices"].dtype, shift)
        index_dtype = np.promote_types(arrays["indices"].dtype, arrays["indptr"].dtype)
        if n_features > _LAST_INT32:
            index_dtype = np.dtype(np.int64)
        for name in ("indices", "indptr"):
            arrays[name].widen(index_dtype)
        digests = b"".join(array.digests.digests() for array in arrays.values())
        arrays[_CHECKSUMS] = self._new(np.dtype(np.uint8))
        arrays[_CHECKSUMS].append(np.frombuffer(digests, np.uint8))
        return (self.n_rows, n_features), {name: array.finish() for name, array in arrays.items()}


class _GrowingArray:
    """A one-dimensional .npy file that is written from front to back."""

    def __init__(self, place: Path, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.length = 0
        self.digests = RunningDigests()
        self._place = place
        self.file = NewFile(place)
        self.file.stream.write(bytes(_NPY_START))

    def append(self, values: np.ndarray) -> None:
        contents = np.ascontiguousarray(values, dtype=self.dtype).view(np.uint8).data
        self.file.stream.write(contents)
        self.digests.update(contents)
        self.length += values.size

    def widen(self, dtype: np.dtype) -> None:
        """Go over to ``dtype`` if it is another one."""
        if dtype != self.dtype:
            self.rewrite(dtype, 0)

    def rewrite(self, dtype: np.dtype, shift: int) -> None:
        """Write everything again as ``dtype`` with ``shift`` added, a little at a time."""
        copy = _GrowingArray(self._place, dtype)
        try:
            self.file.stream.seek(_NPY_START)
            while (values := np.fromfile(self.file.stream, self.dtype, _VALUES_PER_COPY)).size:
                copy.append(values.astype(dtype) + dtype.type(shift))
            self.dtype, self.digests = dtype, copy.digests
            self.file, copy.file = copy.file, self.file
        finally:
            copy.close()

    def finish(self) -> dict[str, Any]:
        """Complete the file and say what is in it."""
        self.file.stream.seek(0)
        self.file.stream.write(_npy_start(self.dtype, self.length))
        self.file.settle()
        return {
            "dtype": self.dtype.name,
            "length": self.length,
            "sha256": hashlib.sha256(self.digests.digests()).hexdigest(),
        }

    def close(self) -> None:
        self.file.close()


def _npy_start(dtype: np.dtype, length: int) -> bytes:
    """What an .npy file of version 1.0 starts with, always as long."""
    little_endian = dtype.newbyteorder("<").str
    text = f"{{'descr': '{little_endian}', 'fortran_order': False, 'shape': ({length},), }}"
    room = _NPY_START - 10
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", room) + text.ljust(room - 1).encode() + b"\n"


# -- reading ---------------------------------------------------------------------------------------


def _read_header(folder: Path) -> tuple[tuple[int, int], dict[str, dict[str, Any]]]:
    path = folder / _HEADER_NAME
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(folder))
    if not path.is_file():
        raise FolderError(f"{folder} is not a gapsvm folder: it has no {_HEADER_NAME}")
    with open_regular(path) as file:
        text = file.read(_HEADER_LIMIT + 1)
    try:
        header = json.loads(text)
        if header["format"] != FORMAT:
            raise FolderError(f"{path}: the format is {header['format']!r}, not {FORMAT!r}")
        version = _natural(header["version"])
        if version != VERSION:
            age = "a newer" if version > VERSION else "an older"
            raise FolderError(
                f"{folder} was written by {age} gapsvm (version {version}): convert it again"
            )
        n_rows, n_features = map(_natural, header["shape"])
        entries = {name: header["arrays"][name] for name in _DTYPES if name in header["arrays"]}
        missing = [name for name in _DTYPES if name not in entries and name != "qid"]
        if missing:
            raise FolderError(f"{path} does not list {', '.join(missing)}")
        for name, entry in entries.items():
            _natural(entry["length"])
            if entry["dtype"] not in _DTYPES[name]:
                raise FolderError(f"{path}: {name} must be {' or '.join(_DTYPES[name])}")
            if not isinstance(entry["sha256"], str):
                raise TypeError
        if header["sha256"] != _header_digest(header):
            raise FolderError(f"{path} is damaged: its contents are not those that were written")
    except FolderError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FolderError(
            f"{path} is damaged: it is not a header as `convert` writes it"
        ) from error
    return (n_rows, n_features), entries


def _natural(number: Any) -> int:
    """The number, if it is an integer from 0 to 2**63 - 1."""
    if type(number) is not int or not 0 <= number < 2**63:
        raise TypeError(f"{number!r} is not a count")
    return number


def _mapped(folder: Path, name: str, entry: dict[str, Any]) -> np.memmap:
    path, dtype, length = folder / f"{name}.npy", np.dtype(entry["dtype"]), entry["length"]
    expected = _NPY_START + length * dtype.itemsize
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size != expected:
            raise FolderError(f"{path} has {size} bytes, but {expected} according to the header")
        if file.read(_NPY_START) != _npy_start(dtype, length):
            raise FolderError(f"{path} does not start as an array of {length} {dtype} does")
        return np.memmap(file, dtype, "r", offset=_NPY_START, shape=(length,))


def _attach_checksums(
    folder: Path,
    maps: dict[str, np.memmap],
    entries: dict[str, dict[str, Any]],
    checksums: np.memmap,
) -> None:
    """Check what is to be checked at once, and have the rest checked as it is read."""
    expected = DIGEST * sum(count_chunks(mapped.nbytes) for mapped in maps.values())
    if checksums.size != expected:
        raise FolderError(f"{folder}: {_CHECKSUMS} has {checksums.size} numbers, not {expected}")
    digests = checksums.tobytes()
    for name, mapped in maps.items():
        end = DIGEST * count_chunks(mapped.nbytes)
        its_own, digests = digests[:end], digests[end:]
        if hashlib.sha256(its_own).hexdigest() != entries[name]["sha256"]:
            raise FolderError(f"{folder / _CHECKSUMS}.npy is damaged: it is of another {name}.npy")
        attach(mapped, Chunks(folder / f"{name}.npy", its_own))
        if name in _OF_ROWS or mapped.nbytes <= _SMALL:
            try:
                confirm(mapped)
            except DamagedError as error:
                raise FolderError(str(error)) from None
