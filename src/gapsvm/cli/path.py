"""``gapsvm path``: a certified model at every λ."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.cli.files import check_header, check_verify, label_column
from gapsvm.cli.output import Number, note, print_json, require_output, show_columns
from gapsvm.io.files import load_data
from gapsvm.io.matching import Expected, Matched, load_matching
from gapsvm.io.tables import is_table, is_text_table
from gapsvm.losses.registry import get_loss
from gapsvm.training.kernel_path import KernelPathPoint, kernel_path
from gapsvm.training.path import PathPoint, svm_path


@dataclass(frozen=True)
class PathRequest:
    """What the command line asked for."""

    data: Path
    lams: list[float] | None
    C: list[float] | None
    n_lams: int
    loss: str
    kernel: str | None
    gap: float
    intercept: bool
    test: Path | None
    threads: int
    label: str | None
    header: bool | None
    verify: bool
    as_json: bool


def run_path(request: PathRequest) -> bool:
    """Print the path as a table or as JSON; returns whether every point is certified."""
    require_output("send it to a file")
    data, test = request.data, request.test
    column = label_column(request.label, data, test)
    check_header(request.header, data, test)
    check_verify(request.verify, data, test)
    X, y, names, named_label = load_data(
        data,
        label=column if is_table(data) else None,
        header=request.header if is_text_table(data) else None,
        verify=request.verify,
        threads=request.threads,
    )
    is_margin = get_loss(request.loss).kind == "margin"
    classes = np.unique(y) if is_margin else None
    if classes is not None and len(classes) != 2:
        raise ValueError(f"path needs two classes, but the labels of {data} are {_few(classes)}")
    held_out = None
    if test is not None:
        expected = Expected(X.shape[1], names, named_label)
        held_out = _held_out(request, test, column, expected)
    facts = _of_kernels(request, X, y, held_out) if request.kernel is not None else None
    if facts is None:
        facts = _of_weights(request, X, y, classes, held_out)
    certified = all(point["converged"] for point in facts)
    if request.as_json:
        print_json({"converged": certified, "points": facts})
    else:
        _show(facts)
    return certified


def _held_out(request: PathRequest, test: Path, column: Any, expected: Expected) -> Matched:
    found = load_matching(
        test,
        expected,
        label=column if is_table(test) else None,
        header=request.header if is_text_table(test) else None,
        verify=request.verify,
        threads=request.threads,
    )
    if found.y is None:
        raise ValueError(f"{test} has no column of labels; --label names it")
    note(found.notes)
    return found


def _of_weights(
    request: PathRequest, X: Any, y: Any, classes: Any, held_out: Matched | None
) -> list[dict[str, Any]]:
    """Linear models."""
    how: dict[str, Any] = {"n_lams": request.n_lams, "loss": request.loss, "tol": request.gap}
    points = svm_path(X, y, lams=request.lams, fit_intercept=request.intercept, **how)
    return [_facts(point, classes, held_out) for point in points]


def _of_kernels(
    request: PathRequest, X: Any, y: Any, held_out: Matched | None
) -> list[dict[str, Any]]:
    """Kernel machines."""
    how: dict[str, Any] = {"n_points": request.n_lams, "loss": request.loss, "tol": request.gap}
    how |= {"fit_intercept": request.intercept, "threads": request.threads}
    assert request.kernel is not None
    points = kernel_path(X, y, request.kernel, C=request.C, lams=request.lams, **how)
    return [_kernel_facts(point, held_out, request.threads) for point in points]


def _kernel_facts(point: KernelPathPoint, held_out: Matched | None, threads: int) -> dict[str, Any]:
    (fit,) = point.fitted.fits
    facts = {
        "lam": point.lam,
        "C": point.C,
        "primal": fit.result.certificate.primal,
        "dual": fit.result.certificate.dual,
        "gap": point.gap,
        "support_vectors": point.model.vectors.shape[0],
        "passes": fit.result.passes,
        "method": fit.method,
        "converged": point.converged,
    }
    if held_out is None:
        return facts
    predicted = point.model.predict(held_out.X, threads)
    if point.model.classes is None:
        return {**facts, "test_mse": float(np.mean((predicted - held_out.y) ** 2))}
    return {**facts, "test_error": float(np.mean(predicted != held_out.y))}


def _few(classes: np.ndarray) -> str:
    return ", ".join(map(str, classes[:10].tolist())) + (", …" if len(classes) > 10 else "")


def _facts(point: PathPoint, classes: Any, held_out: Matched | None) -> dict[str, Any]:
    facts = {
        "lam": point.lam,
        "primal": point.primal,
        "dual": point.dual,
        "gap": point.gap,
        "norm": float(np.linalg.norm(point.coef)),
        "passes": point.passes,
        "method": point.fit.method,
        "converged": point.converged,
    }
    if held_out is None:
        return facts
    scores = held_out.X @ point.coef + point.intercept
    if classes is None:
        return {**facts, "test_mse": float(np.mean((scores - held_out.y) ** 2))}
    predicted = np.where(scores > 0, classes[1], classes[0])
    return {**facts, "test_error": float(np.mean(predicted != held_out.y))}


_COLUMNS = {
    "lam": ("λ", ".3g"),
    "C": ("C", ".3g"),
    "primal": ("primal", ".8f"),
    "dual": ("dual", ".8f"),
    "gap": ("gap", ".1e"),
    "norm": ("‖w‖", ".4g"),
    "support_vectors": ("SVs", ""),
    "passes": ("passes", ".1f"),
    "method": ("method", ""),
    "test_error": ("test error", ".4g"),
    "test_mse": ("test mse", ".4g"),
}


def _show(facts: list[dict[str, Any]]) -> None:
    names = [name for name in _COLUMNS if name in facts[0]]
    titles = [_COLUMNS[name][0] for name in names]
    rows = [
        [Number(point[name], format(point[name], _COLUMNS[name][1])) for name in names]
        for point in facts
    ]
    show_columns(names, titles, rows)
