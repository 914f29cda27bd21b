"""``gapsvm reproduce``: the tables and figures of the papers."""

from __future__ import annotations

from dataclasses import replace

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from gapsvm.cli.output import Cell, progress, require_output, say, show_facts
from gapsvm.reproduce import EXPERIMENTS, Experiment, Outcome, Settings, find, forget, run
from gapsvm.reproduce.index import write

DONE, BROKEN_OFF = 0, 2
ALL = "all"


def run_list() -> None:
    """What there is to reproduce."""
    require_output("send it to a file")
    rows: list[list[Cell]] = []
    for e in EXPERIMENTS.values():
        needs = f"about {e.time} on two cores, with {', '.join(e.data) or 'made-up rows'}"
        rows.append([e.name, f"{e.paper}: {e.shows}\n{needs}"])
    everything = "everything above, one after the other; then a page of all claims"
    rows.append([ALL, f"{everything}\nless than four hours on two cores, with all data sets"])
    show_facts(rows)


def default_seeds(name: str) -> int:
    """Runs of each kind; for everything in one go as many as take less than four hours."""
    return 2 if name == ALL else 3


def run_reproduce(name: str | None, settings: Settings) -> int:
    """Run an experiment, or all, or go on where one was broken off; the exit code."""
    if name == ALL:
        return _run_all(settings)
    experiment = find(name or "")
    outcome = _watched(experiment, settings)
    if not _say(outcome):
        return BROKEN_OFF
    for file in outcome.files:
        say(str(file))
    return DONE


def _run_all(settings: Settings) -> int:
    """One experiment after the other, in one folder; then the page of all claims."""
    if settings.fresh:
        forget(settings.output, EXPERIMENTS.values())
        settings = replace(settings, fresh=False)
    for experiment in EXPERIMENTS.values():
        if not any(map(settings.wants, experiment.plan(settings))):
            continue
        try:
            outcome = _watched(experiment, settings)
        except FileNotFoundError as error:  # its data is missing; the others may have theirs
            say(f"left out: {error}", error=True)
            continue
        if not _say(outcome, f"{experiment.name}: "):
            return BROKEN_OFF
    say(str(write(tuple(EXPERIMENTS.values()), settings)))
    return DONE


def _watched(experiment: Experiment, settings: Settings) -> Outcome:
    """A run with a bar."""
    columns = (
        TextColumn(experiment.name),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with progress(*columns) as bar:
        task = bar.add_task(experiment.name, total=None)
        return run(
            experiment, settings, lambda done, of: bar.update(task, completed=done, total=of)
        )


def _say(outcome: Outcome, which: str = "") -> bool:
    """How a run went; whether it is complete."""
    kept = outcome.finished - outcome.measured
    said = f"{outcome.measured} of {outcome.planned} runs measured, {kept} were there already"
    if not outcome.complete:
        if not outcome.left:
            others = outcome.planned - outcome.finished
            say(f"{which}{said}; {others} of other data sets are left", error=True)
            return True
        message = f"{which}broken off: {said}, {outcome.left} are left"
        message += "; the same command goes on"
        say(message, error=True)
        return False
    say(f"{which}{said}", error=True)
    return True
