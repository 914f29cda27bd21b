"""Newton's step on the face that a point stands on: the rows at no bound and no kink move at once.

    (K_FF + diag(r_F))v_F + b·1 = y_F − ε·sign(v_F) − K_FB v_B,     Σ v_F = −Σ v_B  (a free bias)

Rows that the solution takes out of the box are held at the bound they left by, and the others are
solved for again: the factor of K_FF stays, since what is held is a few more equations.  From v to
the outcome the dual is a parabola, so that a step along it never lowers D.  Where the free rows are
those of the optimum, v is the optimum up to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.problems.kernel import KernelProblem
from gapsvm.system.lazy import lapack

_REFINEMENTS = 2
_HOLDS = 20
"""Times that rows which left the box are held and the others solved for again, ..."""
_HELD = 0.25
"""... as long as they are no more than this share."""
_BALANCED = 1e-12
"""Share of Σ|v| by which Σv may be off."""
_TINY = 1e-300
_STOPS = 100
"""Rows that may stop a step; then it ends where it is."""
_NO_PIVOT = (0.0, 1e-12, 1e-9, 1e-6)
"""What is added to the diagonal, as a share of it, where K_FF has no factor."""


def free_rows(problem: KernelProblem, coef: Any) -> Any:
    """The numbers of the rows at no bound and no kink."""
    lower, upper = problem.box
    free = (coef > lower) & (coef < upper) & ((coef != 0.0) | (problem.eps == 0.0))
    return np.flatnonzero(free)


def stepped_on_face(problem: KernelProblem, coef: Any, chosen: Any, *, far: bool = True) -> Any:
    """v after Newton's step on the chosen rows, which are free; None where D does not grow.

    ``far``: go as far as the box allows where the solution is well outside of it.
    """
    (lower, upper), eps, before = problem.box, problem.eps, coef[chosen]
    held = coef.copy()
    held[chosen] = 0.0
    Q = problem.rows.square(chosen, np.float64)
    Q.flat[:: len(Q) + 1] += problem.ridge[chosen]
    target = problem.y[chosen] - eps * np.sign(before) - problem.rows.at(chosen, held)
    low, high = lower[chosen], upper[chosen]
    if eps:
        low = np.where(before > 0, 0.0, low)
        high = np.where(before < 0, 0.0, high)
    mass = -float(held.sum()) if problem.bias == "free" else None
    found = _Face(Q, target, before, mass).within(low, high, far)
    if found is None:
        return None
    if mass is not None and abs(found.sum() - mass) > _BALANCED * np.abs(coef).sum():
        return None  # rounding has won
    held[chosen] = found
    return held


@dataclass
class _Face:
    """Maximise ⟨target, v⟩ − ½vᵀQv, Σv = mass where there is one, low ≤ v ≤ high."""

    Q: Any
    target: Any
    before: Any
    mass: float | None

    def within(self, low: Any, high: Any, far: bool) -> Any:
        """A v in the box that is better than the one before; None where there is none."""
        factor = self._factor()
        if factor is None:
            return None
        aim = self._held_where_they_left(factor, low, high)
        if aim is None:
            return self._held_where_they_stop(factor, low, high) if far else None
        move = aim - self.before
        slope = float((self.target - self.Q @ self.before) @ move)
        bend = float(move @ (self.Q @ move))
        step = min(1.0, slope / bend if bend > 0.0 else 1.0)
        if not slope > 0.0:
            return None
        return aim if step > 1.0 - 1e-9 else np.clip(self.before + step * move, low, high)

    def _factor(self) -> Any:
        """Of Q; where it is singular of one a little larger, which makes the step shorter."""
        for share in _NO_PIVOT:
            if share:
                more = share * float(np.mean(self.Q.diagonal()))
                self.Q.flat[:: len(self.Q) + 1] += more
                self.target = self.target + more * self.before
            factor, is_not = lapack.dpotrf(self.Q, lower=True, clean=False)
            if not is_not:
                return factor
        return None

    def _held_where_they_left(self, factor: Any, low: Any, high: Any) -> Any:
        """All that a solution takes out of the box are held at their bounds, and so on until none
        is; None where they are too many."""
        system, bound = _Held(self, factor), np.zeros(len(self.Q))
        for _ in range(_HOLDS):
            v = system.solution(bound)
            outside = (v < low) | (v > high)
            outside[system.rows] = False
            if not outside.any():
                v[system.rows] = bound[system.rows]
                return v
            bound[outside] = np.where(v < low, low, high)[outside]
            system.hold(np.flatnonzero(outside))
            if system.rows.size > _HELD * len(v):
                break
        return None

    def _held_where_they_stop(self, factor: Any, low: Any, high: Any) -> Any:
        """To the solution as far as the box allows; the row that stops it is held, and on."""
        system, v = _Held(self, factor), self.before.copy()
        for _ in range(min(_STOPS, len(v))):
            move = system.solution(v) - v
            move[system.rows] = 0.0
            ends = _ends(v, move, low, high)
            first = int(np.argmin(ends))
            if not ends[first] < 1.0:
                return np.clip(v + move, low, high)
            v = np.clip(v + ends[first] * move, low, high)
            v[first] = high[first] if move[first] > 0.0 else low[first]
            system.hold(np.array([first]))
        return v


class _Held:
    """The maximiser on the face with some rows held, by the factor of Q for all of them."""

    def __init__(self, face: _Face, factor: Any) -> None:
        self.face, self.factor = face, factor
        self.rows = np.zeros(0, dtype=np.int64)
        self.wanted = np.array([] if face.mass is None else [face.mass])
        self.across = np.ones((len(face.Q), self.wanted.size))
        self.spread = _solved(factor, self.across)

    def hold(self, rows: Any) -> None:
        """Some more."""
        across = np.zeros((len(self.across), rows.size))
        across[rows, np.arange(rows.size)] = 1.0
        spread = _solved(self.factor, across)
        self.rows = np.concatenate([self.rows, rows])
        self.across = np.concatenate([self.across, across], axis=1)
        self.spread = np.concatenate([self.spread, spread], axis=1)

    def solution(self, values: Any) -> Any:
        """The maximiser whose held rows have their part of these values."""
        wanted, Q = np.concatenate([self.wanted, values[self.rows]]), self.face.Q
        inner = self.across.T @ self.spread
        unit = 1.0 / np.sqrt(np.maximum(inner.diagonal(), _TINY))
        inner = unit[:, None] * inner * unit

        def once(target: Any, wanted: Any) -> tuple[Any, Any]:
            v = _solved(self.factor, target)
            if not wanted.size:
                return v, wanted
            off = unit * (self.across.T @ v - wanted)
            force = unit * (off / inner[0] if off.size == 1 else np.linalg.lstsq(inner, off)[0])
            return v - self.spread @ force, force

        v, force = once(self.face.target, wanted)
        for _ in range(_REFINEMENTS):
            off = self.face.target - Q @ v - self.across @ force
            dv, more = once(off, wanted - self.across.T @ v)
            v, force = v + dv, force + more
        return v


def _solved(factor: Any, right: Any) -> Any:
    return lapack.dpotrs(factor, right, lower=True)[0] if right.size else right


def _ends(v: Any, move: Any, low: Any, high: Any) -> Any:
    """How far each row may go before it leaves the box, as a share of the way."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(move > 0, (high - v) / move, np.where(move < 0, (low - v) / move, math.inf))
    return np.maximum(ends, 0.0)
