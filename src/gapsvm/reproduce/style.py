"""How figures look: one style for all papers, readable in print and by the colour-blind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW, BLACK, GREY = (
    "#0072B2", "#D55E00", "#009E73", "#AA4499", "#56B4E9", "#E69F00", "#000000", "#8A8A8A",
)  # fmt: skip
"""Okabe and Ito's colours, which differ also to those who do not see red or green."""

_SETTINGS = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "figure.titlesize": 13,
    "figure.titleweight": "bold",
}


@contextmanager
def drawing(path: Path, width: float, height: float) -> Iterator[Any]:
    """A figure of that size in inches, saved when the block ends; no window is ever opened."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        figure.savefig(path, dpi=150)
