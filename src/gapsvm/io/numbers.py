"""Numbers in a text file, one on each line, such as weights."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from gapsvm.io.compressed import CompressedError, whole_text
from gapsvm.system.texts import shown

_MOST_BYTES = 1 << 33


def read_numbers(path: str | os.PathLike[str]) -> Any:
    """The numbers of a text file, which may be compressed or a pipe; ``#`` begins a comment.

    Raises
    ------
    ValueError
        Naming the file, and the line of what is no number.
    """
    with open(path, "rb") as file:
        try:
            text = whole_text(file, _MOST_BYTES) if file.seekable() else file.read(_MOST_BYTES)
        except CompressedError as error:
            raise ValueError(f"{path}: the compressed data is damaged: {error}") from error
    if text is None:
        raise ValueError(f"{path} holds more than {_MOST_BYTES} bytes of text")
    lines = bytes(text).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    found = np.empty(len(lines))
    count = 0
    for number, line in enumerate(lines, 1):
        token = line.partition(b"#")[0].strip()
        if not token:
            continue
        try:
            found[count] = float(token)
        except ValueError:
            said = shown(token.decode("utf-8", "replace"))
            raise ValueError(f"{path}, line {number}: {said} is no number") from None
        count += 1
    return found[:count]
