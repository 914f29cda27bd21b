"""Primal subgradient methods: Pegasos, Figures 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problem import Iterate, LinearProblem
from gapsvm.trace import Progress

_CHUNK_INDICES = 1 << 20
_WEIGHT_OF_PAST = 0.9


@dataclass
class SubgradientState:
    """w = scale·v, w̄ = p·v + r·u; what each row was seen to pull is kept for the certificate."""

    table: Any
    """(visits, Σ a*, σ_i s_i, t_i), row after row."""
    v: Any
    u: Any
    """Empty without averaging."""
    scalars: Any
    """scale, ‖v‖², bias, p, r, average bias."""
    order: Any
    seed: Any
    earlier: Any
    """Tail averaging: the sum of w, and of the bias at its end, over the window before this one."""
    window: tuple[int, int] = (0, 0)
    """The first steps of that window and of this one."""
    steps: int = 0
    rows_visited: int = 0


@dataclass(frozen=True)
class Pegasos:
    """w_{t+1} = Π[(1 − 1/t)w_t + (1/(λt))·mean of a*(z_i)x̃_i over the batch] (Pegasos Fig. 1, 2).

    The certificate takes α_i as the mean of a*(z_i) over the visits of row i (for the hinge:
    violations over visits), 0 if unvisited, and reports the better of w and w(α).

    Parameters
    ----------
    batch_size : int
        k: rows per step, a uniform subset; 1 is Figure 1.
    projection : bool
        Project after each step, for the hinge onto the paper's ‖w‖ ≤ 1/√λ (eq. 6); other losses
        have no such bound and take ‖w‖ ≤ √(2P₀/λ), which follows from P(w*) ≤ P₀.
    average : None, "tail" or "decaying"
        What is certified: the last iterate, the mean of the later half or so of the iterates
        (Takáč Algorithm 1), or w̄ ← 0.9w̄ + 0.1w, as in that paper's experiments.
    tail_from : int, optional
        The mean is over w_t, t > tail_from (⌊T/2⌋ in Algorithm 1); by default the tail moves along
        and begins between a quarter and a half of the way.
    """

    batch_size: int = 1
    projection: bool = False
    average: Literal["tail", "decaying"] | None = None
    tail_from: int | None = None

    def init(
        self, problem: LinearProblem, backend: Backend, rng: np.random.Generator
    ) -> SubgradientState:
        n, d = problem.rows.shape
        if not 1 <= self.batch_size <= n:
            raise ValueError(f"batch_size must be between 1 and n = {n}, got {self.batch_size}")
        if self.average not in (None, "tail", "decaying"):
            raise ValueError(f"average must be None, 'tail' or 'decaying', got {self.average!r}")
        table = np.zeros(4 * n)
        table[2::4] = problem.sign * problem.weight * (n / problem.total_weight)
        table[3::4] = problem.t
        return SubgradientState(
            table=table,
            v=np.zeros(d),
            u=np.zeros(d if self.average else 0),
            scalars=np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
            order=np.arange(n, dtype=np.uint32),
            seed=rng.integers(0, 2**64, size=1, dtype=np.uint64),
            earlier=np.zeros(d + 1 if self.average == "tail" else 0),
        )

    def radius(self, problem: LinearProblem) -> float:
        if not self.projection:
            return np.inf
        if problem.loss.name == "hinge":
            return float(1.0 / np.sqrt(problem.lam))
        return float(np.sqrt(2.0 * problem.primal_at_zero / problem.lam))

    def advance(
        self, problem: LinearProblem, state: SubgradientState, backend: Backend, budget: int
    ) -> SubgradientState:
        left = max(1, budget // self.batch_size)
        while left > 0:
            chunk = max(1, _CHUNK_INDICES // self.batch_size)
            steps = min(left, chunk, self._steps_to_window(state))
            self._steps(problem, state, backend, steps)
            left -= steps
        return state

    def _steps(
        self, problem: LinearProblem, state: SubgradientState, backend: Backend, steps: int
    ) -> None:
        batches = np.empty((steps, self.batch_size), dtype=np.uint32)
        backend.draw_subsets(state.order, batches, state.seed)
        t = np.arange(state.steps + 1, state.steps + steps + 1, dtype=np.float64)
        decay, ones = 1.0 - 1.0 / t, np.ones(steps)
        free = problem.bias == "free"
        ratio = 1.0 if free else problem.bias_ratio
        past = _WEIGHT_OF_PAST if self.average == "decaying" else 1.0
        backend.subgradient_steps(
            problem.rows.view,
            problem.loss.curve,
            state.table,
            batches,
            1.0 / (problem.lam * t),
            decay,
            ones if free else decay,
            past * ones,
            ((1.0 - past) if self.average == "decaying" else 1.0) * ones,
            ratio,
            1.0 / ratio if problem.bias == "penalized" else 0.0,
            self.radius(problem),
            state.v,
            state.u,
            state.scalars,
        )
        state.steps += steps
        state.rows_visited += batches.size

    def _steps_to_window(self, state: SubgradientState) -> int:
        """Steps until the tail begins anew; it is begun here if this is the step."""
        if self.average != "tail":
            return _CHUNK_INDICES
        now, fixed = state.steps, self.tail_from
        begins = now == fixed if fixed is not None else now & (now - 1) == 0
        if begins and now > state.window[1]:
            state.earlier[:] = 0.0 if fixed is not None else self._sums(state)
            state.window = (now if fixed is not None else state.window[1], now)
            state.u[:] = 0.0
            state.scalars[3:] = 0.0, 1.0, 0.0
        if fixed is not None:
            return fixed - now if now < fixed else _CHUNK_INDICES
        return int(2 ** now.bit_length()) - now

    @staticmethod
    def _sums(state: SubgradientState) -> Any:
        """The average (or sum) of w and of the bias in this window."""
        _, _, _, p, r, bias = state.scalars
        return np.append(p * state.v + r * state.u, bias)

    def _output(self, state: SubgradientState) -> tuple[Any, float]:
        scale, _, bias = state.scalars[:3]
        if self.average == "decaying":
            mean = self._sums(state)
            return mean[:-1], float(mean[-1])
        count = state.steps - state.window[0]
        if self.average is None or count == 0 or state.steps < (self.tail_from or 0):
            return scale * state.v, float(bias)
        mean = (state.earlier + self._sums(state)) / count
        return mean[:-1], float(mean[-1])

    def iterate(self, problem: LinearProblem, state: SubgradientState) -> Iterate:
        visits, mass = state.table[0::4], state.table[1::4]
        w, bias = self._output(state)
        return Iterate(w, bias, mass / np.maximum(visits, 1.0), try_combination=True)

    def progress(self, problem: LinearProblem, state: SubgradientState) -> Progress:
        return Progress(state.rows_visited)
