"""The page of all claims: what it takes, our number, shown or not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gapsvm.reproduce.claims import Outcome, Verdict
from gapsvm.reproduce.framework import (
    Experiment,
    Settings,
    markdown_table,
    recorded,
    wrapped,
)

NAME = "index.md"

Judged = tuple[Experiment, Sequence[Verdict]]


def judged(experiments: Sequence[Experiment], settings: Settings) -> list[Judged]:
    """The verdicts of every experiment that was run into the folder of the settings."""
    found = []
    for experiment in experiments:
        rows = recorded(experiment, settings.output, settings)
        verdicts = experiment.verdicts(rows, settings) if rows else ()
        if verdicts:
            found.append((experiment, verdicts))
    return found


def page(experiments: Sequence[Experiment], settings: Settings, texts: str = "") -> str:
    """The page, in Markdown; ``texts`` is where the texts lie, seen from the page."""
    found = judged(experiments, settings)
    outcomes = [verdict.outcome for _, verdicts in found for verdict in verdicts]
    counts = ", ".join(f"{outcomes.count(outcome)} {outcome.value}" for outcome in Outcome)
    lines = [
        "# What the papers claim, and what is shown",
        "",
        f"{len(outcomes)} verdicts: {counts}. Each has one number and the bar that this number "
        "must reach, a constant of the code, which no run moves. *Not shown* is everything "
        "between the two bars, and every number that the run could not give; *contradicted* is a "
        "number on the wrong side of the second bar. A claim that holds on some sets and not on "
        "others has a line for each.",
        "",
    ]
    for experiment, verdicts in found:
        table = [
            [v.claim.says, v.on, f"{v.claim.number} {v.claim.bar}", v.words, str(v.outcome)]
            for v in verdicts
        ]
        header = ["claim", "on", "threshold", "our number", "outcome"]
        title = f"## {experiment.paper}: [{experiment.name}]({texts}{experiment.name}.md)"
        lines += [title, "", _text_table(header, table), ""]
    return wrapped("\n".join(lines))


def _text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of words, left to right."""
    table = markdown_table(header, rows)
    return table.replace("|---" + "|---:" * (len(header) - 1), "|---" * len(header), 1)


def write(experiments: Sequence[Experiment], settings: Settings) -> Path:
    """The page beside the files of a run."""
    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / NAME
    path.write_text(page(experiments, settings), encoding="utf-8")
    return path
