"""Things in messages."""

from __future__ import annotations

from typing import Any

_LONGEST = 60


def shown(thing: Any) -> str:
    """What an object looks like, on one line, cut short."""
    text = " ".join(repr(thing).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
