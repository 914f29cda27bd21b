"""``gapsvm data`` and ``gapsvm convert``: named data sets, and memory-mapped folders."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from gapsvm import datasets
from gapsvm.cli.files import check_new_folder
from gapsvm.io.folder import convert
from gapsvm.io.tables import is_table


def run_data(name: str | None, folder: Path | None) -> None:
    """List the data sets, or check one and say what it holds."""
    console = Console()
    if name is None:
        table = Table.grid(padding=(0, 2))
        for known in datasets.names():
            table.add_row(Text(known, style="bold"), Text(datasets.describe(known)))
        console.print(table, highlight=False)
        return
    dataset = datasets.load(name, folder=folder)
    shape = getattr(dataset.X, "shape", None) or (len(dataset.X),)
    size = " × ".join(f"{k:,}" for k in shape)
    said = f"{name}: {size}; checksum right; {dataset.description}"
    console.print(said, highlight=False, soft_wrap=True)


def run_convert(source: Path, folder: Path, single: bool, threads: int) -> None:
    """Stream svmlight text into a folder that ``fit`` maps instead of reading."""
    if is_table(source):
        raise ValueError(f"convert takes svmlight text; {source} is a table, which fit reads as is")
    check_new_folder(folder)
    console = Console(stderr=True)
    columns = (TextColumn("convert"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    started = time.perf_counter()
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("convert", total=None)
        info = convert(
            source,
            folder,
            dtype=np.float32 if single else np.float64,
            threads=threads,
            progress=lambda done, total: bar.update(task, completed=done, total=total or None),
        )
    seconds = time.perf_counter() - started
    console.print(
        f"{info.path}: {info.n_rows:,} rows × {info.n_features:,} features, "
        f"{info.n_values:,} values as {info.dtype}, in {seconds:.1f} s",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
