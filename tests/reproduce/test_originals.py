"""The papers' own data takes the place of what stands in for it, where a user has it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from gapsvm import datasets, write_svmlight
from gapsvm.datasets import SETS
from gapsvm.datasets.dataset import DataFile
from gapsvm.reproduce import EXPERIMENTS, Settings, run
from gapsvm.reproduce.do import figures as do_figures
from gapsvm.reproduce.do import table1 as do_table1
from gapsvm.reproduce.do import tasks as do_tasks
from gapsvm.reproduce.pegasos import figure4, figure7, figure8
from gapsvm.reproduce.takac import figure1, table1
from gapsvm.reproduce.takac import tasks as takac_tasks

OWN = ("rcv1_train.binary", "astro-ph", "ccat", "real-sim", "news20.binary", "combined")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A folder with empty files of the right names: enough to be found."""
    for name in OWN:
        for file in SETS[name].train + SETS[name].test:
            path = tmp_path / "data" / SETS[name].folder / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    assert all(datasets.available(name, folder=tmp_path / "data") for name in OWN)
    return Settings(tmp_path / "out", data_folder=tmp_path / "data")


def test_takacs_sets(settings: Settings) -> None:
    found = {task.paper: task for task in takac_tasks.tasks(settings)}
    for paper, data in (("rcv1", OWN[0]), ("astro-ph", "astro-ph"), ("news20", "news20.binary")):
        task = found[paper]
        assert (task.data, task.stand_in) == (data, False)
        assert task.printed is not None
        assert (task.train, task.lam) == (task.printed.train, task.printed.lam)
        assert task.title == f"{data} (the paper's {paper})"
    assert found["cov"].data == "cov1"
    assert {cell.data for cell in figure1.plan(settings)} == {
        "cov1", "rcv1_train.binary", "astro-ph", "news20.binary", "mnist8",
    }  # fmt: skip


def test_the_sets_of_pegasos(settings: Settings) -> None:
    assert [task.title for task in figure4.tasks(settings)] == ["astro-ph", "CCAT", "cov1"]
    assert all(task.name in figure4.PASSES for task in figure4.tasks(settings))
    assert {cell.train for cell in figure8.plan(settings)} == {29_882}
    assert {cell.task for cell in figure7.plan(settings)} == {"astro-ph", "ccat"}


def test_dos_sets(settings: Settings) -> None:
    names = {task.name: task for task in do_tasks.tasks(settings)}
    assert {"rcv1_train.binary", "real-sim", "combined"} < set(names)
    assert names["real-sim"].train == 57_846
    assert names["combined"].lam == 1e-9
    assert all(task.paper in do_tasks.TABLE for task in names.values())
    assert {cell.task for cell in do_table1.plan(settings)} == set(names)
    left, _ = do_figures.panels(settings)
    assert (left.data, left.title) == ("combined", "combined, 3 against the rest")


def test_a_run_takes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """takac-table1 on a small rcv1 of a user's; the stand-ins are not asked for."""
    small = replace(
        SETS["rcv1_train.binary"],
        n_features=30,
        train=(DataFile("rcv1_train.binary", 40),),
        test=(DataFile("rcv1_test.binary", 20),),
    )
    monkeypatch.setitem(SETS, "rcv1_train.binary", small)
    folder = tmp_path / "data" / small.folder
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for file in small.train + small.test:
        X = csr_matrix(rng.random((file.rows, 30)) * (rng.random((file.rows, 30)) < 0.3))
        write_svmlight(folder / file.name, X, np.where(rng.random(file.rows) < 0.5, 1.0, -1.0))
    only = [task for task in takac_tasks.TASKS if task.paper == "rcv1"]
    only = [replace(only[0], original=replace(only[0].original, train=40))]
    monkeypatch.setattr(takac_tasks, "TASKS", tuple(only))
    names: Any = {only[0].own.name: only[0].own}
    monkeypatch.setattr(table1, "BY_NAME", names)
    settings = Settings(tmp_path / "out", data_folder=tmp_path / "data")
    outcome = run(EXPERIMENTS["takac-table1"], settings)
    text = outcome.files[2].read_text()
    assert "| rcv1 (paper) | 20,242 | 677,399 | 47,236 | 0.16 | 1e-4 |" in text
    assert "| rcv1_train.binary (the paper's rcv1) | 40 | 20 | 30 |" in text
    assert "stands in" not in text
