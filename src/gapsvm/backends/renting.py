"""Whether to wait for compiled loops, where NumPy does the same work without a wait.

Compiled loops have a price: half a second to load them from disk, some to compile them.  NumPy's
are there at once, and slower.  So a process takes NumPy's until what it has spent on them, and is
about to, comes to the price: who rents until the rent equals the price pays at most twice what the
better way would have cost, whatever comes.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gapsvm.backends.kept_in import kept_at_first

_LOADING, _MORE, _COMPILING = 0.7, 0.1, 10.0
"""Seconds: Numba and a few kernels from disk; a few more kernels; the same compiled, ..."""
_OTHERS = {"text": 4.0}
"""... but for these."""
_spent = 0.0


def wait(module: str, kernel: str) -> float:
    """Seconds until a kernel of ``gapsvm.backends.numba`` could run."""
    loaded = sys.modules.get(f"gapsvm.backends.numba.{module}")
    # Another thread may be half-way through the import: the kernel is not there then.
    if getattr(getattr(loaded, kernel, None), "overloads", None):
        return 0.0
    if kernel in kept_at_first():
        return _LOADING if loaded is None else _MORE
    return _OTHERS.get(module, _COMPILING)


def is_due(module: str, kernel: str, seconds: float) -> bool:
    """Whether to get the kernel, rather than spend so many seconds on NumPy's."""
    return _spent + seconds >= wait(module, kernel)


def settle() -> None:
    """Compiled loops are worth any wait from here on."""
    global _spent
    _spent = math.inf


@contextmanager
def rented() -> Iterator[None]:
    """Around work that NumPy does in the place of compiled loops."""
    global _spent
    before = time.perf_counter()
    yield
    _spent += time.perf_counter() - before
