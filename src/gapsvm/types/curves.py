"""Curves φ of losses: what compiled loops are overloaded on, each with its definition in NumPy.

A curve is a NamedTuple of numbers, since that is what a kernel can take; its methods say what the
compiled functions have to return.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


def soft(x: Any, eps: float) -> Any:
    """Soft threshold: x moved towards zero by eps."""
    if eps == 0.0:
        return x
    return np.sign(x) * np.maximum(np.abs(x) - eps, 0.0)


class FiveNumbers(NamedTuple):
    """The curve φ*(−a) = −t·a + ε|a| + (γ/2)a² on [lo, hi]; the fifth number, t, is the row's.

    Kernels take this tuple as it is; z, t, a and q may be numbers or arrays.
    """

    eps: float = 0.0
    curvature: float = 0.0
    lo: float = 0.0
    hi: float = 1.0

    @staticmethod
    def compiled() -> str:
        """The module of the compiled functions."""
        return "gapsvm.backends.numba.five_numbers"

    def needs(self) -> str:
        """What the numbers must be and are not."""
        finite = 0 <= self.eps < np.inf and 0 <= self.curvature < np.inf
        return "" if finite and self.lo <= 0 < self.hi else "eps >= 0, curvature >= 0, lo <= 0 < hi"

    @property
    def largest_slope(self) -> float:
        """A bound on |φ′|; infinite if there is none."""
        return max(self.hi, -self.lo)

    def slope_within(self, reach: float, t: float) -> float:
        """A bound on |φ′(z)| for |z| ≤ reach and targets of at most |t|."""
        steep = self.largest_slope
        return (t + reach) / self.curvature if steep == np.inf else steep

    def maximiser(self, z: Any, t: Any) -> Any:
        """a*(z) = argmax_a −z·a − φ*(−a); minus a subgradient of φ at z."""
        return self._pulled(np.subtract(t, z))

    def _pulled(self, off: Any) -> Any:
        """The maximiser, of t − z."""
        pull = soft(off, self.eps)
        if self.curvature > 0:
            return np.clip(pull / self.curvature, self.lo, self.hi)
        return np.where(pull > 0, self.hi, np.where(pull < 0, self.lo, 0.0))

    def value(self, z: Any, t: Any) -> Any:
        """φ(z); terms whose number is 0 are left out, which small problems feel."""
        off = np.subtract(t, z)
        a = self._pulled(off)
        value = off * a
        if self.eps:
            value = value - self.eps * np.abs(a)
        return value - 0.5 * self.curvature * a * a if self.curvature else value

    def conjugate(self, a: Any, t: Any) -> Any:
        """φ*(−a), infinite outside [lo, hi]."""
        a = np.asarray(a, dtype=np.float64)
        inside = (a >= self.lo) & (a <= self.hi)
        value = -t * a
        if self.eps:
            value = value + self.eps * np.abs(a)
        if self.curvature:
            value = value + 0.5 * self.curvature * a * a
        return np.where(inside, value, np.inf)

    def bias_between(self, up: float, down: float) -> float | None:
        """The b that minimises up·φ(b) + down·φ(−b) at t = 1, the middle one if many do; None where
        it has to be searched for."""
        if self.eps != 0 or self.lo != 0:
            return None
        if self.curvature == 0:
            return 0.0 if abs(up - down) <= 1e-12 * (up + down) else float(np.sign(up - down))
        return (up - down) / (up + down) if self.hi == np.inf else None

    @property
    def largest_bend(self) -> float:
        """A bound of φ″; infinite where φ has a kink."""
        return 1.0 / self.curvature if self.curvature > 0 else np.inf

    def bend(self, z: Any, t: Any) -> Any:
        """φ″(z), one side's where the two differ; 0 at kinks."""
        pull = soft(np.subtract(t, z), self.eps)
        inside = (self.curvature * self.lo < pull) & (pull < self.curvature * self.hi)
        if self.eps > 0:
            inside &= pull != 0
        return np.where(inside, self.largest_bend, 0.0) if self.curvature > 0 else 0.0 * pull

    def dual_step(self, a: Any, z: Any, t: Any, q: Any) -> Any:
        """The a⁺ that maximises −φ*(−a⁺) − z(a⁺ − a) − (q/2)(a⁺ − a)²; q = 0 for a zero row."""
        curvature = np.asarray(self.curvature + q, dtype=np.float64)
        pull = soft(t - z + q * a, self.eps)
        flat = curvature == 0
        step = np.clip(pull / np.where(flat, 1.0, curvature), self.lo, self.hi)
        at_bound = np.where(pull > 0, self.hi, np.where(pull < 0, self.lo, 0.0))
        return np.where(flat, at_bound, step)

    def is_free(self, a: Any) -> Any:
        """Whether a is at no bound and no kink."""
        return (a != 0.0) & (a != self.lo) & (a != self.hi)

    def violation(self, a: Any, z: Any, t: Any) -> Any:
        """How far a is from optimal at z, as a derivative of the dual.

        Positive: by that much a wants to move.  Negative: a is held, at a bound or at the kink of
        ε|a|, with that much slack.
        """
        a = np.asarray(a, dtype=np.float64)
        slope = t - z - self.curvature * a
        right = np.where(a >= 0, slope - self.eps, slope + self.eps)
        left = np.where(a > 0, slope - self.eps, slope + self.eps)
        up = np.where(a < self.hi, right, -np.inf)
        down = np.where(a > self.lo, -left, -np.inf)
        return np.maximum(up, down)


class Logit(NamedTuple):
    """The curve of the logistic loss: φ*(−a) = a·log a + (1 − a)·log(1 − a) on [0, 1]."""

    newton_steps: int = 100

    @staticmethod
    def compiled() -> str:
        """The module of the compiled functions."""
        return "gapsvm.backends.numba.logistic"

    def needs(self) -> str:
        return "" if self.newton_steps > 0 else "newton_steps > 0"

    @property
    def largest_slope(self) -> float:
        return 1.0

    def slope_within(self, reach: float, t: float) -> float:
        return 1.0

    @property
    def lo(self) -> float:
        return 0.0

    @property
    def hi(self) -> float:
        return 1.0

    def maximiser(self, z: Any, t: Any) -> Any:
        return _sigmoid(-np.asarray(z, dtype=np.float64))

    def value(self, z: Any, t: Any) -> Any:
        return np.logaddexp(0.0, -np.asarray(z, dtype=np.float64))

    def conjugate(self, a: Any, t: Any) -> Any:
        a = np.asarray(a, dtype=np.float64)
        inside = (a >= 0) & (a <= 1)
        p = np.where(inside, a, 0.5)
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.where(p > 0, p * np.log(p), 0.0)
            entropy = entropy + np.where(p < 1, (1 - p) * np.log1p(-p), 0.0)
        return np.where(inside, entropy, np.inf)

    def bias_between(self, up: float, down: float) -> float | None:
        """The b that minimises up·φ(b) + down·φ(−b)."""
        return float(np.log(up / down)) if up > 0 and down > 0 else None

    @property
    def largest_bend(self) -> float:
        """A bound of φ″."""
        return 0.25

    def bend(self, z: Any, t: Any) -> Any:
        """φ″(z)."""
        p = self.maximiser(z, t)
        return p * (1.0 - p)

    def dual_step(self, a: Any, z: Any, t: Any, q: Any) -> Any:
        """Solve u + z + q(p − a) = 0 for the logit u of p, by Newton inside a bracket.

        The left side grows in u with slope 1 + q·p(1 − p), and p ∈ [0, 1], so the root lies between
        −z − q(1 − a) and −z + q·a.  A step that would leave the bracket, or is longer than half the
        one before, halves the bracket instead.
        """
        a, z, q = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (a, z, q)))
        low, high = -z - q * (1.0 - a), -z + q * a
        u = 0.5 * (low + high)
        last = high - low
        for _ in range(self.newton_steps):
            p = _sigmoid(u)
            excess = u + z + q * (p - a)
            high = np.where(excess > 0, u, high)
            low = np.where(excess > 0, low, u)
            new = u - excess / (1.0 + q * p * (1.0 - p))
            sound = (low < new) & (new < high) & (np.abs(new - u) < 0.5 * last)
            new = np.where(sound, new, 0.5 * (low + high))
            last = np.abs(new - u)
            if np.all(np.abs(new - u) <= 1e-15 * (1.0 + np.abs(u))):
                break
            u = new
        return _sigmoid(u)

    def is_free(self, a: Any) -> Any:
        return np.ones(np.shape(a), dtype=bool)

    def violation(self, a: Any, z: Any, t: Any) -> Any:
        a = np.asarray(a, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.abs(np.log(a) - np.log1p(-a) + z)


def _sigmoid(u: Any) -> Any:
    e = np.exp(-np.abs(u))
    return np.where(u >= 0, 1.0, e) / (1.0 + e)


SIMPLEX_ROUNDING = 1e-9
"""How far Σ_r a_r may be from 1 before it is taken for a mistake."""


class MulticlassCurve(NamedTuple):
    """φ(z, y) = max_a ⟨a, δ_y + z⟩ + τ·H(a) − z_y over the simplex; kernels take it as it is.

    z holds the scores of a row, or of many rows with their y.
    """

    costs: Any
    """costs[y, r] = δ(r, y): r is said where y is right; 0 on the diagonal."""
    temperature: float
    """τ."""

    def maximiser(self, z: Any, y: Any) -> Any:
        """a*(z); a* − e_y is a subgradient.  τ = 0: the worst class, y where it is one of them."""
        lead = self._lead(z, y)
        top = lead.max(axis=-1, keepdims=True)
        if self.temperature > 0:
            e = np.exp((lead - top) / self.temperature)
            return e / e.sum(axis=-1, keepdims=True)
        worst = np.where(top[..., 0] > 0, lead.argmax(axis=-1), y)
        return np.eye(len(self.costs))[worst]

    def value(self, z: Any, y: Any) -> Any:
        """φ(z, y)."""
        lead = self._lead(z, y)
        top = lead.max(axis=-1)
        if self.temperature == 0:
            return top
        others = np.exp((lead - top[..., None]) / self.temperature)
        np.put_along_axis(others, lead.argmax(axis=-1)[..., None], 0.0, axis=-1)
        return top + self.temperature * np.log1p(others.sum(axis=-1))

    def conjugate(self, a: Any, y: Any) -> Any:
        """−⟨a, δ_y⟩ − τ·H(a), infinite outside the simplex."""
        inside = (a >= 0).all(axis=-1) & (abs(a.sum(axis=-1) - 1.0) <= SIMPLEX_ROUNDING)
        value = -(a * self.costs[y]).sum(axis=-1)
        if self.temperature > 0:
            value += self.temperature * (a * np.log(np.where(a > 0, a, 1.0))).sum(axis=-1)
        return np.where(inside, value, np.inf)

    def _lead(self, z: Any, y: Any) -> Any:
        """δ(r, y) + z_r − z_y: 0 at r = y."""
        right = np.take_along_axis(z, np.expand_dims(y, -1), axis=-1)
        return (z - right) + self.costs[y]
