"""Oracles of users: one made of its examples, and a search for mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.problems.linear import check_weights
from gapsvm.problems.risk import OracleError, checked_answer
from gapsvm.problems.structured.base import StructuredProblem
from gapsvm.problems.structured.oracle import Found
from gapsvm.problems.structured.oracle import shown as shown_as_it_is
from gapsvm.problems.structured.own import OracleProblem

_ROUNDING = 1e-9
"""Share of the numbers compared that an inequality may miss."""


class MeanOracle:
    """R(w) = (1/S) Σ s_i R_i(w), S = Σ s_i: the oracle of all examples, made of one for each.

    Parameters
    ----------
    example : callable
        ``example(i, w) -> (value, subgradient)``: R_i(w) ≥ floor, and a subgradient there.
    n_examples, n_features : int
        How many examples there are, and the length of w.
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
    oracle: Any,
    n_features: int | None = None,
    *,
    points: int = 6,
    scale: float = 1.0,
    floor: float | None = None,
    seed: int = 0,
    labellings: Callable[[Any], Iterable[Any]] | None = None,
) -> None:
    """Look for a mistake in an oracle; an ``OracleError`` says which example it is in, and what.

    At 0 and at random points the answers are asked for twice, and compared with each other:
    subgradients with all values (R(v) ≥ R(u) + ⟨a, v − u⟩), values with those half-way
    (convexity), and with the floor.  A ``MeanOracle`` is checked example by example.

    Of an ``OracleProblem`` every example is asked for its features, its losses and its argmax; a
    labelling returned anywhere must be no better than the one returned there.

    Parameters
    ----------
    oracle : callable, ``MeanOracle``, ``OracleProblem`` or another structured problem
    n_features : int, optional
        The length of w, where the oracle does not know it.
    points : int
        Random points; every pair of them is compared.
    scale : float
        Their norms are about this, a tenth and ten times of it.
    floor : float, optional
        A number that no value may be below; by default what the oracle says of itself.
    seed : int
        Of the random points.
    labellings : callable, optional
        For an ``OracleProblem``: ``labellings(x)`` lists them all, or some; none may be better than
        what the argmax returned.
    """
    rng = np.random.default_rng(seed)
    if isinstance(oracle, OracleProblem):
        places = _places(oracle.shape[0], points, scale, rng)
        for i in range(oracle.n_rows):
            _check_example(oracle, i, places, labellings)
        return
    if isinstance(oracle, StructuredProblem):
        oracle, n_features, floor = partial(_risk, oracle), math.prod(oracle.shape), 0.0
    size = getattr(oracle, "n_features", None) if n_features is None else n_features
    if size is None:
        raise ValueError("n_features must say how many weights the oracle takes")
    lowest = getattr(oracle, "floor", -math.inf) if floor is None else floor
    places = _places(int(size), points, scale, rng)
    for who, ask in _parts(oracle, int(size)):
        _check_one(who, ask, places, lowest)


def _risk(problem: StructuredProblem[Any], w: Any) -> tuple[float, Any]:
    """Of all examples of a structured problem."""
    value, slope = problem.subgradient(w.reshape(problem.shape), get_backend("cpu"))
    return value, np.ravel(slope)


def _places(size: int, points: int, scale: float, rng: np.random.Generator) -> list[Any]:
    """0 and random points of three lengths."""
    lengths = scale * np.resize([1.0, 10.0, 0.1], points) / math.sqrt(size)
    return [np.zeros(size), *(length * rng.normal(size=size) for length in lengths)]


def _parts(oracle: Any, size: int) -> Iterator[tuple[str, Callable[[Any], tuple[float, Any]]]]:
    """The examples of an oracle with their names, or the oracle itself."""
    if isinstance(oracle, MeanOracle):
        for i in range(oracle.n_examples):
            yield f"example {i}: the oracle", partial(oracle.one, i)
    else:
        yield "the oracle", lambda w: checked_answer(oracle(w), size, "the oracle")[:2]


def _check_example(
    problem: OracleProblem,
    i: int,
    places: list[Any],
    labellings: Callable[[Any], Iterable[Any]] | None,
) -> None:
    """Ask everything of one example of a structured problem."""
    examples = problem.examples
    truth = examples.plane(i, examples.y[i])
    if truth.cost or np.any(truth.values):
        raise OracleError(
            f"example {i}: the loss of the truth itself is {truth.cost:.6g}; it must be 0"
            if truth.cost
            else f"example {i}: features of one labelling differ from call to call"
        )
    found = [examples.worst(i, w.copy()) for w in places]
    rivals = [(one.y, one.plane) for one in found]
    if labellings is not None:
        rivals += [(y, examples.plane(i, y)) for y in labellings(examples.X[i])]
    for w, one in zip(places, found):
        again = examples.worst(i, w.copy())
        if not math.isclose(again.value, one.value, rel_tol=1e-9, abs_tol=1e-9):
            raise OracleError(
                f"example {i}: argmax gives two answers to one question: "
                f"{shown_as_it_is(one.y)} of value {one.value:.6g}, "
                f"{shown_as_it_is(again.y)} of {again.value:.6g}"
            )
        _refuse_better(i, w, one, rivals)
        y = examples.best(i, w.copy())
        best = examples.plane(i, y)
        rating = best.at(w) - best.cost
        for other, plane in [(y, best), *rivals]:
            value = plane.at(w) - plane.cost
            _refuse_below(
                f"example {i}: without a truth argmax returned {shown(y)}, but {shown(other)} "
                "scores more: by %.6g over the truth, against %.6g",
                value,
                rating,
                abs(value) + _size(plane, w) + _size(best, w),
            )


def _refuse_better(i: int, w: Any, one: Found, rivals: list[tuple[Any, Any]]) -> None:
    for other, plane in rivals:
        _refuse_below(
            f"example {i}: argmax returned {shown(one.y)} at a w of norm "
            f"{np.linalg.norm(w):.4g}, where {shown(other)} has the larger loss + score, over the "
            "truth's: %.6g, against %.6g",
            plane.at(w),
            one.value,
            _size(plane, w) + _size(one.plane, w),
        )


def shown(y: Any) -> str:
    """A labelling in a text that numbers are formatted into."""
    return shown_as_it_is(y).replace("%", "%%")


def _size(plane: Any, w: Any) -> float:
    """Of the numbers that the value of a plane sums."""
    read = w if plane.columns is None else w[plane.columns]
    return float(plane.cost + np.abs(plane.values) @ np.abs(read))


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
            for (one, answer), (another, other) in permutations(known, 2):
                _check_subgradient(who, one, answer, another, other[0])


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
