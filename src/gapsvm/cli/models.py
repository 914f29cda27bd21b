"""``gapsvm inspect`` of a model file: what it holds and what is proved of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from gapsvm.cli.output import print_json, show_facts
from gapsvm.cli.predictions import shown_label
from gapsvm.io.tables import is_table
from gapsvm.io.tensors import looks_like_tensors
from gapsvm.kernels.registry import spelled_kernel
from gapsvm.models.files import read_any_model
from gapsvm.models.support_vectors import SupportVectorModel

_SHOWN_CLASSES = 20


def is_model(path: Path) -> bool:
    """Whether a file begins as model files do."""
    if is_table(path) or not path.is_file():
        return False
    with open(path, "rb") as file:
        start = file.read(16)
    return start.startswith((b"svm_type", b"solver_type")) or looks_like_tensors(start)


def run_inspect_model(path: Path, as_json: bool) -> None:
    """The facts of a model, as a table or as JSON."""
    facts = model_facts(read_any_model(path))
    if as_json:
        print_json(facts)
        return
    show_facts([[name.replace("_", " "), _shown(value)] for name, value in facts.items()])


def model_facts(model: Any) -> dict[str, Any]:
    """What a model is, by name; what it does not know is left out."""
    facts: dict[str, Any] = {"model": "linear", "features": model.n_features}
    if isinstance(model, SupportVectorModel):
        stored = model.vectors.nnz if sp.issparse(model.vectors) else model.vectors.size
        facts.update(
            model="kernel machine",
            kernel=spelled_kernel(model.kernel),
            support_vectors=int(model.vectors.shape[0]),
            stored_values=int(stored),
        )
    if model.classes is not None:
        facts["classes"] = model.classes.tolist()
    facts["functions"] = int(model.intercept.size)
    for name in ("loss", "lam", "bias", "method", "status"):
        if getattr(model, name):
            facts[name] = getattr(model, name)
    gaps = np.ravel(model.gap)
    if np.isfinite(gaps).all():
        worst = int(gaps.argmax())
        facts["primal"] = float(np.ravel(model.primal)[worst])
        facts["dual"] = float(np.ravel(model.dual)[worst])
        facts["gap"] = float(gaps[worst])
    if model.feature_names is not None:
        facts["feature_names"] = model.feature_names
    return facts


def _shown(value: Any) -> str:
    if isinstance(value, list):
        more = f" and {len(value) - _SHOWN_CLASSES:,} more" if len(value) > _SHOWN_CLASSES else ""
        return ", ".join(map(shown_label, value[:_SHOWN_CLASSES])) + more
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.10g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
