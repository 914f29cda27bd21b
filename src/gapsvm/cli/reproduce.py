"""``gapsvm reproduce``: the tables and figures of the papers."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from gapsvm.reproduce import EXPERIMENTS, Options, find, run

DONE, BROKEN_OFF = 0, 2


def run_list() -> None:
    """What there is to reproduce."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for e in EXPERIMENTS.values():
        needs = f"about {e.time} on two cores, with {', '.join(e.data)}"
        table.add_row(Text(e.name, style="bold", no_wrap=True), f"{e.paper}: {e.shows}\n{needs}")
    Console(highlight=False).print(table)


def run_reproduce(
    name: str,
    output: Path | None,
    quick: bool,
    seeds: int,
    threads: int,
    fresh: bool,
    folder: Path | None,
) -> int:
    """Run an experiment, or go on with one that was broken off; the exit code."""
    experiment = find(name)
    console = Console(stderr=True)
    options = Options(
        output=output or Path("gapsvm-reproduce") / (f"{name}-quick" if quick else name),
        quick=quick,
        seeds=seeds,
        threads=threads,
        fresh=fresh,
        data_folder=folder,
    )
    columns = (
        TextColumn(name),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None)
        outcome = run(
            experiment, options, lambda done, of: bar.update(task, completed=done, total=of)
        )
    kept = outcome.finished - outcome.measured
    said = f"{outcome.measured} of {outcome.planned} runs measured, {kept} were there already"
    if not outcome.complete:
        left = outcome.planned - outcome.finished
        message = f"broken off: {said}, {left} are left; the same command goes on"
        console.print(message, highlight=False, soft_wrap=True)
        return BROKEN_OFF
    console.print(said, highlight=False, soft_wrap=True)
    for file in outcome.files:
        Console().print(str(file), markup=False, highlight=False, soft_wrap=True)
    return DONE
