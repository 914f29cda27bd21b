"""Conditional random fields: value, gradient and lower bound, against all labellings listed."""

from __future__ import annotations

import math

import chains
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

from gapsvm import LBFGS, ChainLikelihood, LinearProblem, Subgradient, get_loss, solve
from gapsvm.backends import get_backend
from gapsvm.problems.structured.likelihood import SmoothIterate

CPU = get_backend("cpu")


def variant(name, lam=0.1):
    X, starts, y = chains.tiny()
    s = np.random.default_rng(3).uniform(0.0, 2.0, len(starts) - 1)
    return {
        "plain": lambda: ChainLikelihood(X, starts, y, 3, lam),
        "paired": lambda: ChainLikelihood(X, starts, y, 3, lam, paired=True, sample_weight=s),
        "sparse": lambda: ChainLikelihood(sp.csr_matrix(X), starts, y, 3, lam, sample_weight=s),
    }[name]()


every = pytest.mark.parametrize("name", ["plain", "paired", "sparse"])


def dense(p):
    if not p.rows.is_sparse:
        return p
    X = p.rows.to_scipy().toarray()
    return ChainLikelihood(X, p.chains.starts, p.y, 3, p.lam, sample_weight=p.weight)


def distributions(p, w):
    """For each chain: features and probabilities of all labellings, and those of the truth."""
    for i in range(p.n_rows):
        phi = np.array([chains.features(p, i, y).ravel() for y in chains.labellings(p, i)])
        scores = phi @ w.ravel()
        right = chains.features(p, i, p.y[chains.span(p, i)]).ravel()
        yield phi, scores - logsumexp(scores), right, logsumexp(scores)


@every
def test_value_gradient_and_lower_bound(name):
    p = variant(name)
    w = np.random.default_rng(0).normal(size=p.shape)
    value, gradient = p.value_and_gradient(w, CPU)
    P = 0.5 * p.lam * np.vdot(w, w)
    G, entropy, moved = p.lam * w.ravel(), 0.0, 0.0
    for share, (phi, logs, right, log_z) in zip(p.mean_weight, distributions(dense(p), w)):
        P += share * (log_z - right @ w.ravel())
        mean = np.exp(logs) @ phi
        G = G + share * (mean - right)
        entropy += share * -(np.exp(logs) @ logs)
        moved = moved + share * (right - mean) / p.lam
    assert value == pytest.approx(P, rel=1e-12)
    np.testing.assert_allclose(gradient.ravel(), G, atol=1e-12)
    certificate = p.certify(SmoothIterate(w), CPU)
    assert certificate.dual == pytest.approx(entropy - 0.5 * p.lam * moved @ moved, rel=1e-9)
    assert p.primal_at_zero == pytest.approx(p.value_and_gradient(0 * w, CPU)[0])


@every
@pytest.mark.parametrize("size", [1e2, 1e6, 1e9, 1e12, 1e155])
def test_rounding_at_long_weights_proves_nothing(name, size):
    """There D is the difference of numbers a thousand million times as large, or infinite."""
    p = variant(name, 1e-3)
    best = solve(p, LBFGS(), gap=1e-10, max_passes=2000).certificate.primal
    for seed in range(5):
        w = size * np.random.default_rng(seed).normal(size=p.shape)
        assert p.certify(SmoothIterate(w), CPU).dual <= best


def test_a_heavy_sequence_has_an_honest_gap():
    """Steps on its behalf are long, and all of the lower bound there may be rounding."""
    X, starts, y = chains.tiny(10)
    s = np.r_[1e12, np.full(len(starts) - 2, 1e-3)]
    p = ChainLikelihood(X, starts, y, 3, 1.0 / s.sum(), sample_weight=s)
    result = solve(p, Subgradient(), gap=1e-3, max_passes=30)
    assert 0 <= result.gap <= p.primal_at_zero


@every
@pytest.mark.parametrize("memory", [1, 8])
def test_lbfgs_closes_the_gap_and_every_bound_holds(name, memory):
    p = variant(name, 0.01)
    result = solve(p, LBFGS(memory), gap=1e-10, max_passes=2000, evaluate_every=1)
    assert result.converged
    best = result.certificate.primal
    for record in result.trace:
        assert record.dual <= best + 1e-12
        assert record.primal >= best - 1e-9


@pytest.mark.parametrize("threads", [1, 2])
def test_gradients_together_prove_more_than_each(threads):
    p = variant("plain", 0.01)
    optimum = solve(p, LBFGS(), gap=1e-11, max_passes=2000).certificate.dual
    alone, told, ask = -np.inf, [], p.value_and_gradient

    def watched(w, backend):
        nonlocal alone
        value, gradient = ask(w, backend)
        alone = max(alone, p.lower_bound(w, value, gradient))
        told.append(alone)
        return value, gradient

    p.value_and_gradient = watched
    backend = get_backend("cpu", threads)
    solver, state = LBFGS(), LBFGS().init(p, backend, np.random.default_rng(0))
    ahead = []
    for _ in range(20):
        state = solver.advance(p, state, backend, p.n_rows)
        assert told[-1] <= state.lower <= optimum + 1e-11
        proved = state.offset - state.slope @ state.slope / (2 * p.lam)
        assert proved <= state.lower + 1e-10
        ahead.append((optimum - state.lower) / (optimum - told[-1]))
    assert min(ahead) < 0.8
    assert np.mean(ahead) < 0.95


def test_two_labels_and_one_token_are_logistic_regression():
    """With W of two columns ±w/2: λ‖w‖²/4 is half of what the single w pays."""
    X, _, y = chains.tiny(K=2)
    crf = ChainLikelihood(X, np.arange(len(y) + 1), y, 2, 0.1)
    linear = LinearProblem(X, 2.0 * y - 1.0, get_loss("logistic"), 0.05)
    from gapsvm import Newton

    one = solve(crf, LBFGS(), gap=1e-12, max_passes=1000)
    other = solve(linear, Newton(), gap=1e-12)
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-9)


def test_threads_change_nothing():
    p = variant("plain")
    one = solve(p, LBFGS(), gap=0, max_passes=9)
    two = solve(p, LBFGS(), gap=0, max_passes=9, backend=get_backend("cpu", 2))
    np.testing.assert_array_equal(one.solution.w, two.solution.w)


def test_a_checkpoint_goes_on_bit_for_bit():
    p = variant("plain")
    straight = solve(p, LBFGS(), gap=0, max_passes=12)
    half = solve(p, LBFGS(), gap=0, max_passes=5)
    again = solve(p, LBFGS(), gap=0, max_passes=12, checkpoint=half.checkpoint)
    np.testing.assert_array_equal(again.solution.w, straight.solution.w)


def test_a_weak_bound_does_not_say_that_steps_led_away():
    """Early gradients prove less than D = 0 does; the iterate is the best one nonetheless."""
    p = variant("plain", 1e-4)
    result = solve(p, LBFGS(), gap=0, max_passes=3)
    assert result.certificate.primal < p.primal_at_zero
    assert result.certificate.dual == 0.0
    assert result.is_last
    assert "led away" not in result.ending


def test_what_is_not_finite_proves_nothing():
    p = variant("plain")
    certificate = p.certify(SmoothIterate(np.full(p.shape, 1e200)), CPU)
    assert certificate.dual == -math.inf


def test_a_problem_that_is_not_smooth_is_refused():
    with pytest.raises(ValueError, match="smooth problem"):
        solve(chains.problem(), LBFGS(), gap=1.0)
