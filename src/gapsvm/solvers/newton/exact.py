"""Small problems, solved exactly, in one call of a compiled loop or a few dozen of NumPy's.

Without smoothing (γ = 0) by Mehrotra's method as ``gapsvm.solvers.newton.interior`` describes it,
in the same letters, on columns of mean 0; the free bias is taken out by the Ω-weighted mean of the
rows, m = Σ Ω_i x_i/Σ Ω_i:

    (λS·I + Σ Ω_i (x_i − m)(x_i − m)ᵀ)dw = Σ c_i(x_i − m) − λS·w,   db = Σ c_i/Σ Ω_i − ⟨m, dw⟩
    c_i = σ_i s_i Σ e(u − r/B),   r = ε − e·t + e·z − lower/u + upper/(U − u),   B = ζ/u + υ/(U − u)

Once the products are a thousandth of P₀, each step ends with a look at the face that its point is
near: rows that are held stay at their bounds, the others lie on their kinks, z_i = t_i ∓ ε, which
are as many linear equations; their solution is exact where the face is the right one, and then its
certified gap is that of rounding.

Smooth losses by Newton's method on P, which for those of five numbers ends after finitely many
steps, since φ′ is piecewise linear.  A penalised bias is the weight of one more feature.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.backends.renting import is_due, rented
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.base import refusal_of_balls, refusal_of_others
from gapsvm.solvers.newton.exact_cost import has_kinks, numpy_seconds, step_nanoseconds
from gapsvm.solvers.trace import Progress
from gapsvm.system.blas import one_blas_thread
from gapsvm.types.curves import FiveNumbers, Logit
from gapsvm.types.exact import ENDED, GAP, LEDGER, STEPS, Best, BoxPoint, Limits, SmallRows

_MOST_FEATURES, _MOST_VALUES = 1000, 20_000_000
"""Sizes beyond which nobody would wait for it: of min(n, d), and of the dense copy."""
_SLICE = 4e6
"""Nanoseconds of work between two looks at the clock."""


@storable
@dataclass
class ExactState:
    """(w, b) in features of ``gapsvm.rows.compact``; the point's other parts are empty where the
    loss is smooth."""

    w: Any
    u: Any
    slack: Any
    zeta: Any
    upsilon: Any
    residual: Any
    best_w: Any
    best_alpha: Any
    ledger: Any
    size: float


@storable
@dataclass(frozen=True)
class Exact:
    """A dozen steps of O(n·d²) in one call, to the last digits, for small problems.

    Parameters
    ----------
    tol : float
        Share of P(0) at which steps end; they end before where rounding allows no better.
    w : array, optional
        Where to begin with a smooth loss, with ``bias``; at zero by default.
    bias : float
        The bias to begin with.
    compiled : bool, optional
        Whether compiled loops or NumPy's make the steps; by default NumPy's, as long as the others
        would have to be waited for and that costs more.
    """

    tol: float = 1e-15
    compiled: bool | None = None
    w: Any = None
    bias: float = 0.0

    def refusal(self, problem: Any) -> str:
        """What the problem lacks for this solver to work; empty if nothing."""
        found = refusal_of_others(problem, LinearProblem) or refusal_of_balls(problem)
        return found or _refusal_of_curve(problem.loss) or _refusal_of_size(problem)

    def warmed(self, iterate: Iterate) -> Exact:
        """The same, to begin at a w."""
        return replace(self, w=iterate.w, bias=iterate.bias)

    def slice_rows(self, problem: LinearProblem) -> int:
        """Rows, n a step, after which the loop is to look up."""
        return problem.n_rows * max(1, int(_SLICE / step_nanoseconds(problem)))

    def backend_for(self, problem: LinearProblem, backend: Backend) -> Backend:
        """NumPy's, or the one that was asked for."""
        if backend.name != "cpu":
            return backend
        compiled = self.compiled
        if compiled is None:
            compiled = is_due(*_kernel(problem), numpy_seconds(problem))
        return backend if compiled else get_backend("reference")

    def init(
        self, problem: LinearProblem, backend: Backend, rng: np.random.Generator
    ) -> ExactState:
        n, d = problem.n_rows, _features(problem).shape[0]
        smooth = not has_kinks(problem.loss.curve)
        is_response = problem.loss.kind == "response"
        bias = problem.bias_at_zero if is_response or smooth else 0.0  # amid both classes
        w = np.zeros(d + 1)
        w[-1] = bias
        if self.w is not None and smooth:
            w = _inward(problem, self.w, self.bias)
        size = max(float(np.mean(np.abs(problem.t - bias))), 1e-12)
        box: Any = [np.empty((0, n))] * 5 if smooth else _start(problem, size, bias)
        ledger = np.zeros(LEDGER)
        ledger[GAP] = np.inf
        u, slack, zeta, upsilon, residual = box
        best = w.copy(), np.zeros(n)
        return ExactState(w, u, slack, zeta, upsilon, residual, *best, ledger, size)

    def advance(
        self, problem: LinearProblem, state: ExactState, backend: Backend, budget: int
    ) -> ExactState:
        n, p0 = problem.n_rows, problem.primal_at_zero
        curve: Any = problem.loss.curve
        steps = max(1, budget // n)
        bend = curve.largest_bend if not has_kinks(curve) else 0.0
        limits = Limits(steps, self.tol * p0, p0, state.size, bend)
        best = Best(state.best_w, state.best_alpha, state.ledger)
        rows = _small(problem)
        room = backend.exact_room(len(rows.columns), n, len(state.u))
        with _by_numpy() if backend.name == "reference" else nullcontext():
            if not has_kinks(curve):
                backend.exact_newton(rows, curve, state.w, best, room, limits)
            else:
                box = (state.u, state.slack, state.zeta, state.upsilon, state.residual)
                point = BoxPoint(state.w, *box)
                backend.exact_interior(rows, curve, point, best, room, limits)
        return state

    def iterate(self, problem: LinearProblem, state: ExactState) -> Iterate:
        w, bias = state.best_w[:-1], float(state.best_w[-1])
        if problem.bias == "penalized":
            w, bias = w[:-1], float(np.sqrt(problem.bias_ratio)) * float(w[-1])
        full, bias = _compact(problem).outward(w.copy(), bias)
        return Iterate(full, bias, state.best_alpha.copy())

    def progress(self, problem: LinearProblem, state: ExactState) -> Progress:
        """No hint before the steps are over: whoever breaks them gets the same model."""
        ended = bool(state.ledger[ENDED])
        gap = float(state.ledger[GAP]) if ended else math.inf
        return Progress(int(state.ledger[STEPS]) * problem.n_rows, gap_hint=gap, exhausted=ended)


@contextmanager
def _by_numpy() -> Iterator[None]:
    """On one core, and paid for (``gapsvm.backends.renting``)."""
    with rented(), one_blas_thread(), np.errstate(all="ignore"):
        yield


def _kernel(problem: LinearProblem) -> tuple[str, str]:
    smooth = not has_kinks(problem.loss.curve)
    return ("exact_newton",) * 2 if smooth else ("exact", "exact_interior")


def _refusal_of_curve(loss: Any) -> str:
    curve = loss.curve
    if not isinstance(curve, FiveNumbers | Logit):
        return f"loss {loss.name!r} is neither of the family of five numbers nor logistic"
    if has_kinks(curve) and not np.isfinite([curve.lo, curve.hi]).all():
        return f"loss {loss.name!r} has neither a finite slope nor smoothing"
    return ""


def _refusal_of_size(problem: LinearProblem) -> str:
    n, d = problem.rows.shape
    if min(n, d) <= _MOST_FEATURES and n * d <= _MOST_VALUES:
        return ""
    return f"X is {n} × {d}, too large for small problems' method; use 'interior'"


def _start(problem: LinearProblem, size: float, bias: float) -> list[Any]:
    """u in the middle of its box, and multipliers of the size of what they have to balance."""
    curve: Any = problem.loss.curve
    upper = np.array([[curve.hi]] if curve.lo == 0 else [[curve.hi], [-curve.lo]])
    e = np.array([[1.0], [-1.0]])[: len(upper)]
    u = 0.5 * upper * np.ones(problem.n_rows)
    residual = curve.eps - e * problem.t + e * (problem.sign * bias)
    zeta = np.full_like(u, size)
    return [u, u.copy(), zeta, zeta.copy(), residual * np.ones(problem.n_rows)]


def _compact(problem: LinearProblem) -> Any:
    return problem.rows.centred if problem.bias == "free" else problem.rows.compact


def _features(problem: LinearProblem) -> Any:
    found = _compact(problem)
    if problem.bias != "penalized":
        return found.features
    return found.with_constant(float(np.sqrt(problem.bias_ratio)))


def _inward(problem: LinearProblem, w: Any, bias: float) -> Any:
    """(w, b) of a solution as these steps have them."""
    if problem.bias == "penalized":
        root = float(np.sqrt(problem.bias_ratio))
        return np.concatenate([_compact(problem).inward(w, 0.0)[0], [bias / root, 0.0]])
    own, bias = _compact(problem).inward(w, bias if problem.bias == "free" else 0.0)
    return np.append(own, bias)


def _small(problem: LinearProblem) -> SmallRows:
    n = problem.n_rows
    sign, t, weight = (
        one.copy() if one.size == n else np.full(n, one[0])  # writeable: one type to compile for
        for one in (problem.sign, problem.t, problem.weight)
    )
    total = problem.total_weight
    free = problem.bias == "free"
    return SmallRows(_features(problem), sign, t, weight, problem.lam * total, total, free)
