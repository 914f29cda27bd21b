"""Problems solved as the options say: under a progress bar, traced, saved and gone on with."""

from __future__ import annotations

import csv
import io
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

from gapsvm.cli.files import followed, write_text
from gapsvm.cli.output import say
from gapsvm.cli.streams import is_terminal
from gapsvm.solvers.trace import Checkpoint, Record
from gapsvm.training.checkpoint import CheckpointError, load_tree, save_tree
from gapsvm.training.progress import ProgressBar
from gapsvm.training.several import Problems, Standing, train_several
from gapsvm.training.train import Fit, Options, Training


class SolveRequest(Protocol):
    """What the command line says of how to solve."""

    @property
    def method(self) -> str: ...
    @property
    def trace(self) -> Path | None: ...
    @property
    def checkpoint(self) -> Path | None: ...
    @property
    def checkpoint_every(self) -> float: ...
    @property
    def resume(self) -> Path | None: ...
    @property
    def as_json(self) -> bool: ...
    def options(self) -> Options: ...


@dataclass(frozen=True)
class One:
    """One problem, where several could be."""

    it: Any

    def __len__(self) -> int:
        return 1

    def problem(self, k: int) -> Any:
        return self.it


def trained(
    request: SolveRequest, problems: Problems, mark: Callable[[], dict[str, Any]]
) -> list[Fit]:
    """Every problem, gone on with from a checkpoint and saved in one where that is wanted.

    ``mark()`` is what tells the problems from others.
    """
    if request.resume is not None and not request.resume.exists():
        say(f"{request.resume} is not there yet: from the beginning", error=request.as_json)
    saver = None
    if request.checkpoint is not None or request.resume is not None:
        saver = _Saver(request, mark())
    with ProgressBar("fit", delay=1.0, shown=is_terminal(sys.stderr)) as bar:
        fits = train_several(
            problems,
            request.options(),
            watch=lambda k: bar.watch(k, len(problems)),
            standing=saver.standing if saver else None,
        )
    if saver and not all(fit.result.converged for fit in fits):
        saver.save()
    return fits


class _Saver:
    """Where each problem stands: read back from one file, written to one every so many seconds."""

    def __init__(self, request: SolveRequest, of: dict[str, Any]) -> None:
        self.path, self.every = request.checkpoint, request.checkpoint_every
        self.mark = {**of, "method": request.method}
        problems: list[Fit | Training | None] = [None] * of["number of problems"]
        if request.resume is not None and request.resume.exists():
            problems = self._loaded(request.resume, len(problems))
        self.standing = Standing(problems, None if self.path is None else self)
        self.last = time.monotonic()

    def _loaded(self, path: Path, count: int) -> list[Fit | Training | None]:
        found = load_tree(path, self.mark)
        kinds = Fit | Training | None
        sound = isinstance(found, list) and len(found) == count
        if not sound or not all(isinstance(one, kinds) for one in found):
            raise CheckpointError(f"{path} is not a checkpoint of gapsvm fit")
        return found

    def __call__(self) -> None:
        if time.monotonic() - self.last >= self.every:
            self.save()

    def save(self) -> None:
        if self.path is None:
            return
        problems = [_kept(one) if isinstance(one, Fit) else one for one in self.standing.of]
        save_tree(followed(self.path), problems, self.mark)
        self.last = time.monotonic()


def _kept(fit: Fit) -> Fit:
    """What is worth keeping of a finished fit: the weights and their certificate, not the state."""
    result = fit.result
    kept = replace(
        result,
        certificate=replace(result.certificate, solution=fit.solution.primal_part),
        solver=None,
        checkpoint=Checkpoint(None, trace=result.trace),
    )
    return replace(fit, result=kept)


def write_trace(path: Path | None, fits: Sequence[Fit]) -> None:
    """Every evaluation as CSV, where that is wanted."""
    if path is not None:
        write_text(path, _trace_lines([fit.result.trace for fit in fits]))


def _trace_lines(traces: Sequence[Sequence[Record]]) -> str:
    names = [f.name for f in fields(Record) if f.name != "solution"]
    text = io.StringIO(newline="")
    lines = csv.writer(text)
    lines.writerow(["problem", *names])
    for k, trace in enumerate(traces):
        for record in trace:
            lines.writerow([k, *astuple(record)[: len(names)]])
    return text.getvalue()
