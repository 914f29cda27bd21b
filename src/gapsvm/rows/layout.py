"""Where the bases of an RNA structure are drawn: loops as circles, helices as ladders.

The bases of a loop and the pairs at its ends are chords of one circle; a stack of two pairs is such
a loop as well, its circle that of a rectangle.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

RUNG = 1.4
"""Between the bases of a pair; neighbours on a strand are 1 apart."""


def coordinates(partners: Any) -> Any:
    """(x, y) of each base, from the partners of bases 1, …, n."""
    n = len(partners) - 2
    places = np.zeros((n + 2, 2))
    outside = _around(partners, 1, n)
    chords = _chords(partners, outside)
    radius = _radius([*chords, 2.0])
    _walk(places, outside, chords, np.zeros(2), radius, -0.5 * math.pi)
    todo = [(i, int(partners[i])) for i in outside if partners[i] > i]
    while todo:
        i, j = todo.pop()
        loop = [i, *_around(partners, i + 1, j - 1), j]
        inner = _chords(partners, loop)
        radius = _radius([*inner, RUNG])
        along = places[j] - places[i]
        away = np.array([along[1], -along[0]]) / max(float(np.hypot(*along)), 1e-9)
        height = math.sqrt(max(radius**2 - (0.5 * RUNG) ** 2, 0.0))
        centre = 0.5 * (places[i] + places[j]) + height * away
        start = places[i] - centre
        _walk(places, loop, inner, centre, radius, math.atan2(start[1], start[0]))
        todo += [(k, int(partners[k])) for k in loop[1:-1] if partners[k] > k]
    return places[1:-1]


def _around(partners: Any, first: int, last: int) -> list[int]:
    """The bases of a loop between two places: those of its branches' ends, and unpaired ones."""
    found, k = [], first
    while k <= last:
        found.append(k)
        if partners[k] > k:
            k = int(partners[k])
            found.append(k)
        k += 1
    return found


def _chords(partners: Any, loop: list[int]) -> list[float]:
    """From each base of a loop to the next one."""
    return [RUNG if partners[a] == b and b > a + 1 else 1.0 for a, b in pairwise(loop)]


def _radius(chords: list[float]) -> float:
    """Of the circle whose chords these are, once around."""
    if len(chords) < 3:
        return 0.5 * max(chords)
    least, most = 0.5 * max(chords), float(sum(chords))
    for _ in range(60):
        middle = 0.5 * (least + most)
        angle = sum(2.0 * math.asin(min(1.0, chord / (2.0 * middle))) for chord in chords)
        least, most = (middle, most) if angle > 2.0 * math.pi else (least, middle)
    return most


def _walk(
    places: Any, loop: list[int], chords: list[float], centre: Any, radius: float, angle: float
) -> None:
    """Put the bases of a loop on its circle, against the clock.  Modified: places."""
    for base, chord in zip(loop, [*chords, 0.0]):
        places[base] = centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle)
        angle += 2.0 * math.asin(min(1.0, chord / (2.0 * radius)))
