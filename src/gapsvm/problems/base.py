"""What a problem owes to the loop, to plans and to checkpoints."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

from gapsvm.backends import Backend
from gapsvm.problems.certificate import Certificate

Point = TypeVar("Point", contravariant=True)


class Problem(Protocol[Point]):
    """What can be certified, at a ``Point``: an iterate of its own kind."""

    @property
    def n_rows(self) -> int:
        """Rows visited by one pass."""

    @property
    def slice_rows(self) -> int:
        """Rows whose visit takes some hundredths of a second: the grain of control."""

    @property
    def primal_at_zero(self) -> float:
        """P₀: the objective of the zero model; tolerances are relative to it."""

    def certify(self, iterate: Point, backend: Backend) -> Certificate:
        """Primal value, lower bound and the point they belong to; nothing that was handed in is
        trusted."""

    def fingerprint(self) -> dict[str, Any]:
        """What tells it from other problems, as JSON can hold it; under "labels" a hash of y."""


@runtime_checkable
class KnowsZero(Protocol):
    """A problem whose zero model is known beforehand: no fit of it ends with anything worse."""

    @property
    def primal_at_zero(self) -> float:
        """P₀, the gap of the zero model."""

    def at_zero(self) -> Certificate:
        """The certificate of the zero model."""

    def joined(self, primal: Certificate, dual: Certificate) -> Certificate:
        """The primal point of one and the dual point of the other."""
