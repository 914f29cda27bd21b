"""``gapsvm predict``: labels or scores, and how many are right where that is known."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from gapsvm.data.files import load_data
from gapsvm.modelfile import read_model


def run_predict(
    model_path: Path, data: Path, output: Path | None, scores: bool, as_json: bool, threads: int
) -> None:
    """Predict every row of ``data``; the quality goes to standard error (or into the JSON)."""
    model = read_model(model_path)
    X, y = load_data(data, n_features=model.n_features, threads=threads)
    predicted = model.predict(X)
    lines = _score_lines(model.decision_function(X)) if scores else [str(v) for v in predicted]
    quality = _quality(model.classes, predicted, y)
    if as_json:
        print(json.dumps({"rows": len(predicted), **quality}))
    elif output is None:
        sys.stdout.write("\n".join(lines) + "\n")
    if output is not None:
        output.write_text("\n".join(lines) + "\n")
    if not as_json:
        said = ", ".join(f"{name} {value:.6g}" for name, value in quality.items())
        Console(stderr=True).print(f"{len(predicted):,} rows: {said}", highlight=False)


def _score_lines(scores: Any) -> list[str]:
    return [" ".join(f"{v:.17g}" for v in np.atleast_1d(row)) for row in scores]


def _quality(classes: Any, predicted: Any, y: Any) -> dict[str, float]:
    """Accuracy and error, or the mean squared and absolute error of a regression."""
    if classes is None:
        miss = np.asarray(predicted) - y
        return {"mse": float(np.mean(miss**2)), "mae": float(np.mean(np.abs(miss)))}
    accuracy = float(np.mean(np.asarray(predicted) == y))
    return {"accuracy": accuracy, "error": 1.0 - accuracy}
