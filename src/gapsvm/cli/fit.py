"""``gapsvm fit``: from a file to a certified model."""

from __future__ import annotations

import csv
import io
import os
import sys
import tempfile
import time
import warnings
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.cli.files import (
    check_header,
    check_target,
    check_verify,
    followed,
    is_stream,
    label_column,
    what_is_lost,
    write_text,
    writer,
)
from gapsvm.cli.output import note, print_json, require_output, say, show_facts
from gapsvm.cli.streams import is_terminal
from gapsvm.cli.tables import certificate_table
from gapsvm.io.files import load_data
from gapsvm.losses.base import Loss
from gapsvm.losses.registry import get_loss
from gapsvm.models.liblinear import write_liblinear
from gapsvm.models.linear import LinearModel
from gapsvm.problems.limits import lam_of
from gapsvm.problems.linear import Bias, LinearProblem, check_weights
from gapsvm.rows.matrix import checked_rows
from gapsvm.solvers.minibatch.solver import MiniBatchSDCA
from gapsvm.solvers.outer_bias import OuterBias
from gapsvm.solvers.sdca.serial import SDCA
from gapsvm.solvers.subgradient.solver import Subgradient
from gapsvm.solvers.trace import Checkpoint, Record, Status
from gapsvm.training.checkpoint import CheckpointError, fingerprint, load_tree, save_tree
from gapsvm.training.progress import ProgressBar
from gapsvm.training.train import SUBGRADIENT, Fit, Options, Training, subgradient, train_all

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
    C: float | None
    radius: float | None
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
    header: bool | None
    verify: bool
    n_features: int | None


def run_fit(request: FitRequest) -> int:
    """Read, train, write; returns the exit code."""
    if request.lam is not None and request.C is not None:
        raise ValueError("give --lam or --C, not both: λ = 1/(C · sum of weights)")
    column = label_column(request.label, request.data)
    check_header(request.header, request.data)
    if request.as_json or request.model is None:
        require_output("--model FILE keeps the model, without --json")
    check_verify(request.verify, request.data)
    _check_files(request)
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
    parameters = {"epsilon": request.epsilon} if "epsilon" in request.loss else {}
    loss = get_loss(request.loss, **parameters)
    classes, targets, labels = _targets(y, loss)
    if request.model is not None and writer(request.model) is write_liblinear:
        _check_liblinear(classes, loss)
    weight = _weights(request, labels, classes, X.shape[0])
    total = float(X.shape[0] if weight is None else weight.sum())
    C = 1.0 if request.C is None else request.C
    lam = request.lam if request.lam is not None else lam_of(C, total)
    if request.resume is not None and not request.resume.exists():
        say(f"{request.resume} is not there yet: from the beginning", error=request.as_json)
    started = time.perf_counter()
    with ProgressBar("fit", delay=1.0, shown=is_terminal(sys.stderr)) as bar:
        fits = _train(request, X, targets, loss, lam, weight, bar)
    seconds = time.perf_counter() - started
    model = replace(_model(request, fits, classes, loss, lam), feature_names=names, label=label)
    if request.model is not None:
        writer(request.model)(followed(request.model), model)
        note(what_is_lost(request.model, model))
    if request.trace is not None:
        write_text(request.trace, _trace_lines(fits))
    worst = max(fits, key=lambda fit: fit.result.gap)
    converged = all(fit.result.converged for fit in fits)
    if request.as_json:
        print_json(_summary(request, model, fits, converged, read_seconds, seconds))
    else:
        if len(fits) > 1:
            say(f"{len(fits)} one-vs-rest problems; the one with the largest gap:")
        show_facts(certificate_table(worst, seconds))
        if request.model is not None:
            say(f"model: {request.model}")
    return CERTIFIED if converged else BUDGET_ENDED


def _check_files(request: FitRequest) -> None:
    """What is read is there and what is written can be, before hours are spent."""
    taken = set()
    for path in (request.data, request.weights):
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


def _check_liblinear(classes: Any, loss: Loss) -> None:
    """Raise a ValueError if that format has no room for such a model."""
    n = 1 if classes is None or len(classes) == 2 else len(classes)
    zero = LinearModel(
        coef=np.zeros((n, 1)), intercept=np.zeros(n), classes=classes, loss=loss.name
    )
    with tempfile.TemporaryDirectory() as folder:
        write_liblinear(Path(folder) / "zero", zero)


def _targets(y: Any, loss: Loss) -> tuple[Any, list[Any], Any]:
    """Classes, one target vector per problem, and the label numbers."""
    if loss.kind == "response":
        if y.dtype.kind not in "biuf":
            raise ValueError(f"the labels are texts, but loss {loss.name!r} is for numbers")
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
    """One fit per target, gone on with from a checkpoint and saved in one where that is wanted."""
    backend = request.options.backend
    rows = checked_rows(X, get_backend(backend))
    problem: dict[str, Any] = {
        "sample_weight": weight,
        "bias": request.bias,
        "bias_scale": request.bias_scale,
        "radius": np.inf if request.radius is None else request.radius,
    }
    saver = None
    if request.checkpoint is not None or request.resume is not None:
        first = LinearProblem(rows, targets[0], loss, lam, backend=backend, **problem)
        saver = _Saver(request, fingerprint(first, targets[1:]))
    fits, _ = train_all(
        rows,
        targets,
        loss,
        lam,
        request.options,
        **problem,
        threads=request.threads,
        watch=lambda k: bar.watch(k, len(targets)),
        standing=saver.standing if saver else None,
        save=saver if saver and request.checkpoint else None,
    )
    if saver and not all(fit.result.converged for fit in fits):
        saver.save()
    return fits


_PLAIN_BATCHES = {
    "batch_size": 1,
    "rule": "safe",
    "inertia": 0.95,
    "sigma2": None,
    "form": "auto",
    "staleness": 0,
    "average": None,
    "sampler": "subsets",
    "sweeps": 1,
}
_PLAIN_ENDS = {"stop": "gap", "eps": 0.0, "delta": 0.5}


def solver_for(
    method: str, batches: dict[str, Any], ends: dict[str, Any] = _PLAIN_ENDS, confined: bool = False
) -> Any:
    """The method by name, or the solver that the options describe; none of them is ignored.

    ``confined``: a radius is given, so that auto means proximal.
    """
    changed = [name for name, plain in _PLAIN_BATCHES.items() if batches[name] != plain]
    early = [name for name, plain in _PLAIN_ENDS.items() if ends[name] != plain]
    if method == "auto" and changed == ["batch_size"] and batches["batch_size"] == "auto":
        changed = []  # whatever ends first: on one machine, one row at a time
    if not changed and not early:
        return method
    if method == "auto" and confined:
        method = "proximal"
    if early:
        _check_ends(method, batches["average"], early[0], **ends)
    if not changed:
        return subgradient(method, 1, **ends)
    option = "--" + changed[-1].replace("_", "-")
    if method in ("accelerated", "interior"):
        raise ValueError(f"{option} is for sdca and the subgradient methods, not {method}")
    if method in SUBGRADIENT:
        if not set(changed) <= {"batch_size", "average", "sampler"}:
            raise ValueError(f"{option} is for the method sdca, not {method}")
        size = 1 if batches["batch_size"] == "auto" else batches["batch_size"]
        how = {"average": batches["average"], "sampler": batches["sampler"]}
        return subgradient(method, size, **how, **ends)
    given = batches["sigma2"]
    number = given if given in (None, "bound", "estimate") else float(given)
    return MiniBatchSDCA(**{**batches, "sigma2": number})


def with_bias_step(solver: Any, step: str, bias: Bias) -> Any:
    """The solver, or the method of that name, with a treatment of the bias of docs/bias.md."""
    if step == "gradient":
        return solver
    if bias != "free":
        raise ValueError("--bias-step is for --bias free; the others leave nothing to choose")
    named = {"sdca": SDCA(), **{name: subgradient(name, 1) for name in SUBGRADIENT}}
    found = named.get(solver) if isinstance(solver, str) else solver
    if step == "batch" and isinstance(found, Subgradient):
        return replace(found, bias_step="batch")
    if step == "outer" and isinstance(found, Subgradient | SDCA):
        return OuterBias(found)
    name = solver if isinstance(solver, str) else "sdca with mini-batches"
    serial = " and sdca" if step == "outer" else ""
    raise ValueError(f"--bias-step {step} is for the subgradient methods{serial}, not {name}")


def _check_ends(
    method: str, average: Any, option: str, stop: str, eps: float, delta: float
) -> None:
    """Refuses ``option``, or another way to end, where it would mean nothing."""
    if method not in SUBGRADIENT:
        raise ValueError(f"--{option} is for the subgradient methods, not {method}")
    if stop == "gap" and method != "optimistic":
        raise ValueError(f"--{option} needs --stop bound or sampled, or the method optimistic")
    by_chance = stop == "sampled" or (method == "pegasos" and average == "random")
    if delta != _PLAIN_ENDS["delta"] and not (by_chance or (method == "optimistic" and eps > 0)):
        raise ValueError(
            "--delta needs --stop sampled, a random iterate (--average random) of pegasos, or "
            "the method optimistic with --eps"
        )


class _Saver:
    """Where each problem stands: read back from one file, written to one every so many seconds."""

    def __init__(self, request: FitRequest, of: dict[str, Any]) -> None:
        options = request.options
        self.path, self.every = request.checkpoint, request.checkpoint_every
        self.mark = {**of, "method": str(options.method)}
        self.standing: list[Fit | Training | None] = [None] * of["number of problems"]
        if request.resume is not None and request.resume.exists():
            self.standing = self._loaded(request.resume)
        self.last = time.monotonic()

    def _loaded(self, path: Path) -> list[Fit | Training | None]:
        found = load_tree(path, self.mark)
        kinds = Fit | Training | None
        sound = isinstance(found, list) and len(found) == len(self.standing)
        if not sound or not all(isinstance(one, kinds) for one in found):
            raise CheckpointError(f"{path} is not a checkpoint of gapsvm fit")
        return found

    def __call__(self) -> None:
        if time.monotonic() - self.last >= self.every:
            self.save()

    def save(self) -> None:
        if self.path is None:
            return
        standing = [_kept(one) if isinstance(one, Fit) else one for one in self.standing]
        save_tree(followed(self.path), standing, self.mark)
        self.last = time.monotonic()


def _kept(fit: Fit) -> Fit:
    """What is worth keeping of a finished fit: the weights and their certificate, not the state."""
    result = fit.result
    solution = replace(fit.solution, alpha=None)
    kept = replace(
        result,
        certificate=replace(result.certificate, solution=solution),
        solver=None,
        checkpoint=Checkpoint(None, trace=result.trace),
    )
    return replace(fit, result=kept)


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


def _trace_lines(fits: list[Fit]) -> str:
    """Every evaluation as CSV."""
    names = [f.name for f in fields(Record) if f.name != "solution"]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["problem", *names])
    for k, fit in enumerate(fits):
        for record in fit.result.trace:
            writer.writerow([k, *astuple(record)[: len(names)]])
    return text.getvalue()


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
        "note": fits[0].note,
        "passes": [fit.result.passes for fit in fits],
        "lam": model.lam,
        "read_seconds": read_seconds,
        "fit_seconds": seconds,
        "model": None if request.model is None else str(request.model),
    }
