"""What the papers say without a figure: run quickly, and judged on made-up results."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapsvm.losses.registry import get_loss
from gapsvm.problems.linear import LinearProblem
from gapsvm.reproduce import EXPERIMENTS, Settings, run
from gapsvm.reproduce.claims import Outcome, Verdict
from gapsvm.reproduce.do import best_lambda
from gapsvm.reproduce.do.tasks import TASKS as DO_TASKS
from gapsvm.reproduce.pegasos import bias, bias_error, bias_rate, cost
from gapsvm.reproduce.takac import ball, rho, tasks
from gapsvm.reproduce.takac import beta as takac_beta
from gapsvm.solvers.minibatch.solver import MiniBatchSDCA

NAMES = (
    "takac-ball",
    "takac-beta",
    "takac-rho",
    "pegasos-bias-rate",
    "pegasos-bias-error",
    "pegasos-cost",
    "do-lambda",
)
SHOWN, NOT_SHOWN, CONTRADICTED = Outcome


def outcomes(verdicts: list[Verdict]) -> list[Outcome]:
    return [verdict.outcome for verdict in verdicts]


def flat_curve(x: Any, value: Any) -> tuple[Any, Any]:
    values = np.broadcast_to(value, (len(x),)).astype(float)
    return np.asarray(x, dtype=float), np.repeat(values[:, None], 3, axis=1)


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GAPSVM_DATA", raising=False)
    settings = Settings(tmp_path, quick=True, seeds=1)
    outcome = run(EXPERIMENTS[name], settings)
    assert [file.name for file in outcome.files] == [name + end for end in (".png", ".csv", ".md")]
    png, table, page = outcome.files
    assert png.read_bytes()[:4] == b"\x89PNG"
    with table.open() as file:
        assert set(EXPERIMENTS[name].columns) < set(next(csv.DictReader(file)))
    assert "quick run" in page.read_text()
    assert run(EXPERIMENTS[name], settings).measured == 0


def speed(iterations: Any) -> ball.Speed:
    b = np.array([1.0, 16.0, 256.0])
    return ball.Speed(tasks.BY_NAME["imdb-rcv1"], *flat_curve(b, iterations), 1 / 16, 40.0)


def test_the_ball_is_judged() -> None:
    papers = speed([1.0, 1.0, 1.0])
    bounds = papers.bound
    assert outcomes(ball.verdicts_of([replace(papers, iterations=flat_curve(papers.b, bounds)[1])]))
    assert outcomes(ball.verdicts_of([speed(0.1 * bounds)])) == [SHOWN, SHOWN]
    slow = speed(1.2 * bounds[0] / np.array([1.0, 3.0, 6.0]))
    assert outcomes(ball.verdicts_of([slow])) == [NOT_SHOWN, CONTRADICTED]
    assert outcomes(ball.verdicts_of([speed(1.2 * bounds)]))[1] is NOT_SHOWN
    none = speed(0.1 * bounds[0] * np.ones(3))
    assert outcomes(ball.verdicts_of([none]))[0] is CONTRADICTED
    never = speed([math.inf] * 3)
    assert outcomes(ball.verdicts_of([never])) == [NOT_SHOWN, CONTRADICTED]


def sweep(
    counts: dict[float, float], crude: float = 1.0, end: float = 9e-4, least: float = math.inf
) -> Any:
    """Iterations of safe SDCA by the factor of σ²; of the aggressive at 10σ² and at the least σ²
    over those at σ².
    """

    def row(count: float, distance: float = 9e-4) -> dict[str, Any]:
        outcome = "reached" if count < math.inf else "stuck"
        return {"outcome": outcome, "iterations": count, "suboptimality": distance}

    runs = {("safe", f): [row(c, end if f == 1 else 9e-4)] for f, c in counts.items()}
    ratios = {10.0: crude, min(counts): least}
    runs |= {("aggressive", f): [row(100 * ratios.get(f, 1.0))] for f in counts}
    return takac_beta.Sweep(tasks.BY_NAME["cov1"], 0.415, runs, {})


def test_beta_is_judged() -> None:
    papers = sweep({0.01: math.inf, 0.1: 300, 1.0: 1000, 2.0: 2000, 10.0: 2400})
    assert outcomes(takac_beta.judged(papers)) == [SHOWN] * 5
    between = sweep({0.01: 1100, 0.1: 900, 1.0: 1000, 2.0: 1200, 10.0: 1200}, 2.0, 5e-3, 1.1)
    assert outcomes(takac_beta.judged(between)) == [NOT_SHOWN] * 5
    assert "up to σ² × 0.01" in takac_beta._lost(papers)
    other = sweep({0.01: 1000, 0.1: 1000, 1.0: 1000, 2.0: 1000, 10.0: 900}, 3.0, 0.1, 1.0)
    assert outcomes(takac_beta.judged(other)) == [CONTRADICTED] * 5


def test_beta_is_that_of_the_factor(tmp_path: Path) -> None:
    cells = takac_beta.plan(Settings(tmp_path, quick=True, seeds=1))
    for cell in (c for c in cells if not c.trace):
        solver = takac_beta.solver_of(cell, 0.3)
        assert isinstance(solver, MiniBatchSDCA)
        assert solver.sigma2 == min(1.0, 0.3 * cell.factor)
    assert {c.b for c in cells if c.trace} == set(takac_beta.TRACED_SIZES)


def test_too_small_a_beta_is_given_up(tmp_path: Path) -> None:
    cell = takac_beta.plan(Settings(tmp_path, quick=True, seeds=1))[0]
    assert cell.factor < 1
    rest, falling = [0.5] * 40, list(0.5 * 0.8 ** np.arange(40))
    assert takac_beta.stuck(rest, cell, 41 * cell.train)
    assert not takac_beta.stuck(rest, cell, 39 * cell.train)
    assert not takac_beta.stuck(falling, cell, 41 * cell.train)
    assert not takac_beta.stuck(rest, replace(cell, factor=1.0), 41 * cell.train)


@pytest.mark.parametrize(
    ("many", "outcome"), [(95.0, SHOWN), (60.0, NOT_SHOWN), (40.0, CONTRADICTED)]
)
def test_rounds_of_rho_are_judged(many: float, outcome: Outcome) -> None:
    found = {"news20b": flat_curve((1, 2, 5), [100.0, 90.0, many])}
    assert outcomes(rho.judged(found)) == [outcome]


def test_algorithm_2_is_the_solvers(tmp_path: Path) -> None:
    """One round in NumPy takes the steps of MiniBatchSDCA(rule="aggressive"): D never falls."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    X /= np.linalg.norm(X, axis=1).max()
    y = np.where(X[:, 0] + 0.1 * rng.normal(size=60) > 0, 1.0, -1.0)
    problem = LinearProblem(X, y, get_loss("hinge"), 1e-2)
    for rounds in (1, 3):
        run = rho.algorithm2(X, y, 1e-2, 60, 60.0, rounds, np.random.default_rng(1))
        values = [problem.objective(at.w, 0.0, X @ at.w) for _, at in zip(range(400), run)]
        assert values[-1] < values[0]
        if rounds == 1:  # the whole set each time: there is nothing to draw
            from gapsvm.backends import get_backend

            solver = MiniBatchSDCA("aggressive", 60, form="unit")
            state = solver.init(problem, get_backend(), np.random.default_rng(2))
            solver.advance(problem, state, get_backend(), 400 * 60)
            assert problem.objective(state.w, 0.0, X @ state.w) == pytest.approx(values[-1])


@pytest.mark.parametrize(("power", "outcome"), [(-0.5, SHOWN), (-0.2, NOT_SHOWN), (0.0, None)])
def test_the_rate_with_a_bias_is_judged(power: float, outcome: Outcome | None) -> None:
    passes = np.geomspace(0.1, 50, 20)
    curves = {("w8a", name): flat_curve(passes, passes**power) for name in bias_rate.SHOWN}
    found = outcomes(bias_rate.judged(curves, bias.TASKS[:1]))
    assert found == [outcome or NOT_SHOWN] * 2 or found == [CONTRADICTED] * 2
    rising = {key: flat_curve(x, x**0.2) for key, (x, _) in curves.items()}
    assert outcomes(bias_rate.judged(rising, bias.TASKS[:1])) == [CONTRADICTED] * 2


@pytest.mark.parametrize(
    ("with_bias", "outcome"), [(0.105, SHOWN), (0.085, NOT_SHOWN), (0.07, CONTRADICTED)]
)
def test_a_change_of_the_test_error_is_judged(with_bias: float, outcome: Outcome) -> None:
    row = {"error_without": 0.1, "error_with": with_bias, "only_without": 30, "only_with": 6}
    pair = bias_error.Pair(bias_error.TASKS[0], row)
    assert outcomes(bias_error.judged([pair])) == [outcome]
    assert pair.deviations == 4.0


def test_the_cost_of_a_step_is_judged() -> None:
    d, n = np.array(cost.NONZEROS, dtype=float), np.array(cost.FEATURES, dtype=float)

    def costs(power: float, growth: float) -> cost.Costs:
        widths = growth ** (np.arange(len(n)) / (len(n) - 1))
        return cost.Costs(flat_curve(d, d**power), flat_curve(n, 50 * widths))

    assert outcomes(cost.judged(costs(1.0, 2.0))) == [SHOWN, SHOWN]
    assert outcomes(cost.judged(costs(1.3, 10.0))) == [NOT_SHOWN, NOT_SHOWN]
    assert outcomes(cost.judged(costs(1.6, 50.0))) == [CONTRADICTED, CONTRADICTED]


def test_rows_on_the_clock_are_distinct_features() -> None:
    problem = cost.problem_of(cost.CostCell(8, 64, 20, 0, 0.01))
    X = problem.rows.to_scipy()
    assert X.shape == (20, 64)
    assert X.nnz == 160
    assert np.allclose(problem.sq_norms, 1.0)


def validated(error: Any, lam: float = 1e-7) -> best_lambda.Validated:
    grid = np.array([1e-9, 1e-7, 1e-5, 1e-3])
    task = replace(DO_TASKS[0], lam=lam)
    return best_lambda.Validated(task, grid, np.array(error), np.full(4, 0.01), 1e-3)


def test_lambda_is_judged() -> None:
    small, large = validated([0.11, 0.1, 0.2, 0.3]), validated([0.3, 0.3, 0.3, 0.1], 1e-3)
    assert small.largest_as_good == 1e-7
    assert outcomes(best_lambda.judged([small])) == [SHOWN, SHOWN]
    assert outcomes(best_lambda.judged([large])) == [SHOWN, CONTRADICTED]
    near = validated([0.1, 0.12, 0.2, 0.2])
    assert outcomes(best_lambda.judged([near])) == [NOT_SHOWN, SHOWN]
    assert outcomes(best_lambda.judged([validated([0.1, 0.2, 0.2, 0.2])]))[0] is CONTRADICTED
    assert outcomes(best_lambda.judged([small, large, large]))[-1] is NOT_SHOWN


def test_folds_are_parts(tmp_path: Path) -> None:
    from gapsvm.reproduce.do.tasks import QUICK
    from gapsvm.reproduce.framework import Bench

    bench = Bench(Settings(tmp_path, quick=True))
    parts = [best_lambda.fold_of(QUICK[0], fold, bench) for fold in range(best_lambda.FOLDS)]
    assert sum(len(part.y_held) for part in parts) == QUICK[0].train
    assert all(len(part.y) + len(part.y_held) == QUICK[0].train for part in parts)


def test_the_page_shows_every_experiment() -> None:
    page = Path(__file__).parents[2] / "docs" / "reproduce.md"
    if not page.exists():
        pytest.skip("not in a checkout")
    for name in NAMES:
        assert name in page.read_text()
