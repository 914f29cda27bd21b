"""Backends: the same short list of functions over arrays, slow and obvious or compiled.

``reference`` is NumPy and the oracle of the tests; ``cpu`` is Numba and what users run.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

_MODULES = {"cpu": "gapsvm.backends.cpu.functions", "reference": "gapsvm.backends.reference"}


@dataclass(frozen=True)
class Backend:
    """Functions by name; one that a backend lacks becomes a sentence."""

    name: str
    module: ModuleType

    def __getattr__(self, function: str) -> Callable[..., Any]:
        if function.startswith("__"):
            raise AttributeError(function)
        try:
            return getattr(self.module, function)
        except AttributeError:
            raise NotImplementedError(
                f"backend {self.name!r} has no {function}; "
                f"add it to {self.module.__name__} or use another of {', '.join(_MODULES)}"
            ) from None


def get_backend(name: str | Backend = "cpu") -> Backend:
    """The backend of that name; its module is imported on first use."""
    if isinstance(name, Backend):
        return name
    if name not in _MODULES:
        raise ValueError(f"unknown backend {name!r}; choose one of {', '.join(_MODULES)}")
    return Backend(name, importlib.import_module(_MODULES[name]))
