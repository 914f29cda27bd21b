"""The mean loss of a linear problem as a risk with an oracle.

    R(w) = (1/S) Σ s_i φ(z_i)        a_i = a*(z_i),  −a_i ∈ ∂φ(z_i)
    R(v) ≥ ⟨g, v⟩ − (1/S) Σ s_i φ*(−a_i)     g = −(1/S) Σ s_i σ_i a_i x_i

holds for every a in the box (Fenchel), with equality at w.  So a is the dual point behind a cut,
and a convex combination of cuts is proved by that of their a's.  A penalised bias is one more
weight, b/√ρ.  With a free bias R(w) is the minimum over b; its cut needs Σ s_i σ_i a_i = 0, which
holds at the best b once the rows at a breakpoint of φ take the fraction that they may take.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.problems.risk import Answer, Cut, combined
from gapsvm.registry.storable import storable
from gapsvm.types.curves import FiveNumbers

_ROUNDING = 1e-12
"""Distance from a breakpoint, relative to the numbers it is the difference of, that is none."""
_BALANCED = 1e-9
"""Σ s_i σ_i a_i as a share of Σ s_i|a_i|: what is left after the fractions, for rounding alone."""
_ZERO, _HIGH, _LOW = 0, 1, 2


@storable
@dataclass(frozen=True)
class Pulls:
    """a with hardly any values but 0, hi and lo: one byte a row."""

    codes: Any
    rows: Any
    """Rows with other values, ..."""
    values: Any
    """... and these."""


class LinearRisk:
    """R of a ``LinearProblem``; weights are w, and b/√ρ below it where the bias is penalised."""

    def __init__(self, problem: LinearProblem) -> None:
        self.problem = problem
        self.size = problem.n_features + (problem.bias == "penalized")

    @property
    def floor(self) -> float:
        """R ≥ −(1/S) Σ s_i φ*(0), which is 0 for every loss with minimum 0."""
        problem = self.problem
        least = np.broadcast_to(problem.loss.curve.conjugate(0.0, problem.t), (problem.n_rows,))
        return -float(np.sum(problem.weight * least)) / problem.total_weight

    def floor_cut(self) -> Cut:
        return Cut(np.zeros(self.size), self.floor, self._packed(np.zeros(self.problem.n_rows)))

    def ask(self, w: Any, backend: Backend) -> Answer:
        problem, curve = self.problem, self.problem.loss.curve
        weights, bias = self._split(w)
        margins = np.empty(problem.n_rows)

        def look(rows: slice) -> None:
            view = problem.rows.part(rows.start, rows.stop)
            backend.margins(view, weights, margins[rows])

        backend.map(look, problem.parts)
        if problem.bias == "free":
            bias = problem.best_bias(margins, 0.0)
        pulls = np.empty(problem.n_rows)

        def pull(rows: slice) -> float:
            sign, t, weight = self._of(rows)
            z = sign * (margins[rows] + bias)
            pulls[rows] = curve.maximiser(z, t)
            return -float(np.sum(weight * (z * pulls[rows] + curve.conjugate(pulls[rows], t))))

        value = sum(backend.map(pull, problem.parts)) / problem.total_weight
        if problem.bias == "free":
            pulls = self._balanced(pulls, margins + bias)
        return Answer(value, self._cut(self._packed(pulls), backend), bias)

    def merged(self, cuts: Sequence[Cut], shares: Any) -> Cut:
        found = combined(cuts, shares)
        return Cut(found.slope, found.offset, self._combined([c.witness for c in cuts], shares))

    def iterate(self, w: Any, bias: float, cut: Cut | None) -> Iterate:
        weights, own = self._split(w)
        alpha = np.zeros(self.problem.n_rows) if cut is None else self._dense(cut.witness)
        return Iterate(weights.copy(), own if self.problem.bias == "penalized" else bias, alpha)

    def start(self, iterate: Iterate, backend: Backend) -> Any:
        if iterate.w is None:
            known = self.known(iterate, backend)
            return np.zeros(self.size) if known is None else -known.slope / self.problem.lam
        root = math.sqrt(self.problem.bias_ratio)
        return np.append(iterate.w, [iterate.bias / root] if root else [])

    def known(self, iterate: Iterate, backend: Backend) -> Cut | None:
        curve, alpha = self.problem.loss.curve, iterate.alpha
        if alpha is None or not np.any(alpha):
            return None
        alpha = np.clip(alpha, curve.lo, curve.hi)
        if self.problem.bias == "free":
            alpha = self.problem.balanced(alpha)
        return self._cut(alpha, backend)

    def _split(self, w: Any) -> tuple[Any, float]:
        """Weights and a penalised bias."""
        if self.problem.bias != "penalized":
            return w, 0.0
        return w[:-1], math.sqrt(self.problem.bias_ratio) * float(w[-1])

    def _of(self, rows: slice) -> tuple[Any, Any, Any]:
        """σ, t and s of these rows, each one number for all or one a row."""
        numbers = self.problem.sign, self.problem.t, self.problem.weight
        sign, t, weight = (array[rows] if array.size > 1 else array for array in numbers)
        return sign, t, weight

    def _cut(self, witness: Any, backend: Backend) -> Cut:
        """What a proves, from its packed form, so that both say the same."""
        problem, curve = self.problem, self.problem.loss.curve
        pulls = self._dense(witness)

        def part(rows: slice) -> tuple[float, float, Any]:
            sign, t, weight = self._of(rows)
            a = pulls[rows]
            mass = sign * weight * a
            slope = np.zeros(problem.n_features)
            backend.combination(problem.rows.part(rows.start, rows.stop), mass, slope)
            conjugates = float(np.sum(weight * curve.conjugate(a, t)))
            return conjugates, float(mass.sum()), slope

        conjugates, masses, slopes = zip(*backend.map(part, problem.parts))
        slope = -sum(slopes[1:], slopes[0]) / problem.total_weight
        if problem.bias == "penalized":
            root = math.sqrt(problem.bias_ratio)
            slope = np.append(slope, -root * sum(masses) / problem.total_weight)
        return Cut(slope, -sum(conjugates) / problem.total_weight, witness)

    def _balanced(self, pulls: Any, margins: Any) -> Any:
        """a with Σ s_i σ_i a_i = 0, by the rows at a breakpoint, at the best bias."""
        problem, curve = self.problem, self.problem.loss.curve
        sign, t = problem.sign, problem.t
        if isinstance(curve, FiveNumbers) and curve.curvature == 0.0:
            near = _ROUNDING * (1.0 + np.abs(margins) + np.abs(t) + curve.eps)
            lead = t - sign * margins
            at_top, at_bottom = np.abs(lead - curve.eps) <= near, np.abs(lead + curve.eps) <= near
            lowest = np.where(at_bottom, curve.lo, np.where(at_top, 0.0, pulls))
            highest = np.where(at_top, curve.hi, np.where(at_bottom, 0.0, pulls))
            least, most = np.where(sign > 0, (lowest, highest), (highest, lowest))
            mass = sign * problem.weight
            below, above = float(np.sum(mass * least)), float(np.sum(mass * most))
            share = min(max(-below / (above - below), 0.0), 1.0) if above > below else 0.0
            pulls = np.where(least == most, least, least + share * (most - least))
        missing = abs(float(np.sum(sign * problem.weight * pulls)))
        if missing <= _BALANCED * float(np.sum(problem.weight * np.abs(pulls))):
            return pulls
        return problem.balanced(pulls)

    def _packed(self, pulls: Any) -> Any:
        """A byte a row where a* has three values, four bytes elsewhere."""
        curve = self.problem.loss.curve
        if not (isinstance(curve, FiveNumbers) and curve.curvature == 0.0):
            return pulls.astype(np.float32)
        high, low = pulls == curve.hi, (pulls == curve.lo) & (pulls != 0.0)
        codes = (_HIGH * high + _LOW * low).astype(np.uint8)
        rows = np.flatnonzero((codes == _ZERO) & (pulls != 0.0))
        return Pulls(codes, rows.astype(np.int64), pulls[rows])

    def _dense(self, witness: Any) -> Any:
        curve = self.problem.loss.curve
        if isinstance(witness, Pulls):
            pulls = np.array([0.0, curve.hi, curve.lo])[witness.codes]
            pulls[witness.rows] = witness.values
            return pulls
        pulls = np.clip(witness.astype(np.float64), curve.lo, curve.hi)
        return self.problem.balanced(pulls) if self.problem.bias == "free" else pulls

    def _combined(self, witnesses: Sequence[Any], shares: Any) -> Any:
        total = np.zeros(self.problem.n_rows)
        for witness, share in zip(witnesses, shares):
            total += share * self._dense(witness)
        return total
