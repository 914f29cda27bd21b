"""Dataclasses that a file may hold: checkpoints are made of these and of nothing else."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

C = TypeVar("C", bound=type)

STORABLE: dict[str, type] = {}
"""By the name that stands in files."""


def storable(cls: C) -> C:
    """Declare that a dataclass may stand in a checkpoint, field by field.

    Reading one calls the class with its fields, so a class that acts when it is made must not be
    declared.  Solvers, their states, iterates and results are.
    """
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"{cls.__name__} is no dataclass; put @storable above @dataclass")
    known = STORABLE.setdefault(cls.__name__, cls)
    if known is not cls and (known.__module__, known.__qualname__) != (
        cls.__module__,
        cls.__qualname__,
    ):
        raise ValueError(f"there is a storable {cls.__name__} already, in {known.__module__}")
    STORABLE[cls.__name__] = cls
    return cls
