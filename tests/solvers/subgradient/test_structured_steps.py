"""Subgradient steps over structured examples: the steps by hand, and honest certificates."""

from __future__ import annotations

import chains
import numpy as np
import own
import pytest

from gapsvm import LBFGS, ChainLikelihood, FrankWolfe, Subgradient, solve
from gapsvm.backends import get_backend
from gapsvm.training.checkpoint import fingerprint, load_checkpoint, save_checkpoint

CPU = get_backend("cpu")
WEIGHT = np.random.default_rng(3).uniform(0.0, 2.0, 12)


def random_field():
    X, starts, y = chains.tiny()
    bars = np.ones((3, 3), dtype=bool)
    bars[0, 0] = (y[:-1] == 0)[1:].any()
    return ChainLikelihood(X, starts, y, 3, 0.1, sample_weight=WEIGHT, allowed=bars)


PROBLEMS = {
    "chains": lambda: chains.problem(0.1),
    "paired chains": lambda: chains.problem(0.1, paired=True, sample_weight=WEIGHT),
    "own": lambda: own.problem(12, 0.1, sample_weight=WEIGHT),
    "random field": lambda: random_field(),
}
STEPS = {
    "pegasos": Subgradient(sampler="permutation"),
    "batches, tail": Subgradient(2, average="tail"),
    "projected mean": Subgradient(1, True, average="uniform"),
    "decaying": Subgradient(3, average="decaying", sampler="multisets"),
    "proximal": Subgradient(1, True, step_rule="proximal"),
    "optimistic": Subgradient(2, step_rule="optimistic(keep_w=true)"),
}

every = pytest.mark.parametrize("kind", PROBLEMS)


def slope_of(p, w):
    """Of the risk."""
    if isinstance(p, ChainLikelihood):
        return p.value_and_gradient(w, CPU)[1] - p.lam * w
    return p.subgradient(w, CPU)[1]


@every
@pytest.mark.parametrize("average", ["uniform", "decaying"])
def test_a_batch_of_all_examples_follows_the_subgradient_of_the_risk(kind, average):
    """Pegasos by hand: w ← (1 − 1/t)w − a/(λt)."""
    p = PROBLEMS[kind]()
    solver = Subgradient(p.n_rows, average=average)
    state = solver.init(p, CPU, np.random.default_rng(0))
    w, mean = np.zeros(p.shape), np.zeros(p.shape)
    for t in range(1, 6):
        mean = mean + (w - mean) / t if average == "uniform" else 0.9 * mean + 0.1 * w
        w = (1 - 1 / t) * w - slope_of(p, w) / (p.lam * t)
        state = solver.advance(p, state, CPU, p.n_rows)
        np.testing.assert_allclose(state.weights.w, w.ravel(), atol=1e-10)
        np.testing.assert_allclose(solver.output(state)[:-1], mean.ravel(), atol=1e-10)
        assert state.weights.length == pytest.approx(np.linalg.norm(w), rel=1e-9)


@every
@pytest.mark.parametrize("name", STEPS)
def test_every_bound_is_honest(kind, name):
    p = PROBLEMS[kind]()
    best = LBFGS() if kind == "random field" else FrankWolfe()
    exact = solve(p, best, gap=1e-6, max_passes=3000).certificate
    found = solve(p, STEPS[name], gap=0.0, max_passes=100, evaluate_every=20)
    assert all(record.dual <= exact.primal + 1e-9 for record in found.trace)
    assert all(record.primal >= exact.dual - 1e-9 for record in found.trace)
    assert found.certificate.primal - exact.primal <= 0.15 * p.primal_at_zero


@pytest.mark.parametrize("kind", ["chains", "paired chains", "own"])
def test_the_dual_point_is_the_mean_over_the_visits(kind):
    """With labellings that grow in number; weight stays 1 where slots run out."""
    p, solver = PROBLEMS[kind](), Subgradient(sampler="permutation")
    state = solver.init(p, CPU, np.random.default_rng(0))
    for _ in range(6):
        state = solver.advance(p, state, CPU, p.n_rows)
    np.testing.assert_array_equal(state.table.share.sum(axis=1), 6.0)
    found = solver.iterate(p, state)
    np.testing.assert_allclose(found.dual.share.sum(axis=1), 1.0)
    assert p.dual_value(found.dual, CPU)[0] > 0


def test_slots_run_out(monkeypatch):
    monkeypatch.setattr("gapsvm.problems.structured.chain._MOST_SLOTS", 2)
    p = chains.problem(0.01, slots=2)
    solver = Subgradient()
    state = solver.init(p, CPU, np.random.default_rng(0))
    state = solver.advance(p, state, CPU, 30 * p.n_rows)
    assert state.table.share.shape[1] == 2
    assert np.isfinite(p.dual_value(solver.iterate(p, state).dual, CPU)[0])


@pytest.mark.parametrize("kind", ["chains", "own", "random field"])
def test_a_checkpoint_goes_on_bit_for_bit(kind, tmp_path):
    p, solver = PROBLEMS[kind](), Subgradient(average="tail")
    straight = solve(p, solver, gap=0, max_passes=9)
    halves = solve(PROBLEMS[kind](), solver, gap=0, max_passes=4.5)
    save_checkpoint(tmp_path / "c", halves.checkpoint, fingerprint(p), solver)
    checkpoint, found = load_checkpoint(tmp_path / "c", fingerprint(p))
    again = solve(PROBLEMS[kind](), found, gap=0, max_passes=9, checkpoint=checkpoint)
    np.testing.assert_array_equal(again.solution.w, straight.solution.w)


@every
def test_longest_pulls_of_chains_are_bounds(kind):
    p = PROBLEMS[kind]()
    if kind == "own":
        assert p.longest_pull > 0
        return
    for i in range(p.n_rows):
        right = chains.features(p, i, p.y[chains.span(p, i)])
        for y in chains.labellings(p, i):
            assert np.linalg.norm(chains.features(p, i, y) - right) <= p.longest_pull + 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop": "bound", "eps": 0.1}, "stop='bound' is for a LinearProblem"),
        ({"bias_step": "batch", "batch_size": 2}, "bias_step is for a free bias"),
        ({"sampler": "streams"}, "try 'permutation'"),
        ({"single": True}, "single is for a LinearProblem"),
    ],
)
def test_what_they_cannot_do_is_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        solve(PROBLEMS["chains"](), Subgradient(**options), gap=0.1)


def test_a_random_field_with_features_of_steps_has_none():
    X, starts, y = chains.tiny()
    p = ChainLikelihood(X, starts, y, 3, 0.1, paired=True)
    with pytest.raises(ValueError, match="no features of transitions"):
        solve(p, Subgradient(), gap=0.1)
