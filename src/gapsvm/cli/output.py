"""What the commands say, and where."""

from __future__ import annotations

import sys
from collections.abc import Iterable


def note(sentences: Iterable[str]) -> None:
    """What one should know but need not act on, on standard error."""
    for sentence in sentences:
        print(f"gapsvm: note: {' '.join(sentence.split())}", file=sys.stderr)
