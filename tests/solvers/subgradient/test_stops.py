"""stop="sampled": two attempts at a random iterate, averages judged as steps double."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import matrix, objective, problem

from gapsvm import InteriorPoint, LinearSVC, Status, Subgradient, get_loss, solve
from gapsvm.backends import get_backend
from gapsvm.problems.linear import LinearProblem
from gapsvm.solvers.subgradient.stops import judging_rows
from gapsvm.theory import pegasos_footnote1_rows, pegasos_lemma3_iterations
from gapsvm.training.checkpoint import fingerprint, load_checkpoint, save_checkpoint

CPU = get_backend("cpu")


def large(n=20_000, lam=0.2, **options):
    """Two overlapping clouds, more rows than a sample needs."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.uniform(-1, 1, size=(n, 3)) + 0.4 * y[:, None]
    return LinearProblem(X, y, get_loss("hinge"), lam, **options)


def least(p):
    return solve(p, InteriorPoint(), gap=1e-9).certificate.dual


def output_error(p, solver, state, best):
    point = solver.output(state)
    return objective(p, point[:-1], point[-1]) - best


def test_rows_that_tell_two_points_apart():
    """The order of an ε-optimal point and a 2ε-optimal one is wrong less often than δ."""
    p, eps, delta = large(), 0.02, 0.2
    best = solve(p, InteriorPoint(), gap=1e-9)
    w = best.solution.w

    def at(error):
        """The multiple of w* with that error, found by halving."""
        low, high = 1.0, 5.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            off = objective(p, middle * w) - best.certificate.dual
            low, high = (middle, high) if off < error else (low, middle)
        return high * w

    good, bad = at(eps), at(2 * eps)
    R = math.sqrt(p.largest_sq_norm)
    size = pegasos_footnote1_rows(eps, lam=p.lam, R=R, delta=delta)
    assert size == math.ceil(4 * R**2 * math.log(5) / ((math.sqrt(2) - 1) ** 2 * 0.2 * eps))
    wrong = 0
    for seed in range(40):
        rows = np.random.default_rng(seed).integers(p.n_rows, size=size)
        wrong += p.sampled_objective(rows, bad, 0.0) < p.sampled_objective(rows, good, 0.0)
    assert wrong <= 40 * delta
    for change in ({"eps": 0.0}, {"lam": 0.0}, {"R": -1.0}, {"delta": 1.0}):
        with pytest.raises(ValueError, match=next(iter(change))):
            pegasos_footnote1_rows(**{"eps": eps, "lam": 0.1, "R": 1.0, "delta": 0.5, **change})


def test_two_attempts_keep_the_promise():
    """They end at the T of Lemma 3 with ε/2, within ε by far more often than ¾(1 − δ)²."""
    p, eps, delta = large(), 0.5, 0.1
    best, solver = least(p), Subgradient(average="random", stop="sampled", eps=0.5, delta=0.1)
    R, good = math.sqrt(p.largest_sq_norm), 0
    for seed in range(20):
        state = solver.init(p, CPU, np.random.default_rng(seed))
        assert state.stop.due == pegasos_lemma3_iterations(eps / 2, lam=0.2, R=R, delta=delta)
        rows = judging_rows(solver, p, state.run.key)
        assert len(rows) == pegasos_footnote1_rows(eps / 2, lam=0.2, R=R, delta=delta) < p.n_rows
        result = solve(p, solver, gap=-1.0, max_passes=1e9, seed=seed)
        assert result.status is Status.PROMISED
        assert result.checkpoint.state.steps == state.stop.due
        good += output_error(p, solver, result.checkpoint.state, best) <= eps
    assert good >= 20 * 0.75 * (1 - delta) ** 2


def test_two_attempts_beat_one():
    """Lemma 3's step: at most half of all t are twice as bad as the mean, and a quarter of pairs.

    The first attempt is that of average="random" alone, and the better one is handed out.
    """
    p, T = problem("hinge", 60, 4, lam=0.1), 40
    best, plain = least(p), Subgradient()
    two = Subgradient(average="random", stop="sampled", eps=0.1)
    one = Subgradient(average="random")
    errors, too_bad = [], np.zeros(2)
    for seed in range(200):
        states = [s.init(p, CPU, np.random.default_rng(seed)) for s in (plain, one, two)]
        states[2].stop.due = T
        path = []
        for _ in range(T):
            path.append(output_error(p, plain, states[0], best))
            plain.advance(p, states[0], CPU, 1)
        for solver, state in ((one, states[1]), (two, states[2])):
            solver.advance(p, state, CPU, T)
        assert states[2].stop.promised
        pair = [output_error(p, s, state, best) for s, state in zip((one, two), states[1:])]
        assert pair[1] <= pair[0] + 1e-12  # all rows judge here
        assert min(abs(pair[1] - error) for error in path) <= 1e-9
        errors.append(pair)
        too_bad += np.array(pair) > 2 * np.mean(path)
    assert too_bad[1] < too_bad[0] <= 100
    assert too_bad[1] <= 50
    assert np.mean(errors, axis=0)[1] < 0.8 * np.mean(errors, axis=0)[0]


@pytest.mark.parametrize(
    ("rule", "average"), [("pegasos", "uniform"), ("pegasos", "tail"), ("proximal", "tail")]
)
@pytest.mark.parametrize("eps", [0.05, 0.01])
def test_averages_are_judged_as_steps_double(rule, average, eps):
    """The last move of the judged objective is at most ε, and so is the error, for 20 seeds."""
    p = large(3000, 0.02)
    best, seen = least(p), []
    solver = Subgradient(1, rule == "proximal", average, step_rule=rule, stop="sampled", eps=eps)
    for seed in range(20):
        result = solve(p, solver, gap=-1.0, max_passes=1e6, seed=seed)
        assert result.status is Status.SETTLED
        assert result.gap > 0
        state = result.checkpoint.state
        first = len(judging_rows(solver, p, state.run.key))
        assert state.steps in (first * 2 ** np.arange(1, 20))
        seen.append(output_error(p, solver, state, best))
    assert max(seen) <= eps


def test_looks_cost_less_than_steps(monkeypatch):
    """All judgements together look at fewer rows than the steps do."""
    p = large(3000, 0.02)
    looked, real = [], LinearProblem.sampled_objective
    monkeypatch.setattr(
        LinearProblem,
        "sampled_objective",
        lambda self, rows, *point: looked.append(len(rows)) or real(self, rows, *point),
    )
    solver = Subgradient(average="uniform", stop="sampled", eps=1e-3)
    result = solve(p, solver, gap=-1.0, max_passes=1e6)
    assert len(looked) >= 3
    assert sum(looked) <= result.checkpoint.state.rows_visited


@pytest.mark.parametrize("average", ["random", "tail"])
def test_it_goes_on_bit_for_bit(average, tmp_path):
    p = large(2000, 0.2)
    solver = Subgradient(average=average, stop="sampled", eps=1.0 if average == "random" else 1e-4)
    whole = solve(p, solver, gap=-1.0, max_passes=1e6, seed=3)
    part = solve(p, solver, gap=-1.0, max_passes=1.5, seed=3)
    assert part.status is Status.MAX_PASSES
    save_checkpoint(tmp_path / "run", part.checkpoint, fingerprint(p), solver)
    checkpoint, again = load_checkpoint(tmp_path / "run", fingerprint(p))
    rest = solve(p, again, gap=-1.0, max_passes=1e6, checkpoint=checkpoint)
    assert rest.status is whole.status
    np.testing.assert_array_equal(rest.solution.w, whole.solution.w)


def test_an_estimator_takes_it_without_a_warning():
    X = matrix(300, 5)
    y = np.where(X[:, 0] > 0.2, 1, -1)
    solver = Subgradient(average="tail", stop="sampled", eps=0.05)
    model = LinearSVC(method=solver, lam=0.1, tol=1e-9, random_state=0).fit(X, y)
    assert model.status_ == "SETTLED"
    assert not model.converged_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"average": "tail"}, "stop must be 'gap', or 'bound' or 'sampled' with eps > 0"),
        ({"eps": 0.1}, "needs average 'uniform', 'tail' or 'random': the output of None"),
        ({"eps": 0.1, "average": "decaying"}, "the output of 'decaying' goes up and down"),
        ({"eps": 0.1, "average": "tail", "step_rule": "optimistic"}, "stops by itself"),
        (
            {"eps": 0.1, "average": "random", "step_rule": "bound"},
            "two attempts for step_rule",
        ),
        ({"eps": 0.1, "average": "random", "sampler": "fixed"}, "no theorem is about sampler"),
    ],
)
def test_what_it_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        solve(problem("hinge"), Subgradient(stop="sampled", **options), gap=0.1)


@pytest.mark.parametrize("stop", ["bound", "sampled"])
def test_no_theorem_is_about_a_free_bias(stop):
    solver = Subgradient(average="random", stop=stop, eps=0.1)
    with pytest.raises(ValueError, match="no theorem is about a free bias"):
        solve(problem("hinge", bias="free"), solver, gap=0.1)
