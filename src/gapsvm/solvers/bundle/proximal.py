"""Do's proximal bundle method (Algorithm 4), with one τ or many, for a known or a guessed R.

    P′_t(w) = t·P_t(w) + Σ_{i ≤ t} (τ_i/2)‖w − w_i‖²         P_t: the model of the standard bundle
    D′_t(β) = Σ (τ_i/2)‖w_i‖² + Σ β_k b_k − ‖Σ τ_i w_i − Σ β_k a_k‖²/(2(λt + τ_{1:t}))
    w_{t+1} = argmin P′_t = (Σ τ_i w_i − Σ β_k a_k)/(λt + τ_{1:t})         β ≥ 0, Σ β_k = t

(Σ β ≤ t over the other cuts where the risk has a floor.)  min P′_t bounds nothing: the lower bound
is that of the model without proximal terms over the same cuts, for which β/t is feasible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.base import Regularised
from gapsvm.problems.risks import risk_of
from gapsvm.registry.storable import storable
from gapsvm.solvers.bundle.bundle import PATIENCE, Bundle, BundleState, begin, first_weights
from gapsvm.solvers.bundle.qp import solve_qp
from gapsvm.theory.do import balanced_tau, do_theorem2_tau

_GROWTH = math.sqrt(2.0)
_IDLE = PATIENCE // 2
"""After so many iterations that moved no bound R is asked for at the minimum of the model, as the
standard method does, until one moves: near the optimum steps may have become too short."""


@storable
@dataclass
class ProximalState(BundleState):
    """What the proximal terms of the present phase say."""

    beta: Any = field(default_factory=lambda: np.zeros(0))
    """The multipliers that maximise D′_t."""
    steps: int = 0
    """t, the iterations of this phase."""
    curvature: float = 0.0
    """λt + τ_{1:t}."""
    centre: Any = 0.0
    """Σ τ_i w_i."""
    R: float = 0.0
    """The norm that no w_t and not w* should exceed; 0 before the first step."""

    def reach(self, lam: float) -> float:
        """A proved bound on ‖w*‖: P is λ-strongly convex."""
        return float(np.linalg.norm(self.best_w)) + math.sqrt(
            2.0 * max(self.best - self.lower, 0.0) / lam
        )

    def new_phase(self, R: float) -> None:
        """Forget the proximal terms, keep the cuts and w."""
        self.R, self.steps, self.curvature, self.centre = R, 0, 0.0, np.zeros_like(self.w)
        self.beta = np.zeros(len(self.cuts))


@storable
@dataclass(frozen=True)
class ProximalBundle(Bundle):
    """Cutting planes with proximal terms that fade: fewer iterations than ``Bundle`` for weak λ.

    Parameters
    ----------
    max_cuts, start : as for ``Bundle``
    radius : "optimistic", "bound" or a number
        R of the τ_t, which should be at least ‖w*‖.  "optimistic" begins with min(1, 1/√λ) and
        multiplies by √2 while ‖w_t‖ ≥ R, as in Algorithm 3; τ and t then begin anew, the cuts stay.
        "bound": what the first evaluation proves.
    tau : "balanced" or "single"
        τ_t of every iteration, which balances the two terms of Proposition 3 (Strategy 1), or only
        τ_1, which minimises their sum over ``horizon`` iterations (Strategy 2).
    horizon : int
        Iterations that "single" is planned for.
    """

    radius: float | Literal["optimistic", "bound"] = "optimistic"
    tau: Literal["balanced", "single"] = "balanced"
    horizon: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        known = self.radius in ("optimistic", "bound")
        if not known and not (isinstance(self.radius, int | float) and 0 < self.radius < math.inf):
            raise ValueError(
                f"radius must be 'optimistic', 'bound' or a positive number, got {self.radius!r}"
            )
        if self.tau not in ("balanced", "single"):
            raise ValueError(f"tau must be 'balanced' or 'single', got {self.tau!r}")
        if not self.horizon >= 1:
            raise ValueError(f"horizon must be at least 1, got {self.horizon!r}")

    def init(
        self, problem: Regularised[Any], backend: Backend, rng: np.random.Generator
    ) -> ProximalState:
        w = first_weights(problem, self.start, backend)
        state = ProximalState(w, w)
        begin(state, problem, self.start, backend)
        return state

    def advance(
        self, problem: Regularised[Any], state: Any, backend: Backend, budget: int
    ) -> ProximalState:
        risk, lam = risk_of(problem), problem.lam
        answer = risk.ask(state.w, backend)
        state.learn(answer, lam)
        state.bound(lam)
        self._choose_radius(state, lam)
        steepness = lam * state.R + float(np.linalg.norm(answer.cut.slope))
        tau = self._tau(state, lam, steepness)
        state.steps += 1
        state.curvature += lam + tau
        state.centre = state.centre + tau * state.w
        self._solve(state)
        multipliers = [state.alpha, state.beta]
        state.alpha, state.beta = state.cuts.shrink(
            risk, self.room(state.cuts), multipliers, state.evaluations
        )
        state.w = (state.centre - state.cuts.combined(state.beta)) / state.curvature
        if state.idle >= _IDLE:
            state.w = -state.cuts.combined(state.alpha) / lam
        return state

    def _choose_radius(self, state: ProximalState, lam: float) -> None:
        """Begin a phase where R is not known yet, or ‖w_t‖ has reached it."""
        reach = state.reach(lam) or 1.0
        if self.radius != "optimistic":
            if not state.R:
                state.new_phase(reach if self.radius == "bound" else float(self.radius))
            return
        R = state.R or min(1.0, 1.0 / math.sqrt(lam))
        norm = float(np.linalg.norm(state.w))
        while min(norm, reach) >= R:  # phases that would end at once are skipped
            R *= _GROWTH
        if state.R != R:
            state.new_phase(R)

    def _tau(self, state: ProximalState, lam: float, steepness: float) -> float:
        if self.tau == "balanced":
            return float(balanced_tau(lam, steepness, state.R, state.curvature).tau[0])
        if state.steps > 0 or not steepness > 0:
            return 0.0
        return do_theorem2_tau(self.horizon, lam=lam, G=steepness, R=state.R)

    @staticmethod
    def _solve(state: ProximalState) -> None:
        """Maximise D′_t, from β with the newest cut taken once more, as in Lemma 3."""
        cuts, start = state.cuts, np.zeros(len(state.cuts))
        start[: state.beta.size] = state.beta
        start[-1] += 1.0
        lead = cuts.offsets + cuts.along(state.centre) / state.curvature
        state.beta = solve_qp(cuts.gram / state.curvature, lead, float(state.steps), start).alpha
