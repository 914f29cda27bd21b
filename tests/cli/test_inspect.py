"""``inspect``: σ², β_b and the batch size worth using."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from commands import Command
from sklearn.metrics.pairwise import rbf_kernel

import gapsvm
from gapsvm.cli import inspect
from gapsvm.rows.spectral import batch_worth_using, beta

STATED = re.compile(r"σ² .* \((exact|upper bound, to \S+ %)\)")


def norm_ratio(X: np.ndarray) -> float:
    return float(np.linalg.norm(X, 2)) ** 2 / len(X)


def write(path: Path, X: np.ndarray) -> Path:
    gapsvm.write_svmlight(path, X, np.where(np.arange(len(X)) % 2, 1, -1))
    return path


def test_json(run: Command, two_classes: Path) -> None:
    X = gapsvm.read_svmlight(two_classes).X.toarray()
    facts = json.loads(run("inspect", two_classes, "--json").out)
    unit = X / np.maximum(np.linalg.norm(X, axis=1), 1e-300)[:, None]
    assert facts["sigma2"] == pytest.approx(norm_ratio(X), rel=0.01)
    assert facts["sigma2_normalised"] == pytest.approx(norm_ratio(unit), rel=0.01)
    assert {facts["sigma2_kind"], facts["sigma2_normalised_kind"]} <= {"exact", "bound"}
    assert 0 <= facts["sigma2_accuracy"] <= 0.01
    value = facts["sigma2_normalised"]
    assert facts["batch_worth_using"] == batch_worth_using(len(X), value)
    assert {"1", "2", "240", str(facts["batch_worth_using"])} <= set(facts["beta"])
    for size, factor in facts["beta"].items():
        assert factor == beta(int(size), len(X), value)


def test_sigma2_of_a_kernel_matrix(
    run: Command, shown: Command, two_classes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = gapsvm.read_svmlight(two_classes).X.toarray()
    K = rbf_kernel(X, gamma=0.1)
    facts = json.loads(run("inspect", two_classes, "--json", "--kernel", "rbf(gamma=0.1)").out)
    assert facts["sigma2"] == pytest.approx(np.linalg.eigvalsh(K)[-1] / len(X), rel=0.011)
    assert facts["kernel"] == "rbf(gamma=0.1)"
    assert "σ² of K/n" in shown("inspect", two_classes, "--kernel", "rbf(gamma=0.1)").out
    monkeypatch.setattr(inspect, "_KERNEL_ROWS", 50)
    facts = json.loads(run("inspect", two_classes, "--json", "--kernel", "rbf(gamma=0.1)").out)
    assert facts["sigma2_kind"] == "estimate"


def test_in_words_and_bars(run: Command, shown: Command, two_classes: Path) -> None:
    code, out, err = shown("inspect", two_classes)
    assert (code, err) == (0, "")
    facts = json.loads(run("inspect", two_classes, "--json").out)
    assert len(STATED.findall(out)) == 2
    assert f"batch worth using    {facts['batch_worth_using']}: " in out
    bars = [line for line in out.splitlines() if "█" in line]
    assert len(bars) == len(facts["beta"])
    lengths = [line.count("█") for line in bars]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] == 40
    assert sum("worth using" in line for line in bars) == 1


def test_it_fits_into_80_columns(
    shown: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.random.default_rng(0).random((3000, 40))
    X[X < 0.9] = 0.0
    monkeypatch.setattr(inspect, "_ALL_VALUES", 1000)
    monkeypatch.setattr(inspect, "_SAMPLED_VALUES", 500)
    path = write(tmp_path / "many.svm", X)
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = shown("inspect", path)
    assert max(map(len, out.splitlines())) <= 80
    assert "…" in out


def test_huge_data_are_sampled(
    run: Command, shown: Command, two_classes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect, "_ALL_VALUES", 1000)
    monkeypatch.setattr(inspect, "_SAMPLED_VALUES", 600)
    assert shown("inspect", two_classes).out.count("(estimate from some of the rows)") == 2
    facts = json.loads(run("inspect", two_classes, "--json").out)
    assert facts["sigma2_kind"] == facts["sigma2_normalised_kind"] == "estimate"
    assert facts["sigma2_accuracy"] is None


def test_rows_that_do_not_interact(run: Command, shown: Command, tmp_path: Path) -> None:
    path = write(tmp_path / "apart.svm", np.eye(9))
    assert "9: all rows at once, they hardly interact" in shown("inspect", path).out
    assert json.loads(run("inspect", path, "--json").out)["batch_worth_using"] == 9


@pytest.mark.parametrize("text", ["1 2:0.5\n", "1 1:0\n-1 1:0\n"])
def test_one_row_and_no_values(run: Command, tmp_path: Path, text: str) -> None:
    (tmp_path / "small.svm").write_text(text)
    code, out, err = run("inspect", tmp_path / "small.svm")
    assert (code, err) == (0, "")
    assert "nan" not in out.lower()
    facts = json.loads(run("inspect", tmp_path / "small.svm", "--json").out)
    assert facts["sigma2"] > 0


def test_sizes_stop_where_nothing_changes() -> None:
    assert inspect.batch_sizes(10**6, 0.5) == [1, 2, 3, 4, 8, 16, 32, 64, 10**6]
    assert inspect.batch_sizes(10, 0.1) == [1, 2, 4, 8, 10]
    assert inspect.batch_sizes(1, 1.0) == [1]
