"""What ``peers.py`` prints and draws: tables, slopes, the ratio of each cell, the roofline."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import geometric_mean
from benchmarks.peer_cases import TABLES, PeerCase, Table
from gapsvm.reproduce.linear import short
from gapsvm.reproduce.style import BLUE, GREEN, GREY, ORANGE, drawing

TIE = 1.3
"""Times that differ by less are not told apart."""
NEVER = "—"


class Row(NamedTuple):
    """A cell of the results, with what is derived from it."""

    case: PeerCase
    target: float
    cell: dict[str, Any]
    floor: float
    """Seconds in which the memory could have moved what was moved."""

    @property
    def best(self) -> tuple[str, float] | None:
        """The fastest peer and its time."""
        timed = [(name, t) for name, t in self.cell["peers"].items() if t is not None]
        return min(timed, key=lambda one: one[1], default=None)

    @property
    def ratio(self) -> float:
        """How many times faster gapsvm is; infinite where no peer arrives, 0 where it does not."""
        if self.cell["seconds"] is None:
            return 0.0
        return self.best[1] / self.cell["seconds"] if self.best else np.inf

    @property
    def fraction(self) -> float:
        return self.floor / self.cell["seconds"] if self.cell["seconds"] else np.nan


def rows(table: Table, results: dict[str, Any]) -> Iterator[Row]:
    """The cells of a table that have been timed."""
    bandwidth = results["bandwidth"].get(str(table.threads), np.nan)
    for case in table.cases:
        for target in table.targets:
            cell = results["cells"].get(f"{case.key}|{table.threads}|{target:g}")
            if cell is not None:
                yield Row(case, target, cell, cell["bytes"] / bandwidth)


def milliseconds(seconds: float | None) -> str:
    return NEVER if seconds is None else f"{seconds * 1e3:.1f}"


def markdown(table: Table, results: dict[str, Any]) -> str:
    """The table, its mean and least ratio, and its slopes where it has some."""
    timed = list(rows(table, results))
    if not timed:
        return f"### {table.title}\n\nNothing timed yet."
    peers = list(dict.fromkeys(name for row in timed for name in row.cell["peers"]))
    head = ["problem", "target", "gapsvm ms", *peers, "best peer", "ratio", "floor ms", "reached"]
    lines = [f"### {table.title}", "", _line(head), _line(["---"] * len(head))]
    for row in timed:
        times = [milliseconds(row.cell["peers"].get(name)) for name in peers]
        best = row.best[0] if row.best else NEVER
        floor = [milliseconds(row.floor), f"{row.fraction:.0%}"]
        ours = milliseconds(row.cell["seconds"])
        ratio = f"{row.ratio:.2f}" if np.isfinite(row.ratio) else NEVER
        lines.append(
            _line([row.case.title, f"{row.target:.0e}", ours, *times, best, ratio, *floor])
        )
    return "\n".join([*lines, "", *_summary(timed), *(_slopes(timed) if table.slopes else ())])


def _line(entries: list[str]) -> str:
    return "| " + " | ".join(entries) + " |"


def _summary(timed: list[Row]) -> list[str]:
    met = [row for row in timed if 0 < row.ratio < np.inf]
    if not met:
        return ["No peer reached any of these targets."]
    least = min(met, key=lambda row: row.ratio)
    missed = [f"{row.case.title} to {row.target:.0e}" for row in timed if row.ratio == 0]
    ahead, ties, behind = verdicts(timed)
    alone = sum(row.ratio == np.inf for row in timed)
    text = (
        f"Best peer over gapsvm: geometric mean {geometric_mean([row.ratio for row in met]):.2f}, "
        f"least {least.ratio:.2f} ({least.case.title} to {least.target:.0e}). "
        f"Of {len(timed)} cells gapsvm is ahead in {ahead}, a tie (below 30 %) in {ties}, "
        f"behind in {behind}; in {alone} no peer arrives"
    )
    text += f"; gapsvm missed {', '.join(missed)}." if missed else "."
    return textwrap.wrap(text, 100)


def verdicts(timed: list[Row]) -> tuple[int, int, int]:
    """In how many cells gapsvm is ahead, level, behind."""
    ahead = sum(row.ratio >= TIE for row in timed)
    behind = sum(row.ratio <= 1 / TIE for row in timed)
    return ahead, len(timed) - ahead - behind, behind


def overview(results: dict[str, Any]) -> str:
    """A line for each table."""
    head = ["table", "cells", "geometric mean", "least", "ahead", "tie", "behind", "no peer"]
    lines = [_line(head), _line(["---"] * len(head))]
    for table in TABLES.values():
        timed = list(rows(table, results))
        ratios = [row.ratio for row in timed if 0 < row.ratio < np.inf]
        if ratios:
            means = [f"{geometric_mean(ratios):.2f}", f"{min(ratios):.2f}"]
            counts = [*verdicts(timed), sum(row.ratio == np.inf for row in timed)]
            lines.append(_line([table.title, str(len(timed)), *means, *map(str, counts)]))
    return "\n".join(lines)


def ratios(table: Table, results: dict[str, Any]) -> str:
    """A line for each problem: how many times faster than which peer, to each target."""
    cells: dict[str, list[str]] = {}
    for row in rows(table, results):
        best = f"{row.ratio:.2f} {row.best[0]}" if row.best else "no peer"
        cells.setdefault(row.case.title, []).append(best)
    head = ["problem, λ", *(f"to {target:.0e}".replace("e-0", "e-") for target in table.targets)]
    lines = [_line(head), _line(["---"] * len(head))]
    return "\n".join([*lines, *(_line([title, *best]) for title, best in cells.items())])


def slope(sizes: list[int], seconds: list[float]) -> float:
    """The power of n with which the time grows, by least squares in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _slopes(timed: list[Row]) -> Iterator[str]:
    for name in dict.fromkeys(row.case.name for row in timed):
        ours = [row for row in timed if row.case.name == name and row.cell["seconds"]]
        if len(ours) < 2:
            continue
        sizes = [row.case.rows for row in ours]
        yield ""
        yield f"{name}: time grows with n^{slope(sizes, [r.cell['seconds'] for r in ours]):.2f}" + (
            "".join(
                f", {peer} n^{slope(sizes, [r.cell['peers'][peer] for r in ours]):.2f}"
                for peer in ours[0].cell["peers"]
                if all(r.cell["peers"].get(peer) for r in ours)
            )
            + "."
        )


def proof(results: dict[str, Any]) -> str:
    """How near each peer came to P* wherever it was tried: they solve the same problem."""
    head = ["peer", "version", "problems", "reached 1e-3", "1e-4", "1e-6", "nearest P − P*"]
    lines = [_line(head), _line(["---"] * len(head))]
    tried: dict[str, list[dict[str, Any]]] = {}
    for found in results["settings"].values():
        for label, one in found.items():
            tried.setdefault(label, []).append(one)
    for label, all_of_it in tried.items():
        reached = []
        for target in ("0.001", "0.0001", "1e-06"):
            asked = [one["targets"][target] for one in all_of_it if target in one["targets"]]
            reached.append(f"{sum(one is not None for one in asked)} of {len(asked)}")
        version = next((one["version"] for one in all_of_it if one.get("version")), "")
        nearest = f"{min(one['nearest'] for one in all_of_it):.1e}"
        lines.append(_line([label, version, str(len(all_of_it)), *reached, nearest]))
    return "\n".join(lines)


def plots(tables: dict[str, Table], results: dict[str, Any], folder: Path) -> None:
    """Two pictures a table: the ratio of each cell, and the share of the bandwidth."""
    for name, table in tables.items():
        timed = list(rows(table, results))
        if timed:
            _draw(folder / f"peers-{name}-ratio.png", table, timed, "ratio")
            _draw(folder / f"peers-{name}-roofline.png", table, timed, "fraction")


def _draw(path: Path, table: Table, timed: list[Row], what: str) -> None:
    """A line a problem, a mark a target; thin lines go from the best peer to the second best."""
    titles = list(dict.fromkeys(row.case.title for row in timed))[::-1]
    label, words = {
        "ratio": ("time of the best peer / time of gapsvm", "Beside the best peer"),
        "fraction": ("share of the triad bandwidth that gapsvm reached", "Memory bandwidth"),
    }[what]
    with drawing(path, 8.0, 2.0 + 0.27 * len(titles)) as figure:
        axes = figure.add_subplot()
        finite = [getattr(row, what) for row in timed if 0 < getattr(row, what) < np.inf]
        edge = max([*finite, 1.0]) * 1.3
        targets = sorted({row.target for row in timed}, reverse=True)
        if what == "ratio":
            axes.axvspan(1 / TIE, TIE, color=GREY, alpha=0.2, lw=0, label="a tie")
        for shift, target, colour, marker in zip((0.2, 0.0, -0.2), targets, COLOURS, "osD"):
            mine = [row for row in timed if row.target == target and getattr(row, what) > 0]
            values = np.array([getattr(row, what) for row in mine])
            places = np.array([titles.index(row.case.title) for row in mine]) + shift
            inside = np.isfinite(values)
            look: dict[str, Any] = {"color": colour, "marker": marker, "ls": "", "ms": 5}
            name = f"to {short(target)} of P(0)"
            axes.plot(values[inside], places[inside], label=name, **look)
            axes.plot(np.full((~inside).sum(), edge), places[~inside], mfc="none", **look)
            if what == "ratio":
                for row, place in zip(mine, places):
                    ends = _two_best(row)
                    axes.plot(ends, [place] * len(ends), color=colour, lw=1.0, alpha=0.5)
        axes.set_xscale("log")
        axes.axvline(1.0, color=GREY, linewidth=1)
        axes.set_yticks(range(len(titles)), [_named(title) for title in titles])
        axes.set_ylim(-0.6, len(titles) - 0.4)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(lambda x, _: f"{x:g}" if f"{x:g}"[-1] in "25" else "")
        rings = "; ring: no peer arrived" if np.inf in [getattr(r, what) for r in timed] else ""
        axes.set_xlabel(label + rings)
        axes.set_title(table.title, fontsize=10)
        figure.suptitle(words, x=0.01, ha="left")
        figure.legend(loc="outside lower center", ncols=4, fontsize=9)


COLOURS = (BLUE, GREEN, ORANGE)


def _two_best(row: Row) -> list[float]:
    """The two best peers' times over gapsvm's: how far the best is by itself."""
    times = sorted(t for t in row.cell["peers"].values() if t is not None)
    return [t / row.cell["seconds"] for t in times[:2]]


def _named(title: str) -> str:
    """A problem with its λ in the notation of all figures."""
    head, *rest = title.split(", ")
    name, _, lam = head.rpartition(" ")
    return ", ".join([name, f"λ = {short(float(lam))}", *rest])


def write_pages(folder: Path, results: dict[str, Any]) -> None:
    """Every table that has been timed into ``results-peers.md``, its sums into ``README.md``."""
    bandwidth = ", ".join(
        f"{float(value) / 1e9:.1f} GB/s with {threads} thread{'s' if threads != '1' else ''}"
        for threads, value in results["bandwidth"].items()
    )
    parts = [
        f"{results.get('versions', 'Nothing timed yet')}; triad {bandwidth or 'not measured'}.",
        *(markdown(t, results) for t in TABLES.values() if any(rows(t, results))),
        "### The same minimum",
        "Problems on which a setting was found, and the least P − P* of all sweeps, which end "
        "when\nthe tightest target is met. A negative one would disprove P*.",
        proof(results),
    ]
    _put(folder / "results-peers.md", "peers", "\n\n".join(parts))
    _put(folder / "README.md", "overview", overview(results))
    _put(folder / "README.md", "ratios", ratios(TABLES["linear"], results))


def _put(path: Path, name: str, body: str) -> None:
    """Between the two marks of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    path.write_text(f"{before}{begin}\n{body}\n{end}{after}", encoding="utf-8")
