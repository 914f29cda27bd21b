"""The mean loss of a multiclass problem as a risk with an oracle.

    R(W) = (1/S) Σ s_i φ(z_i, y_i)           A_i = a*(z_i)
    R(V) ≥ ⟨G, V⟩ + (1/S) Σ s_i [⟨A_i, δ_{y_i}⟩ + τ·H(A_i)]     G = (1/S) Σ s_i x_i (A_i − e_{y_i})ᵀ

holds for every A of distributions, with equality at W: A is the dual point behind a cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.multiclass import MulticlassIterate, MulticlassProblem
from gapsvm.problems.risk import Answer, Cut, combined

_PARTS, _PART_VALUES = 8, 2_000_000


class MulticlassRisk:
    """R of a ``MulticlassProblem``; weights are W with those of the constant feature below it."""

    floor = 0.0

    def __init__(self, problem: MulticlassProblem) -> None:
        self.problem = problem
        self.shape = problem.n_features + 1, problem.n_classes
        self.size = self.shape[0] * self.shape[1]

    @property
    def parts(self) -> list[slice]:
        """All rows in parts for threads, the same ones however many threads there are."""
        rows, work = self.problem.rows, self.problem.n_classes * self.problem.rows.n_stored
        values = max(_PART_VALUES, 3 * self.size)
        return rows.slices(max(1, min(_PARTS, work // values, self.problem.n_rows)))

    def floor_cut(self) -> Cut:
        return Cut(np.zeros(self.size), self.floor, self._packed(self._right()))

    def ask(self, w: Any, backend: Backend) -> Answer:
        problem = self.problem
        W = w.reshape(self.shape)

        def part(rows: slice) -> tuple[float, Any]:
            y, weight = problem.y[rows], problem.weight[rows]
            scores = np.empty((y.size, problem.n_classes))
            view = problem.rows.part(rows.start, rows.stop)
            backend.multiclass_scores(view, W, problem.bias_scale, scores)
            value = float(np.sum(weight * problem.curve.value(scores, y)))
            return value, self._packed(problem.curve.maximiser(scores, y))

        values, witnesses = zip(*backend.map(part, self.parts))
        cut = self._cut(np.concatenate(witnesses), backend)
        return Answer(sum(values) / problem.total_weight, cut)

    def merged(self, cuts: Sequence[Cut], shares: Any) -> Cut:
        found, total = combined(cuts, shares), np.zeros((self.problem.n_rows, self.shape[1]))
        for cut, share in zip(cuts, shares):
            total += share * self._dense(cut.witness)
        return Cut(found.slope, found.offset, total)

    def iterate(self, w: Any, bias: float, cut: Cut | None) -> MulticlassIterate:
        W = w.reshape(self.shape)
        A = self._right() if cut is None else self._dense(cut.witness)
        return MulticlassIterate(W[:-1].copy(), self.problem.bias_scale * W[-1], A)

    def start(self, iterate: MulticlassIterate, backend: Backend) -> Any:
        if iterate.W is None:
            known = self.known(iterate, backend)
            return np.zeros(self.size) if known is None else -known.slope / self.problem.lam
        scale = self.problem.bias_scale
        last = np.divide(iterate.bias, scale) if scale else np.zeros(self.shape[1])
        return np.vstack([iterate.W, last]).ravel()

    def known(self, iterate: MulticlassIterate, backend: Backend) -> Cut | None:
        if iterate.A is None or np.any(iterate.A < 0):
            return None
        return self._cut(iterate.A, backend)

    def _cut(self, witness: Any, backend: Backend) -> Cut:
        """What A proves, from its packed form, so that both say the same."""
        problem = self.problem
        A = self._dense(witness)

        def part(rows: slice) -> tuple[float, Any]:
            of_part, y, weight = A[rows], problem.y[rows], problem.weight[rows]
            coef = of_part.copy()
            coef[np.arange(y.size), y] -= 1.0
            coef *= weight[:, None]
            slope = np.zeros(self.shape)
            view = problem.rows.part(rows.start, rows.stop)
            backend.multiclass_combination(view, coef, problem.bias_scale, slope)
            return float(np.sum(weight * problem.curve.conjugate(of_part, y))), slope

        conjugates, slopes = zip(*backend.map(part, self.parts))
        slope = sum(slopes[1:], slopes[0]).ravel() / problem.total_weight
        return Cut(slope, -sum(conjugates) / problem.total_weight, witness)

    def _right(self) -> Any:
        """All of every row on its own class."""
        return np.eye(self.problem.n_classes)[self.problem.y]

    def _packed(self, A: Any) -> Any:
        """One class a row for the hinge, four bytes a class for the log-loss."""
        if self.problem.curve.temperature == 0:
            return A.argmax(axis=1).astype(np.int32)
        return A.astype(np.float32)

    def _dense(self, witness: Any) -> Any:
        if witness.ndim == 1:
            return np.eye(self.problem.n_classes)[witness]
        A = witness.astype(np.float64)
        return A / A.sum(axis=1, keepdims=True)
