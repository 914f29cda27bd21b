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
from gapsvm.reproduce.framework import Bench, Experiment, Row, Settings, run, wrapped


@dataclass(frozen=True)
class Cell:
    """A cell of an experiment on nothing."""

    name: str
    budget: int
    lam: float = 1e-5
    split: int | None = None


def plan(settings: Settings) -> list[Cell]:
    return [Cell(name, 10) for name in "abcdef"]


def measure(cell: Cell, bench: Bench) -> list[Row]:
    """Two rows for c, one for the others."""
    return [{"value": k} for k in range(2 if cell.name == "c" else 1)]


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    for suffix in ("png", "md"):
        (folder / f"nothing.{suffix}").write_text(f"{len(rows)} rows")


NOTHING = Experiment(
    "nothing", "no paper", "nothing", (), "0 s", Cell, ("value",), plan, measure, report
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "out", threads=2)


def table(settings: Settings) -> Path:
    return settings.output / "nothing.csv"


def test_every_cell_is_measured_once(settings: Settings) -> None:
    first = run(NOTHING, settings)
    assert (first.measured, first.finished, first.planned) == (6, 6, 6)
    assert all(file.is_file() for file in first.files)
    content = table(settings).read_text()
    again = run(NOTHING, settings)
    assert (again.measured, again.complete) == (0, True)
    assert table(settings).read_text() == content
    with table(settings).open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:4] == ["name", "budget", "lam", "split"]
    assert sorted(row["name"] for row in rows) == list("abccdef")
    assert (settings.output / "nothing.md").read_text() == "7 rows"


def test_progress_is_told(settings: Settings) -> None:
    told: list[tuple[int, int]] = []
    run(NOTHING, settings, lambda done, of: told.append((done, of)))
    assert told == [(k, 6) for k in range(7)]


@pytest.mark.parametrize("lost", [1, 12, 40])
def test_a_torn_file_loses_only_its_last_cells(settings: Settings, lost: int) -> None:
    run(NOTHING, settings)
    content = table(settings).read_bytes()
    table(settings).write_bytes(content[:-lost])
    again = run(NOTHING, settings)
    assert 1 <= again.measured <= 2
    assert sorted(table(settings).read_bytes().splitlines()) == sorted(content.splitlines())


def test_a_cell_with_a_missing_row_is_measured_again(settings: Settings) -> None:
    run(NOTHING, settings)
    lines = table(settings).read_text().splitlines(keepends=True)
    lines.remove(next(line for line in lines if line.startswith("c,")))
    table(settings).write_text("".join(lines))
    assert run(NOTHING, settings).measured == 1
    assert table(settings).read_text().count("\nc,") == 2


def test_another_budget_is_another_cell(settings: Settings) -> None:
    run(NOTHING, settings)
    longer = replace(NOTHING, plan=lambda settings: [Cell(name, 20) for name in "ab"])
    assert run(longer, settings).measured == 2
    assert run(NOTHING, settings).measured == 0


def test_another_version_is_another_cell(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(NOTHING, settings)
    monkeypatch.setattr(framework, "__version__", "99")
    assert run(NOTHING, settings).measured == 6


def test_fresh_starts_over(settings: Settings) -> None:
    run(NOTHING, settings)
    assert run(NOTHING, replace(settings, fresh=True)).measured == 6
    assert len(table(settings).read_text().splitlines()) == 8


def test_other_columns_are_refused(settings: Settings) -> None:
    run(NOTHING, settings)
    with pytest.raises(ValueError, match="--fresh"):
        run(replace(NOTHING, columns=("value", "more")), settings)


def test_a_fault_leaves_what_is_finished(settings: Settings) -> None:
    def faulty(cell: Cell, bench: Bench) -> list[Row]:
        if cell.name == "d":
            raise RuntimeError("no d")
        return measure(cell, bench)

    one_by_one = replace(settings, threads=1)
    with pytest.raises(RuntimeError, match="no d"):
        run(replace(NOTHING, measure=faulty), one_by_one)
    kept = 6 - run(NOTHING, one_by_one).measured
    assert 0 <= kept < 6
    assert run(NOTHING, one_by_one).complete


def test_ctrl_c_leaves_what_is_finished(settings: Settings) -> None:
    def interrupting(cell: Cell, bench: Bench) -> list[Row]:
        if cell.name == "d":
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                bench.check()
        return measure(cell, bench)

    broken = run(replace(NOTHING, measure=interrupting), replace(settings, threads=1))
    assert not broken.complete
    assert not (settings.output / "nothing.md").exists()
    rest = run(NOTHING, settings)
    assert rest.measured == 6 - broken.finished
    assert rest.complete


def test_an_optimum_is_certified_and_kept(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    problem = LinearProblem(X, np.where(X[:, 0] > 0, 1.0, -1.0), get_loss("hinge"), 1e-2)
    settings.output.mkdir()
    found = Bench(settings).optimum("some", problem)
    kept = json.loads((settings.output / "optima.json").read_text())["some"]
    assert kept["value"] == found
    assert 0 <= kept["gap"] <= 1e-7
    monkeypatch.setattr(framework, "train", None)
    assert Bench(settings).optimum("some", problem) == found


def test_missing_data_is_one_sentence(settings: Settings, tmp_path: Path) -> None:
    needing = replace(NOTHING, data=("cov1", "a9a"))
    with pytest.raises(FileNotFoundError) as error:
        run(needing, replace(settings, data_folder=tmp_path))
    said = str(error.value)
    assert "nothing needs" in said
    assert "cov1, a9a" in said
    assert str(tmp_path) in said
    assert "\n" not in said
    assert not settings.output.exists()


def test_fresh_deletes_nothing_if_data_is_missing(settings: Settings, tmp_path: Path) -> None:
    run(NOTHING, settings)
    needing = replace(NOTHING, data=("cov1",))
    assert run(needing, replace(settings, data_folder=tmp_path)).complete  # nothing to measure
    with pytest.raises(FileNotFoundError):
        run(needing, replace(settings, data_folder=tmp_path, fresh=True))
    assert run(NOTHING, settings).measured == 0


def test_values_are_made_once(settings: Settings) -> None:
    bench, made = Bench(settings), []
    for _ in range(3):
        assert bench.once("key", lambda: made.append(1) or "value") == "value"
    assert len(made) == 1


def test_reports_are_wrapped() -> None:
    """Paragraphs and items; tables stay as they are, and no line begins a list by accident."""
    sum_of_many = " + ".join(["term"] * 40)
    text = f"# {'t ' * 60}\n\n{sum_of_many}\n- {'item ' * 40}\n| {'cell | ' * 40}\nshort"
    lines = wrapped(text).split("\n")
    assert " ".join(wrapped(text).split()) == " ".join(text.split())
    assert all(len(line) <= 100 for line in lines if line[:1] not in "#|")
    assert not any(line.startswith("+") for line in lines)
    assert [line[:2] for line in lines if "item" in line] == ["- ", "  ", "  "]
