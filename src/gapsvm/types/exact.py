"""What belongs together in exact solutions of small problems (``gapsvm.solvers.newton.exact``)."""

from __future__ import annotations

from typing import Any, NamedTuple

GAP, SINCE, STEPS, ENDED = range(4)
"""Places of ``Best.ledger``: the least certified gap, steps since it fell by a tenth or more, steps
in all, and whether further ones are of no use."""
LEDGER = 4


class SmallRows(NamedTuple):
    """A small problem, its rows feature by feature."""

    columns: Any
    """d × n or wider, so that every feature begins at a cache line; each of mean 0 where the bias
    is free, so that the bias takes no digits from w."""
    sign: Any
    t: Any
    weight: Any
    scale: float
    """λS."""
    total: float
    """S."""
    free: bool
    """Whether there is a bias."""


class BoxPoint(NamedTuple):
    """A point of the interior: (w, b), and for p and, where α may be negative, m a row each."""

    w: Any
    """d + 1 numbers; the last one is b."""
    u: Any
    slack: Any
    """U − u."""
    zeta: Any
    upsilon: Any
    residual: Any
    """ε − e·t + e·z, moved along with z: as a difference of z it would lose the last digits."""


class Best(NamedTuple):
    """What has the least certified gap."""

    w: Any
    alpha: Any
    ledger: Any


class Limits(NamedTuple):
    """Where steps end, and the sizes by which they are judged."""

    steps: int
    """So many more at most."""
    gap: float
    """The certified gap that is enough."""
    zero: float
    """P₀."""
    size: float
    """Of targets: what multipliers are compared with."""
    bend: float
    """A bound of φ″; 0 where φ has kinks."""


def most_free(d: int) -> int:
    """How many rows off their bounds may make a face; more than d + 1 of them are copies."""
    return 2 * d + 16


class ExactRoom(NamedTuple):
    """Room of compiled steps; those in NumPy need none."""

    by_u: Any
    """1/u and, beside it, 1/(U − u), ..."""
    by_slack: Any
    softness: Any
    """... 1/B, ..."""
    lower: Any
    upper: Any
    """... what products are to be, and ..."""
    du: Any
    kept_lower: Any
    """... the same three of the best step so far."""
    kept_upper: Any
    kept_du: Any
    omega: Any
    c: Any
    dz: Any
    kept_dz: Any
    alpha: Any
    z: Any
    mean: Any
    """Of features: m, dw, that of the best step, and Xᵀc; one more for the bias."""
    dw: Any
    kept_dw: Any
    own: Any
    matrix: Any
    tile: Any
    """Features of some rows, in the cache."""
    face: Any
    """The equations of the rows on their kinks, three right-hand sides, and their features."""
    aims: Any
    members: Any
    order: Any
    """Which rows these are."""
