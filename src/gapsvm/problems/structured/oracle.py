"""A user's oracle: what it is asked, how its answers are checked, and who runs it.

Whatever it answers is looked at before it is used: an ``OracleError`` names the example and what is
wrong with it.  What is checked here shows that answers make sense; that a labelling is the
*maximum* cannot be seen from it alone: ``gapsvm.check_oracle`` compares it with others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from gapsvm.problems.limits import MOST
from gapsvm.problems.risk import OracleError
from gapsvm.system.lazy import sparse as sp
from gapsvm.system.texts import shown

_ROUNDING = 1e-9
"""Share of the numbers compared by which the truth may beat a maximum."""
_SPARSE = 4
"""A vector is kept by its nonzeros where so many times fewer of its numbers are nonzero."""


class StructuredOracle(Protocol):
    """What a user writes: joint features, a loss, and the best labelling.

    x is an element of X, labellings are objects of any kind.
    """

    n_features: int
    """Numbers in w and in φ."""

    def features(self, x: Any, y: Any) -> Any:
        """φ(x, y): an array, or a sparse row."""

    def loss(self, truth: Any, y: Any) -> float:
        """Δ(truth, y) ≥ 0; 0 for the truth itself."""

    def argmax(self, w: Any, x: Any, truth: Any = None) -> Any:
        """A y of the largest ⟨w, φ(x, y)⟩; given a truth, of the largest sum with Δ(truth, y)."""


class Plane(NamedTuple):
    """Δ − ⟨w, ψ⟩ as a function of w, with ψ = φ(truth) − φ(y)."""

    columns: Any
    """Where ψ has its values; None for everywhere."""
    values: Any
    cost: float
    """Δ."""

    def at(self, w: Any) -> float:
        read = w if self.columns is None else w[self.columns]
        return self.cost - float(self.values @ read)

    def add_to(self, w: Any, step: float) -> None:
        """w += step·ψ."""
        if self.columns is None:
            w += step * self.values
        else:
            w[self.columns] += step * self.values


class Found(NamedTuple):
    """A labelling that an oracle returned."""

    y: Any
    plane: Plane
    value: float
    """Of the plane, at the w that was asked for."""


@dataclass(frozen=True)
class Examples:
    """An oracle with its examples; answers are checked and errors name the example."""

    oracle: Any
    X: Sequence[Any]
    y: Sequence[Any]

    def worst(self, i: int, w: Any) -> Found:
        """The labelling of example i with the largest Δ + ⟨w, φ(y) − φ(truth)⟩."""
        y = kept_copy(self._ask(i, "argmax", read_only(w), self.X[i], self.y[i]))
        if y is None:
            raise OracleError(f"example {i}: argmax returned None, not a labelling")
        plane = self.plane(i, y)
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged w
            value = plane.at(w)
            read = w if plane.columns is None else w[plane.columns]
            size = plane.cost + float(np.abs(plane.values) @ np.abs(read))
        if value < -_ROUNDING * size:
            raise OracleError(
                f"example {i}: argmax returned {shown(y)}, which is worse than the truth by "
                f"{-value:.6g} (loss {plane.cost:.6g} included): it is not the maximum"
            )
        return Found(y, plane, value if math.isnan(value) else max(value, 0.0))

    def best(self, i: int, w: Any) -> Any:
        """The labelling of element i of X with the largest score; its truth is not asked for."""
        return kept_copy(self._ask(i, "argmax", read_only(w), self.X[i]))

    def plane(self, i: int, y: Any) -> Plane:
        """Loss and features of a labelling of example i, against its truth."""
        cost = self.loss(i, y)
        right, other = self.features(i, self.y[i]), self.features(i, y)
        if sp.issparse(right) or sp.issparse(other):
            psi = sp.csr_matrix(right) - sp.csr_matrix(other)
            psi.sum_duplicates()
            return Plane(psi.indices.astype(np.intp), psi.data, cost)
        values = right - other
        columns = np.flatnonzero(values)
        if _SPARSE * len(columns) < len(values):
            return Plane(columns, values[columns], cost)
        return Plane(None, values, cost)

    def features(self, i: int, y: Any) -> Any:
        """φ_i(y): an array, or a sparse row."""
        phi = self._ask(i, "features", self.X[i], y)
        size = self.oracle.n_features
        try:
            phi = phi.astype(np.float64) if sp.issparse(phi) else np.array(phi, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise OracleError(f"example {i}: features are no numbers: {error}") from error
        if phi.shape not in ((size,), (1, size)):
            raise OracleError(
                f"example {i}: features has shape {phi.shape}, but n_features is {size}"
            )
        values = phi.data if sp.issparse(phi) else phi
        if not np.isfinite(values).all():
            raise OracleError(f"example {i}: features of {shown(y)} contain NaN or infinity")
        largest = float(np.max(np.abs(values), initial=0.0))
        if largest > MOST:
            raise OracleError(
                f"example {i}: features of {shown(y)} are as large as {largest:g}, whose square "
                "overflows; rescale them"
            )
        return phi if sp.issparse(phi) else phi.ravel()

    def loss(self, i: int, y: Any) -> float:
        """Δ(truth, y) of example i."""
        found = self._ask(i, "loss", self.y[i], y)
        try:
            cost = float(found)
        except (TypeError, ValueError):
            raise OracleError(f"example {i}: loss must return a number, not {found!r}") from None
        if not 0 <= cost < math.inf:
            raise OracleError(
                f"example {i}: the loss of {shown(y)} is {cost!r}; it must be finite and not "
                "negative"
            )
        return cost

    def _ask(self, i: int, name: str, *args: Any) -> Any:
        try:
            return getattr(self.oracle, name)(*args)
        except Exception as error:
            raise OracleError(f"example {i}: {name} raised {error!r}") from error


def count_of(X: Any, name: str = "X") -> int:
    """How many examples there are."""
    if sp.issparse(X):
        raise TypeError(f"{name} is a sparse matrix, which has no length; pass a list of its rows")
    try:
        return len(X)
    except TypeError:
        raise TypeError(f"{name} must be a sequence of examples, got {X!r}") from None


def read_only(w: Any) -> Any:
    """A view that an oracle cannot change."""
    view = w.view()
    view.flags.writeable = False
    return view


def kept_copy(y: Any) -> Any:
    """A labelling that later calls of the oracle do not write into."""
    return y.copy() if isinstance(y, np.ndarray) else y


def checked_oracle(oracle: Any) -> Any:
    """An oracle that has what it must have."""
    for name in ("features", "loss", "argmax"):
        if not callable(getattr(oracle, name, None)):
            raise TypeError(
                f"the oracle must have a method {name!r}; it needs features(x, y), "
                f"loss(truth, y) and argmax(w, x, truth=None), got {oracle!r}"
            )
    size = getattr(oracle, "n_features", None)
    if size is None or isinstance(size, str) or size != int(size) or size < 1:
        raise ValueError(f"oracle.n_features must say how many numbers w has, got {size!r}")
    return oracle
