"""``gapsvm reproduce``: the tables and figures of the papers."""

from __future__ import annotations

from pathlib import Path

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from gapsvm.cli.output import Cell, progress, require_output, say, show_facts
from gapsvm.reproduce import EXPERIMENTS, Settings, find, run

DONE, BROKEN_OFF = 0, 2


def run_list() -> None:
    """What there is to reproduce."""
    require_output("send it to a file")
    rows: list[list[Cell]] = []
    for e in EXPERIMENTS.values():
        needs = f"about {e.time} on two cores, with {', '.join(e.data)}"
        rows.append([e.name, f"{e.paper}: {e.shows}\n{needs}"])
    show_facts(rows)


def run_reproduce(
    name: str,
    output: Path | None,
    quick: bool,
    seeds: int,
    threads: int,
    fresh: bool,
    folder: Path | None,
    only: str | None,
) -> int:
    """Run an experiment, or go on with one that was broken off; the exit code."""
    experiment = find(name)
    settings = Settings(
        output=output or Path("gapsvm-reproduce") / (f"{name}-quick" if quick else name),
        quick=quick,
        seeds=seeds,
        threads=threads,
        fresh=fresh,
        data_folder=folder,
        only=only,
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
    with progress(*columns) as bar:
        task = bar.add_task(name, total=None)
        outcome = run(
            experiment, settings, lambda done, of: bar.update(task, completed=done, total=of)
        )
    kept = outcome.finished - outcome.measured
    said = f"{outcome.measured} of {outcome.planned} runs measured, {kept} were there already"
    if not outcome.complete:
        if not outcome.left:
            others = outcome.planned - outcome.finished
            say(f"{said}; {others} of other data sets are left", error=True)
            return DONE
        message = f"broken off: {said}, {outcome.left} are left; the same command goes on"
        say(message, error=True)
        return BROKEN_OFF
    say(said, error=True)
    for file in outcome.files:
        say(str(file))
    return DONE
