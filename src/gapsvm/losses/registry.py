"""Every loss by name.

The family is one table; any other loss is a module of this package with a ``LOSS`` = (name, what
makes it, a few words).  A loss of a user's own is an object, or is added with ``LOSSES.add``.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import gapsvm.losses
from gapsvm.losses.base import Loss
from gapsvm.losses.family import FAMILY
from gapsvm.registry import Registry, parsed

LOSSES: Registry[Loss] = Registry("loss")

for _name, (_maker, _summary) in FAMILY.items():
    LOSSES.add(_name, _maker, _summary)
for _module in pkgutil.iter_modules(gapsvm.losses.__path__, "gapsvm.losses."):
    if _module.name != __name__:
        _found = getattr(importlib.import_module(_module.name), "LOSS", None)
        if _found is not None:
            LOSSES.add(*_found)


def get_loss(spec: str | Loss, **parameters: Any) -> Loss:
    """The loss that a name or a spec describes; a loss is itself.

    Parameters
    ----------
    spec : str or Loss
        A name of ``LOSSES``, or a spec such as ``huber(delta=2)``.
    **parameters
        Used where the spec says nothing.
    """
    if isinstance(spec, Loss):
        if parameters:
            raise ValueError(
                f"{spec.name!r} is a loss already; it takes no {', '.join(parameters)}"
            )
        return spec
    if not isinstance(spec, str):
        raise TypeError(f"a loss is a name or a gapsvm.Loss, not {type(spec).__name__}")
    return LOSSES.make(spec, **parameters)


def loss_with(spec: str | Loss, name: str, value: Any, *, unset: Any) -> Loss:
    """The loss of a spec with one parameter given beside it; ``unset``: nobody gave one.

    A value that would change nothing is refused.
    """
    if isinstance(spec, str):
        base, given = parsed(spec, LOSSES.kind)
        if name in LOSSES[base].parameters and name not in given:
            return LOSSES.make(spec, **{name: value})
    loss = get_loss(spec)
    if value != unset:
        raise ValueError(f"{name}={value!r} changes nothing: loss {spec!r} leaves none open")
    return loss
