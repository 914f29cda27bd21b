"""Data for a model: the columns of a table by the names that the model knows them by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gapsvm.io.files import load_data
from gapsvm.io.tables import Table, TableError, is_table, open_table

_SHOWN = 8


@dataclass(frozen=True)
class Expected:
    """What a model knows of the table that it was trained on.

    ``label`` is the name of the label column, or its number if the table had no names, or None if
    it was no table.
    """

    n_features: int
    names: Sequence[str] | None = None
    label: str | int | None = None


class Matched(NamedTuple):
    """Rows in the order of the model's features, labels if there are any, and what to note."""

    X: Any
    y: np.ndarray | None
    notes: list[str]


def load_matching(
    path: Path,
    expected: Expected,
    *,
    label: str | int | None = None,
    no_label: bool = False,
    header: bool | None = None,
    verify: bool = True,
    threads: int = 1,
) -> Matched:
    """Read any data for a model; a table's columns go by name where both have names.

    Parameters
    ----------
    label
        The label column of a table; by default the one of the model's own table, if it is there.
    no_label
        The table has none, or it does not matter.
    header
        See `gapsvm.io.tables.read_table`.
    verify
        See `gapsvm.io.folder.open_folder`.
    """
    if not is_table(path):
        X, y, *_ = load_data(path, n_features=expected.n_features, verify=verify, threads=threads)
        return Matched(X, y, [_by_position(path)] if expected.names is not None else [])
    hint = expected.label if label is None and not isinstance(expected.label, str) else label
    table = open_table(path, header=header, label=hint, known=expected.names or ())
    by_name = table.has_names and expected.names is not None
    place = None if no_label else _label(table, expected, label, by_name)
    features, notes = (_named if by_name else _in_order)(table, expected, place, no_label)
    X = table.features(features)
    return Matched(X, None if place is None else table.labels(place), notes)


def _label(table: Table, expected: Expected, label: str | int | None, by_name: bool) -> str | None:
    """The label column: the one asked for, or the model's, or by place."""
    if label is not None:
        return table.column(label)
    if by_name:
        known = isinstance(expected.label, str) and expected.label in table.columns
        return str(expected.label) if known else None
    width = len(table.columns)
    if width == expected.n_features and expected.label is not None:
        return None  # all of them are features
    if isinstance(expected.label, str) and width == expected.n_features + 1:
        raise TableError(
            f"{table.path} has no names and a column more than the model has features; name the "
            "column of labels with --label, as -1 for the last"
        )
    return table.column(-1 if expected.label is None else expected.label)


def _named(
    table: Table, expected: Expected, place: str | None, no_label: bool
) -> tuple[list[str], list[str]]:
    """The columns by name; what is missing is refused, what is too much is noted."""
    names = list(expected.names or ())
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise TableError(
            f"{table.path} lacks {_listed(missing)}, which the model has as "
            f"{'a feature' if len(missing) == 1 else 'features'}; it has {_listed(table.columns)}"
        )
    if place in names:
        raise TableError(f"{table.path}: the label column {place!r} is a feature of the model")
    spare = {*names, place, expected.label if no_label else None}
    extra = [column for column in table.columns if column not in spare]
    ignored = f"{_listed(extra)} of {table.path}, which the model does not know: ignored"
    return names, [ignored] if extra else []


def _in_order(
    table: Table, expected: Expected, place: str | None, no_label: bool
) -> tuple[list[str], list[str]]:
    """The columns as they come, where the table or the model has no names."""
    columns = [column for column in table.columns if column != place]
    if len(columns) != expected.n_features:
        beside = "" if place is None else " beside the labels"
        raise TableError(
            f"{table.path} has {len(columns)} columns{beside}, but {expected.n_features} are "
            "expected"
        )
    one_has_names = table.has_names or expected.names is not None
    return columns, [_by_position(table.path)] if one_has_names else []


def _by_position(path: Path) -> str:
    return f"columns of {path} are matched by position: not both it and the model have names"


def _listed(names: Sequence[str]) -> str:
    """Some names in a sentence."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    word = "column " if len(names) == 1 else "columns "
    return word + ", ".join(map(repr, names[:_SHOWN])) + more
