"""Working sets: the box problem of a kernel machine, a block of rows at a time.

A round takes a block of the rows that violate their conditions of optimality most, half of them
from the round before; K among them is one tile; steps of two rows (with a free bias) or of one
solve the block until its largest violation is a tenth of what it was; and full rows of K are used
for those rows alone that moved.  A small problem is one block.

Fan, Chen, Lin 2005 (the choice of a pair); Joachims 1999 (blocks of most violating rows).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.kernel import KernelIterate, KernelProblem
from gapsvm.problems.kernel_screening import settled_rows
from gapsvm.registry.storable import storable
from gapsvm.solvers.base import Foreseen
from gapsvm.solvers.trace import Progress
from gapsvm.solvers.working_set.face import free_rows, stepped_on_face
from gapsvm.types.curves import FiveNumbers
from gapsvm.types.mercer import Block, BlockPoint

_SHARE = 0.1
"""A block is solved until its largest violation is this share of what it was."""
_STEPS_PER_ROW = 100
"""Steps in a block at most, for each of its rows."""
_ROUNDING = 1e-14
"""Violations below this share of the largest |y| are rounding."""
_SINGLE = 2e-7
"""Violations below this times Σ|v| are what values of K in float32 do not tell."""
_LEAST_BLOCK = 256
"""Rows of a block at least, of which there are four in a problem that is not large."""
_SHRINK_EVERY = 4
"""Rounds between two looks for rows to leave out, ..."""
_WORTH_IT = 0.9
"""... which are left out when so many at most would stay, as a share."""
_STALE, _FALL = 200, 1e-3
"""After so many rounds in which the best gap fell by less than this share a fit is given up."""
_EARLY, _NEAR = 1e-2, 1.0
"""Violations, as a share of the largest |y|, from which on Newton's step on the free rows is tried:
of a problem that is one block, and of others.  Farther away it costs ..."""
_FEW_ROUNDS = 32
"""So many rounds come first, which with C near 1 are mostly enough."""
_FAR = 16.0
"""... as much as so many in rounds."""
_GROWTH_EVERY, _GROWTH_MOST = 64, 4
"""After so many rounds a block is twice as large, up to so many times."""
_STEP, _CHOLESKY = 0.7, 1.0 / 60.0
"""Nanoseconds of a step for each row of its block, and of a Cholesky factor for each n³."""


@storable
@dataclass
class WorkingSetState:
    """Where the dual stands; ``pull`` is y − (K + diag(r))v."""

    coef: Any
    pull: Any
    members: Any
    """Rows of the last block, the newest last."""
    steps: int = 0
    rounds: int = 0
    violation: float = math.inf
    bias: float = 0.0
    hint: float = math.inf
    single: bool = False
    """Whether values of K are float32."""
    idle: int = 0
    """Rounds without a step."""
    spent: float = 0.0
    """Nanoseconds, as estimated, since Newton's step was last tried, ..."""
    cost: float = 0.0
    """... and in all rounds."""
    primal: float = math.inf
    """The least value of P that any round found."""
    left: float = math.inf
    """The gap to it when progress was last looked at."""
    exhausted: bool = False
    active: Any = None
    """The rows that take part, in order; None: all.  The pull of others is out of date."""
    looked: KernelIterate | None = None
    """The point at which all rows were looked at last, if it is the current one."""


@storable
@dataclass(frozen=True)
class WorkingSet:
    """Steps of pairs or single rows in blocks, for five-number losses.

    Parameters
    ----------
    block_size : int
        Rows of a block at first; of a problem that takes many rounds four times as many.  K among
        them takes no more than a sixteenth of the cache.
    whole : int
        Problems of so many rows at most are one block, K in float64.
    single : bool
        Values of K in float32 until they do not tell any more, then in float64.
    face : int
        Free rows up to which Newton's step on them is taken, where the cache has room for K among
        them and its factor.
    alpha : array, optional
        Where to start.
    aim : float, optional
        A gap.  Rows that stay at a bound are left out until it seems reached; 0: none are.  By
        default the gap that the fit is asked for.
    """

    block_size: int = 1024
    whole: int = 1000
    single: bool = True
    face: int = 6000
    alpha: Any = None
    aim: float | None = None

    def refusal(self, problem: object) -> str:
        """What the problem lacks."""
        if not isinstance(problem, KernelProblem):
            return "it is no KernelProblem"
        if not isinstance(problem.loss.curve, FiveNumbers):
            return f"loss {problem.loss.name!r} is not one of five numbers"
        return ""

    def warmed(self, warm: KernelIterate) -> WorkingSet:
        """The same, to begin at an α."""
        return replace(self, alpha=warm.alpha)

    def tuned(self, problem: KernelProblem, foreseen: Foreseen) -> WorkingSet:
        """The same, with the gap that will be asked for."""
        if self.aim is not None or not isinstance(problem, KernelProblem):
            return self
        return replace(self, aim=foreseen.tol * problem.primal_at_zero)

    def init(
        self, problem: KernelProblem, backend: Backend, rng: np.random.Generator
    ) -> WorkingSetState:
        coef = np.zeros(problem.n_rows)
        if self.alpha is not None:
            curve = problem.loss.curve
            alpha = np.clip(np.nan_to_num(self.alpha), curve.lo, curve.hi)
            coef = problem.c * (problem.balanced(alpha) if problem.bias == "free" else alpha)
        single = self.single and problem.rows.steps_in_single and not self._is_whole(problem)
        state = WorkingSetState(coef, coef, np.zeros(0, dtype=np.int64), single=single)
        self._refresh(problem, state)
        self._judge(problem, state)
        return state

    def _is_whole(self, problem: KernelProblem) -> bool:
        return problem.n_rows <= self.whole

    @staticmethod
    def _refresh(problem: KernelProblem, state: WorkingSetState) -> None:
        """The pull, from values of K in float64."""
        state.pull = problem.y.copy()
        if state.coef.any():  # not at 0, where most fits begin
            state.pull = problem.y - problem.rows.product(state.coef) - problem.ridge * state.coef
        state.active = state.looked = None

    def advance(
        self, problem: KernelProblem, state: WorkingSetState, backend: Backend, budget: int
    ) -> WorkingSetState:
        if self._is_whole(problem):
            members, dtype = np.arange(problem.n_rows), "f8"
            values = problem.rows.gram
        else:
            members = self._members(problem, state)
            dtype = "f4" if state.single else "f8"
            values = problem.rows.square(members, dtype)
        coef = state.coef[members]
        steps = self._solve_block(problem, state, backend, members, values, budget)
        if not self._is_whole(problem):
            moved = np.flatnonzero(state.coef[members] != coef)
            rows, by = members[moved], state.coef[members[moved]] - coef[moved]
            problem.rows.subtract(rows, by, state.pull, dtype, state.active)
            state.pull[rows] -= problem.ridge[rows] * by
            state.looked = None
            price = _round_price(problem, state, members.size, steps, rows.size)
            state.spent, state.cost = state.spent + price, state.cost + price
        state.members, state.rounds = members, state.rounds + 1
        state.steps += max(steps, 1)
        state.idle = 0 if steps else state.idle + 1
        self._judge(problem, state)
        self._mind_face(problem, state)
        self._mind_rows(problem, state)
        self._mind_precision(problem, state)
        self._mind_progress(problem, state)
        return state

    @staticmethod
    def _mind_progress(problem: KernelProblem, state: WorkingSetState) -> None:
        """End where rounds gain next to nothing, as they do where K is far larger than 1/C, and
        where D has passed P₀ without a bound on α: K is not definite then and D has no maximum."""
        if state.active is not None:
            return
        v, curve = state.coef, problem.loss.curve
        kinks = problem.eps * float(np.abs(v).sum())
        dual = problem.lam * (0.5 * float(v @ (problem.y + state.pull)) - kinks)
        boundless = math.inf in (curve.hi, -curve.lo)
        state.primal = min(state.primal, state.hint + dual)
        if boundless and not dual <= (1.0 + _EARLY) * problem.primal_at_zero:
            state.exhausted = True
        if state.rounds % _STALE == 0:
            left = state.primal - dual
            state.exhausted |= left > (1.0 - _FALL) * state.left
            state.left = left

    @staticmethod
    def _solve_block(
        problem: KernelProblem,
        state: WorkingSetState,
        backend: Backend,
        members: Any,
        values: Any,
        budget: int,
    ) -> int:
        """Steps within a block; coefficients are written back, and of a whole problem the pull."""
        unit = _unit(problem)
        lower, upper = (bound[members] / unit for bound in problem.box)
        ridge = problem.ridge[members]
        diagonal = values.diagonal().astype(np.float64) + ridge
        block = Block(values, diagonal, ridge, lower, upper, problem.eps / unit)
        size = members.size
        scratch = np.empty(size), np.empty(size), np.empty(size, dtype=np.float32)
        point = BlockPoint(state.coef[members] / unit, state.pull[members] / unit, *scratch)
        steps_of = backend.pair_steps if problem.bias == "free" else backend.single_steps
        largest = problem.largest_target / unit
        share, least = _SHARE, _ROUNDING * largest
        if size == problem.n_rows and state.violation > _EARLY * largest * unit:
            share, least = 0.0, _EARLY * largest  # where Newton's step takes over
        limit = min(budget, _STEPS_PER_ROW * size)
        steps, _, _ = steps_of(block, point, share, least, limit)
        state.coef[members] = point.coef * unit
        if size == problem.n_rows:
            state.pull[members] = point.pull * unit
        return int(steps)

    def _members(self, problem: KernelProblem, state: WorkingSetState) -> Any:
        """The next block: half of the last one, and the rows with the steepest ways up and down."""
        up, down = slopes(problem, state)
        growth = min(_GROWTH_MOST, 2 ** (state.rounds // _GROWTH_EVERY))
        size = min(self.block_size * growth, problem.rows.most_in_a_block, problem.n_rows)
        size = min(size, max(_LEAST_BLOCK, problem.n_rows // 4))
        kept = state.members[max(0, state.members.size - size // 2) :]
        up[kept] = down[kept] = -math.inf
        room = size - kept.size
        if problem.bias == "free":
            rising = _largest(up, room - room // 2)
            down[rising] = -math.inf
            found = np.concatenate([rising, _largest(down, room // 2)])
        else:
            found = _largest(np.maximum(up, down), room)
        return np.concatenate([kept, found])

    @staticmethod
    def _judge(problem: KernelProblem, state: WorkingSetState) -> None:
        """The largest violation, the bias that goes with it, and the gap."""
        up, down = slopes(problem, state)
        top, bottom = up.max(initial=-math.inf), -down.max(initial=-math.inf)
        if problem.bias == "free":
            ends = [end for end in (float(top), float(bottom)) if math.isfinite(end)]
            state.bias = sum(ends) / len(ends) if ends else problem.bias_at_zero
            violation = top - bottom
        else:
            state.bias, violation = 0.0, max(top, -bottom)
        state.violation = float(max(violation, 0.0))
        margins = problem.y - state.pull - problem.ridge * state.coef
        some = slice(None) if state.active is None else state.active
        state.hint = problem.gap_of(problem.alpha_of(state.coef), margins, state.bias, some)

    def _mind_rows(self, problem: KernelProblem, state: WorkingSetState) -> None:
        """Leave rows out, or look at all of them again where the others are done."""
        if self._is_whole(problem) or not self.aim:
            return
        if state.active is not None and (state.hint <= self.aim or state.idle):
            self._look_at_all(problem, state)
        elif state.rounds % _SHRINK_EVERY == 0:
            self._leave_out(problem, state)

    def _look_at_all(self, problem: KernelProblem, state: WorkingSetState) -> None:
        """Their pull from the margins that the certificate of this point needs as well."""
        alpha = problem.alpha_of(state.coef)
        alpha = problem.balanced(alpha) if problem.bias == "free" else alpha
        state.coef = problem.c * alpha
        margins, errors = problem.looked(alpha, state.bias)
        state.pull = problem.y - margins - problem.ridge * state.coef
        state.active, state.idle = None, 0
        self._judge(problem, state)
        state.looked = KernelIterate(alpha, state.bias)
        if state.hint > (self.aim or 0.0):
            self._leave_out_settled(problem, state, margins, errors)

    @staticmethod
    def _leave_out_settled(
        problem: KernelProblem, state: WorkingSetState, margins: Any, errors: Any
    ) -> None:
        """Rows whose α at the optimum the gap of all rows proves, if it is theirs already."""
        assert state.looked is not None
        alpha, bias = state.looked.alpha, problem.best_bias(margins, state.bias)
        gap = problem.gap_of(alpha, margins, bias if problem.bias == "free" else 0.0)
        settled, target = settled_rows(problem, margins, errors, max(gap, 0.0))
        active = np.flatnonzero(~(settled & (alpha == target)))
        if active.size <= _WORTH_IT * problem.n_rows:
            state.active = active
            state.members = np.intersect1d(state.members, active)

    @staticmethod
    def _leave_out(problem: KernelProblem, state: WorkingSetState) -> None:
        """Rows that no violation can involve: every way open to them leads down further than the
        steepest way up of the others leads up."""
        up, down = slopes(problem, state)
        top, bottom = state.violation, -state.violation
        if problem.bias == "free":
            top, bottom = np.max(up, initial=-math.inf), -np.max(down, initial=-math.inf)
        content = (up < bottom) & (-down > top)
        active = np.flatnonzero(~content)
        before = problem.n_rows if state.active is None else state.active.size
        if active.size <= _WORTH_IT * before:
            state.active = active
            state.members = state.members[~content[state.members]]

    def _mind_face(self, problem: KernelProblem, state: WorkingSetState) -> None:
        """Newton's step on the free rows, near the optimum; taken where it raises D.

        Of a large problem it is tried when rounds have cost as much as it would, or, far from the
        optimum, many times as much, and seem to cost as much again.
        """
        size = problem.largest_target
        whole = self._is_whole(problem)
        near = state.violation <= (_EARLY if whole else _NEAR) * size
        if problem.rows.is_definite is False or (whole and not near):
            return
        chosen = free_rows(problem, state.coef)
        room = whole or 16 * chosen.size**2 <= problem.rows.cache_size * 2**20
        if not 0 < chosen.size <= self.face or not room:
            return
        price = (1.0 if near else _FAR) * _newton_price(problem, state, chosen.size)
        worth = min(state.spent, self._cost_to_come(problem, state))
        if not whole and (state.rounds < _FEW_ROUNDS or worth < price):
            return
        state.spent = 0.0
        if not whole and 2 * chosen.size**2 > problem.rows.most_in_a_block**2:
            problem.rows.forget()  # its room is wanted
        found = stepped_on_face(problem, state.coef, chosen, far=state.rounds >= _FEW_ROUNDS)
        if found is None:
            return
        before = state.coef, state.pull, state.bias, state.violation, state.hint
        state.coef, state.looked = found, None
        self._pull_anew(problem, state)
        self._judge(problem, state)
        if whole and not state.violation < before[3]:
            state.coef, state.pull, state.bias, state.violation, state.hint = before

    def _cost_to_come(self, problem: KernelProblem, state: WorkingSetState) -> float:
        """Nanoseconds of the rounds to the aim, if the gap goes on to fall as it has."""
        aim, start = self.aim or 0.0, problem.primal_at_zero
        if not 0.0 < aim < state.hint < start:
            return math.inf if state.hint > aim else 0.0
        return state.cost * math.log(state.hint / aim) / math.log(start / state.hint)

    @staticmethod
    def _pull_anew(problem: KernelProblem, state: WorkingSetState) -> None:
        """Of the rows that take part, from values of K in float64."""
        some = np.arange(problem.n_rows) if state.active is None else state.active
        pull = state.pull.copy()
        pull[some] = (problem.y - problem.ridge * state.coef)[some]
        pull[some] -= problem.rows.at(some, state.coef)
        state.pull = pull

    def _mind_precision(self, problem: KernelProblem, state: WorkingSetState) -> None:
        """Go on in float64 where float32 does not tell any more; end where that does not either."""
        noise = _SINGLE * float(np.abs(state.coef).sum())
        if state.single and (state.idle or state.violation <= noise):
            state.single, state.idle = False, 0
            self._refresh(problem, state)
            self._judge(problem, state)
        least = _ROUNDING * problem.largest_target
        state.exhausted = not state.single and (state.violation <= least or state.idle >= 2)

    def iterate(self, problem: KernelProblem, state: WorkingSetState) -> KernelIterate:
        if state.looked is not None:
            return state.looked
        return KernelIterate(problem.alpha_of(state.coef), state.bias)

    def progress(self, problem: KernelProblem, state: WorkingSetState) -> Progress:
        return Progress(state.steps, state.hint, exhausted=state.exhausted)


@storable
@dataclass(frozen=True)
class FullGram(WorkingSet):
    """All of K in float64 at once, and steps to the last digits: for few rows.

    Parameters
    ----------
    block_size, whole, single, face, alpha, aim
        As for ``WorkingSet``; problems of ``whole`` rows at most are one block.
    """

    whole: int = 1 << 40


def _unit(problem: KernelProblem) -> float:
    """A power of two near the largest |y|: in it slopes and their squares are ordinary float32, and
    changing to it rounds nothing."""
    return math.ldexp(1.0, math.frexp(problem.largest_target)[1] - 1)


def _round_price(
    problem: KernelProblem, state: WorkingSetState, size: int, steps: int, moved: int
) -> float:
    """Nanoseconds of a round, roughly; by counts, so that the same fit makes the same choices."""
    active = problem.n_rows if state.active is None else state.active.size
    return (size**2 + moved * active) * problem.rows.value_nanoseconds + _STEP * steps * size


def _newton_price(problem: KernelProblem, state: WorkingSetState, free: int) -> float:
    """Nanoseconds of Newton's step on the free rows and of the pulls after it."""
    active = problem.n_rows if state.active is None else state.active.size
    values = free**2 + 2.0 * np.count_nonzero(state.coef) * active
    return _CHOLESKY * free**3 + values * problem.rows.value_nanoseconds


def slopes(problem: KernelProblem, state: WorkingSetState) -> tuple[Any, Any]:
    """Of a move of each row up and of one down; −∞ where a bound forbids it, or it is left out."""
    (lower, upper), eps, v = problem.box, problem.eps, state.coef
    up = state.pull - np.where(v >= 0.0, eps, -eps) if eps else state.pull.copy()
    down = -state.pull - np.where(v <= 0.0, eps, -eps) if eps else -state.pull
    up[v >= upper] = -math.inf
    down[v <= lower] = -math.inf
    if state.active is not None:
        absent = np.ones(v.size, dtype=bool)
        absent[state.active] = False
        up[absent] = down[absent] = -math.inf
    return up, down


def _largest(slope: Any, count: int) -> Any:
    """The rows with the largest slopes, those that may move."""
    count = min(count, slope.size)
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    found = np.argpartition(slope, slope.size - count)[slope.size - count :]
    return found[slope[found] > -math.inf]
