"""Options that would change nothing are refused: whoever gives one expects something of it.

What bounds or names a run (``--threads``, ``--max-passes``, ``--time-limit``, ``--seed``) always
goes; what a method does not know is refused where the method is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from gapsvm.cli.tasks import TASKS, Chain, Fold, Rank, Separate

Given = Mapping[str, Any]
Idle = Iterator[tuple[str, bool, str]]
"""Options, each with whether it does something, and what it is for."""


_OF_CHAINS = (
    *("context", "data", "model", "task", "loss", "method", "lam", "C", "gap", "seed"),
    *("threads", "time_limit", "max_passes", "json", "weights", "trace"),
    *("checkpoint", "checkpoint_every", "resume"),
)
"""What ``gapsvm fit --task chain`` takes; folding takes all of it but the loss."""
_NAMES = {"list_all": "list"}


def is_given(context: typer.Context, name: str) -> bool:
    """Whether the option stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def refuse_idle(context: typer.Context) -> None:
    """Raise a ValueError that names an option which stands there and changes nothing."""
    values: Given = context.params
    for name, works, purpose in _COMMANDS[str(context.command.name)](values):
        if not works and is_given(context, name):
            option = _NAMES.get(name, name.replace("_", "-"))
            raise ValueError(f"--{option} {purpose}")


def _fit(values: Given) -> Idle:
    from gapsvm.io.tables import is_table  # loads NumPy

    data, task = Path(values["data"]), TASKS.make(values["task"])
    balanced = "balanced" in (values["weights"] or ())
    yield "checkpoint_every", values["checkpoint"] is not None, "needs --checkpoint"
    if isinstance(task, Chain | Fold):
        known = "chain" if isinstance(task, Chain) else "fold"
        for name in values:
            goes = name in _OF_CHAINS and not (name == "loss" and known == "fold")
            yield name, goes, f"does not go with --task {known}"
        yield "weights", not balanced, f"balanced does not go with --task {known}"
        return
    yield "kernel", isinstance(task, Separate), f"is not for --task {values['task']}"
    ranks = isinstance(task, Rank)
    yield "bias", not ranks, "is not for --task rank: documents of a query would share it"
    yield "weights", not (ranks and balanced), "balanced is not for --task rank: it has no classes"
    yield "dtype", not data.is_dir(), f"is for text; {data} is a folder, which has a type"
    yield "n_features", not is_table(data), f"is for svmlight text; {data} is a table"


def _stream(values: Given) -> Idle:
    data = Path(values["data"])
    yield "dtype", not data.is_dir(), f"is for text; {data} is a folder, which has a type"


def _predict(values: Given) -> Idle:
    seen = not values["json"] or values["output"] is not None
    yield "scores", seen, "with --json needs --output, where they are written"


def _path(values: Given) -> Idle:
    yield "C", values["kernel"] is not None, "goes with --kernel; linear models take --lam"
    yield "lam", not values["C"], "and --C say the same: λ = 1/(C · sum of weights)"
    named = values["lam"] or values["C"]
    yield "n_lams", not named, "is for λ that no --lam or --C names"


def _data(values: Given) -> Idle:
    yield "folder", values["name"] is not None, "needs the name of a data set"


def _reproduce(values: Given) -> Idle:
    yield "list_all", values["name"] is None, f"lists everything; leave out {values['name']}"
    for name in ("output", "quick", "seeds", "fresh", "folder"):
        yield name, values["name"] is not None, "needs the name of a table or figure"


_COMMANDS: dict[str, Callable[[Given], Idle]] = {
    "fit": _fit,
    "stream": _stream,
    "predict": _predict,
    "path": _path,
    "data": _data,
    "reproduce": _reproduce,
}
