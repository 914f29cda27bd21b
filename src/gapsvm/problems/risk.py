"""A convex risk with an oracle: P(w) = R(w) + (λ/2)‖w‖², where R is known by asking.

At a w the oracle gives R(w) and one subgradient a, and with them a cut,

    R(v) ≥ ⟨a, v⟩ + b     for all v,     b = R(w) − ⟨a, w⟩,

so that a convex combination (a, b) of cuts proves P* ≥ min_v [⟨a, v⟩ + b + (λ/2)‖v‖²], which is
b − ‖a‖²/(2λ).
What is proved by this is as true as the oracle: ``gapsvm.check_oracle`` looks for mistakes.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.problems.certificate import Certificate
from gapsvm.problems.limits import ULPS, check_lam
from gapsvm.registry.storable import storable

_ROUNDING = 1e-8
"""Share of the numbers compared by which a lower bound may exceed a value."""


class OracleError(ValueError):
    """An oracle whose answer makes no sense, or contradicts an earlier one."""


@storable
@dataclass(frozen=True)
class Cut:
    """⟨slope, v⟩ + offset ≤ R(v) for all v."""

    slope: Any
    offset: float
    witness: Any = None
    """A dual point of the problem that proves it, in a form that the risk knows."""

    @property
    def n_bytes(self) -> int:
        """Memory of its arrays."""
        parts = [self.slope, self.witness, *getattr(self.witness, "__dict__", {}).values()]
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


@dataclass(frozen=True)
class Answer:
    """What is known of R at a point."""

    value: float
    cut: Cut
    """Equal to R there."""
    bias: float = 0.0
    """Where R is a minimum over a bias: the one that attains it."""


class Risk(Protocol):
    """A convex R as bundle methods see it: weights are one vector, dual points travel in cuts."""

    @property
    def size(self) -> int:
        """Numbers in w."""

    @property
    def floor(self) -> float:
        """R ≥ floor everywhere; −inf where no such number is known."""

    def ask(self, w: Any, backend: Backend) -> Answer:
        """R(w) and a cut that is exact there."""

    def floor_cut(self) -> Cut:
        """⟨0, v⟩ + floor."""

    def merged(self, cuts: Sequence[Cut], shares: Any) -> Cut:
        """A convex combination of cuts."""

    def iterate(self, w: Any, bias: float, cut: Cut | None) -> Any:
        """A primal point and the dual one behind a cut, as the problem certifies them."""

    def start(self, iterate: Any, backend: Backend) -> Any:
        """The weights of an iterate of the problem, as one vector."""

    def known(self, iterate: Any, backend: Backend) -> Cut | None:
        """The cut that the dual point of an iterate proves, if it has one."""


def combined(cuts: Sequence[Cut], shares: Any) -> Cut:
    """Slopes and offsets combined; a witness is the business of who made it."""
    slope = np.zeros_like(cuts[0].slope)
    for cut, share in zip(cuts, shares):
        if share > 0:
            slope += share * cut.slope
    return Cut(slope, float(sum(share * cut.offset for cut, share in zip(cuts, shares))))


def refuse_contradiction(lower: float, value: float, where: str) -> None:
    """Cuts above a value: R is not convex, or a subgradient is none."""
    if lower - value > _ROUNDING * (abs(lower) + abs(value)):
        raise OracleError(
            f"the lower bound {lower:.9g} exceeds the value {value:.9g} {where}: the risk is not "
            "convex, or a subgradient of it is wrong; gapsvm.check_oracle looks for where"
        )


@storable
@dataclass(frozen=True)
class RiskIterate:
    """Weights, the bias that the oracle found for them, and a cut (slope, offset) for the bound."""

    w: Any
    bias: float = 0.0
    slope: Any = None
    offset: float = -math.inf

    @property
    def primal_part(self) -> RiskIterate:
        """The same without the cut."""
        return replace(self, slope=None, offset=-math.inf)


class CutProblem(ABC):
    """Minimise R(w) + (λ/2)‖w‖² for a convex R that cuts alone say something of.

    Parameters
    ----------
    lam : float
        λ > 0.
    n_features : int
        Numbers in w.
    floor : float
        A number that R never goes below; −inf where there is none.
    n_examples : int
        Rows that one evaluation visits, to count passes.
    """

    default_method = "level-bundle"

    def __init__(self, lam: float, n_features: int, floor: float, n_examples: int = 1) -> None:
        self.lam = float(lam)
        if not 0 < self.lam < math.inf:
            raise ValueError(f"lam must be positive and finite, got {lam!r}")
        check_lam(self.lam, 1.0)
        self.n_features, self.floor, self.n_rows = int(n_features), float(floor), int(n_examples)

    @abstractmethod
    def risk(self) -> Risk:
        """R."""

    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """What tells it from other problems."""

    @property
    def slice_rows(self) -> int:
        return self.n_rows

    @cached_property
    def _at_zero(self) -> Answer:
        return self.risk().ask(np.zeros(self.n_features), get_backend("reference"))

    @property
    def primal_at_zero(self) -> float:
        """R(0)."""
        return self._at_zero.value

    def at_zero(self) -> Certificate:
        """The zero model, and what the cut there proves, or the floor."""
        cut = self._at_zero.cut
        dual, slope, offset = self._proved(cut.slope, cut.offset)
        zero = RiskIterate(np.zeros(self.n_features), self._at_zero.bias, slope, offset)
        return Certificate(self.primal_at_zero, dual, zero)

    @staticmethod
    def joined(primal: Certificate, dual: Certificate) -> Certificate:
        """Weights of one and the cut of the other."""
        w, cut = primal.solution, dual.solution
        point = RiskIterate(w.w, w.bias, cut.slope, cut.offset)
        return Certificate(primal.primal, dual.dual, point)

    def _proved(self, slope: Any, offset: float) -> tuple[float, Any, float]:
        """The bound of a cut, or of the floor if that is higher, and the cut that proves it."""
        bound = offset - float(slope @ slope) / (2 * self.lam)
        if bound > self.floor:
            return bound, slope, offset
        return self.floor, np.zeros(self.n_features), self.floor

    def certify(self, iterate: RiskIterate, backend: Backend) -> Certificate:
        """P at the weights, asked afresh, and the bound of the cut, or of the floor if that is
        higher."""
        w = np.array(iterate.w, dtype=np.float64)
        if not np.isfinite(w).all():
            return Certificate(math.inf, -math.inf, iterate)
        answer = self.risk().ask(w, backend)
        dual, slope, offset = self.floor, np.zeros(self.n_features), self.floor
        if iterate.slope is not None:
            dual, slope, offset = self._proved(iterate.slope, iterate.offset)
        primal = answer.value + 0.5 * self.lam * float(w @ w)
        refuse_contradiction(dual, primal, f"of P at a w of norm {np.linalg.norm(w):.6g}")
        return Certificate(primal, dual, RiskIterate(w, answer.bias, slope, offset))


class RiskProblem(CutProblem):
    """Minimise R(w) + (λ/2)‖w‖² for a convex R given by an oracle.

    Parameters
    ----------
    oracle : callable
        ``oracle(w) -> (value, subgradient)``: R(w) and any one subgradient there, of w's size.
        Where R(w) = min_b R(w, b) it may return ``(value, subgradient, b)``; the subgradient is
        then one of that minimum: (subgradient, 0) must be a subgradient in (w, b).
    lam : float
        λ > 0.
    n_features : int, optional
        Numbers in w; by default ``oracle.n_features``.
    floor : float, optional
        A number that R never goes below, such as 0; it sharpens the lower bound.  By default
        ``oracle.floor``, and where there is none, none is assumed.
    n_examples : int, optional
        Rows that one evaluation visits, to count passes; by default ``oracle.n_examples``, or 1.
    """

    def __init__(
        self,
        oracle: Callable[[Any], Any],
        lam: float,
        *,
        n_features: int | None = None,
        floor: float | None = None,
        n_examples: int | None = None,
    ) -> None:
        if not callable(oracle):
            raise TypeError(f"oracle must be callable as oracle(w), got {oracle!r}")
        size = getattr(oracle, "n_features", None) if n_features is None else n_features
        if size is None or size != int(size) or size < 1:
            raise ValueError(f"n_features must say how many weights the oracle takes, got {size!r}")
        floor = getattr(oracle, "floor", -math.inf) if floor is None else floor
        if math.isnan(floor) or floor == math.inf:
            raise ValueError(f"floor must be a number below R, or -inf for none; got {floor!r}")
        count = getattr(oracle, "n_examples", 1) if n_examples is None else n_examples
        if count != int(count) or count < 1:
            raise ValueError(f"n_examples must be a whole number, at least 1, got {count!r}")
        super().__init__(lam, size, floor, count)
        self.oracle = oracle

    def risk(self) -> Risk:
        return OracleRisk(self.oracle, self.n_features, self.floor)

    def fingerprint(self) -> dict[str, Any]:
        """Sizes, λ, and what the oracle says at 0."""
        kind = type(self.oracle)
        named = self.oracle if hasattr(self.oracle, "__qualname__") else kind
        return {
            "oracle": f"{named.__module__}.{named.__qualname__}",
            "features": self.n_features,
            "examples": self.n_rows,
            "lam": self.lam,
            "floor": str(self.floor),
            "risk of zero": self._at_zero.value,
            "labels": hashlib.sha256(self._at_zero.cut.slope.tobytes()).hexdigest(),
        }


class VectorRisk(ABC):
    """A risk of plain vectors, whose cuts have no witness; a kind of it knows how to ``ask``."""

    def __init__(self, size: int, floor: float) -> None:
        self.size, self.floor = size, floor

    @abstractmethod
    def ask(self, w: Any, backend: Backend) -> Answer:
        """R(w) and a cut that is exact there."""

    def floor_cut(self) -> Cut:
        return Cut(np.zeros(self.size), self.floor)

    def merged(self, cuts: Sequence[Cut], shares: Any) -> Cut:
        return combined(cuts, shares)

    def iterate(self, w: Any, bias: float, cut: Cut | None) -> Any:
        if cut is None:
            return RiskIterate(w.copy(), bias)
        return RiskIterate(w.copy(), bias, cut.slope.copy(), cut.offset)

    def start(self, iterate: Any, backend: Backend) -> Any:
        return np.array(iterate.w, dtype=np.float64)

    def known(self, iterate: Any, backend: Backend) -> Cut | None:
        return None if iterate.slope is None else Cut(iterate.slope, iterate.offset)


class OracleRisk(VectorRisk):
    """The risk of a user's oracle, every answer checked."""

    def __init__(self, oracle: Callable[[Any], Any], size: int, floor: float) -> None:
        super().__init__(size, floor)
        self._oracle = oracle

    def ask(self, w: Any, backend: Backend) -> Answer:
        try:
            answer = self._oracle(w.copy())
        except OracleError:
            raise
        except Exception as error:
            raise OracleError(
                f"the oracle raised {error!r} at a w of norm {np.linalg.norm(w):.6g}"
            ) from error
        value, slope, bias = checked_answer(answer, self.size, "the oracle")
        if value < self.floor:
            raise OracleError(
                f"the oracle returned {value:.9g}, which is below floor = {self.floor:.9g}; pass a "
                "lower floor, or floor=-inf where the risk has none"
            )
        rounding = ULPS * (abs(value) + float(np.linalg.norm(slope) * np.linalg.norm(w)))
        return Answer(value, Cut(slope, value - float(slope @ w) - rounding), bias)


def checked_answer(answer: Any, size: int, who: str) -> tuple[float, Any, float]:
    """Value, subgradient and bias of what an oracle returned, or an error that names it."""
    try:
        value, slope, *more = answer
        value, slope, biases = (
            float(value),
            np.array(slope, dtype=np.float64),
            list(map(float, more)),
        )
    except (TypeError, ValueError):
        raise OracleError(
            f"{who} must return a value and a subgradient (and a bias if it minimises over one), "
            f"not {answer!r}"
        ) from None
    if len(biases) > 1:
        raise OracleError(f"{who} returned {2 + len(biases)} things: a value, a subgradient, ...")
    if slope.shape != (size,):
        raise OracleError(
            f"{who} returned a subgradient of shape {slope.shape} where w has shape ({size},)"
        )
    if not (np.isfinite(slope).all() and np.isfinite([value, *biases]).all()):
        raise OracleError(f"{who} returned NaN or infinity")
    return value, slope, biases[0] if biases else 0.0
