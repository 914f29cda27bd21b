"""``gapsvm inspect``: what is in a file of data, before anything is fitted, or in a model."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.cli.files import check_header, check_verify, label_column
from gapsvm.cli.models import is_model, run_inspect_model
from gapsvm.cli.output import Cell, print_json, require_output, say, show_facts
from gapsvm.cli.streams import is_terminal, spelled
from gapsvm.io.files import load_data
from gapsvm.kernels.registry import get_kernel
from gapsvm.kernels.rows import FeatureRows
from gapsvm.kernels.spectral import kernel_sigma2
from gapsvm.rows.matrix import Rows, checked_rows
from gapsvm.rows.spectral import Sigma2, batch_worth_using, beta, sigma2
from gapsvm.system.blas import one_blas_thread
from gapsvm.types.matrices import CSR

_SHOWN_LABELS = 20
_ALL_VALUES = 100_000_000  # up to so many, σ² takes all rows: about two seconds
_SAMPLED_VALUES = 20_000_000
_KERNEL_ROWS = 5_000
"""Rows whose kernel matrix is looked at: all of it is kept."""
_KERNEL_CACHE = 1e-6 * 8 * _KERNEL_ROWS**2
_BAR = 40  # characters
_FLAT = 1.02  # β_b/b this close to its limit σ²: nothing more to see


def run_inspect(
    data: Path,
    as_json: bool,
    threads: int,
    label: str | None,
    header: bool | None,
    verify: bool,
    kernel: str | None = None,
) -> None:
    """Sizes, sparsity, labels and norms; how much rows interact, hence how large a batch may be."""
    require_output("send it to a file")
    if kernel is not None:
        get_kernel(kernel)  # before anything is read
    if is_model(data):
        if kernel is not None:
            raise ValueError(f"--kernel is for data, but {data} is a model")
        run_inspect_model(data, as_json)
        return
    column = label_column(label, data)
    check_header(header, data)
    check_verify(verify, data)
    X, y, *_ = load_data(data, threads=threads, label=column, header=header, verify=verify)
    rows = checked_rows(X, get_backend())
    facts = describe(rows, y)
    with _waiting("σ²: a few passes over the data" if kernel is None else "σ² of the kernel"):
        raw, unit = interaction(rows) if kernel is None else kernel_interaction(rows, kernel)
    if kernel is not None:
        facts["kernel"] = kernel
    n = rows.shape[0]
    found = facts | interaction_facts(raw, unit, n)
    if as_json:
        print_json(found)
    elif is_terminal(sys.stdout):
        show_facts(_for_people(facts, raw, unit, n))
        if n > 1:
            say("\nβ_b/b: steps with batches of b, relative to one row at a time")
            for line in chart(n, unit.value):
                say(line)
    else:
        show_facts(_for_programs(found))


def _waiting(what: str) -> AbstractContextManager[Any]:
    """A sign that something goes on, for a person who waits."""
    if not is_terminal(sys.stderr):
        return nullcontext()
    from rich.console import Console

    return Console(file=sys.stderr).status(what)


def _for_people(facts: dict[str, Any], raw: Sigma2, unit: Sigma2, n: int) -> list[list[Cell]]:
    rows: list[list[Cell]] = [
        [name.replace("_", " "), _shown(value)] for name, value in facts.items() if name != "labels"
    ]
    labels, of = facts["labels"], " of K/n" if "kernel" in facts else ""
    kinds = ", ".join(f"{k}: {v:,}" for k, v in list(labels.items())[:_SHOWN_LABELS])
    more = f" and {len(labels) - _SHOWN_LABELS:,} more" if len(labels) > _SHOWN_LABELS else ""
    return [
        *rows,
        ["labels", kinds + more],
        ["σ²" + of, _with_kind(raw)],
        [f"σ²{of} of unit rows", _with_kind(unit)],
        [f"1/σ²{of} of unit rows", f"{1 / unit.value:.4g}"],
        ["batch worth using", _advice(n, unit.value)],
    ]


def _for_programs(found: dict[str, Any]) -> list[list[Cell]]:
    """What the JSON has, a line for each number."""
    rows: list[list[Cell]] = []
    for name, value in found.items():
        for more, one in value.items() if isinstance(value, dict) else [(None, value)]:
            rows.append([name, *([] if more is None else [more]), str(one)])
    return rows


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def describe(rows: Rows, y: Any) -> dict[str, Any]:
    """The facts, by name."""
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


# -- how much rows interact ------------------------------------------------------------------------


def interaction(rows: Rows) -> tuple[Sigma2, Sigma2]:
    """σ² of the rows as they are and of the rows divided by their norms; huge data are sampled."""
    sample = None
    if rows.n_stored > _ALL_VALUES:
        sample = max(1, rows.shape[0] * _SAMPLED_VALUES // rows.n_stored)
    backend = get_backend()
    raw = sigma2(rows, backend, sample=sample)
    return raw, sigma2(rows, backend, normalised=True, sample=sample)


def kernel_interaction(rows: Rows, kernel: str) -> tuple[Sigma2, Sigma2]:
    """The same of K/n, and of K with ones on its diagonal; many rows are sampled."""
    with one_blas_thread():
        source = FeatureRows(rows, get_kernel(kernel), cache_size=_KERNEL_CACHE)
        sample = _KERNEL_ROWS if source.n_rows > _KERNEL_ROWS else None
        raw = kernel_sigma2(source, sample=sample)
        return raw, kernel_sigma2(source, normalised=True, sample=sample)


def interaction_facts(raw: Sigma2, unit: Sigma2, n_rows: int) -> dict[str, Any]:
    """σ² and what follows from it, by name."""
    sizes = batch_sizes(n_rows, unit.value)
    return {
        "sigma2": raw.value,
        "sigma2_kind": raw.kind,
        "sigma2_accuracy": _accuracy(raw),
        "sigma2_normalised": unit.value,
        "sigma2_normalised_kind": unit.kind,
        "sigma2_normalised_accuracy": _accuracy(unit),
        "batch_worth_using": batch_worth_using(n_rows, unit.value),
        "beta": {str(b): beta(b, n_rows, unit.value) for b in sizes},
    }


def _accuracy(found: Sigma2) -> float | None:
    """By how much σ² may be too large, if that is known."""
    known = found.kind != "estimate" and found.lower > 0
    return found.value / found.lower - 1 if known else None


def _with_kind(found: Sigma2) -> str:
    accuracy = _accuracy(found)
    kind = {
        "exact": "exact",
        "bound": "upper bound",
        "probable": f"upper bound but for a chance of {found.failure:g}",
        "estimate": "estimate from some of the rows",
    }[found.kind]
    if accuracy is not None and found.kind != "exact":
        kind += f", to {max(100 * accuracy, 0.001):.2g} %"
    return f"{found.value:.4g} ({kind})"


def _advice(n_rows: int, value: float) -> str:
    size = batch_worth_using(n_rows, value)
    if size == n_rows:
        return f"{size:,}: all rows at once, they hardly interact"
    return f"{size:,}: beyond it rows of a batch hinder each other (β_b > 2)"


def batch_sizes(n_rows: int, value: float) -> list[int]:
    """1, 2, 4, … until β_b/b hardly falls, then n; and the batch worth using."""
    sizes = {n_rows, batch_worth_using(n_rows, value)}
    b = 1
    while b < n_rows:
        sizes.add(b)
        if beta(b, n_rows, value) / b <= _FLAT * beta(n_rows, n_rows, value) / n_rows:
            break
        b *= 2
    return sorted(sizes)


def chart(n_rows: int, value: float) -> list[str]:
    """β_b and β_b/b over b, as bars."""
    worth = batch_worth_using(n_rows, value)
    rows: list[tuple[str, ...]] = [("b", "β_b", "β_b/b", "")]
    sizes = batch_sizes(n_rows, value)
    for b, before in zip(sizes, [1, *sizes]):
        if b == n_rows and b > 2 * before:
            rows.append(("…", "", "", ""))
        factor = beta(b, n_rows, value)
        mark = " worth using" if b == worth else ""
        number = f"{factor:.2f}" if factor < 100 else f"{factor:,.0f}"
        rows.append((f"{b:,}", number, f"{factor / b:.3f}", _bar(factor / b) + mark))
    rows = [tuple(spelled(cell, sys.stdout) for cell in row) for row in rows]
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    numbers = ("  ".join(cell.rjust(w) for cell, w in zip(row, widths)) for row in rows)
    return [f"{left}  {row[3]}".rstrip() for left, row in zip(numbers, rows)]


def _bar(share: float) -> str:
    """A bar of that share of the width, to an eighth of a character."""
    whole, eighths = divmod(round(8 * _BAR * min(share, 1.0)), 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[eighths].strip() or "▏"
