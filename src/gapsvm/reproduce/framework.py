"""Experiments: many independent cells, each measured once; then a figure, a table and a text.

A cell is a frozen dataclass whose fields are everything that its measurement depends on: data,
method, seed, budget.  Finished cells are appended to a CSV at once, so that a run that was broken
off goes on where it stopped.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import textwrap
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from gapsvm import __version__, datasets
from gapsvm.problems.linear import LinearProblem
from gapsvm.reproduce.claims import Verdict
from gapsvm.solvers.loop import deferred_interrupt
from gapsvm.solvers.trace import Status
from gapsvm.system.atomic import replacing
from gapsvm.system.blas import one_blas_thread
from gapsvm.training.train import Options, train

Row = dict[str, Any]
"""One line of a measurement: numbers and words by column."""

OPTIMA = "optima.json"
CERTIFIED = 1e-7
"""Gap to which an optimum is certified that the data folder does not list."""


class Interrupted(Exception):
    """The user wants to stop; what is measured so far is kept."""


@dataclass(frozen=True)
class Settings:
    """What the user chose."""

    output: Path
    quick: bool = False
    seeds: int = 3
    threads: int = 1
    fresh: bool = False
    data_folder: Path | None = None
    only: str | None = None
    """Measure the runs of this data set alone."""

    def wants(self, cell: Any) -> bool:
        """Whether a run is to be measured."""
        names = getattr(cell, "task", None), getattr(cell, "data", None)
        return self.only is None or self.only in names


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of a paper.

    Parameters
    ----------
    name, paper, shows, data, time
        For the list: where it is from, what it shows, the data sets it needs, how long it takes.
    cell : type
        The frozen dataclass of its cells.
    columns : tuple of str
        What is measured of a cell.
    plan : callable
        The cells of a run, by its settings.
    measure : callable
        The rows of one cell; asks ``bench.check()`` now and then.
    report : callable
        Writes figure and text from the rows of all cells.
    verdicts : callable
        What the rows say of the paper's claims, for the page of all claims.
    """

    name: str
    paper: str
    shows: str
    data: tuple[str, ...]
    time: str
    cell: type
    columns: tuple[str, ...]
    plan: Callable[[Settings], Sequence[Any]]
    measure: Callable[[Any, Bench], list[Row]]
    report: Callable[[Path, list[Row], Settings], None]
    verdicts: Callable[[list[Row], Settings], Sequence[Verdict]] = lambda rows, settings: ()


@dataclass
class Bench:
    """What the cells of a run share: data read once, optima found once, and the wish to stop."""

    settings: Settings
    interrupted: Callable[[], bool] = lambda: False
    failed: threading.Event = field(default_factory=threading.Event)
    _values: dict[Any, Any] = field(default_factory=dict)
    _locks: dict[Any, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cancelled(self) -> bool:
        return self.interrupted() or self.failed.is_set()

    def check(self) -> None:
        """Ends the cell if the user wants to stop, or if another cell failed."""
        if self.cancelled():
            raise Interrupted

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """A value that the first thread to ask for it makes, while the others wait."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._values:
                self._values[key] = make()
            return self._values[key]

    def optimum(self, key: str, problem: LinearProblem) -> float:
        """P* of a problem: certified, and kept in the output folder under ``key``."""
        return self.known(key, lambda: certified(key, problem, self))[0]

    def known(self, key: str, find: Callable[[], tuple[float, float]]) -> tuple[float, float]:
        """P* and the gap to which it is certified, found once and kept in the output folder."""
        value, gap = self.once(("optimum", key), lambda: self._known(key, find))
        return float(value), float(gap)

    def solved(self, key: str, problem: LinearProblem) -> Any:
        """The result of a fit that is certified as well as P* is."""
        tol = CERTIFIED / problem.primal_at_zero
        fit = train(problem, Options(tol=tol, max_passes=5000), cancelled=self.cancelled)
        if fit.result.status is Status.INTERRUPTED:
            raise Interrupted
        if fit.result.gap > CERTIFIED:
            raise ValueError(f"{key}: the gap stayed at {fit.result.gap:.1e}, above {CERTIFIED:g}")
        return fit.result

    def _known(self, key: str, find: Callable[[], tuple[float, float]]) -> tuple[float, float]:
        def found() -> dict[str, float]:
            value, gap = find()
            return {"value": value, "gap": gap}

        numbers = self.kept(key, found)
        return numbers["value"], numbers["gap"]

    def kept(self, key: str, make: Callable[[], dict[str, float]]) -> dict[str, float]:
        """Numbers that the output folder has under ``key``, or that are made and kept there."""
        path = self.settings.output / OPTIMA
        there = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        if key in there:
            return dict(there[key])
        found = make()
        with self._lock:
            there = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
            with replacing(path) as file:
                file.write(json.dumps({**there, key: found}, indent=1).encode())
        return found


def certified(key: str, problem: LinearProblem, bench: Bench) -> tuple[float, float]:
    """P* of a linear problem, and the gap to which it is certified."""
    result = bench.solved(key, problem)
    return result.certificate.primal, max(0.0, result.gap)  # not below zero by rounding


class Table:
    """A CSV of measurements, in columns: the fields of the cell, this version, what was measured.

    A cell may have several rows, numbered in ``row`` of ``rows``; it counts as finished when all
    of them are there.  What another version measured stays in the file and is not looked at.
    """

    def __init__(
        self, path: Path, cell: type, columns: Sequence[str], *, read: bool = True
    ) -> None:
        self.path = path
        self.key = (*(f.name for f in fields(cell)), "gapsvm")
        self.columns = (*self.key, "row", "rows", *columns)
        if len(set(self.columns)) < len(self.columns):
            raise ValueError(f"{cell.__name__} and what is measured share the name of a column")
        self.found: dict[tuple[str, ...], list[Row]] = {}
        if read and path.is_file():
            self._read()

    def finished(self, cell: Any) -> list[Row] | None:
        """The rows of a cell, None if it was not measured yet."""
        return self.found.get(self._key_of(cell))

    def append(self, cell: Any, measured: Sequence[Mapping[str, Any]]) -> None:
        """Add a finished cell, with one write."""
        rows = [
            {**self._fields(cell), "row": k + 1, "rows": len(measured), **row}
            for k, row in enumerate(measured)
        ]
        text = _csv_text(rows, self.columns)
        if not self.path.exists():
            self._write("")
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(text)
        self.found[self._key_of(cell)] = list(csv.DictReader(io.StringIO(text), self.columns))

    def _key_of(self, cell: Any) -> tuple[str, ...]:
        return tuple(_written(value) for value in self._fields(cell).values())

    @staticmethod
    def _fields(cell: Any) -> Row:
        return {**asdict(cell), "gapsvm": __version__}

    def _read(self) -> None:
        """Take what is complete; a run that was killed may have left part of a cell."""
        text = self.path.read_text(encoding="utf-8")
        reader = csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1]))
        if tuple(reader.fieldnames or ()) != self.columns:
            raise ValueError(f"{self.path} is of another version: start over with --fresh")
        cells: dict[tuple[str, ...], list[Row]] = {}
        lines = 0
        for row in reader:
            lines += 1
            cells.setdefault(tuple(str(row[name]) for name in self.key), []).append(row)
        for key, rows in cells.items():
            if len(rows) == int(rows[0]["rows"]):
                self.found[key] = rows
        kept = [row for rows in self.found.values() for row in rows]
        if len(kept) < lines or not text.endswith("\n"):
            self._write(_csv_text(kept, self.columns))

    def _write(self, body: str) -> None:
        with replacing(self.path) as file:
            file.write((",".join(self.columns) + "\n" + body).encode())


def _written(value: Any) -> str:
    """A value as the CSV has it."""
    return "" if value is None else str(value)


def _csv_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    out = io.StringIO()
    csv.DictWriter(out, columns, lineterminator="\n").writerows(rows)
    return out.getvalue()


@dataclass(frozen=True)
class Outcome:
    """How a run went."""

    measured: int
    """Cells measured by this run."""
    finished: int
    """Cells there are by now."""
    planned: int
    files: tuple[Path, ...] = ()
    left: int = 0
    """Cells that this run was to measure and did not."""

    @property
    def complete(self) -> bool:
        return self.finished == self.planned


Watch = Callable[[int, int], Any]
"""Told how many cells are done, and of how many."""


def run(
    experiment: Experiment, settings: Settings, watch: Watch = lambda done, of: None
) -> Outcome:
    """Measure the cells that are not in the CSV yet, then write figure and text.

    Ctrl-C ends it between two evaluations; what is finished stays, and the next run goes on.
    """
    path = settings.output / f"{experiment.name}.csv"
    cells = list(experiment.plan(settings))
    table = Table(path, experiment.cell, experiment.columns, read=not settings.fresh)
    wanted = [cell for cell in cells if settings.wants(cell)]
    if not wanted:
        names = ", ".join(dict.fromkeys(str(getattr(cell, "task", "none")) for cell in cells))
        raise ValueError(f"{experiment.name} has no data set {settings.only!r}; it has {names}")
    todo = [cell for cell in wanted if table.finished(cell) is None]
    if todo and not settings.quick:
        _require(experiment, settings.data_folder, todo)
    settings.output.mkdir(parents=True, exist_ok=True)
    if settings.fresh:
        forget(settings.output, [experiment])
    random.Random(0).shuffle(todo)  # long and short ones mixed: the time left can be foreseen
    of = len(cells)
    watch(of - len(todo), of)
    with deferred_interrupt() as interrupted, one_blas_thread():
        bench = Bench(settings, interrupted)
        with suppress(Interrupted):
            _measure(experiment, todo, bench, table, lambda left: watch(of - left, of))
    finished = [rows for cell in cells if (rows := table.finished(cell)) is not None]
    left = sum(table.finished(cell) is None for cell in todo)
    outcome = Outcome(len(todo) - left, len(finished), len(cells), (path,), left)
    if not outcome.complete:
        return outcome
    experiment.report(settings.output, [row for rows in finished for row in rows], settings)
    written = [settings.output / f"{experiment.name}{suffix}" for suffix in (".png", ".csv", ".md")]
    written[2].write_text(wrapped(written[2].read_text(encoding="utf-8")), encoding="utf-8")
    return Outcome(outcome.measured, outcome.finished, outcome.planned, tuple(written))


def recorded(experiment: Experiment, folder: Path, settings: Settings) -> list[Row]:
    """The rows that a folder holds of an experiment, in the order of its plan; none: no run yet.

    Whatever machine and version they are of: cells that the plan does not name come last.
    """
    path = folder / f"{experiment.name}.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows: list[Row] = list(csv.DictReader(file))
    names = [f.name for f in fields(experiment.cell)]

    def key(row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(_written(row[name]) for name in names)

    places = {key(asdict(cell)): place for place, cell in enumerate(experiment.plan(settings))}
    return sorted(rows, key=lambda row: places.get(key(row), len(places)))


def forget(folder: Path, experiments: Iterable[Experiment]) -> None:
    """Delete what was measured of these experiments, and the optima."""
    for experiment in experiments:
        (folder / f"{experiment.name}.csv").unlink(missing_ok=True)
    (folder / OPTIMA).unlink(missing_ok=True)


def _require(experiment: Experiment, folder: Path | None, todo: Sequence[Any]) -> None:
    """One sentence if a data set is missing; what a user's own data replaces is not."""
    used = {str(getattr(cell, "data", "")) for cell in todo}

    def needed(name: str) -> bool:
        return used == {""} or any(data == name or data.startswith(f"{name}-") for data in used)

    missing = [
        name
        for name in experiment.data
        if needed(name) and not datasets.available(name, folder=folder)
    ]
    if not missing:
        return
    root = folder or os.environ.get(datasets.FOLDER_VARIABLE)
    place = f"in {root}" if root else "at hand, since no data folder is named"
    raise FileNotFoundError(
        f"{experiment.name} needs data that is not {place}: {', '.join(missing)}; name the folder "
        f"by --folder or {datasets.FOLDER_VARIABLE} ('gapsvm data {missing[0]}' says which files "
        "it should hold), or try --quick, which runs without"
    )


def _measure(
    experiment: Experiment,
    todo: Sequence[Any],
    bench: Bench,
    table: Table,
    watch: Callable[[int], Any],
) -> None:
    """All cells of ``todo``, some at a time; each is appended as soon as it is finished."""
    left = len(todo)
    with ThreadPoolExecutor(bench.settings.threads) as pool:
        under_way: dict[Future[list[Row]], Any] = {
            pool.submit(experiment.measure, cell, bench): cell for cell in todo
        }
        try:
            while under_way:
                done, _ = wait(under_way, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda f: f.exception() is not None):
                    table.append(under_way.pop(future), future.result())
                    left -= 1
                    watch(left)
                bench.check()
        except BaseException:
            bench.failed.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def as_numbers(row: Row) -> Row:
    """A row of the CSV with its numbers as numbers; empty fields are None."""
    return {name: _as_number(value) for name, value in row.items()}


def _as_number(text: Any) -> Any:
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(str(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def wrapped(text: str) -> str:
    """Markdown with its paragraphs and list items in lines of at most 100 characters."""
    lines = []
    for line in text.split("\n"):
        if len(line) <= 100 or line.startswith(("|", "#", "!", " ")):
            lines.append(line)
            continue
        held = re.sub(r" (?=[-+*#|] )", "\0", line)  # what would begin a list stays where it is
        indent = "  " if line.startswith("- ") else ""
        parts = textwrap.wrap(
            held, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        lines += [part.replace("\0", " ") for part in parts]
    return "\n".join(lines)
