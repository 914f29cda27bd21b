"""Where predictions go, whatever predicted them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gapsvm.cli.files import write_text
from gapsvm.cli.output import print_data, print_json, say


def hand_out(
    lines: list[str], quality: dict[str, float], output: Path | None, as_json: bool
) -> None:
    """Write what was predicted, and say how good it is."""
    text = "\n".join(lines) + "\n"
    if output is not None:
        write_text(output, text)
    elif not as_json:
        print_data(text)
    if as_json:
        print_json({"rows": len(lines), **quality})
    else:
        said = ", ".join(f"{name} {value:.6g}" for name, value in quality.items())
        said = said or "nothing to compare with"
        say(f"{len(lines):,} rows: {said}", error=True)


def shown_label(label: Any) -> str:
    """A label as it is written in files: 1 rather than 1.0."""
    whole = isinstance(label, float) and label.is_integer() and abs(label) < 1e15
    return str(int(label)) if whole else str(label)
