"""Subgradient steps over queries: the steps by hand, an honest bound, and the bundle's optimum."""

from __future__ import annotations

import numpy as np
import pytest

from gapsvm import Bundle, RankingProblem, Subgradient, solve
from gapsvm.backends import get_backend
from gapsvm.training.checkpoint import fingerprint, load_checkpoint, save_checkpoint

BACKEND = get_backend("reference")
LOSSES = ("pairs", "ndcg")
STEPS = {
    "pegasos": Subgradient(sampler="permutation"),
    "batches, tail": Subgradient(2, average="tail"),
    "projected mean": Subgradient(1, True, average="uniform"),
    "proximal": Subgradient(1, True, step_rule="proximal"),
    "optimistic": Subgradient(2, step_rule="optimistic(keep_w=true)"),
}


def ranking(loss="pairs", lam=0.05, seed=0, **options):
    """Five queries, whose rows are not neighbours, and one that says nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(36, 4))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=36) + 1), 0, 2)
    qid = np.arange(36) % 6
    y[qid == 4] = 1.0
    return RankingProblem(X, y, qid, lam, loss=loss, backend=BACKEND, **options)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_batch_of_all_queries_follows_the_subgradient_of_the_risk(loss):
    """Pegasos by hand: w ← (1 − 1/t)w − a/(λt); the certificate is the mean of the cuts."""
    weight = [1.0, 2.0, 0.5, 1.0, 1.0, 3.0]
    p = ranking(loss, query_weight=weight)
    solver = Subgradient(p.n_rows)
    state = solver.init(p, BACKEND, np.random.default_rng(0))
    w, cuts = np.zeros(4), []
    for t in range(1, 6):
        cuts.append(p.risk().ask(w, BACKEND).cut)
        w = (1 - 1 / t) * w - cuts[-1].slope / (p.lam * t)
        state = solver.advance(p, state, BACKEND, p.n_rows)
        np.testing.assert_allclose(state.weights.w, w, atol=1e-12)
    found = solver.iterate(p, state)
    np.testing.assert_allclose(found.slope, np.mean([cut.slope for cut in cuts], axis=0))
    assert found.offset == pytest.approx(np.mean([cut.offset for cut in cuts]))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", STEPS)
def test_every_bound_is_honest_and_the_optimum_is_that_of_the_bundle(name, loss):
    p = ranking(loss)
    exact = solve(p, Bundle(), gap=1e-8, max_passes=3000)
    found = solve(p, STEPS[name], gap=0.0, max_passes=300, evaluate_every=20)
    assert all(record.dual <= exact.certificate.primal + 1e-12 for record in found.trace)
    assert found.certificate.primal >= exact.certificate.dual - 1e-12
    assert found.certificate.primal - exact.certificate.primal <= 0.02 * p.primal_at_zero
    assert p.n_rows == 5
    assert p.skipped.tolist() == [4]


def test_no_pull_is_longer_than_said():
    for loss in LOSSES:
        p = ranking(loss, query_weight=[1, 5, 1, 1, 1, 1])
        solver = Subgradient(1, True, step_rule="proximal")
        longest = solver.longest_pull(p)
        for w in 10.0 * np.random.default_rng(1).normal(size=(20, 4)):
            for q in p.counted.tolist():
                rows = p.queries.rows(q)
                X = p.rows.to_scipy()[rows]
                pull = p.risk().judge_query(q, X @ w, BACKEND)[2]
                assert p.n_rows * p.share[q] * np.linalg.norm(pull @ X) <= longest + 1e-12


def test_resuming_is_bit_equal(tmp_path):
    p, solver = ranking(), Subgradient(2, average="tail", sampler="permutation")
    options = {"gap": 0.0, "evaluate_every": 1.0}
    whole = solve(p, solver, max_passes=12, **options)
    first = solve(p, solver, max_passes=5, **options)
    save_checkpoint(tmp_path / "state", first.checkpoint, fingerprint(p), solver)
    checkpoint, stored = load_checkpoint(tmp_path / "state", fingerprint(p))
    second = solve(p, stored, max_passes=12, checkpoint=checkpoint, **options)
    np.testing.assert_array_equal(second.solution.w, whole.solution.w)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop": "bound", "eps": 0.1, "average": "tail"}, "stop='bound'"),
        ({"batch_size": 6}, "batch_size must be between 1 and n = 5"),
        ({"bias_step": "batch", "batch_size": 2}, "a ranking has not"),
        ({"sampler": "streams"}, "steps are by query"),
        ({"single": True}, "single"),
    ],
)
def test_what_steps_over_queries_cannot_do(options, message):
    with pytest.raises(ValueError, match=message):
        solve(ranking(), Subgradient(**options), gap=0.1)
