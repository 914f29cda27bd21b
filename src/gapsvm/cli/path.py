"""``gapsvm path``: a certified model at every λ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from gapsvm.data.files import load_data
from gapsvm.path import PathPoint, svm_path


def run_path(
    data: Path,
    lams: list[float] | None,
    n_lams: int,
    loss: str,
    gap: float,
    intercept: bool,
    test: Path | None,
    threads: int,
) -> bool:
    """Print the path as a table; returns whether every point is certified."""
    X, y = load_data(data, threads=threads)
    held_out = None if test is None else load_data(test, n_features=X.shape[1], threads=threads)
    points = svm_path(X, y, lams=lams, n_lams=n_lams, loss=loss, tol=gap, fit_intercept=intercept)
    table = Table(box=None, pad_edge=False)
    for name in ("λ", "primal", "dual", "gap", "‖w‖", "passes", "method"):
        table.add_column(name, justify="right")
    if held_out is not None:
        table.add_column("test error", justify="right")
    classes = np.unique(y)
    for point in points:
        row = [
            f"{point.lam:.3g}",
            f"{point.primal:.8f}",
            f"{point.dual:.8f}",
            f"{point.gap:.1e}",
            f"{np.linalg.norm(point.coef):.4g}",
            f"{point.passes:.1f}",
            point.fit.method,
        ]
        if held_out is not None:
            row.append(f"{_test_error(point, classes, *held_out):.4g}")
        table.add_row(*row)
    Console().print(table)
    return all(point.converged for point in points)


def _test_error(point: PathPoint, classes: np.ndarray, X: Any, y: np.ndarray) -> float:
    scores = X @ point.coef + point.intercept
    if len(classes) == 2:
        return float(np.mean(np.where(scores > 0, classes[1], classes[0]) != y))
    return float(np.mean((scores - y) ** 2))
