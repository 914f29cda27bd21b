"""Losses: five numbers each, or logistic.

For every loss of the family the conjugate is, with t = 1 (margin losses) or t = y_i (response
losses),

    φ*(−a) = −t·a + ε|a| + (γ/2)a²     on a ∈ [lo, hi],

so its value, its subgradient and the exact dual step follow from (t, ε, γ, lo, hi) alone:

    a*(z) = clip(soft(t − z, ε)/γ, lo, hi)       the maximiser; γ = 0: a bound, or 0 at the kink
    φ(z)  = (t − z)a* − ε|a*| − (γ/2)a*²         and −a*(z) is a subgradient
    a⁺    = clip(soft(t − z + q·a, ε)/(γ + q), lo, hi)
                                                 maximises −φ*(−a⁺) − z(a⁺ − a) − (q/2)(a⁺ − a)²

A new loss of the family is one line in ``LOSSES``.  The methods here are the definition, in NumPy;
the compiled backend repeats them and is tested against them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np


def soft(x: Any, eps: float) -> Any:
    """Soft threshold: x moved towards zero by eps."""
    return np.sign(x) * np.maximum(np.abs(x) - eps, 0.0)


class FiveNumbers(NamedTuple):
    """The curve φ*(−a) = −t·a + ε|a| + (γ/2)a² on [lo, hi]; the fifth number, t, is the row's.

    Kernels take this tuple as it is; z, t, a and q may be numbers or arrays.
    """

    eps: float = 0.0
    gamma: float = 0.0
    lo: float = 0.0
    hi: float = 1.0

    def maximiser(self, z: Any, t: Any) -> Any:
        """a*(z) = argmax_a −z·a − φ*(−a); minus a subgradient of φ at z."""
        pull = soft(np.subtract(t, z), self.eps)
        if self.gamma > 0:
            return np.clip(pull / self.gamma, self.lo, self.hi)
        return np.where(pull > 0, self.hi, np.where(pull < 0, self.lo, 0.0))

    def value(self, z: Any, t: Any) -> Any:
        """φ(z)."""
        a = self.maximiser(z, t)
        return np.subtract(t, z) * a - self.eps * np.abs(a) - 0.5 * self.gamma * a * a

    def conjugate(self, a: Any, t: Any) -> Any:
        """φ*(−a), infinite outside [lo, hi]."""
        a = np.asarray(a, dtype=np.float64)
        inside = (a >= self.lo) & (a <= self.hi)
        value = -t * a + self.eps * np.abs(a) + 0.5 * self.gamma * a * a
        return np.where(inside, value, np.inf)

    def dual_step(self, a: Any, z: Any, t: Any, q: Any) -> Any:
        """The a⁺ that maximises −φ*(−a⁺) − z(a⁺ − a) − (q/2)(a⁺ − a)²; q = 0 for a zero row."""
        curvature = np.asarray(self.gamma + q, dtype=np.float64)
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
        slope = t - z - self.gamma * a
        right = np.where(a >= 0, slope - self.eps, slope + self.eps)
        left = np.where(a > 0, slope - self.eps, slope + self.eps)
        up = np.where(a < self.hi, right, -np.inf)
        down = np.where(a > self.lo, -left, -np.inf)
        return np.maximum(up, down)


class Logit(NamedTuple):
    """The curve of the logistic loss: φ*(−a) = a·log a + (1 − a)·log(1 − a) on [0, 1]."""

    newton_steps: int = 100

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


@dataclass(frozen=True)
class Loss:
    """A loss: its name, what it looks at, and its curve.

    Parameters
    ----------
    kind : "margin" or "response"
        Margin losses look at z = y⟨x, w⟩ with t = 1; response losses at z = ⟨x, w⟩ with t = y.
    curve : FiveNumbers or Logit
        φ, its subgradient, its conjugate and its dual step.
    """

    name: str
    kind: Literal["margin", "response"]
    curve: FiveNumbers | Logit

    def __post_init__(self) -> None:
        c = self.curve
        if isinstance(c, FiveNumbers) and not (
            0 <= c.eps < np.inf and 0 <= c.gamma < np.inf and c.lo <= 0 < c.hi
        ):
            raise ValueError(f"loss {self.name!r} needs eps >= 0, gamma >= 0, lo <= 0 < hi: {c}")


def _margin(name: str, *numbers: float) -> Loss:
    return Loss(name, "margin", FiveNumbers(*map(float, numbers)))


def _response(name: str, *numbers: float) -> Loss:
    return Loss(name, "response", FiveNumbers(*map(float, numbers)))


_INF = float("inf")

LOSSES: dict[str, Callable[..., Loss]] = {
    # name, then ε, γ, lo, hi
    "hinge": lambda: _margin("hinge", 0, 0, 0, 1),
    "smoothed_hinge": lambda smoothing=0.5: _margin("smoothed_hinge", 0, smoothing, 0, 1),
    "squared_hinge": lambda: _margin("squared_hinge", 0, 0.5, 0, _INF),
    "epsilon_insensitive": lambda epsilon=0.1: _response("epsilon_insensitive", epsilon, 0, -1, 1),
    "squared_epsilon_insensitive": lambda epsilon=0.1: _response(
        "squared_epsilon_insensitive", epsilon, 0.5, -_INF, _INF
    ),
    "absolute": lambda: _response("absolute", 0, 0, -1, 1),
    "huber": lambda delta=1.0: _response("huber", 0, 1, -delta, delta),
    "half_squared": lambda: _response("half_squared", 0, 1, -_INF, _INF),
    "logistic": lambda: Loss("logistic", "margin", Logit()),
}
"""Every loss by name; the keyword is the loss's own parameter, where it has one."""


def get_loss(name: str, **parameters: float) -> Loss:
    """The loss of that name; an unknown one is an error that lists the known ones."""
    if name not in LOSSES:
        raise ValueError(f"unknown loss {name!r}; choose one of {', '.join(LOSSES)}")
    return LOSSES[name](**parameters)
