"""LASVM: support vectors enter one at a time, and leave when they are none any more.

Bordes, Ertekin, Weston and Bottou, JMLR 6 (2005).  An expansion S of rows holds all coefficients.
PROCESS puts a row into S and makes a step on it and the row of S that violates most with it;
REPROCESS makes a step on the most violating pair of S, and lets rows without a coefficient go that
no violation involves.  A pass does both for every row; then REPROCESS goes on until S has no
violation above τ: finishing.  With a free bias steps move pairs; without one they move one row.

Rows step in groups: K between those of a group and S is computed for one look at the data, and K
among S is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.kernels.lines import TOGETHER, among, between
from gapsvm.problems.kernel import KernelIterate, KernelProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.sdca.serial import rows_with_weight
from gapsvm.solvers.trace import Progress
from gapsvm.solvers.working_set.whole_block import (
    block_of,
    feasible_coef,
    point_of,
    refusal_of_curves,
)
from gapsvm.types.mercer import Block, BlockPoint

_ROOM = 256
"""Slots to begin with; there are twice as many whenever they are full."""
_FINISHING = 1000
"""Steps of finishing in a call."""
_FINER = 0.1
"""τ is this share of what it was after a pass in which no row took part in a violation above it."""


@storable
@dataclass
class Expansion:
    """S: rows in slots, K among them, v and y − Kv.  Slots that are not ``inside`` are free."""

    rows: Any
    inside: Any
    coef: Any
    pull: Any
    kernel: Any

    @staticmethod
    def of(size: int) -> Expansion:
        """Empty, with so many slots."""
        return Expansion(
            np.zeros(size, dtype=np.int64),
            np.zeros(size, dtype=bool),
            np.zeros(size),
            np.zeros(size),
            np.zeros((size, size)),
        )

    def grown_by(self, more: int) -> Expansion:
        """The same with at least so many free slots."""
        size, used = self.rows.size, int(self.inside.sum())
        if used + more <= size:
            return self
        found = Expansion.of(max(2 * size, used + more))
        for old, new in zip(self._arrays, found._arrays):
            new[:size] = old
        found.kernel[:size, :size] = self.kernel
        return found

    @property
    def _arrays(self) -> tuple[Any, Any, Any, Any]:
        return self.rows, self.inside, self.coef, self.pull

    @property
    def members(self) -> Any:
        """The slots in use."""
        return np.flatnonzero(self.inside)


@storable
@dataclass
class LASVMState:
    """Everything the solver knows; resuming from a copy is bit-equal."""

    expansion: Expansion
    order: Any
    seed: Any
    tau: float
    position: int = 0
    rows_visited: int = 0
    moved: int = 0
    """Steps of this pass."""
    finishing: bool = False
    epochs: int = 0


@storable
@dataclass(frozen=True)
class LASVM:
    """Online support vectors: PROCESS, REPROCESS and finishing.

    Parameters
    ----------
    tau : float
        The least violation that a step is made for; smaller where a pass finds none.
    finish : bool
        REPROCESS after each pass until S has no violation above ``tau``.
    alpha : array, optional
        Where to start.
    """

    tau: float = 1e-3
    finish: bool = True
    alpha: Any = None

    def refusal(self, problem: object) -> str:
        """What the problem lacks for this solver to work; empty if nothing."""
        return refusal_of_curves(problem)

    def warmed(self, warm: KernelIterate) -> LASVM:
        """The same, to begin at an α."""
        return replace(self, alpha=warm.alpha)

    def init(
        self, problem: KernelProblem, backend: Backend, rng: np.random.Generator
    ) -> LASVMState:
        coef = feasible_coef(problem, self.alpha)
        seed = rng.integers(0, 2**64, size=1, dtype=np.uint64)
        state = LASVMState(Expansion.of(_ROOM), rows_with_weight(problem), seed, self.tau)
        used = np.flatnonzero(coef)
        if used.size:
            slots = self._enter(problem, state, used)
            expansion = state.expansion
            expansion.inside[slots], expansion.coef[slots] = True, coef[used]
            square = expansion.kernel[np.ix_(slots, slots)]
            expansion.pull[slots] -= square @ coef[used] + problem.ridge[used] * coef[used]
        return state

    def advance(
        self, problem: KernelProblem, state: LASVMState, backend: Backend, budget: int
    ) -> LASVMState:
        """A group of rows, or some steps of finishing."""
        if state.finishing:
            self._finish(problem, state, backend)
            return state
        if state.position == 0:
            backend.shuffle(state.order, state.order.size, state.seed)
        rows = state.order[state.position : state.position + TOGETHER].astype(np.int64)
        slots = self._enter(problem, state, rows)
        block, point = self._block(problem, state)
        inside, paired = state.expansion.inside, problem.bias == "free"
        state.moved += backend.lasvm_steps(block, point, inside, slots, state.tau, paired)
        state.position += rows.size
        state.rows_visited += rows.size
        if state.position >= state.order.size:
            state.finishing = self.finish
            if not self.finish:
                self._end_pass(state)
        return state

    def _finish(self, problem: KernelProblem, state: LASVMState, backend: Backend) -> None:
        block, point = self._block(problem, state)
        inside, paired = state.expansion.inside, problem.bias == "free"
        steps, _ = backend.lasvm_finish(block, point, inside, state.tau, paired, _FINISHING)
        state.rows_visited += max(1, steps)
        state.moved += steps
        if steps < _FINISHING:
            self._end_pass(state)

    @staticmethod
    def _end_pass(state: LASVMState) -> None:
        if state.moved == 0:
            state.tau *= _FINER
        state.moved = state.position = 0
        state.finishing = False
        state.epochs += 1

    @staticmethod
    def _enter(problem: KernelProblem, state: LASVMState, rows: Any) -> Any:
        """The slots of these rows, K and pulls filled in for those that were not in S."""
        slot_of = np.full(problem.n_rows, -1)
        members = state.expansion.members
        slot_of[state.expansion.rows[members]] = members
        fresh = rows[slot_of[rows] < 0]
        state.expansion = expansion = state.expansion.grown_by(fresh.size)
        free = np.flatnonzero(~expansion.inside)[: fresh.size]
        slot_of[fresh] = free
        expansion.rows[free], expansion.coef[free] = fresh, 0.0
        values = between(problem.rows, fresh, expansion.rows[members])
        expansion.kernel[np.ix_(free, members)] = values
        expansion.kernel[np.ix_(members, free)] = values.T
        expansion.kernel[np.ix_(free, free)] = among(problem.rows, fresh)
        expansion.pull[free] = problem.y[fresh] - values @ expansion.coef[members]
        return slot_of[rows]

    @staticmethod
    def _block(problem: KernelProblem, state: LASVMState) -> tuple[Block, BlockPoint]:
        expansion = state.expansion
        block = block_of(problem, expansion.rows, expansion.kernel)
        return block, point_of(expansion.coef, expansion.pull)

    def iterate(self, problem: KernelProblem, state: LASVMState) -> KernelIterate:
        expansion, coef = state.expansion, np.zeros(problem.n_rows)
        members = expansion.members
        coef[expansion.rows[members]] = expansion.coef[members]
        return KernelIterate(problem.alpha_of(coef), 0.0)

    def progress(self, problem: KernelProblem, state: LASVMState) -> Progress:
        return Progress(state.rows_visited, math.nan)
