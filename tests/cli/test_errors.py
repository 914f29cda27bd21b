"""What goes wrong is one sentence on standard error and exit code 1, never a traceback."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command

import gapsvm
from gapsvm.data.tensors import read_tensors, write_tensors


def test_missing_file(fails: Command, tmp_path: Path) -> None:
    missing = tmp_path / "missing.svm"
    model = tmp_path / "model"
    for command in (
        ("fit", missing),
        ("inspect", missing),
        ("path", missing),
        ("convert", missing, tmp_path / "folder"),
        ("predict", model, missing),
    ):
        assert "No such file" in fails(*command)
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--bogus",), "--bogus"),
        (("--gap", "small"), "--gap"),
        (("--gap", "-1"), "--gap"),
        (("--gap", "nan"), "--gap"),
        (("--loss", "bogus"), "squared_hinge"),
        (("--method", "bogus"), "pegasos"),
        (("--bias", "bogus"), "penalized"),
        (("--dtype", "float16"), "float64"),
        (("--threads", "0"), "--threads"),
        (("--n-features", "0"), "--n-features"),
        (("--n-features", "3"), "n_features=3"),
        (("--lam", "0"), "lam"),
        (("--lam", "nan"), "lam"),
        (("--C", "0"), "C"),
        (("--C", "-1"), ""),
        (("--C", "inf"), ""),
        (("--seed", "-1"), ""),
        (("--max-passes", "nan"), ""),
        (("--max-passes", "-1"), ""),
        (("--time-limit", "-1"), ""),
        (("--time-limit", "nan"), ""),
        (("--checkpoint-every", "-1"), "--checkpoint-every"),
        (("--bias", "penalized", "--bias-scale", "0"), ""),
        (("--bias", "penalized", "--bias-scale", "nan"), ""),
        (("--loss", "logistic", "--method", "interior"), "sdca"),
        (("--loss", "huber", "--balanced"), "--balanced"),
        (("--loss", "smoothed_hinge", "--model", "model.liblinear"), "LIBLINEAR"),
    ],
)
def test_bad_options(
    options: tuple[str, ...],
    word: str,
    fails: Command,
    two_classes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert word in fails("fit", two_classes, *options)
    assert not (tmp_path / "model.liblinear").exists()


def test_no_such_command(fails: Command) -> None:
    assert "bogus" in fails("bogus")
    assert "data" in fails("fit")


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        ("1 1:1\n-1 2:\n", 2),
        ("1 1:1\n-1 1:nan\n", 2),
        ("1 1:1\n-1 1:1e400\n", 2),
        ("1 1:1\n-1 -1:1\n", 2),
        ("1 1:1\n# a comment\n\nyes 1:1\n", 4),
        ("1 1:1\n-1 99999999999999999999:1\n", 2),
    ],
)
def test_broken_text_is_named_with_its_line(
    lines: str, number: int, fails: Command, tmp_path: Path
) -> None:
    path = tmp_path / "broken.svm"
    path.write_text(lines)
    for command in (("fit", path), ("inspect", path), ("convert", path, tmp_path / "folder")):
        assert f"line {number}" in fails(*command)
    assert not (tmp_path / "folder").exists()


def test_empty_file(fails: Command, tmp_path: Path) -> None:
    path = tmp_path / "empty.svm"
    path.touch()
    assert "empty" in fails("fit", path)
    assert "empty" in fails("inspect", path)


def test_one_class(fails: Command, tmp_path: Path) -> None:
    path = tmp_path / "one.svm"
    path.write_text("3 1:1\n3 1:2\n")
    assert "[3.0]" in fails("fit", path)
    assert "two classes" in fails("path", path)


def test_a_regression_taken_for_classes(fails: Command, responses: Path) -> None:
    assert "epsilon_insensitive" in fails("fit", responses)


@pytest.mark.parametrize("content", ["1\n2\n", "", "1\n" * 239 + "-1\n", "1\n" * 239 + "nan\n"])
def test_wrong_weights(content: str, fails: Command, two_classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "weights.txt"
    path.write_text(content)
    assert "weight" in fails("fit", two_classes, "--weights", path)


def test_weights_that_remove_a_class(fails: Command, two_classes: Path, tmp_path: Path) -> None:
    _, y, _ = gapsvm.read_svmlight(two_classes)
    path = tmp_path / "weights.txt"
    np.savetxt(path, (y > 0).astype(float))
    assert "class" in fails("fit", two_classes, "--weights", path)
    assert "class" in fails("fit", two_classes, "--weights", path, "--balanced")


def test_a_model_of_a_newer_version(
    run: Command, fails: Command, two_classes: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model"
    assert run("fit", two_classes, "--model", path).code == 0
    tensors, texts = read_tensors(path)
    write_tensors(path, tensors, {**texts, "format_version": "99"})
    assert "newer" in fails("predict", path, two_classes)


def test_what_is_no_model(fails: Command, two_classes: Path, tmp_path: Path) -> None:
    assert "no model" in fails("predict", two_classes, two_classes)
    (tmp_path / "libsvm").write_text("svm_type c_svc\n")
    assert "LIBSVM" in fails("predict", tmp_path / "libsvm", two_classes)


def test_a_model_for_fewer_features(
    run: Command, fails: Command, two_classes: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    assert run("fit", two_classes, "--model", model).code == 0
    (tmp_path / "wide.svm").write_text("1 9:1\n")
    assert "n_features=8" in fails("predict", model, tmp_path / "wide.svm")


@pytest.mark.parametrize("option", ["--model", "--trace", "--checkpoint"])
def test_a_target_that_cannot_be_written(
    option: str, run: Command, fails: Command, two_classes: Path, tmp_path: Path
) -> None:
    target = tmp_path / "no such folder" / "file"
    options: tuple[Any, ...] = (option, target, "--checkpoint-every", "0")
    assert str(target) in fails("fit", two_classes, *options)
    folder = tmp_path / "a folder"
    folder.mkdir()
    assert str(folder) in fails("fit", two_classes, option, folder, "--checkpoint-every", "0")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(fails: Command, two_classes: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert str(locked / "model") in fails("fit", two_classes, "--model", locked / "model")
    assert list(locked.iterdir()) == []


def test_predictions_that_cannot_be_written(
    run: Command, fails: Command, two_classes: Path, tmp_path: Path
) -> None:
    model, target = tmp_path / "model", tmp_path / "no such folder" / "out.txt"
    assert run("fit", two_classes, "--model", model).code == 0
    assert str(target) in fails("predict", model, two_classes, "--output", target)


def test_convert_replaces_nothing(fails: Command, two_classes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    assert str(folder) in fails("convert", two_classes, folder)
    assert "header.json" in fails("fit", folder)


def test_unknown_data_set(fails: Command) -> None:
    assert "a9a" in fails("data", "bogus")
    assert "GAPSVM_DATA" in fails("data", "w8a")


def test_path_needs_positive_lams_and_two_classes(
    fails: Command, two_classes: Path, three_classes: Path
) -> None:
    assert "positive" in fails("path", two_classes, "--lam", "0")
    assert "two classes" in fails("path", three_classes)
    assert "--n-lams" in fails("path", two_classes, "--n-lams", "0")
