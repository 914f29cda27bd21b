"""Conditional random fields on chains: the log-loss of labellings, a smooth problem.

    P(w) = (1/S) Σ s_i [log Σ_y e^{⟨w, φ_i(y)⟩} − ⟨w, φ_i(y_i)⟩] + (λ/2)‖w‖²
    D(μ) = (1/S) Σ s_i H(μ_i) − (λ/2)‖w(μ)‖²     w(μ) = (1/(λS)) Σ s_i (φ_i(y_i) − E_{μ_i} φ_i)

μ_i is a distribution over the labellings of chain i, H its entropy.  With the distributions that w
itself makes, w(μ) = w − ∇P(w)/λ and P(w) − D(μ) = ‖∇P(w)‖²/(2λ): a gradient is a certificate.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.problems.certificate import Certificate
from gapsvm.problems.limits import ULPS, check_curvature
from gapsvm.problems.structured.base import checked_example_weights, checked_lam
from gapsvm.problems.structured.chain import LabelledChains
from gapsvm.registry.storable import storable
from gapsvm.rows.chains import combination


@storable
@dataclass(frozen=True)
class SmoothIterate:
    """A primal point, and a lower bound that earlier gradients prove, if there is one."""

    w: Any
    lower: float = -math.inf

    @property
    def primal_part(self) -> SmoothIterate:
        """All of it: no dual point is kept."""
        return self


class ChainLikelihood(LabelledChains):
    """A conditional random field on chains.

    Parameters
    ----------
    X, starts, y, n_labels, allowed, paired, backend : as for ``ChainProblem``
    lam : float
        λ > 0.
    sample_weight : array, optional
        s_i ≥ 0 for each chain, with a positive sum; 1 by default.
    """

    default_method = "lbfgs"

    def __init__(
        self,
        X: Any,
        starts: Any,
        y: Any,
        n_labels: int,
        lam: float,
        *,
        sample_weight: Any = None,
        allowed: Any = None,
        paired: bool = False,
        backend: str | Backend = "cpu",
    ) -> None:
        super().__init__(X, starts, y, n_labels, allowed=allowed, paired=paired, backend=backend)
        self.n_rows = len(self.chains)
        self.shape = self.weights.shape
        self.weight = checked_example_weights(sample_weight, self.n_rows)
        self.total_weight = float(self.weight.sum())
        self.lam = checked_lam(lam, self.total_weight)
        largest = float(np.max(self.rows.sq_norms, initial=0.0)) + 1.0
        longest, heaviest = self.chains.longest, float(np.max(self.weight, initial=0.0))
        check_curvature(self.lam, largest * longest**2, heaviest, self.total_weight or 1.0)

    @property
    def slice_rows(self) -> int:
        return max(1, self.n_rows)

    @property
    def mean_weight(self) -> Any:
        """s_i/S."""
        return self.weight / (self.total_weight or 1.0)

    @cached_property
    def primal_at_zero(self) -> float:
        """P₀: the mean logarithm of the number of labellings."""
        if self.weights.bars is None:
            return float(self.mean_weight @ self.chains.lengths) * math.log(self.n_labels)
        return self.value_and_gradient(np.zeros(self.shape), get_backend("cpu"))[0]

    def at_zero(self) -> Certificate:
        """The zero model: P₀, and D = 0 at the truth."""
        return Certificate(self.primal_at_zero, 0.0, SmoothIterate(np.zeros(self.shape), 0.0))

    @staticmethod
    def joined(primal: Certificate, dual: Certificate) -> Certificate:
        """w of one and the lower bound of the other."""
        point = SmoothIterate(primal.solution.w, dual.dual)
        return Certificate(primal.primal, dual.dual, point)

    def value_and_gradient(self, w: Any, backend: Backend) -> tuple[float, Any]:
        """P(w) and ∇P(w)."""
        with np.errstate(over="ignore", invalid="ignore"):
            w = np.reshape(w, self.shape)
            found = self.scores(w, backend).marginals(self.y, self.mean_weight)
            gradient = self.lam * w
            d = self.weights.n_features
            gradient[:d] += combination(self.rows, found.labels, backend, self.columns)
            self.weights.transitions(gradient)[:] += found.steps
            if found.pairs is not None:
                self.weights.pairs(gradient)[:] += found.pairs
            value = float(self.mean_weight @ found.log_z) + 0.5 * self.lam * float(np.vdot(w, w))
        return (value if not math.isnan(value) else math.inf), gradient

    def certify(self, iterate: SmoothIterate, backend: Backend) -> Certificate:
        """P(w), and D at the marginals of w or what is proved already, if that is higher."""
        w = np.reshape(iterate.w, self.shape)
        primal, gradient = self.value_and_gradient(w, backend)
        dual = -math.inf
        if math.isfinite(primal):
            dual = max(self.lower_bound(w, primal, gradient), iterate.lower)
        return Certificate(primal, dual, SmoothIterate(w, dual))

    def lower_bound(self, w: Any, value: float, gradient: Any) -> float:
        """D at the marginals of w, from P(w) and ∇P(w), less what rounding may have added."""
        move = float(np.linalg.norm(gradient)) / self.lam
        bound = value - 0.5 * self.lam * move * move
        bound -= self.rounding(w, value, gradient, move)
        return -math.inf if math.isnan(bound) else bound

    def rounding(self, w: Any, value: float, gradient: Any, distance: float) -> float:
        """By how much P(w) + ⟨∇P(w), v − w⟩ may be too high, v so far from w.

        P is a difference of numbers as large as scores, and a marginal errs by as many units of its
        last place as the scores it is the exponential of have: where w is long, as it may be far
        from the optimum, that is more than all of D.
        """
        length, slope = float(np.linalg.norm(w)), float(np.linalg.norm(gradient))
        typical, longest = (
            float(self.mean_weight @ self._reach),
            float(np.max(self._reach, initial=0)),
        )
        sizes = abs(value) + self.lam * length * length + slope * distance + length * typical
        ulps = length * longest + self.chains.longest + self.weights.n_labels
        return ULPS * (sizes + distance * typical * ulps)

    @cached_property
    def _reach(self) -> Any:
        """Of each chain: no labelling scores more than ‖w‖ times this."""
        norms = np.sqrt(self.rows.sq_norms) * (2.0 if self.weights.paired else 1.0) + 1.0
        return np.add.reduceat(norms, self.chains.firsts)

    def fingerprint(self) -> dict[str, Any]:
        return {
            **super().fingerprint(),
            "loss": "log",
            "lam": self.lam,
            "sample weights": hashlib.sha256(self.weight.data).hexdigest(),
        }
