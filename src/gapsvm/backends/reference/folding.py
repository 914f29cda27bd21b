"""The best structure of an RNA sequence: its recursion, a line for each way to go on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gapsvm.backends.reference import structures
from gapsvm.types import folding as f

_NONE = -np.inf
Way = tuple[float, tuple[Any, ...]]
"""A score, and the parts of which it is the sum: ("V", i, j) and so on, the first one in full."""


@dataclass
class _Recursion:
    """V, M, M2 and F of an interval with the parts that attain them; each is asked for once."""

    s: Any
    scores: Any
    truth: Any
    prices: Any

    @cached_property
    def known(self) -> dict[Any, Way]:
        return {}

    def of(self, name: str, i: int, j: int) -> Way:
        key = name, i, j
        if key not in self.known:
            ways = getattr(self, f"_{name}")(i, j)
            self.known[key] = max(ways, key=lambda known: known[0], default=(_NONE, ()))
        return self.known[key]

    def _sum(self, pieces: list[int], *parts: Any) -> Way:
        total = sum(self.scores[piece] for piece in pieces)
        return float(total + sum(self.of(*part)[0] for part in parts)), parts

    def _end(self, table: int, i: int, k: int) -> list[int]:
        return [structures.end(table, self.s, k, i)]

    def _V(self, i: int, j: int) -> list[Way]:
        s, pairs = self.s, structures.kind(self.s, i, j) != f.NO_PAIR
        if j - i <= f.SHORTEST or not pairs:
            return []
        ways = [self._sum(structures.hairpin(s, i, j))]
        for k in range(i + 1, min(i + f.LONGEST + 2, j)):
            for m in range(max(k + 1, j - 1 - f.LONGEST + (k - i - 1)), j):
                if self.of("V", k, m)[0] > _NONE:
                    ways.append(self._sum(structures.two_pairs(s, i, j, k, m), ("V", k, m)))
        ways.append(self._sum(structures.closing(s, i, j), ("M2", i + 1, j - 1)))
        loss = 0.0
        if len(self.truth):
            loss = -self.prices[1] if self.truth[i] == j else self.prices[0]
        return [(value + loss, parts) for value, parts in ways]

    def _begun(self, i: int, j: int, then: str) -> list[Way]:
        """A branch (i, k) of a multiloop and what follows it."""
        found = [k for k in range(i + 1, j) if self.of("V", i, k)[0] > _NONE]
        table = f.MULTI_END
        return [self._sum(self._end(table, i, k), ("V", i, k), (then, k + 1, j)) for k in found]

    def _M2(self, i: int, j: int) -> list[Way]:
        if j <= i:
            return []
        return [self._sum([f.MULTI_UNPAIRED], ("M2", i + 1, j)), *self._begun(i, j, "M")]

    def _M(self, i: int, j: int) -> list[Way]:
        if j <= i:
            return []
        ways = [self._sum([f.MULTI_UNPAIRED], ("M", i + 1, j)), *self._begun(i, j, "M")]
        for k in range(i + 1, j + 1):
            pieces = self._end(f.MULTI_END, i, k) if self.of("V", i, k)[0] > _NONE else []
            if pieces:
                ways.append(self._sum(pieces + [f.MULTI_UNPAIRED] * (j - k), ("V", i, k)))
        return ways

    def _F(self, i: int, j: int) -> list[Way]:
        if i > j:
            return [(0.0, ())]
        ways = [self._sum([f.EXTERNAL_UNPAIRED], ("F", i + 1, j))]
        for k in range(i + 1, j + 1):
            if self.of("V", i, k)[0] > _NONE:
                pieces = self._end(f.EXTERNAL_END, i, k)
                ways.append(self._sum(pieces, ("V", i, k), ("F", k + 1, j)))
        return ways


def fold(
    s: Any, scores: Any, truth: Any, prices: Any, room: Any, entries: Any, partners: Any
) -> float:
    n = len(s) - 2
    recursion = _Recursion(s, scores, truth, prices)
    for i in range(n, 0, -1):
        for j in range(i, n + 1):
            recursion.of("V", i, j)  # short intervals first: no deep recursion
    partners[:] = 0
    todo: list[Any] = [("F", 1, n)]
    while todo:
        name, i, j = todo.pop()
        if name == "V":
            partners[i], partners[j] = j, i
        todo += recursion.of(name, i, j)[1]
    return recursion.of("F", 1, n)[0]
