"""The cuts of a bundle, their Gram matrix, and how their number stays bounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapsvm.problems.risk import Cut, Risk
from gapsvm.registry.storable import storable

_KEPT = 0.75
"""Share of the room that is left in use when cuts are dropped."""


@storable
@dataclass
class Cuts:
    """R(v) ≥ max_k ⟨a_k, v⟩ + b_k; the first cut is the floor of R, if it has one."""

    cuts: list[Any] = field(default_factory=list)
    gram: Any = field(default_factory=lambda: np.zeros((0, 0)))
    """⟨a_j, a_k⟩."""
    offsets: Any = field(default_factory=lambda: np.zeros(0))
    used: Any = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The iteration in which a cut last had a multiplier."""

    def __len__(self) -> int:
        return len(self.cuts)

    def add(self, cut: Cut, iteration: int) -> None:
        products = np.append(self.along(cut.slope), cut.slope @ cut.slope)
        self.gram = np.pad(self.gram, (0, 1))
        self.gram[-1], self.gram[:, -1] = products, products
        self.offsets = np.append(self.offsets, cut.offset)
        self.used = np.append(self.used, iteration)
        self.cuts.append(cut)

    def along(self, v: Any) -> Any:
        """⟨a_k, v⟩ of all cuts."""
        return np.array([cut.slope @ v for cut in self.cuts])

    def combined(self, shares: Any) -> Any:
        """Σ shares_k a_k."""
        total = np.zeros_like(self.cuts[0].slope)
        for k in np.flatnonzero(shares):
            total += shares[k] * self.cuts[k].slope
        return total

    def merged(self, risk: Risk, shares: Any) -> Cut:
        """The convex combination of cuts with these shares, scaled to sum 1."""
        used = np.flatnonzero(shares)
        chosen = shares[used]
        return risk.merged([self.cuts[k] for k in used], chosen / chosen.sum())

    def shrink(self, risk: Risk, room: int, multipliers: list[Any], iteration: int) -> list[Any]:
        """Make room if there are more cuts than that; the multipliers that remain.

        Cuts that had no multiplier for longest are dropped.  Where those that go have one still,
        their combination takes their place, one for each vector of multipliers, so that what was
        proved with them is not lost.
        """
        importance = np.max([m / m.sum() for m in multipliers], axis=0)
        self.used[importance > 0] = iteration
        if len(self) <= room:
            return multipliers
        first = int(not self.cuts[0].slope.any())  # the floor stays
        order = first + np.lexsort((importance[first:], self.used[first:]))
        leaving = np.sort(order[: len(self) - int(_KEPT * room)])
        taken = [multiplier[leaving] for multiplier in multipliers]
        aggregates = [
            (k, self.merged(risk, np.where(np.isin(np.arange(len(self)), leaving), m, 0.0)))
            for k, m in enumerate(multipliers)
            if taken[k].sum() > 0
        ]
        self._drop(leaving)
        multipliers = [np.delete(multiplier, leaving) for multiplier in multipliers]
        for k, aggregate in aggregates:
            self.add(aggregate, iteration)
            own = [taken[j].sum() if j == k else 0.0 for j in range(len(multipliers))]
            multipliers = [np.append(m, share) for m, share in zip(multipliers, own)]
        return multipliers

    def _drop(self, leaving: Any) -> None:
        gone = set(leaving.tolist())
        self.cuts = [cut for k, cut in enumerate(self.cuts) if k not in gone]
        self.gram = np.delete(np.delete(self.gram, leaving, axis=0), leaving, axis=1)
        self.offsets = np.delete(self.offsets, leaving)
        self.used = np.delete(self.used, leaving)
