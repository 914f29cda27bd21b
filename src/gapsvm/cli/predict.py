"""``gapsvm predict``: labels or scores, and how many are right where that is known."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from gapsvm.cli.files import check_target, label_column, write_text
from gapsvm.io.files import load_data
from gapsvm.io.tables import is_table
from gapsvm.models.files import read_model


def run_predict(
    model_path: Path,
    data: Path,
    output: Path | None,
    scores: bool,
    as_json: bool,
    threads: int,
    label: str | None,
    no_label: bool,
) -> None:
    """Predict every row of ``data``; the quality goes to standard error (or into the JSON)."""
    column = label_column(label, data)
    check_target(output, "--output", stream=True)
    model = read_model(model_path)
    if no_label:
        if label is not None or not is_table(data):
            raise ValueError("--no-label is for tables, and in place of --label")
        X, y = _features_only(data, model.n_features), None
    else:
        X, y = load_data(data, n_features=model.n_features, label=column, threads=threads)
    predicted = model.predict(X)
    lines = _score_lines(model.decision_function(X)) if scores else [_shown(v) for v in predicted]
    quality = {} if y is None else _quality(model.classes, predicted, y)
    text = "\n".join(lines) + "\n"
    if output is not None:
        write_text(output, text)
    elif not as_json:
        sys.stdout.write(text)
    if as_json:
        print(json.dumps({"rows": len(predicted), **quality}))
    else:
        said = ", ".join(f"{name} {value:.6g}" for name, value in quality.items())
        said = said or "nothing to compare with"
        Console(stderr=True).print(f"{len(predicted):,} rows: {said}", highlight=False)


def _features_only(data: Path, n_features: int) -> Any:
    """A table without labels: the column that was taken for them is the last feature."""
    X, last = load_data(data)
    if not (np.issubdtype(last.dtype, np.number) or last.dtype == bool):
        raise ValueError(f"{data}: the last column holds no numbers; does it hold the labels?")
    if X.shape[1] + 1 != n_features:
        raise ValueError(f"{data} has {X.shape[1] + 1} columns, but {n_features} are expected")
    return np.column_stack([X, last.astype(np.float64)])


def _shown(label: Any) -> str:
    """A label as it is written in files: 1 rather than 1.0."""
    whole = isinstance(label, float) and label.is_integer() and abs(label) < 1e15
    return str(int(label)) if whole else str(label)


def _score_lines(scores: Any) -> list[str]:
    return [" ".join(f"{v:.17g}" for v in np.atleast_1d(row)) for row in scores]


def _quality(classes: Any, predicted: Any, y: Any) -> dict[str, float]:
    """Accuracy and error, or the mean squared and absolute error of a regression.

    Nothing if no label is one of the model's: then they stand for unknown, as zeros often do.
    """
    if classes is None:
        miss = np.asarray(predicted) - y
        return {"mse": float(np.mean(miss**2)), "mae": float(np.mean(np.abs(miss)))}
    if not set(y.tolist()) & set(classes.tolist()):
        return {}
    accuracy = float(np.mean(np.asarray(predicted) == y))
    return {"accuracy": accuracy, "error": 1.0 - accuracy}
