"""What problems over rows with a loss each have in common: signs, targets, weights and the bias.

z_i = σ_i(m_i + b) is what the loss looks at, m_i the margin of row i, b the bias.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from gapsvm.losses.base import Loss
from gapsvm.losses.best_bias import Part, best_bias, loss_sum
from gapsvm.types.curves import FiveNumbers

ONE = np.ones(1)
"""In place of an array of ones."""


class RowLosses:
    """Σ s_i φ(σ_i(m_i + b)) over rows; what a problem sets is declared here."""

    y: Any
    lam: float
    loss: Loss
    weight: Any
    """s_i, or ``ONE``."""
    total_weight: float
    bias: Any
    """"free" where a bias is not penalised."""
    radius: float = math.inf
    """Of the ball that the problem is confined to."""
    bias_ratio: float = 0.0
    """ρ of a penalised bias, which counts as a feature of the value √ρ."""

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @property
    def sq_norms(self) -> Any:
        """‖x_i‖², of a kernel K(x_i, x_i)."""
        raise NotImplementedError

    @property
    def scale(self) -> float:
        """1/(λS), the factor of c_i = σ_i s_i/(λS)."""
        return 1.0 / (self.lam * self.total_weight)

    @cached_property
    def mean_sq_norm(self) -> float:
        return float(np.mean(self.sq_norms))

    @cached_property
    def largest_sq_norm(self) -> float:
        return float(np.max(self.sq_norms, initial=0.0))

    @cached_property
    def mean_abs_target(self) -> float:
        """The mean of |t|: 1 for margin losses."""
        return float(np.mean(np.abs(self.t)))

    def best_multiple(self, alpha: Any, square: float) -> float:
        """The c ∈ [0, 1] that maximises D(c·α), ‖w(α)‖² = ``square``: an α from another λ is too
        long or right.

        1 where D is not a quadratic on the way.
        """
        curve = self.loss.curve
        if not isinstance(curve, FiveNumbers):
            return 1.0
        weight = self.weight / self.total_weight
        linear = float(np.sum(weight * (self.t * alpha - curve.eps * np.abs(alpha))))
        quadratic = self.lam * square + curve.curvature * float(np.sum(weight * alpha**2))
        return min(1.0, max(0.0, linear / quadratic)) if quadratic > 0 else 1.0

    @property
    def sign(self) -> Any:
        """σ_i, one for all rows or one each."""
        return self.y if self.loss.kind == "margin" else ONE

    @property
    def t(self) -> Any:
        """The fifth number of the loss, one for all rows or one each."""
        return ONE if self.loss.kind == "margin" else self.y

    @cached_property
    def bias_at_zero(self) -> float:
        """The best bias for w = 0; 0 where the bias is not free."""
        if self.bias != "free":
            return 0.0
        if self.loss.kind == "response":
            return self.best_bias(np.zeros(self.n_rows), 0.0)
        # At w = 0 the rows of a class are alike: two of them stand for all.
        positive = float(np.sum(self.weight * (self.y > 0)))
        negative = self.total_weight - positive
        known = getattr(self.loss.curve, "bias_between", None)
        found = None if known is None else known(positive, negative)
        if found is not None:
            return float(found)
        mass = np.array([positive, negative])
        two = Part(np.zeros(2), np.array([1.0, -1.0]), ONE, mass)
        return best_bias(self.loss.curve, [two])

    @cached_property
    def primal_at_zero(self) -> float:
        """P₀: the objective at w = 0 and the best bias; tolerances are relative to it."""
        z = self.sign * self.bias_at_zero if self.bias == "free" else np.zeros(1)
        values = self.loss.curve.value(z, self.t)
        if np.size(values) != self.n_rows:
            values = np.broadcast_to(values, (self.n_rows,))
        if self.weight.size == 1:
            return float(values.mean()) if values.size else 0.0
        return float(self.weight @ values / self.total_weight)

    def best_bias(self, margins: Any, guess: float) -> float:
        """The bias that minimises P for given ⟨x_i, w⟩; the middle of the interval if many do."""
        return best_bias(self.loss.curve, [self._part(margins)], guess)

    def loss_sum(self, margins: Any, bias: float) -> float:
        """Σ s_i φ(z_i)."""
        return loss_sum(self.loss.curve, [self._part(margins)], bias)

    def _part(self, margins: Any) -> Part:
        """All rows, in one part."""
        return Part(margins, self.sign, self.t, self.weight)

    def mean_conjugate(self, alpha: Any) -> float:
        """(1/S) Σ s_i φ*(−α_i)."""
        values = self.weight * self.loss.curve.conjugate(alpha, self.t)
        return float(np.sum(values)) / self.total_weight

    def balanced(self, alpha: Any) -> Any:
        """α with Σ c_i α_i = 0: the heavier side is scaled down, which no box forbids."""
        mass = self.sign * self.weight * alpha
        up, down = mass[mass > 0].sum(), -mass[mass < 0].sum()
        if up == down:
            return alpha
        heavier = mass > 0 if up > down else mass < 0
        return np.where(heavier, alpha * (min(up, down) / max(up, down)), alpha)
