"""Oracles of users: what is solved, what is certified, and whose mistakes are named."""

from __future__ import annotations

import math
import pickle

import numpy as np
import own
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapsvm import (
    Bundle,
    FrankWolfe,
    LevelBundle,
    MulticlassProblem,
    OracleError,
    OracleProblem,
    ProximalBundle,
    check_oracle,
    solve,
)
from gapsvm.backends import get_backend
from gapsvm.problems.structured.base import StructuredIterate
from gapsvm.problems.structured.oracle import Found
from gapsvm.training.checkpoint import fingerprint, load_checkpoint, save_checkpoint

CPU, REFERENCE = get_backend("cpu"), get_backend("reference")


def listed(p, w):
    """P(w) with all labellings listed."""
    total = 0.0
    for weight, x, truth in zip(p.mean_weight, p.examples.X, p.examples.y):
        right = p.oracle.features(x, truth)
        total += weight * max(
            p.oracle.loss(truth, y) + w @ (p.oracle.features(x, y) - right) for y in p.oracle.all
        )
    return total + 0.5 * p.lam * w @ w


WEIGHT = np.random.default_rng(3).uniform(0.0, 2.0, 40)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_objective_and_subgradient(weight):
    p = own.problem(sample_weight=weight)
    w = np.random.default_rng(1).normal(size=p.shape)
    assert p.objective(w, CPU) == pytest.approx(listed(p, w), rel=1e-12)
    assert p.primal_at_zero == pytest.approx(listed(p, 0 * w))
    assert p.subgradient(w, CPU)[0] == pytest.approx(listed(p, w) - 0.5 * p.lam * w @ w)


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.01, 1.0, 30.0]))
def test_subgradient_inequality(seed, scale):
    p, rng = own.problem(10), np.random.default_rng(seed)
    w, v = scale * rng.normal(size=(2, *p.shape))
    here, slope = p.subgradient(w, REFERENCE)
    there, _ = p.subgradient(v, REFERENCE)
    assert there >= here + slope @ (v - w) - 1e-9 * (1 + abs(here) + abs(there))


SOLVERS = {
    "permutation": FrankWolfe(),
    "gap": FrankWolfe("gap", cached=2, batch=3),
    "no cache": FrankWolfe(cached=0),
    "bundle": Bundle(),
    "proximal": ProximalBundle(),
    "level": LevelBundle(),
}


@pytest.fixture(scope="module")
def optimum():
    return solve(own.problem(), Bundle(), gap=1e-9, max_passes=2000).certificate


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_has_the_same_optimum(name, optimum):
    p = own.problem()
    result = solve(p, SOLVERS[name], gap=1e-4 * p.primal_at_zero, max_passes=500)
    assert result.converged
    for record in result.trace:
        assert record.primal >= optimum.dual - 1e-9
        assert record.dual <= optimum.primal + 1e-9


def test_sparse_features_are_the_same_problem():
    one = solve(own.problem(), FrankWolfe(), gap=0, max_passes=5)
    other = solve(own.problem(sparse=True), FrankWolfe(), gap=0, max_passes=5)
    np.testing.assert_allclose(one.solution.w, other.solution.w, atol=1e-9)


def test_planes_are_kept_by_their_nonzeros():
    """Blocks grow by columns, up to all of them."""
    X, _ = own.data(30, d=3)
    y = np.random.default_rng(0).integers(0, 12, 30)
    p, solver = OracleProblem(own.Classes(3, 12), X, y, 0.01), FrankWolfe()
    state = solver.init(p, CPU, np.random.default_rng(0))
    for _ in range(40):
        state = solver.advance(p, state, CPU, 30)
        value, w = p.dual_value(state.dual, CPU)
        np.testing.assert_allclose(state.w, w, atol=1e-10)
    assert value > 0.3
    widths = {block.psi.shape[1] for block in p._blocks[state.dual].values()}
    assert min(widths) < 36


def test_one_label_of_several_is_the_multiclass_problem():
    X, Y = own.data()
    y = Y.sum(axis=1)
    p = OracleProblem(own.Classes(4, 4), X, y, 0.05)
    found = solve(p, FrankWolfe(), gap=1e-7, max_passes=3000)
    twin = MulticlassProblem(X, y, 4, "crammer_singer", 0.05)
    dedicated = solve(twin, Bundle(), gap=1e-9, max_passes=3000)
    assert found.converged
    assert found.certificate.primal == pytest.approx(dedicated.certificate.primal, abs=2e-7)


def test_the_dual_never_falls_and_idle_labellings_are_forgotten():
    p, solver, last = own.problem(30, 0.01), FrankWolfe("gap"), 0.0
    state = solver.init(p, CPU, np.random.default_rng(0))
    most = 0
    for _ in range(60):
        state = solver.advance(p, state, CPU, 30)
        value, _ = p.dual_value(state.dual, CPU)
        assert value >= last - 1e-12
        last, most = value, max(most, sum(map(len, state.dual.labels)))
    assert sum(map(len, state.dual.labels)) < most


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_workers_change_nothing(workers):
    p = own.problem(workers=workers)
    one = solve(own.problem(), FrankWolfe(), gap=0, max_passes=3)
    two = solve(p, FrankWolfe(batch=5), gap=0, max_passes=3, backend=get_backend("cpu", 2))
    same = solve(own.problem(), FrankWolfe(batch=5), gap=0, max_passes=3)
    p.close()
    np.testing.assert_array_equal(two.solution.w, same.solution.w)
    assert one.certificate.dual > 0


def test_a_checkpoint_goes_on_bit_for_bit(tmp_path):
    p, solver = own.problem(), FrankWolfe("gap")
    straight = solve(p, solver, gap=0, max_passes=9)
    halves = solve(own.problem(), solver, gap=0, max_passes=4.5)
    save_checkpoint(tmp_path / "c", halves.checkpoint, fingerprint(p), solver)
    checkpoint, found = load_checkpoint(tmp_path / "c", fingerprint(own.problem()))
    again = solve(own.problem(), found, gap=0, max_passes=9, checkpoint=checkpoint)
    np.testing.assert_array_equal(again.solution.w, straight.solution.w)
    assert fingerprint(own.problem(lam=0.06)) != fingerprint(p)


def test_a_warm_start_begins_where_another_fit_ended():
    p = own.problem()
    first = solve(p, FrankWolfe(), gap=1e-3, max_passes=500)
    warm = solve(p, FrankWolfe(), gap=1e-3, warm=first.solution)
    assert warm.passes == 0


def test_weight_two_is_twice_and_weight_nought_is_never():
    X, Y = own.data()
    weight = np.r_[2.0, np.ones(38), 0.0]
    one = OracleProblem(own.Multilabel(4, 3), X, Y, 0.05, sample_weight=weight)
    again = np.r_[0, np.arange(39)]
    two = OracleProblem(own.Multilabel(4, 3), X[again], Y[again], 0.05)
    found = [solve(p, FrankWolfe(), gap=1e-7, max_passes=3000).certificate for p in (one, two)]
    assert found[0].primal == pytest.approx(found[1].primal, abs=2e-7)


def test_a_problem_can_be_pickled():
    p = own.problem()
    solve(p, FrankWolfe(), gap=0, max_passes=1)
    again = pickle.loads(pickle.dumps(p))
    assert again.objective(np.ones(p.shape), CPU) == p.objective(np.ones(p.shape), CPU)
    assert solve(again, FrankWolfe(), gap=0.5).converged


def test_no_certificate_for_what_is_no_dual_point():
    p = own.problem()
    for spoil in ("sum", "sign", "slots"):
        dual = p.truth()
        assert p.dual_value(dual, CPU)[0] == 0.0
        if spoil == "sum":
            dual.share[3, 0] = 0.5
        elif spoil == "sign":
            dual.labels[3].append(1 - np.asarray(dual.labels[3][0]))
            dual.share[3, :2] = 1.5, -0.5
        else:
            dual.share[3, :3] = 0.5, 0.0, 0.5
        assert p.certify(StructuredIterate(None, dual), CPU).dual == -math.inf


# -- mistakes --------------------------------------------------------------------------------------


class Spoilt(own.Multilabel):
    """Wrong about the example with the largest first input."""

    def __init__(self, **spoilt):
        super().__init__(4, 3)
        self.spoilt = spoilt

    def _is_it(self, x):
        return x[0] == own.data()[0][:, 0].max()

    def features(self, x, y):
        found = super().features(x, y)
        return (
            self.spoilt["features"](found)
            if self._is_it(x) and "features" in self.spoilt
            else found
        )

    def loss(self, truth, y):
        found = super().loss(truth, y)
        here = np.array_equal(truth, own.data()[1][WHICH])
        return self.spoilt["loss"](found) if here and "loss" in self.spoilt else found

    def argmax(self, w, x, truth=None):
        found = super().argmax(w, x, truth)
        if self._is_it(x) and "argmax" in self.spoilt:
            return self.spoilt["argmax"](self, w, x, truth, found)
        return found


WHICH = int(own.data()[0][:, 0].argmax())


def raises(*_):
    raise KeyError("missing")


def least(self, w, x, truth, found):
    """The minimum, as of a wrong sign."""
    return super(Spoilt, self).argmax(-w, x, truth)


def local(self, w, x, truth, found):
    """The best of half the labellings and the truth."""
    some = [y for y in self.all if y[0] == 0 or (truth is not None and (y == truth).all())]
    cost = [0.0 if truth is None else self.loss(truth, y) for y in some]
    return some[int(np.argmax([c + w @ self.features(x, y) for c, y in zip(cost, some)]))]


MISTAKES = {
    "NaN": ({"features": lambda f: f * math.nan}, "features of .* contain NaN"),
    "wrong size": ({"features": lambda f: f[1:]}, r"shape \(14,\), but n_features is 15"),
    "no numbers": ({"features": lambda f: "abc"}, "features are no numbers"),
    "features raise": ({"features": raises}, r"features raised KeyError\('missing'\)"),
    "argmax raises": ({"argmax": raises}, r"argmax raised KeyError\('missing'\)"),
    "no labelling": ({"argmax": lambda *_: None}, "argmax returned None"),
    "short labelling": ({"argmax": lambda *a: a[-1][:2]}, "(loss|features) raised"),
    "changes w": ({"argmax": lambda s, w, *_: w.fill(0)}, "argmax raised ValueError.*read-only"),
    "negative loss": ({"loss": lambda c: c - 2.0}, "must be finite and not negative"),
    "loss is NaN": ({"loss": lambda c: math.nan}, "the loss of .* is nan"),
    "loss is no number": ({"loss": lambda c: "x"}, "loss must return a number"),
    "wrong sign": ({"argmax": least}, "worse than the truth|larger loss"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_name_the_example(name):
    """By the fit and by the check."""
    spoilt, message = MISTAKES[name]
    X, Y = own.data()
    _, first = np.unique(Y, axis=0, return_index=True)
    rows = np.unique(np.r_[first, WHICH])  # losses are told apart by their truth
    rows = [r for r in rows if r == WHICH or not np.array_equal(Y[r], Y[WHICH])]
    p = OracleProblem(Spoilt(**spoilt), X[rows], Y[rows], 0.05)
    which = f"example {rows.index(WHICH)}: "
    with pytest.raises(OracleError, match=which + ".*" + message):
        check_oracle(p)
    if name != "wrong sign":
        with pytest.raises(OracleError, match=which + ".*" + message):
            solve(p, FrankWolfe(), gap=1e-9)


def test_an_argmax_that_finds_no_maximum_is_found():
    X, Y = own.data()
    p = OracleProblem(Spoilt(argmax=local), X, Y, 0.05)
    with pytest.raises(OracleError, match=f"example {WHICH}: .*has the larger loss|scores more"):
        check_oracle(p, labellings=lambda x: p.oracle.all)
    check_oracle(own.problem(), labellings=lambda x: p.oracle.all)
    check_oracle(own.problem(sparse=True))


def test_a_fit_notices_that_a_labelling_it_had_was_better():
    class Forgetful(own.Multilabel):
        calls = 0

        def argmax(self, w, x, truth=None):
            self.calls += 1
            return truth if truth is not None and self.calls > 80 else super().argmax(w, x, truth)

    X, Y = own.data()
    with pytest.raises(OracleError, match=r"returned before.* not the maximum|lower bound"):
        solve(OracleProblem(Forgetful(4, 3), X, Y, 0.01), FrankWolfe(), gap=1e-6)


def test_a_tie_up_to_rounding_is_no_mistake():
    """Gains of 0 and 1.1e-16, both of sums that cancel."""
    X = np.array([[0.1, 0.2, 0.3, 0.4]])
    p = OracleProblem(own.Multilabel(4, 3), X, [np.array([1, 1, 0])], 0.1)
    plane = p.examples.plane(0, np.array([0, 1, 1]))
    found = Found(np.array([0, 1, 1]), plane, 0.0)
    labels = [np.array([1, 1, 0]), np.array([1, 0, 0])]
    p._refuse_missed(0, found, np.array([0.0, 1.1e-16]), labels, 2.0)
    with pytest.raises(OracleError, match="it is not the maximum"):
        p._refuse_missed(0, found, np.array([0.0, 1e-3]), labels, 2.0)


def test_what_else_the_check_finds():
    class Lazy(own.Multilabel):
        def argmax(self, w, x, truth=None):
            return super().argmax(w, x, truth) if truth is not None else self.all[0]

    X, Y = own.data()
    with pytest.raises(OracleError, match="example 0: without a truth argmax returned"):
        check_oracle(OracleProblem(Lazy(4, 3), X, Y, 1.0))
    rng = np.random.default_rng(0)

    class Random(own.Multilabel):
        def features(self, x, y):
            return rng.normal() * super().features(x, y)

    with pytest.raises(OracleError, match="differ from call to call"):
        check_oracle(OracleProblem(Random(4, 3), X, Y, 1.0))


def test_a_compiled_oracle_is_checked_as_well():
    import chains

    check_oracle(chains.problem(paired=True), points=3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0]}, "2 examples but y has 1"),
        ({"workers": "x"}, "workers must be"),
        ({"call_cost": 0}, "call_cost must be"),
        ({"lam": 0.0}, "lam must be positive"),
        ({"sample_weight": [1.0]}, "there are 2 examples"),
    ],
)
def test_bad_input(change, message):
    good = {"X": np.ones((2, 4)), "y": np.zeros((2, 3)), "lam": 1.0}
    with pytest.raises(ValueError, match=message):
        OracleProblem(own.Multilabel(4, 3), **{**good, **change})


def test_what_is_no_oracle():
    with pytest.raises(TypeError, match="must have a method 'features'"):
        OracleProblem(object(), [1], [1], 1.0)
    nameless = own.Multilabel(4, 3)
    nameless.n_features = 0
    with pytest.raises(ValueError, match="n_features must say"):
        OracleProblem(nameless, [1], [1], 1.0)
