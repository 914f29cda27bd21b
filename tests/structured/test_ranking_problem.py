"""Ranking: losses against all pairs and all orders, the optimum against SDCA, measures by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from gapsvm import (
    SDCA,
    Bundle,
    LevelBundle,
    LinearProblem,
    PairSDCA,
    ProximalBundle,
    RankingProblem,
    RiskProblem,
    get_loss,
    mean_average_precision,
    mean_ndcg,
    read_svmlight,
    solve,
)
from gapsvm.backends import get_backend
from gapsvm.losses.ranking import average_precision, ndcg

CPU, REFERENCE = get_backend("cpu"), get_backend("reference")
LOSSES = ("pairs", "ndcg")


def documents(n=24, d=4, queries=4, seed=0, grades=3):
    """Rows, noisy grades, and queries whose rows are not neighbours."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=n) + 1), 0, grades - 1)
    return X, y, np.arange(n) % queries


def pairs_of(y, qid):
    """(i, j) of one query with i better."""
    same = qid[:, None] == qid
    return np.argwhere(same & (y[:, None] > y))


def query_loss(y, z, truncation):
    """The NDCG loss by trying all orders; equals share their places in the ideal one."""
    k = len(y)
    place = np.arange(1, k + 1) ** -0.25
    ideal = sorted(range(k), key=lambda i: -y[i])
    best = [order for order in permutations(range(k)) if all(y[list(order)] == y[ideal])]
    truth = np.mean([sum(place[r] * z[i] for r, i in enumerate(order)) for order in best])

    def violation(order):
        scores = np.empty(k)
        scores[list(order)] = -np.arange(k)
        return 1 - ndcg(y, scores, truncation) + sum(place[r] * z[i] for r, i in enumerate(order))

    return max(violation(order) for order in permutations(range(k))) - truth


@pytest.mark.parametrize("average", ["pairs", "queries"])
@pytest.mark.parametrize("backend", [CPU, REFERENCE], ids=["cpu", "reference"])
def test_the_pair_loss_against_all_pairs(backend, average):
    """With document and query weights, on documents of equal score too."""
    X, y, qid = documents()
    rng = np.random.default_rng(1)
    s, v = rng.integers(0, 3, len(y)).astype(float), np.array([1.0, 2.0, 0.0, 0.5])
    p = RankingProblem(
        X, y, qid, 0.1, sample_weight=s, query_weight=v, average=average, backend="reference"
    )
    for w in (np.zeros(4), rng.normal(size=4), 0.1 * rng.normal(size=4)):
        z, per_query, slopes = X @ w, np.zeros((4, 2)), np.zeros((4, 4))
        for i, j in pairs_of(y, qid):
            loss = max(0.0, 1 - (z[i] - z[j]))
            per_query[qid[i]] += s[i] * s[j] * np.array([loss, 1.0])
            slopes[qid[i]] += s[i] * s[j] * (loss > 0) * (X[j] - X[i])
        by_query = per_query[:, 1] if average == "queries" else np.ones(4)
        total = v.sum() if average == "queries" else v @ per_query[:, 1]
        found = p.risk().ask(w, backend)
        assert found.value == pytest.approx(v @ (per_query[:, 0] / by_query) / total)
        np.testing.assert_allclose(found.cut.slope, (v / by_query) @ slopes / total, atol=1e-12)
        assert found.cut.offset + found.cut.slope @ w == pytest.approx(found.value)
    assert p.primal_at_zero == pytest.approx(1.0)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), size=st.integers(2, 5), truncation=st.sampled_from([1, 3, None]))
def test_the_ndcg_loss_against_all_orders(seed, size, truncation):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(size, 2)), rng.integers(0, 3, size).astype(float)
    y[:2] = 0, 2
    p = RankingProblem(X, y, np.zeros(size), 0.1, loss="ndcg", truncation=truncation)
    w = 3 * rng.normal(size=2)
    found = p.risk().ask(w, REFERENCE).value
    assert found == pytest.approx(query_loss(y, X @ w, truncation), abs=1e-12)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(LOSSES),
    size=st.sampled_from([0.0, 0.1, 1.0, 30.0]),
)
def test_the_subgradient_inequality(seed, loss, size):
    p = RankingProblem(*documents(seed=seed), 0.1, loss=loss)
    u, v = size * np.random.default_rng(seed).normal(size=(2, 4))
    at_u, at_v = (p.risk().ask(w, CPU) for w in (u, v))
    assert at_u.cut.slope @ u + at_u.cut.offset == pytest.approx(at_u.value, abs=1e-10)
    assert at_u.cut.slope @ v + at_u.cut.offset <= at_v.value + 1e-10 * (1 + at_v.value)
    assert at_v.value >= -1e-12


@pytest.mark.parametrize("average", ["pairs", "queries"])
@pytest.mark.parametrize(
    "solver",
    [Bundle(), ProximalBundle(), LevelBundle(), PairSDCA()],
    ids=["standard", "proximal", "level", "pairs"],
)
def test_the_optimum_is_that_of_sdca_on_all_pairs(solver, average):
    """Each pair a row x_i − x_j of weight s_i s_j."""
    X, y, qid = documents(n=60, seed=3)
    s = np.random.default_rng(0).uniform(0.5, 2, 60)
    i, j = pairs_of(y, qid).T
    weight = s[i] * s[j]
    if average == "queries":
        weight /= np.bincount(qid[i], weights=weight)[qid[i]]
    pairs = LinearProblem(
        X[i] - X[j], np.ones(len(i)), get_loss("hinge"), 0.01, sample_weight=weight
    )
    exact = solve(pairs, SDCA(), gap=1e-9, max_passes=20000)
    problem = RankingProblem(X, y, qid, 0.01, sample_weight=s, average=average)
    found = solve(problem, solver, gap=1e-7, max_passes=3000)
    assert problem.n_pairs == len(i)
    assert exact.converged
    assert found.converged
    assert found.certificate.primal == pytest.approx(exact.certificate.primal, abs=2e-7)


def test_methods_by_name():
    """Of problems with an oracle as well; what does not rank is refused, with what does."""
    p = RankingProblem(*documents(), 0.1)
    own = RiskProblem(lambda w: (0.5 * w @ w, w), 0.1, n_features=3, floor=0.0)
    for problem in (p, own):
        for method in ("auto", "bundle", "proximal-bundle(max_cuts=50)"):
            assert solve(problem, method, tol=1e-2).gap <= 1e-2
    assert solve(p, "pegasos(average=tail)", tol=0.1).converged
    assert solve(p, "pair-sdca", tol=0.1).converged
    with pytest.raises(ValueError, match=r"Methods for this problem: auto, .*bundle.*pair-sdca"):
        solve(p, "interior")


def test_pairs_that_are_listed_leave_out_what_says_nothing():
    """A query of one grade, documents of weight 0, a column that is not looked at; CSR too."""
    X, y, qid = documents(n=40, seed=5)
    y[qid == 2] = 1.0
    s = np.where(np.arange(40) % 7 == 0, 0.0, 1.0)
    for rows in (X, sp.csr_matrix(X)):
        p = RankingProblem(rows, y, qid, 0.05, sample_weight=s, without=1)
        one, other = (
            solve(p, solver, gap=1e-6, max_passes=3000) for solver in (Bundle(), PairSDCA())
        )
        assert one.certificate.primal == pytest.approx(other.certificate.primal, abs=2e-6)
        assert other.solution.w[1] == 0.0
        assert all(record.dual <= one.certificate.primal + 1e-12 for record in other.trace)
    with pytest.raises(ValueError, match="not a sum over pairs; try Bundle"):
        solve(RankingProblem(X, y, qid, 0.05, loss="ndcg"), PairSDCA(), gap=0.1)
    with pytest.raises(ValueError, match="PairSDCA is for a RankingProblem"):
        solve(p.pairs, PairSDCA(), gap=0.1)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_query_twice_is_a_query_of_weight_two(loss):
    X, y, qid = documents()
    one = qid == 1
    twice = (np.vstack([X, X[one]]), np.append(y, y[one]), np.append(qid, np.full(one.sum(), 9)))
    w = np.array([1.0, -0.5, 0.2, 0.0])
    weighted = RankingProblem(X, y, qid, 0.1, loss=loss, query_weight=[1, 2, 1, 1])
    a, b = (p.risk().ask(w, CPU).value for p in (weighted, RankingProblem(*twice, 0.1, loss=loss)))
    assert a == pytest.approx(b)


def test_sparse_rows_and_a_column_that_is_not_looked_at():
    """A column of qids may stay in X: its weight is 0."""
    X, y, qid = documents()
    full = np.column_stack([qid, X])
    plain = solve(RankingProblem(X, y, qid, 0.05), Bundle(), gap=1e-6)
    for rows in (full, sp.csr_matrix(full)):
        found = solve(RankingProblem(rows, y, qid, 0.05, without=0), Bundle(), gap=1e-6)
        assert found.solution.w[0] == 0.0
        assert found.certificate.primal == pytest.approx(plain.certificate.primal, abs=2e-6)


def test_queries_that_say_nothing_are_left_out():
    X, y, qid = documents()
    more = (np.vstack([X, X[:3]]), np.append(y, [1, 1, 0]), np.append(qid, [7, 7, 8]))
    p = RankingProblem(*more, 0.1)
    assert p.skipped.tolist() == [7, 8]
    w = np.ones(4)
    assert p.risk().ask(w, CPU).value == RankingProblem(X, y, qid, 0.1).risk().ask(w, CPU).value


X0, Y0, Q0 = documents()
BAD = {
    "no qid": ((X0, Y0, None), {}, "qid is missing"),
    "short qid": ((X0, Y0, Q0[1:]), {}, r"qid has shape \(23,\), but X has 24 rows"),
    "NaN in qid": ((X0, Y0, np.append(Q0[1:], np.nan)), {}, "qid contains NaN .* row 23"),
    "one grade": ((X0, np.ones(24), Q0), {}, r"nothing to rank.*query .*0.* has grades \[1.0\]"),
    "one document a query": ((X0, Y0, np.arange(24)), {}, "no query has two documents"),
    "y of another length": ((X0, Y0[1:], Q0), {}, "y has shape"),
    "NaN in y": ((X0, Y0 * np.nan, Q0), {}, "y contains NaN"),
    "negative grades": ((X0, Y0 - 5, Q0), {"loss": "ndcg"}, "between 0 and 50"),
    "loss": ((X0, Y0, Q0), {"loss": "map"}, "loss must be"),
    "average": ((X0, Y0, Q0), {"average": "all"}, "average must be"),
    "truncation": ((X0, Y0, Q0), {"truncation": 0}, "truncation must be"),
    "weights of documents": (
        (X0, Y0, Q0),
        {"loss": "ndcg", "sample_weight": np.ones(24)},
        "sample_weight is for loss 'pairs'",
    ),
    "weights of queries": ((X0, Y0, Q0), {"query_weight": np.ones(3)}, "query_weight has shape"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    data, options, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        RankingProblem(*data, 0.1, **options)


def test_measures_by_hand():
    """Gains 3, 1, 0; discounts 1, 1, 1/log₂3, 1/2."""
    y, scores = np.array([0, 2, 1, 0]), np.array([4.0, 3.0, 2.0, 1.0])
    assert ndcg(y, scores) == pytest.approx((3 + 1 / np.log2(3)) / 4)
    assert ndcg(y, scores, 1) == 0.0
    assert average_precision(y, scores) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert ndcg(np.zeros(3), np.arange(3.0)) == average_precision(np.zeros(3), np.arange(3.0)) == 0
    both, qid = np.append(y, np.zeros(4)), [5] * 4 + [3] * 4
    twice = np.append(scores, scores)
    assert mean_ndcg(both, twice, qid) == pytest.approx(ndcg(y, scores) / 2)
    assert mean_average_precision(both, twice, qid) == pytest.approx(7 / 24)
    with pytest.raises(ValueError, match="of one length"):
        mean_ndcg(y, scores, qid)
    with pytest.raises(ValueError, match="must not be negative"):
        mean_ndcg(y - 1, scores, [0] * 4)


def test_ohsumed_as_published_rankers_do(data_folder):
    """The first fold: trained on three parts, NDCG@10 on the fifth is above .30 (theirs: .31)."""
    parts = [read_svmlight(data_folder / f"ohsumed/S{k}.txt.gz", query_id=True) for k in (1, 2, 3)]
    X = sp.vstack([part.X for part in parts]).tocsr()
    y, qid = (np.concatenate([getattr(part, name) for part in parts]) for name in ("y", "qid"))
    p = RankingProblem(X, y, qid, 0.01)
    found = solve(p, Bundle(), gap=1e-3 * p.primal_at_zero, max_passes=200)
    assert found.converged
    test = read_svmlight(data_folder / "ohsumed/S5.txt.gz", query_id=True, n_features=X.shape[1])
    assert mean_ndcg(test.y, test.X @ found.solution.w, test.qid) > 0.30
