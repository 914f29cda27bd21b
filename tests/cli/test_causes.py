"""Errors about sizes name the file, the size and what helps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import Command

import gapsvm
import gapsvm.cli
from gapsvm.system import memory

COMMANDS = [("fit",), ("inspect",), ("path", "--lam", "1"), ("stream",)]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("index", [2**62, 2**63 - 2, 10**14])
def test_an_index_beyond_all_memory(
    index: int, command: tuple[str, ...], fails: Command, tmp_path: Path
) -> None:
    data = tmp_path / "wide.svm"
    data.write_text(f"1 {index}:1\n-1 1:1\n")
    name, *options = command
    said = fails(name, data, *options)
    assert f"{data} has" in said
    assert f"{index:,}" in said
    assert "this machine has" in said
    assert "without gaps, or hash them" in said
    assert "convert" not in said


@pytest.mark.parametrize("command", [*COMMANDS[:1], *COMMANDS[2:]], ids=" ".join)
def test_no_columns(command: tuple[str, ...], fails: Command, tmp_path: Path) -> None:
    data, name = tmp_path / "bare.svm", command[0]
    data.write_text("1\n-1\n")
    assert "has no columns" in fails(name, data, *command[1:])


def test_a_table_of_labels_only(fails: Command, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    table = tmp_path / "labels.csv"
    table.write_text("kind\n1\n2\n")
    assert f"{table} has no features: its only column, 'kind'" in fails("fit", table)
    table.write_text("a;b;kind\n1;2;0\n2;3;1\n")
    assert "'a;b;kind', holds the labels; cells stand between commas" in fails("fit", table)


def test_a_problem_has_rows_and_columns() -> None:
    loss = gapsvm.get_loss("hinge")
    for shape, words in (((0, 3), "no rows"), ((4, 0), "no columns")):
        with pytest.raises(ValueError, match=f"X has {words}"):
            gapsvm.LinearProblem(np.zeros(shape), np.ones(shape[0]), loss, 0.1)
        with pytest.raises(ValueError, match=f"X has {words}"):
            gapsvm.MulticlassProblem(np.zeros(shape), np.zeros(shape[0]), 2, "hinge", 0.1)


def test_what_does_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "physical_memory", lambda: 8_000)
    memory.check_vector(1000, "fits", "nothing to do")
    with pytest.raises(MemoryError, match=r"too long: .* takes 8\.01 kB, .* has 8 kB .*; cut it"):
        memory.check_vector(1001, "too long", "cut it")
    with pytest.raises(MemoryError, match="X has 2,000 columns"):
        gapsvm.LinearSVC().fit(np.eye(3, 2000), [0, 1, 1])
    with pytest.raises(MemoryError, match="X has 2,000 columns"):
        gapsvm.OnlineSVC().fit(np.eye(3, 2000), [0, 1, 1])


def test_memory_that_ends_later(
    fails: Command, two_classes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def starved(*arguments: object, **options: object) -> None:
        np.empty(1 << 50)

    monkeypatch.setattr("gapsvm.cli.fit.load_data", starved)
    said = fails("fit", two_classes)
    assert "not enough memory (unable to allocate 8.00 PiB" in said
    assert "for many columns or classes, use fewer" in said
