"""Newton's method on blocks of a smooth kernel problem, as that of the logistic loss.

A block of the dual, all other coefficients held, is the dual of a small problem of its own, whose
margins begin at what the other rows contribute:

    min over g, b:  Σ_B |c_i| φ(σ_i(m_i + g_i + b)) + ½‖g‖² − b·M       M = Σ of the others' v

(without a bias b = 0).  Its minimum is found by Newton's method with a line search: with
a = a*(z), w = −a*'(z), D = |c|·w and r = c∘a − v the step is

    dv = A(r − D·db),   A = I − D^½ B⁻¹ D^½ K,   B = I + D^½ K D^½,   Σ(v + dv) = −M

(Rasmussen and Williams 2006, §3.4.3: B's eigenvalues are at least 1).  The block then takes
v = c∘a*(z), which is feasible, and a bias for which Σv is as it must be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from gapsvm.backends import Backend
from gapsvm.problems.kernel import KernelIterate, KernelProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.trace import Progress
from gapsvm.system.lazy import linalg
from gapsvm.types.curves import Logit

_STEPS = 50
"""Newton steps in a block at most."""
_SINGLE = 2e-7
"""Errors of margins below this times Σ|v| are what values of K in float32 do not tell."""
_DONE = 1e-14
"""A whole problem is solved when a step lowers it by this share, ..."""
_ULPS = 1e-15
"""Rounding of a sum, as a share of it."""
_SHARE = 1e-3
"""... a block when a step lowers it by this share of what all have."""


@storable
@dataclass
class KernelNewtonState:
    """Where the dual stands; ``margins`` are Kv."""

    coef: Any
    margins: Any
    bias: float = 0.0
    rows: int = 0
    hint: float = math.inf
    single: bool = False
    idle: int = 0
    exhausted: bool = False


@storable
@dataclass(frozen=True)
class KernelNewton:
    """Blocks of rows by Newton's method, for the logistic loss.

    Parameters
    ----------
    block_size : int
        Rows of a block at most.
    whole : int
        Problems of so many rows at most are one block, K in float64.
    single : bool
        Values of K in float32 until they do not tell any more, then in float64.
    alpha : array, optional
        Where to start.
    """

    block_size: int = 1024
    whole: int = 1000
    single: bool = True
    alpha: Any = None

    def refusal(self, problem: object) -> str:
        """What the problem lacks."""
        if not isinstance(problem, KernelProblem):
            return "it is no KernelProblem"
        if not isinstance(problem.loss.curve, Logit):
            return f"loss {problem.loss.name!r} is not the logistic one"
        return ""

    def warmed(self, warm: KernelIterate) -> KernelNewton:
        """The same, to begin at an α."""
        return replace(self, alpha=warm.alpha)

    def init(
        self, problem: KernelProblem, backend: Backend, rng: np.random.Generator
    ) -> KernelNewtonState:
        coef, n = np.zeros(problem.n_rows), problem.n_rows
        if self.alpha is not None:
            coef = problem.c * _feasible(problem, np.clip(np.nan_to_num(self.alpha), 0.0, 1.0))
        single = self.single and problem.rows.steps_in_single and n > self.whole
        state = KernelNewtonState(coef, problem.rows.product(coef), problem.bias_at_zero)
        state.single = single
        self._judge(problem, state)
        return state

    def advance(
        self, problem: KernelProblem, state: KernelNewtonState, backend: Backend, budget: int
    ) -> KernelNewtonState:
        whole = problem.n_rows <= self.whole
        members = np.arange(problem.n_rows) if whole else self._members(problem, state)
        dtype = np.float32 if state.single else np.float64
        K = problem.rows.gram if whole else problem.rows.square(members, dtype).astype(np.float64)
        before = state.coef[members]
        after = _solved_block(problem, state, members, K)
        state.coef[members] = after
        moved = np.flatnonzero(after != before)
        if whole:
            state.margins = K @ state.coef
        elif moved.size:
            lost = -state.margins
            problem.rows.subtract(members[moved], after[moved] - before[moved], lost, dtype)
            state.margins = -lost
        state.rows += members.size
        state.idle = 0 if moved.size else state.idle + 1
        hint = state.hint
        self._judge(problem, state)
        self._mind_precision(problem, state, whole and not state.hint < hint)
        return state

    def _members(self, problem: KernelProblem, state: KernelNewtonState) -> Any:
        """The rows that are furthest from c∘a*(z): half that should rise, half that should fall."""
        target = problem.c * problem.loss.curve.maximiser(
            problem.sign * (state.margins + state.bias), problem.t
        )
        distance = target - state.coef
        size = min(self.block_size, problem.n_rows)
        order = np.argsort(-np.abs(distance), kind="stable")
        rising = order[distance[order] > 0][: size - size // 2]
        falling = order[distance[order] <= 0][: size - rising.size]
        return np.concatenate([rising, falling])

    @staticmethod
    def _judge(problem: KernelProblem, state: KernelNewtonState) -> None:
        if problem.bias == "free":
            state.bias = problem.best_bias(state.margins, state.bias)
        alpha = problem.alpha_of(state.coef)
        state.hint = problem.gap_of(alpha, state.margins, state.bias)

    def _mind_precision(
        self, problem: KernelProblem, state: KernelNewtonState, stuck: bool
    ) -> None:
        """Go on in float64 where float32 does not tell any more; end where that does not either."""
        noise = _SINGLE * float(np.abs(state.coef).sum()) * problem.primal_at_zero
        if state.single and (state.idle or state.hint <= noise):
            state.single, state.idle = False, 0
            state.margins = problem.rows.product(state.coef)
            self._judge(problem, state)
        state.exhausted = not state.single and (stuck or state.idle >= 2)

    def iterate(self, problem: KernelProblem, state: KernelNewtonState) -> KernelIterate:
        return KernelIterate(problem.alpha_of(state.coef), state.bias)

    def progress(self, problem: KernelProblem, state: KernelNewtonState) -> Progress:
        return Progress(state.rows, state.hint, exhausted=state.exhausted)


def _feasible(problem: KernelProblem, alpha: Any) -> Any:
    return problem.balanced(alpha) if problem.bias == "free" else alpha


@dataclass
class _Block:
    """The small problem of a block."""

    K: Any
    c: Any
    sign: Any
    offset: Any
    """Margins by the other rows."""
    mass: float | None
    """M, or None without a bias."""
    curve: Any

    def value(self, g: Any, v: Any, b: float) -> float:
        """The primal objective at g = Kv and b."""
        z = self.sign * (self.offset + g + b)
        losses = np.abs(self.c) @ self.curve.value(z, 1.0)
        return float(losses + 0.5 * (v @ g) - b * (self.mass or 0.0))

    def target(self, g: Any, b: float) -> tuple[Any, Any]:
        """c∘a*(z) and D."""
        a = self.curve.maximiser(self.sign * (self.offset + g + b), 1.0)
        return self.c * a, np.abs(self.c) * a * (1.0 - a)


def _solved_block(problem: KernelProblem, state: KernelNewtonState, members: Any, K: Any) -> Any:
    """The coefficients of the block at its optimum, feasible."""
    v, free = state.coef[members], problem.bias == "free"
    g = K @ v
    sign = problem.y[members]
    mass = float(state.coef.sum() - v.sum()) if free else None
    block = _Block(
        K, problem.c[members], sign, state.margins[members] - g, mass, problem.loss.curve
    )
    b, value = state.bias, block.value(g, v, state.bias)
    first, whole = value, members.size == problem.n_rows
    for _ in range(_STEPS):
        dv, db = _direction(block, v, g, b)
        dg = K @ dv
        step, found = 1.0, math.inf
        while step > 1e-10:
            found = block.value(g + step * dg, v + step * dv, b + step * db)
            if found <= value:
                break
            step *= 0.5
        if not found <= value:
            break
        v, g, b = v + step * dv, g + step * dg, b + step * db
        least = _DONE * abs(value) if whole else _SHARE * (first - found)
        done = value - found <= least and step == 1.0
        value = found
        if done:
            break
    return _made_feasible(block, g, b)


def _direction(block: _Block, v: Any, g: Any, b: float) -> tuple[Any, float]:
    """Newton's step in v and in b."""
    aim, D = block.target(g, b)
    root = np.sqrt(D)
    factor = _factor(root[:, None] * block.K * root)

    def applied(x: Any) -> Any:
        return x - root * linalg.cho_solve(factor, root * (block.K @ x), check_finite=False)

    dv = applied(aim - v)
    if block.mass is None:
        return dv, 0.0
    across = applied(D)
    total = float(across.sum())
    if not total > 0.0:
        return dv, 0.0
    db = float(dv.sum() + v.sum() + block.mass) / total
    return dv - db * across, db


def _factor(M: Any) -> Any:
    """I + M as Cholesky has it: more than 1 where rounding, or a K that is not definite, takes
    I + M below 0."""
    ridge = 1.0
    while True:
        B = M.copy()
        B[np.diag_indices_from(B)] += ridge
        try:
            return linalg.cho_factor(B, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            ridge = max(100.0 * ridge, _ULPS * float(np.abs(M.diagonal()).sum()))


def _made_feasible(block: _Block, g: Any, b: float) -> Any:
    """c∘a*(z), and with a free bias at the one for which Σv = −M."""
    aim, _ = block.target(g, b)
    if block.mass is None:
        return aim
    for _ in range(_STEPS):
        aim, D = block.target(g, b)
        off, slope = float(aim.sum()) + block.mass, float(D.sum())
        if abs(off) <= 1e-16 * float(np.abs(aim).sum()) or not slope > 0.0:
            break
        b += float(np.clip(off / slope, -1.0, 1.0))
    return aim
