"""``gapsvm inspect``: what is in a file, before anything is fitted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from gapsvm.backends import get_backend
from gapsvm.data.files import load_data
from gapsvm.data.matrix import CSR, checked_rows

_SHOWN_LABELS = 20


def run_inspect(data: Path, as_json: bool, threads: int, label: str | None) -> None:
    """Sizes, sparsity, labels and norms."""
    column = int(label) if label is not None and label.lstrip("-").isdigit() else label
    X, y = load_data(data, threads=threads, label=column)
    facts = describe(X, y)
    if as_json:
        print(json.dumps(facts))
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in facts.items():
        if name != "labels":
            table.add_row(name.replace("_", " "), _shown(value))
    labels = facts["labels"]
    kinds = ", ".join(f"{k}: {v:,}" for k, v in list(labels.items())[:_SHOWN_LABELS])
    more = f" and {len(labels) - _SHOWN_LABELS:,} more" if len(labels) > _SHOWN_LABELS else ""
    table.add_row("labels", kinds + more)
    Console().print(table)


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def describe(X: Any, y: Any) -> dict[str, Any]:
    """The facts, by name."""
    rows = checked_rows(X, get_backend())
    n, d = rows.shape
    norms = np.sqrt(rows.sq_norms)
    counts = (
        np.diff(rows.view.indptr.astype(np.int64)) if isinstance(rows.view, CSR) else np.array([d])
    )
    values, frequencies = np.unique(y, return_counts=True)
    return {
        "rows": n,
        "features": d,
        "stored_values": rows.n_stored,
        "density": rows.n_stored / max(n * d, 1),
        "values_per_row_mean": float(counts.mean()),
        "values_per_row_max": int(counts.max()),
        "empty_rows": int((norms == 0).sum()),
        "norm_min": float(norms.min()),
        "norm_mean": float(norms.mean()),
        "norm_max": float(norms.max()),
        "labels": {_label(v): int(k) for v, k in zip(values, frequencies)},
    }
