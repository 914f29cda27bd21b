"""Arrays and text in one file: the safetensors format, with a checksum.

A file is eight bytes (the length of the header), a JSON header that says where each array lies, and
the arrays.  It holds no code.  Written here rather than by the ``safetensors`` package, so that
arrays go to the disk without a copy and every damage becomes a sentence; the package reads these
files, and reading here is as strict as there: the arrays must cover the file exactly.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from gapsvm.system.atomic import replacing
from gapsvm.system.regular import open_regular

_DTYPES = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "U16": np.dtype("<u2"),
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "I64": np.dtype("<i8"),
    "U64": np.dtype("<u8"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_LENGTH_BYTES = 8
_HEADER_LIMIT = 100 << 20  # bytes; the limit of the safetensors package
_METADATA = "__metadata__"
_CHECKSUM = "sha256"


class TensorFileError(ValueError):
    """A file that is damaged or was never one of these."""


def looks_like_tensors(first_bytes: bytes) -> bool:
    """Whether a file that starts with these nine bytes or more may be a safetensors file."""
    return first_bytes[_LENGTH_BYTES : _LENGTH_BYTES + 1] == b"{"


def write_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]
) -> None:
    """Write arrays and texts; the file appears complete or not at all.

    Arrays are bool, uint8, uint16 or 32 or 64 bits wide.  A SHA-256 of everything joins the
    metadata.
    """
    arrays = {name: _storable(name, array) for name, array in tensors.items()}
    header: dict[str, Any] = {
        _METADATA: {**metadata, _CHECKSUM: _checksum(arrays, metadata)},
    }
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # arrays start at a multiple of eight bytes
    with replacing(path) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(_contents(array))


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Read what `write_tensors` wrote.

    Every size is checked against the file's length before an array is made.

    Raises
    ------
    TensorFileError
        A ValueError that says what is wrong with the file.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        header, start = _read_header(file, size)
        metadata = header.pop(_METADATA, {})
        if not _is_text_by_name(metadata) or _CHECKSUM not in metadata:
            raise TensorFileError("the header has no metadata of gapsvm")
        layout = {name: _layout(name, entry) for name, entry in header.items()}
        _check_cover(layout, size - start)
        tensors = {}
        for name, (dtype, shape, begin, _) in layout.items():
            file.seek(start + begin)
            tensors[name] = _read_array(file, dtype, shape)
    checksum = metadata.pop(_CHECKSUM)
    if checksum != _checksum(tensors, metadata):
        raise TensorFileError("the checksum does not fit: the contents were changed or damaged")
    return tensors, metadata


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The texts of a file that `write_tensors` wrote, unverified; its arrays are not read.

    Raises
    ------
    TensorFileError
        As for `read_tensors`.
    """
    with open_regular(path) as file:
        header, _ = _read_header(file, os.fstat(file.fileno()).st_size)
    metadata = header.get(_METADATA, {})
    if not _is_text_by_name(metadata):
        raise TensorFileError("the header has no metadata of gapsvm")
    return dict(metadata)


def _storable(name: str, array: np.ndarray) -> np.ndarray:
    array = np.asarray(array)
    little_endian = array.dtype.newbyteorder("<")
    if little_endian not in _NAMES:
        raise TypeError(f"{name!r} is an array of {array.dtype}, which the format does not have")
    return np.asarray(array, dtype=little_endian, order="C")


def _contents(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _checksum(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> str:
    """SHA-256 of names, types, shapes and contents, whatever their order in the file."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name, array in sorted(tensors.items()):
        digest.update(json.dumps([name, _NAMES[array.dtype], array.shape]).encode())
        digest.update(_contents(array))
    return digest.hexdigest()


def _read_header(file: IO[bytes], size: int) -> tuple[dict[str, Any], int]:
    """The header and where the arrays start."""
    if size < _LENGTH_BYTES:
        raise TensorFileError(f"it has only {size} bytes")
    (length,) = struct.unpack("<Q", file.read(_LENGTH_BYTES))
    if length > min(size - _LENGTH_BYTES, _HEADER_LIMIT):
        raise TensorFileError(
            f"it declares a header of {length} bytes, but has {size} bytes in all; "
            f"a header has {_HEADER_LIMIT} at most"
        )
    try:
        header = json.loads(file.read(length).decode())
    except (ValueError, RecursionError) as error:
        raise TensorFileError("its header is not JSON") from error
    if not isinstance(header, dict):
        raise TensorFileError("its header is not a JSON object")
    return header, _LENGTH_BYTES + length


def _is_text_by_name(metadata: Any) -> bool:
    return isinstance(metadata, dict) and all(isinstance(text, str) for text in metadata.values())


def _layout(name: str, entry: Any) -> tuple[np.dtype, tuple[int, ...], int, int]:
    """What the header says of one array: its type, its shape and its place."""
    try:
        dtype, shape = _DTYPES[entry["dtype"]], tuple(entry["shape"])
        begin, end = entry["data_offsets"]
        counts = (*shape, begin, end)
        if not all(type(count) is int and 0 <= count < 2**63 for count in counts):
            raise ValueError("not a count")
    except (KeyError, TypeError, ValueError) as error:
        raise TensorFileError(f"the header's entry for array {name!r} makes no sense") from error
    needed = math.prod(shape) * dtype.itemsize
    if end - begin != needed:
        raise TensorFileError(
            f"array {name!r} of shape {shape} needs {needed} bytes, but has {end - begin}"
        )
    return dtype, shape, begin, end


def _check_cover(layout: Mapping[str, tuple[np.dtype, tuple[int, ...], int, int]], n: int) -> None:
    """The arrays must lie one after the other and end where the file does."""
    covered = 0
    for name, (_, _, begin, end) in sorted(layout.items(), key=lambda item: item[1][2:]):
        if begin != covered:
            raise TensorFileError(f"array {name!r} starts at byte {begin} instead of {covered}")
        covered = end
    if covered > n:
        raise TensorFileError(f"it is truncated: its arrays need {covered} bytes, {n} are there")
    if covered < n:
        raise TensorFileError(f"it goes on for {n - covered} bytes after its arrays")


def _read_array(file: IO[bytes], dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    try:
        array = np.empty(shape, dtype=dtype)
    except ValueError as error:  # too many dimensions, or 0 times too many numbers
        raise TensorFileError(f"NumPy has no arrays of shape {shape}") from error
    contents = _contents(array)
    done = 0
    while done < len(contents):
        n_read = file.readinto(contents[done:])  # type: ignore[attr-defined]
        if not n_read:
            raise TensorFileError("it was cut short while it was read")
        done += n_read
    return array
