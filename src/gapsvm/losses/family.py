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
from typing import Literal

import numpy as np

from gapsvm.types.curves import FiveNumbers, Logit


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
