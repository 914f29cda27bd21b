"""Files of RNA sequences and their structures: FASTA with dots and brackets, and CSV.

FASTA: a line ``>name``, lines of the sequence, and where the structure is known lines of dots and
brackets, behind which an energy may stand, as ViennaRNA writes it.  CSV: a header that names the
columns ``sequence`` and, where they are there, ``dot_bracket`` (or ``structure``) and
``sequence_id`` (or ``id``, ``name``).
"""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass

from gapsvm.io.compressed import CompressedError, whole_text
from gapsvm.system.regular import open_regular

_MOST_BYTES = 1 << 31
_BRACKETS = ".([{<)]}>"
_NAMES = ("sequence_id", "id", "name")
_STRUCTURES = ("dot_bracket", "structure")


@dataclass(frozen=True)
class RNASequences:
    """The sequences of a file.

    Parameters
    ----------
    names, sequences : list of str
    structures : list of str or None
        Dots and brackets; None where the file has none.
    """

    names: list[str]
    sequences: list[str]
    structures: list[str] | None


def read_rna(path: str | os.PathLike[str]) -> RNASequences:
    """The sequences of a FASTA or a CSV file, which may be compressed (gzip, bzip2, xz).

    Parameters
    ----------
    path
        The file to read: FASTA where it begins with ``>``, else CSV.

    Raises
    ------
    ValueError
        Names the line, or the sequence that has a structure where others have none.
    """
    text = _text(path).lstrip()
    read = _fasta if text.startswith((">", ";")) else _table
    found = read(text, str(path)) if text else []
    if not found:
        raise ValueError(f"{path} has no sequences")
    names, sequences, structures = (list(part) for part in zip(*found))
    told = [structure is not None for structure in structures]
    if any(told) and not all(told):
        raise ValueError(
            f"{path}: sequence {names[told.index(False)]} has no structure, but "
            f"{names[told.index(True)]} has one"
        )
    return RNASequences(names, sequences, structures if all(told) else None)


def written_rna(names: list[str], sequences: list[str], structures: list[str]) -> str:
    """FASTA with structures."""
    lines = [f">{a}\n{b}\n{c}\n" for a, b, c in zip(names, sequences, structures)]
    return "".join(lines)


Record = tuple[str, str, str | None]


def _fasta(text: str, path: str) -> list[Record]:
    found: list[Record] = []
    name, sequence, structure = "", "", ""
    begun = False
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if line.startswith(">"):
            if begun:
                found.append((name, sequence, structure or None))
            name, sequence, structure, begun = line[1:].strip(), "", "", True
            name = name.split()[0] if name else f"sequence_{len(found) + 1}"
        elif not line or line.startswith(";"):
            continue
        elif not begun:
            raise ValueError(f"{path}, line {number}: {line[:40]!r} stands before the first '>'")
        elif line[0] in _BRACKETS:
            structure += line.split()[0]
        elif structure:
            raise ValueError(f"{path}, line {number}: bases of {name} after its structure")
        else:
            sequence += "".join(line.split())
    return [*found, (name, sequence, structure or None)] if begun else found


def _table(text: str, path: str) -> list[Record]:
    lines = csv.reader(io.StringIO(text))
    header = [column.strip().lower() for column in next(lines, [])]
    if "sequence" not in header:
        raise ValueError(
            f"{path} is neither FASTA, which begins with '>', nor a CSV file with a column "
            f"'sequence': its first line is {','.join(header)[:60]!r}"
        )
    name, structure = (
        next((header.index(column) for column in known if column in header), None)
        for known in (_NAMES, _STRUCTURES)
    )
    sequence = header.index("sequence")
    found: list[Record] = []
    for row in lines:
        if not row:
            continue
        if len(row) != len(header):
            raise ValueError(
                f"{path}, line {lines.line_num}: {len(row)} fields, but the header names "
                f"{len(header)}"
            )
        named = row[name].strip() if name is not None else ""
        brackets = row[structure].strip() if structure is not None else ""
        label = named or f"sequence_{len(found) + 1}"
        found.append((label, row[sequence].strip(), brackets or None))
    return found


def _text(path: str | os.PathLike[str]) -> str:
    with open_regular(path) as file:
        try:
            contents = whole_text(file, _MOST_BYTES)
        except CompressedError as error:
            raise ValueError(f"{path}: the compressed data is damaged: {error}") from error
    if contents is None:
        raise ValueError(f"{path} holds more than {_MOST_BYTES} bytes of text")
    try:
        return contents.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: no UTF-8 text") from None
