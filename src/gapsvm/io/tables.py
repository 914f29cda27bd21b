"""CSV, TSV and Parquet tables as dense rows and labels, through polars where it is installed."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")

_FIRST_LINE_LIMIT = 1 << 24  # bytes


class TableError(ValueError):
    """A table that cannot be rows and labels; the message names the file and the column."""


class TableData(NamedTuple):
    """What `read_table` returns; ``feature_names`` is None for a table without a line of names."""

    X: np.ndarray
    y: np.ndarray
    feature_names: list[str] | None


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a table."""
    return os.fspath(path).lower().endswith(SUFFIXES)


def read_table(
    path: str | os.PathLike[str], *, label: str | int | None = None, dtype: Any = np.float64
) -> TableData:
    """Read a table whose columns are numbers, but for the labels, which may be anything.

    The first line of CSV and TSV text holds the names of the columns, unless all of it are numbers.

    Parameters
    ----------
    path
        A name that ends in .csv or .tsv (.gz may follow) or in .parquet.
    label
        Name or number of the column with the labels; numbers start at 0, or at -1 from the end.
        By default the last column.
    dtype
        float64 or float32, of X.  Labels keep their type.

    Raises
    ------
    TableError
        A ValueError: a value is missing, a feature is not a number, there is no such column, ...
    ImportError
        If polars is not installed.
    """
    path = Path(path)
    if not is_table(path):
        raise TableError(f"{path}: the name must end in one of {', '.join(SUFFIXES)}")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}")
    try:
        import polars
    except ImportError:
        raise ImportError(
            f"polars is needed to read {path}: pip install polars; svmlight text needs nothing more"
        ) from None
    os.stat(path)  # says if there is no such file
    has_names = True
    try:
        if path.suffix.lower() == ".parquet":
            table = polars.read_parquet(path)
        else:
            separator = "," if path.name.lower().endswith((".csv", ".csv.gz")) else "\t"
            has_names = not _first_line_is_numeric(path, separator)
            text = polars.read_csv(
                path, separator=separator, has_header=has_names, infer_schema_length=None
            )
            table = text.with_columns(_without_padding(column) for column in text)
    except (polars.exceptions.PolarsError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise TableError(f"{path} cannot be read: {error}") from error
    if table.width == 0 or table.height == 0:
        raise TableError(f"{path} has no rows")
    label = _label_column(path, table.columns, label)
    labels = table[label]
    features = table.drop(label)
    for column in (labels, *features):
        if column.null_count():
            row = int(column.is_null().arg_max() or 0)
            raise TableError(f"{path}: column {column.name!r} has no value in row {row + 1}")
    for column in features:
        if not (column.dtype.is_numeric() or column.dtype == polars.Boolean):
            raise TableError(f"{path}: column {column.name!r} holds {column.dtype}, not numbers")
    float_type = polars.Float32 if np.dtype(dtype) == np.float32 else polars.Float64
    X = features.cast(float_type).to_numpy(order="c")
    X = X.reshape(table.height, features.width)  # without features polars forgets the rows
    return TableData(X, labels.to_numpy(), features.columns if has_names else None)


def _without_padding(column: Any) -> Any:
    """A column of numbers with blanks around them, which polars takes for texts, as numbers."""
    import polars

    if column.dtype != polars.String:
        return column
    texts = column.str.strip_chars()
    numbers = texts.cast(polars.Float64, strict=False)
    return texts if numbers.null_count() > texts.null_count() else numbers


def _first_line_is_numeric(path: Path, separator: str) -> bool:
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rb") as file:
            line = file.readline(_FIRST_LINE_LIMIT)
    except (EOFError, gzip.BadGzipFile) as error:
        raise TableError(f"{path}: the compressed data is damaged: {error}") from error
    try:
        for word in line.decode("utf-8-sig").strip().split(separator):
            float(word.strip().strip('"'))
    except ValueError:
        return False
    return True


def _label_column(path: Path, columns: list[str], label: str | int | None) -> str:
    if isinstance(label, str):
        if label not in columns:
            raise TableError(f"{path} has no column {label!r}; it has {', '.join(columns[:20])}")
        return label
    number = -1 if label is None else label
    if not -len(columns) <= number < len(columns):
        raise TableError(f"{path} has {len(columns)} columns; there is no column {number}")
    return columns[number]
