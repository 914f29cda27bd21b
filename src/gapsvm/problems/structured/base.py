"""Structured problems: examples whose answers are labellings, too many to be listed.

    P(w) = (1/S) Σ s_i max_y [Δ_i(y) + ⟨w, φ_i(y) − φ_i(y_i)⟩] + (λ/2)‖w‖²
    D(α) = (1/S) Σ s_i Σ_y α_i(y) Δ_i(y) − (λ/2)‖w(α)‖²         α_i ≥ 0, Σ_y α_i(y) = 1
    w(α) = (1/(λS)) Σ s_i Σ_y α_i(y) (φ_i(y_i) − φ_i(y))

y_i is the truth, Δ_i(y) ≥ 0 the loss of y, φ_i(y) the joint features (Pegasos §5).  An *oracle*
finds the maximum; one pass of it over all examples gives P and a subgradient of it.  α is a few
labellings of each example with their weights.  The certificate is conditional on the oracle being
exact: ``check_oracle`` looks for signs that it is not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.certificate import Certificate
from gapsvm.problems.limits import check_lam
from gapsvm.problems.linear import check_weights
from gapsvm.registry.storable import storable

Dual = TypeVar("Dual")
"""Labellings of each example and their weights, in the form that a problem keeps them."""


@storable
@dataclass(frozen=True)
class StructuredIterate:
    """A primal point w and a dual one: either may be None, for w(α) and for D = 0.

    ``lower``: a lower bound of the objective that is proved elsewhere, such as the minimum of a
    model made of cutting planes.
    """

    w: Any
    dual: Any = None
    lower: float = -np.inf
    try_combination: bool = False
    """w(α) may be the better primal point; certify the best of the two."""

    @property
    def primal_part(self) -> StructuredIterate:
        """The same without α."""
        return replace(self, dual=None)


def checked_lam(lam: float, total_weight: float) -> float:
    """λ > 0 that can be computed with."""
    if not 0 < lam < np.inf:
        raise ValueError(f"lam must be positive and finite, got {lam!r}")
    check_lam(float(lam), total_weight or 1.0)
    return float(lam)


def checked_example_weights(sample_weight: Any, n: int) -> Any:
    """A weight for each of n examples, 1 by default."""
    if sample_weight is None:
        return np.ones(n)
    given = np.ascontiguousarray(sample_weight, dtype=np.float64)
    return check_weights(given, n, counted="examples")


@dataclass(frozen=True)
class Growth:
    """What steps on some blocks came to."""

    dual: float
    """By how much D grew."""
    work: float
    """Numbers that were read, or seconds: comparable within one problem."""


class StructuredProblem(ABC, Generic[Dual]):
    """What every structured problem with a maximum as its loss offers to solvers.

    Parameters
    ----------
    n_examples : int
    shape : tuple
        Of w.
    lam : float
        λ > 0.
    sample_weight : array, optional
        s_i ≥ 0 with a positive sum; 1 by default.
    """

    default_method = "frank-wolfe"

    def __init__(
        self, n_examples: int, shape: tuple[int, ...], lam: float, sample_weight: Any = None
    ) -> None:
        self.n_rows = int(n_examples)
        self.shape = shape
        self.weight = checked_example_weights(sample_weight, self.n_rows)
        self.total_weight = float(self.weight.sum())
        self.lam = checked_lam(lam, self.total_weight)

    @property
    def mean_weight(self) -> Any:
        """s_i/S."""
        return self.weight / (self.total_weight or 1.0)

    # -- what a kind of problem must know ----------------------------------------------------------

    @abstractmethod
    def truth(self) -> Dual:
        """α with all weight on the truth, where w(α) = 0 and D = 0."""

    @abstractmethod
    def room_for(self, dual: Dual) -> Dual:
        """A copy of a feasible α, with room for what the oracle will find."""

    @abstractmethod
    def dual_value(self, dual: Dual, backend: Backend) -> tuple[float, Any]:
        """D(α), −∞ where α is not feasible, and w(α); losses and features are computed afresh."""

    @abstractmethod
    def worst(self, w: Any, examples: Any, backend: Backend) -> tuple[Any, Any]:
        """The maximising labellings of some examples, as ``settle`` takes them, and the maxima."""

    @abstractmethod
    def subgradient(self, w: Any, backend: Backend) -> tuple[float, Any]:
        """The risk, P less its penalty, and a subgradient of it; one pass of the oracle."""

    @abstractmethod
    def settle(
        self, dual: Dual, w: Any, examples: Any, found: Any, gaps: Any, backend: Backend
    ) -> Growth:
        """Frank–Wolfe steps on the blocks of some examples, one after the other.

        ``found`` holds what ``worst`` gave for them, or is None: steps among the labellings that
        are kept.  w = w(α), α and, with ``found``, ``gaps`` of these blocks are updated in place.
        """

    @abstractmethod
    def tally(self, dual: Dual, examples: Any, found: Any) -> None:
        """Count what ``worst`` found: add 1 to the weight of each labelling.  Modified: dual."""

    @abstractmethod
    def push(self, w: Any, examples: Any, found: Any, steps: Any, backend: Backend) -> float:
        """w += Σ_k steps_k (φ(truth) − φ(found_k)); returns by how much ‖w‖² grew."""

    @property
    @abstractmethod
    def longest_pull(self) -> float:
        """The largest ‖φ_i(y_i) − φ_i(y)‖, or a guess: lengths of steps depend on it."""

    @property
    @abstractmethod
    def oracle_work(self) -> float:
        """What a pass of the oracle costs, in the units of ``Growth.work``."""

    @property
    @abstractmethod
    def slice_rows(self) -> int:
        """Examples whose visit takes some hundredths of a second."""

    @property
    @abstractmethod
    def primal_at_zero(self) -> float:
        """P₀: the mean of the highest losses."""

    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """What tells it from other problems."""

    # -- what follows ------------------------------------------------------------------------------

    def worst_at(self, scale: float, v: Any, examples: Any, backend: Backend) -> tuple[Any, Any]:
        """As ``worst`` at w = scale·v; of the maxima only their order counts."""
        return self.worst(scale * v, examples, backend)

    def zeros(self) -> Any:
        return np.zeros(self.shape)

    def at_zero(self) -> Certificate:
        """The zero model: P₀, and D = 0 at the truth."""
        return Certificate(self.primal_at_zero, 0.0, StructuredIterate(self.zeros(), self.truth()))

    @staticmethod
    def joined(primal: Certificate, dual: Certificate) -> Certificate:
        """w of one and α of the other."""
        point = StructuredIterate(primal.solution.w, dual.solution.dual, dual.solution.lower)
        return Certificate(primal.primal, dual.dual, point)

    def certify(self, iterate: StructuredIterate, backend: Backend) -> Certificate:
        """P by one pass of the oracle over all examples, and D, w(α) computed afresh."""
        dual, points = iterate.lower, []
        if iterate.w is not None:
            points.append(np.reshape(iterate.w, self.shape))
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged iterate has P = inf
            if iterate.dual is None:
                dual = max(dual, 0.0)  # at the truth
            else:
                value, combination = self.dual_value(iterate.dual, backend)
                dual = max(dual, value)
                if not points or iterate.try_combination:
                    points.append(combination)
            points = points or [self.zeros()]
            found = [self.objective(w, backend) for w in points]
        best = int(np.argmin(found))
        solution = StructuredIterate(points[best], iterate.dual, iterate.lower)
        return Certificate(found[best], dual, solution)

    def objective(self, w: Any, backend: Backend) -> float:
        """P(w), by a pass of the oracle; inf where it is no number."""
        _, maxima = self.worst(w, np.arange(self.n_rows, dtype=np.uint32), backend)
        primal = float(self.mean_weight @ maxima) + 0.5 * self.lam * float(np.vdot(w, w))
        return primal if not np.isnan(primal) else np.inf
