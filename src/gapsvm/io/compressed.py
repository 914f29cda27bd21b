"""gzip, bzip2 and xz as streams: decompressed a little at a time, and to the last byte of the file.

One rule for all three: whole members one after the other, and zeros between and after them, which
tapes and archives pad files with.  Anything else after a member is refused.
"""

from __future__ import annotations

import bz2
import io
import lzma
import math
import zlib
from collections.abc import Callable
from typing import IO, Any

_BLOCK = 1 << 16
_MEMORY = 1 << 28
"""Bytes that xz may ask for; its strongest setting needs 65 MB."""
LONG_LINE, MOST_SHRUNK = 1 << 23, 100
"""A line of so many bytes that shrank to less than such a share of them holds no data."""
NO_DATA = (
    f"the line is longer than {LONG_LINE} bytes, of less than a {MOST_SHRUNK}th as many compressed "
    "ones: no data shrink so far"
)


class CompressedError(ValueError):
    """Compressed data that is damaged, ends too early, or is followed by something else."""


class _Gzip:
    """zlib as bz2 and lzma are spoken to."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(31)
        self._rest = b""
        self.needs_input = True

    def decompress(self, data: bytes, max_length: int) -> bytes:
        found = self._inner.decompress(self._rest + data, max_length)
        self._rest = self._inner.unconsumed_tail
        self.needs_input = not self._rest and len(found) < max_length
        return found

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


_KINDS: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": _Gzip,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY),
}
LONGEST_MAGIC = max(map(len, _KINDS))


def is_compressed(start: bytes) -> bool:
    """Whether a file that starts so is one that `Decompressed` reads."""
    return start.startswith(tuple(_KINDS))


def whole_text(file: IO[bytes], most: float = math.inf) -> bytearray | None:
    """All that a file holds, decompressed if need be; None if that is more than ``most`` bytes.

    Raises
    ------
    CompressedError
        The data is damaged, or has a line that shrank so far that it is none.
    """
    magic = file.read(LONGEST_MAGIC)
    file.seek(0)
    stream = Decompressed(file) if is_compressed(magic) else None
    text, line, taken = bytearray(), 0, 0
    while part := (stream or file).read(1 << 20):
        text += part
        if len(text) > most:
            return None
        if stream is None:
            continue
        end = part.rfind(b"\n")
        if end >= 0:
            line, taken = len(part) - end - 1, stream.bytes_taken
        else:
            line += len(part)
        if line > max(LONG_LINE, MOST_SHRUNK * (stream.bytes_taken - taken)):
            raise CompressedError(f"in line {1 + text.count(bytes([10]))} {NO_DATA}")
    return text


class Decompressed(io.RawIOBase):
    """What a compressed file holds; the file stays the caller's."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._member: Any = None
        self._make: Callable[[], Any] | None = None
        self._waiting = b""
        self.bytes_taken = 0
        """Of the file, a block at a time."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            found = self._next(len(buffer))
        except lzma.LZMAError as error:
            raise CompressedError(str(error)) from error
        except zlib.error as error:
            raise CompressedError(str(error)) from error
        except OSError as error:
            if error.errno is not None:
                raise
            raise CompressedError(str(error)) from error  # bz2's way to say so
        buffer[: len(found)] = found
        return len(found)

    def _next(self, size: int) -> bytes:
        """Some bytes, at most so many; none at the end."""
        while self._member is not None or self._begins():
            member = self._member
            if member.needs_input and not self._waiting and not self._take():
                raise CompressedError("it ends before its end-of-stream marker")
            found: bytes = member.decompress(self._waiting, size)
            self._waiting = b""
            if member.eof:
                self._waiting, self._member = member.unused_data, None
            if found:
                return found
        return b""

    def _begins(self) -> bool:
        """Whether another member begins; False at the end of the file."""
        if self._make is not None and not self._skips_zeros():
            return False
        while len(self._waiting) < LONGEST_MAGIC and self._take():
            pass
        for magic, make in _KINDS.items():
            if self._waiting.startswith(magic) and self._make in (None, make):
                self._member, self._make = make(), make
                return True
        raise CompressedError(
            f"something else follows it from byte {self.bytes_taken - len(self._waiting)} of the "
            "file on"
        )

    def _skips_zeros(self) -> bool:
        """Whether anything is left after them."""
        self._waiting = self._waiting.lstrip(b"\0")
        while not self._waiting and self._take():
            self._waiting = self._waiting.lstrip(b"\0")
        return bool(self._waiting)

    def _take(self) -> bool:
        block = self._file.read(_BLOCK)
        self._waiting += block
        self.bytes_taken += len(block)
        return bool(block)
