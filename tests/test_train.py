"""From a problem to a certified model: plans, stages, one-vs-rest."""

from __future__ import annotations

import numpy as np
import pytest
from problems import LOSS_NAMES, matrix, problem, targets

from gapsvm import METHODS, InteriorPoint, LinearProblem, Status, get_loss, solve
from gapsvm.backends import get_backend
from gapsvm.problems.certificate import Certificate
from gapsvm.rows.matrix import checked_rows
from gapsvm.training.plan import plan
from gapsvm.training.several import train_several
from gapsvm.training.train import Options, train

FORESEEN = Options().foreseen


def wide(loss="hinge", lam=1e-3):
    """Too large to be solved exactly where that takes longer than a few passes."""
    return problem(loss, 3000, 150, lam=lam)


@pytest.mark.parametrize(
    ("method", "loss", "first"),
    [
        ("auto", "hinge", "exact"),
        ("auto", "logistic", "exact"),
        ("sdca", "hinge", "sdca"),
        ("interior", "hinge", "interior"),
        ("pegasos", "hinge", "pegasos"),
        ("primal", "hinge", "interior"),
        ("primal", "logistic", "interior"),
    ],
)
def test_plans_of_small_problems(method, loss, first):
    stages = plan(problem(loss), method, FORESEEN)
    later = ["interior"] if method == "auto" else []  # where rounding ends the first too early
    assert [stage.method for stage in stages] == [first, *later]


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize(("lam", "first"), [(1.0, "sdca"), (3e-4, "accelerated")])
def test_the_plan_of_a_large_problem_changes_method(lam, first, loss):
    stages = plan(wide(loss, lam), "auto", FORESEEN)
    assert [stage.method for stage in stages] == [first, "exact", "interior"]
    assert stages[0].max_passes < np.inf


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_what_would_take_many_passes_is_solved_exactly(loss):
    assert plan(wide(loss, 1e-9), "auto", FORESEEN)[0].method == "exact"


def test_unknown_method_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown method 'magic'") as error:
        plan(problem("hinge"), "magic", FORESEEN)
    assert all(method in str(error.value) for method in METHODS)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_auto_reaches_its_tolerance(loss):
    p = problem(loss, lam=0.01, bias="free")
    fit = train(p, Options(tol=1e-6, max_passes=50_000))
    assert fit.result.status is Status.CONVERGED
    assert fit.result.gap <= 1e-6 * p.primal_at_zero


def test_stages_make_one_trace(monkeypatch):
    """SDCA cannot reach 1e-10 here; exact steps do; passes and clocks go on."""
    monkeypatch.setattr("gapsvm.training.plan.is_small", lambda *about: False)
    p = problem("hinge", 3000, 150, lam=1e-6)
    fit = train(p, Options(tol=1e-10, max_passes=10**5))
    assert fit.method == "exact"
    assert fit.result.converged
    for name in ("passes", "seconds", "evaluation_seconds"):
        values = [getattr(record, name) for record in fit.result.trace]
        assert values == sorted(values)
    assert fit.result.trace[-1].gap == fit.result.gap
    assert fit.result.passes >= fit.result.trace[-1].passes


def test_the_budget_of_passes_covers_all_stages():
    p = problem("hinge", 3000, 150, lam=1e-6)
    fit = train(p, Options(tol=1e-12, max_passes=15))
    assert fit.result.status is Status.MAX_PASSES
    assert fit.result.passes < 16  # a step of the interior point is never cut


def test_a_callback_stops_all_stages():
    fit = train(problem("hinge", 3000, 150, lam=1e-6), Options(tol=1e-10, callbacks=[bool]))
    assert fit.result.status is Status.STOPPED_BY_CALLBACK


class WithoutScale:
    """|w| at w = 0, of which nothing else is known."""

    n_rows = slice_rows = 1

    def certify(self, iterate, backend):
        return Certificate(0.0, 0.0, iterate)


def test_a_problem_without_a_scale():
    with pytest.raises(ValueError, match="needs gap, the absolute one"):
        solve(WithoutScale())
    with pytest.raises(ValueError, match="needs a method by name"):
        solve(WithoutScale(), gap=1.0)


class Several:
    """A problem for each target over the same rows."""

    def __init__(self, X, ys, lam):
        self.rows, self.ys, self.lam = checked_rows(X, get_backend()), ys, lam

    def __len__(self):
        return len(self.ys)

    def problem(self, k):
        return LinearProblem(self.rows, self.ys[k], get_loss("hinge"), self.lam, bias="free")


def test_one_problem_per_target_over_the_same_rows():
    X = matrix(60, 5, layout="csr")
    ys = [targets(X, "margin", seed) for seed in range(4)]
    problems = Several(X, ys, 0.05)
    fits = train_several(problems, Options(tol=1e-9, threads=3))
    assert np.shares_memory(problems.rows.view.data, X.data)
    for y, fit in zip(ys, fits):
        p = LinearProblem(X, y, get_loss("hinge"), 0.05, bias="free")
        best = solve(p, InteriorPoint(), gap=1e-10)
        assert fit.result.certificate.primal == pytest.approx(best.certificate.primal, abs=1e-8)


def test_targets_get_seeds_of_their_own():
    """The same target twice is visited in two orders."""
    X = matrix(60, 5)
    y = targets(X, "margin")
    options = Options(method="sdca", tol=0.3, seed=1)
    a, b = train_several(Several(X, [y, y], 0.01), options)
    assert not np.array_equal(a.solution.w, b.solution.w)
