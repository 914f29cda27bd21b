"""Best labellings and marginals of chains, on both backends, against all labellings listed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

from gapsvm.backends import get_backend
from gapsvm.rows.matrix import as_rows

BOTH = [get_backend("cpu"), get_backend("reference")]
K, LENGTHS = 3, np.array([4, 1, 5, 2])
STARTS = np.r_[0, LENGTHS.cumsum()].astype(np.uint64)
ORDER = np.array([2, 0, 1, 3], dtype=np.uint32)
N = int(STARTS[-1])


def drawn(scale, per_token, barred, seed=0):
    """Scores and edges in the order of ORDER, and a truth that no bar forbids."""
    rng = np.random.default_rng(seed)
    scores = scale * rng.normal(size=(N, K))
    edges = scale * rng.normal(size=(N if per_token else 1, K, K))
    if barred:
        edges[:, 0, 1] = edges[:, 2, 2] = -np.inf
    truth = rng.integers(0, K, N).astype(np.uint16)
    if barred:
        truth[truth == 1] = 0
        truth[truth == 2] = 0
    return scores, edges, truth


def spans():
    """For each chain of ORDER: where its scores lie, and where its truth does."""
    at = 0
    for i in ORDER:
        first, length = int(STARTS[i]), int(LENGTHS[i])
        yield slice(at, at + length), slice(first, first + length)
        at += length


def score(scores, edges, y):
    table = [edges[t if len(edges) > 1 else 0] for t in range(len(y))]
    steps = sum(table[t][y[t - 1], y[t]] for t in range(1, len(y)))
    return scores[np.arange(len(y)), y].sum() + steps


def everything(scores, edges, here):
    """All labellings of the chain there, and their scores."""
    mine = edges[here] if len(edges) > 1 else edges
    ways = np.array(list(product(range(K), repeat=here.stop - here.start)))
    return ways, np.array([score(scores[here], mine, y) for y in ways])


both = pytest.mark.parametrize("backend", BOTH, ids=["cpu", "reference"])
CASES = [
    pytest.param(scale, per_token, barred, id=f"{scale}-{per_token}-{barred}")
    for scale, per_token, barred in product((1.0, 1000.0), (False, True), (False, True))
]


@both
@pytest.mark.parametrize(("scale", "per_token", "barred"), CASES)
@pytest.mark.parametrize("cost", [0.0, 0.7])
def test_the_best_of_all_labellings(backend, scale, per_token, barred, cost):
    scores, edges, truth = drawn(scale, per_token, barred)
    labels, values = np.empty(N, dtype=np.uint16), np.empty(len(ORDER))
    backend.chain_best(
        scores.copy(), edges, STARTS, ORDER, truth, cost, np.empty(K), labels, values
    )
    for k, (here, there) in enumerate(spans()):
        ways, totals = everything(scores, edges, here)
        gains = totals + cost * (ways != truth[there]).sum(axis=1)
        right = totals[(ways == truth[there]).all(axis=1)][0]
        found = (ways == labels[here]).all(axis=1)
        assert gains[found][0] == pytest.approx(gains.max(), rel=1e-12)
        assert values[k] == pytest.approx(gains.max() - right, rel=1e-9, abs=1e-9)


@both
@pytest.mark.parametrize(("scale", "per_token", "barred"), CASES)
def test_max_marginals(backend, scale, per_token, barred):
    scores, edges, _ = drawn(scale, per_token, barred, 2)
    out, room = np.empty_like(scores), np.empty((2, K))
    backend.chain_max_marginals(scores, edges, STARTS, ORDER, room[0], room[1], out)
    for here, _ in spans():
        ways, totals = everything(scores, edges, here)
        for t in range(here.stop - here.start):
            best = [totals[ways[:, t] == r].max() for r in range(K)]
            np.testing.assert_allclose(out[here][t], best, rtol=1e-12)


@both
@pytest.mark.parametrize(("scale", "per_token", "barred"), CASES)
@pytest.mark.parametrize("with_truth", [False, True])
def test_marginals_are_those_of_all_labellings(backend, scale, per_token, barred, with_truth):
    """Scores of size 1000 take the way through logarithms."""
    scores, edges, truth = drawn(scale, per_token, barred, 1)
    weight = np.array([0.5, 2.0, 1.0, 3.0])
    shifts = edges.max(axis=(1, 2))
    powers, pairs = np.exp(edges - shifts[:, None, None]), np.zeros_like(edges)
    found, log_z = scores.copy(), np.empty(len(ORDER))
    backend.chain_marginals(
        *(found, edges, powers, shifts, STARTS, ORDER),
        *(truth if with_truth else truth[:0], weight, np.empty((LENGTHS.max() + 2, K))),
        *(np.empty((LENGTHS.max(), K)), pairs, log_z),
    )
    expected = np.zeros_like(pairs)
    for k, (here, there) in enumerate(spans()):
        ways, totals = everything(scores, edges, here)
        likely = np.exp(totals - logsumexp(totals))
        loss, y = logsumexp(totals), truth[there]
        if with_truth:
            likely = likely - (ways == y).all(axis=1)
            loss -= totals[(ways == y).all(axis=1)][0]
        assert log_z[k] == pytest.approx(loss, rel=1e-12, abs=1e-9)
        for t in range(here.stop - here.start):
            mine = [weight[ORDER[k]] * likely[ways[:, t] == r].sum() for r in range(K)]
            np.testing.assert_allclose(found[here][t], mine, atol=1e-12)
            for a, b in product(range(K), range(K)) if t else ():
                step = (ways[:, t - 1] == a) & (ways[:, t] == b)
                table = expected[here.start + t if per_token else 0]
                table[a, b] += weight[ORDER[k]] * likely[step].sum()
    np.testing.assert_allclose(pairs, expected, atol=1e-11)


@both
def test_a_label_that_fades_for_long_and_then_wins(backend):
    """Its share is below the smallest float when the token comes that speaks for it."""
    length = 40
    scores = np.zeros((length, 2))
    scores[:-1, 0], scores[-1, 1] = 25.0, 200.0
    scores[-2, 1] = 290.0
    scores[-3, 1] = 290.0
    scores[-4, 1] = 290.0
    edges = np.array([[[0.0, -np.inf], [-np.inf, 0.0]]])
    starts, order = np.array([0, length], dtype=np.uint64), np.zeros(1, dtype=np.uint32)
    log_z, found = np.empty(1), scores.copy()
    backend.chain_marginals(
        *(found, edges, np.exp(edges), np.zeros(1), starts, order, order[:0].astype(np.uint16)),
        *(np.ones(1), np.empty((length + 2, 2)), np.empty((length, 2)), np.zeros((1, 2, 2))),
        log_z,
    )
    ways = scores.sum(axis=0)
    assert log_z[0] == pytest.approx(logsumexp(ways), rel=1e-13)
    np.testing.assert_allclose(found, np.tile(np.exp(ways - logsumexp(ways)), (length, 1)))


@both
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
def test_scores_of_chosen_chains(backend, layout, ahead):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(N, 6)) * (rng.random((N, 6)) < 0.5), rng.normal(size=(6 + K, K))
    order = ORDER[:2]
    out = np.empty((int(LENGTHS[order].sum()), K))
    backend.chain_scores(as_rows(layout(X)).view, w, STARTS, order, ahead, out)
    tokens = np.concatenate([np.arange(STARTS[i], STARTS[i + 1], dtype=int) for i in order])
    np.testing.assert_allclose(out, X[tokens] @ w[:6], atol=1e-13)
