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
from gapsvm.reproduce.claims import AHEAD, Bar, Outcome
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


SHOWN, NOT_SHOWN, CONTRADICTED = Outcome
OPTIMA = {"a9a": 0.3518, "connect-4": 0.4847, "covtype": 0.5819, "ijcnn1": 0.1854}
OPTIMA |= {"mnist": 0.0984, "w8a": 0.1239, "imdb": 0.001, "news20": 0.0182}


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
        found.append(Result(task, k, OPTIMA[task.name], 1.0, full, counts, lists, lists))
    return found


def test_the_papers_table_agrees_with_the_paper() -> None:
    by_paper = {result.task.paper: result for result in as_printed(1)}
    for names, judge in STATEMENTS:
        for name in names:
            if name in by_paper:
                assert judge(by_paper[name], "kept").outcome is SHOWN, (judge, name)


@pytest.mark.parametrize(
    ("best", "passes"),
    [  # Pegasos, Adaptive, Proximal; P* is 0.4
        ((2.0, 1.9, 0.5), (None, 90, 9)),
        ((0.95, 0.9, 0.895), (90, 9, 10)),
        ((0.6, 0.5, 2.0), (3, 2, 9)),
    ],
)
def test_every_statement_is_judged_by_its_bar(best: Any, passes: Any) -> None:
    result = replace(
        as_printed(1)[1],
        optimum=0.4,
        best=dict(zip(("pegasos", "adaptive", "kept"), best)),
        passes=dict(zip(("pegasos", "adaptive", "kept"), passes)),
    )
    judges = {judge.__name__.strip("_"): judge(result, "kept").outcome for _, judge in STATEMENTS}
    pegasos, adaptive, own = best
    spread = max(best) - min(best)
    assert judges == {
        "proximal_lowest": AHEAD.outcome((min(pegasos, adaptive) - 0.4) / (own - 0.4)),
        "proximal_close": Bar(1e-3, 1e-2).outcome(own - min(best)),
        "alike": Bar(1e-3, 1e-2).outcome(spread),
        "pegasos_fails": Bar(1.0, 0.9).outcome(pegasos),
        "pegasos_works": Bar(0.9, 1.0).outcome(pegasos),
        "proximal_first": Bar(1.0, 0.5).outcome(
            min(p for p in passes[:2] if p is not None) / passes[2]
        ),
        "adaptive_wins": AHEAD.outcome(
            min((pegasos - 0.4) / (adaptive - 0.4), (own - 0.4) / (pegasos - 0.4))
        ),
    }


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

    strong = panel(100, pegasos=0.62, adaptive=0.61, kept=0.55, optimistic=0.7)
    weak = panel(1, pegasos=9.0, adaptive=0.9, kept=0.51, optimistic=0.52)
    found = figures.judged([[strong], [weak]], True)
    assert [v.outcome for v in found] == [SHOWN, SHOWN, CONTRADICTED, SHOWN]
    assert found[0].said == "shown: 2.2 at λ = 1e-6, 40 at λ = 1e-8"
    level = panel(1, pegasos=9.0, adaptive=0.61, kept=0.6, optimistic=0.62)
    found = figures.judged([[level], [level]], True)
    assert [v.outcome for v in found] == [NOT_SHOWN, NOT_SHOWN, NOT_SHOWN, NOT_SHOWN]
    assert found[3].said == "**not shown**: no advantage at λ_best, 0.92"
    found = figures.judged([[weak], [strong]], True)
    assert [v.outcome for v in found[:2]] == [SHOWN, CONTRADICTED]
    errors = figures.judged([[strong], [weak]], False)
    assert [v.outcome for v in errors] == [SHOWN, SHOWN, CONTRADICTED, SHOWN]


def test_the_page_shows_every_experiment() -> None:
    page = Path(__file__).parents[2] / "docs" / "reproduce.md"
    if not page.exists():
        pytest.skip("not in a checkout")
    for name in NAMES:
        assert name in page.read_text()
