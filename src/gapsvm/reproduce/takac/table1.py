"""Table 1: the data and λ, with σ², which the paper does not print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gapsvm.reproduce import style
from gapsvm.reproduce.framework import Bench, Row, Settings, as_numbers, markdown_table
from gapsvm.reproduce.linear import TaskCell, about, heading, load, log2_axis, short, stand_in_note
from gapsvm.reproduce.takac.tasks import BY_NAME, FACTOR, PAPER, sigma2_of, tasks
from gapsvm.rows.spectral import beta

COLUMNS = ("test", "features", "percent", "sigma2")


def plan(settings: Settings) -> list[TaskCell]:
    return [TaskCell(**about(task)) for task in tasks(settings)]


def measure(cell: TaskCell, bench: Bench) -> list[Row]:
    task = BY_NAME[cell.task]
    loaded = load(task, bench)
    n, d = loaded.rows.shape
    return [
        {
            "test": len(loaded.y_test),
            "features": d,
            "percent": round(100 * loaded.rows.n_stored / (n * d), 4),
            "sigma2": sigma2_of(task, bench),
        }
    ]


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = [as_numbers(row) for row in rows]
    draw(folder / "takac-table1.png", found)
    header = ["data", "train", "test", "features", "% nonzero", "λ", "σ²", "1/σ²"]
    text = [
        heading(PAPER, "Table 1", "the data and λ, ours beside the paper's", settings),
        markdown_table(header, _lines(found)),
        "",
        "σ² is an upper bound of ‖X‖²/n of the training rows, scaled so that none is longer than "
        "1; the paper does not print it. 1/σ² is the batch size up to which its theorems promise "
        "a nearly linear speed-up.",
        "",
        stand_in_note([BY_NAME[row["task"]] for row in found]),
        "",
        "![β_b/b against b](takac-table1.png)",
        "",
    ]
    (folder / "takac-table1.md").write_text("\n".join(text), encoding="utf-8")


def _lines(found: Sequence[Row]) -> list[list[str]]:
    lines = []
    for row in found:
        task = BY_NAME[row["task"]]
        if (p := task.printed) is not None:
            sizes = [f"{size:,}" for size in (p.train, p.test, p.features)]
            lines.append([f"{task.paper} (paper)", *sizes, f"{p.percent:g}", short(p.lam), "", ""])
        sizes = [f"{row[name]:,}" for name in ("train", "test", "features")]
        spectral = [f"{row['sigma2']:.4f}", f"{1 / row['sigma2']:.1f}"]
        lines.append([task.title, *sizes, f"{row['percent']:.2g}", short(row["lam"]), *spectral])
    return lines


def draw(path: Path, found: Sequence[Row]) -> None:
    """β_b/b, the factor that bounds the iterations, of every data set (λ plays no part)."""
    distinct = {row["data"]: row for row in found}
    colours = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.YELLOW)
    largest = 2.0**14
    with style.drawing(path, 7.0, 4.6) as figure:
        axes = figure.subplots()
        for (data, row), colour in zip(distinct.items(), colours):
            n, sigma2 = row["train"], row["sigma2"]
            b = np.geomspace(1, min(largest, n), 200)
            axes.loglog(b, [beta(v, n, sigma2) / v for v in b], color=colour)
            axes.plot([1 / sigma2], [beta(1 / sigma2, n, sigma2) * sigma2], "o", color=colour, ms=6)
            axes.annotate(
                f"{data}, 1/σ² = {1 / sigma2:.3g}",
                (b[-1], beta(b[-1], n, sigma2) / b[-1]),
                xytext=(5, 0),
                textcoords="offset points",
                color=colour,
                va="center",
                annotation_clip=False,
            )
        axes.plot([1, largest], [1, 1 / largest], ":", color=style.GREY, lw=1.2)
        axes.text(150, 1 / 200, "linear speed-up, 1/b ", color=style.GREY, ha="right", va="top")
        axes.spines["right"].set_visible(False)
        log2_axis(axes)
        axes.set(ylabel=FACTOR, ylim=(2e-3, 1.4), xlim=(1, largest))
        axes.set_title("How far the bound lets mini-batches help (dots: b = 1/σ²)")
