"""Any file of rows and labels, by whatever it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from gapsvm.io.folder import open_folder
from gapsvm.io.svmlight import read_svmlight
from gapsvm.io.tables import is_table, read_table
from gapsvm.system.memory import TOO_WIDE, check_vector


class LoadedData(NamedTuple):
    """What `load_data` returns: rows (dense or CSR), labels, and the names of a table's columns.

    ``label`` is that of `gapsvm.io.tables.TableData`; None for what is no table.
    """

    X: Any
    y: np.ndarray
    feature_names: list[str] | None = None
    label: str | int | None = None


def load_data(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    dtype: Any = np.float64,
    zero_based: bool | Literal["auto"] = "auto",
    label: str | int | None = None,
    header: bool | None = None,
    verify: bool = True,
    threads: int = 1,
) -> LoadedData:
    """Read rows and labels from a folder, a table or svmlight text.

    A folder is one made by ``gapsvm convert`` and is mapped, not read; names that end in .csv, .tsv
    or .parquet are tables; everything else is svmlight text, plain or compressed.

    Parameters
    ----------
    n_features
        The number of columns that X must have; sparse rows may have used fewer.
    dtype
        float64 or float32.  A folder keeps the type it has.
    zero_based, threads
        For svmlight text; see `read_svmlight`.
    label, header
        For tables; see `read_table`.
    verify
        For folders; see `open_folder`.
    """
    path = Path(path)
    if path.is_dir():
        data = LoadedData(*open_folder(path, verify=verify)[:2])
        if n_features is not None and data.X.shape[1] < n_features:
            data.X.resize((data.X.shape[0], n_features))  # a wider shape over the same arrays
    elif is_table(path):
        data = LoadedData(*read_table(path, label=label, dtype=dtype, header=header))
    else:
        X, y, _ = read_svmlight(
            path, n_features=n_features, dtype=dtype, zero_based=zero_based, threads=threads
        )
        data = LoadedData(X, y)
    if n_features is not None and data.X.shape[1] != n_features:
        raise ValueError(f"{path} has {data.X.shape[1]} features, but {n_features} are expected")
    if not is_table(path):
        why = ", as many as its largest index" if n_features is None else ""
        check_vector(data.X.shape[1], f"{path} has {data.X.shape[1]:,} columns{why}", TOO_WIDE)
    return data
