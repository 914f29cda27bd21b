"""Algorithms 1 and 2 of Do with varying λ_t and G_t: regret beside its bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from gapsvm.games import HingeGame, LinearGame, play, proximal_terms
from gapsvm.theory import balanced_tau, do_corollary1_regret, do_theorem1_regret

STRATEGIES = ("subgradient", "proximal", "bound", "adaptive")
T = 100


def curvatures(rng):
    """Mostly 0, some small ones, a burst; the first is positive for Algorithm 1."""
    lam = np.where(rng.random(T) < 0.6, 0.0, rng.exponential(0.5, T))
    lam[T // 2 : T // 2 + 4] += 10.0
    lam[0] = 0.01
    return lam


def linear_game(seed):
    rng = np.random.default_rng(seed)
    bursts = np.where(rng.random(T) < 0.1, 10.0, 1.0)[:, None]
    g = bursts * rng.normal(size=(T, 4)) + rng.normal(size=4)
    return LinearGame(g, curvatures(rng), float(rng.choice([0.3, 1.0, 5.0])))


def hinge_game(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(T, 4)) * np.where(rng.random(T) < 0.1, 4.0, 1.0)[:, None]
    y = np.where(X[:, 0] + rng.normal(size=T) > 0, 1.0, -1.0)
    return HingeGame(X, y, curvatures(rng), float(rng.choice([0.5, 2.0])))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(20))
def test_regret_is_within_its_bound(seed, strategy):
    """In every round of a linear game, and in some of a game of hinges."""
    for game, rounds in ((linear_game(seed), None), (hinge_game(seed), [T // 4, T])):
        played = play(game, strategy, rounds)
        assert np.all(played.regret <= played.bound)
        assert np.all(np.linalg.norm(played.w, axis=1) <= game.R * (1 + 1e-12))
        assert len(played.rounds) == (T if rounds is None else 2)


@pytest.mark.parametrize("seed", range(20))
def test_balancing_is_within_twice_the_best(seed):
    """Lemma 3.1 of Bartlett et al.: against the best τ_1, …, τ_T in hindsight, in every round."""
    game = linear_game(seed)
    lam, G, R = game.lam, game.G, game.R
    tau = balanced_tau(lam, G, R).tau
    for t in (1, 2, T // 2, T // 2 + 4, T):
        spent = do_corollary1_regret(tau[:t], lam[:t], G[:t], R)
        assert 0.5 * do_theorem1_regret(lam[:t], G[:t], R) * (1 - 1e-12) <= spent
        assert spent <= do_theorem1_regret(lam[:t], G[:t], R) * (1 + 1e-12)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_steps_are_the_papers(strategy):
    """Line by line; Adaptive steps on ∇f_t + τ_t w."""
    game = hinge_game(3)
    tau, curvature = proximal_terms(strategy, game.lam, game.G, game.R)
    w = np.zeros(4)
    played = play(game, strategy, [T])
    total = 0.0
    for t in range(T):
        np.testing.assert_allclose(played.w[t], w, rtol=1e-10, atol=1e-12)
        margin = game.y[t] * (game.X[t] @ w)
        total += 0.5 * game.lam[t] * w @ w + max(0.0, 1 - margin)
        step = game.lam[t] * w - (game.y[t] * game.X[t] if margin < 1 else 0)
        assert np.linalg.norm(step) <= game.G[t] * (1 + 1e-12)
        w = w - (step + (tau[t] * w if strategy == "adaptive" else 0)) / curvature[t]
        w = w if np.linalg.norm(w) <= game.R else w * game.R / np.linalg.norm(w)
    assert total - game.least(T) == pytest.approx(played.regret[0])


@pytest.mark.parametrize("lam", [0.0, 0.2, 30.0])
def test_the_best_point_in_hindsight(lam):
    """Exact for linear games, a lower bound close by for hinges."""
    rng = np.random.default_rng(1)
    X, constant = rng.normal(size=(30, 3)), np.full(30, lam)
    y = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    ball = {"type": "ineq", "fun": lambda u: 1.0 - u @ u}
    for game, slack in (
        (LinearGame(X, constant, 1.0), 1e-5),
        (HingeGame(X, y, constant, 1.0, 1e-3), 3e-2),
    ):

        def total(u, game=game):
            return sum(0.5 * lam * u @ u + game.loss(t, u) for t in range(30))

        starts = [minimize(total, 0.1 * rng.normal(size=3), constraints=ball) for _ in range(5)]
        best = min(found.fun for found in starts)
        assert game.least(30) <= best + 1e-5
        assert game.least(30) >= best - slack - 1e-2 * abs(best) * (slack > 1e-2)


def test_what_a_game_refuses():
    game = LinearGame(np.ones((3, 2)), np.array([0.0, 1.0, 1.0]), 1.0)
    with pytest.raises(ValueError, match="the first lam must be positive"):
        play(game, "subgradient")
    with pytest.raises(ValueError, match="unknown strategy 'bold'; choose one of subgradient"):
        play(game, "bold")
    assert play(game, "proximal").tau[0] > 0
