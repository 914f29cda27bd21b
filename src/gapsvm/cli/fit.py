"""``gapsvm fit``: from a file to a certified model."""

from __future__ import annotations

import csv
import json
import time
import warnings
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
from gapsvm.problem import Bias, LinearProblem, check_weights
from gapsvm.progress import ProgressBar
from gapsvm.trace import Record, Status
from gapsvm.train import Fit, Options, Training, train, train_all

_PLAIN: Any = {"highlight": False, "markup": False, "soft_wrap": True}
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
    console.print(f"{request.data}: {size}, read in {read_seconds:.2f} s", **_PLAIN)
    parameters = {"epsilon": request.epsilon} if "epsilon" in request.loss else {}
    loss = get_loss(request.loss, **parameters)
    classes, targets, labels = _targets(y, loss)
    weight = _weights(request, labels, classes, X.shape[0])
    total = float(X.shape[0] if weight is None else weight.sum())
    if request.lam is None and not 0 < request.C < np.inf:
        raise ValueError(f"--C must be positive and finite, got {request.C:g}")
    lam = request.lam if request.lam is not None else 1.0 / (request.C * total)
    started = time.perf_counter()
    with ProgressBar("fit", delay=1.0) as bar:
        fits = _train(request, X, targets, loss, lam, weight, bar)
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
        console.print(certificate_table(worst, seconds))
        if request.model is not None:
            console.print(f"model: {request.model}", **_PLAIN)
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
        with warnings.catch_warnings(action="ignore"):  # an empty file: said below, in our words
            weight = np.loadtxt(request.weights, dtype=np.float64, ndmin=1)
        if weight.shape != (n,):
            raise ValueError(f"{request.weights} holds {weight.size} weights for {n} rows")
        check_weights(weight, n)
    if labels is not None:
        mass = np.bincount(labels, weights=weight, minlength=len(classes))
        if not mass.all():
            empty = classes[mass == 0].tolist()
            raise ValueError(f"every class needs a positive weight; all zero: {empty}")
    if request.balanced:
        if labels is None:
            raise ValueError("--balanced needs classes; this loss is for regression")
        weight = (mass.sum() / (len(classes) * mass))[labels] * (1.0 if weight is None else weight)
    return weight


def _train(
    request: FitRequest, X: Any, targets: list[Any], loss: Loss, lam: float, weight: Any, bar: Any
) -> list[Fit]:
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
        return fits
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
    saver = _Saver(request, problem)
    fit = train(problem, options, resume=saver.load(), on_slice=saver)
    if not fit.result.converged:
        saver.save()
    return [fit]


class _Saver:
    """Writes where the training stands every so many seconds, and reads it back."""

    def __init__(self, request: FitRequest, problem: LinearProblem) -> None:
        self.request = request
        self.mark = {**fingerprint(problem), "method": request.options.method}
        self.last = time.monotonic()
        self.training: Training | None = None

    def load(self) -> Training | None:
        path = self.request.resume
        if path is None:
            return None
        training = load_tree(path, self.mark)
        if not isinstance(training, Training):
            raise CheckpointError(f"{path} is not a checkpoint of gapsvm fit")
        return training

    def __call__(self, training: Training) -> None:
        self.training = training
        if time.monotonic() - self.last >= self.request.checkpoint_every:
            self.save()

    def save(self) -> None:
        if self.request.checkpoint is not None and self.training is not None:
            save_tree(self.request.checkpoint, self.training, self.mark)
            self.last = time.monotonic()


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
