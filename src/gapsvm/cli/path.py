"""``gapsvm path``: a certified model at every λ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.cli.files import check_header, check_verify, label_column
from gapsvm.cli.output import Exact, note, print_json, require_output, show_columns
from gapsvm.io.files import load_data
from gapsvm.io.matching import Expected, Matched, load_matching
from gapsvm.io.tables import is_table, is_text_table
from gapsvm.losses.registry import get_loss
from gapsvm.training.path import PathPoint, svm_path


def run_path(
    data: Path,
    lams: list[float] | None,
    n_lams: int,
    loss: str,
    gap: float,
    intercept: bool,
    test: Path | None,
    threads: int,
    label: str | None,
    header: bool | None,
    verify: bool,
    as_json: bool,
) -> bool:
    """Print the path as a table or as JSON; returns whether every point is certified."""
    require_output("send it to a file")
    column = label_column(label, data, test)
    check_header(header, data, test)
    check_verify(verify, data, test)
    X, y, names, named_label = load_data(
        data,
        label=column if is_table(data) else None,
        header=header if is_text_table(data) else None,
        verify=verify,
        threads=threads,
    )
    classes = np.unique(y) if get_loss(loss).kind == "margin" else None
    if classes is not None and len(classes) != 2:
        raise ValueError(f"path needs two classes, but the labels of {data} are {_few(classes)}")
    held_out = None
    if test is not None:
        expected = Expected(X.shape[1], names, named_label)
        held_out = load_matching(
            test,
            expected,
            label=column if is_table(test) else None,
            header=header if is_text_table(test) else None,
            verify=verify,
            threads=threads,
        )
        if held_out.y is None:
            raise ValueError(f"{test} has no column of labels; --label names it")
        note(held_out.notes)
    points = svm_path(X, y, lams=lams, n_lams=n_lams, loss=loss, tol=gap, fit_intercept=intercept)
    facts = [_facts(point, classes, held_out) for point in points]
    certified = all(point.converged for point in points)
    if as_json:
        print_json({"converged": certified, "points": facts})
    else:
        _show(facts)
    return certified


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
    "primal": ("primal", ".8f"),
    "dual": ("dual", ".8f"),
    "gap": ("gap", ".1e"),
    "norm": ("‖w‖", ".4g"),
    "passes": ("passes", ".1f"),
    "method": ("method", ""),
    "test_error": ("test error", ".4g"),
    "test_mse": ("test mse", ".4g"),
}


def _show(facts: list[dict[str, Any]]) -> None:
    names = [name for name in _COLUMNS if name in facts[0]]
    titles = [_COLUMNS[name][0] for name in names]
    rows = [
        [Exact(point[name], format(point[name], _COLUMNS[name][1])) for name in names]
        for point in facts
    ]
    show_columns(names, titles, rows)
