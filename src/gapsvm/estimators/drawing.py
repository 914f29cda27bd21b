"""Pictures of RNA structures."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from gapsvm.rows import folding
from gapsvm.rows.layout import coordinates

_COLOURS = {"A": "#E69F00", "C": "#56B4E9", "G": "#D55E00", "U": "#009E73", "N": "#CCCCCC"}
_RIGHT, _WRONG, _MISSED, _STRAND = "#000000", "#AA4499", "#8A8A8A", "#BBBBBB"


def draw_structure(
    path: str | os.PathLike[str],
    sequence: str,
    structure: str,
    truth: str | None = None,
    *,
    title: str = "",
) -> None:
    """Draw a secondary structure into a file: PNG, SVG or PDF, as its name ends.

    Parameters
    ----------
    path
        The file to write.
    sequence : str
        Its bases, which are the letters of the picture.
    structure : str
        Dots and brackets.
    truth : str, optional
        The true structure: pairs that it has not are coloured, those that it has alone are dashed.
    title : str
        Above the picture.
    """
    codes = folding.encoded(sequence, "the sequence")
    partners = folding.partners_of(structure, len(sequence), "the sequence")
    told = partners
    if truth is not None:
        told = folding.partners_of(truth, len(sequence), "the sequence")
    places = coordinates(partners)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    span = np.ptp(places, axis=0) + 2.0
    figure = Figure(figsize=tuple(np.clip(0.16 * span, 2.0, 30.0)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.plot(*places.T, color=_STRAND, lw=1.5, zorder=1)
    _draw_pairs(axes, places, partners, told)
    letters = ["ACGUN"[code] for code in codes[1:-1]]
    axes.scatter(places[:, 0], places[:, 1], s=60, c=[_COLOURS[a] for a in letters], zorder=3, lw=0)
    for (x, y), letter in zip(places, letters):
        axes.text(x, y, letter, ha="center", va="center", fontsize=6, zorder=4)
    for at, end in ((0, "5′"), (len(places) - 1, "3′")):
        axes.annotate(end, places[at], xytext=(0, -11), textcoords="offset points", ha="center")
    axes.set_title(title, loc="left", fontsize=9)
    axes.set_aspect("equal")
    axes.axis("off")
    figure.savefig(path, dpi=150)


def _draw_pairs(axes: Any, places: Any, partners: Any, told: Any) -> None:
    for i in range(1, len(partners) - 1):
        for j, colour, dashes in (
            (int(partners[i]), _RIGHT if told[i] == partners[i] else _WRONG, "-"),
            (int(told[i]) if told[i] != partners[i] else 0, _MISSED, ":"),
        ):
            if j > i:
                axes.plot(*places[[i - 1, j - 1]].T, color=colour, ls=dashes, lw=1.5, zorder=2)
