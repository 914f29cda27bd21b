"""What a loss is: a name, what it looks at, and a curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from gapsvm.types.curves import FiveNumbers, Logit


@runtime_checkable
class Curve(Protocol):
    """φ with its conjugate and its dual step, in NumPy; a NamedTuple of numbers.

    Everything is elementwise in z, t, a and q.  ``compiled`` names the module of the same functions
    for compiled loops (docs/extending.md); it is imported when such a loop first meets the curve.
    """

    @staticmethod
    def compiled() -> str:
        """The module of the compiled functions."""

    def needs(self) -> str:
        """What its numbers must be and are not; empty if they make a convex φ, 0 ∈ [lo, hi]."""

    @property
    def lo(self) -> float:
        """The least a with a finite conjugate, ..."""

    @property
    def hi(self) -> float:
        """... and the largest."""

    @property
    def largest_slope(self) -> float:
        """A bound on |φ′|; infinite if there is none."""

    def slope_within(self, reach: float, t: float) -> float:
        """A bound on |φ′(z)| for |z| ≤ reach and targets of at most |t|."""

    def maximiser(self, z: Any, t: Any) -> Any:
        """a*(z) = argmax_a −z·a − φ*(−a); minus a subgradient of φ at z."""

    def value(self, z: Any, t: Any) -> Any:
        """φ(z)."""

    def conjugate(self, a: Any, t: Any) -> Any:
        """φ*(−a), infinite outside [lo, hi]."""

    def dual_step(self, a: Any, z: Any, t: Any, q: Any) -> Any:
        """The a⁺ that maximises −φ*(−a⁺) − z(a⁺ − a) − (q/2)(a⁺ − a)²."""

    def is_free(self, a: Any) -> Any:
        """Whether a is at no bound and no kink, so that it follows z wherever that goes."""

    def violation(self, a: Any, z: Any, t: Any) -> Any:
        """How far a is from optimal at z, as a derivative of the dual; negative: held."""


@dataclass(frozen=True)
class Loss:
    """A loss: its name, what it looks at, and its curve.

    Parameters
    ----------
    name : str
        What messages and model files call it.
    kind : "margin" or "response"
        Margin losses look at z = y⟨x, w⟩ with t = 1; response losses at z = ⟨x, w⟩ with t = y.
    curve : Curve
        φ, its subgradient, its conjugate and its dual step.
    """

    name: str
    kind: Literal["margin", "response"]
    curve: Curve

    def __post_init__(self) -> None:
        if self.kind not in ("margin", "response"):
            raise ValueError(f"loss {self.name!r}: kind is margin or response, not {self.kind!r}")
        curve: Any = self.curve  # whatever a user gave
        if not isinstance(curve, FiveNumbers | Logit) and not isinstance(curve, Curve):
            missing = [
                name for name in dir(Curve) if name[0] != "_" and not hasattr(self.curve, name)
            ]
            raise TypeError(f"the curve of loss {self.name!r} lacks {', '.join(missing)}")
        if curve.needs():
            raise ValueError(f"loss {self.name!r} needs {curve.needs()}: {curve}")
