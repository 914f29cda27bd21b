"""What goes wrong is one sentence on standard error and exit code 1, never a traceback."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command

import gapsvm
from gapsvm.io.tensors import read_tensors, write_tensors


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
        said = fails(*command)
        assert "No such file" in said
        assert "Errno" not in said
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--bogus",), "--bogus"),
        (("--gap", "small"), "--gap"),
        (("--gap", "-1"), "'--gap': must be 0 or more, got -1"),
        (("--gap", "nan"), "'--gap': must be 0 or more, got nan"),
        (("--loss", "bogus"), "squared_hinge"),
        (("--method", "bogus"), "pegasos"),
        (("--bias", "bogus"), "penalized"),
        (("--dtype", "float16"), "float64"),
        (("--threads", "0"), "--threads"),
        (("--n-features", "0"), "--n-features"),
        (("--n-features", "3"), "n_features=3"),
        (("--lam", "0"), "may be 0 only where a radius is given"),
        (("--lam", "nan"), "'--lam': must be positive and finite, got nan"),
        (("--lam", "inf"), "'--lam': must be positive and finite, got inf"),
        (("--C", "0"), "'--C': must be positive and finite, got 0"),
        (("--C", "nan"), "'--C': must be positive and finite, got nan"),
        (("--C", "-1"), "'--C': must be positive and finite, got -1"),
        (("--C", "inf"), "'--C': must be positive and finite, got inf"),
        (("--C", "1e308"), "C = 1e+308 is too large"),
        (("--C", "1", "--lam", "0.1"), "--lam or --C, not both"),
        (("--seed", "-1"), "'--seed': must be 0 or more, got -1"),
        (("--seed", "0.5"), "--seed"),
        (("--max-passes", "nan"), "'--max-passes': must be 0 or more, got nan"),
        (("--max-passes", "-1"), "'--max-passes': must be 0 or more, got -1"),
        (("--time-limit", "-1"), "'--time-limit': must be 0 or more, got -1"),
        (("--time-limit", "nan"), "'--time-limit': must be 0 or more, got nan"),
        (("--checkpoint-every", "-1"), "'--checkpoint-every': must be 0 or more, got -1"),
        (("--checkpoint-every", "nan"), "'--checkpoint-every': must be 0 or more, got nan"),
        (("--label", "1"), "--label is for tables"),
        (("--weights", "nowhere.txt"), "nowhere.txt"),
        (("--loss", "huber", "--weights", "balanced"), "class weights need classes"),
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


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"1\n1 2\n", "line 2: '1 2' is no number"),
        (b"1\n\nnot\n", "line 3: 'not' is no number"),
        (b"\xff\xfe1\x00\n", "line 1: '"),
        (gzip.compress(b"1\n" * 240)[:-4], "the compressed data is damaged"),
        (gzip.compress(b"1" * (1 << 24)), "no data shrink so far"),
    ],
)
def test_weights_that_are_none(
    content: bytes, said: str, fails: Command, two_classes: Path, tmp_path: Path
) -> None:
    path = tmp_path / "weights.txt"
    path.write_bytes(content)
    told = fails("fit", two_classes, "--weights", path)
    assert str(path) in told
    assert said in told


def test_weights_of_any_text(run: Command, two_classes: Path, tmp_path: Path) -> None:
    """Line ends, comments, compression by content: the same weights."""
    numbers = [f"{1 + k % 3}" for k in range(240)]
    texts = ["\n".join(numbers).encode(), b"\xef\xbb\xbf# w\r\n" + "\r\n".join(numbers).encode()]
    told = set()
    for text in (*texts, gzip.compress(texts[0])):
        path = tmp_path / "weights"
        path.write_bytes(text)
        told.add(json.loads(run("fit", two_classes, "--weights", path, "--json").out)["primal"][0])
    assert len(told) == 1


def test_weights_that_remove_a_class(fails: Command, two_classes: Path, tmp_path: Path) -> None:
    _, y, _ = gapsvm.read_svmlight(two_classes)
    path = tmp_path / "weights.txt"
    np.savetxt(path, (y > 0).astype(float))
    assert "class" in fails("fit", two_classes, "--weights", path)
    assert "class" in fails("fit", two_classes, "--weights", path, "--weights", "balanced")


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


def never(*arguments: Any, **options: Any) -> None:
    raise AssertionError("the target was to be looked at first")


def fit_early(fails: Command, data: Path, *options: Any) -> str:
    """The sentence of a fit that must fail before anything is read."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gapsvm.cli.fit.load_data", never)
        return str(fails("fit", data, *options))


@pytest.mark.parametrize("option", ["--model", "--trace", "--checkpoint"])
def test_a_target_that_cannot_be_written_is_noticed_first(
    option: str, fails: Command, two_classes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "no such folder" / "file"
    missing = f"{option}: cannot write {target}: there is no folder {target.parent}"
    assert missing in fit_early(fails, two_classes, option, target)
    folder = tmp_path / "a folder"
    folder.mkdir()
    is_folder = f"{option}: cannot write {folder}: it is a folder"
    assert is_folder in fit_early(fails, two_classes, option, folder)
    below_a_file = two_classes / "file"
    assert f"no folder {two_classes}" in fit_early(fails, two_classes, option, below_a_file)
    assert "too long" in fit_early(fails, two_classes, option, tmp_path / ("x" * 300))

    def denied(folder: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))

    monkeypatch.setattr("gapsvm.system.atomic.NewFile", denied)
    locked = tmp_path / "model"
    no_permission = f"{option}: cannot write {locked}: Permission denied"
    assert no_permission in fit_early(fails, two_classes, option, locked)
    assert sorted(tmp_path.iterdir()) == [folder, two_classes]


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs devices")
def test_a_model_is_no_stream(fails: Command, two_classes: Path) -> None:
    """Replacing /dev/stdout would be worse than an error, wherever it leads to."""
    for option in ("--model", "--checkpoint"):
        for device in ("/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            assert "a pipe or a device" in fit_early(fails, two_classes, option, device)
    assert "denied, or no such device" in fit_early(fails, two_classes, "--trace", "/dev/nothing")


def test_nothing_is_named_twice(fails: Command, two_classes: Path, tmp_path: Path) -> None:
    for option in ("--model", "--trace", "--checkpoint"):
        assert "named twice" in fit_early(fails, two_classes, option, two_classes)
    same = tmp_path / "same"
    assert "named twice" in fit_early(fails, two_classes, "--model", same, "--trace", same)
    link = tmp_path / "link"
    link.symlink_to(two_classes)
    assert "named twice" in fit_early(fails, two_classes, "--model", link)
    assert two_classes.read_text().startswith(("1 ", "-1 "))


def test_a_checkpoint_that_is_not_there_is_noticed_first(
    fails: Command, two_classes: Path, tmp_path: Path
) -> None:
    missing = tmp_path / "missing"
    assert str(missing) in fit_early(fails, two_classes, "--resume", missing)
    other = tmp_path / "other"
    assert str(missing) in fit_early(fails, two_classes, "--resume", missing, "--checkpoint", other)


def test_what_liblinear_cannot_hold_is_noticed_before_training(
    fails: Command, two_classes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("polars")
    monkeypatch.setattr("gapsvm.cli.fit.trained", never)
    model = tmp_path / "model.liblinear"
    assert "LIBLINEAR" in fails("fit", two_classes, "--loss", "smoothed_hinge", "--model", model)
    table = tmp_path / "words.csv"
    table.write_text("a,b\n1,cat\n2,dog\n")
    assert "integers" in fails("fit", table, "--model", model)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(fails: Command, two_classes: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert str(locked / "model") in fails("fit", two_classes, "--model", locked / "model")
    assert list(locked.iterdir()) == []


def test_predictions_that_cannot_be_written(
    run: Command, fails: Command, two_classes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, target = tmp_path / "model", tmp_path / "no such folder" / "out.txt"
    assert run("fit", two_classes, "--model", model).code == 0
    monkeypatch.setattr("gapsvm.cli.predict.load_matching", never)
    missing = f"--output: cannot write {target}: there is no folder {target.parent}"
    assert missing in fails("predict", model, two_classes, "--output", target)
    assert "it is a folder" in fails("predict", model, two_classes, "--output", tmp_path)


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_a_full_disk_leaves_the_old_text(
    command: str,
    run: Command,
    fails: Command,
    two_classes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, text = tmp_path / "model", tmp_path / "text"
    assert run("fit", two_classes, "--model", model).code == 0
    text.write_text("old")

    def no_space(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    if command == "fit":
        assert "No space" in fails("fit", two_classes, "--trace", text)
    else:
        assert "No space" in fails("predict", model, two_classes, "--output", text)
    assert text.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [model, text, two_classes]


def test_convert_replaces_nothing(fails: Command, two_classes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    assert f"{folder} exists already" in fails("convert", two_classes, folder)
    assert "header.json" in fails("fit", folder)
    loose = tmp_path / "loose"
    loose.symlink_to(tmp_path / "nowhere")
    assert f"{loose} exists already" in fails("convert", two_classes, loose)


def test_a_folder_that_cannot_be_made_is_noticed_first(
    fails: Command, two_classes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gapsvm.cli.data.convert", never)
    parent = tmp_path / "no such folder"
    assert f"there is no folder {parent}" in fails("convert", two_classes, parent / "two.gsv")
    assert "is a table" in fails("convert", tmp_path / "table.csv", tmp_path / "table.gsv")


def test_unknown_data_set(fails: Command) -> None:
    assert "a9a" in fails("data", "bogus")
    assert "GAPSVM_DATA" in fails("data", "w8a")


def test_path_needs_positive_lams_and_two_classes(
    fails: Command, two_classes: Path, three_classes: Path
) -> None:
    assert "positive" in fails("path", two_classes, "--lam", "0")
    assert "got nan" in fails("path", two_classes, "--lam", "1", "--lam", "nan")
    assert "must be 0 or more" in fails("path", two_classes, "--gap", "nan")
    assert "two classes" in fails("path", three_classes)
    assert "1.0, 2.0, 3.0" in fails("path", three_classes)
    assert "--label is for tables" in fails("path", two_classes, "--label", "0")
    assert "--n-lams" in fails("path", two_classes, "--n-lams", "0")


def test_the_demo_looks_at_its_options_first(
    fails: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gapsvm.cli.demo.load", never)
    assert "--gap" in fails("demo", "--gap", "nan")
    assert "--lam" in fails("demo", "--lam", "-1")
    assert "--plot" in fails("demo", "--plot", tmp_path / "no such folder" / "plot.png")


def test_labels_of_a_table_that_has_none(run: Command, fails: Command, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    table, model = tmp_path / "table.csv", tmp_path / "model"
    table.write_text("a,b,kind\n1,2,0\n2,1,1\n")
    assert run("fit", table, "--model", model).code == 0
    no_label = ("predict", model, table, "--no-label")
    assert "nothing to compare" in run(*no_label).err  # the labels are known by name
    assert "--label" in fails(*no_label, "--label", "kind")
    table.write_text("1,2,0\n2,1,1\n")
    assert "3 columns, but 2 are expected" in fails(*no_label)
    table.write_text("a,kind\n1,cat\n2,dog\n")
    assert "lacks column 'b'" in fails(*no_label)
    assert "no column 'class'" in fails("predict", model, table, "--label", "class")
    text = tmp_path / "text.svm"
    text.write_text("1 1:1\n")
    assert "for tables" in fails("predict", model, text, "--no-label")
    assert "for tables" in fails("predict", model, text, "--label", "0")
