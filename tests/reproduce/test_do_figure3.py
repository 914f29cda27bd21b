"""Do's Figure 3: run quickly, and what is said about it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapsvm import RankSVC, RNAFolder
from gapsvm.reproduce import EXPERIMENTS, Settings, run
from gapsvm.reproduce.claims import Outcome
from gapsvm.reproduce.do import figure3
from gapsvm.reproduce.do.figure3 import Panel, Ratio, ratio_of, times_larger
from gapsvm.reproduce.do.figure3_tasks import (
    FOLDING_GRID,
    RANKING_GRID,
    TASKS,
    FoldTask,
    RankTask,
    drawn,
)
from gapsvm.reproduce.framework import Bench

NAME = "do-fig3"
SHOWN, NOT_SHOWN, CONTRADICTED = Outcome


def test_a_quick_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GAPSVM_DATA", raising=False)
    settings = Settings(tmp_path, quick=True)
    outcome = run(EXPERIMENTS[NAME], settings)
    assert outcome.complete
    assert [file.name for file in outcome.files] == [NAME + end for end in (".png", ".csv", ".md")]
    assert "quick run" in outcome.files[2].read_text()
    assert run(EXPERIMENTS[NAME], settings).measured == 0


def test_the_full_plan(tmp_path: Path) -> None:
    """Three sets, three λ, two methods and the optimum, each once: nothing is random."""
    cells = figure3.plan(Settings(tmp_path, seeds=3))
    assert len(cells) == len(set(cells)) == 3 * 3 * 3
    for task in TASKS:
        lams = sorted({cell.lam for cell in cells if cell.task == task.name}, reverse=True)
        assert lams == pytest.approx([factor * task.lam for factor in task.factors])


def panel(standard: Any, proximal: Any, lam: float = 1e-3) -> Panel:
    best = {"bundle": np.array(standard), "proximal-bundle": np.array(proximal)}
    return Panel(RankTask("ohsumed", lam), 1.0, best, 1.0, 0.5)


def test_when_a_run_arrives() -> None:
    slow, fast, never = [1, 1, 0.9, 0.505], [1, 0.505, 0.5, 0.5], [1, 1, 1, 0.6]
    assert panel(slow, fast).arrived("bundle") == 4
    assert panel(slow, fast).improved("bundle") == 3
    assert panel(never, fast).arrived("bundle") == math.inf
    assert ratio_of(panel(slow, fast)) == Ratio(2, 2)
    assert ratio_of(panel(never, fast)) == Ratio(2, math.inf)
    assert ratio_of(panel(fast, never)) == Ratio(0, 0.5)
    assert ratio_of(panel(never, never)) == Ratio(0, math.inf)
    assert [str(Ratio(*r)) for r in ((2, 2), (2, math.inf), (0, 0.5), (0, math.inf))] == [
        "2", "above 2", "below 0.5", "neither arrived",
    ]  # fmt: skip
    assert times_larger(Ratio(3, math.inf), Ratio(2, 2)) == 1.5
    assert times_larger(Ratio(1, 1), Ratio(2, math.inf)) == 0.5
    assert math.isnan(times_larger(Ratio(2, math.inf), Ratio(2, math.inf)))


def outcomes(strong: Panel, weak: Panel) -> list[Outcome]:
    return [verdict.outcome for verdict in figure3.judged([[strong], [weak]])]


def test_the_paper_is_judged() -> None:
    at_once, late = [0.505] * 40, [1.0] * 20 + [0.9] * 19 + [0.505]
    two, four = [1.0, 0.505] + [0.5] * 38, [1.0] * 3 + [0.505] * 37
    assert outcomes(panel(two, at_once), panel(late, at_once)) == [SHOWN] * 3
    assert outcomes(panel(late, at_once), panel(two, at_once)) == [
        SHOWN,
        CONTRADICTED,
        CONTRADICTED,
    ]
    three = [1.0, 1.0] + [0.505] * 38
    assert outcomes(panel(three, two), panel(three, two)) == [NOT_SHOWN] * 3
    assert outcomes(panel(two, four), panel(two, four))[0] is CONTRADICTED
    never = [1.0] * 40
    assert outcomes(panel(never, never), panel(late, at_once))[0] is NOT_SHOWN
    assert outcomes(panel(never, never), panel(two, four))[0] is CONTRADICTED
    steps = figure3.judged([[panel(two, at_once)], [panel(four, at_once)]])[2]
    assert steps.said == "shown: in iteration 2, 4"


def of_kind(kind: type) -> Any:
    return pytest.mark.parametrize(
        "task", [task for task in TASKS if isinstance(task, kind)], ids=lambda task: task.name
    )


@pytest.mark.slow
@of_kind(RankTask)
def test_lambda_best_is_what_validation_picks(task: RankTask, data_folder: Path) -> None:
    """Of the powers of ten; at the optimum of each, to 1e-5 of P(0)."""
    data = task.data(Bench(Settings(Path(), data_folder=data_folder)))
    train, held = np.isin(data.folds, task.train), data.folds == task.validate
    found = {}
    for lam in RANKING_GRID:
        model = RankSVC(lam=lam, tol=1e-5, max_iter=3000)
        model.fit(data.X[train], data.y[train], data.qid[train])
        found[lam] = model.score(data.X[held], data.y[held], data.qid[held])
    assert max(found, key=lambda lam: found[lam]) == task.lam


def test_sequences_are_drawn_once_and_in_families(tmp_path: Path) -> None:
    quick = next(task for task in figure3.QUICK if isinstance(task, FoldTask))
    bench = Bench(Settings(tmp_path, quick=True))
    problem, data = quick.problem(0.1, bench), quick.data(bench)
    assert problem.n_rows == 12
    assert problem.n_dropped == 0
    assert [len(chosen) for chosen in drawn(data).values()] == [6, 6]
    again = RNAFolder(lam=0.1, tol=1e-3).fit(data.X, data.y)
    assert again.score(data.X, data.y) > 0.5
    folds = next(task for task in TASKS if isinstance(task, FoldTask))
    assert folds.lam in FOLDING_GRID
