"""Step rules of the subgradient methods: η_t and κ_t of w ← Π[(1 − η_t(λ + κ_t))w + η_t v_t].

v_t is the batch mean of a*(z_i)x̃_i.  With constant G and R the sequences do not depend on the data,
so a rule computes them for a chunk of steps at once and one kernel serves all.  A new rule is a
class with ``rates`` and a line in ``STEP_RULES``; one of a user's own is an object, wherever its
class is (``@storable`` above ``@dataclass`` lets checkpoints hold it), or is added with
``STEP_RULES.add``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from gapsvm.backends import Backend
from gapsvm.registry import Registry
from gapsvm.registry.storable import storable
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


@runtime_checkable
class StepRule(Protocol):
    """A frozen dataclass of parameters.

    Two facts about it are asked for where it states them, as class attributes: ``needs_ball`` (its
    theorem is about iterates in a ball) and ``needs_lam`` (its steps are a share of 1/λ).
    """

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        """The rates of steps first + 1, …, first + steps."""


def needs_ball(rule: Any) -> bool:
    """Whether the theorem of a rule, or of what makes one, is about iterates in a ball."""
    return bool(getattr(rule, "needs_ball", False))


def needs_lam(rule: Any) -> bool:
    """Whether the steps of a rule, or of what makes one, are a share of 1/λ: none for λ = 0."""
    return bool(getattr(rule, "needs_lam", False))


def _times(first: int, steps: int) -> Any:
    return np.arange(first + 1, first + steps + 1, dtype=np.float64)


@storable
@dataclass(frozen=True)
class PegasosRule:
    """η_t = 1/(λt): Pegasos, and Do's Algorithm 1."""

    needs_ball: ClassVar[bool] = False
    needs_lam: ClassVar[bool] = True

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        return Rates(1.0 / (scale.lam * _times(first, steps)), 0.0, 0.0)


@storable
@dataclass(frozen=True)
class NormaRule:
    """η_t = p/(λ√t) (Pegasos §7.6).

    p : float, optional
        By default the one that minimises Norma's bound, ½√(2 + ½T^(−1/2)).
    """

    p: float | None = None

    needs_ball: ClassVar[bool] = False
    needs_lam: ClassVar[bool] = True

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        p = self.p if self.p is not None else 0.5 * math.sqrt(2.0 + 0.5 / math.sqrt(scale.horizon))
        return Rates(p / (scale.lam * np.sqrt(_times(first, steps))), 0.0, 0.0)


@storable
@dataclass(frozen=True)
class ZhangRule:
    """η_t = η (Zhang 2004).

    eta : float, optional
        By default R/(G√T), which balances the two terms of the bound for T steps.
    """

    eta: float | None = None

    needs_ball: ClassVar[bool] = False
    needs_lam: ClassVar[bool] = False

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        eta = self.eta if self.eta is not None else scale.R / (scale.G * math.sqrt(scale.horizon))
        largest = 1.0 / scale.lam if scale.lam else math.inf
        return Rates(np.full(steps, min(eta, largest)), 0.0, 0.0)


@storable
@dataclass(frozen=True)
class ProximalRule:
    """η_t = 1/(λ_{1:t} + τ_{1:t}), τ_t by balancing (Do's Algorithm 2, Strategy 1)."""

    needs_ball: ClassVar[bool] = True
    needs_lam: ClassVar[bool] = False

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        total = np.empty(steps)
        ratio = scale.G / scale.R
        backend.balance(scale.lam, ratio * ratio, curvature, total)
        return Rates(1.0 / total, 0.0, float(total[-1]))


@storable
@dataclass(frozen=True)
class BoundRule:
    """η_t = 1/(λt + τ), one τ, which minimises Theorem 2's bound (Do's Strategy 2)."""

    needs_ball: ClassVar[bool] = True
    needs_lam: ClassVar[bool] = False

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


@storable
@dataclass(frozen=True)
class AdaptiveRule:
    """Bartlett's Adaptive: the step is on ∇f_t(w) + τ_t w, η_t = 1/(λ_{1:t} + τ_{1:t})."""

    needs_ball: ClassVar[bool] = True
    needs_lam: ClassVar[bool] = False

    def rates(
        self, scale: Scale, first: int, steps: int, curvature: float, backend: Backend
    ) -> Rates:
        total = np.empty(steps)
        ratio = scale.G / scale.R
        backend.balance(scale.lam, 8.0 / 3.0 * ratio * ratio, curvature, total)
        return Rates(1.0 / total, np.diff(total, prepend=curvature) - scale.lam, float(total[-1]))


@storable
@dataclass(frozen=True)
class OptimisticRule(ProximalRule):
    """Do's Algorithm 3: the steps of ``ProximalRule`` with a guessed R, which grows by √2, and
    starts anew, whenever ‖w‖ comes close to it (``gapsvm.solvers.subgradient.optimistic``).

    Parameters
    ----------
    keep_w : bool
        w stays when R grows, which the bound allows; as printed it starts at zero.
    """

    keep_w: bool = False

    needs_ball: ClassVar[bool] = True
    needs_lam: ClassVar[bool] = True


STEP_RULES: Registry[StepRule] = Registry("step rule")
"""Every rule by name; the parameters of what makes it are the rule's own."""
STEP_RULES.add("pegasos", PegasosRule, "lengths 1/(λt) (Pegasos; Do, Algorithm 1)")
STEP_RULES.add("norma", NormaRule, "lengths p/(λ√t) (Norma)")
STEP_RULES.add("zhang", ZhangRule, "one length for all steps (Zhang)")
STEP_RULES.add(
    "adaptive", AdaptiveRule, "a proximal term in the step, balanced as it goes (Bartlett)"
)
STEP_RULES.add("proximal", ProximalRule, "lengths 1/(λt + Στ), each τ balanced (Do, Algorithm 2)")
STEP_RULES.add("bound", BoundRule, "lengths 1/(λt + τ), the τ of the best bound (Do, Strategy 2)")
STEP_RULES.add(
    "optimistic", OptimisticRule, "proximal with a guessed radius that grows (Do, Algorithm 3)"
)


def get_step_rule(spec: str | StepRule) -> StepRule:
    """The rule that a name, or a spec such as ``zhang(eta=0.1)``, describes; a rule is itself."""
    if isinstance(spec, str):
        return STEP_RULES.make(spec)
    if not isinstance(spec, StepRule):
        raise TypeError(
            f"a step rule is a name or an object with rates(...), not {type(spec).__name__}"
        )
    return spec
