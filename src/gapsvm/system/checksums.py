"""Checksums of arrays in files, a chunk at a time: what is read for the first time is checked."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np

CHUNK = 1 << 24
"""Bytes; a SHA-256 for each."""
DIGEST = hashlib.sha256().digest_size


class DamagedError(ValueError):
    """A file whose contents are not those that were written."""


class RunningDigests:
    """The checksums of the chunks of a file that is written from front to back."""

    def __init__(self) -> None:
        self._finished: list[bytes] = []
        self._last, self._room = hashlib.sha256(), CHUNK

    def update(self, contents: memoryview) -> None:
        while len(contents) >= self._room:
            self._last.update(contents[: self._room])
            contents = contents[self._room :]
            self._finished.append(self._last.digest())
            self._last, self._room = hashlib.sha256(), CHUNK
        self._last.update(contents)
        self._room -= len(contents)

    def digests(self) -> bytes:
        """One after the other; none for no contents."""
        return b"".join(self._finished + [self._last.digest()] * (self._room < CHUNK))


def count_chunks(n_bytes: int) -> int:
    return -(-n_bytes // CHUNK)


class Chunks:
    """Which chunks of a mapped array's file are still to be checked, and against what."""

    def __init__(self, path: str | os.PathLike[str], digests: bytes) -> None:
        self._path = path
        self._digests = digests
        self._left = np.ones(len(digests) // DIGEST, dtype=bool)

    def confirm(self, contents: memoryview, first: int, last: int) -> None:
        """Check the bytes first … last of the contents unless that has been done."""
        for k in range(first // CHUNK, count_chunks(last)):
            if not self._left[k]:
                continue
            start = k * CHUNK
            found = hashlib.sha256(contents[start : start + CHUNK]).digest()
            if found != self._digests[k * DIGEST : (k + 1) * DIGEST]:
                end = min(start + CHUNK, len(contents))
                raise DamagedError(
                    f"{self._path} is damaged: its contents are not those that were written, "
                    f"somewhere between bytes {start} and {end} of the array"
                )
            self._left[k] = False


def attach(mapping: np.memmap, chunks: Chunks) -> None:
    """Have the parts of a mapped array checked as they are first read, by `confirm`."""
    mapping.chunks = chunks  # type: ignore[attr-defined]


def confirm(array: Any) -> None:
    """Check what an array holds, if it is one of those of `attach` or a part of one."""
    mapping = array
    while mapping is not None and not hasattr(mapping, "chunks"):
        mapping = getattr(mapping, "base", None)
    if mapping is None or array.size == 0:
        return
    first, last = 0, mapping.nbytes
    if array.flags.c_contiguous:
        first = array.ctypes.data - mapping.ctypes.data
        last = first + array.nbytes
    mapping.chunks.confirm(mapping.view(np.uint8).data, first, last)
