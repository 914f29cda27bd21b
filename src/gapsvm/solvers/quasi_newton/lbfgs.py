"""L-BFGS for smooth problems; every gradient is a lower bound, and tightens those before it.

    P* ≥ P(w) − ‖∇P(w)‖²/(2λ)
    P* ≥ b − ‖a‖²/(2λ)          ⟨a, v⟩ + b ≤ P(v) − (λ/2)‖v‖²

The first is the second for the cut a = ∇P(w) − λw alone.  One cut is kept: at every w it is
combined with the new one, in the proportion that raises the bound most.

The direction needs scalar products of the last changes of w and of ∇P only.  Long vectors are read
twice an iteration: once for the products that are new, once to combine them (Chen, Wang, Zhou
2014).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.base import Smooth
from gapsvm.problems.structured.likelihood import SmoothIterate
from gapsvm.registry.storable import storable
from gapsvm.solvers.trace import Progress
from gapsvm.system.blas import one_blas_thread

_SHARE = 1e-4
"""Of the fall that the slope promises, which a step must reach."""
_TRIALS = 30
_LARGE = 1 << 20
"""Changes of so many weights or more are kept in float32."""
_PARTS = 8
"""In which long vectors are read, whatever the threads."""


@storable
@dataclass
class LBFGSState:
    """Where w is, its value and gradient, and the last changes."""

    w: Any
    value: float
    gradient: Any
    """None before the first evaluation."""
    changes: Any
    """2m × weights: in row j a change of w, in row m + j that of ∇P."""
    products: Any
    """2m × 2m: of the changes with each other."""
    slots: list[int]
    """Rows in use, oldest first."""
    rows_visited: int = 0
    slope: Any = None
    offset: float = 0.0
    """The cut that all gradients have become."""
    lower: float = -math.inf
    """The best bound so far."""
    exhausted: bool = False


@storable
@dataclass(frozen=True)
class LBFGS:
    """Quasi-Newton steps with a line search; an iteration is about one pass.

    Parameters
    ----------
    memory : int
        m, the changes of w and of the gradient that are kept.
    start : array, optional
        Where to begin; at zero by default.
    """

    memory: int = 8
    start: Any = None

    def __post_init__(self) -> None:
        if not self.memory >= 1:
            raise ValueError(f"memory must be at least 1, got {self.memory!r}")

    def refusal(self, problem: object) -> str:
        """What the problem lacks."""
        if hasattr(problem, "value_and_gradient") and hasattr(problem, "lower_bound"):
            return ""
        return "it needs a smooth problem, one with value_and_gradient and lower_bound"

    def warmed(self, iterate: SmoothIterate) -> LBFGS:
        return replace(self, start=iterate.w)

    def init(self, problem: Smooth[Any], backend: Backend, rng: np.random.Generator) -> LBFGSState:
        w = np.zeros(problem.shape) if self.start is None else np.array(self.start, dtype=float)
        dtype = np.float32 if w.size >= _LARGE else np.float64
        changes = np.zeros((2 * self.memory, w.size), dtype=dtype)
        products = np.zeros((2 * self.memory, 2 * self.memory))
        return LBFGSState(w, math.inf, None, changes, products, [])

    def advance(
        self, problem: Smooth[Any], state: LBFGSState, backend: Backend, budget: int
    ) -> LBFGSState:
        if state.gradient is None:
            value, gradient = problem.value_and_gradient(state.w, backend)
            self._move(problem, state, state.w, value, gradient, backend)
            state.rows_visited += problem.n_rows
            return state
        direction = self._direction(state, backend)
        slope = float(np.vdot(direction, state.gradient))
        if not slope < 0:  # rounding: forget what was seen
            state.slots = []
            direction = -state.gradient
            slope = -float(np.vdot(state.gradient, state.gradient))
        step = 1.0 if state.slots else 1.0 / max(1.0, math.sqrt(-slope))
        for _ in range(_TRIALS):
            w = state.w + step * direction
            value, gradient = problem.value_and_gradient(w, backend)
            state.rows_visited += problem.n_rows
            if value <= state.value + _SHARE * step * slope:
                break
            step *= _shorter(value - state.value, step * slope)
        else:
            state.exhausted = True
            return state
        self._remember(state, w - state.w, gradient - state.gradient, backend)
        state.exhausted = not value < state.value
        self._move(problem, state, w, value, gradient, backend)
        return state

    @staticmethod
    def _move(
        problem: Smooth[Any],
        state: LBFGSState,
        w: Any,
        value: float,
        gradient: Any,
        backend: Backend,
    ) -> None:
        state.w, state.value, state.gradient = w, value, gradient
        if math.isfinite(value):
            state.lower = max(state.lower, problem.lower_bound(w, value, gradient))
            _tighten(problem, state, backend)

    def _remember(self, state: LBFGSState, move: Any, turn: Any, backend: Backend) -> None:
        """Keep a change in the place of the oldest one, and its products with the others."""
        if not float(np.vdot(move, turn)) > 0:
            return
        m = self.memory
        slot = state.slots.pop(0) if len(state.slots) == m else len(state.slots)
        state.slots.append(slot)
        state.changes[slot], state.changes[m + slot] = move.ravel(), turn.ravel()
        new = np.array([slot, m + slot])
        found = _in_parts(
            lambda part: _times(state.changes, state.changes[new], part), move, backend
        )
        total = sum(found)
        state.products[:, new], state.products[new] = total, total.T

    def _direction(self, state: LBFGSState, backend: Backend) -> Any:
        """−H∇P."""
        pull = state.gradient.ravel()
        if not state.slots:
            return -state.gradient
        short = pull.astype(state.changes.dtype)[None]
        found = _in_parts(lambda part: _times(state.changes, short, part), pull, backend)
        used = np.array([*state.slots, *(self.memory + slot for slot in state.slots)])
        coefficients = np.zeros(2 * self.memory)
        of_pull, coefficients[used] = _two_loops(
            state.products[np.ix_(used, used)], sum(found).ravel()[used]
        )
        out, shares = np.empty_like(pull), -coefficients.astype(state.changes.dtype)

        def combine(part: slice) -> None:
            np.multiply(pull[part], -of_pull, out=out[part])
            out[part] += shares @ state.changes[:, part]

        _in_parts(combine, pull, backend)
        return out.reshape(state.w.shape)

    def iterate(self, problem: Smooth[Any], state: LBFGSState) -> SmoothIterate:
        return SmoothIterate(state.w.copy(), state.lower)

    def progress(self, problem: Smooth[Any], state: LBFGSState) -> Progress:
        return Progress(state.rows_visited, state.value - state.lower, state.exhausted)


def _shorter(rise: float, promised: float) -> float:
    """The least point of the parabola through what was seen, as a share of the step."""
    if not math.isfinite(rise):
        return 0.1
    return min(max(-0.5 * promised / (rise - promised), 0.1), 0.5)


def _in_parts(function: Any, vector: Any, backend: Backend) -> list[Any]:
    """What a function says of each part of long vectors."""
    cuts = np.linspace(0, vector.size, _PARTS + 1).astype(int)
    with one_blas_thread():
        return backend.map(function, [slice(*pair) for pair in pairwise(cuts)])


def _times(vectors: Any, others: Any, part: slice) -> Any:
    return (vectors[:, part] @ others[:, part].T).astype(np.float64)


def _two_loops(products: Any, with_pull: Any) -> tuple[float, Any]:
    """H∇P as coefficients of ∇P and of the changes s_1 … s_k, y_1 … y_k.

    Given     products of these with each other, and with ∇P.
    """
    k = len(with_pull) // 2
    of_pull, share, alpha = 1.0, np.zeros(2 * k), np.zeros(k)
    for j in reversed(range(k)):
        inner = of_pull * with_pull[j] + products[j] @ share
        alpha[j] = inner / products[j, k + j]
        share[k + j] -= alpha[j]
    first = products[k - 1, 2 * k - 1] / products[2 * k - 1, 2 * k - 1]
    of_pull, share = of_pull * first, share * first
    for j in range(k):
        inner = of_pull * with_pull[k + j] + products[k + j] @ share
        share[j] += alpha[j] - inner / products[j, k + j]
    return of_pull, share


def _tighten(problem: Smooth[Any], state: LBFGSState, backend: Backend) -> None:
    """Combine the cut at w with the one that is kept so that b − ‖a‖²/(2λ) is largest.

    It is for the minimum of the model, whose norm is √(2P₀/λ) at most where it proves anything.
    """
    w, pull, lam = state.w.ravel(), state.gradient.ravel(), problem.lam
    square = float(w @ w)
    far = math.sqrt(square) + math.sqrt(2.0 * problem.primal_at_zero / lam)
    offset = state.value + 0.5 * lam * square - float(pull @ w)
    offset -= problem.rounding(state.w, state.value, state.gradient, far)
    if state.slope is None:
        state.slope, state.offset = pull - lam * w, offset
        return
    kept, apart = state.slope, np.empty_like(pull)

    def compare(part: slice) -> Any:
        np.multiply(w[part], -lam, out=apart[part])
        apart[part] += pull[part]
        apart[part] -= kept[part]
        old, move = kept[part], apart[part]
        return np.array([old @ old, old @ move, move @ move])

    own, across, length = sum(_in_parts(compare, pull, backend))
    rise = lam * (offset - state.offset) - across
    share = min(max(rise / length, 0.0), 1.0) if length > 0 else 0.0

    def combine(part: slice) -> None:
        apart[part] *= share
        kept[part] += apart[part]

    _in_parts(combine, pull, backend)
    state.offset += float(share * (offset - state.offset))
    square = float(own + share * (2.0 * across + share * length))
    state.lower = max(state.lower, state.offset - square / (2.0 * lam))
