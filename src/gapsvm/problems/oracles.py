"""Oracles of users: one made of its examples, and a search for mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from gapsvm.problems.linear import check_weights
from gapsvm.problems.risk import OracleError, checked_answer

_ROUNDING = 1e-9
"""Share of the numbers compared that an inequality may miss."""


class MeanOracle:
    """R(w) = (1/S) Σ s_i R_i(w), S = Σ s_i: the oracle of all examples, made of one for each.

    Parameters
    ----------
    example : callable
        ``example(i, w) -> (value, subgradient)``: R_i(w) ≥ floor, and a subgradient there.
    n_examples, n_features : int
    sample_weight : array, optional
        s_i ≥ 0 with a positive sum; 1 by default.
    floor : float
        A number that no R_i goes below, such as 0; −inf for none.
    """

    def __init__(
        self,
        example: Callable[[int, Any], Any],
        n_examples: int,
        n_features: int,
        *,
        sample_weight: Any = None,
        floor: float = -math.inf,
    ) -> None:
        self.example = example
        self.n_examples, self.n_features, self.floor = int(n_examples), int(n_features), floor
        weight = np.ones(self.n_examples)
        if sample_weight is not None:
            weight = check_weights(np.ascontiguousarray(sample_weight, float), self.n_examples)
        self.share = weight / weight.sum()

    def one(self, i: int, w: Any) -> tuple[float, Any]:
        """R_i(w) and its subgradient, checked; an error names the example."""
        try:
            answer = self.example(i, w)
        except Exception as error:
            raise OracleError(f"example {i}: the oracle raised {error!r}") from error
        value, slope, _ = checked_answer(answer, self.n_features, f"example {i}: the oracle")
        return value, slope

    def __call__(self, w: Any) -> tuple[float, Any]:
        value, slope = 0.0, np.zeros(self.n_features)
        for i in np.flatnonzero(self.share):
            its_value, its_slope = self.one(int(i), w)
            value += self.share[i] * its_value
            slope += self.share[i] * its_slope
        return value, slope


def check_oracle(
    oracle: Callable[[Any], Any],
    n_features: int | None = None,
    *,
    points: int = 6,
    scale: float = 1.0,
    floor: float | None = None,
    seed: int = 0,
) -> None:
    """Look for a mistake in an oracle; an ``OracleError`` says which example it is in, and what.

    At 0 and at random points the answers are asked for twice, and compared with each other:
    subgradients with all values (R(v) ≥ R(u) + ⟨a, v − u⟩), values with those half-way
    (convexity), and with the floor.  A ``MeanOracle`` is checked example by example.

    Parameters
    ----------
    points : int
        Random points; every pair of them is compared.
    scale : float
        Their norms are about this, a tenth and ten times of it.
    """
    size = getattr(oracle, "n_features", None) if n_features is None else n_features
    if size is None:
        raise ValueError("n_features must say how many weights the oracle takes")
    lowest = getattr(oracle, "floor", -math.inf) if floor is None else floor
    rng = np.random.default_rng(seed)
    lengths = scale * np.resize([1.0, 10.0, 0.1], points) / math.sqrt(size)
    places = [np.zeros(size), *(length * rng.normal(size=size) for length in lengths)]
    for who, ask in _parts(oracle, int(size)):
        _check_one(who, ask, places, lowest)


def _parts(oracle: Any, size: int) -> Iterator[tuple[str, Callable[[Any], tuple[float, Any]]]]:
    """The examples of an oracle with their names, or the oracle itself."""
    if isinstance(oracle, MeanOracle):
        for i in range(oracle.n_examples):
            yield f"example {i}: the oracle", partial(oracle.one, i)
    else:
        yield "the oracle", lambda w: checked_answer(oracle(w), size, "the oracle")[:2]


def _check_one(
    who: str, ask: Callable[[Any], tuple[float, Any]], places: list[Any], floor: float
) -> None:
    answers = [ask(place.copy()) for place in places]
    for place, (value, slope) in zip(places, answers):
        again, slope_again = ask(place.copy())
        if not (math.isclose(value, again, rel_tol=1e-12) and np.allclose(slope, slope_again)):
            raise OracleError(f"{who} gives two answers to one question: {value:.9g}, {again:.9g}")
        if value < floor:
            raise OracleError(f"{who} returned {value:.9g}, below the floor {floor:.9g}")
    for k, u in enumerate(places):
        for j, v in enumerate(places[:k]):
            middle = 0.5 * (u + v)
            at_middle = ask(middle.copy())
            _refuse_below(
                f"{who} is not convex: half-way between two points the value is %.9g, more than "
                "their mean %.9g",
                at_middle[0],
                0.5 * (answers[k][0] + answers[j][0]),
                abs(answers[k][0]) + abs(answers[j][0]),
            )
            known = (u, answers[k]), (v, answers[j]), (middle, at_middle)
            for (here, answer), (there, other) in permutations(known, 2):
                _check_subgradient(who, here, answer, there, other[0])


def _check_subgradient(who: str, u: Any, at_u: tuple[float, Any], v: Any, at_v: float) -> None:
    """R(v) ≥ R(u) + ⟨a, v − u⟩."""
    value, slope = at_u
    rise = slope * (v - u)
    _refuse_below(
        f"{who} has a subgradient that is none: from a w of norm {np.linalg.norm(u):.4g} it "
        f"foresees at least %.9g at one of norm {np.linalg.norm(v):.4g}, where the value is %.9g",
        value + float(rise.sum()),
        at_v,
        abs(value) + float(np.abs(rise).sum()),
    )


def _refuse_below(message: str, bound: float, value: float, size: float) -> None:
    if bound > value + _ROUNDING * (size + abs(value)):
        raise OracleError(message % (bound, value))
