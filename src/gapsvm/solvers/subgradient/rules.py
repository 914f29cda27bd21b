"""Step rules of the subgradient methods: η_t and κ_t of w ← Π[(1 − η_t(λ + κ_t))w + η_t v_t].

v_t is the batch mean of a*(z_i)x̃_i.  With constant G and R the sequences do not depend on the data,
so a rule computes them for a chunk of steps at once and one kernel serves all.  A new rule is a
class with ``rates`` and a line in ``RULES``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from gapsvm.backends import Backend
from gapsvm.theory import do_theorem2_tau


class Scale(NamedTuple):
    """What a rule may know of a problem."""

    lam: float
    G: float
    """A bound on ‖∇f_t(w)‖ over the ball: max‖x_i‖·(largest slope) + λR."""
    R: float
    """The radius of the ball that holds the iterates."""
    horizon: int
    """Steps of the whole run, as far as that is known beforehand."""


class Rates(NamedTuple):
    """η_t and κ_t of a chunk, and λ_{1:t} + τ_{1:t} at its end, to go on from."""

    eta: Any
    kappa: Any
    """Often 0.0 at every step."""
    curvature: float


def damped(rates: Rates, stiffness: float) -> Rates:
    """The same with 1/η_t + L in the place of 1/η_t; L bounds the curvature of any row's loss.

    For losses whose slope has no bound, without a ball to bound it: a step then moves w by
    (1 − η(λ + x̃x̃ᵀ·s/γ)), of which no eigenvalue is outside [0, 1] from the first step on, and the
    means over batches neither, so that no sequence of rows makes the iterates grow without end.
    """
    return rates._replace(eta=rates.eta / (1.0 + stiffness * rates.eta))


class StepRule(Protocol):
    """A frozen dataclass of parameters."""

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        """The rates of steps first + 1, …, first + steps."""


def check_curvature(lam: float, rule: str) -> None:
    """For the rules whose step is a share of 1/λ."""
    if lam == 0:
        raise ValueError(
            f"rule {rule!r} divides by lam, which is 0; choose one of {', '.join(WITHOUT_LAM)}"
        )


def _times(first: int, steps: int) -> Any:
    return np.arange(first + 1, first + steps + 1, dtype=np.float64)


@dataclass(frozen=True)
class PegasosRule:
    """η_t = 1/(λt): Pegasos, and Do's Algorithm 1."""

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        check_curvature(scale.lam, "pegasos")
        return Rates(1.0 / (scale.lam * _times(first, steps)), 0.0, 0.0)


@dataclass(frozen=True)
class NormaRule:
    """η_t = p/(λ√t) (Pegasos §7.6).

    p : float, optional
        By default the one that minimises Norma's bound, ½√(2 + ½T^(−1/2)).
    """

    p: float | None = None

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        check_curvature(scale.lam, "norma")
        p = self.p if self.p is not None else 0.5 * math.sqrt(2.0 + 0.5 / math.sqrt(scale.horizon))
        return Rates(p / (scale.lam * np.sqrt(_times(first, steps))), 0.0, 0.0)


@dataclass(frozen=True)
class ConstantRule:
    """η_t = η (Zhang 2004).

    eta : float, optional
        By default R/(G√T), which balances the two terms of the bound for T steps.
    """

    eta: float | None = None

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        eta = self.eta if self.eta is not None else scale.R / (scale.G * math.sqrt(scale.horizon))
        largest = 1.0 / scale.lam if scale.lam else math.inf
        return Rates(np.full(steps, min(eta, largest)), 0.0, 0.0)


@dataclass(frozen=True)
class ProximalRule:
    """η_t = 1/(λ_{1:t} + τ_{1:t}), τ_t by balancing (Do's Algorithm 2, Strategy 1)."""

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        total = np.empty(steps)
        ratio = scale.G / scale.R
        backend.balance(scale.lam, ratio * ratio, curvature, total)
        return Rates(1.0 / total, 0.0, float(total[-1]))


@dataclass(frozen=True)
class BoundRule:
    """η_t = 1/(λt + τ), one τ, which minimises Theorem 2's bound (Do's Strategy 2)."""

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        if math.isinf(scale.G):
            raise ValueError(
                "rule 'bound' needs a bound on the subgradients, which overflows here; rescale X"
            )
        tau = do_theorem2_tau(scale.horizon, lam=scale.lam, G=scale.G, R=scale.R)
        total = scale.lam * _times(first, steps) + tau
        return Rates(1.0 / total, 0.0, float(total[-1]))


@dataclass(frozen=True)
class AdaptiveRule:
    """Bartlett's Adaptive: the step is on ∇f_t(w) + τ_t w, η_t = 1/(λ_{1:t} + τ_{1:t})."""

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        total = np.empty(steps)
        ratio = scale.G / scale.R
        backend.balance(scale.lam, 8.0 / 3.0 * ratio * ratio, curvature, total)
        return Rates(1.0 / total, np.diff(total, prepend=curvature) - scale.lam, float(total[-1]))


RULES: dict[str, type] = {
    "pegasos": PegasosRule,
    "norma": NormaRule,
    "sgd": ConstantRule,
    "adaptive": AdaptiveRule,
    "proximal": ProximalRule,
    "bound": BoundRule,
}
"""Every rule by the name of its method; "optimistic" is ``proximal`` with a guessed R."""
WITHOUT_LAM = ("proximal", "bound", "adaptive", "sgd")
"""Those that work with λ = 0, in a ball."""
