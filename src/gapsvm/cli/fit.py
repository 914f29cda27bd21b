"""``gapsvm fit``: from a file to a certified model."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.cli.files import (
    check_header,
    check_target,
    check_verify,
    followed,
    is_stream,
    label_column,
    what_is_lost,
    writer,
)
from gapsvm.cli.output import Cell, Number, note, print_json, require_output, say, show_facts
from gapsvm.cli.saved import trained, write_trace
from gapsvm.cli.specs import bias_of
from gapsvm.cli.tables import certificate_table
from gapsvm.cli.tasks import Chain, FitTask, Joint, Separate
from gapsvm.io.files import load_data
from gapsvm.io.numbers import read_numbers
from gapsvm.kernels.registry import spelled_kernel
from gapsvm.losses.base import Loss
from gapsvm.losses.registry import get_loss
from gapsvm.models.liblinear import write_liblinear
from gapsvm.models.libsvm import write_libsvm
from gapsvm.models.linear import LinearModel
from gapsvm.models.support_vectors import SupportVectorModel
from gapsvm.system.blas import one_blas_thread
from gapsvm.training.checkpoint import fingerprint
from gapsvm.training.fitting import Fitted, Objective, Task, classification, regression
from gapsvm.training.kernel_task import KernelTask, check_kernel, kernel_task
from gapsvm.training.methods import radius_of
from gapsvm.training.plan import check_name
from gapsvm.training.train import Options

CERTIFIED, BUDGET_ENDED = 0, 2
"""Exit codes; an error is 1."""
BALANCED = "balanced"
"""What --weights may say in place of a file, or beside one."""


@dataclass(frozen=True)
class FitRequest:
    """What the command line asked for."""

    data: Path
    model: Path | None
    gap: float
    lam: float | None
    C: float | None
    loss: str
    method: str
    bias: str
    weights: Sequence[str]
    seed: int
    threads: int
    time_limit: float | None
    max_passes: float
    trace: Path | None
    checkpoint: Path | None
    checkpoint_every: float
    resume: Path | None
    single: bool
    label: str | None
    header: bool | None
    verify: bool
    n_features: int | None
    as_json: bool
    kernel: str | None = None
    task: FitTask = field(default_factory=Separate)

    @property
    def weights_file(self) -> Path | None:
        """Where each row's weight stands."""
        files = [Path(word) for word in self.weights if word != BALANCED]
        if len(files) > 1:
            raise ValueError(f"--weights names two files, {files[0]} and {files[1]}")
        return files[0] if files else None

    @property
    def objective(self) -> Objective:
        """What is minimised; wrong names are errors before anything is read."""
        check_name(self.method)
        if self.lam is not None and self.C is not None:
            raise ValueError("give --lam or --C, not both: λ = 1/(C · sum of weights)")
        return Objective(
            get_loss(self.loss),
            self.lam,
            1.0 if self.C is None else self.C,
            *bias_of(self.bias),
            radius_of(self.method),
            "crammer_singer" if isinstance(self.task, Joint) else "ovr",
            "balanced" if BALANCED in self.weights else None,
        )

    def options(self, callbacks: Any = ()) -> Options:
        """How to train."""
        return Options(
            method=self.method,
            tol=self.gap,
            max_passes=self.max_passes,
            time_limit=self.time_limit,
            seed=self.seed,
            evaluate_every=1.0 if self.trace is not None else None,
            threads=self.threads,
            callbacks=callbacks,
        )


def run_fit(request: FitRequest) -> int:
    """Read, train, write; returns the exit code."""
    objective = request.objective
    if request.kernel is not None:
        check_kernel(request.kernel, objective)
    column = label_column(request.label, request.data)
    check_header(request.header, request.data)
    if request.as_json or request.model is None:
        require_output("--model FILE keeps the model, without --json")
    check_verify(request.verify, request.data)
    check_files(request)
    write = None if request.model is None else model_writer(request)
    started = time.perf_counter()
    X, y, names, label = load_data(
        request.data,
        dtype=np.float32 if request.single else np.float64,
        n_features=request.n_features,
        label=column,
        header=request.header,
        verify=request.verify,
        threads=request.threads,
    )
    read_seconds = time.perf_counter() - started
    size = f"{X.shape[0]:,} rows × {X.shape[1]:,} features"
    say(f"{request.data}: {size}, read in {read_seconds:.2f} s", error=request.as_json)
    task = _task(request, objective, X, y)
    if write is not None:
        check_format(write, task)
    started = time.perf_counter()
    fitted = _train(request, task)
    seconds = time.perf_counter() - started
    model = fitted.model(names, label)
    if request.model is not None and write is not None:
        write(followed(request.model), model)
        note(what_is_lost(request.model, model))
    write_trace(request.trace, fitted.fits)
    if request.as_json:
        print_json(_summary(request, model, fitted, read_seconds, seconds))
    else:
        if len(fitted.fits) > 1:
            kind = "one-vs-rest problems" if request.kernel is None else "pairs of classes"
            say(f"{len(fitted.fits)} {kind}; the one with the largest gap:")
        show_facts([*certificate_table(fitted.worst, seconds), *_kernel_rows(task, model)])
        if request.model is not None:
            say(f"model: {request.model}")
    return CERTIFIED if fitted.converged else BUDGET_ENDED


def check_files(request: FitRequest) -> None:
    """What is read is there and what is written can be, before hours are spent."""
    taken = set()
    template = Path(request.task.template) if isinstance(request.task, Chain) else None
    for path in (request.data, request.weights_file, template):
        if path is not None:
            os.stat(path)
            taken.add(followed(path))
    if request.resume is not None and request.resume != request.checkpoint:
        os.stat(request.resume)  # a fit that saves where it resumes may be at its first start
    for option in ("model", "checkpoint", "trace"):
        path = getattr(request, option)
        check_target(path, f"--{option}", stream=option == "trace")
        if path is None or is_stream(path):
            continue
        if followed(path) in taken:
            raise ValueError(f"--{option}: {path} is named twice; it would be overwritten")
        taken.add(followed(path))


def model_writer(request: FitRequest) -> Any:
    """What will write the model; what there is no format for is said before hours are spent."""
    assert request.model is not None
    return writer(request.model, kernel=request.kernel is not None)


def check_format(write: Any, task: Task | KernelTask) -> None:
    """Raise a ValueError if the format has no room for such a model."""
    if write is write_liblinear:
        check_liblinear(task.classes, task.objective.loss)
    if write is not write_libsvm or not isinstance(task, KernelTask):
        return
    k = 2 if task.classes is None else len(task.classes)
    zero = SupportVectorModel(
        kernel=task.rows.kernel,
        vectors=np.zeros((0, 1)),
        coef=np.zeros((1 if task.classes is None else k - 1, 0)),
        intercept=np.zeros(k * (k - 1) // 2),
        classes=task.classes,
        counts=np.zeros(k, dtype=np.int64) if k > 2 else None,
    )
    with tempfile.TemporaryDirectory() as folder:
        write_libsvm(Path(folder) / "zero", zero)


def _kernel_rows(task: Task | KernelTask, model: Any) -> list[list[Cell]]:
    """What a kernel machine has beside its certificate."""
    if not isinstance(task, KernelTask):
        return []
    about = {
        True: "positive definite",
        False: "not positive definite: the gap bounds nothing",
        None: "not known to be positive definite",
    }[task.is_definite]
    count = model.vectors.shape[0]
    return [
        ["kernel", spelled_kernel(model.kernel), about],
        ["support vectors", Number(count, f"{count:,}")],
    ]


def check_liblinear(classes: Any, loss: Loss) -> None:
    """Raise a ValueError if that format has no room for such a model."""
    n = 1 if classes is None or len(classes) == 2 else len(classes)
    zero = LinearModel(
        coef=np.zeros((n, 1)), intercept=np.zeros(n), classes=classes, loss=loss.name
    )
    with tempfile.TemporaryDirectory() as folder:
        write_liblinear(Path(folder) / "zero", zero)


def _task(request: FitRequest, objective: Objective, X: Any, y: Any) -> Task | KernelTask:
    """Classes or numbers, by the loss."""
    weight = weights_of(request, X.shape[0])
    if objective.loss.kind == "response" and y.dtype.kind not in "biuf":
        name = objective.loss.name
        raise ValueError(f"the labels are texts, but loss {name!r} is for numbers")
    task: Task | KernelTask
    if request.kernel is not None:
        task = kernel_task(X, y, request.kernel, objective, weight, threads=request.threads)
        task.rows.repeatable = bool(request.checkpoint or request.resume)
    elif objective.loss.kind == "response":
        task = regression(X, y, objective, weight)
    else:
        task = classification(X, y, objective, weight)
    if task.classes is None:
        return task
    if len(task.classes) > max(100, len(y) // 10):
        raise ValueError(
            f"{len(task.classes)} different labels look like a regression; "
            "choose --loss epsilon_insensitive (or another response loss)"
        )
    return task


def weights_of(request: FitRequest, n: int, counted: str = "rows") -> Any:
    """A weight for each of what is counted, from the file of --weights; None without one."""
    if request.weights_file is None:
        return None
    weight = read_numbers(request.weights_file)
    if weight.shape != (n,):
        raise ValueError(f"{request.weights_file} holds {weight.size} weights for {n} {counted}")
    return weight


def _train(request: FitRequest, task: Task | KernelTask) -> Fitted:
    def mark() -> dict[str, Any]:
        others = [task.target(k) for k in range(1, len(task))]
        return fingerprint(task.problem(0), others)

    with one_blas_thread() if isinstance(task, KernelTask) else nullcontext():
        return Fitted(task, trained(request, task, mark))


def _summary(
    request: FitRequest, model: Any, fitted: Fitted, read_seconds: float, seconds: float
) -> dict[str, Any]:
    """What a script wants to know, as JSON."""
    of_kernel: dict[str, Any] = {}
    if isinstance(fitted.task, KernelTask):
        of_kernel["kernel"] = spelled_kernel(model.kernel)
        of_kernel["support_vectors"] = model.vectors.shape[0]
        of_kernel["gap_is_bound"] = fitted.task.is_definite
    return {
        **of_kernel,
        "converged": fitted.converged,
        "status": model.status,
        "gap": float(fitted.gaps.max()),
        "primal": fitted.primal.tolist(),
        "dual": fitted.dual.tolist(),
        "method": fitted.methods,
        "note": fitted.note,
        "passes": [result.passes for result in fitted.results],
        "lam": model.lam,
        "read_seconds": read_seconds,
        "fit_seconds": seconds,
        "model": None if request.model is None else str(request.model),
    }
