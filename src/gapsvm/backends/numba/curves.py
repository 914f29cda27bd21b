"""What compiled loops ask of a loss's curve: the same names for every curve.

A curve is a NamedTuple, and ``curve.compiled()`` names the module of its compiled functions, plain
Python functions with the names and arguments below.  The module is imported when a loop is compiled
for the curve's type; what it lacks, of the functions that have a body below, follows from others.
``gapsvm.types.curves`` is the definition that they are tested by.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from numba.core.errors import TypingError
from numba.extending import overload

_INLINE = {"forceinline": True}


def maximiser(curve, z, t):
    """a*(z), minus a subgradient of φ at z."""


def value_and_conjugate(curve, z, a, t):
    """φ(z) and φ*(−a); the latter is infinite outside [lo, hi]."""


def row_step(curve, a, z, t, q):
    """What SDCA wants of a row: how far a is from optimal, and the exact new a.

    The former is the violation of the dual derivative at a; negative: the slack of an a that is
    held, whose step is none.
    """


def fenchel_gap(curve, z, a, t):
    """φ(z) + φ*(−a) + a·z, what the row adds to the duality gap."""
    value, conjugate = value_and_conjugate(curve, z, a, t)
    return value + conjugate + a * z


def batch_step(curve, a, z, t, q):
    """The new a of ``row_step``; of most use without branches on what a row brings: guesses cost.

    What differs from a by rounding alone is best a.
    """
    return row_step(curve, a, z, t, q)[1]


def is_free(curve, a):
    """Whether a is at no bound and no kink, so that it follows z wherever that goes."""
    return True


def bend(curve, z, t):
    """φ″(z), one side's where the two differ."""


def _compiled(curve: Any, function: Callable[..., Any], needed: bool = False) -> Callable[..., Any]:
    """The curve's own function of that name."""
    kind, name = getattr(curve, "instance_class", None), function.__name__
    if not hasattr(kind, "compiled"):
        raise TypingError(f"a curve is a NamedTuple with a method compiled(), not {curve}")
    module = importlib.import_module(kind.compiled())
    if needed and not hasattr(module, name):
        raise TypingError(f"{module.__name__} lacks {name}, which this method needs")
    own: Callable[..., Any] = getattr(module, name, function)
    return own


@overload(maximiser, jit_options=_INLINE)
def _maximiser(curve, z, t):
    return _compiled(curve, maximiser, needed=True)


@overload(value_and_conjugate, jit_options=_INLINE)
def _value_and_conjugate(curve, z, a, t):
    return _compiled(curve, value_and_conjugate, needed=True)


@overload(row_step, jit_options=_INLINE)
def _row_step(curve, a, z, t, q):
    return _compiled(curve, row_step, needed=True)


@overload(fenchel_gap, jit_options=_INLINE)
def _fenchel_gap(curve, z, a, t):
    return _compiled(curve, fenchel_gap)


@overload(batch_step, jit_options=_INLINE)
def _batch_step(curve, a, z, t, q):
    return _compiled(curve, batch_step)


@overload(is_free, jit_options=_INLINE)
def _is_free(curve, a):
    return _compiled(curve, is_free)


@overload(bend, jit_options=_INLINE)
def _bend(curve, z, t):
    return _compiled(curve, bend, needed=True)
