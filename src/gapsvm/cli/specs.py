"""What the words of ``--bias`` mean."""

from __future__ import annotations

from typing import Any, cast, get_args

from gapsvm.problems.linear import Bias
from gapsvm.registry import parsed


def bias_of(spec: str) -> tuple[Bias, float]:
    """How the intercept is treated, and the value of the constant feature of a penalised one."""
    name, given = parsed(spec, "bias")
    if name not in get_args(Bias):
        raise ValueError(f"--bias is free, penalized or none, not {spec!r}")
    scale: Any = given.pop("scale", 1.0)
    if given or (name != "penalized" and "scale" in spec):
        raise ValueError(f"--bias {spec!r}: only penalized has a parameter, penalized(scale=2)")
    if not isinstance(scale, int | float) or not 0 < scale < float("inf"):
        raise ValueError(f"--bias {spec!r}: scale must be a positive number")
    return cast(Bias, name), float(scale)
