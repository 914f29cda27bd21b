"""What a problem owes to the loop, to plans and to checkpoints."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any, Protocol, TypeGuard, TypeVar, runtime_checkable

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

    def certify(self, iterate: Point, backend: Backend) -> Certificate:
        """Primal value, lower bound and the point they belong to; nothing that was handed in is
        trusted."""


class Scaled(Problem[Point], Protocol[Point]):
    """A problem with a scale for its gaps, as plans ask for it."""

    @property
    def primal_at_zero(self) -> float:
        """P₀: the objective of the zero model; tolerances are relative to it."""


class Regularised(Problem[Point], Protocol[Point]):
    """P(w) = R(w) + (λ/2)‖w‖²."""

    @property
    def lam(self) -> float:
        """λ."""


class Smooth(Regularised[Point], Protocol[Point]):
    """... with a gradient everywhere."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of w."""

    @property
    def primal_at_zero(self) -> float:
        """P₀."""

    def value_and_gradient(self, w: Any, backend: Backend) -> tuple[float, Any]:
        """P(w) and ∇P(w)."""

    def lower_bound(self, w: Any, value: float, gradient: Any) -> float:
        """P(w) − ‖∇P(w)‖²/(2λ), less what rounding may have added; −∞ where that is not finite."""

    def rounding(self, w: Any, value: float, gradient: Any, distance: float) -> float:
        """By how much P(w) + ⟨∇P(w), v − w⟩ may be too high, v so far from w, as it is computed."""


class Fingerprinted(Protocol):
    """A problem whose fits can be saved and resumed."""

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


@cache
def _kind_knows_zero(kind: Hashable) -> bool:
    return all(hasattr(kind, name) for name in ("primal_at_zero", "at_zero", "joined"))


def knows_zero(problem: Any) -> TypeGuard[KnowsZero]:
    """Whether a problem is a ``KnowsZero``: asked of its class first, once, since the question to a
    protocol costs as much as a step of a small fit."""
    kind: Any = type(problem)
    return _kind_knows_zero(kind) or isinstance(problem, KnowsZero)
