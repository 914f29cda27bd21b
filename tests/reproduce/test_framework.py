"""The framework of ``gapsvm reproduce``: cells are measured once, whatever happens in between."""

from __future__ import annotations

import csv
import json
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from gapsvm.losses.registry import get_loss
from gapsvm.problems.linear import LinearProblem
from gapsvm.reproduce import framework
from gapsvm.reproduce.framework import Bench, Experiment, Options, Row, run


@dataclass(frozen=True)
class Cell:
    """A cell of an experiment on nothing."""

    name: str
    budget: int
    lam: float = 1e-5
    split: int | None = None


def plan(options: Options) -> list[Cell]:
    return [Cell(name, 10) for name in "abcdef"]


def measure(cell: Cell, bench: Bench) -> list[Row]:
    """Two rows for c, one for the others."""
    return [{"value": k} for k in range(2 if cell.name == "c" else 1)]


def report(folder: Path, rows: list[Row], options: Options) -> None:
    for suffix in ("png", "md"):
        (folder / f"nothing.{suffix}").write_text(f"{len(rows)} rows")


NOTHING = Experiment(
    "nothing", "no paper", "nothing", (), "0 s", Cell, ("value",), plan, measure, report
)


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(tmp_path / "out", threads=2)


def table(options: Options) -> Path:
    return options.output / "nothing.csv"


def test_every_cell_is_measured_once(options: Options) -> None:
    first = run(NOTHING, options)
    assert (first.measured, first.finished, first.planned) == (6, 6, 6)
    assert all(file.is_file() for file in first.files)
    content = table(options).read_text()
    again = run(NOTHING, options)
    assert (again.measured, again.complete) == (0, True)
    assert table(options).read_text() == content
    with table(options).open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:4] == ["name", "budget", "lam", "split"]
    assert sorted(row["name"] for row in rows) == list("abccdef")
    assert (options.output / "nothing.md").read_text() == "7 rows"


def test_progress_is_told(options: Options) -> None:
    told: list[tuple[int, int]] = []
    run(NOTHING, options, lambda done, of: told.append((done, of)))
    assert told == [(k, 6) for k in range(7)]


@pytest.mark.parametrize("lost", [1, 12, 40])
def test_a_torn_file_loses_only_its_last_cells(options: Options, lost: int) -> None:
    run(NOTHING, options)
    content = table(options).read_bytes()
    table(options).write_bytes(content[:-lost])
    again = run(NOTHING, options)
    assert 1 <= again.measured <= 2
    assert sorted(table(options).read_bytes().splitlines()) == sorted(content.splitlines())


def test_a_cell_with_a_missing_row_is_measured_again(options: Options) -> None:
    run(NOTHING, options)
    lines = table(options).read_text().splitlines(keepends=True)
    lines.remove(next(line for line in lines if line.startswith("c,")))
    table(options).write_text("".join(lines))
    assert run(NOTHING, options).measured == 1
    assert table(options).read_text().count("\nc,") == 2


def test_another_budget_is_another_cell(options: Options) -> None:
    run(NOTHING, options)
    longer = replace(NOTHING, plan=lambda options: [Cell(name, 20) for name in "ab"])
    assert run(longer, options).measured == 2
    assert run(NOTHING, options).measured == 0


def test_another_version_is_another_cell(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    run(NOTHING, options)
    monkeypatch.setattr(framework, "__version__", "99")
    assert run(NOTHING, options).measured == 6


def test_fresh_starts_over(options: Options) -> None:
    run(NOTHING, options)
    assert run(NOTHING, replace(options, fresh=True)).measured == 6
    assert len(table(options).read_text().splitlines()) == 8


def test_other_columns_are_refused(options: Options) -> None:
    run(NOTHING, options)
    with pytest.raises(ValueError, match="--fresh"):
        run(replace(NOTHING, columns=("value", "more")), options)


def test_a_fault_leaves_what_is_finished(options: Options) -> None:
    def faulty(cell: Cell, bench: Bench) -> list[Row]:
        if cell.name == "d":
            raise RuntimeError("no d")
        return measure(cell, bench)

    one_by_one = replace(options, threads=1)
    with pytest.raises(RuntimeError, match="no d"):
        run(replace(NOTHING, measure=faulty), one_by_one)
    kept = 6 - run(NOTHING, one_by_one).measured
    assert 0 <= kept < 6
    assert run(NOTHING, one_by_one).complete


def test_ctrl_c_leaves_what_is_finished(options: Options) -> None:
    def interrupting(cell: Cell, bench: Bench) -> list[Row]:
        if cell.name == "d":
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                bench.check()
        return measure(cell, bench)

    broken = run(replace(NOTHING, measure=interrupting), replace(options, threads=1))
    assert not broken.complete
    assert not (options.output / "nothing.md").exists()
    rest = run(NOTHING, options)
    assert rest.measured == 6 - broken.finished
    assert rest.complete


def test_an_optimum_is_certified_and_kept(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    problem = LinearProblem(X, np.where(X[:, 0] > 0, 1.0, -1.0), get_loss("hinge"), 1e-2)
    options.output.mkdir()
    found = Bench(options).optimum("some", problem)
    kept = json.loads((options.output / "optima.json").read_text())["some"]
    assert kept["value"] == found
    assert 0 <= kept["gap"] <= 1e-7
    monkeypatch.setattr(framework, "train", None)
    assert Bench(options).optimum("some", problem) == found


def test_missing_data_is_one_sentence(options: Options, tmp_path: Path) -> None:
    needing = replace(NOTHING, data=("cov1", "a9a"))
    with pytest.raises(FileNotFoundError) as error:
        run(needing, replace(options, data_folder=tmp_path))
    said = str(error.value)
    assert "nothing needs" in said
    assert "cov1, a9a" in said
    assert str(tmp_path) in said
    assert "\n" not in said
    assert not options.output.exists()


def test_fresh_deletes_nothing_if_data_is_missing(options: Options, tmp_path: Path) -> None:
    run(NOTHING, options)
    needing = replace(NOTHING, data=("cov1",))
    assert run(needing, replace(options, data_folder=tmp_path)).complete  # nothing to measure
    with pytest.raises(FileNotFoundError):
        run(needing, replace(options, data_folder=tmp_path, fresh=True))
    assert run(NOTHING, options).measured == 0


def test_values_are_made_once(options: Options) -> None:
    bench, made = Bench(options), []
    for _ in range(3):
        assert bench.once("key", lambda: made.append(1) or "value") == "value"
    assert len(made) == 1
