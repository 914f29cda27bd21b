"""Two tiers: what everybody runs, and the rest.

The first tier has every idea once.  A test of few cases runs whole; of one that crosses several
parameters, so many cases are kept that every value of every parameter appears, chosen for the
pairs of values that they bring together.  Of a test marked ``compiles``, whose every case is
another compiled loop, no more are kept than that takes.  Tests marked slow are of the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, groupby
from typing import Any

FEW = 12
"""Cases of a test that run whole."""

Case = tuple[tuple[str, Any], ...]
"""The value of each parameter."""


def chosen(cases: Sequence[Case], few: int = FEW) -> list[int]:
    """The cases of a test that belong to the first tier."""
    if len(cases) <= few:
        return list(range(len(cases)))
    values = {value for case in cases for value in case}
    pairs: set[Any] = set()
    kept: list[int] = []
    left = list(range(len(cases)))
    while left and (values or len(kept) < few):
        best = max(left, key=lambda k: (_new(values, cases[k]), len(_pairs(cases[k]) - pairs)))
        kept.append(best)
        left.remove(best)
        values -= set(cases[best])
        pairs |= _pairs(cases[best])
    return sorted(kept)


def _new(values: set[Any], case: Case) -> int:
    return len(values & set(case))


def _pairs(case: Case) -> set[Any]:
    return set(combinations(case, 2))


def first_tier(items: Iterable[Any]) -> set[str]:
    """The names of the tests of the first tier."""
    names: set[str] = set()
    quick = [item for item in items if item.get_closest_marker("slow") is None]
    for _, found in groupby(quick, key=lambda item: item.nodeid.partition("[")[0]):
        same = list(found)
        few = FEW if same[0].get_closest_marker("compiles") is None else 1
        for k in chosen([_case(item) for item in same], few):
            names.add(same[k].nodeid)
    return names


def _case(item: Any) -> Case:
    callspec = getattr(item, "callspec", None)
    given = {} if callspec is None else callspec.params
    return tuple((name, _named(value)) for name, value in sorted(given.items()))


def _named(value: Any) -> Any:
    """Equal for equal values; what has no plain one is itself."""
    plain = isinstance(value, str | bytes | int | float | type | None)
    return (type(value).__name__, repr(value)) if plain else id(value)
