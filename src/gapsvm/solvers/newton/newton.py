"""Newton's method on P itself, for the logistic loss: its conjugate is its own barrier.

With α_i = 1/(1 + e^{z_i}) and Ω_i = s_i α_i(1 − α_i) the gradient of S·P is
λS·w − Σ σ_i s_i α_i x_i and its Hessian λS·I + XᵀΩX, bordered by the bias: the equations of the
interior point.  A step is halved until P falls by a share of what its slope promises.  (w, α) has
no gap but (λ/2)‖w − w(α)‖², the square of the gradient, which each of the last steps squares again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from gapsvm.backends import Backend
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.base import refusal_of_balls, refusal_of_others
from gapsvm.solvers.newton.normal_equations import (
    BestSoFar,
    NormalEquations,
    gram_of_rows,
)
from gapsvm.solvers.trace import Progress
from gapsvm.system.blas import one_blas_thread
from gapsvm.types.curves import Logit

_SHARE = 1e-4
_HALVINGS = 40


@storable
@dataclass
class NewtonState(BestSoFar):
    """(w, b), and the margins ⟨x_i, w⟩."""

    w: Any
    bias: float
    margins: Any
    gram: Any
    """XXᵀ when there are fewer rows than features, else None."""


@storable
@dataclass(frozen=True)
class Newton:
    """Damped Newton steps of O(n·nnz²) or O(n·d²); a dozen of them, to 1e-12 and beyond.

    Parameters
    ----------
    w : array, optional
        Where to begin, with ``bias``; at zero by default.
    bias : float
        The bias to begin with.
    """

    w: Any = None
    bias: float = 0.0

    def refusal(self, problem: object) -> str:
        """What the problem lacks for this solver to work; empty if nothing."""
        if not isinstance(problem, LinearProblem):
            return refusal_of_others(problem, LinearProblem)
        found = refusal_of_balls(problem)
        if not found and not isinstance(problem.loss.curve, Logit):
            found = f"it is for the logistic loss, not {problem.loss.name!r}; use InteriorPoint"
        return found

    def warmed(self, iterate: Iterate) -> Newton:
        """The same, to begin at a w."""
        return replace(self, w=iterate.w, bias=iterate.bias)

    def init(
        self, problem: LinearProblem, backend: Backend, rng: np.random.Generator
    ) -> NewtonState:
        n, d = problem.rows.shape
        w, bias, margins = np.zeros(d), 0.0, np.zeros(n)
        if self.w is not None:
            w = np.array(self.w, dtype=np.float64)
            bias = 0.0 if problem.bias == "none" else self.bias
            backend.margins(problem.rows.view, w, margins)
        start = Iterate(w, bias, np.zeros(n))
        return NewtonState(w, bias, margins, gram_of_rows(problem), best=start)

    def advance(
        self, problem: LinearProblem, state: NewtonState, backend: Backend, budget: int
    ) -> NewtonState:
        state.steps += 1
        curve, sign = problem.loss.curve, problem.sign
        equations = NormalEquations(problem, backend, state.gram)
        alpha = curve.maximiser(sign * (state.margins + state.bias), problem.t)
        downhill = equations.missing(state.w, state.bias, sign * problem.weight * alpha)
        with one_blas_thread(), np.errstate(all="ignore"):
            try:
                equations.factorise(problem.weight * alpha * (1.0 - alpha))
                dw, db = equations.solve(*downhill)
                promise = float(downhill[0] @ dw) + downhill[1] * db
            except LinAlgError:  # the matrix lost its last digits: what is known is the best
                promise = math.nan
        state.broken = not math.isfinite(promise)
        if state.broken:
            return state
        towards = equations.margins(dw)
        length = _length(problem, state, (dw, db, towards), promise / problem.total_weight)
        state.w = state.w + length * dw
        state.bias += length * db
        state.margins = equations.margins(state.w)
        alpha = curve.maximiser(sign * (state.margins + state.bias), problem.t)
        state.remember(problem, backend, Iterate(state.w, state.bias, alpha))
        return state

    def iterate(self, problem: LinearProblem, state: NewtonState) -> Iterate:
        return state.best

    def progress(self, problem: LinearProblem, state: NewtonState) -> Progress:
        return state.progress(problem)


def _length(
    problem: LinearProblem, state: NewtonState, step: tuple[Any, float, Any], promise: float
) -> float:
    """The first of 1, ½, ¼, … at which P has fallen by a share of the promise."""
    dw, db, towards = step
    before = problem.objective(state.w, state.bias, state.margins)
    length = 1.0
    for _ in range(_HALVINGS):
        w, bias = state.w + length * dw, state.bias + length * db
        after = problem.objective(w, bias, state.margins + length * towards)
        if after <= before - _SHARE * length * promise:
            break
        length *= 0.5
    return length
