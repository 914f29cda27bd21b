"""Files of labelled sequences in columns (CoNLL), and CRF++'s templates of features.

A line holds the columns of a token, the last one its label; a blank line ends a sequence.  A
template line ``U05:%x[-1,0]/%x[0,0]`` makes the feature whose name is that text, each ``%x[r,c]``
replaced by column c of the token r places on; ``B`` stands for the steps from label to label.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from gapsvm.io.compressed import CompressedError, whole_text
from gapsvm.system.regular import open_regular

Sentence = list[list[str]]
"""The columns of each token."""

_MOST_BYTES = 1 << 31
_PLACE = re.compile(r"%x\[(-?\d{1,4}),(\d{1,4})\]")


def read_conll(path: str | os.PathLike[str]) -> list[Sentence]:
    """The sequences of a file, which may be compressed (gzip, bzip2, xz).

    Parameters
    ----------
    path
        The file to read: a token a line, its columns, blank lines between sequences.

    Raises
    ------
    ValueError
        Names the line where the number of columns changes, or that is no text.
    """
    return parse_conll(_contents(path), str(path))


def parse_conll(contents: bytes | bytearray, name: str) -> list[Sentence]:
    """The sequences of a text; ``name`` stands in errors."""
    try:
        text = contents.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = contents.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{name}, line {line}: no UTF-8 text") from None
    sentences: list[Sentence] = []
    current: Sentence = []
    width = 0
    for number, columns in enumerate(map(str.split, text.split("\n")), 1):
        if not columns:
            if current:
                sentences.append(current)
                current = []
            continue
        width = width or len(columns)
        if len(columns) != width:
            raise ValueError(
                f"{name}, line {number}: {len(columns)} columns, but the lines before have {width}"
            )
        current.append(columns)
    return [*sentences, current] if current else sentences


def split_labels(sentences: list[Sentence], name: str) -> tuple[list[Sentence], list[list[str]]]:
    """The columns before the last one, and the labels that stand there."""
    if sentences and len(sentences[0][0]) < 2:
        raise ValueError(f"{name}: a line needs two columns at least, the last one its label")
    X = [[token[:-1] for token in sentence] for sentence in sentences]
    return X, [[token[-1] for token in sentence] for sentence in sentences]


@dataclass(frozen=True)
class Template:
    """Which features tokens have, in CRF++'s notation.

    Parameters
    ----------
    lines : tuple of texts
        The lines that begin with U, without comments.
    """

    lines: tuple[str, ...]

    @classmethod
    def parsed(cls, text: str, name: str = "template") -> Template:
        """Read a template; an error names the line."""
        lines = []
        for number, raw in enumerate(text.split("\n"), 1):
            line = raw.strip()
            if not line or line.startswith("#") or line == "B":
                continue
            if line.startswith("B"):
                raise ValueError(
                    f"{name}, line {number}: {line!r} asks for features of steps between labels; "
                    "only 'B', the steps themselves, can be asked for"
                )
            if not line.startswith("U") or "%x" in _PLACE.sub("", line):
                raise ValueError(
                    f"{name}, line {number}: {line!r} is no template line such as "
                    "U01:%x[-1,0]/%x[0,0]"
                )
            lines.append(line)
        if not lines:
            raise ValueError(f"{name} has no line that begins with U: no features")
        return cls(tuple(lines))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Template:
        """The template of a file."""
        try:
            return cls.parsed(_contents(path).decode("utf-8-sig"), str(path))
        except UnicodeDecodeError:
            raise ValueError(f"{path}: no UTF-8 text") from None

    @property
    def n_columns(self) -> int:
        """Columns that tokens must have at least."""
        return 1 + max((int(c) for line in self.lines for _, c in _PLACE.findall(line)), default=-1)

    def features(self, sentences: list[Sentence]) -> list[list[list[str]]]:
        """The names of the features of each token of each sequence.

        Beyond the ends of a sequence columns read ``_B-1``, ``_B-2``, … and ``_B+1``, …
        """
        parts = [_parts(line) for line in self.lines]
        far = max([abs(row) for _, places in parts for row, _ in places], default=0)
        before = [f"_B-{k}" for k in range(far, 0, -1)]
        after = [f"_B+{k}" for k in range(1, far + 1)]
        needed, found = self.n_columns, []
        for i, sentence in enumerate(sentences):
            if sentence and len(sentence[0]) < needed:
                raise ValueError(
                    f"sequence {i} has {len(sentence[0])} columns, but the template needs {needed}"
                )
            columns = [[*before, *(token[c] for token in sentence), *after] for c in range(needed)]
            found.append(_named(parts, columns, far, len(sentence)))
        return found


def _parts(line: str) -> tuple[str, list[tuple[int, int]]]:
    """A format and the places (row, column) that fill it."""
    places = [(int(r), int(c)) for r, c in _PLACE.findall(line)]
    return _PLACE.sub("%s", line.replace("%", "%%").replace("%%x[", "%x[")), places


def _named(parts: Any, columns: Any, far: int, length: int) -> list[list[str]]:
    by_line = []
    for text, places in parts:
        cells = [columns[c][far + r : far + r + length] for r, c in places]
        by_line.append([text % cell for cell in zip(*cells)] if cells else [text % ()] * length)
    return [list(names) for names in zip(*by_line)]


def _contents(path: str | os.PathLike[str]) -> bytearray:
    with open_regular(path) as file:
        try:
            text = whole_text(file, _MOST_BYTES)
        except CompressedError as error:
            raise ValueError(f"{path}: the compressed data is damaged: {error}") from error
    if text is None:
        raise ValueError(f"{path} holds more than {_MOST_BYTES} bytes of text")
    return text
