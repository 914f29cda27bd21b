"""Accelerated dual coordinate ascent, for weak λ: proximal points with momentum, each by SDCA.

An outer step minimises P(w) + (κ/2)‖w − v‖².  Its dual has the α of P and their box, its primal
point is w = κ/(λ+κ)·v + Σ c'_i α_i x_i with c'_i = σ_i s_i/((λ+κ)S): these are steps of SDCA for
λ + κ on a w that carries an offset, and when the centre v moves, so does w, and α is kept.  With
w_k the point at the end of step k (Nesterov; Shalev-Shwartz & Zhang; Lin, Mairal & Harchaoui),

    v = w_k + β(w_k − w_{k−1}),   β = min((t_k − 1)/t_{k+1}, (1 − √q)/(1 + √q)),   q = λ/(λ + κ)

and t starts anew when the last step went against the momentum or raised P.
w − w(α) = (κ/λ)(v − w), so the gap of the problem itself is known from that of the outer step:

    P(w) − D(α) = (1/S) Σ s_i [φ(z_i) + φ*(−α_i) + α_i z_i] + (κ²/2λ)‖w − v‖²

All rows are looked at before an outer step ends.  It ends when the first term, its own gap, is at
most some multiple of (κ/2)‖w − v‖², which is halved when P rose and grows again while P falls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.base import refusal_of_balls, refusal_of_others
from gapsvm.solvers.sdca.serial import SDCA, SDCAState
from gapsvm.solvers.trace import Progress

_STEPS = SDCA(parallel=False)
"""What solves an outer step; threads share its screenings alone."""
_STIFFNESS = 0.02
"""λ + κ in units of R²/n·√(1 + n/d), R² the mean of ‖x‖²."""
_TIGHTER, _LOOSER = 2.0, 1.1
"""By these factors the inexactness falls when P rose, and grows when P fell."""
_NEGLIGIBLE = 0.01
"""Share of the gap allowed at the end of a step that is not worth another pass."""


@storable
@dataclass
class AcceleratedState:
    """The state of SDCA inside an outer step, and the centres; a copy resumes bit-equally."""

    inner: SDCAState
    centre: Any
    """v, of w and, where it is penalised, of the bias, which is the last number."""
    last: Any
    """w at the end of the last outer step, with the bias likewise."""
    inexactness: float
    """What is allowed at present."""
    objective: float = math.inf
    """P at the end of the last outer step."""
    momentum: float = 1.0
    """Nesterov's t."""
    steps: int = 0
    """Outer steps that ended."""
    gap: float = math.inf
    """Of the outer step, where it is known: when all rows have just been screened."""
    proximal_term: float = 0.0
    """(κ/2)‖w − v‖² when all rows were last screened."""
    hint: float = math.inf


@storable
@dataclass(frozen=True)
class AcceleratedSDCA:
    """SDCA on problems with a proximal term, whose centre moves with momentum.

    Parameters
    ----------
    kappa : float, optional
        Weight of the proximal term; 0 is plain SDCA.  By default what brings λ + κ up to
        0.02·R²/n·√(1 + n/d), where R² is the mean of ‖x‖²; 0 if λ is above that.
    inexactness : float
        An outer step ends when its gap is at most so many times its proximal term, or fewer where
        the objective has risen: momentum gathers errors.  Up to 1 no step ends above its centre.
    alpha : array, optional
        Warm start.
    bias : float
        The bias to begin with.
    """

    kappa: float | None = None
    inexactness: float = 10.0
    alpha: Any = None
    bias: float = 0.0

    def __post_init__(self) -> None:
        if self.kappa is not None and not 0 <= self.kappa < math.inf:
            raise ValueError(f"kappa must be finite and not negative, got {self.kappa!r}")
        if not self.inexactness > 0:
            raise ValueError(f"inexactness must be positive, got {self.inexactness!r}")

    def refusal(self, problem: object) -> str:
        """What the problem lacks for this solver to work; empty if nothing."""
        if not isinstance(problem, LinearProblem):
            return refusal_of_others(problem, LinearProblem)
        return refusal_of_balls(problem)

    def warmed(self, iterate: Iterate) -> AcceleratedSDCA:
        """The same, to begin at an α."""
        return replace(self, alpha=iterate.alpha, bias=iterate.bias)

    def init(
        self, problem: LinearProblem, backend: Backend, rng: np.random.Generator
    ) -> AcceleratedState:
        inner = SDCA(alpha=self.alpha, bias=self.bias).init(problem, backend, rng)
        outer_step = self._with_proximal_term(problem)
        inner.weigh(problem.lam / outer_step.lam, outer_step)
        point = _point(problem, inner)
        return AcceleratedState(
            inner, point.copy(), point.copy(), self.inexactness, hint=inner.hint
        )

    def advance(
        self, problem: LinearProblem, state: AcceleratedState, backend: Backend, budget: int
    ) -> AcceleratedState:
        outer_step = self._with_proximal_term(problem)
        kappa = outer_step.lam - problem.lam
        if state.inner.rows_visited == 0:
            state.hint = math.inf
        if kappa > 0:
            self._end_step(problem, state, kappa)
        was_screening = state.inner.screening
        inner = state.inner = _STEPS.advance(outer_step, state.inner, backend, budget)
        all_seen = was_screening and not inner.screening
        state.gap = inner.screened if all_seen else math.inf
        if kappa == 0:
            state.hint = inner.hint
        elif all_seen:
            away = _point(problem, inner) - state.centre
            state.proximal_term = 0.5 * kappa * _dot(away, away)
            state.hint = state.gap + kappa / problem.lam * state.proximal_term
        return state

    def acts_on(self, problem: LinearProblem) -> bool:
        """Whether λ is weak enough for a proximal term; otherwise this is plain SDCA."""
        return self._with_proximal_term(problem).lam > problem.lam

    def _with_proximal_term(self, problem: LinearProblem) -> LinearProblem:
        """The problem of an outer step, as far as steps on α see it: its λ is λ + κ."""
        size = problem.mean_sq_norm + problem.bias_ratio
        if self.kappa is not None:
            return problem.with_lam(problem.lam + self.kappa)
        n, d = (max(1, count) for count in problem.rows.shape)
        stiff = _STIFFNESS * size / n * math.sqrt(1.0 + n / d)
        return problem.with_lam(max(problem.lam, stiff))

    def _end_step(self, problem: LinearProblem, state: AcceleratedState, kappa: float) -> None:
        """Move the centre if all rows were looked at and are near enough, or have them looked at
        if those that are visited have next to no gap left."""
        inner, allowed = state.inner, state.inexactness * state.proximal_term
        if state.gap <= allowed:
            self._move_centre(problem, state, kappa)
        elif inner.position == 0 and state.gap == math.inf:
            inner.screen_if(inner.last_estimate <= _NEGLIGIBLE * allowed)

    def _move_centre(self, problem: LinearProblem, state: AcceleratedState, kappa: float) -> None:
        """End an outer step: the centre goes on beyond w, and w goes with it, α stays."""
        inner, lam = state.inner, problem.lam
        point = _point(problem, inner)
        move = point - state.last
        objective = _objective(problem, state, kappa)
        if objective > state.objective:
            state.inexactness /= _TIGHTER
        else:
            state.inexactness = min(self.inexactness, _LOOSER * state.inexactness)
        if objective > state.objective or _dot(state.centre - point, move) > 0:
            state.momentum = 1.0
        state.objective = objective
        t = state.momentum
        state.momentum = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
        root = math.sqrt(lam / (lam + kappa))
        beta = min((t - 1.0) / state.momentum, (1.0 - root) / (1.0 + root))
        centre = point + beta * move
        state.last = point.copy()
        shift = kappa / (lam + kappa) * (centre - state.centre)
        penalised = problem.bias == "penalized"
        bias_shift = math.sqrt(problem.bias_ratio) * float(shift[-1]) if penalised else 0.0
        inner.shift(shift[: inner.w.size], bias_shift)
        state.centre, state.steps = centre, state.steps + 1

    def iterate(self, problem: LinearProblem, state: AcceleratedState) -> Iterate:
        inner = state.inner
        return Iterate(inner.w.copy(), inner.bias, inner.alpha.copy())

    def progress(self, problem: LinearProblem, state: AcceleratedState) -> Progress:
        return Progress(state.inner.rows_visited, state.hint)


def _point(problem: LinearProblem, inner: SDCAState) -> Any:
    """w itself, or followed by a penalised bias in the scale of its penalty."""
    if problem.bias != "penalized":
        return inner.w
    return np.append(inner.w, inner.bias / math.sqrt(problem.bias_ratio))


def _objective(problem: LinearProblem, state: AcceleratedState, kappa: float) -> float:
    """P(w) when SDCA has just screened all rows: their losses follow from their Fenchel gaps."""
    inner = state.inner
    point, stiff = _point(problem, inner), problem.lam + kappa
    products = _dot(stiff * point - kappa * state.centre, point)
    if problem.bias == "free":
        products += inner.bias * stiff * inner.mass
    losses = state.gap - problem.mean_conjugate(inner.alpha) - products
    return losses + problem.penalty(inner.w, inner.bias)


def _dot(a: Any, b: Any) -> float:
    """Not by BLAS, whose threads would cost more here than they save."""
    return float(np.einsum("i,i", a, b))
