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
from gapsvm.io.tensors import TensorFileError, looks_like_tensors, read_metadata
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
    known = {"chain": _chain_facts, "folding": _folding_facts}.get(sequence_model(path))
    facts = model_facts(read_any_model(path)) if known is None else known(path)
    if as_json:
        print_json(facts)
        return
    show_facts([[name.replace("_", " "), _shown(value)] for name, value in facts.items()])


def sequence_model(path: Path) -> str:
    """Which model of sequences a file says it holds, "chain" or "folding"; nothing for others."""
    try:
        found = read_metadata(path).get("format", "")
    except TensorFileError:
        return ""
    kinds = {"gapsvm chain model": "chain", "gapsvm folding model": "folding"}
    return kinds.get(found, "")


def _chain_facts(path: Path) -> dict[str, Any]:
    from gapsvm.models.chain import read_chain  # Numba, and much else

    model = read_chain(path)
    K = len(model.classes)
    facts = {
        "model": "chain",
        "features": model.weights.n_features,
        "classes": model.classes.tolist(),
        "transitions": K * K if model.allowed is None else int(np.count_nonzero(model.allowed)),
        "loss": model.loss,
        "lam": model.lam,
    }
    return {**facts, **_certificate(model)}


def _folding_facts(path: Path) -> dict[str, Any]:
    from gapsvm.models.folding import read_folding

    model = read_folding(path)
    return {"model": "folding", "features": model.w.size, "lam": model.lam, **_certificate(model)}


def _certificate(model: Any) -> dict[str, float]:
    if not math.isfinite(model.gap):
        return {}
    return {"primal": model.primal, "dual": model.dual, "gap": model.gap}


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
