"""``gapsvm fit``: from a file to a certified model."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from gapsvm.backends import get_backend
from gapsvm.checkpoint import CheckpointError, fingerprint, load_tree, save_tree
from gapsvm.cli.tables import certificate_table
from gapsvm.data.files import load_data
from gapsvm.data.matrix import checked_rows
from gapsvm.losses import Loss, get_loss
from gapsvm.modelfile import LinearModel, write_liblinear, write_model
from gapsvm.problem import Bias, LinearProblem
from gapsvm.progress import ProgressBar
from gapsvm.trace import Record, Status
from gapsvm.train import Fit, Options, Training, train, train_all

CERTIFIED, BUDGET_ENDED = 0, 2
"""Exit codes; an error is 1."""


@dataclass(frozen=True)
class FitRequest:
    """What the command line asked for."""

    data: Path
    model: Path | None
    options: Options
    loss: str
    epsilon: float
    lam: float | None
    C: float
    bias: Bias
    bias_scale: float
    weights: Path | None
    balanced: bool
    threads: int
    trace: Path | None
    checkpoint: Path | None
    checkpoint_every: float
    resume: Path | None
    as_json: bool
    single: bool
    label: str | None
    n_features: int | None


def run_fit(request: FitRequest) -> int:
    """Read, train, write; returns the exit code."""
    console = Console(stderr=request.as_json)
    started = time.perf_counter()
    X, y = load_data(
        request.data,
        dtype=np.float32 if request.single else np.float64,
        n_features=request.n_features,
        label=_column(request.label),
        threads=request.threads,
    )
    read_seconds = time.perf_counter() - started
    size = f"{X.shape[0]:,} rows × {X.shape[1]:,} features"
    console.print(f"{request.data}: {size}, read in {read_seconds:.2f} s", highlight=False)
    parameters = {"epsilon": request.epsilon} if "epsilon" in request.loss else {}
    loss = get_loss(request.loss, **parameters)
    classes, targets, labels = _targets(y, loss)
    weight = _weights(request, labels, classes, X.shape[0])
    total = float(X.shape[0] if weight is None else weight.sum())
    lam = request.lam if request.lam is not None else 1.0 / (request.C * total)
    started = time.perf_counter()
    with ProgressBar("fit", delay=1.0) as bar:
        fits, p0 = _train(request, X, targets, loss, lam, weight, bar)
    seconds = time.perf_counter() - started
    model = _model(request, fits, classes, loss, lam)
    if request.model is not None:
        write = write_liblinear if request.model.suffix == ".liblinear" else write_model
        write(request.model, model)
    if request.trace is not None:
        _write_trace(request.trace, fits)
    worst = max(fits, key=lambda fit: fit.result.gap)
    converged = all(fit.result.converged for fit in fits)
    if request.as_json:
        print(json.dumps(_summary(request, model, fits, converged, read_seconds, seconds)))
    else:
        if len(fits) > 1:
            console.print(f"{len(fits)} one-vs-rest problems; the one with the largest gap:")
        console.print(certificate_table(worst, p0, seconds))
        if request.model is not None:
            console.print(f"model: {request.model}")
    return CERTIFIED if converged else BUDGET_ENDED


def _column(label: str | None) -> str | int | None:
    return int(label) if label is not None and label.lstrip("-").isdigit() else label


def _targets(y: Any, loss: Loss) -> tuple[Any, list[Any], Any]:
    """Classes, one target vector per problem, and the label numbers."""
    if loss.kind == "response":
        return None, [np.asarray(y, dtype=np.float64)], None
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"a classifier needs two classes, but the labels are all {classes.tolist()}"
        )
    if len(classes) > max(100, len(y) // 10):
        raise ValueError(
            f"{len(classes)} different labels look like a regression; "
            "choose --loss epsilon_insensitive (or another response loss)"
        )
    positives = [1] if len(classes) == 2 else range(len(classes))
    return classes, [np.where(labels == k, 1.0, -1.0) for k in positives], labels


def _weights(request: FitRequest, labels: Any, classes: Any, n: int) -> Any:
    weight = None
    if request.weights is not None:
        weight = np.loadtxt(request.weights, dtype=np.float64, ndmin=1)
        if weight.shape != (n,):
            raise ValueError(f"{request.weights} holds {weight.size} weights for {n} rows")
    if request.balanced:
        if labels is None:
            raise ValueError("--balanced needs classes; this loss is for regression")
        mass = np.bincount(labels, weights=weight, minlength=len(classes))
        weight = (mass.sum() / (len(classes) * mass))[labels] * (1.0 if weight is None else weight)
    return weight


def _train(
    request: FitRequest, X: Any, targets: list[Any], loss: Loss, lam: float, weight: Any, bar: Any
) -> tuple[list[Fit], float]:
    options = request.options
    if len(targets) > 1:
        if request.checkpoint is not None or request.resume is not None:
            raise ValueError("checkpoints are for one problem: two classes, or a regression")
        fits, _ = train_all(
            X,
            targets,
            loss,
            lam,
            options,
            sample_weight=weight,
            bias=request.bias,
            bias_scale=request.bias_scale,
            threads=request.threads,
            watch=lambda k: bar.watch(k, len(targets)),
        )
        return fits, 1.0
    problem = LinearProblem(
        checked_rows(X, get_backend()),
        targets[0],
        loss,
        lam,
        sample_weight=weight,
        bias=request.bias,
        bias_scale=request.bias_scale,
    )
    options = replace(options, callbacks=bar.watch())
    resume = _load(request.resume, problem)
    save = _saver(request, problem)
    fit = train(problem, options, resume=resume, on_slice=save)
    return [fit], problem.primal_at_zero


def _load(path: Path | None, problem: LinearProblem) -> Training | None:
    if path is None:
        return None
    training = load_tree(path, fingerprint(problem))
    if not isinstance(training, Training):
        raise CheckpointError(f"{path} is not a checkpoint of gapsvm fit")
    return training


def _saver(request: FitRequest, problem: LinearProblem) -> Callable[[Training], None] | None:
    """Writes the training every so many seconds."""
    path = request.checkpoint
    if path is None:
        return None
    mark = fingerprint(problem)
    last = time.monotonic()

    def save(training: Training) -> None:
        nonlocal last
        if time.monotonic() - last >= request.checkpoint_every:
            save_tree(path, training, mark)
            last = time.monotonic()

    return save


def _model(
    request: FitRequest, fits: list[Fit], classes: Any, loss: Loss, lam: float
) -> LinearModel:
    certificates = [fit.result.certificate for fit in fits]
    open_ends = [fit.result.status for fit in fits if not fit.result.converged]
    return LinearModel(
        coef=np.stack([fit.solution.w for fit in fits]),
        intercept=np.array([fit.solution.bias for fit in fits]),
        classes=classes,
        loss=loss.name,
        lam=lam,
        bias=request.bias,
        primal=np.array([c.primal for c in certificates]),
        dual=np.array([c.dual for c in certificates]),
        method=fits[0].method,
        passes=max(fit.result.passes for fit in fits),
        status=(open_ends[0] if open_ends else Status.CONVERGED).name,
    )


def _write_trace(path: Path, fits: list[Fit]) -> None:
    names = [f.name for f in fields(Record) if f.name != "solution"]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["problem", *names])
        for k, fit in enumerate(fits):
            for record in fit.result.trace:
                writer.writerow([k, *astuple(record)[: len(names)]])


def _summary(
    request: FitRequest,
    model: LinearModel,
    fits: list[Fit],
    converged: bool,
    read_seconds: float,
    seconds: float,
) -> dict[str, Any]:
    """What a script wants to know, as JSON."""
    gaps = [fit.result.gap for fit in fits]
    return {
        "converged": converged,
        "status": model.status,
        "gap": max(gaps),
        "primal": model.primal.tolist(),
        "dual": model.dual.tolist(),
        "method": [fit.method for fit in fits],
        "passes": [fit.result.passes for fit in fits],
        "lam": model.lam,
        "read_seconds": read_seconds,
        "fit_seconds": seconds,
        "model": None if request.model is None else str(request.model),
    }
