"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def temporary_neighbour(path: Path) -> Path:
    """A hidden name that nothing has yet, in the folder of ``path``: renaming it is atomic."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


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
    temporary = temporary_neighbour(path)
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if error.filename in (None, str(temporary)):  # a full disk's error names no file
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)
