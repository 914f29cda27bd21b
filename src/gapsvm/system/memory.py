"""How much memory there is, and what cannot fit into it."""

from __future__ import annotations

import os

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")

TOO_WIDE = "number the columns that hold something without gaps, or hash them into fewer"
"""What helps where there are more columns than there can be weights."""


def physical_memory() -> int | None:
    """Bytes of memory of this machine, where the system says."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def check_vector(length: int, what: str, advice: str) -> None:
    """Raise a MemoryError, in a sentence, if so many numbers cannot be held at once.

    Asking the system would not do: it promises memory that it does not have.
    """
    found = physical_memory()
    if found is not None and 8 * length > found:
        raise MemoryError(
            f"{what}: one number for each takes {in_units(8 * length)}, and this machine has "
            f"{in_units(found)} of memory; {advice}"
        )


def in_units(size: int) -> str:
    """A number of bytes as a person reads it."""
    number, unit = float(size), 0
    while number >= 1000 and unit + 1 < len(_UNITS):
        number, unit = number / 1000, unit + 1
    return f"{number:.3g} {_UNITS[unit]}"
