"""Files that appear complete or not at all.

Until it is complete a file has no name, where the system can do that: then a kill at any moment
leaves nothing behind.  Elsewhere, and while it takes the place of another, it has a hidden one; who
writes there next removes what a kill has left of these.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl

_HANDLES = "/proc/self/fd"
_NOT_SUPPORTED = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOSYS, errno.ENOENT}
"""How systems and file systems say that they have no files without a name; EISDIR and ENOENT are
said of other things too, which the attempt with a name then says again."""


_UNNAMED = "new"
_YOUNG = 10.0
"""Seconds in which whoever made a temporary name has claimed it."""


class NewFile:
    """A file to write and read that has no name yet; without one it vanishes when it is closed."""

    def __init__(self, folder: Path) -> None:
        self._temporary: Path | None = None
        nameless = _nameless(folder)
        if nameless is None:
            remove_leftovers(folder / _UNNAMED)
            self._temporary = temporary_neighbour(folder / _UNNAMED)
            nameless = os.open(
                self._temporary,
                os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0),
                0o666,
            )
        self.stream: IO[bytes] = open(nameless, "w+b")  # noqa: SIM115, closed by its owner
        claim(nameless)

    def settle(self) -> None:
        """Have everything written to the disk."""
        self.stream.flush()
        os.fsync(self.stream.fileno())

    def appear(self, path: Path) -> None:
        """Take that name, from whatever file has it, once everything is on the disk; and close."""
        self.settle()
        if self._temporary is None and not self._linked(path):
            neighbour = temporary_neighbour(path)
            try:
                if not self._linked(neighbour):
                    self._copied(neighbour)
                os.replace(neighbour, path)
            finally:
                neighbour.unlink(missing_ok=True)
        elif self._temporary is not None:
            self.stream.close()  # some systems rename no open files
            os.replace(self._temporary, path)
        self.close()

    def close(self) -> None:
        with suppress(OSError):  # a full disk, which flushing has told of already
            self.stream.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)

    def _linked(self, path: Path) -> bool:
        """Give it a name that nothing has; False if something has, or names cannot be given."""
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            os.link(f"{_HANDLES}/{self.stream.fileno()}", path.name, dst_dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
                raise
            return False
        finally:
            os.close(folder)
        return True

    def _copied(self, path: Path) -> None:
        self.stream.seek(0)
        with open(path, "xb") as file:
            claim(file.fileno())
            shutil.copyfileobj(self.stream, file)
            file.flush()
            os.fsync(file.fileno())


def _nameless(folder: Path) -> int | None:
    """An open file in that folder that has no name; None where there is no such thing."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir(_HANDLES):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError as error:
        if error.errno in _NOT_SUPPORTED:
            return None
        raise


def temporary_neighbour(path: Path) -> Path:
    """A hidden name that nothing has yet, in the folder of ``path``: renaming it is atomic."""
    return path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}.tmp")


def claim(descriptor: int) -> None:
    """Show that whoever made a temporary file or folder lives, until it is closed."""
    if sys.platform != "win32":
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """A temporary folder, claimed as long as the block lasts."""
    if sys.platform == "win32":  # no folder can be opened there
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        claim(descriptor)
        yield
    finally:
        os.close(descriptor)


def remove_leftovers(path: Path) -> None:
    """Remove temporary neighbours of ``path`` that nobody claims: their writer was killed."""
    form = re.compile(re.escape(f".{path.name[:50]}.") + r"[0-9a-f]{8}\.tmp")
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if form.fullmatch(entry.name) and not entry.is_symlink():
                _remove_if_left(Path(entry.path))


def _remove_if_left(path: Path) -> None:
    if sys.platform == "win32":
        return
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        try:
            if time.time() - os.fstat(descriptor).st_mtime < _YOUNG:
                return
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an OSError if it is claimed
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        finally:
            os.close(descriptor)


def check_can_write(path: Path) -> None:
    """Raise an OSError if no such file can be made: nothing less than one is a proof."""
    remove_leftovers(path)
    with about(path):
        NewFile(path.parent).close()
        with suppress(FileNotFoundError):
            os.lstat(path)  # says if the name is too long


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file that takes ``path``'s place when the block ends well, and vanishes if it does not.

    At every moment, also of a power failure, the name holds the old content or the new one.

    Raises
    ------
    OSError
        Naming ``path``: no space, no permission, or something that is no file has that name.
    """
    path = Path(path)
    if path.exists() and not path.is_file():  # a folder, or a device such as /dev/null
        raise OSError(f"{path} exists and is not a file; it is not replaced")
    with about(path):
        file = NewFile(path.parent)
    try:
        try:
            yield file.stream
        except OSError as error:
            error.filename = error.filename or str(path)  # a full disk's error names no file
            raise
        with about(path):
            file.appear(path)
    finally:
        file.close()


@contextmanager
def about(path: Path) -> Iterator[None]:
    """An OSError in the block speaks of that path, and not of names that nobody knows."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
