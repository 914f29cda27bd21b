"""Draws which package imports which, into docs/architecture.md: ``python docs/import_graph.py``.

``python docs/import_graph.py --check`` changes nothing and says whether the picture is current.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, PAGE = ROOT / "src" / "gapsvm", ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- import graph: begin -->", "<!-- import graph: end -->"


def room(module: str) -> str:
    """``gapsvm.solvers.sdca.serial`` lies in the room ``solvers``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def edges() -> set[tuple[str, str]]:
    """(who, whom) for every import between rooms, at the top of a file or inside a function."""
    rooms = {path.stem if path.is_file() else path.name for path in PACKAGE.iterdir()}
    found = set()
    for path in PACKAGE.rglob("*.py"):
        here = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            found |= {(here, room(name)) for name in names if name.startswith("gapsvm.")}
    return {(a, b) for a, b in found if a != b and {a, b} <= rooms and not a.startswith("__")}


def without_shortcuts(found: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The edges that no longer way says already."""
    below: dict[str, set[str]] = {}

    def reach(room: str) -> set[str]:
        if room not in below:
            below[room] = set()
            for a, b in found:
                if a == room:
                    below[room] |= {b} | reach(b)
        return below[room]

    return {
        (a, b) for a, b in found if not any(b in reach(c) for x, c in found if x == a and c != b)
    }


def drawn() -> str:
    lines = [f"    {a} --> {b}" for a, b in sorted(without_shortcuts(edges()))]
    return "\n".join([BEGIN, "```mermaid", "flowchart TD", *lines, "```", END])


def main() -> int:
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    fresh = before + drawn() + after
    if "--check" in sys.argv:
        if fresh != text:
            print("docs/architecture.md is stale; run python docs/import_graph.py")
        return int(fresh != text)
    PAGE.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
