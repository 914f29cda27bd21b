"""Figures of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gapsvm.solvers.trace import Record


def convergence_plot(traces: Mapping[str, Sequence[Record]], path: Path, *, title: str) -> None:
    """Left: primal and dual close in on the optimum.  Right: the gap, which proves it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    values, gaps = figure.subplots(1, 2)
    for label, trace in traces.items():
        passes = [record.passes for record in trace]
        (line,) = values.plot(passes, [r.primal for r in trace], ".-", label=f"primal ({label})")
        values.plot(passes, [r.dual for r in trace], ".--", color=line.get_color(), label="dual")
        gaps.semilogy(passes, [max(r.gap, 1e-17) for r in trace], ".-", label=label)
    values.set(xlabel="passes over the data", ylabel="objective", title=title)
    values.legend()
    gaps.set(xlabel="passes over the data", ylabel="duality gap", title="certified distance to P*")
    gaps.grid(alpha=0.3, which="both")
    figure.savefig(path, dpi=130)
