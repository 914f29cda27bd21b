"""Takáč's experiments, run quickly; and what is said about them."""

from __future__ import annotations

import csv
import math
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapsvm.backends import get_backend
from gapsvm.cli import main
from gapsvm.problems.linear import Iterate
from gapsvm.reproduce import EXPERIMENTS, Settings, linear
from gapsvm.reproduce.claims import Outcome
from gapsvm.reproduce.framework import Bench
from gapsvm.reproduce.takac import figure1, figure2, tasks
from gapsvm.reproduce.takac.figure1 import CountCell, Counts, stuck
from gapsvm.reproduce.takac.figure1_claims import JUDGES

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
        (at,) = [k for k, line in enumerate(lines) if line.split()[:1] == [experiment.name]]
        for word in (experiment.paper, experiment.shows, experiment.time, *experiment.data):
            assert word in "".join(lines[at : at + 2])
    assert out.splitlines()[-1].split()[0] == "all"


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


def test_all_runs_one_after_the_other(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into one folder; what has no data is left out, and a page lists the claims of the others."""
    from gapsvm.cli import reproduce

    chosen = {name: EXPERIMENTS[name] for name in ("pegasos-fig8", "takac-table1")}
    monkeypatch.setattr(reproduce, "EXPERIMENTS", chosen)
    folder = tmp_path / "out"
    assert reproduce.default_seeds("all") < reproduce.default_seeds("takac-fig1")
    code, out, err = command("all", "--quick", "--seeds", "1", "--output", folder)
    assert code == 0, err
    assert out.splitlines() == [str(folder / "index.md")]
    assert "pegasos-fig8: 3 of 3 runs measured" in err
    page = (folder / "index.md").read_text()
    assert "2 verdicts" in page
    assert "[pegasos-fig8](pegasos-fig8.md)" in page
    code, _, err = command("all", "--quick", "--seeds", "1", "--output", folder)
    assert "pegasos-fig8: 0 of 3 runs measured, 3 were there already" in err
    code, _, err = command("all", "--quick", "--seeds", "1", "--fresh", "--output", folder)
    assert "takac-table1: 1 of 1 runs measured" in err
    code, _, err = command("all", "--output", tmp_path / "none")
    assert code == 0
    assert err.count("left out: ") == 2
    assert "0 verdicts" in (tmp_path / "none" / "index.md").read_text()


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


SHOWN, NOT_SHOWN, CONTRADICTED = Outcome


def verdicts(counts: Counts) -> dict[str, Outcome]:
    found = [judge(counts) for judge in JUDGES]
    return {verdict.claim.says: verdict.outcome for verdict in found}


def test_the_papers_picture_agrees_with_the_paper() -> None:
    assert set(verdicts(counts_with()).values()) == {SHOWN}


def root(b: float) -> float:
    return 1e5 / math.sqrt(b)


@pytest.mark.parametrize(
    ("statement", "outcome", "shape"),
    [
        ("SDCA is ahead", CONTRADICTED, {"pegasos": lambda b: 1e4 / b}),
        ("SDCA is ahead", NOT_SHOWN, {"pegasos": lambda b: 1.1e5 / b}),
        ("Pegasos: nearly linear", NOT_SHOWN, {"pegasos": lambda b: 1e6 / b**0.7}),
        ("Pegasos: nearly linear", CONTRADICTED, {"pegasos": root}),
        ("safe SDCA: nearly linear", CONTRADICTED, {"safe": root}),
        ("aggressive SDCA: nearly linear", CONTRADICTED, {"aggressive": root}),
        ("naive SDCA deteriorates", CONTRADICTED, {"naive": lambda b: 1e5 / b}),
        ("naive SDCA deteriorates", NOT_SHOWN, {"naive": lambda b: max(1e5 / b, 180 + b / 50)}),
        ("it deteriorates once", CONTRADICTED, {"naive": lambda b: 1e5 / b}),
        ("it deteriorates once", NOT_SHOWN, {"naive": lambda b: 1e5 / b if b < 128 else math.inf}),
        ("safe SDCA allows not", NOT_SHOWN, {"safe": lambda b: 1e5 / min(b, 80)}),
        ("safe SDCA allows not", CONTRADICTED, {"safe": lambda b: 1e5 / b}),
        ("safe SDCA ends on", NOT_SHOWN, {"safe": root}),
        ("safe SDCA ends on", CONTRADICTED, {"safe": lambda b: 1e5 / b}),
        ("Pegasos goes on", NOT_SHOWN, {"pegasos": lambda b: max(1e6 / b, 2e4)}),
        ("Pegasos goes on", CONTRADICTED, {"pegasos": lambda b: max(1e6 / b, 6e4)}),
        ("aggressive SDCA goes on", CONTRADICTED, {"aggressive": lambda b: max(1e5 / b, 5e3)}),
        ("aggressive SDCA enjoys", NOT_SHOWN, {"aggressive": lambda b: max(1e5 / b, 500)}),
        ("aggressive SDCA enjoys", CONTRADICTED, {"aggressive": lambda b: max(1e5 / b, 5e3)}),
        ("aggressive SDCA keeps", NOT_SHOWN, {"pegasos": lambda b: 1.1e5 / b}),
        ("aggressive SDCA keeps", CONTRADICTED, {"pegasos": lambda b: 1e6 / b**1.5}),
        ("aggressive SDCA improves", NOT_SHOWN, {"aggressive": lambda b: max(1e5 / b, 3e3)}),
        ("aggressive SDCA improves", CONTRADICTED, {"aggressive": lambda b: max(1e5 / b, 5e3)}),
    ],
)
def test_another_picture_does_not(statement: str, outcome: Outcome, shape: dict[str, Any]) -> None:
    found = verdicts(counts_with(**shape))
    (verdict,) = [v for said, v in found.items() if said.startswith(statement)]
    assert verdict is outcome


def test_what_did_not_get_there_shows_nothing() -> None:
    found = verdicts(counts_with(pegasos=lambda b: math.inf))
    assert found["SDCA is ahead of Pegasos at b = 1"] is SHOWN
    assert found["Pegasos: nearly linear speed-up until b ≈ 1/σ²"] is NOT_SHOWN
    assert found["Pegasos goes on past b ≈ 1/σ²"] is NOT_SHOWN


def test_too_few_sizes_cannot_show_a_linear_speed_up() -> None:
    """On covtype b = 2 is the only size up to 1/σ²."""
    found = verdicts(replace(counts_with(), sigma2=0.41))
    for name in ("Pegasos", "safe SDCA", "aggressive SDCA"):
        assert found[f"{name}: nearly linear speed-up until b ≈ 1/σ²"] is NOT_SHOWN


@pytest.mark.parametrize(
    ("ends", "outcomes"),
    [  # naive at the end, its least, when the others arrive
        ((0.5, 0.1, 50, 100), [SHOWN, SHOWN, SHOWN]),
        ((0.005, 0.0045, 90, 100), [NOT_SHOWN, NOT_SHOWN, NOT_SHOWN]),
        ((0.0005, 0.0005, 200, 100), [CONTRADICTED, CONTRADICTED, CONTRADICTED]),
    ],
)
def test_figure_2_is_judged(ends: Any, outcomes: list[Outcome]) -> None:
    end, least, own, others = ends
    t = np.arange(1, 301)

    def curve(values: Any) -> dict[str, Any]:
        bands = np.repeat(np.asarray(values, dtype=float)[:, None], 3, axis=1)
        return {"iterations": t, "primal_suboptimality": bands, "dual_suboptimality": bands}

    curves = {m: curve(np.where(t < others, 1.0, 1e-3)) for m in tasks.METHODS}
    curves["aggressive"] = curve(np.where(t < own, 1.0, 1e-3))
    curves["naive"] = curve(np.where(t < 5, 1.0, np.where(t < 250, least, end)))
    if end <= 1e-3:  # then it arrives first of all
        curves["naive"] = curve(np.where(t < 5, 1.0, end))
    evolution = figure2.Evolution(tasks.BY_NAME["news20b"], 1024, 0.01, curves)
    assert [verdict.outcome for verdict in figure2.judged(evolution)] == outcomes


def test_a_budget_does_not_end_on_a_plateau(tmp_path: Path) -> None:
    cells = figure1.plan(Settings(tmp_path, seeds=1))
    for cell in (c for c in cells if (c.task, c.method) == ("cov1", "safe")):
        assert cell.budget / cell.b >= min(60_000, 250 * cell.train / cell.b)
        assert cell.budget >= 250 * cell.train


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
