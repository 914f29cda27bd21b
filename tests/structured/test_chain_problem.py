"""Max-margin chains: objective, subgradient, certificate, against all labellings listed."""

from __future__ import annotations

import chains
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from gapsvm import FrankWolfe, MulticlassProblem, solve
from gapsvm.backends import get_backend
from gapsvm.problems.multiclass import MulticlassIterate
from gapsvm.problems.structured.base import StructuredIterate
from gapsvm.problems.structured.chain import ChainDual, ChainProblem

CPU = get_backend("cpu")
ALLOWED = np.array([[True, True, False], [True, True, True], [True, False, True]])


def within_bars(y, starts):
    """A truth that goes no barred way."""
    y = y.copy()
    for t in range(1, len(y)):
        if t not in starts and not ALLOWED[y[t - 1], y[t]]:
            y[t] = y[t - 1]
    return y


def variant(name):
    X, starts, y = chains.tiny()
    s = np.random.default_rng(3).uniform(0.0, 2.0, len(starts) - 1)
    if name == "barred":
        return ChainProblem(X, starts, within_bars(y, starts), 3, 0.1, allowed=ALLOWED)
    return {
        "plain": lambda: ChainProblem(X, starts, y, 3, 0.1),
        "sparse": lambda: ChainProblem(sp.csr_matrix(X), starts, y, 3, 0.1, sample_weight=s),
        "paired": lambda: ChainProblem(X, starts, y, 3, 0.1, paired=True, sample_weight=s),
    }[name]()


VARIANTS = ("plain", "sparse", "paired", "barred")


@pytest.mark.parametrize("name", VARIANTS)
def test_objective_and_value_of_the_oracle(name):
    p = variant(name)
    w = np.random.default_rng(1).normal(size=p.shape)
    dense = variant("plain")
    dense.weight = p.weight
    twin = dense if name == "sparse" else p
    expected = chains.objective(twin, w)
    assert p.objective(w, CPU) == pytest.approx(expected, rel=1e-12)
    assert p.subgradient(w, CPU)[0] == pytest.approx(
        expected - 0.5 * p.lam * np.vdot(w, w), rel=1e-12
    )
    assert p.primal_at_zero == pytest.approx(chains.objective(twin, p.zeros()))


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_oracle_at_a_multiple_of_w(name, scale):
    """The labellings are those at scale·v, though only v is looked at."""
    p = variant(name)
    v, examples = np.random.default_rng(2).normal(size=p.shape), p.chains.everything
    found, _ = p.worst_at(scale, v, examples, CPU)
    np.testing.assert_array_equal(found, p.worst(scale * v, examples, CPU)[0])


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.01, 1.0, 30.0]))
@pytest.mark.parametrize("name", VARIANTS)
def test_subgradient_inequality(name, seed, scale):
    p, rng = variant(name), np.random.default_rng(seed)
    w, v = scale * rng.normal(size=(2, *p.shape))
    here, slope = p.subgradient(w, CPU)
    there, _ = p.subgradient(v, CPU)
    assert there >= here + np.vdot(slope, v - w) - 1e-9 * (1 + abs(here) + abs(there))


def exact_optimum(p):
    """max D over the weights of all labellings, by SLSQP."""
    planes, costs, owner = [], [], []
    for i in range(p.n_rows):
        right = p.y[chains.span(p, i)]
        for y in chains.labellings(p, i):
            planes.append((chains.features(p, i, right) - chains.features(p, i, y)).ravel())
            costs.append(np.sum(np.array(y) != right))
            owner.append(i)
    owner, costs, share = np.array(owner), np.array(costs, float), p.mean_weight[np.array(owner)]
    planes = np.array(planes) * share[:, None] / p.lam
    gram, start = planes @ planes.T, np.zeros(len(owner))
    start[[np.flatnonzero((owner == i) & (costs == 0))[0] for i in range(p.n_rows)]] = 1.0
    groups = np.eye(p.n_rows)[:, owner]
    found = minimize(
        lambda a: 0.5 * p.lam * a @ gram @ a - (share * costs) @ a,
        start,
        jac=lambda a: p.lam * gram @ a - share * costs,
        bounds=[(0, 1)] * len(owner),
        constraints={"type": "eq", "fun": lambda a: groups @ a - 1, "jac": lambda a: groups},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert found.success
    return -found.fun


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("solver", [FrankWolfe(), FrankWolfe("gap", cached=2, batch=2)], ids=str)
def test_the_optimum_is_that_of_the_exact_program(solver, paired):
    p = chains.problem(0.3, n=4, longest=3, paired=paired)
    exact = exact_optimum(p)
    result = solve(p, solver, gap=1e-7, max_passes=3000, evaluate_every=2)
    assert result.converged
    assert result.certificate.primal == pytest.approx(exact, abs=1e-6)
    for record in result.trace:
        assert record.primal >= exact - 1e-8
        assert record.dual <= exact + 1e-8


def test_chains_of_one_token_are_crammer_singer():
    X, _, y = chains.tiny(n=30)
    n = len(y)
    p = ChainProblem(X, np.arange(n + 1), y, 3, 0.05)
    twin = MulticlassProblem(X, y, 3, "crammer_singer", 0.05)
    result = solve(p, FrankWolfe(), gap=1e-8, max_passes=1000)
    assert result.converged
    share = np.zeros((n, 3))
    dual = result.solution.dual
    for s in range(len(dual.labels)):
        np.add.at(share, (np.arange(n), dual.labels[s]), dual.share[:, s])
    W = result.solution.w[: X.shape[1]]
    theirs = twin.certify(MulticlassIterate(W, np.zeros(3), share), CPU)
    assert theirs.primal == pytest.approx(result.certificate.primal, rel=1e-12)
    assert theirs.dual == pytest.approx(result.certificate.dual, rel=1e-12)


def test_weight_two_is_twice_and_weight_nought_is_never():
    X, starts, y = chains.tiny(n=6)
    first = int(starts[1])
    again = np.r_[starts, starts[-1] + first]
    twice = ChainProblem(np.vstack([X, X[:first]]), again, np.r_[y, y[:first]], 3, 0.1)
    weight = np.array([2.0, 1, 1, 1, 1, 1])
    double = ChainProblem(X, starts, y, 3, 0.1, sample_weight=weight)
    found = [solve(p, FrankWolfe(), gap=1e-8, max_passes=2000) for p in (twice, double)]
    assert found[0].certificate.primal == pytest.approx(found[1].certificate.primal, abs=2e-8)
    weight[5] = 0.0
    without = ChainProblem(X, starts, y, 3, 0.1, sample_weight=weight)
    cut = int(starts[5])
    fewer = ChainProblem(X[:cut], starts[:6], y[:cut], 3, 0.1, sample_weight=weight[:5])
    w = np.random.default_rng(0).normal(size=fewer.shape)
    assert without.objective(w, CPU) == pytest.approx(fewer.objective(w, CPU), rel=1e-12)


def test_threads_and_slices_change_nothing():
    p = chains.problem(n=40)
    one = solve(p, FrankWolfe(), gap=0, max_passes=6)
    two = solve(p, FrankWolfe(), gap=0, max_passes=6, backend=get_backend("cpu", 2))
    np.testing.assert_array_equal(one.solution.w, two.solution.w)


def test_no_certificate_for_what_is_no_dual_point():
    p = variant("barred")
    dual = p.truth()
    assert abs(p.certify(StructuredIterate(None, dual), CPU).dual) < 1e-20
    dual.share[0, 0] = 0.5
    assert p.certify(StructuredIterate(None, dual), CPU).dual == -np.inf
    barred = p.truth()
    i = int(np.argmax(p.chains.lengths > 1))
    t = int(p.chains.starts[i])
    barred.labels[1, t : t + 2] = 0, 2
    barred.share[i, :2] = 0.5
    assert p.certify(StructuredIterate(None, barred), CPU).dual == -np.inf
    many = ChainDual(np.full_like(dual.labels, 7), p.truth().share, dual.cost)
    assert p.certify(StructuredIterate(None, many), CPU).dual == -np.inf


def test_w_alone_has_the_lower_bound_of_the_truth_or_the_one_it_brings():
    p = chains.problem()
    w = np.full(p.shape, 0.01)
    assert p.certify(StructuredIterate(w), CPU).dual == 0.0
    assert p.certify(StructuredIterate(w, lower=0.25), CPU).dual == 0.25


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starts": [0, 3, 3, 9]}, "sequence 1 is empty"),
        ({"starts": [0, 3, 8]}, "end with 9"),
        ({"y": np.full(9, 3)}, "from 0 to n_labels - 1 = 2"),
        ({"y": np.zeros(8, dtype=int)}, "9 tokens but y has shape"),
        ({"lam": 0.0}, "lam must be positive"),
        ({"n_labels": 1}, "n_labels must be between 2"),
        ({"sample_weight": [1.0, 2.0]}, "there are 3 examples"),
        ({"allowed": np.ones((3, 2), dtype=bool)}, "3 by 3 array of booleans"),
        ({"allowed": np.eye(3, dtype=bool)}, "sequence 0 has label 1 after label 0"),
        ({"X": np.full((9, 2), np.nan)}, "X contains NaN"),
    ],
)
def test_bad_input(change, message):
    good = {"X": np.ones((9, 2)), "starts": [0, 3, 6, 9], "y": np.arange(9) % 3}
    rest = {"n_labels": 3, "lam": 0.1}
    with pytest.raises(ValueError, match=message):
        ChainProblem(**{**good, **rest, **change})
