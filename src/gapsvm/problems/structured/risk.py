"""The risks of structured problems: one pass over all examples is a value and a cut."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.limits import ULPS
from gapsvm.problems.risk import Answer, Cut, VectorRisk
from gapsvm.problems.structured.base import StructuredIterate, StructuredProblem
from gapsvm.problems.structured.likelihood import ChainLikelihood, SmoothIterate


class StructuredRisk(VectorRisk):
    """R of a ``StructuredProblem``; weights are w as one vector.

    α = the truth shows that R ≥ 0.  What a bundle proves is handed on as ``lower``: its cuts are
    means over examples, and no labellings of single ones.
    """

    def __init__(self, problem: StructuredProblem[Any]) -> None:
        super().__init__(math.prod(problem.shape), 0.0)
        self.problem = problem

    def ask(self, w: Any, backend: Backend) -> Answer:
        value, slope = self.problem.subgradient(w.reshape(self.problem.shape), backend)
        slope = np.array(slope, dtype=np.float64).ravel()
        rounding = ULPS * (abs(value) + float(np.linalg.norm(slope) * np.linalg.norm(w)))
        return Answer(float(value), Cut(slope, float(value - slope @ w - rounding)))

    def iterate(self, w: Any, bias: float, cut: Cut | None) -> StructuredIterate:
        cut = cut or self.floor_cut()
        lower = cut.offset - float(cut.slope @ cut.slope) / (2.0 * self.problem.lam)
        return StructuredIterate(w.reshape(self.problem.shape).copy(), None, lower)

    def start(self, iterate: StructuredIterate, backend: Backend) -> Any:
        if iterate.w is not None:
            return np.array(iterate.w, dtype=np.float64).ravel()
        known = self.known(iterate, backend)
        return np.zeros(self.size) if known is None else -known.slope / self.problem.lam

    def known(self, iterate: StructuredIterate, backend: Backend) -> Cut | None:
        if iterate.dual is None:
            return None
        dual, w = self.problem.dual_value(iterate.dual, backend)
        if not math.isfinite(dual):
            return None
        w = np.array(w, dtype=np.float64).ravel()
        return Cut(-self.problem.lam * w, dual + 0.5 * self.problem.lam * float(w @ w))


class LikelihoodRisk(VectorRisk):
    """R of a ``ChainLikelihood``, the mean log-loss, which is never below 0."""

    def __init__(self, problem: ChainLikelihood) -> None:
        super().__init__(math.prod(problem.shape), 0.0)
        self.problem = problem

    def ask(self, w: Any, backend: Backend) -> Answer:
        value, gradient = self.problem.value_and_gradient(w, backend)
        lam, square = self.problem.lam, float(w @ w)
        far = math.sqrt(square) + math.sqrt(2.0 * self.problem.primal_at_zero / lam)
        rounding = self.problem.rounding(w, value, gradient, far)
        slope, value = gradient.ravel() - lam * w, value - 0.5 * lam * square
        return Answer(value, Cut(slope, value - float(slope @ w) - rounding))

    def iterate(self, w: Any, bias: float, cut: Cut | None) -> SmoothIterate:
        cut = cut or self.floor_cut()
        lower = cut.offset - float(cut.slope @ cut.slope) / (2.0 * self.problem.lam)
        return SmoothIterate(w.reshape(self.problem.shape).copy(), lower)

    def start(self, iterate: SmoothIterate, backend: Backend) -> Any:
        return np.array(iterate.w, dtype=np.float64).ravel()

    def known(self, iterate: SmoothIterate, backend: Backend) -> None:
        """What an iterate proves is a number, and no cut."""
