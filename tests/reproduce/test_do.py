"""Do's experiments, run quickly; and what is said about them."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapsvm.backends import get_backend
from gapsvm.reproduce import EXPERIMENTS, Settings, run
from gapsvm.reproduce.do import figures, table1, tasks
from gapsvm.reproduce.do.table1 import Result, passes_to
from gapsvm.reproduce.do.table1_report import STATEMENTS, text
from gapsvm.reproduce.framework import Bench
from gapsvm.reproduce.linear import load, problem_of, watched
from gapsvm.solvers.subgradient.solver import Subgradient

NAMES = ("do-table1", "do-fig1", "do-fig2")


@pytest.fixture(autouse=True)
def _no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GAPSVM_DATA", raising=False)


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run(name: str, tmp_path: Path) -> None:
    """On the data that comes with gapsvm: files are there, and a second run measures nothing."""
    settings = Settings(tmp_path, quick=True, seeds=2)
    outcome = run(EXPERIMENTS[name], settings)
    assert outcome.complete
    assert [file.name for file in outcome.files] == [name + end for end in (".png", ".csv", ".md")]
    png, table, page = outcome.files
    assert png.read_bytes()[:4] == b"\x89PNG"
    with table.open() as file:
        assert set(EXPERIMENTS[name].columns) < set(next(csv.DictReader(file)))
    assert "quick run" in page.read_text()
    assert "a9a (not in the paper)" in page.read_text()
    assert run(EXPERIMENTS[name], settings).measured == 0


def test_the_full_plan(tmp_path: Path) -> None:
    """Eight sets at the paper's λ, both k, five methods; stand-ins are named."""
    cells = table1.plan(Settings(tmp_path, seeds=3))
    assert len(cells) == len(set(cells)) == 8 * 2 * 5 * 3
    assert {cell.passes for cell in cells} == {100}
    lam = {task.name: task.lam for task in tasks.TASKS}
    assert lam["covtype"] == lam["w8a"] == 1e-8
    titles = [task.title for task in tasks.TASKS]
    assert "imdb (stand-in for rcv1)" in titles
    assert "news20 (stand-in for real-sim)" in titles
    assert "mnist, 9 against the rest" in titles
    drawn = figures.plan(Settings(tmp_path))
    assert sorted({cell.lam for cell in drawn}) == pytest.approx([1e-8, 1e-7, 1e-6])
    left, right = figures.panels(Settings(tmp_path))
    assert left.title == "w8a (stand-in for combined)"
    assert right.title == "covtype"


def test_passes_to_a_share_of_the_reduction() -> None:
    assert passes_to(0.99, [0.9, 0.51, 0.504, 0.5], 1.0) == 3
    assert passes_to(0.99, [0.5, 0.6], 1.0) == 1
    assert passes_to(0.99, [3.0, 1.2], 1.0) is None


def quick_problem(tmp_path: Path) -> Any:
    bench = Bench(Settings(tmp_path, quick=True))
    return problem_of(tasks.QUICK[0], bench), bench


def test_the_objective_is_that_of_the_certificate(tmp_path: Path) -> None:
    problem, bench = quick_problem(tmp_path)
    solver, backend = Subgradient(10, True, step_rule="optimistic"), get_backend()
    for look in watched(solver, problem, (0, 10), (50, 400), bench):
        iterate = replace(solver.iterate(problem, look.state), try_combination=False)
        assert look.steps == look.state.steps
        assert look.objective == pytest.approx(problem.certify(iterate, backend).primal, rel=1e-12)


def test_training_and_test_rows_are_apart(tmp_path: Path) -> None:
    bench = Bench(Settings(tmp_path, quick=True))
    task = tasks.QUICK[0]
    loaded = load(task, bench)
    assert loaded.rows.shape[0] == task.train
    assert len(loaded.y) + len(loaded.y_test) == 32_561
    assert loaded.X_test.shape[0] == len(loaded.y_test)
    first = load(replace(task, part="first"), bench)
    assert first.rows.shape[0] == task.train
    assert len(first.y_test) == 16_281
    other = load(replace(task, positive=-1), bench)
    assert np.array_equal(other.y, -loaded.y)
    assert np.array_equal(other.y_test, -loaded.y_test)


def test_every_row_of_a9a_is_long(tmp_path: Path) -> None:
    """Hence Algorithm 3 as printed degenerates at k = 1, and does not at k = 10."""
    problem, bench = quick_problem(tmp_path)
    assert table1.long_rows(problem) > 0.9
    ends = {}
    for k in (1, 10):
        solver = Subgradient(k, True, step_rule="optimistic")
        (look,) = watched(solver, problem, (0, k), [4_000], bench)
        ends[k] = look.state.R
    assert ends[1] > 0.5 * problem.lam**-0.5
    assert ends[10] < 20


# -- what is said about Table 1 --------------------------------------------------------------------


def as_printed(k: int, proximal: str = "kept") -> list[Result]:
    """The paper's own table as a measurement."""
    found = []
    for task in tasks.TASKS:
        printed = tasks.TABLE[task.paper]
        best = {**printed.best, proximal: printed.best["proximal"]}
        passes = {**printed.passes, proximal: printed.passes["proximal"]}
        full = {m: best.get(m, best[proximal]) for m in tasks.METHODS}
        counts = {m: passes.get(m, passes[proximal]) for m in tasks.METHODS}
        lists = {m: [value] for m, value in full.items()}
        found.append(Result(task, k, 0.0, 1.0, full, counts, lists, lists))
    return found


def test_the_papers_table_agrees_with_the_paper() -> None:
    by_name = {result.task.name: result for result in as_printed(1)}
    for statement, names, judge in STATEMENTS:
        for name in names:
            assert judge(by_name[name], "kept")[0], (statement, name)


def test_another_table_does_not() -> None:
    result = as_printed(1)[1]
    worse = replace(
        result,
        best={**result.best, "kept": 2.0, "pegasos": 0.7, "adaptive": 0.6},
        passes={**result.passes, "kept": 99, "pegasos": 3},
    )
    judges = {statement: judge for statement, _, judge in STATEMENTS}
    for words in ("Proximal finds", "Pegasos never", "Proximal needs", "all three"):
        (judge,) = [judge for statement, judge in judges.items() if statement.startswith(words)]
        assert judge(worse, "kept")[0] is False


def test_the_text_sets_both_side_by_side(tmp_path: Path) -> None:
    found = [r for pair in zip(as_printed(1), as_printed(10)) for r in pair]
    said = text(found, [{"seconds": 1, "passes": 100}], Settings(tmp_path))
    assert "| **covtype, the paper's** | 1.4852 (n/a) | 0.7217 (96) | 0.5830 (12) |" in said
    assert "imdb (stand-in for rcv1)" in said
    assert "Closest to the paper's Proximal" in said
    assert "| Pegasos, k = 1 | 0.0 % |" in said


def test_figures_judge_by_the_last_iterate() -> None:
    def panel(factor: int, **last: float) -> figures.Panel:
        x = np.arange(1.0, 4.0)
        curves = {m: (x, np.full((3, 3), value)) for m, value in last.items()}
        return figures.Panel(replace(tasks.TASKS[2], lam=factor * 1e-8), factor, curves, 0.5)

    strong = panel(100, pegasos=0.62, adaptive=0.61, kept=0.6, optimistic=0.7)
    weak = panel(1, pegasos=9.0, adaptive=0.9, kept=0.51, optimistic=0.52)
    kept, printed = figures.judgements([[strong], [weak]], True)
    assert "seen: at λ = 1e-6, 1e-8" in kept
    assert "**not seen**: at λ = 1e-8" in printed
    assert "1.1 times its distance from P* at 100 λ_best, 40 times at λ_best" in kept


def test_the_page_shows_every_experiment() -> None:
    page = Path(__file__).parents[2] / "docs" / "reproduce.md"
    if not page.exists():
        pytest.skip("not in a checkout")
    for name in NAMES:
        assert name in page.read_text()
