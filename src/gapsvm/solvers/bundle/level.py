"""A level bundle method: as near to the best point as the model allows below a level.

    w_{t+1} = argmin ‖w − ŵ‖²     over P_t(w) ≤ l,      l between the lower bound and P(ŵ)
            = argmin P_t(w) + (τ/2)‖w − ŵ‖²             for the τ at which P_t(w_{t+1}) = l

ŵ is the best point so far.  τ is that of the iteration before as long as P_t(w_{t+1}) falls into a
band of levels, so that mostly one quadratic program more is solved than by the standard method
(Lemaréchal, Nemirovskii, Nesterov 1995; the form with a stability centre is Kiwiel's).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.risks import risk_of
from gapsvm.registry.storable import storable
from gapsvm.solvers.bundle.bundle import Bundle, BundleState, begin, first_weights
from gapsvm.solvers.bundle.qp import solve_qp

_BAND = 0.5
"""The band of levels reaches from here to the same share of the way to its ends."""
_TRIALS, _FACTOR = 12, 4.0
"""Programs an iteration at most, and by what τ changes until the band is enclosed."""


@storable
@dataclass
class LevelState(BundleState):
    """The cuts, the best point, and how firmly the next one is tied to it."""

    beta: Any = field(default_factory=lambda: np.zeros(0))
    """The multipliers of the last program with a term (τ/2)‖w − ŵ‖²."""
    tau: float = 0.0
    """0 before the first step."""

    def solve(self, lam: float, along: Any, square: float) -> float:
        """P_t at w = (τŵ − Σ β_k a_k)/(λ + τ), the minimum of P_t(w) + (τ/2)‖w − ŵ‖².

        Given     ⟨a_k, ŵ⟩ and ‖ŵ‖².
        Modified  beta.
        """
        cuts, tau, curvature = self.cuts, self.tau, lam + self.tau
        start = np.append(self.beta, np.zeros(len(cuts) - self.beta.size))
        lead = cuts.offsets + along * (tau / curvature)
        self.beta = solve_qp(cuts.gram / curvature, lead, 1.0, start).alpha
        pull = cuts.gram @ self.beta
        products = (tau * along - pull) / curvature
        length = tau * (tau * square - 2.0 * float(self.beta @ along)) + float(self.beta @ pull)
        return float(np.max(products + cuts.offsets)) + 0.5 * lam * length / curvature**2


@storable
@dataclass(frozen=True)
class LevelBundle(Bundle):
    """Cutting planes below a level, as near to the best point as possible.

    Parameters
    ----------
    max_cuts, start : as for ``Bundle``
    level : float
        Where the level lies between the lower bound (0) and the best value (1).
    """

    level: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {self.level!r}")

    def init(self, problem: Any, backend: Backend, rng: np.random.Generator) -> LevelState:
        w = first_weights(problem, self.start, backend)
        state = LevelState(w, w)
        begin(state, problem, self.start, backend)
        return state

    def advance(self, problem: Any, state: Any, backend: Backend, budget: int) -> LevelState:
        risk, lam = risk_of(problem), problem.lam
        state.learn(risk.ask(state.w, backend), lam)
        state.bound(lam)
        self._step(state, lam)
        multipliers = [state.alpha, state.beta]
        state.alpha, state.beta = state.cuts.shrink(
            risk, self.room(state.cuts), multipliers, state.evaluations
        )
        return state

    def _step(self, state: LevelState, lam: float) -> None:
        """Find τ and w.  Modified: state.tau, state.beta, state.w."""
        centre, gap = state.best_w, state.best - state.lower
        low, high = _BAND * self.level * gap, (1.0 - _BAND * (1.0 - self.level)) * gap
        at_centre = state.cuts.along(centre), float(centre @ centre)
        root = math.sqrt(self.level)  # of one cut the model is there at (τ/(λ + τ))² of the way
        tau, least, most = state.tau or lam * root / (1.0 - root), 0.0, math.inf
        for _ in range(_TRIALS):
            state.tau = tau
            height = state.solve(lam, *at_centre) - state.lower
            if height > high:
                most = tau
                tau = math.sqrt(tau * least) if least > 0 else tau / _FACTOR
            elif height < low:
                least = tau
                tau = math.sqrt(tau * most) if most < math.inf else tau * _FACTOR
            else:
                break
        pull = state.cuts.combined(state.beta)
        state.w = (state.tau * centre - pull) / (lam + state.tau)
