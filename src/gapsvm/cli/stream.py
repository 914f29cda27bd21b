"""``gapsvm stream``: from a file of any size to a model, in bounded memory."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from gapsvm.cli.files import check_target, check_verify, followed, writer
from gapsvm.cli.fit import BUDGET_ENDED, CERTIFIED, check_liblinear
from gapsvm.cli.output import (
    Cell,
    Number,
    note,
    print_json,
    progress,
    require_output,
    say,
    show_facts,
)
from gapsvm.cli.specs import bias_of
from gapsvm.io.folder import open_folder
from gapsvm.io.svmlight import SvmlightReader
from gapsvm.io.tables import is_table
from gapsvm.losses.registry import get_loss
from gapsvm.models.liblinear import write_liblinear
from gapsvm.models.linear import LinearModel
from gapsvm.solvers.loop import deferred_interrupt
from gapsvm.system.checksums import confirm
from gapsvm.system.memory import TOO_WIDE, check_vector
from gapsvm.training.fitting import numbers_of
from gapsvm.training.label_runs import LabelRuns, describe_run
from gapsvm.training.methods import name_of
from gapsvm.training.online import OnlineLearner

_VALUES = 1 << 20
"""Stored values of a folder that are taken at a time."""
_MANY_CLASSES = 100_000


class Piece(NamedTuple):
    """Some rows, as CSR arrays, and their labels."""

    values: Any
    indices: Any
    starts: Any
    """Where rows begin, and where the last one ends."""
    labels: Any

    def rows(self, first: int, last: int) -> Piece:
        """A part, over the same arrays."""
        starts = self.starts[first : last + 1]
        inside = slice(int(starts[0]), int(starts[-1]))
        return Piece(
            self.values[inside],
            self.indices[inside],
            starts - starts[0],
            self.labels[first:last],
        )

    def copy(self) -> Piece:
        return Piece(*(array.copy() for array in self))

    def and_then(self, other: Piece) -> Piece:
        """These rows and those of another."""
        starts = np.append(self.starts[:-1], other.starts + self.starts[-1])
        values, indices = (np.concatenate([self[k], other[k]]) for k in (0, 1))
        return Piece(values, indices, starts, np.append(self.labels, other.labels))

    def matrix(self, width: int) -> Any:
        arrays = (self.values, self.indices, self.starts)
        return sp.csr_matrix(arrays, (len(self.labels), width))


@dataclass(frozen=True)
class StreamRequest:
    """What the command line asked for."""

    data: Path
    model: Path | None
    lam: float
    loss: str
    method: str
    bias: str
    classes: str | None
    max_passes: int
    threads: int
    time_limit: float | None
    single: bool
    verify: bool
    n_features: int | None
    as_json: bool


def run_stream(request: StreamRequest) -> int:
    """Go through the file, write the model, say how good its predictions were."""
    source = _source(request)
    _check(request, source)
    if request.as_json or request.model is None:
        require_output("--model FILE keeps the model, without --json")
    loss = get_loss(request.loss)
    classes, found = None, ""
    if loss.kind == "margin":
        found = "found by a first look at all labels"
        classes = _declared(request.classes) if request.classes else _found(source)
        found = "declared" if request.classes else found
    elif request.classes:
        raise ValueError("--classes is for classes; this loss is for regression")
    if request.model is not None and writer(request.model) is write_liblinear:
        check_liblinear(classes, loss)
    bias, scale = bias_of(request.bias)
    learner = OnlineLearner.by_method(
        loss,
        request.lam,
        request.method,
        n_classes=None if classes is None else len(classes),
        bias=bias,
        bias_scale=scale,
    )
    started = time.perf_counter()
    passes, ended = _learn(request, source, learner, classes)
    seconds = time.perf_counter() - started
    model = _model(request, source, learner, classes, passes)
    if request.model is not None:
        writer(request.model)(followed(request.model), model)
    said = {
        "rows": learner.rows_seen,
        "features": model.n_features,
        "classes": None if classes is None else classes.tolist(),
        "progressive_error": _finite(learner.progressive_error),
        "progressive_loss": _finite(learner.progressive_loss),
        "sigma2": learner.sigma2,
        "beta": learner.beta,
        "method": name_of(learner.solver),
        "passes": passes,
        "ended_early": not ended,
        "lam": learner.lam,
        "seconds": seconds,
        "model": None if request.model is None else str(request.model),
    }
    if request.as_json:
        print_json(said)
    else:
        show_facts(_table(said, learner, found))
        if request.model is not None:
            say(f"model: {request.model}")
    return CERTIFIED if ended else BUDGET_ENDED


def _check(request: StreamRequest, source: _Text | _Folder) -> None:
    """What can be known to be wrong before anything is read."""
    if source.is_pipe and request.max_passes > 1:
        raise ValueError(f"{request.data} is a pipe and can be read once: --max-passes 1")
    if source.is_pipe and request.classes is None and get_loss(request.loss).kind == "margin":
        raise ValueError(f"{request.data} is a pipe: declare the labels, as --classes=1,-1")
    check_target(request.model, "--model")
    check_verify(request.verify, request.data)
    if request.model is not None and followed(request.model) == followed(request.data):
        raise ValueError(f"--model: {request.model} is named twice; it would be overwritten")


# -- where rows come from --------------------------------------------------------------------------


class _Text:
    """svmlight text; column 0 of the pieces is for index 0, which many files do without."""

    def __init__(self, request: StreamRequest) -> None:
        self.path = request.data
        self.is_pipe = not self.path.is_file()
        self.options: Any = {
            "n_features": request.n_features,
            "dtype": np.float32 if request.single else np.float64,
            "threads": request.threads,
        }
        self.first: SvmlightReader | None = None
        self.done, self.total = 0, 0

    def labels(self) -> Iterator[Any]:
        for block in SvmlightReader(self.path, **self.options):
            yield block.labels

    def pieces(self) -> Iterator[Piece]:
        reader = SvmlightReader(self.path, **self.options)
        self.first = self.first or reader
        for block in reader:
            self.done, self.total = reader.file_bytes_read, reader.file_bytes
            starts = np.append(0, block.row_ends)
            yield Piece(block.values, block.indices + 1, starts, block.labels)

    def width_of(self, piece: Piece) -> int:
        """Columns that its rows need."""
        largest = int(piece.indices.max(initial=0))
        check_vector(largest, f"{self.path} has an index {largest:,}", TOO_WIDE)
        return largest + 1

    def columns(self) -> slice:
        """Those of the model among those of the pieces."""
        assert self.first is not None
        shift, n_features = self.first.columns()
        return slice(1 - shift, 1 - shift + n_features)


class _Folder:
    """A converted folder, a slice at a time."""

    is_pipe = False

    def __init__(self, request: StreamRequest) -> None:
        self.X, self.y, _ = open_folder(request.data, verify=request.verify)
        if request.n_features is not None and request.n_features < self.X.shape[1]:
            raise ValueError(
                f"{request.data} has {self.X.shape[1]} features, but {request.n_features} "
                "are expected"
            )
        self.width = max(self.X.shape[1], request.n_features or 0)
        self.done, self.total = 0, self.X.data.size

    def labels(self) -> Iterator[Any]:
        for first in range(0, len(self.y), _VALUES):
            yield self.y[first : first + _VALUES]

    def pieces(self) -> Iterator[Piece]:
        ends, first, n = self.X.indptr, 0, len(self.y)
        everything = Piece(self.X.data, self.X.indices, ends, self.y)
        while first < n:
            last = int(np.searchsorted(ends, int(ends[first]) + _VALUES, "right")) - 1
            last = min(n, max(first + 1, last))
            piece = everything.rows(first, last)
            confirm(piece.values)
            confirm(piece.indices)
            yield piece
            self.done, first = int(ends[last]), last

    def width_of(self, piece: Piece) -> int:
        return self.width

    def columns(self) -> slice:
        return slice(0, self.width)


def _source(request: StreamRequest) -> _Text | _Folder:
    os.stat(request.data)
    if is_table(request.data):
        raise ValueError(f"stream takes svmlight text or a folder; {request.data} is a table")
    return _Folder(request) if request.data.is_dir() else _Text(request)


def _whole_batches(pieces: Iterator[Piece], size: int) -> Iterator[Piece]:
    """The same rows, cut anew: every piece but the last holds whole batches."""
    rest: Piece | None = None
    for piece in pieces:
        piece = piece if rest is None else rest.and_then(piece)
        n = len(piece.labels)
        cut = n // size * size
        if cut:
            yield piece.rows(0, cut)
        rest = piece.rows(cut, n).copy() if cut < n else None
    if rest is not None:
        yield rest


# -- labels ----------------------------------------------------------------------------------------


def _declared(text: str) -> Any:
    try:
        labels = np.array([float(label) for label in text.split(",")])
    except ValueError:
        raise ValueError(f"--classes must be numbers with commas between, got {text}") from None
    classes = np.unique(labels)
    if len(classes) < 2 or len(classes) < len(labels) or not np.isfinite(classes).all():
        raise ValueError(f"--classes must be two different labels or more, got {text}")
    return classes


def _found(source: _Text | _Folder) -> Any:
    """The classes, by a look at all labels."""
    labels: set[float] = set()
    rows = 0
    for some in source.labels():
        rows += len(some)
        labels.update(np.unique(some).tolist())
        if len(labels) > _MANY_CLASSES:
            break
    if len(labels) < 2:
        raise ValueError(f"a classifier needs two classes, but the labels are all {list(labels)}")
    if len(labels) > max(100, rows // 10):
        raise ValueError(
            f"{len(labels)} different labels look like a regression; "
            "choose --loss epsilon_insensitive (or another response loss)"
        )
    return np.array(sorted(labels))


# -- learning --------------------------------------------------------------------------------------


def _learn(
    request: StreamRequest, source: _Text | _Folder, learner: OnlineLearner, classes: Any
) -> tuple[int, bool]:
    """All passes; how many were begun, and whether they came to their end."""
    limit = math.inf if request.time_limit is None else request.time_limit
    ends_at = time.perf_counter() + limit
    what = "error" if classes is not None else "mean absolute error"
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rows]:,} rows  " + what + " {task.fields[error]:.4f}"),
        *(TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()),
    )
    runs = None if classes is None else LabelRuns(len(classes))
    passes = request.max_passes
    with (
        progress(*columns) as bar,
        deferred_interrupt() as interrupted,
    ):
        for number in range(1, passes + 1):
            name = "stream" if passes == 1 else f"pass {number}/{passes}"
            task = bar.add_task(name, total=None, rows=0, error=math.nan)
            for piece in _whole_batches(source.pieces(), learner.solver.batch_size):
                _widen(learner, source.width_of(piece))
                y = piece.labels if classes is None else numbers_of(piece.labels, classes)
                learner.learn(piece.matrix(learner.n_features), y, validate=number == 1)
                if runs is not None and (run := runs.see(y)) is not None:
                    told = describe_run(f"{classes[run[0]]:g}", run[1])
                    note([told])
                bar.update(
                    task,
                    completed=source.done,
                    total=source.total or None,
                    rows=learner.rows_seen,
                    error=learner.progressive_error,
                )
                if interrupted() or time.perf_counter() > ends_at:
                    return number, False
    return passes, True


def _widen(learner: OnlineLearner, width: int) -> None:
    """Room for so many columns; it grows by half at least, so rarely."""
    if width > learner.n_features:
        learner.grow(max(width, learner.n_features + learner.n_features // 2))


def _model(
    request: StreamRequest,
    source: _Text | _Folder,
    learner: OnlineLearner,
    classes: Any,
    passes: int,
) -> LinearModel:
    columns = source.columns()
    if columns.stop == columns.start:
        raise ValueError(f"{request.data} has no columns: none of its rows has an index:value")
    learner.grow(columns.stop)
    coef, intercept = learner.weights()
    return LinearModel(
        coef=coef[:, columns],
        intercept=intercept,
        classes=classes,
        loss=learner.loss.name,
        lam=learner.lam,
        bias=learner.bias,
        method=name_of(learner.solver),
        passes=passes,
        metadata={
            "stream": {
                "rows": learner.rows_seen,
                "progressive_error": _finite(learner.progressive_error),
                "progressive_loss": _finite(learner.progressive_loss),
            }
        },
    )


def _finite(number: float) -> float | None:
    """For JSON, which has no infinity."""
    return number if math.isfinite(number) else None


def _table(said: dict[str, Any], learner: OnlineLearner, found: str) -> list[list[Cell]]:
    passes = "" if said["passes"] == 1 else f", {said['passes']} times through the data"
    features = f"{said['features']:,} features{passes}"
    rows: list[list[Cell]] = [["rows", Number(said["rows"], f"{said['rows']:,}"), features]]
    if said["classes"] is not None:
        shown = [f"{label:g}" for label in said["classes"][:5]]
        more = ["…"] if len(said["classes"]) > 5 else []
        rows.append(["classes", ", ".join(shown + more), found])
    what = "wrong predictions" if found else "mean absolute error of predictions"
    error, loss, solver = learner.progressive_error, learner.progressive_loss, learner.solver
    steps = "" if solver.batch_size == 1 else f", {solver.batch_size} rows a step"
    ended = "a budget ended before the data did" if said["ended_early"] else ""
    return [
        *rows,
        ["error", Number(error, f"{error:.6f}"), f"{what} for rows not yet learnt from"],
        ["loss", Number(loss, f"{loss:.6f}"), "mean loss of these predictions"],
        ["method", said["method"], f"λ = {learner.lam:g}, {_SHOWN[solver.average]}{steps}"],
        [
            "σ²",
            Number(said["sigma2"], f"{said['sigma2']:.4g}"),
            f"an estimate; longest row {learner.longest:.4g}",
        ],
        ["time", Number(said["seconds"], f"{said['seconds']:.2f} s"), ended],
    ]


_SHOWN: dict[Any, str] = {
    None: "last iterate",
    "uniform": "mean of all iterates",
    "tail": "mean of the later iterates",
    "decaying": "decaying mean of iterates",
}
