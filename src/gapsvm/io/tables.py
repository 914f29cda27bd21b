"""CSV, TSV and Parquet tables as dense rows and labels, through polars where it is installed."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from gapsvm.io.compressed import LONGEST_MAGIC, CompressedError, is_compressed, whole_text
from gapsvm.io.header import TableError as TableError
from gapsvm.io.header import has_names
from gapsvm.system.regular import check_regular, open_regular

TEXT_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
SUFFIXES = (*TEXT_SUFFIXES, ".parquet")
_LONGEST_COMPLAINT = 300


class TableData(NamedTuple):
    """What `read_table` returns.

    ``label`` is the name of the label column, ``feature_names`` are those of the others.  A table
    without a line of names has a number for the one, from 0, and None for the others.
    """

    X: np.ndarray
    y: np.ndarray
    feature_names: list[str] | None
    label: str | int


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a table."""
    return os.fspath(path).lower().endswith(SUFFIXES)


def is_text_table(path: str | os.PathLike[str]) -> bool:
    """Whether it is a table that may or may not begin with a line of names."""
    return os.fspath(path).lower().endswith(TEXT_SUFFIXES)


def _separator(path: Path) -> str:
    """What stands between the cells of a text table."""
    return "," if path.name.lower().endswith((".csv", ".csv.gz")) else "\t"


def read_table(
    path: str | os.PathLike[str],
    *,
    label: str | int | None = None,
    dtype: Any = np.float64,
    header: bool | None = None,
) -> TableData:
    """Read a table whose columns are numbers, but for the labels, which may be anything.

    Parameters
    ----------
    path
        A name that ends in .csv or .tsv (.gz may follow) or in .parquet.
    label
        Name or number of the column with the labels; numbers start at 0, or at -1 from the end.
        By default the last column.
    dtype
        float64 or float32, of X.  Labels keep their type.
    header
        Whether the first line of CSV and TSV text holds the names of the columns.  By default that
        is recognised, and what may be either is an error.

    Raises
    ------
    TableError
        A ValueError: a value is missing, a feature is not a number, there is no such column, ...
    ImportError
        If polars is not installed.
    """
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}")
    table = open_table(path, header=header, label=label)
    path = table.path
    name = table.column(-1 if label is None else label)
    others = [column for column in table.columns if column != name]
    if not others:
        between = ""
        if is_text_table(path):
            between = f"; cells stand between {'commas' if _separator(path) == ',' else 'tabs'}"
        raise TableError(
            f"{path} has no features: its only column, {name!r}, holds the labels{between}"
        )
    X, y = table.features(others, dtype), table.labels(name)
    if table.has_names:
        return TableData(X, y, others, name)
    return TableData(X, y, None, table.columns.index(name))


def open_table(
    path: str | os.PathLike[str],
    *,
    header: bool | None = None,
    label: str | int | None = None,
    known: Sequence[str] = (),
) -> Table:
    """All columns of a table, whatever they hold; raises what `read_table` does.

    ``label`` and ``known`` names of columns help to recognise a line of names.
    """
    path = Path(path)
    if not is_table(path):
        raise TableError(f"{path}: the name must end in one of {', '.join(SUFFIXES)}")
    if header is not None and not is_text_table(path):
        raise TableError(f"{path} holds its names; header is for {', '.join(TEXT_SUFFIXES)}")
    try:
        import polars
    except ImportError:
        raise ImportError(
            f"polars is needed to read {path}: pip install polars; svmlight text needs nothing more"
        ) from None
    check_regular(path)  # says if there is no such file
    try:
        if is_text_table(path):
            separator, named = _separator(path), bool(header)
            with _text(path) as file:
                if header is None:
                    named = has_names(path, file, separator, label, known)
                file.seek(0)
                text = polars.read_csv(
                    file if isinstance(file, io.BytesIO) else path,
                    separator=separator,
                    has_header=named,
                    infer_schema_length=None,
                )
            frame = text.with_columns(_without_padding(column) for column in text)
        else:
            named, frame = True, polars.read_parquet(path)
    except (polars.exceptions.PolarsError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise TableError(f"{path} cannot be read: {_short(str(error))}") from error
    if frame.width == 0 or frame.height == 0:
        raise TableError(f"{path} has no rows" if frame.width else f"{path} has no columns")
    return Table(path, frame.rename(_names(path, frame.columns)), named)


def _text(path: Path) -> IO[bytes]:
    """The file of a text table; what is compressed is decompressed first, to its last byte."""
    file = open_regular(path)
    with ExitStack() as on_error:
        on_error.enter_context(file)
        compressed = is_compressed(file.read(LONGEST_MAGIC))
        file.seek(0)
        if not compressed:
            on_error.pop_all()
            return file
        try:
            return io.BytesIO(whole_text(file) or b"")
        except CompressedError as error:
            raise TableError(f"{path}: the compressed data is damaged: {error}") from error


def _short(complaint: str) -> str:
    """The first line of what polars says, which may quote the file at any length."""
    first = complaint.strip().partition("\n")[0]
    return first if len(first) <= _LONGEST_COMPLAINT else first[:_LONGEST_COMPLAINT] + "…"


def _without_padding(column: Any) -> Any:
    """A column of numbers with blanks around them, which polars takes for texts, as numbers."""
    import polars

    if column.dtype != polars.String:
        return column
    texts = column.str.strip_chars()
    numbers = texts.cast(polars.Float64, strict=False)
    return texts if numbers.null_count() > texts.null_count() else numbers


def _names(path: Path, columns: list[str]) -> dict[str, str]:
    """The columns' names without blanks around them, each of which must be there once."""
    names = {column: column.strip() for column in columns}
    for column, name in names.items():
        first = re.sub(r"_duplicated_\d+$", "", column).strip()  # as polars tells them apart
        twin = first != column.strip() and first in names.values()
        if twin or list(names.values()).count(name) > 1:
            raise TableError(f"{path} has two columns of the name {first!r}; rename one of them")
    return names


@dataclass(frozen=True)
class Table:
    """A table that was read, and whether its columns have names of their own."""

    path: Path
    frame: Any
    has_names: bool

    @property
    def columns(self) -> list[str]:
        return list(self.frame.columns)

    def column(self, label: str | int) -> str:
        """The column of that name, or of that number from 0, or from -1 at the end."""
        columns = self.columns
        if isinstance(label, str):
            if label not in columns or not self.has_names:
                held = f"it has {', '.join(columns[:20])}" if self.has_names else "it has no names"
                raise TableError(f"{self.path} has no column {label!r}; {held}")
            return label
        if not -len(columns) <= label < len(columns):
            raise TableError(f"{self.path} has {len(columns)} columns; there is no column {label}")
        return columns[label]

    def features(self, names: Sequence[str], dtype: Any = np.float64) -> np.ndarray:
        """These columns, in this order, as numbers."""
        import polars

        chosen = self.frame.select(names)
        for column in chosen:
            self._check_complete(column)
            if not (column.dtype.is_numeric() or column.dtype == polars.Boolean):
                raise TableError(
                    f"{self.path}: column {column.name!r} holds {column.dtype}, not numbers; if it "
                    "holds the labels, name it with --label (in Python label)"
                )
        float_type = polars.Float32 if np.dtype(dtype) == np.float32 else polars.Float64
        X = chosen.cast(float_type).to_numpy(order="c")
        # without features polars forgets the rows
        return X.reshape(self.frame.height, len(names))

    def labels(self, name: str) -> np.ndarray:
        """A column of numbers, truths or texts."""
        import polars

        column = self.frame[name]
        self._check_complete(column)
        kind = column.dtype
        if kind in (polars.Categorical, polars.Enum):
            column = column.cast(polars.String)
        elif kind.is_decimal():
            column = column.cast(polars.Float64)
        elif not (kind.is_numeric() or kind in (polars.Boolean, polars.String)):
            raise TableError(f"{self.path}: column {name!r} holds {kind}, which cannot be labels")
        if kind.is_float() and not column.is_finite().all():
            row = int(column.is_finite().arg_min() or 0)
            raise TableError(f"{self.path}: label {column[row]} in row {row + 1} is not finite")
        return column.to_numpy()

    def _check_complete(self, column: Any) -> None:
        if column.null_count():
            row = int(column.is_null().arg_max() or 0)
            raise TableError(f"{self.path}: column {column.name!r} has no value in row {row + 1}")
