"""Bundle methods: the optimum, an honest lower bound, bounded memory, and the loop's promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import matrix, targets

from gapsvm import (
    Bundle,
    InteriorPoint,
    LevelBundle,
    LinearProblem,
    ProximalBundle,
    RiskProblem,
    Status,
    get_loss,
    solve,
)
from gapsvm.problems.linear_risk import Pulls
from gapsvm.problems.risk import Cut
from gapsvm.solvers.bundle.cuts import Cuts
from gapsvm.training.checkpoint import fingerprint, load_checkpoint, save_checkpoint

X = matrix(60, 6)
Y = targets(X, "margin")
LAM = 1e-3
METHODS = {
    "standard": Bundle(),
    "proximal": ProximalBundle(),
    "one tau": ProximalBundle(tau="single", radius="bound"),
    "level": LevelBundle(),
}
every_method = pytest.mark.parametrize("solver", METHODS.values(), ids=METHODS)


def hinge(w):
    """The mean hinge loss and a subgradient."""
    margins = Y * (X @ w)
    pulls = np.where(margins < 1, Y, 0.0)
    return np.maximum(0.0, 1.0 - margins).mean(), -pulls @ X / len(Y)


def risk_problem(floor=0.0, oracle=hinge):
    return RiskProblem(oracle, LAM, n_features=X.shape[1], floor=floor)


@pytest.fixture(scope="module")
def optimum():
    exact = solve(LinearProblem(X, Y, get_loss("hinge"), LAM), InteriorPoint(), gap=1e-13)
    return exact.certificate.primal


@every_method
@pytest.mark.parametrize("floor", [0.0, -np.inf])
def test_the_optimum_with_an_honest_bound(solver, floor, optimum):
    """Σα ≤ 1 with a floor, Σα = 1 without: the bound never exceeds P*, and both meet there."""
    result = solve(risk_problem(floor), solver, gap=1e-9, max_passes=2000, evaluate_every=1)
    assert result.converged
    assert all(record.dual <= optimum + 1e-12 for record in result.trace)
    assert all(record.primal >= optimum - 1e-12 for record in result.trace)
    assert result.certificate.primal == pytest.approx(optimum, abs=2e-9)
    lower = [record.dual for record in result.trace]
    assert all(np.diff(lower) >= -1e-12)


@every_method
def test_a_risk_below_zero(solver, optimum):
    """R − 5 has the same minimiser; no floor is given."""
    problem = risk_problem(-np.inf, lambda w: (hinge(w)[0] - 5.0, hinge(w)[1]))
    result = solve(problem, solver, gap=1e-9, max_passes=2000)
    assert result.converged
    assert result.certificate.primal == pytest.approx(optimum - 5.0, abs=2e-9)


@every_method
def test_few_cuts_are_enough(solver, optimum):
    """With room for ten: memory stays bounded, the bound never falls, the optimum is found."""
    small = replace(solver, max_cuts=10)
    result = solve(risk_problem(), small, gap=1e-6, max_passes=3000, evaluate_every=1)
    assert result.converged
    assert len(result.checkpoint.state.cuts) <= 11
    assert all(np.diff([record.dual for record in result.trace]) >= -1e-11)
    assert result.certificate.dual <= optimum + 1e-12


@every_method
def test_wide_cuts_are_fewer(solver):
    """A gigabyte for all, twenty at least; a number that is given counts."""
    rows = Pulls(np.zeros(1 << 21, np.uint8), np.zeros(0), None)
    for cut, expected in (
        (Cut(np.zeros(1 << 20), 0.0, rows), (1 << 30) // (10 << 20)),
        (Cut(np.zeros(1 << 23), 0.0, np.zeros(5)), 20),
        (Cut(np.zeros(0), 0.0), 200),
    ):
        assert solver.room(Cuts([cut])) == expected
        assert replace(solver, max_cuts=7).room(Cuts([cut])) == 7


@every_method
def test_resuming_is_bit_equal(tmp_path, solver):
    path, options = tmp_path / "state", {"gap": 0.0, "evaluate_every": 1.0}
    whole = solve(risk_problem(), solver, max_passes=12, **options)
    first = solve(risk_problem(), solver, max_passes=5, **options)
    save_checkpoint(path, first.checkpoint, fingerprint(risk_problem()), solver)
    checkpoint, stored = load_checkpoint(path, fingerprint(risk_problem()))
    second = solve(risk_problem(), stored, max_passes=12, checkpoint=checkpoint, **options)
    np.testing.assert_array_equal(second.solution.w, whole.solution.w)
    assert [r.gap for r in second.trace] == [r.gap for r in whole.trace]


@every_method
def test_a_warm_start_begins_with_what_is_proved(solver):
    """The weights and the cut of an earlier fit: its gap at once."""
    problem = risk_problem()
    before = solve(problem, solver, gap=1e-4, max_passes=1000)
    warm = solver.warmed(before.solution)
    after = solve(problem, warm, gap=1e-4, max_passes=1000, warm=before.solution)
    assert after.converged
    assert after.passes == 0
    onward = solve(problem, warm, gap=0.0, max_passes=3, evaluate_every=1)
    assert onward.trace[0].gap <= before.gap + 1e-12


@every_method
def test_a_fit_that_is_stopped_at_once_is_certified(solver):
    result = solve(risk_problem(), solver, gap=1e-9, time_limit=0.0)
    assert result.status is Status.TIME_LIMIT
    assert (result.certificate.primal, result.certificate.dual) == (1.0, 0.0)
    result = solve(risk_problem(), solver, gap=1e-9, callbacks=[lambda record: True])
    assert result.status is Status.STOPPED_BY_CALLBACK


@every_method
def test_it_knows_when_nothing_more_can_be_done(solver):
    """A gap of zero is out of reach of rounding: the fit ends by itself."""
    result = solve(risk_problem(), solver, gap=-1.0, max_passes=5000)
    assert result.status is Status.STALLED
    assert result.gap <= 1e-12


@every_method
def test_what_shows_no_risk_is_refused(solver):
    class Nothing:
        lam = 1.0

    with pytest.raises(ValueError, match="shows its R"):
        solve(Nothing(), solver, gap=0.1)
    with pytest.raises(ValueError, match="max_cuts"):
        replace(solver, max_cuts=2)
