"""``gapsvm predict``: labels or scores, and how many are right where that is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from gapsvm.cli.files import check_header, check_target, check_verify, label_column
from gapsvm.cli.models import sequence_model
from gapsvm.cli.output import note, require_output
from gapsvm.cli.predictions import hand_out, shown_label
from gapsvm.io.files import load_data
from gapsvm.io.matching import Expected, load_matching
from gapsvm.io.tables import is_table
from gapsvm.losses.ranking import RANKING_LOSSES
from gapsvm.models.base import is_text
from gapsvm.models.files import read_any_model
from gapsvm.models.support_vectors import SupportVectorModel


def run_predict(
    model_path: Path,
    data: Path,
    output: Path | None,
    scores: bool,
    as_json: bool,
    threads: int,
    label: str | None,
    no_label: bool,
    header: bool | None,
    verify: bool,
    at: int | None,
) -> None:
    """Predict every row of ``data``; the quality goes to standard error (or into the JSON)."""
    column = label_column(label, data)
    check_header(header, data)
    check_verify(verify, data)
    if no_label and (label is not None or not is_table(data)):
        raise ValueError("--no-label is for tables, and in place of --label")
    if output is None or as_json:
        require_output("--output FILE writes it, without --json")
    check_target(output, "--output", stream=True)
    kind = sequence_model(model_path)
    if kind:
        if scores or column is not None or no_label or at is not None:
            raise ValueError(f"{model_path} is for sequences: no {_NOT_OF_SEQUENCES}")
        _predict_sequences(kind, model_path, data, output, as_json, threads)
        return
    model = read_any_model(model_path)
    if model.loss in RANKING_LOSSES:
        from gapsvm.cli.rank import run_predict_rank

        if scores:
            raise ValueError(f"{model_path} ranks, and predicts scores anyway: leave out --scores")
        run_predict_rank(model, data, output, as_json, threads, at)  # type: ignore[arg-type]
        return
    if at is not None:
        raise ValueError(f"--at is for models that rank, not {model_path}")
    options: dict[str, Any] = {"header": header, "verify": verify, "threads": threads}
    model, X, y = _matched(model, data, {"label": column, "no_label": no_label, **options})
    if y is not None:
        y = _comparable(y, model.classes, data)
    more = {"threads": threads} if isinstance(model, SupportVectorModel) else {}
    predicted = model.predict(X, **more)
    if scores:
        lines = _score_lines(model.decision_function(X, **more))
    else:
        lines = [shown_label(value) for value in predicted]
    quality = {} if y is None else _quality(model.classes, predicted, y)
    hand_out(lines, quality, output, as_json)


def _matched(model: Any, data: Path, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The model, rows of as many features, and labels if there are any.

    A file of LIBSVM tells of no more features than its support vectors have.
    """
    width = model.n_features
    if isinstance(model, SupportVectorModel) and model.method == "libsvm" and not is_table(data):
        found = load_data(data, verify=options["verify"], threads=options["threads"])
        width = max(width, found.X.shape[1])
        X = found.X if found.X.shape[1] == width else _wider(found.X, width)
        return model.widened(width), X, found.y
    expected = Expected(width, model.feature_names, model.label)
    X, y, notes = load_matching(data, expected, **options)
    note(notes)
    return model, X, y


def _wider(X: Any, width: int) -> Any:
    return sp.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], width))


_NOT_OF_SEQUENCES = "--scores, --label, --no-label or --at"


def _predict_sequences(kind: str, *request: Any) -> None:
    from gapsvm.cli.chains import run_chain_predict  # Numba, and much else
    from gapsvm.cli.folding import run_folding_predict

    (run_chain_predict if kind == "chain" else run_folding_predict)(*request)


def _comparable(y: Any, classes: Any, data: Path) -> Any:
    """The labels as texts where the model's are, which a file of digits only does not show."""
    texts = not (np.issubdtype(y.dtype, np.number) or y.dtype == bool)
    if classes is None and texts:
        raise ValueError(
            f"{data}: the labels are texts, but the model predicts numbers; --label names another "
            "column, and --no-label says that there are none"
        )
    if classes is not None and is_text(classes) and not texts:
        return np.array([shown_label(value) for value in y.tolist()], dtype=object)
    return y


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
