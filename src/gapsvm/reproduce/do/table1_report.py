"""Table 1 drawn, beside the paper's, and what the paper says about it judged by our numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from gapsvm.reproduce import style
from gapsvm.reproduce.claims import AHEAD, Bar, Claim, Verdict, plain
from gapsvm.reproduce.do.table1 import SIZES, Result, results_of
from gapsvm.reproduce.do.tasks import LABELS, LOOKS, METHODS, PAPER, PRINTED, TABLE
from gapsvm.reproduce.framework import CERTIFIED, Row, Settings, markdown_table
from gapsvm.reproduce.linear import heading, seeds_text, short, stand_in_note, title

CLOSE = 1e-3
"""Objectives that differ by less count as alike."""


def report(folder: Path, rows: list[Row], settings: Settings) -> None:
    found = results_of(rows)
    draw(folder / "do-table1.png", found, settings)
    (folder / "do-table1.md").write_text(text(found, rows, settings), encoding="utf-8")


def draw(path: Path, found: Sequence[Result], settings: Settings) -> None:
    """How far from P* each method stayed, and the paper's, counted from the same P*."""
    from matplotlib.lines import Line2D

    tasks = list({result.task.name: result.task for result in found}.values())
    places = {task.name: -row for row, task in enumerate(tasks)}
    with style.drawing(path, 11.5, 0.62 * len(tasks) + 2.1) as figure:
        both = figure.subplots(1, len(SIZES), sharey=True, sharex=True)
        for axes, k in zip(both, SIZES):
            for result in (r for r in found if r.k == k):
                _row(axes, result, places[result.task.name])
            axes.set_xscale("log")
            axes.set(xlabel="best objective − P*", title=f"k = {k}", ylim=(0.6 - len(tasks), 0.6))
            axes.set_yticks(
                list(places.values()), [f"{t.title}\nλ = {short(t.lam)}" for t in tasks]
            )
            axes.tick_params(axis="y", length=0, labelsize=9)
            axes.grid(visible=False, axis="y")
            for row in range(1, len(tasks)):
                axes.axhline(0.5 - row, color="#E4E4E4", lw=0.8)
            axes.spines["right"].set_visible(False)
            axes.spines["left"].set_visible(False)
        handles = [
            Line2D([], [], color=LOOKS[m][0], marker=LOOKS[m][1], ls="", ms=7, label=LABELS[m])
            for m in METHODS
        ]
        hollow: dict[str, Any] = {
            "color": style.GREY,
            "marker": "o",
            "mfc": "white",
            "ls": "",
            "ms": 7,
        }
        if any(_paper(r) for r in found):
            handles.append(Line2D([], [], label="the paper's (its k is not printed)", **hollow))
        figure.legend(handles=handles, loc="outside lower center", ncols=6, fontsize=9)
        title(figure, f"{PAPER}, Table 1: how far the best objective stayed from P*", settings)


def _row(axes: Any, result: Result, place: float) -> None:
    """Ours above, the paper's below."""
    for method in METHODS:
        colour, marker = LOOKS[method]
        low, high = (f(result.all_best[method]) - result.optimum for f in (min, max))
        ours = result.best[method] - result.optimum
        axes.hlines(place + 0.14, low, high, color=colour, lw=4, alpha=0.3, zorder=2)
        axes.plot(ours, place + 0.14, marker=marker, color=colour, ms=7, ls="", zorder=3)
    for column, value in _paper(result).items():
        colour, marker = LOOKS["kept" if column == "proximal" else column]
        look = {"marker": marker, "mfc": "white", "mec": colour, "ms": 6, "ls": ""}
        axes.plot(value - result.optimum, place - 0.2, zorder=3, **look)


def _paper(result: Result) -> dict[str, float]:
    """The paper's best objectives on these very data."""
    if result.task.stand_in or not result.task.paper:
        return {}
    return TABLE[result.task.paper].best


# -- what the paper says ---------------------------------------------------------------------------

Judge = Callable[[Result, str], Verdict]
"""A statement about a line of the table; Proximal is the method of that name."""

LOWEST = Claim(
    "Proximal finds the lowest objective",
    "distance from P* of the best other over that of Proximal",
    AHEAD,
)
NEARLY_LOWEST = Claim(
    "Proximal comes close to the lowest",
    "its best objective less the lowest",
    Bar(CLOSE, 10 * CLOSE),
)
ALIKE = Claim(
    "all three are alike",
    "the highest of the best objectives less the lowest",
    Bar(CLOSE, 10 * CLOSE),
)
PEGASOS_FAILS = Claim(
    "Pegasos never gets below its start", "its best objective over P(0)", Bar(1.0, 0.9)
)
PEGASOS_WORKS = Claim("Pegasos gets below its start", "its best objective over P(0)", Bar(0.9, 1.0))
FEWEST_PASSES = Claim(
    "Proximal needs the fewest passes to 99 %",
    "the fewest of the others over its own",
    Bar(1.0, 0.5),
)
ADAPTIVE_WINS = Claim(
    "Adaptive is best, Proximal worst",
    "the lesser of two ratios of distances from P*: Pegasos over Adaptive, Proximal over Pegasos",
    AHEAD,
)


def _three(proximal: str) -> tuple[str, str, str]:
    return ("pegasos", "adaptive", proximal)


def _distance(result: Result, method: str) -> float:
    return max(result.best[method] - result.optimum, CERTIFIED)


def _on(result: Result, proximal: str) -> str:
    return f"{result.task.title}, k = {result.k}, {_reading(proximal)}"


def _proximal_lowest(result: Result, proximal: str) -> Verdict:
    other = min(("pegasos", "adaptive"), key=result.best.__getitem__)
    ratio = _distance(result, other) / _distance(result, proximal)
    words = f"{plain(ratio)}: {result.best[proximal]:.4f}, the best other {result.best[other]:.4f}"
    return LOWEST.judge(ratio, _on(result, proximal), words)


def _proximal_close(result: Result, proximal: str) -> Verdict:
    own, lowest = result.best[proximal], min(result.best[m] for m in _three(proximal))
    words = f"{own:.4f}, the lowest {lowest:.4f}"
    return NEARLY_LOWEST.judge(own - lowest, _on(result, proximal), words)


def _alike(result: Result, proximal: str) -> Verdict:
    values = [result.best[m] for m in _three(proximal)]
    words = f"from {min(values):.4f} to {max(values):.4f}"
    return ALIKE.judge(max(values) - min(values), _on(result, proximal), words)


def _pegasos_fails(result: Result, proximal: str) -> Verdict:
    return PEGASOS_FAILS.judge(result.best["pegasos"], f"{result.task.title}, k = {result.k}")


def _pegasos_works(result: Result, proximal: str) -> Verdict:
    return PEGASOS_WORKS.judge(result.best["pegasos"], f"{result.task.title}, k = {result.k}")


def _proximal_first(result: Result, proximal: str) -> Verdict:
    others = [result.passes[m] for m in ("pegasos", "adaptive")]
    own = result.passes[proximal]
    fewest = min((p for p in others if p is not None), default=math.inf)
    words = f"{_count(own)}; Pegasos {_count(others[0])}, Adaptive {_count(others[1])}"
    ratio = 0.0 if own is None else fewest / own
    return FEWEST_PASSES.judge(ratio, _on(result, proximal), words)


def _adaptive_wins(result: Result, proximal: str) -> Verdict:
    order = [_distance(result, method) for method in ("adaptive", "pegasos", proximal)]
    ratio = min(order[1] / order[0], order[2] / order[1])
    words = f"{plain(ratio)}: " + ", ".join(
        f"{LABELS[m].split(',')[0]} {result.best[m]:.4f}" for m in _three(proximal)
    )
    return ADAPTIVE_WINS.judge(ratio, _on(result, proximal), words)


READINGS = ((1, "kept"), (1, "optimistic"), (10, "optimistic"))
"""What Proximal may have been: k, and whether w is kept when R grows."""
WON = ("combined", "connect-4", "covtype", "ijcnn1", "mnist", "w8a")
FAILED = ("connect-4", "covtype", "w8a")
NOT_FAILED = ("a9a", "combined", "ijcnn1", "mnist")
STATEMENTS: tuple[tuple[tuple[str, ...], Judge], ...] = (
    (WON, _proximal_lowest),
    (("a9a",), _proximal_close),
    (("a9a",), _alike),
    (FAILED, _pegasos_fails),
    (NOT_FAILED, _pegasos_works),
    (("a9a", *WON), _proximal_first),
    (("rcv1",), _adaptive_wins),
    (("real-sim",), _alike),
)
"""What Table 1 shows, on which of the paper's sets or what stands in for them."""


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    """Every statement in each reading; what does not depend on the reading once for each k."""
    lines = judged(results_of(rows))
    return list(dict.fromkeys(verdict for line in lines for verdict in line))


def judged(found: Sequence[Result]) -> list[list[Verdict]]:
    """A line for each statement and set of this run, a verdict for each reading."""
    by_paper = {(result.task.paper, result.k): result for result in found}
    return [
        [judge(by_paper[name, k], method) for k, method in READINGS]
        for names, judge in STATEMENTS
        for name in names
        if (name, SIZES[0]) in by_paper
    ]


def text(found: Sequence[Result], rows: Sequence[Row], settings: Settings) -> str:
    seconds = sum(float(row["seconds"]) for row in rows)
    lines = [
        heading(PAPER, "Table 1", "best objective and passes, ours beside the paper's", settings),
        "![Table 1](do-table1.png)",
        "",
        f"Best objective over {rows[0]['passes']} passes, the last iterate evaluated after each, "
        "and in brackets the passes to 99 % of the reduction that the same method reached (n/a: "
        f"never below the start, P(0) = 1). Medians over {seeds_text(settings)}. *Proximal* is the "
        "paper's Algorithm 3 with ε = 0: as printed, w starts at zero again whenever R grows; *w "
        "kept*, which the bound allows, it stays. *R = 1/√λ* is Algorithm 2 alone. All project "
        "onto ‖w‖ ≤ 1/√λ. P* is the certified optimum (to 1e-7), which the paper did not have. "
        "It does not print its batch size k either, so both are here.",
        "",
        markdown_table(["data, λ", *(LABELS[m] for m in METHODS), "P*"], _lines(found)),
        "",
    ]
    if statements := judged(found):
        readings = [f"k = {k}, {_reading(method)}" for k, method in READINGS]
        header = ["the paper's table says", "threshold", "on", *readings]
        table = [
            [one.claim.says, f"{one.claim.number} {one.claim.bar}", one.on.split(", k =")[0]]
            + [verdict.said for verdict in line]
            for line in statements
            for one in line[:1]
        ]
        lines += ["## What is shown, and what is not", "", markdown_table(header, table), ""]
    lines += [*_reasons(found), stand_in_note([r.task for r in found if r.k == SIZES[0]]), ""]
    lines += [
        f"{len(rows)} runs, {seconds / 60:.1f} minutes of computing in all. Every run is a line of "
        "do-table1.csv.",
        "",
    ]
    return "\n".join(lines)


def _lines(found: Sequence[Result]) -> list[list[str]]:
    """The paper's line above ours; its Proximal stands in the column of the likelier reading."""
    lines = []
    for result in found:
        if result.k == SIZES[0] and result.task.paper:
            p = TABLE[result.task.paper]
            numbers = [f"{p.best[m]:.4f} ({_count(p.passes[m])})" for m in PRINTED]
            lines.append([f"**{result.task.paper}, the paper's**", *numbers, "", "", ""])
        numbers = [f"{result.best[m]:.4f} ({_count(result.passes[m])})" for m in METHODS]
        name = f"{result.task.title}, {short(result.task.lam)}, k = {result.k}"
        lines.append([name, *numbers, f"{result.optimum:.4f}"])
    return lines


def _count(passes: int | None) -> str:
    return "n/a" if passes is None else str(passes)


def _reading(method: str) -> str:
    return LABELS[method].removeprefix("Proximal, ")


def _reasons(found: Sequence[Result]) -> list[str]:
    """What Algorithm 3 did with its R, and why."""
    by_name = {(result.task.name, result.k): result for result in found}
    table = []
    for result in (r for r in found if r.k == SIZES[0]):
        share = f"{100 * result.long_rows:.0f} %"
        cells = [_spread(by_name[result.task.name, k], method) for k, method in READINGS]
        table.append([result.task.title, f"{result.task.lam**-0.5:,.0f}", share, *cells])
    readings = [f"k = {k}, {_reading(method)}" for k, method in READINGS]
    return [
        "## Why: the R that Algorithm 3 settles on",
        "",
        "R at the end, from least to most over the seeds, and the best objective with it:",
        "",
        markdown_table(["", "1/√λ", "rows with ‖x‖ ≥ G/2", *readings], table),
        "",
        "A phase begins with η₁ ≈ 2R/G, so that a single row with ‖x‖ ≥ G/2 carries w from zero "
        "out of the ball of radius R at once, and R grows. Where most rows are as long as that, "
        "Algorithm 3 as printed runs through all its phases within some thirty steps when k = 1, "
        "until R is about 1/√λ: it is then Algorithm 2 with a bad R. Over ten rows the "
        "subgradients partly cancel, and R stays small. If w is kept when R grows, the next step "
        "does not begin at zero, and R stops wherever the first few rows happen to leave it: the "
        "spread over the seeds is that luck.",
        "",
        *_where_not(by_name),
        *_likeliest(found),
    ]


def _where_not(by_name: dict[tuple[str, int], Result]) -> list[str]:
    """Where Proximal is not the lowest: its R beside the R of the best of all its runs."""
    lines = []
    for name in (name for name in WON if (name, SIZES[0]) in by_name):
        runs = [
            (value, radius)
            for k in SIZES
            for method in ("kept", "optimistic")
            for value, radius in zip(
                by_name[name, k].all_best[method], by_name[name, k].all_radii[method]
            )
        ]
        _, right = min(runs)
        for k, method in READINGS:
            result = by_name[name, k]
            if _proximal_lowest(result, method).number > 1:
                continue
            radius = median(result.all_radii[method])
            why = "too large" if radius > right else "too small: its steps are too short"
            lines.append(
                f"- {name}, k = {k}, {_reading(method)}: not the lowest, with R = {radius:,.0f}. "
                f"The best of all runs of Proximal here had R = {right:,.0f}; R is {why}."
            )
    return [*lines, ""] if lines else []


def _likeliest(found: Sequence[Result]) -> list[str]:
    """Which k, and which Proximal, comes closest to the paper's figures."""
    same = [result for result in found if _paper(result)]
    if not same:
        return []
    kinds = [(c, c, k) for c in ("pegasos", "adaptive") for k in SIZES]
    kinds += [("proximal", method, k) for method in ("kept", "optimistic") for k in SIZES]
    table, away = [], {}
    for column, method, k in kinds:
        by_task = {
            r.task.name: abs(r.best[method] / _paper(r)[column] - 1) for r in same if r.k == k
        }
        away[method, k] = median(by_task.values())
        numbers = [f"{100 * value:.1f} %" for value in (*by_task.values(), away[method, k])]
        table.append([f"{LABELS[method]}, k = {k}", *numbers])
    names = [r.task.title for r in same if r.k == SIZES[0]]
    method, k = min((key for key in away if key[0] in ("kept", "optimistic")), key=away.__getitem__)
    return [
        "## What the paper may have run",
        "",
        "How far our best objectives are from the paper's:",
        "",
        markdown_table(["", *names, "median"], table),
        "",
        f"Closest to the paper's Proximal is k = {k}, {_reading(method)}. Its figures are of one "
        "run each, as far as it says: where R is a matter of luck, so are they.",
        "",
    ]


def _spread(result: Result, method: str) -> str:
    radii, best = result.all_radii[method], result.all_best[method]
    return f"R {_range(radii, ',.0f')}: {_range(best, '.4f')}"


def _range(values: Sequence[float], form: str) -> str:
    low, high = (f"{f(values):{form}}" for f in (min, max))
    return low if low == high else f"{low} – {high}"
