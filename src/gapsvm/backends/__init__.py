"""Backends: the same short list of functions over arrays, slow and obvious or compiled.

``reference`` is NumPy and the oracle of the tests; ``cpu`` is Numba and what users run.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import Any

from gapsvm.system.cores import at_most_cores

_MODULES = {
    "cpu": "gapsvm.backends.numba.functions",
    "reference": "gapsvm.backends.reference.functions",
}


@dataclass(frozen=True)
class Backend:
    """Functions by name; one that a backend lacks becomes a sentence."""

    name: str
    path: str
    """Of the module that has them; it is imported when the first one is asked for."""
    threads: int = 1
    """Parts that are at work at once; as many threads, where there are as many cores."""

    @cached_property
    def module(self) -> ModuleType:
        return importlib.import_module(self.path)

    def map(self, function: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        """``function`` of every part, in order, on all threads: what it calls holds no lock."""
        if self.threads == 1 or len(parts) == 1:
            return [function(part) for part in parts]
        return list(_pool(at_most_cores(self.threads), os.getpid()).map(function, parts))

    def __getattr__(self, function: str) -> Callable[..., Any]:
        if function.startswith("__"):
            raise AttributeError(function)
        try:
            return getattr(self.module, function)
        except AttributeError:
            raise NotImplementedError(
                f"backend {self.name!r} has no {function}; "
                f"add it to {self.path} or use another of {', '.join(_MODULES)}"
            ) from None


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Threads that wait for work, which costs less than new ones; a forked child has its own."""
    return ThreadPoolExecutor(threads, thread_name_prefix="gapsvm")


def get_backend(name: str | Backend = "cpu", threads: int = 1) -> Backend:
    """The backend of that name."""
    if isinstance(name, Backend):
        return name
    if name not in _MODULES:
        raise ValueError(f"unknown backend {name!r}; choose one of {', '.join(_MODULES)}")
    return Backend(name, _MODULES[name], threads)
