"""RNA sequences, their structures, and what weights say of these.

A structure scores ⟨w, φ⟩, φ counting its pieces: stacked pairs, ends of helices, loops by length.
Compiled loops read the score of a piece from tables (``gapsvm.types.folding``) which are linear in
w: the tables are A·w, φ is Aᵀ·(counts of the tables' entries).  A says which pieces share a
weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.system.lazy import sparse as sp
from gapsvm.system.memory import in_units, physical_memory
from gapsvm.system.texts import shown
from gapsvm.types import folding as f

_CODES = {**{letter: k for k, letter in enumerate(f.LETTERS)}, "T": 3, "N": f.NO_BASE}
_OPEN, _CLOSED = "([{<", ")]}>"
_EXPLICIT = 4
"""Interior loops of so many bases at most on both strands have a feature of their own."""
_MOST_ENTRIES = 5
Piece = tuple[str, int]
"""The name of a feature, and an entry of the tables that it adds to."""


# -- which features there are ----------------------------------------------------------------------


@cache
def feature_names() -> tuple[str, ...]:
    """What each weight is for."""
    return tuple(dict.fromkeys(name for name, _ in _pieces()))


@cache
def _matrix() -> Any:
    """A, entries × features."""
    pieces = list(_pieces())
    number = {name: k for k, name in enumerate(feature_names())}
    columns = [number[name] for name, _ in pieces]
    entries = [entry for _, entry in pieces]
    shape = (f.N_ENTRIES, len(number))
    return sp.csr_matrix((np.ones(len(pieces)), (entries, columns)), shape=shape)


def scores_of(w: Any) -> Any:
    """The tables that weights make."""
    return _matrix() @ w


@cache
def _transposed() -> Any:
    return _matrix().T.tocsr()


def features_of(counts: Any) -> Any:
    """φ of a structure, from the counts of its pieces."""
    return _transposed() @ counts


def _pieces() -> Iterator[Piece]:
    yield from _pairs()
    yield from _lengths()
    yield from _interior()
    yield from _ends()
    yield "multiloop", f.MULTI_OPEN
    yield "multiloop unpaired", f.MULTI_UNPAIRED
    yield "external unpaired", f.EXTERNAL_UNPAIRED


def _pairs() -> Iterator[Piece]:
    for kind, pair in enumerate(f.PAIRS):
        yield f"pair {min(pair, pair[::-1])}", f.PAIR + kind
    for (outer, one), (inner, other) in product(enumerate(f.PAIRS), repeat=2):
        name = min(f"{one} {other}", f"{other[::-1]} {one[::-1]}")  # read on either strand
        yield f"stack {name}", f.STACK + f.N_PAIRS * outer + inner
        yield f"stack across a bulge {name}", f.BULGE_STACK + f.N_PAIRS * outer + inner
    for base, letter in enumerate(f.LETTERS):
        yield f"bulge of {letter}", f.BULGE_BASE + base


def _lengths() -> Iterator[Piece]:
    for length in range(1, f.LONGEST + 1):
        for least in range(1, length + 1):
            yield f"bulge length ≥ {least}", f.BULGE + length
    for length in range(f.SHORTEST, f.LONGEST + 1):
        for least in range(f.SHORTEST, length + 1):
            yield f"hairpin length ≥ {least}", f.HAIRPIN + length
    yield "hairpin GNRA", f.FOUR
    yield "hairpin UNCG", f.FOUR + 1


def _interior() -> Iterator[Piece]:
    for first, second in product(range(1, f.LONGEST), repeat=2):
        length, apart = first + second, abs(first - second)
        if length > f.LONGEST:
            continue
        entry = f.INTERIOR + (f.LONGEST + 1) * first + second
        for least in range(2, length + 1):
            yield f"interior length ≥ {least}", entry
        for least in range(1, apart + 1):
            yield f"interior asymmetry ≥ {least}", entry
        short, long = sorted((first, second))
        if long <= _EXPLICIT:
            yield f"interior {short} × {long}", entry
    for (a, one), (b, other) in product(enumerate(f.LETTERS), repeat=2):
        entry = f.ONE_BY_ONE + f.N_BASES * a + b
        yield f"interior of {min(one, other)} and {max(one, other)}", entry


def _ends() -> Iterator[Piece]:
    tables = {
        "hairpin": f.HAIRPIN_END,
        "interior": f.INTERIOR_END,
        "multiloop": f.MULTI_END,
        "external": f.EXTERNAL_END,
    }
    for kind, pair in enumerate(f.PAIRS):
        yield f"end {pair}", f.BULGE_END + kind
        for (loop, table), a, b in product(tables.items(), range(f.N_BASES), range(f.N_BASES)):
            entry = table + (kind * f.N_BASES + a) * f.N_BASES + b
            yield f"end {pair}", entry
            after, before = (f.LETTERS + "-")[a], (f.LETTERS + "-")[b]
            if loop in ("multiloop", "external"):
                yield f"{loop} branch", entry
                if a != f.NO_BASE:
                    yield f"dangle {after} after {pair}", entry
                if b != f.NO_BASE:
                    yield f"dangle {before} before {pair}", entry
            elif f.NO_BASE not in (a, b):
                yield f"mismatch {pair} {after} {before}", entry
                if loop == "interior":
                    yield f"interior mismatch {after} {before}", entry


# -- sequences and structures ----------------------------------------------------------------------


def encoded(sequence: Any, name: str) -> Any:
    """The bases of a sequence as numbers; ``name`` stands in errors."""
    if not isinstance(sequence, str):
        raise TypeError(f"{name} must be a text, got {type(sequence).__name__}")
    if not sequence:
        raise ValueError(f"{name} is empty")
    codes = np.full(len(sequence) + 2, f.NO_BASE, dtype=np.uint8)
    try:
        codes[1:-1] = [_CODES[letter] for letter in sequence.upper()]
    except KeyError as error:
        at = sequence.upper().index(error.args[0])
        raise ValueError(
            f"{name} has {sequence[at]!r} at position {at + 1}; bases are A, C, G, U or T, and N"
        ) from None
    return codes


def partners_of(brackets: Any, length: int, name: str) -> Any:
    """The partners that a dot-bracket text gives; ``name`` stands in errors."""
    if not isinstance(brackets, str):
        raise TypeError(f"the structure of {name} must be a text, got {type(brackets).__name__}")
    if len(brackets) != length:
        raise ValueError(
            f"{name} has {length} bases, but its structure has {len(brackets)} characters"
        )
    partners, begun = np.zeros(length + 2, dtype=np.int32), []
    for at, bracket in enumerate(brackets, 1):
        if bracket in _OPEN:
            begun.append((at, bracket))
        elif bracket in _CLOSED:
            if not begun:
                raise ValueError(f"{name}: {bracket!r} at position {at} closes no bracket")
            first, own = begun.pop()
            if _OPEN.index(own) != _CLOSED.index(bracket):
                raise ValueError(
                    f"{name}: {bracket!r} at position {at} crosses {own!r} at position {first}; "
                    "structures must be without pseudoknots"
                )
            partners[first], partners[at] = at, first
        elif bracket not in ".,-_:":
            raise ValueError(
                f"{name}: {bracket!r} at position {at} of the structure is neither a bracket nor "
                "a dot"
            )
    if begun:
        at, bracket = begun[-1]
        raise ValueError(f"{name}: {bracket!r} at position {at} is never closed")
    return partners


def brackets_of(partners: Any) -> str:
    """A structure as dots and brackets."""
    at = np.arange(len(partners))
    signs = np.where(partners == 0, ".", np.where(partners > at, "(", ")"))
    return "".join(signs[1:-1])


def formable(codes: Any, partners: Any) -> Any:
    """A structure without the pairs that no fold has: of bases that do not pair, or too near."""
    at = np.arange(len(codes))
    kinds = f.PAIR_OF[codes, codes[partners]]
    near = np.abs(partners - at) <= f.SHORTEST
    return np.where((partners > 0) & (kinds != f.NO_PAIR) & ~near, partners, 0).astype(np.int32)


def helical(partners: Any) -> Any:
    """A structure without its lonely pairs, those that are stacked on no other."""
    outer, inner = np.roll(partners, 1), np.roll(partners, -1)
    stacked = (outer == partners + 1) | ((inner == partners - 1) & (inner > 0))
    return np.where((partners > 0) & stacked, partners, 0).astype(np.int32)


def pair_loss(truth: Any, partners: Any, prices: Any) -> float:
    """prices[0] for each pair that the truth has not, prices[1] for each that it has alone."""
    at = np.arange(len(truth))
    wrong = np.count_nonzero((partners > at) & (partners != truth))
    missed = np.count_nonzero((truth > at) & (partners != truth))
    return float(prices[0] * wrong + prices[1] * missed)


def name_of(i: int, names: Sequence[str] | None = None) -> str:
    """What errors call a sequence."""
    return f"sequence {i}" if names is None else f"sequence {i} ({names[i]})"


def count_of(sequences: Any) -> int:
    """How many there are; one text is no list of them."""
    sized = not isinstance(sequences, str) and hasattr(type(sequences), "__len__")
    if not sized:
        raise TypeError(f"X must be a list of sequences, each a text; got {shown(sequences)}")
    return len(sequences)


def coded_sequences(sequences: Sequence[str], names: Sequence[str] | None = None) -> list[Any]:
    """The bases of each sequence as numbers; one that is too long to be folded is an error."""
    count_of(sequences)
    coded = [encoded(text, name_of(i, names)) for i, text in enumerate(sequences)]
    found = physical_memory()
    for i, codes in enumerate(coded):
        needed = bytes_of_fold(len(codes) - 2)
        if found is not None and needed > found:
            raise MemoryError(
                f"{name_of(i, names)} has {len(codes) - 2:,} bases; to fold it takes "
                f"{in_units(needed)}, and this machine has {in_units(found)} of memory"
            )
    return coded


# -- folding ---------------------------------------------------------------------------------------

_NO_TRUTH = np.zeros(0, dtype=np.int32)
_FREE = np.zeros(2)


def bytes_of_fold(length: int) -> int:
    """Memory that a fold of so many bases takes."""
    return 12 * length * (length + 1) + 8 * 75 * (length + 2)


def _room(length: int) -> f.FoldingRoom:
    table, width = length * (length + 1) // 2, length + 2
    return f.FoldingRoom(
        *(np.empty(table), np.empty(table), np.empty(table)),
        *(np.empty((2, 32, width)), np.empty((4, width)), np.empty((3, width), dtype=np.int64)),
    )


@dataclass(frozen=True)
class Folded:
    """A structure, and its score with the prices that were asked for."""

    partners: Any
    score: float


def fold(
    codes: Any, scores: Any, backend: Backend, truth: Any = _NO_TRUTH, prices: Any = _FREE
) -> Folded:
    """The best structure of a sequence; with a truth, of score + loss less the loss of no pairs."""
    partners = np.empty(len(codes), dtype=np.int32)
    entries = np.empty(_MOST_ENTRIES, dtype=np.int64)
    score = backend.fold(codes, scores, truth, prices, _room(len(codes) - 2), entries, partners)
    return Folded(partners, float(score))


def structure_features(codes: Any, partners: Any, backend: Backend) -> Any:
    """φ of a structure of pairs that can form."""
    counts = np.zeros(f.N_ENTRIES)
    entries = np.empty(_MOST_ENTRIES, dtype=np.int64)
    backend.structure_counts(codes, partners, entries, counts)
    return features_of(counts)
