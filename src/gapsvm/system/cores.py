"""How many cores there are to use."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Those that the system lets this process run on, which may be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def at_most_cores(threads: int) -> int:
    """So many threads, but no more than there are cores: the others would only wait, and fill
    memory."""
    return min(threads, usable_cores())
