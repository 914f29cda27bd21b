"""What users bring: a step rule, and a problem with its steps, each from a module of her own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from problems import matrix, problem, targets

from gapsvm import LinearSVC, OnlineSVC, Subgradient, solve
from gapsvm.backends import get_backend
from gapsvm.problems.certificate import Certificate
from gapsvm.registry.storable import storable
from gapsvm.solvers.subgradient.rules import STEP_RULES, Rates, get_step_rule, needs_ball
from gapsvm.solvers.subgradient.steps import steps_of
from gapsvm.training.checkpoint import fingerprint, load_checkpoint, save_checkpoint

CPU = get_backend("cpu")
X = matrix(60, 4)
Y = targets(X, "margin")


@storable
@dataclass(frozen=True)
class Slower:
    """η_t = 1/(λ(t + delay)); it says nothing of a ball."""

    delay: float = 10.0

    def rates(self, scale: Any, first: int, steps: int, curvature: float, backend: Any) -> Rates:
        times = np.arange(first + 1.0, first + steps + 1.0)
        return Rates(1.0 / (scale.lam * (times + self.delay)), 0.0, 0.0)


def test_a_rule_as_an_object(tmp_path: Any) -> None:
    """In a fit that goes on from a file, an estimator and a stream."""
    p, solver = problem("hinge", lam=0.1), Subgradient(step_rule=Slower(0.0), average="tail")
    same = solve(p, Subgradient(average="tail"), gap=0.0, max_passes=6)
    half = solve(p, solver, gap=0.0, max_passes=3)
    save_checkpoint(tmp_path / "half", half.checkpoint, fingerprint(p), solver)
    checkpoint, again = load_checkpoint(tmp_path / "half", fingerprint(p))
    assert again == solver
    whole = solve(p, again, gap=0.0, max_passes=6, checkpoint=checkpoint)
    np.testing.assert_array_equal(whole.solution.w, same.solution.w)
    assert LinearSVC(method=Subgradient(step_rule=Slower()), lam=0.1, tol=0.1).fit(X, Y).converged_
    model = OnlineSVC(step_rule=Slower(), lam=0.1, projection=1.0).fit(X, Y)
    assert 0 < np.linalg.norm(model.coef_) <= 1.0


def test_a_rule_by_a_name_of_its_own() -> None:
    STEP_RULES.add("slower", Slower, "1/(λ(t + delay))")
    try:
        assert get_step_rule("slower(delay=2)") == Slower(2)
        assert solve(problem("hinge"), Subgradient(step_rule="slower"), gap=0.2).gap <= 0.2
    finally:
        STEP_RULES.remove("slower")


def test_a_spec_is_the_rule_with_these_parameters() -> None:
    p = problem("hinge")
    by_spec, rule = Subgradient(step_rule="zhang(eta=0.1)"), STEP_RULES["zhang"](eta=0.1)
    assert by_spec.rule_object == rule
    fits = [solve(p, s, gap=0.0, max_passes=2) for s in (by_spec, Subgradient(step_rule=rule))]
    np.testing.assert_array_equal(fits[0].solution.w, fits[1].solution.w)


def test_every_rule_says_what_it_is() -> None:
    """A summary, parameters with defaults, and whether its theorem is about a ball."""
    assert [name for name, entry in STEP_RULES.items() if not needs_ball(entry.maker)] == [
        "pegasos",
        "norma",
        "zhang",
    ]
    for entry in STEP_RULES.values():
        assert entry.summary
        assert needs_ball(entry()) == needs_ball(entry.maker)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("zhang(beta=1)", "'zhang' has no parameter 'beta'; it takes: eta"),
        ("zhang(eta=fast)", "'zhang' takes as eta a number or none, not 'fast'"),
        (3, "a step rule is a name or an object with rates"),
    ],
)
def test_what_is_no_rule(rule: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        Subgradient(step_rule=rule)


class Bowl:
    """min ½‖w − c‖²: one row, whose pull is c, with λ = 1; the gap is known exactly."""

    n_rows = slice_rows = 1
    lam = 1.0

    def __init__(self, centre: Any) -> None:
        self.centre = centre

    @property
    def primal_at_zero(self) -> float:
        return 0.5 * float(self.centre @ self.centre)

    def certify(self, iterate: Any, backend: Any) -> Certificate:
        off = iterate - self.centre
        return Certificate(0.5 * float(off @ off), 0.0, iterate)


@steps_of.register(Bowl)
@dataclass(frozen=True)
class BowlSteps:
    problem: Bowl
    radius = ball_of_minimum = np.inf
    stiffness = 0.0

    @property
    def size(self) -> int:
        return len(self.problem.centre)

    def longest_pull(self, ball: float) -> float:
        return 1.0

    def refusal(self, solver: Any) -> str:
        return "" if solver.average is None else "a bowl has no averages"

    def table(self, backend: Any) -> Any:
        return np.zeros(0)

    def take(self, stretch: Any, weights: Any, table: Any, backend: Any) -> int:
        for eta, decay in zip(stretch.eta, stretch.decay):
            weights.v[:] = decay * weights.v + eta * self.problem.centre
        return len(stretch.eta)

    def iterate(self, point: Any, table: Any) -> Any:
        return point[:-1]


def test_a_problem_brings_its_steps() -> None:
    bowl = Bowl(np.array([3.0, -1.0]))
    found = solve(bowl, Subgradient(step_rule=Slower(1.0)), gap=1e-3, max_passes=1000)
    assert found.converged
    with pytest.raises(ValueError, match="a bowl has no averages"):
        solve(bowl, Subgradient(average="tail"), gap=1e-3)


def test_a_problem_without_steps_is_told_what_to_do() -> None:
    class Other:
        n_rows = slice_rows = 1
        lam = 1.0

    with pytest.raises(ValueError, match="no subgradient steps for a problem of type Other"):
        solve(Other(), Subgradient(), gap=0.1)
