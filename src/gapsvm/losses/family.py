"""Losses that are five numbers each.

For every loss of the family the conjugate is, with t = 1 (margin losses) or t = y_i (response
losses),

    φ*(−a) = −t·a + ε|a| + (γ/2)a²     on a ∈ [lo, hi],

so its value, its subgradient and the exact dual step follow from (t, ε, γ, lo, hi) alone:

    a*(z) = clip(soft(t − z, ε)/γ, lo, hi)       the maximiser; γ = 0: a bound, or 0 at the kink
    φ(z)  = (t − z)a* − ε|a*| − (γ/2)a*²         and −a*(z) is a subgradient
    a⁺    = clip(soft(t − z + q·a, ε)/(γ + q), lo, hi)
                                                 maximises −φ*(−a⁺) − z(a⁺ − a) − (q/2)(a⁺ − a)²

A new loss of the family is one line below; tables of tests, the command line and docs pick it up.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from gapsvm.losses.base import Loss
from gapsvm.types.curves import FiveNumbers


def margin_loss(name: str, eps: float, curvature: float, lo: float, hi: float) -> Loss:
    """A loss of z = y⟨x, w⟩, t = 1: classification."""
    return Loss(name, "margin", FiveNumbers(*map(float, (eps, curvature, lo, hi))))


def response_loss(name: str, eps: float, curvature: float, lo: float, hi: float) -> Loss:
    """A loss of z = ⟨x, w⟩, t = y: regression."""
    return Loss(name, "response", FiveNumbers(*map(float, (eps, curvature, lo, hi))))


def _smoothed_hinge(smoothing: float = 0.5) -> Loss:
    return margin_loss("smoothed_hinge", 0, smoothing, 0, 1)


def _epsilon_insensitive(epsilon: float = 0.1) -> Loss:
    return response_loss("epsilon_insensitive", epsilon, 0, -1, 1)


def _squared_epsilon_insensitive(epsilon: float = 0.1) -> Loss:
    return response_loss("squared_epsilon_insensitive", epsilon, 0.5, -inf, inf)


def _huber(delta: float = 1.0) -> Loss:
    return response_loss("huber", 0, 1, -delta, delta)


FAMILY: dict[str, tuple[Callable[..., Loss], str]] = {
    # name: what makes it of ε, γ, lo, hi, and what it is
    "hinge": (lambda: margin_loss("hinge", 0, 0, 0, 1), "max(0, 1 − z)"),
    "smoothed_hinge": (_smoothed_hinge, "the hinge, quadratic over a width of smoothing"),
    "squared_hinge": (lambda: margin_loss("squared_hinge", 0, 0.5, 0, inf), "max(0, 1 − z)²"),
    "epsilon_insensitive": (_epsilon_insensitive, "max(0, |y − z| − epsilon)"),
    "squared_epsilon_insensitive": (
        _squared_epsilon_insensitive,
        "max(0, |y − z| − epsilon)²",
    ),
    "absolute": (lambda: response_loss("absolute", 0, 0, -1, 1), "|y − z|"),
    "huber": (_huber, "(y − z)²/2, and straight where |y − z| > delta"),
    "half_squared": (lambda: response_loss("half_squared", 0, 1, -inf, inf), "(y − z)²/2"),
}
"""Every loss of the family; the parameters of what makes it are the loss's own."""
