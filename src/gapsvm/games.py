"""Convex repeated games (Do §2 and §3): Algorithms 1 and 2, and the regret beside its bound.

In round t the player chooses w_t in the ball ‖w‖ ≤ R, then f_t(w) = (λ_t/2)‖w‖² + ℓ_t(w) is shown
and costs f_t(w_t).  λ_t ≥ 0 and G_t ≥ ‖∇f_t(w_t)‖ may change from round to round.  The regret is

    Σ f_t(w_t) − min_u Σ f_t(u)     over u in the ball.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from gapsvm.losses.registry import get_loss
from gapsvm.problems.linear import LinearProblem
from gapsvm.solvers.loop import solve
from gapsvm.solvers.subgradient.solver import Subgradient
from gapsvm.theory import (
    Proximal,
    balanced_tau,
    bartlett_regret,
    bartlett_tau,
    do_corollary1_regret,
    do_lemma1_regret,
    do_proposition1_tau,
    do_theorem1_regret,
)

Strategy = Literal["subgradient", "proximal", "bound", "adaptive"]


class Game(Protocol):
    """Rounds t = 0, …, T − 1 over the ball of radius R."""

    @property
    def R(self) -> float:
        """The radius."""

    @property
    def lam(self) -> Any:
        """λ_t, an array of length T."""

    @property
    def G(self) -> Any:
        """G_t, an array of length T, known before the game."""

    @property
    def n_features(self) -> int:
        """The length of w."""

    def loss(self, t: int, w: Any) -> float:
        """ℓ_t(w)."""

    def subgradient(self, t: int, w: Any) -> Any:
        """Of ℓ_t at w."""

    def least(self, rounds: int) -> float:
        """The smallest total of the first rounds for one u, or a lower bound on it."""


@dataclass(frozen=True)
class LinearGame:
    """f_t(w) = (λ_t/2)‖w‖² + ⟨g_t, w⟩: the best u is known exactly."""

    g: Any
    lam: Any
    R: float

    @property
    def G(self) -> Any:
        return np.linalg.norm(self.g, axis=1) + self.lam * self.R

    @property
    def n_features(self) -> int:
        return int(self.g.shape[1])

    def loss(self, t: int, w: Any) -> float:
        return float(self.g[t] @ w)

    def subgradient(self, t: int, w: Any) -> Any:
        return self.g[t]

    def least(self, rounds: int) -> float:
        """−max_{r ≤ R} r‖g_{1:t}‖ − (λ_{1:t}/2)r²."""
        length, lam = float(np.linalg.norm(self.g[:rounds].sum(axis=0))), self.lam[:rounds].sum()
        r = min(self.R, length / lam) if lam > 0 else self.R
        return float(0.5 * lam * r * r - r * length)


@dataclass(frozen=True)
class HingeGame:
    """f_t(w) = (λ_t/2)‖w‖² + max(0, 1 − y_t⟨x_t, w⟩), dense rows.

    The best u is found by a ``LinearProblem`` with a radius.  Its certified lower bound stands for
    the minimum, so the regret is never reported smaller than it is; ``gap`` is what the solver aims
    at, for each round.
    """

    X: Any
    y: Any
    lam: Any
    R: float
    gap: float = 1e-2

    @property
    def G(self) -> Any:
        return np.linalg.norm(self.X, axis=1) + self.lam * self.R

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def loss(self, t: int, w: Any) -> float:
        return max(0.0, 1.0 - float(self.y[t] * (self.X[t] @ w)))

    def subgradient(self, t: int, w: Any) -> Any:
        return -self.y[t] * self.X[t] * (self.y[t] * (self.X[t] @ w) < 1.0)

    def least(self, rounds: int) -> float:
        lam = float(np.mean(self.lam[:rounds]))
        rows, labels = self.X[:rounds], self.y[:rounds]
        problem = LinearProblem(rows, labels, get_loss("hinge"), lam, radius=self.R)
        solver = Subgradient(projection=True, average="tail", step_rule="proximal")
        return rounds * solve(problem, solver, gap=self.gap).certificate.dual


class Played(NamedTuple):
    """A game that was played.  ``regret`` and ``bound`` are of the first ``rounds`` rounds."""

    w: Any
    """w_1, …, w_{T+1}, a row each."""
    tau: Any
    """τ_t."""
    rounds: Any
    regret: Any
    bound: Any
    """What the theorem says for the rounds so far."""


def play(
    game: Game, strategy: Strategy = "proximal", rounds: Sequence[int] | None = None
) -> Played:
    """Play all rounds and say how large the regret is beside what was promised.

    Parameters
    ----------
    strategy : "subgradient", "proximal", "bound" or "adaptive"
        Algorithm 1 (bound: Lemma 1; it needs λ_1 > 0); Algorithm 2, τ_t by balancing (Theorem 1);
        one τ_1 that minimises R_T, known only in hindsight (Proposition 1, Corollary 1); Bartlett's
        Adaptive (footnote 3).
    rounds : sequence of int, optional
        The t for which the regret is worked out; all by default.
    """
    lam, G = np.asarray(game.lam, dtype=np.float64), np.asarray(game.G, dtype=np.float64)
    T = len(lam)
    tau, curvature = proximal_terms(strategy, lam, G, game.R)
    w, suffered = np.zeros((T + 1, game.n_features)), np.zeros(T)
    for t in range(T):
        point = w[t]
        suffered[t] = 0.5 * lam[t] * (point @ point) + game.loss(t, point)
        step = lam[t] * point + game.subgradient(t, point)
        if strategy == "adaptive":
            step = step + tau[t] * point
        moved = point - step / curvature[t]
        w[t + 1] = moved * min(1.0, game.R / max(float(np.linalg.norm(moved)), 1e-300))
    asked = np.arange(1, T + 1) if rounds is None else np.asarray(rounds, dtype=int)
    paid, promise = np.cumsum(suffered), _PROMISES[strategy]
    regret = np.array([paid[t - 1] - game.least(int(t)) for t in asked])
    bound = np.array([promise(tau[:t], lam[:t], G[:t], game.R) for t in asked])
    return Played(w, tau, asked, regret, bound)


def proximal_terms(strategy: Strategy, lam: Any, G: Any, R: float) -> Proximal:
    """τ_t and 1/η_t of a strategy for given λ_t and G_t."""
    if strategy == "proximal":
        return balanced_tau(lam, G, R)
    if strategy == "adaptive":
        return bartlett_tau(lam, G, R)
    if strategy not in _PROMISES:
        raise ValueError(f"unknown strategy {strategy!r}; choose one of {', '.join(_PROMISES)}")
    tau = np.zeros(len(lam))
    if strategy == "bound":
        tau[0] = do_proposition1_tau(lam, G, R)
    elif not lam[0] > 0:
        raise ValueError("Algorithm 1 divides by lam_{1:t}: the first lam must be positive")
    return Proximal(tau, np.cumsum(lam + tau))


_PROMISES: dict[str, Callable[[Any, Any, Any, float], float]] = {
    "subgradient": lambda tau, lam, G, R: do_lemma1_regret(lam, G),
    "proximal": lambda tau, lam, G, R: do_theorem1_regret(lam, G, R),
    "bound": do_corollary1_regret,
    "adaptive": lambda tau, lam, G, R: bartlett_regret(lam, G, R),
}
