"""Where compiled loops over RNA structures find the score of each piece of a structure.

All scores lie in one vector, table after table.  A piece of a structure, such as a hairpin loop, is
a few of its entries: its score is their sum, and what a structure has of each piece are counts in a
vector of the same shape.

Positions are 1, …, n; ``s[0]`` and ``s[n + 1]`` are no bases.  A structure is an array of n + 2
positions: where a base has its partner, 0 for none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LETTERS = "ACGU"
N_BASES = 5
"""A, C, G, U, and what is none of them: N, and the places before and after a sequence."""
NO_BASE = 4
PAIRS = ("AU", "CG", "GC", "GU", "UA", "UG")
N_PAIRS = 6
NO_PAIR = 6
SHORTEST = 3
"""Bases that a hairpin loop has at least."""
LONGEST = 30
"""Bases that an interior loop has at most; a length beyond it counts as this one."""
_LENGTHS = LONGEST + 1
_ENDS = N_PAIRS * N_BASES * N_BASES

PAIR = 0
"""Of a pair (i, j)."""
STACK = PAIR + N_PAIRS
"""Of a pair on a pair, [outer, inner]."""
BULGE_STACK = STACK + N_PAIRS * N_PAIRS
"""The same across a bulge of one base."""
BULGE_BASE = BULGE_STACK + N_PAIRS * N_PAIRS
"""The base of such a bulge."""
BULGE = BULGE_BASE + N_BASES
"""By length."""
HAIRPIN = BULGE + _LENGTHS
"""By length."""
FOUR = HAIRPIN + _LENGTHS
"""Hairpin loops GNRA and UNCG."""
INTERIOR = FOUR + 2
"""By lengths, [first strand, second strand]."""
ONE_BY_ONE = INTERIOR + _LENGTHS * _LENGTHS
"""The bases of an interior loop of two."""
HAIRPIN_END = ONE_BY_ONE + N_BASES * N_BASES
"""The end of a helix at a loop: [pair as seen from the loop, base after its first, base before its
second]."""
INTERIOR_END = HAIRPIN_END + _ENDS
MULTI_END = INTERIOR_END + _ENDS
EXTERNAL_END = MULTI_END + _ENDS
BULGE_END = EXTERNAL_END + _ENDS
"""[pair as seen from the loop]."""
MULTI_OPEN = BULGE_END + N_PAIRS
MULTI_UNPAIRED = MULTI_OPEN + 1
EXTERNAL_UNPAIRED = MULTI_UNPAIRED + 1
N_ENTRIES = EXTERNAL_UNPAIRED + 1


def _kinds() -> np.ndarray:
    """The number of the pair of two bases, ``NO_PAIR`` if they do not pair."""
    kinds = np.full((N_BASES, N_BASES), NO_PAIR, dtype=np.uint8)
    for number, pair in enumerate(PAIRS):
        kinds[LETTERS.index(pair[0]), LETTERS.index(pair[1])] = number
    return kinds


PAIR_OF = _kinds()


class FoldingRoom(NamedTuple):
    """What a fold of n bases works in: 12 n² bytes and a few rows."""

    paired: np.ndarray
    """V(i, j), the best of i … j where i and j pair: row after row, j ≥ i."""
    some: np.ndarray
    """M(i, j), the best part of a multiloop with one branch or more."""
    many: np.ndarray
    """The same with two or more."""
    near: np.ndarray
    """2 × 32 × (n + 2): V of the last rows with the end of its helix at an interior loop and at a
    bulge."""
    rows: np.ndarray
    """4 × (n + 2)."""
    stack: np.ndarray
    """3 × (n + 2), whole numbers: what is left to trace."""
