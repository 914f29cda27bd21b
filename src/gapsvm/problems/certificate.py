"""What is proved about a point, whatever the problem."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapsvm.registry.storable import storable


@storable
@dataclass(frozen=True)
class Certificate:
    """What is proved about an iterate: primal − P* ≤ gap.

    ``solution`` is what the proof is about (for a linear problem the weights, the bias and α).
    """

    primal: float
    dual: float
    solution: Any = field(default=None, repr=False, compare=False)

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.primal) and math.isfinite(self.dual)


def check_point(name: str, array: Any, shape: tuple[int, ...]) -> None:
    """A part of a point to certify; None stands for what follows from the others.

    Kernels trust the lengths of what they read.
    """
    if array is not None and np.shape(array) != shape:
        raise ValueError(f"{name} has shape {np.shape(array)}, but the problem needs {shape}")
