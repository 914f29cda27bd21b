"""Columns of tables go by name, from ``fit`` to ``predict`` and ``path``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command
from sklearn.datasets import load_iris

from gapsvm import LinearSVC, load_model, save_model
from gapsvm.models.files import read_model

polars = pytest.importorskip("polars")

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


@pytest.fixture(scope="module")
def iris() -> Any:
    X, y = load_iris(return_X_y=True)
    species = load_iris().target_names[y].astype(str)
    return polars.DataFrame({**dict(zip(NAMES, X.T)), "species": species})


@pytest.fixture
def model(run: Command, iris: Any, tmp_path: Path) -> Path:
    iris.write_csv(tmp_path / "iris.csv")
    assert run("fit", tmp_path / "iris.csv", "-m", tmp_path / "model").code == 0
    return tmp_path / "model"


def accuracy(err: str) -> float:
    return float(err.split("accuracy ")[1].split(",")[0])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_reordered_columns_are_found_by_name(
    suffix: str, run: Command, model: Path, iris: Any, tmp_path: Path
) -> None:
    expected = run("predict", model, tmp_path / "iris.csv")
    assert accuracy(expected.err) > 0.9
    assert set(expected.out.split()) == {"setosa", "versicolor", "virginica"}
    shuffled = iris.select(["species", *NAMES[::-1]])
    other = tmp_path / f"shuffled.{suffix}"
    shuffled.write_csv(other) if suffix == "csv" else shuffled.write_parquet(other)
    assert run("predict", model, other) == expected
    assert read_model(model).feature_names == NAMES
    assert read_model(model).label == "species"


def test_what_is_missing_is_named_and_what_is_too_much_is_noted(
    run: Command, fails: Command, model: Path, iris: Any, tmp_path: Path
) -> None:
    other = tmp_path / "other.csv"
    iris.drop("petal length").write_csv(other)
    assert "lacks column 'petal length', which the model has" in fails("predict", model, other)
    iris.rename(dict(zip(NAMES, "abcd"))).write_csv(other)
    assert "lacks columns 'sepal length', 'sepal width'" in fails("predict", model, other)
    more = iris.with_columns(polars.lit("text").alias("remark"))
    more.write_csv(other)
    code, out, err = run("predict", model, other)
    expected = run("predict", model, tmp_path / "iris.csv")
    assert (code, out) == (0, expected.out)
    note, quality = err.splitlines()
    assert "note: column 'remark'" in note
    assert "ignored" in note
    assert quality + "\n" == expected.err


def test_a_table_without_labels_needs_no_option(
    run: Command, model: Path, iris: Any, tmp_path: Path
) -> None:
    iris.drop("species").write_csv(tmp_path / "bare.csv")
    code, out, err = run("predict", model, tmp_path / "bare.csv")
    assert (code, err) == (0, "150 rows: nothing to compare with\n")
    assert out == run("predict", model, tmp_path / "iris.csv").out
    iris.rename({"species": "kind"}).write_csv(tmp_path / "renamed.csv")
    renamed = run("predict", model, tmp_path / "renamed.csv", "--label", "kind")
    assert renamed == run("predict", model, tmp_path / "iris.csv")


def test_a_table_without_names(
    run: Command, fails: Command, model: Path, iris: Any, tmp_path: Path
) -> None:
    """All rows count; what the model knows by name goes by position then, and that is said."""
    bare = tmp_path / "bare.csv"
    iris.write_csv(bare, include_header=False)
    assert "name the column of labels with --label" in fails("predict", model, bare)
    code, out, err = run("predict", model, bare, "--label", "-1")
    assert code == 0
    assert out == run("predict", model, tmp_path / "iris.csv").out
    assert "matched by position" in err
    own = tmp_path / "own"
    assert "150 rows × 4 features" in run("fit", bare, "-m", own).out
    assert run("predict", own, bare).err == run("predict", model, tmp_path / "iris.csv").err
    assert (read_model(own).feature_names, read_model(own).label) == (None, 4)


def test_the_place_of_the_labels_is_kept_too(run: Command, iris: Any, tmp_path: Path) -> None:
    bare, own = tmp_path / "bare.csv", tmp_path / "own"
    iris.select(["species", *NAMES]).write_csv(bare, include_header=False)
    assert run("fit", bare, "--label", "0", "-m", own).code == 0
    assert accuracy(run("predict", own, bare).err) > 0.9


def test_a_first_line_that_may_be_either(
    run: Command, fails: Command, iris: Any, tmp_path: Path
) -> None:
    odd = tmp_path / "odd.csv"
    odd.write_text("1,2,3,4,kind\n" + iris.write_csv(include_header=False))
    for command in ("fit", "inspect"):
        assert "may hold names or be a row" in fails(command, odd)
    assert "150 rows" in run("fit", odd, "--header").out
    assert "151 rows" in run("fit", odd, "--no-header", "--gap", "0.1").out
    assert json.loads(run("inspect", odd, "--header", "--json").out)["rows"] == 150
    svm = tmp_path / "rows.svm"
    svm.write_text("1 1:1\n-1 1:2\n")
    for command in ("fit", "inspect", "path"):
        assert "--header is for tables" in fails(command, svm, "--header")
        assert "--label is for tables" in fails(command, svm, "--label", "0")


def test_rows_to_test_a_path_on_go_by_name(run: Command, iris: Any, tmp_path: Path) -> None:
    two = iris.filter(polars.col("species") != "virginica")
    two.write_csv(tmp_path / "train.csv")
    two.select(["species", *NAMES[::-1]]).write_csv(tmp_path / "test.csv")
    options = ("--lam", "0.01", "--json", "--test")
    found = run("path", tmp_path / "train.csv", *options, tmp_path / "test.csv")
    assert json.loads(found.out)["points"][0]["test_error"] == 0
    same = run("path", tmp_path / "train.csv", *options, tmp_path / "train.csv")
    assert json.loads(found.out)["points"][0] == json.loads(same.out)["points"][0]


def test_liblinear_models_have_no_names(run: Command, iris: Any, tmp_path: Path) -> None:
    numbered = iris.with_columns(polars.col("species").rank("dense").cast(polars.Int64))
    table, text = tmp_path / "iris.csv", tmp_path / "iris.liblinear"
    numbered.write_csv(table)
    assert "LIBLINEAR's format holds no names" in run("fit", table, "-m", text).err
    err = run("predict", text, table).err
    assert "matched by position" in err
    assert accuracy(err) > 0.9


def test_labels_that_are_texts_for_a_regression(
    fails: Command, run: Command, iris: Any, tmp_path: Path
) -> None:
    table, model = tmp_path / "iris.csv", tmp_path / "model"
    iris.write_csv(table)
    loss = ("--loss", "huber")
    assert "labels are texts" in fails("fit", table, *loss)
    assert run("fit", table, "--label", "0", *loss, "-m", model).code == 1  # the species
    iris.drop("species").write_csv(table)
    assert run("fit", table, "--label", "petal width", *loss, "-m", model).code == 0
    iris.drop("petal width").write_csv(table)
    assert "the labels are texts" in fails("predict", model, table, "--label", "species")


def test_labels_as_texts_and_as_numbers(run: Command, tmp_path: Path) -> None:
    """A file of digits only is read as numbers; the model's labels are texts all the same."""
    train, test, model = tmp_path / "train.csv", tmp_path / "test.csv", tmp_path / "model"
    train.write_text("x,kind\n" + "0,1\n1,2\n9,A\n" * 10)
    test.write_text("x,kind\n0,1\n")
    run("fit", train, "-m", model)
    assert read_model(model).classes.tolist() == ["1", "2", "A"]
    assert "accuracy" in run("predict", model, test).err


def test_names_of_estimators_and_of_the_command_line_are_the_same(
    run: Command, iris: Any, tmp_path: Path, model: Path
) -> None:
    loaded = load_model(model)
    assert loaded.feature_names_in_.tolist() == NAMES
    frame = iris.select(NAMES)
    shown = run("predict", model, tmp_path / "iris.csv").out.split()
    np.testing.assert_array_equal(loaded.predict(frame), shown)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame.select(NAMES[::-1]))
    own = LinearSVC().fit(frame, iris["species"].to_numpy())
    save_model(own, tmp_path / "own")
    iris.select(["species", *NAMES[::-1]]).write_csv(tmp_path / "shuffled.csv")
    found = run("predict", tmp_path / "own", tmp_path / "shuffled.csv", "--label", "species")
    assert accuracy(found.err) > 0.9
