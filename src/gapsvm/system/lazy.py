"""Modules that are imported when they are first used: SciPy's take a fifth of a second, which
listings, and fits of small data, do without."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Stands for a module until one of its names is asked for.

    Parameters
    ----------
    name : str
        As an import statement has it.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self._name), attribute)
        self.__dict__[attribute] = found
        return found


sparse: Any = LazyModule("scipy.sparse")
linalg: Any = LazyModule("scipy.linalg")
lapack: Any = LazyModule("scipy.linalg.lapack")
