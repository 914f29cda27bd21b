"""The standard bundle method: cutting planes for any convex risk (BMRM; SVM-Perf).

    P_t(w) = (λ/2)‖w‖² + max_k (⟨a_k, w⟩ + b_k)                  ≤ P(w)
    D_t(α) = Σ α_k b_k − ‖Σ α_k a_k‖²/(2λ)      α ≥ 0, Σ α_k = 1
    w_{t+1} = argmin P_t = −(1/λ) Σ α_k a_k

Where R has a floor, as most risks have 0, the floor is a cut: Σ α ≤ 1 over the others.  D_t(α) is
the lower bound, the best w_k the model.  Every iteration asks for R once, at w_t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.base import Regularised
from gapsvm.problems.risk import Answer, refuse_contradiction
from gapsvm.problems.risks import risk_of
from gapsvm.registry.storable import storable
from gapsvm.solvers.bundle.cuts import Cuts
from gapsvm.solvers.bundle.qp import solve_qp
from gapsvm.solvers.trace import Progress

PATIENCE = 50
"""Iterations that move neither bound, after which nothing more is expected."""
_ROUNDING = 1e-15
_FEWEST, _MOST, _BYTES = 20, 200, 1 << 30
"""How many cuts are kept, and how much memory they may take in between."""


@storable
@dataclass
class BundleState:
    """The cuts, the best point, and where to ask next."""

    w: Any
    """w_t, where R is asked for next."""
    best_w: Any
    best_bias: float = 0.0
    best: float = math.inf
    """P(best_w)."""
    cuts: Cuts = field(default_factory=Cuts)
    alpha: Any = field(default_factory=lambda: np.zeros(0))
    """The multipliers that maximise D_t."""
    lower: float = -math.inf
    """D_t(α)."""
    evaluations: int = 0
    idle: int = 0
    """Iterations since a bound moved."""

    def learn(self, answer: Answer, lam: float) -> None:
        """Take in what the risk said of w."""
        self.evaluations += 1
        self.cuts.add(answer.cut, self.evaluations)
        primal = answer.value + 0.5 * lam * float(self.w @ self.w)
        self.idle += 1
        if primal < self.best:
            if primal < self.best - _ROUNDING * abs(primal):
                self.idle = 0
            self.best, self.best_w, self.best_bias = primal, self.w, answer.bias

    def bound(self, lam: float) -> None:
        """Maximise D_t."""
        self.alpha = np.append(self.alpha, np.zeros(len(self.cuts) - self.alpha.size))
        gram, offsets = self.cuts.gram, self.cuts.offsets
        self.alpha = solve_qp(gram / lam, offsets, 1.0, self.alpha).alpha
        bound = float(self.alpha @ offsets - self.alpha @ gram @ self.alpha / (2.0 * lam))
        refuse_contradiction(bound, self.best, f"after {self.evaluations} evaluations")
        if bound > self.lower + _ROUNDING * abs(bound):
            self.lower, self.idle = bound, 0


@storable
@dataclass(frozen=True)
class Bundle:
    """Cutting planes; an iteration costs one look at all rows and a small quadratic program.

    Parameters
    ----------
    max_cuts : int or "auto"
        Cuts that are kept: memory is so many vectors of weights and of dual points.  Beyond it
        those unused for longest are dropped, or combined into one.  "auto": 200, or as many as go
        into a gigabyte, but 20 at least.
    start : iterate of the problem, optional
        Where to begin; what its dual point proves is the first cut.
    """

    max_cuts: int | Literal["auto"] = "auto"
    start: Any = None

    def __post_init__(self) -> None:
        if self.max_cuts != "auto" and not self.max_cuts >= 4:
            raise ValueError(f"max_cuts must be 'auto' or at least 4, got {self.max_cuts}")

    def room(self, cuts: Cuts) -> int:
        """How many cuts may be kept."""
        if self.max_cuts != "auto":
            return self.max_cuts
        return max(_FEWEST, min(_MOST, _BYTES // max(cuts.cuts[-1].n_bytes, 1)))

    def refusal(self, problem: object) -> str:
        """What the problem lacks; empty if nothing."""
        return risk_refusal(problem)

    def warmed(self, iterate: Any) -> Bundle:
        """The same, to begin at an iterate of the problem."""
        return replace(self, start=iterate)

    def init(
        self, problem: Regularised[Any], backend: Backend, rng: np.random.Generator
    ) -> BundleState:
        w = first_weights(problem, self.start, backend)
        state = BundleState(w, w)
        begin(state, problem, self.start, backend)
        return state

    def advance(
        self, problem: Regularised[Any], state: BundleState, backend: Backend, budget: int
    ) -> BundleState:
        risk = risk_of(problem)
        state.learn(risk.ask(state.w, backend), problem.lam)
        state.bound(problem.lam)
        [state.alpha] = state.cuts.shrink(
            risk, self.room(state.cuts), [state.alpha], state.evaluations
        )
        state.w = -state.cuts.combined(state.alpha) / problem.lam
        return state

    def iterate(self, problem: Regularised[Any], state: BundleState) -> Any:
        return read_off(problem, state)

    def progress(self, problem: Regularised[Any], state: BundleState) -> Progress:
        return progress_of(problem, state)


def risk_refusal(problem: object) -> str:
    """Why a problem shows no risk to a bundle method; empty if it does."""
    try:
        risk_of(problem)
    except ValueError as error:
        return str(error)
    return ""


def first_weights(problem: Regularised[Any], start: Any, backend: Backend) -> Any:
    """Zero, or those of a warm start."""
    risk = risk_of(problem)
    return np.zeros(risk.size) if start is None else risk.start(start, backend)


def begin(state: BundleState, problem: Regularised[Any], start: Any, backend: Backend) -> None:
    """What is known before the first evaluation: the floor, and what a warm start proves."""
    risk = risk_of(problem)
    if math.isfinite(risk.floor):
        state.cuts.add(risk.floor_cut(), 0)
    known = None if start is None else risk.known(start, backend)
    if known is not None:
        state.cuts.add(known, 0)
    if len(state.cuts):
        state.bound(problem.lam)


def read_off(problem: Regularised[Any], state: BundleState) -> Any:
    """The best point so far, with the combination of cuts that proves the bound."""
    risk = risk_of(problem)
    cut = state.cuts.merged(risk, state.alpha) if len(state.cuts) else None
    return risk.iterate(state.best_w, state.best_bias, cut)


def progress_of(problem: Regularised[Any], state: BundleState) -> Progress:
    gap = state.best - state.lower
    return Progress(
        state.evaluations * problem.n_rows,
        gap_hint=gap if math.isfinite(gap) else math.nan,
        exhausted=state.idle >= PATIENCE
        or (math.isfinite(gap) and gap <= _ROUNDING * abs(state.best)),
    )
