"""Takáč's experiments, run quickly; and what is said about them."""

from __future__ import annotations

import csv
import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapsvm.backends import get_backend
from gapsvm.cli import main
from gapsvm.problems.linear import Iterate
from gapsvm.reproduce import EXPERIMENTS, Settings, linear
from gapsvm.reproduce.framework import Bench
from gapsvm.reproduce.takac import figure1, figure2, tasks
from gapsvm.reproduce.takac.figure1 import CountCell, Counts, stuck
from gapsvm.reproduce.takac.figure1_report import STATEMENTS

NAMES = ("takac-table1", "takac-fig1", "takac-fig2")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """``gapsvm reproduce`` without a data folder: exit code, standard output, standard error."""
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.delenv("GAPSVM_DATA", raising=False)

    def run(*arguments: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["reproduce", *map(str, arguments)])
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def test_the_list_says_what_there_is(command: Any) -> None:
    code, out, _ = command("--list")
    assert code == 0
    assert command()[1] == out
    for experiment in EXPERIMENTS.values():
        lines = out.splitlines()
        (at,) = [k for k, line in enumerate(lines) if line.startswith(experiment.name)]
        for word in (experiment.paper, experiment.shows, experiment.time, *experiment.data):
            assert word in "".join(lines[at : at + 2])


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run(name: str, command: Any, tmp_path: Path) -> None:
    """On the data that comes with gapsvm: files are there, and a second run measures nothing."""
    arguments = (name, "--quick", "--seeds", "1", "--output", tmp_path / "out")
    code, out, err = command(*arguments)
    assert code == 0, err
    written = [Path(line) for line in out.splitlines()]
    assert [file.name for file in written] == [name + end for end in (".png", ".csv", ".md")]
    assert written[0].read_bytes()[:4] == b"\x89PNG"
    experiment = EXPERIMENTS[name]
    cells = experiment.plan(Settings(tmp_path, quick=True, seeds=1))
    with written[1].open() as file:
        rows = list(csv.DictReader(file))
    assert set(experiment.columns) < set(rows[0])
    assert set(vars(cells[0])) < set(rows[0])
    assert sum(row["row"] == "1" for row in rows) == len(cells)
    text = written[2].read_text()
    assert "quick run" in text
    assert "a9a (not in the paper)" in text
    before = written[1].read_bytes()
    code, _, err = command(*arguments)
    assert code == 0
    assert f"0 of {len(cells)} runs measured, {len(cells)} were there already" in err
    assert written[1].read_bytes() == before


def test_a_quick_run_on_real_data_names_its_stand_in(
    command: Any, data_folder: Path, tmp_path: Path
) -> None:
    arguments = ("--quick", "--seeds", "1", "--folder", data_folder, "--output", tmp_path)
    code, _, err = command("takac-table1", *arguments)
    assert code == 0, err
    text = (tmp_path / "takac-table1.md").read_text()
    assert "imdb (stand-in for rcv1)" in text
    assert "imdb stands in for rcv1" in text


def test_missing_data_is_one_sentence(command: Any, tmp_path: Path) -> None:
    for name in NAMES:
        code, _, err = command(name, "--output", tmp_path / "out")
        assert code == 1
        assert len(err.splitlines()) == 1
        assert err.startswith(f"gapsvm: {name} needs data that is not at hand")
        assert "GAPSVM_DATA" in err
        assert "imdb" in err
    assert not (tmp_path / "out").exists()


def test_an_unknown_name_is_one_sentence(command: Any) -> None:
    code, _, err = command("takac-fig9")
    assert code == 1
    assert err.startswith("gapsvm: there is no experiment 'takac-fig9'; there are takac-table1")


def test_the_full_plan(tmp_path: Path) -> None:
    """Five problems, every power of two, four methods, all seeds; stand-ins are named."""
    cells = figure1.plan(Settings(tmp_path, seeds=3))
    assert len({cell.task for cell in cells}) == 5
    for task in tasks.TASKS:
        mine = [cell for cell in cells if cell.task == task.name]
        sizes = {cell.b for cell in mine}
        assert sizes == {2**k for k in range(15) if 2**k <= task.train}
        assert len(mine) == 4 * 3 * len(sizes)
        if task.printed is not None:
            assert task.lam == task.printed.lam
            assert ("stand-in for" in task.title) == (task.data != "cov1")
    assert {cell.task for cell in figure2.plan(Settings(tmp_path))} == {"news20b", "imdb-astro"}
    assert len(set(cells)) == len(cells)


def test_the_objective_is_that_of_the_certificate(tmp_path: Path) -> None:
    bench, backend = Bench(Settings(tmp_path, quick=True)), get_backend()
    problem = linear.problem_of(tasks.BY_NAME["a9a-quick"], bench)
    rng = np.random.default_rng(0)
    alpha = rng.random(problem.n_rows)
    w = tasks.weights(problem, Iterate(None, 0.0, alpha), backend)
    certificate = problem.certify(Iterate(None, 0.0, alpha), backend)
    assert np.isclose(linear.primal(problem, w, backend), certificate.primal, rtol=1e-12)


def test_at_b_1_safe_and_aggressive_are_the_same(tmp_path: Path) -> None:
    bench = Bench(Settings(tmp_path, quick=True))
    counts = {}
    for method in ("safe", "aggressive"):
        cells = figure1.plan(Settings(tmp_path, quick=True, seeds=1))
        (cell,) = [c for c in cells if (c.task, c.method, c.b) == ("a9a-quick", method, 1)]
        (row,) = figure1.measure(cell, bench)
        assert row["outcome"] == "reached"
        assert float(row["suboptimality"]) <= 1e-3
        counts[method] = row["iterations"]
    assert counts["safe"] == counts["aggressive"]


def test_evaluations_grow_geometrically() -> None:
    points = list(figure2.looks(1000, 1.1))
    assert points[:5] == [1, 2, 3, 4, 5]
    assert points[-1] == 1000
    assert points == sorted(set(points))
    assert all(b <= max(a + 1, math.ceil(1.1 * a)) for a, b in pairwise(points))


# -- what is said about Figure 1 -------------------------------------------------------------------


def cell_of(method: str = "naive") -> CountCell:
    (cell, *_) = [c for c in figure1.plan(Settings(Path())) if c.method == method]
    return cell


def test_naive_is_stuck_when_nothing_is_gained_any_more() -> None:
    cell = cell_of()
    passes = np.geomspace(0.25, 20, 40)
    at = [int(p * cell.train) for p in passes]
    assert stuck(list(zip(at, 0.05 + 0.5 / (1 + passes) ** 4)), cell)
    assert not stuck(list(zip(at, 0.5 / (1 + passes))), cell)  # still falls
    assert not stuck(list(zip(at, 0.002 + 0 * passes)), cell)  # nearly there
    assert not stuck(list(zip(at[:20], 0.5 + 0 * passes[:20])), cell)  # too early to tell


SIZES = [2**k for k in range(11)]
SIGMA2 = 1 / 16


def counts_with(**iterations: Any) -> Counts:
    """Figure 1 as the paper has it, 1/σ² = 16, but for the methods given."""
    beta = {b: 1 + (b - 1) * SIGMA2 for b in SIZES}
    shape: dict[str, Any] = {
        "pegasos": lambda b: 1e6 / b,
        "naive": lambda b: 1e5 / b if b <= 32 else math.inf,
        "safe": lambda b: 1e5 * beta[b] / b,
        "aggressive": lambda b: 1e5 / b,
        **iterations,
    }
    runs = {
        (method, b): [
            {
                "iterations": 1000 if count(b) == math.inf else count(b),
                "outcome": "stuck" if count(b) == math.inf else "reached",
            }
        ]
        for method, count in shape.items()
        for b in SIZES
    }
    return Counts(tasks.BY_NAME["imdb-rcv1"], SIGMA2, runs)


def verdicts(counts: Counts) -> dict[str, bool | None]:
    return {statement: judge(counts)[0] for statement, judge in STATEMENTS}


def test_the_papers_picture_agrees_with_the_paper() -> None:
    assert set(verdicts(counts_with()).values()) == {True}


@pytest.mark.parametrize(
    ("statement", "shape"),
    [
        ("SDCA is ahead of Pegasos at b = 1", {"pegasos": lambda b: 1e4 / b}),
        ("Pegasos: nearly linear", {"pegasos": lambda b: 1e6 / math.sqrt(b)}),
        ("naive SDCA deteriorates", {"naive": lambda b: 1e5 / b}),
        ("naive SDCA deteriorates", {"naive": lambda b: 1e5 if b < 4 else math.inf}),
        ("safe SDCA flattens", {"safe": lambda b: 1e5 / b}),
        ("aggressive SDCA goes on", {"aggressive": lambda b: max(1e5 / b, 5e3)}),
        ("aggressive SDCA stays ahead", {"pegasos": lambda b: 1e6 / b**1.5}),
        ("aggressive SDCA improves", {"aggressive": lambda b: max(1e5 / b, 5e3)}),
    ],
)
def test_another_picture_does_not(statement: str, shape: dict[str, Any]) -> None:
    found = verdicts(counts_with(**shape))
    (verdict,) = [v for said, v in found.items() if said.startswith(statement)]
    assert verdict is False


def test_what_did_not_get_there_is_not_judged() -> None:
    found = verdicts(counts_with(pegasos=lambda b: math.inf))
    assert found["SDCA is ahead of Pegasos at b = 1"] is True
    assert found["Pegasos: nearly linear speed-up until b ≈ 1/σ²"] is None
    assert found["Pegasos goes on past b ≈ 1/σ²"] is None


def test_the_page_shows_every_experiment() -> None:
    page = Path(__file__).parents[2] / "docs" / "reproduce.md"
    if not page.exists():
        pytest.skip("not in a checkout")
    for name in NAMES:
        assert name in page.read_text()


def test_the_terminal_is_left_alone(command: Any, tmp_path: Path) -> None:
    """No bar where there is no terminal."""
    _, _, err = command("takac-table1", "--quick", "--output", tmp_path)
    assert "\x1b" not in err
    assert len(err.splitlines()) == 1
    assert os.listdir(tmp_path)
