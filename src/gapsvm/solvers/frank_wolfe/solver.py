"""Block-coordinate Frank–Wolfe for structured problems, in pairwise steps with exact line search.

A block is an example; its part of α is a few labellings with their weights.  A visit asks the
oracle for the worst labelling at w = w(α), keeps it, and moves weight between the kept ones, from
the least to the most violating, until the block's own gap has fallen to a tenth (Lacoste-Julien,
Jaggi, Schmidt, Pletscher 2013; pairwise steps and sampling by gaps: Osokin et al. 2016).  Between
two rounds of the oracle the kept labellings alone are visited, as long as that raises D by more for
its work than the round as a whole has done (after Shah, Kolmogorov, Lampert 2015).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.structured.base import StructuredIterate, StructuredProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.trace import Progress

_BATCHES, _MOST = 50, 64
"""Calls of the oracle are made for a fiftieth of the examples at once, and for so many at most."""
_UNIFORM = 0.2
"""Share of the visits that fall on examples whatever their gaps, which grow old."""
_OF_NEW = 0.25
"""Share of the latest w in the average."""
_MOST_PASSES = 20
"""Passes over kept labellings between two rounds."""
_NO_GROWTH = 1e-16
"""Of P₀: a round that raises D by less has reached the limits of floating point."""


@storable
@dataclass
class FrankWolfeState:
    """w = w(α), α, and where the round stands."""

    w: Any
    dual: Any
    gaps: Any
    """Of each block when the oracle last saw it; infinite before."""
    order: Any
    """The examples that this round visits."""
    position: int
    generator: Any
    rows_visited: int = 0
    growth: float = 0.0
    """Of D in this round."""
    exhausted: bool = False
    cached_passes: int = 0
    average: Any = None
    """Of w at the ends of rounds, the later the more: it has the lower P as long as w swings."""


@storable
@dataclass(frozen=True)
class FrankWolfe:
    """Block-coordinate Frank–Wolfe with pairwise steps; needs no step size.

    Parameters
    ----------
    sampling : "permutation" or "gap"
        Which examples a round visits: all in a new order, or drawn in proportion to their latest
        gaps, the first round and a fifth of the others excepted.
    cached : int or "auto"
        Passes over kept labellings after each round; "auto": as long as they pay.
    batch : int or "auto"
        Examples whose oracle calls are made at one w, on all threads.  The steps that follow
        take the current w, so that D grows whatever the batch.
    start : dual point, optional
        Where to begin; at the truth by default.
    """

    sampling: Literal["permutation", "gap"] = "permutation"
    cached: int | Literal["auto"] = "auto"
    batch: int | Literal["auto"] = "auto"
    start: Any = None

    def __post_init__(self) -> None:
        if self.sampling not in ("gap", "permutation"):
            raise ValueError(f"sampling must be 'gap' or 'permutation', got {self.sampling!r}")
        if self.cached != "auto" and not self.cached >= 0:
            raise ValueError(f"cached must be 'auto' or at least 0, got {self.cached!r}")
        if self.batch != "auto" and not self.batch >= 1:
            raise ValueError(f"batch must be 'auto' or at least 1, got {self.batch!r}")

    def refusal(self, problem: object) -> str:
        """What the problem lacks."""
        if isinstance(problem, StructuredProblem):
            return ""
        return "it needs a structured problem with a loss-augmented oracle"

    def warmed(self, iterate: StructuredIterate) -> FrankWolfe:
        return replace(self, start=iterate.dual)

    def init(
        self, problem: StructuredProblem[Any], backend: Backend, rng: np.random.Generator
    ) -> FrankWolfeState:
        dual, w = problem.truth(), problem.zeros()
        if self.start is not None:
            value, combination = problem.dual_value(self.start, backend)
            if value > -np.inf:
                dual, w = problem.room_for(self.start), combination
        gaps = np.full(problem.n_rows, np.inf)
        order = rng.permutation(problem.n_rows).astype(np.uint32)
        return FrankWolfeState(w, dual, gaps, order, 0, rng)

    def advance(
        self,
        problem: StructuredProblem[Any],
        state: FrankWolfeState,
        backend: Backend,
        budget: int,
    ) -> FrankWolfeState:
        size = self._batch(problem)
        while budget > 0 and not state.exhausted:
            rest = len(state.order) - state.position
            count = min(size - state.position % size, rest, budget)
            examples = state.order[state.position : state.position + count]
            found, _ = problem.worst(state.w, examples, backend)
            where = (state.dual, state.w, examples, found, state.gaps, backend)
            state.growth += problem.settle(*where).dual
            state.position += count
            state.rows_visited += count
            budget -= count
            if state.position == len(state.order):
                self._end_round(problem, state, backend)
        return state

    def _batch(self, problem: StructuredProblem[Any]) -> int:
        if self.batch != "auto":
            return int(self.batch)
        return max(1, min(_MOST, problem.n_rows // _BATCHES))

    def _end_round(
        self, problem: StructuredProblem[Any], state: FrankWolfeState, backend: Backend
    ) -> None:
        """Visit kept labellings as long as it pays; begin a new round."""
        most = _MOST_PASSES if self.cached == "auto" else self.cached
        growth, work = state.growth, problem.oracle_work
        for _ in range(most):
            order = state.generator.permutation(problem.n_rows).astype(np.uint32)
            where = (state.dual, state.w, order, None, state.gaps, backend)
            step = problem.settle(*where)
            state.cached_passes += 1
            pays = step.dual * work > growth * step.work
            growth, work = growth + step.dual, work + step.work
            if self.cached == "auto" and not pays:
                break
        if state.average is None:
            state.average = state.w.copy()
        else:
            state.average += _OF_NEW * (state.w - state.average)
        state.exhausted = not growth > _NO_GROWTH * problem.primal_at_zero
        state.growth, state.position = 0.0, 0
        state.order = self._drawn(state)

    def _drawn(self, state: FrankWolfeState) -> Any:
        """The examples of a round, each where it lies in a random order."""
        n, rng = len(state.gaps), state.generator
        total = float(state.gaps.sum())
        if self.sampling == "permutation" or not 0 < total < np.inf:
            return rng.permutation(n).astype(np.uint32)
        likely = (1.0 - _UNIFORM) * state.gaps / total + _UNIFORM / n
        places = (np.arange(n) + rng.random()) / n  # systematic: as often as expected, or nearly
        drawn = np.minimum(np.searchsorted(np.cumsum(likely), places), n - 1)
        return rng.permutation(drawn).astype(np.uint32)

    def iterate(self, problem: StructuredProblem[Any], state: FrankWolfeState) -> StructuredIterate:
        average = None if state.average is None else state.average.copy()
        return StructuredIterate(average, problem.room_for(state.dual), try_combination=True)

    def progress(self, problem: StructuredProblem[Any], state: FrankWolfeState) -> Progress:
        return Progress(state.rows_visited, exhausted=state.exhausted)
