"""What theorems ask of their numbers, and the fewest steps that a bound allows."""

from __future__ import annotations

import math
from collections.abc import Callable


def positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value}")


def whole(least: int, **numbers: float) -> None:
    for name, value in numbers.items():
        if not (least <= value < math.inf and value == int(value)):
            raise ValueError(f"{name} must be a whole number, at least {least}, got {value}")


def probability(delta: float, certain: bool = False) -> None:
    if not (0 < delta < 1 or (certain and delta == 1)):
        raise ValueError(f"delta must lie in (0, 1{']' if certain else ')'}, got {delta}")


def fewest(bound: Callable[[int], float], eps: float, least: int = 1) -> int:
    """The first T ≥ least with bound(T) ≤ eps, for a bound that falls with T."""
    positive(eps=eps)
    if bound(least) <= eps:
        return least
    low, high = least, max(1, 2 * least)
    while bound(high) > eps:
        if high > 2**900:
            raise ValueError(f"eps = {eps} is out of reach of any number of iterations")
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if bound(middle) <= eps:
            high = middle
        else:
            low = middle
    return high
