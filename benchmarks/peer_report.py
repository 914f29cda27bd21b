"""What ``peers.py`` prints and draws: tables, slopes, the ratio of each cell, the roofline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import geometric_mean
from benchmarks.peer_cases import TABLES, PeerCase, Table
from gapsvm.reproduce.style import BLUE, GREEN, GREY, ORANGE, drawing

BEGIN, END = "<!-- peers: begin -->", "<!-- peers: end -->"
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
    alone = sum(row.ratio == np.inf for row in timed)
    text = (
        f"Best peer over gapsvm: geometric mean {geometric_mean([row.ratio for row in met]):.2f}, "
        f"least {least.ratio:.2f} ({least.case.title} to {least.target:.0e}), "
        f"below 1 in {sum(row.ratio < 1 for row in met)} of {len(timed)} cells"
    )
    text += f"; {alone} more that no peer reached" if alone else ""
    return [text + (f"; gapsvm missed {', '.join(missed)}." if missed else ".")]


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
    titles = list(dict.fromkeys(row.case.title for row in timed))[::-1]
    label = {
        "ratio": "time of the best peer / time of gapsvm (ring: no peer arrived)",
        "fraction": "share of the triad bandwidth that gapsvm reached",
    }[what]
    with drawing(path, 7.5, 1.6 + 0.27 * len(titles)) as figure:
        axes = figure.add_subplot()
        finite = [getattr(row, what) for row in timed if 0 < getattr(row, what) < np.inf]
        edge = max([*finite, 1.0]) * 1.3
        targets = sorted({row.target for row in timed}, reverse=True)
        for target, colour, marker in zip(targets, (BLUE, GREEN, ORANGE), "osD"):
            mine = [row for row in timed if row.target == target and getattr(row, what) > 0]
            values = np.array([getattr(row, what) for row in mine])
            places = np.array([titles.index(row.case.title) for row in mine])
            inside = np.isfinite(values)
            axes.plot(
                values[inside], places[inside], marker, color=colour, label=f"to {target:.0e}", ms=6
            )
            axes.plot(
                np.full((~inside).sum(), edge), places[~inside], marker, color=colour, mfc="none"
            )
        axes.set_xscale("log")
        axes.axvline(1.0, color=GREY, linewidth=1)
        axes.set_yticks(range(len(titles)), titles)
        axes.set_ylim(-0.6, len(titles) - 0.4)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(lambda x, _: f"{x:g}" if f"{x:g}"[-1] in "25" else "")
        axes.set_xlabel(label)
        axes.set_title(table.title)
        figure.legend(loc="outside lower center", ncols=len(targets))


def write_readme(path: Path, results: dict[str, Any]) -> None:
    """Put every table that has been timed between the two marks of the page."""
    page = path.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    bandwidth = ", ".join(
        f"{float(value) / 1e9:.1f} GB/s with {threads} thread{'s' if threads != '1' else ''}"
        for threads, value in results["bandwidth"].items()
    )
    parts = [
        f"{results.get('versions', 'Nothing timed yet')}; triad {bandwidth or 'not measured'}.",
        *(markdown(t, results) for t in TABLES.values() if any(rows(t, results))),
        "### The same minimum",
        "Problems on which a setting was found, and the least P − P* of all sweeps, which end when "
        "the tightest target is met.  A negative one would disprove P*.",
        proof(results),
    ]
    body = "\n\n".join(parts)
    path.write_text(f"{before}{BEGIN}\n{body}\n{END}{after}", encoding="utf-8")
