"""``gapsvm data`` and ``gapsvm convert``: named data sets, and memory-mapped folders."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

from gapsvm import datasets
from gapsvm.cli.files import check_new_folder
from gapsvm.cli.output import progress, require_output, say, show_facts
from gapsvm.io.folder import convert
from gapsvm.io.tables import is_table


def run_data(name: str | None, folder: Path | None) -> None:
    """List the data sets, or check one and say what it holds."""
    require_output("send it to a file")
    if name is None:
        show_facts((known, datasets.describe(known)) for known in datasets.names())
        return
    dataset = datasets.load(name, folder=folder)
    shape = getattr(dataset.X, "shape", None) or (len(dataset.X),)
    size = " × ".join(f"{k:,}" for k in shape)
    say(f"{name}: {size}; checksum right; {dataset.description}")


def run_convert(source: Path, folder: Path, single: bool, threads: int) -> None:
    """Stream svmlight text into a folder that ``fit`` maps instead of reading."""
    if is_table(source):
        raise ValueError(f"convert takes svmlight text; {source} is a table, which fit reads as is")
    check_new_folder(folder)
    columns = (TextColumn("convert"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    started = time.perf_counter()
    with progress(*columns) as bar:
        task = bar.add_task("convert", total=None)
        info = convert(
            source,
            folder,
            dtype=np.float32 if single else np.float64,
            threads=threads,
            progress=lambda done, total: bar.update(task, completed=done, total=total or None),
        )
    seconds = time.perf_counter() - started
    say(
        f"{info.path}: {info.n_rows:,} rows × {info.n_features:,} features, "
        f"{info.n_values:,} values as {info.dtype}, in {seconds:.1f} s",
        error=True,
    )
