"""Files that are files: to open a pipe in the place of one may take for ever."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO


def open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file to read it.

    Raises
    ------
    OSError
        Naming the path, also where it is no regular file; no writer of a pipe is waited for.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a device that is not there
            raise _no_file(path) from None
        raise
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise _no_file(path)


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise what `open_regular` raises."""
    open_regular(path).close()


def _no_file(path: str | os.PathLike[str]) -> OSError:
    return OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(Path(path)))
