"""CSV, TSV and Parquet tables."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import tracemalloc

import numpy as np
import pytest

from gapsvm.io.files import load_data
from gapsvm.io.tables import TableError, read_table

polars = pytest.importorskip("polars")

CSV = "height,width,kind\n1,2.5,ham\n-3e-2,4,spam\n"


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["t.csv", "T.CSV", "t.tsv", "t.csv.gz", "t.tsv.gz", "t.parquet"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_labels_and_names(tmp_path, name, dtype):
    if name.endswith("parquet"):
        path = tmp_path / name
        kinds = {"height": [1.0, -3e-2], "width": [2.5, 4], "kind": ["ham", "spam"]}
        polars.DataFrame(kinds).write_parquet(path)
    else:
        path = written(tmp_path, name, CSV.replace(",", "\t") if "tsv" in name else CSV)
    X, y, names, _ = read_table(path, dtype=dtype)
    assert X.dtype == dtype
    assert X.flags.c_contiguous
    np.testing.assert_array_equal(X, np.array([[1, 2.5], [-3e-2, 4]], dtype=dtype))
    assert y.tolist() == ["ham", "spam"]
    assert names == ["height", "width"]
    loaded = load_data(path, dtype=dtype, n_features=2)
    np.testing.assert_array_equal(loaded.X, X)


def test_the_label_column(tmp_path):
    path = written(tmp_path, "t.csv", "a,b,c\n1,2,3\n4,5,6\n")
    for label, y, names in (
        (None, [3, 6], ["a", "b"]),
        ("b", [2, 5], ["a", "c"]),
        (0, [1, 4], ["b", "c"]),
        (-2, [2, 5], ["a", "c"]),
    ):
        data = read_table(path, label=label)
        assert data.y.tolist() == y
        assert data.feature_names == names
        assert load_data(path, label=label).y.tolist() == y
    for label, words in (
        ("x", "no column 'x'; it has a, b, c"),
        (3, "3 columns"),
        (-4, "column -4"),
    ):
        with pytest.raises(TableError, match=words):
            read_table(path, label=label)


@pytest.mark.parametrize("first", ["1,2,3", " 1 ,\t2 ,-3e4", "\ufeff1,2,3"])
def test_tables_without_names(tmp_path, first):
    X, y, names, _ = read_table(written(tmp_path, "t.csv", first + "\n4,5,6\n"))
    assert X.shape == (2, 2)
    assert X.dtype == np.float64
    assert y.dtype.kind in "if"
    assert names is None


def test_a_type_that_shows_late(tmp_path):
    path = written(tmp_path, "t.csv", "a,y\n" + "1,0\n" * 5000 + "0.5,1\n")
    assert read_table(path).X[-1, 0] == 0.5


def test_labels_of_every_kind(tmp_path):
    for values in ([True, False], [1, 2], [0.5, 1.5], ["a", "b"]):
        polars.DataFrame({"x": [1, 2], "y": values}).write_parquet(tmp_path / "t.parquet")
        assert read_table(tmp_path / "t.parquet").y.tolist() == values
    frame = polars.DataFrame(
        {"x": [True, False], "y": ["a", "b"]}, schema={"x": polars.Boolean, "y": polars.Categorical}
    )
    frame.write_parquet(tmp_path / "t.parquet")
    X, y, *_ = read_table(tmp_path / "t.parquet")
    assert X.tolist() == [[1.0], [0.0]]
    assert y.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.csv", "", "cannot be read"),
        ("t.csv", "a,b\n", "no rows"),
        ("t.csv", "a,b\n1,2\n,3\n", "'a' has no value in row 2"),
        ("t.csv", "a,b\n1,2\n3,\n", "'b' has no value in row 2"),
        ("t.csv", "a,b\nx,2\n3,1\n", "'a' holds String, not numbers"),
        ("t.csv", "a,b\n1,2,3\n", "cannot be read"),
        ("t.parquet", "spam", "cannot be read"),
        ("t.xls", "spam", "must end in"),
    ],
)
def test_unsound_tables(tmp_path, name, text, words):
    path = written(tmp_path, name, text)
    with pytest.raises(TableError, match=words) as caught:
        read_table(path)
    assert str(path) in str(caught.value)


def test_a_damaged_archive(tmp_path):
    path = tmp_path / "t.csv.gz"
    for content in (b"spam", gzip.compress(CSV.encode())[:-20]):
        path.write_bytes(content)
        with pytest.raises(TableError, match=r"t\.csv\.gz"):
            read_table(path)


COMPRESSORS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_compression_is_recognised_by_content_and_nothing_may_follow_it(tmp_path, kind):
    """As for svmlight text, whatever the name says."""
    plain = read_table(written(tmp_path, "t.csv", CSV))
    one = COMPRESSORS[kind](CSV.encode())
    for name in ("t.csv", "t.csv.gz"):
        (tmp_path / name).write_bytes(one + bytes(512))
        np.testing.assert_array_equal(read_table(tmp_path / name).X, plain.X)
        (tmp_path / name).write_bytes(one + b"junk")
        with pytest.raises(TableError, match=f"something else follows it from byte {len(one)}"):
            read_table(tmp_path / name)


@pytest.mark.parametrize("header", [None, True, False])
def test_a_bomb_is_refused_in_little_memory(tmp_path, header):
    """It took eight times its length, and was quoted to the last byte."""
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b,y\n1,2,3\n" + b"1" * (64 << 20), compresslevel=1))
    tracemalloc.start()
    try:
        with pytest.raises(
            TableError, match=r"in line 3 the line .* no data shrink so far"
        ) as told:
            read_table(path, header=header)
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()
    assert len(str(told.value)) < 400


def test_a_complaint_does_not_quote_the_file(tmp_path):
    path = written(tmp_path, "t.csv", "a,b\n1,2\n" + "3" * 100_000 + ",4,5\n")
    with pytest.raises(TableError, match="cannot be read") as told:
        read_table(path)
    assert len(str(told.value)) < 400 + len(str(path))


def test_other_complaints(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(FileNotFoundError, match="absent"):
        read_table(tmp_path / "absent.parquet")
    path = written(tmp_path, "t.csv", CSV)
    with pytest.raises(ValueError, match="float32 or float64"):
        read_table(path, dtype=int)
    with pytest.raises(ValueError, match="2 features, but 3 are expected"):
        load_data(path, n_features=3)


def test_without_polars_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="pip install polars"):
        read_table(written(tmp_path, "t.csv", CSV))
