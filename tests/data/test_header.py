"""Whether a text table begins with a line of names."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest

from gapsvm.io.header import TableError, has_names
from gapsvm.io.tables import read_table

pytest.importorskip("polars")

IRIS = "5.1,3.5,setosa\n4.9,3.0,setosa\n7.0,3.2,versicolor\n"


def table(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "label", "known", "named"),
    [
        ("a,b,kind\n" + IRIS, None, (), True),
        (IRIS, None, (), False),  # the label of the first line comes again
        ('"5.1","3.5","setosa"\n' + IRIS, None, (), False),
        ("5.1,,setosa\n" + IRIS, None, (), False),  # a value is missing, but it is a row
        ("NA,3.5,setosa\n" + IRIS, None, (), False),
        ("0,1,2\n" + IRIS, None, (), True),  # a number above texts
        ("1990,1991,kind\n1,2,0\n3,4,1\n", None, (), True),
        ("1990,1991,kind\n1,2,ham\n3,4,spam\n", "kind", (), True),
        ("1990,1991,kind\n1,2,ham\n3,4,spam\n", None, ("1990", "1991"), True),
        ("1,2,ham\n3,4,spam\n", None, ("a", "b"), None),
        (",a,kind\n" + IRIS, None, (), True),
        ("1,2,3\n4,5,6\n", None, (), False),
        ("1,2,3\n", None, (), False),
        ("0,1,2\n5,6,7\n", None, (), None),  # as pandas counts columns without names
        ("0,1\n5,6\n", None, (), False),
        ("0,1,species\n" + IRIS, None, (), None),
        ("true,1\nfalse,0\ntrue,1\n", None, (), False),
    ],
)
def test_names_rows_and_what_may_be_either(tmp_path, text, label, known, named):
    path = table(tmp_path, text)
    if named is not None:
        assert has_names(path, io.BytesIO(text.encode()), ",", label, known) is named
        return
    with pytest.raises(TableError, match="say which by --header or --no-header") as caught:
        has_names(path, io.BytesIO(text.encode()), ",", label, known)
    assert text.splitlines()[0] in str(caught.value)


def test_no_row_is_lost(tmp_path):
    data = read_table(table(tmp_path, IRIS))
    assert (len(data.y), data.feature_names, data.label) == (3, None, 2)
    assert data.y.tolist() == ["setosa", "setosa", "versicolor"]
    data = read_table(table(tmp_path, "w,h, kind \n" + IRIS))
    assert (len(data.y), data.feature_names, data.label) == (3, ["w", "h"], "kind")


@pytest.mark.parametrize(
    "text",
    ["\0\n1\n", 'a,"b\n1,2\n', "a,b\r1,2\r3,4\r", "\x0c,\x1c\n1,2\n", "\n\n", "\ufeff", ",,\n"],
)
def test_odd_text_is_read_or_refused_in_a_sentence(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    with contextlib.suppress(TableError):
        read_table(path)


def test_one_may_say_it(tmp_path):
    path = table(tmp_path, "0,1,2\n5,6,7\n")
    named, bare = read_table(path, header=True), read_table(path, header=False)
    assert (named.X.tolist(), named.feature_names, named.label) == ([[5, 6]], ["0", "1"], "2")
    assert (bare.X.tolist(), bare.feature_names, bare.label) == ([[0, 1], [5, 6]], None, 2)


def test_two_columns_of_one_name_are_refused(tmp_path):
    for line in ("a,a,y", "a, a,y"):
        with pytest.raises(TableError, match="two columns of the name 'a'"):
            read_table(table(tmp_path, f"{line}\n1,2,3\n"))


def test_a_large_file_is_not_read_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr("gapsvm.io.header._SAMPLE", 8)
    file = io.BytesIO(b"a,b\n" + b"1,2\n" * 10_000)
    assert has_names(tmp_path / "t.csv", file, ",")
    assert file.tell() < 20


@pytest.mark.parametrize("kind", ["Date", "List"])
def test_labels_that_are_none(tmp_path, kind):
    polars = pytest.importorskip("polars")
    values = {"Date": polars.Series(np.arange(2)).cast(polars.Date), "List": [[1], [2]]}[kind]
    polars.DataFrame({"x": [1, 2], "y": values}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match=f"'y' holds {kind}.*cannot be labels"):
        read_table(tmp_path / "t.parquet")
    with pytest.raises(TableError, match="nan in row 2 is not finite"):
        read_table(table(tmp_path, "x,y\n1,2.5\n2,nan\n"))
