"""Small RNA sequences, and all their structures listed one by one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from gapsvm.rows import folding
from gapsvm.types.folding import LETTERS, NO_PAIR, PAIR_OF, SHORTEST


def random_sequence(rng: Any, length: int, letters: str = LETTERS) -> str:
    return "".join(rng.choice(list(letters), length))


def codes_of(sequence: str) -> Any:
    return folding.encoded(sequence, "sequence")


def structures(codes: Any) -> Iterator[Any]:
    """Every set of pairs that can form and do not cross, as partners."""

    @cache
    def within(i: int, j: int) -> list[tuple[tuple[int, int], ...]]:
        if j - i <= SHORTEST:
            return [()]
        found = list(within(i + 1, j))
        for k in range(i + SHORTEST + 1, j + 1):
            if PAIR_OF[codes[i], codes[k]] != NO_PAIR:
                rest = within(k + 1, j)
                found += [((i, k), *a, *b) for a in within(i + 1, k - 1) for b in rest]
        return found

    for pairs in within(1, len(codes) - 2):
        partners = np.zeros(len(codes), dtype=np.int32)
        for i, k in pairs:
            partners[i], partners[k] = k, i
        yield partners


def random_structure(rng: Any, codes: Any) -> Any:
    """Some structure, of pairs far apart as well as near."""
    partners = np.zeros(len(codes), dtype=np.int32)
    todo = [(1, len(codes) - 2)]
    while todo:
        i, j = todo.pop()
        if j - i <= SHORTEST or rng.random() < 0.06:
            continue
        a, b = np.sort(rng.integers(i, j + 1, 2))
        kind = rng.random()
        if kind < 0.5:  # a longer helix
            a, b = i + min(rng.poisson(0.5), 3), j - min(rng.poisson(0.5), 3)
        elif kind < 0.8:  # a long bulge, or interior loop
            a, b = i + (kind < 0.7) * rng.integers(1, 33), j - (kind > 0.65) * rng.integers(1, 33)
        if i <= a and b - a > SHORTEST and PAIR_OF[codes[a], codes[b]] != NO_PAIR:
            partners[a], partners[b] = b, a
            todo.append((a + 1, b - 1))
            if not 0.5 <= kind < 0.8:
                todo += [(i, a - 1), (b + 1, j)]
        else:
            todo.append((i + 1, j) if rng.random() < 0.5 else (i, j - 1))
    return partners
