"""Figure 1 drawn, and what the paper says about it judged by our numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from gapsvm.reproduce import style
from gapsvm.reproduce.framework import Row, Settings, markdown_table
from gapsvm.reproduce.linear import heading, log2_axis, seeds_text, short, stand_in_note, title
from gapsvm.reproduce.takac.figure1 import (
    FAR,
    FAR_GROWTH,
    GROWTH,
    STUCK_FROM,
    Counts,
    counts_of,
)
from gapsvm.reproduce.takac.tasks import FACTOR, LABELS, LOOKS, METHODS, PAPER, TARGET
from gapsvm.rows.spectral import beta


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = counts_of(rows)
    draw(folder / "takac-fig1.png", found, settings)
    (folder / "takac-fig1.md").write_text(text(found, rows, settings), encoding="utf-8")


def draw(path: Path, found: Sequence[Counts], settings: Settings) -> None:
    columns = min(3, len(found) + 1)
    lines = math.ceil((len(found) + 1) / columns)
    with style.drawing(path, 4.6 * columns, 3.7 * lines + 0.5) as figure:
        grid = figure.subplots(lines, columns, squeeze=False).ravel()
        for axes, counts in zip(grid, found):
            _panel(axes, counts)
        _legend(grid[len(found)], found)
        for axes in grid[len(found) + 1 :]:
            axes.axis("off")
        words = f"iterations to P(w̄) − P* ≤ {short(TARGET)}, by mini-batch size"
        title(figure, f"{PAPER}, Figure 1: {words}", settings)


def _panel(axes: Any, counts: Counts) -> None:
    for method in METHODS:
        colour, marker = LOOKS[method]
        sizes = counts.reached(method)
        middle = [counts.iterations(method, b) for b in sizes]
        axes.loglog(sizes, middle, color=colour, marker=marker, zorder=3)
        for b in sizes:
            runs = [r["iterations"] for r in counts.runs[method, b] if r["outcome"] == "reached"]
            axes.vlines(b, min(runs), max(runs), color=colour, lw=3.5, alpha=0.3, zorder=2)
    _not_reached(axes, counts)
    knee = 1 / counts.sigma2
    axes.axvline(knee, color=style.BLACK, lw=0.7)
    label, place = f" 1/σ² = {knee:.3g}", axes.get_xaxis_transform()
    axes.text(knee, 0.985, label, transform=place, va="top", fontsize=9)
    log2_axis(axes)
    axes.set(ylabel="iterations", title=f"{counts.task.title}, λ = {short(counts.task.lam)}")
    _factor_on_the_right(axes, counts)


def _not_reached(axes: Any, counts: Counts) -> None:
    """Hollow markers with an arrow, at the budget, side by side."""
    for b in counts.sizes:
        missing = [m for m in METHODS if counts.iterations(m, b) == math.inf]
        for place, method in enumerate(missing):
            colour, marker = LOOKS[method]
            at = b * 2 ** (0.36 * (place - (len(missing) - 1) / 2))
            limit = counts.runs[method, b][0]["budget"] / b
            axes.plot(at, limit, marker=marker, mfc="white", mec=colour, ms=4, ls="", zorder=3)
            arrow = {"arrowstyle": "<-", "color": colour, "lw": 0.9, "shrinkB": 2.5}
            above = {"xytext": (0, 14), "textcoords": "offset points"}
            axes.annotate("", (at, limit), arrowprops=arrow, **above)


def _factor_on_the_right(axes: Any, counts: Counts) -> None:
    """β_b/b, whose axis has the decades of the left one, so that slopes can be compared."""
    axes.margins(y=0.08)
    low, high = axes.get_ylim()
    anchor = min(counts.iterations("safe", 1), high)  # both begin at the same height
    b = np.geomspace(1, counts.sizes[-1], 100)
    factors = [beta(v, counts.task.train, counts.sigma2) / v for v in b]
    right = axes.twinx()
    right.plot(b, factors, "--", color=style.GREY, lw=1.4, zorder=1)
    right.set(yscale="log", ylim=(low / anchor, high / anchor))
    right.set_ylabel(FACTOR, color=style.GREY)
    right.tick_params(axis="y", which="both", colors=style.GREY)
    right.grid(visible=False)
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)


def _legend(axes: Any, found: Sequence[Counts]) -> None:
    from matplotlib.lines import Line2D

    axes.axis("off")
    handles = [
        Line2D([], [], color=LOOKS[m][0], marker=LOOKS[m][1], label=LABELS[m]) for m in METHODS
    ]
    seeds = max(len(runs) for counts in found for runs in counts.runs.values())
    grey = style.GREY
    if seeds > 1:
        label = f"line: median, bar: range of {seeds} seeds"
        handles.append(Line2D([], [], color=grey, lw=5, alpha=0.4, label=label))
    handles += [
        Line2D(
            [],
            [],
            color=grey,
            marker="o",
            mfc="white",
            ls="",
            label="↑ not reached within the budget",
        ),
        Line2D([], [], color=grey, ls="--", label=f"{FACTOR}, right axis"),
        Line2D([], [], color=style.BLACK, lw=0.7, label="b = 1/σ²"),
    ]
    axes.legend(handles=handles, loc="center left", fontsize=10.5, labelspacing=0.7)


# -- what the paper says ---------------------------------------------------------------------------

Verdict = tuple[bool | None, str]
"""Whether a statement of the paper is seen (None: these runs cannot tell), and the numbers."""


def _ahead_at_one(counts: Counts) -> Verdict:
    ratio = counts.iterations("pegasos", 1) / counts.iterations("naive", 1)
    if math.isnan(ratio):
        return None, "neither got there"
    return ratio > 1, f"× {_plain(ratio)}" if ratio < math.inf else "only SDCA got there"


def _linear_before(method: str) -> Callable[[Counts], Verdict]:
    def verdict(counts: Counts) -> Verdict:
        b = counts.knee
        if b == 1:
            return None, "no b between 1 and 1/σ²"
        speed_up = counts.speed_up(method, b)
        if math.isnan(speed_up):
            return None, "b = 1 not reached"
        return speed_up >= b / 2, f"× {_plain(speed_up)} at b = {b:,}"

    return verdict


def _naive_fails(counts: Counts) -> Verdict:
    b = counts.failure()
    if b is None:
        return False, f"not up to b = {counts.sizes[-1]:,}"
    multiple = b * counts.sigma2
    how = "does not get there" if counts.iterations("naive", b) == math.inf else "slower"
    late = "only " if multiple > 8 else ""
    return multiple > 1, f"{how}, {late}from b = {b:,} = {_plain(multiple)}/σ²"


def _safe_flattens(counts: Counts) -> Verdict:
    b, last = counts.knee, counts.reached("safe")[-1:]
    if not last or last[0] < 4 * b:
        return None, "not reached past 4/σ²"
    gained = counts.iterations("safe", b) / counts.iterations("safe", last[0])
    return gained <= last[0] / b / 2, _gain(counts, "safe", b, last[0])


def _goes_on(method: str) -> Callable[[Counts], Verdict]:
    def verdict(counts: Counts) -> Verdict:
        past = [b for b in counts.reached(method) if b > counts.knee]
        if not past or counts.iterations(method, counts.knee) == math.inf:
            return None, "not reached past 1/σ²"
        best = min(past, key=lambda b: counts.iterations(method, b))
        gained = counts.iterations(method, counts.knee) / counts.iterations(method, best)
        allowed = _bound(counts, counts.knee) / _bound(counts, best)
        return gained > allowed, _gain(counts, method, counts.knee, best)

    return verdict


def _gain(counts: Counts, method: str, b: int, to: int) -> str:
    """How the iterations fell from one b to another, and how β_b/b did."""
    gained = counts.iterations(method, b) / counts.iterations(method, to)
    allowed = _bound(counts, b) / _bound(counts, to)
    return f"× {_plain(gained)} from b = {b:,} to {to:,}; β_b/b: × {_plain(allowed)}"


def _plain(number: float) -> str:
    """Two digits, never an exponent."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def _bound(counts: Counts, b: int) -> float:
    return beta(b, counts.task.train, counts.sigma2) / b


def _stays_ahead(counts: Counts) -> Verdict:
    both = sorted({*counts.reached("aggressive"), *counts.reached("pegasos")})
    if not both:
        return None, "neither got there"
    ahead = [
        b for b in both if counts.iterations("aggressive", b) < counts.iterations("pegasos", b)
    ]
    behind = [b for b in both if b not in ahead]
    where = f", not at {', '.join(f'{b:,}' for b in behind)}" if behind else ""
    return not behind, f"at {len(ahead)} of {len(both)} b{where}"


def _outlives_naive(counts: Counts) -> Verdict:
    b = counts.failure()
    if b is None:
        return None, "naive did not fail"
    past = [v for v in counts.reached("aggressive") if v >= b]
    naive = min(counts.iterations("naive", v) for v in counts.sizes)
    if not past or naive == math.inf:
        return (False if not past else None), "not reached there"
    best = min(counts.iterations("aggressive", v) for v in past)
    return best < naive, f"{best:,.0f} iterations; naive at its best {naive:,.0f}"


STATEMENTS: tuple[tuple[str, Callable[[Counts], Verdict]], ...] = (
    ("SDCA is ahead of Pegasos at b = 1", _ahead_at_one),
    ("Pegasos: nearly linear speed-up until b ≈ 1/σ²", _linear_before("pegasos")),
    ("safe SDCA: nearly linear speed-up until b ≈ 1/σ²", _linear_before("safe")),
    ("aggressive SDCA: nearly linear speed-up until b ≈ 1/σ²", _linear_before("aggressive")),
    ("naive SDCA deteriorates past b ≈ 1/σ²", _naive_fails),
    ("safe SDCA flattens past b ≈ 1/σ²", _safe_flattens),
    ("Pegasos goes on past b ≈ 1/σ²", _goes_on("pegasos")),
    ("aggressive SDCA goes on past b ≈ 1/σ²", _goes_on("aggressive")),
    ("aggressive SDCA stays ahead of Pegasos throughout", _stays_ahead),
    ("aggressive SDCA improves past the failure of naive", _outlives_naive),
)


def text(found: Sequence[Counts], rows: Sequence[Row], settings: Settings) -> str:
    """The statements, the reasons, and the numbers."""
    verdicts = [[judge(counts) for counts in found] for _, judge in STATEMENTS]
    words = {True: "yes", False: "**no**", None: "–"}
    table = [
        [statement, *(f"{words[seen]}: {why}" for seen, why in line)]
        for (statement, _), line in zip(STATEMENTS, verdicts)
    ]
    seconds = sum(float(row["seconds"]) for row in rows)
    lines = [
        heading(PAPER, "Figure 1", "iterations against mini-batch size", settings),
        "![Figure 1](takac-fig1.png)",
        "",
        f"Iterations until an evaluation finds P(w̄) − P* ≤ {short(TARGET)}; evaluations are "
        f"{100 * (GROWTH - 1):.0f} % of the iterations apart ({100 * (FAR_GROWTH - 1):.0f} % while "
        f"over {FAR:g} times the target away). Numbers are medians over {seeds_text(settings)}. "
        "The paper prints these results as a figure only: what we can compare is what it says.",
        "",
        "## What can be seen, and what not",
        "",
        *_summary(found, verdicts),
        "",
        markdown_table(["the paper says", *(counts.task.title for counts in found)], table),
        "",
        "*Nearly linear* is at least half of b at the largest power of two up to 1/σ², where "
        "β_b ≤ 2 promises as much. *Deteriorates*: not reached, or 1.25 times the iterations of a "
        "smaller b. *Flattens*: at most half of the linear gain, from there to the largest b "
        "reached. *Goes on*: a larger gain past 1/σ² than β_b/b allows. “–”: these runs cannot "
        "tell.",
        "",
        *_reasons(found),
        "## Median iterations",
        "",
        *medians(found),
        stand_in_note([counts.task for counts in found]),
        "",
        f"{len(rows):,} runs, {seconds / 60:.0f} minutes of computing in all. P* is certified to "
        "1e-7 or better. Every run is a line of takac-fig1.csv.",
        "",
    ]
    return "\n".join(lines)


def _summary(found: Sequence[Counts], verdicts: Sequence[Sequence[Verdict]]) -> list[str]:
    """A line for each statement: where it is seen."""
    lines = []
    for (statement, _), line in zip(STATEMENTS, verdicts):
        where: dict[bool | None, list[str]] = {True: [], False: [], None: []}
        for counts, (seen, _) in zip(found, line):
            where[seen].append(counts.task.name)
        if len(where[True]) == len(found):
            lines.append(f"- Seen on all: {statement}.")
            continue
        kinds = ((True, "seen on"), (False, "not seen on"), (None, "no telling on"))
        parts = [f"{how} {', '.join(where[kind])}" for kind, how in kinds if where[kind]]
        lines.append(f"- {statement[0].upper()}{statement[1:]}: {'; '.join(parts)}.")
    return lines


def _reasons(found: Sequence[Counts]) -> list[str]:
    """The limits of these data and budgets, in words."""
    lines = [
        "Why not more: 1/σ² is "
        + ", ".join(f"{1 / c.sigma2:.3g} on {c.task.name}" for c in found)
        + ". Up to there, and no further, the theorems promise a nearly linear speed-up.",
        "",
    ]
    narrow = [c for c in found if 1 / c.sigma2 < 4]
    if narrow:
        names = ", ".join(c.task.name for c in narrow)
        most = max(1 / c.sigma2 for c in narrow)
        lines += [
            f"On {names} that leaves hardly a region to look at: the bound allows a speed-up of "
            f"{most:.2g} in all. Whatever more is gained there σ² does not explain.",
            "",
        ]
    outcomes = [r["outcome"] for c in found for runs in c.runs.values() for r in runs]
    budgets = ", ".join(f"{c.task.passes} on {c.task.name}" for c in found)
    lines += [
        f"“Not reached” means within a budget of passes ({budgets}): {outcomes.count('budget')} "
        f"runs. {outcomes.count('stuck')} runs of naive SDCA were stopped earlier, after "
        f"{STUCK_FROM:g} passes at least, because the last three quarters of the run had brought "
        "nothing and left it over five times the target away. Safe SDCA would get there, by "
        "Theorem 2: its steps shrink as β_b grows, so that past 1/σ² the same number of "
        "iterations costs b times as many row visits.",
        "",
    ]
    return lines


def medians(found: Sequence[Counts]) -> list[str]:
    lines: list[str] = []
    for counts in found:
        table = [
            [
                f"{b:,}",
                f"{_bound(counts, b):.3g}",
                *(_count(counts, method, b) for method in METHODS),
            ]
            for b in counts.sizes
        ]
        header = ["b", "β_b/b", *(LABELS[method] for method in METHODS)]
        title = f"**{counts.task.title}**, λ = {short(counts.task.lam)}, n = {counts.task.train:,}"
        lines += [title, "", markdown_table(header, table), ""]
    return lines


def _count(counts: Counts, method: str, b: int) -> str:
    count = counts.iterations(method, b)
    if count < math.inf:
        return f"{count:,.0f}"
    runs = [row for row in counts.runs[method, b] if row["outcome"] != "reached"]
    if all(row["outcome"] == "stuck" for row in runs):
        return f"stuck at {median(row['suboptimality'] for row in runs):.2g}"
    return f"> {max(row['iterations'] for row in runs):,}"
