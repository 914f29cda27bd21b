"""Structured problems of a user's own: joint features, a loss and an argmax in Python.

Labellings that the oracle returned are kept, as planes Δ − ⟨w, ψ⟩ of the examples they belong to.
A step on a block needs products of w with its planes once; then it moves in the space of their Gram
matrix.
"""

from __future__ import annotations

import hashlib
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.problems.certificate import Certificate
from gapsvm.problems.risk import OracleError, refuse_contradiction
from gapsvm.problems.structured.base import Growth, StructuredIterate, StructuredProblem
from gapsvm.problems.structured.oracle import Examples, Found, Plane, checked_oracle, count_of
from gapsvm.problems.structured.processes import Processes
from gapsvm.registry.storable import storable
from gapsvm.system.texts import shown
from gapsvm.types.curves import SIMPLEX_ROUNDING

_SLICE = 32
"""Calls of the oracle between two looks at the clock and at the keyboard."""
_STEPS, _WORTH = 20, 0.1
"""Pairwise steps on a block, and the share of its gap at which it is left."""
_IDLE = 10
"""Visits after which a labelling without weight is forgotten."""
_ROUNDING = 1e-7


@storable
@dataclass(eq=False)
class OracleDual:
    """Labellings of each example, the truth first, and their weights."""

    labels: list[Any]
    """A list for each example."""
    share: Any
    """Examples × slots; slots beyond the labellings there are hold 0."""
    idle: Any
    """Examples × slots: visits since a labelling was the worst or had weight."""


@dataclass
class _Block:
    """The planes of one example, the truth's being 0, in the columns that any of them uses."""

    columns: Any
    """None for all."""
    psi: Any = None
    cost: Any = field(default_factory=lambda: np.zeros(1))
    gram: Any = field(default_factory=lambda: np.zeros((1, 1)))

    def gains(self, w: Any) -> Any:
        """Δ − ⟨w, ψ⟩ of all planes."""
        return self.cost - self.psi @ (w if self.columns is None else w[self.columns])

    def size(self, w: Any) -> float:
        """The largest Δ + Σ|w_j ψ_j|."""
        read = np.abs(w if self.columns is None else w[self.columns])
        return float(np.max(self.cost + np.abs(self.psi) @ read))

    def row(self, plane: Plane, size: int) -> Any:
        """ψ of a plane in the columns of this block, which may become more."""
        if self.columns is not None:
            columns = None
            if plane.columns is not None:
                columns = np.union1d(self.columns, plane.columns)
                if 2 * len(columns) > size:
                    columns = None
            if columns is None or len(columns) > len(self.columns):
                wider = np.zeros((len(self.psi), size if columns is None else len(columns)))
                to = self.columns if columns is None else np.searchsorted(columns, self.columns)
                wider[:, to] = self.psi
                self.columns, self.psi = columns, wider
        if plane.columns is None:
            return plane.values
        psi = np.zeros(self.psi.shape[1])
        at = plane.columns
        psi[at if self.columns is None else np.searchsorted(self.columns, at)] = plane.values
        return psi

    def place_of(self, psi: Any, cost: float) -> int:
        """The slot of an equal plane, or −1."""
        for slot in np.flatnonzero(self.cost == cost):
            if np.array_equal(self.psi[slot], psi):
                return int(slot)
        return -1

    def add(self, psi: Any, cost: float) -> None:
        products = self.psi @ psi
        self.psi = np.vstack([self.psi, psi])
        self.cost = np.append(self.cost, cost)
        self.gram = np.pad(self.gram, (0, 1))
        self.gram[-1, :-1] = self.gram[:-1, -1] = products
        self.gram[-1, -1] = psi @ psi

    def keep(self, slots: Any) -> None:
        self.psi, self.cost = self.psi[slots], self.cost[slots]
        self.gram = self.gram[np.ix_(slots, slots)]


class OracleProblem(StructuredProblem[OracleDual]):
    """Structured examples with a user's oracle; every answer of it is checked.

    Parameters
    ----------
    oracle : StructuredOracle
        ``n_features``, ``features(x, y)``, ``loss(truth, y)`` and ``argmax(w, x, truth=None)``.
    X, y : sequences
        Examples and their true labellings, objects of any kind.
    lam : float
        λ > 0.
    sample_weight : array, optional
        s_i ≥ 0 with a positive sum; 1 by default.
    workers : "threads" or "processes"
        What runs the oracle where the backend has several threads: threads share all memory and
        help where the oracle lets go of Python's lock; processes get a copy of the examples.
    call_cost : float or "measured"
        What a call of the oracle costs, in visits to the labellings kept of an example: as long as
        these raise the dual by more for their cost, they go on.  "measured": by the clock; then two
        fits of one seed may differ.
    """

    def __init__(
        self,
        oracle: Any,
        X: Sequence[Any],
        y: Sequence[Any],
        lam: float,
        *,
        sample_weight: Any = None,
        workers: Literal["threads", "processes"] = "threads",
        call_cost: float | Literal["measured"] = 10.0,
    ) -> None:
        self.oracle = checked_oracle(oracle)
        if count_of(X) != count_of(y, "y"):
            raise ValueError(f"X has {len(X)} examples but y has {len(y)} labellings")
        if workers not in ("threads", "processes"):
            raise ValueError(f"workers must be 'threads' or 'processes', got {workers!r}")
        if call_cost != "measured" and not 0 < call_cost < np.inf:
            raise ValueError(f"call_cost must be 'measured' or positive, got {call_cost!r}")
        super().__init__(len(X), (int(oracle.n_features),), lam, sample_weight)
        self.examples = Examples(oracle, X, y)
        self.workers, self.call_cost = workers, call_cost
        self._processes: Processes | None = None
        self._blocks: Any = weakref.WeakKeyDictionary()
        self._seconds, self._calls = 0.0, 0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_processes": None, "_blocks": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _blocks=weakref.WeakKeyDictionary())

    def close(self) -> None:
        """End the processes, if there are any; a later call of the oracle starts new ones."""
        if self._processes is not None:
            self._processes.close()
        self._processes = None

    # -- the oracle --------------------------------------------------------------------------------

    def worst(self, w: Any, examples: Any, backend: Backend) -> tuple[list[Found], Any]:
        before = time.perf_counter()
        found = self._found(w, examples, backend)
        self._seconds += time.perf_counter() - before
        self._calls += len(found)
        return found, np.array([one.value for one in found])

    def _found(self, w: Any, examples: Any, backend: Backend) -> list[Found]:
        numbers = [int(i) for i in examples]
        if self.workers == "processes" and backend.threads > 1:
            if self._processes is None or self._processes.count != backend.threads:
                self.close()
                self._processes = Processes(self.examples, backend.threads)
            return self._processes.worst(w, numbers)
        return backend.map(lambda i: self.examples.worst(i, w), numbers)

    def subgradient(self, w: Any, backend: Backend) -> tuple[float, Any]:
        found, values = self.worst(w, np.arange(self.n_rows), backend)
        slope = self.zeros()
        for weight, one in zip(self.mean_weight, found):
            one.plane.add_to(slope, -weight)
        return float(self.mean_weight @ values), slope

    def push(
        self, w: Any, examples: Any, found: list[Found], steps: Any, backend: Backend
    ) -> float:
        growth = 0.0
        for step, one in zip(steps, found):
            plane = one.plane
            along = plane.cost - plane.at(w)
            growth += step * (2.0 * along + step * float(plane.values @ plane.values))
            plane.add_to(w, step)
        return growth

    def tally(self, dual: OracleDual, examples: Any, found: list[Found]) -> None:
        for i, one in zip(map(int, examples), found):
            block = self._block(dual, i)
            slot = block.place_of(block.row(one.plane, self.shape[0]), one.plane.cost)
            if slot < 0:
                slot = len(block.cost)
                self._take_in(dual, block, i, one)
            dual.share[i, slot] += 1.0

    @cached_property
    def longest_pull(self) -> float:
        """Of those that the oracle finds at w = 0: a guess."""
        found, _ = self.worst(self.zeros(), range(self.n_rows), get_backend("reference"))
        return max(float(np.linalg.norm(one.plane.values)) for one in found) or 1.0

    @property
    def oracle_work(self) -> float:
        if self.call_cost != "measured":
            return float(self.call_cost) * self.n_rows
        return self._seconds / max(self._calls, 1) * self.n_rows

    @property
    def slice_rows(self) -> int:
        return max(1, min(self.n_rows, _SLICE))

    @cached_property
    def at_nought(self) -> tuple[float, Any]:
        """R(0) and a subgradient there."""
        return self.subgradient(self.zeros(), get_backend("reference"))

    @property
    def primal_at_zero(self) -> float:
        return self.at_nought[0]

    # -- the dual ----------------------------------------------------------------------------------

    def truth(self) -> OracleDual:
        share = np.zeros((self.n_rows, 4))
        share[:, 0] = 1.0
        idle = np.zeros(share.shape, dtype=np.int32)
        return OracleDual([[y] for y in self.examples.y], share, idle)

    def room_for(self, dual: OracleDual) -> OracleDual:
        return OracleDual([list(own) for own in dual.labels], dual.share.copy(), dual.idle.copy())

    def dual_value(self, dual: OracleDual, backend: Backend) -> tuple[float, Any]:
        w, costs = self.zeros(), 0.0
        share = np.asarray(dual.share)
        if len(dual.labels) != self.n_rows or share.shape[:1] != (self.n_rows,):
            return -np.inf, w
        total = share.sum(axis=1)
        if not (share.min() >= 0 and np.abs(total - 1.0).max() <= SIMPLEX_ROUNDING):
            return -np.inf, w
        for i, own in enumerate(dual.labels):
            if share[i, len(own) :].any():
                return -np.inf, self.zeros()
            for slot in np.flatnonzero(share[i, : len(own)]):
                plane = self.examples.plane(i, own[slot])
                part = self.mean_weight[i] * share[i, slot] / total[i]
                plane.add_to(w, part / self.lam)
                costs += part * plane.cost
        return costs - 0.5 * self.lam * float(w @ w), w

    def settle(
        self,
        dual: OracleDual,
        w: Any,
        examples: Any,
        found: list[Found] | None,
        gaps: Any,
        backend: Backend,
    ) -> Growth:
        before, growth = time.perf_counter(), 0.0
        for k, i in enumerate(map(int, examples)):
            if self.weight[i] == 0:
                gaps[i] = 0.0
                continue
            new = None if found is None else found[k]
            growth += self._settle(dual, w, i, new, gaps, growth == 0.0)
        measured = self.call_cost == "measured"
        work = time.perf_counter() - before if measured else float(len(examples))
        return Growth(growth, work)

    def _settle(
        self, dual: OracleDual, w: Any, i: int, found: Found | None, gaps: Any, same_w: bool
    ) -> float:
        """Pairwise steps on one block; returns how far D grew.

        ``same_w``: w is where ``found`` was found, so that nothing may be worse.
        """
        block = self._block(dual, i)
        if found is not None:
            self._forget(dual, block, i)
            self._take_in(dual, block, i, found)
        elif len(block.cost) == 1:
            return 0.0
        count, unit = len(block.cost), self.mean_weight[i] / self.lam
        share, gains = dual.share[i, :count], block.gains(w)
        old = share.copy()
        if found is not None and same_w:
            self._refuse_missed(i, found, gains, dual.labels[i], block.size(w))
        if found is not None:
            gaps[i] = self.mean_weight[i] * max(float(gains.max() - share @ gains), 0.0)
            idle = dual.idle[i, :count]
            idle += 1
            idle[(share > 0) | (gains == gains.max())] = 0
        growth = self.mean_weight[i] * _pairwise_steps(share, gains, block.gram, unit)
        moved = (share - old) * unit
        if moved.any():
            w[slice(None) if block.columns is None else block.columns] += moved @ block.psi
        return growth

    def _block(self, dual: OracleDual, i: int) -> _Block:
        """The planes of an example; made of its labellings where they are not at hand."""
        blocks = self._blocks.setdefault(dual, {})
        if i not in blocks:
            none = np.zeros(0, dtype=np.intp)
            blocks[i] = block = _Block(none, np.zeros((1, 0)))
            for y in dual.labels[i][1:]:
                plane = self.examples.plane(i, y)
                block.add(block.row(plane, self.shape[0]), plane.cost)
        return blocks[i]

    def _take_in(self, dual: OracleDual, block: _Block, i: int, found: Found) -> None:
        """Keep a labelling, if it is new."""
        psi = block.row(found.plane, self.shape[0])
        if block.place_of(psi, found.plane.cost) >= 0:
            return
        block.add(psi, found.plane.cost)
        dual.labels[i].append(found.y)
        if len(block.cost) > dual.share.shape[1]:
            more = ((0, 0), (0, dual.share.shape[1]))
            dual.share, dual.idle = np.pad(dual.share, more), np.pad(dual.idle, more)

    @staticmethod
    def _forget(dual: OracleDual, block: _Block, i: int) -> None:
        """Drop labellings that were idle for long; the truth stays."""
        count = len(block.cost)
        stale = (dual.idle[i, :count] > _IDLE) & (dual.share[i, :count] == 0)
        stale[0] = False
        if not stale.any():
            return
        slots = np.flatnonzero(~stale)
        block.keep(slots)
        dual.labels[i] = [dual.labels[i][slot] for slot in slots]
        for table in (dual.share, dual.idle):
            table[i, : len(slots)] = table[i, slots]
            table[i, len(slots) : count] = 0

    @staticmethod
    def _refuse_missed(i: int, found: Found, gains: Any, labels: list[Any], size: float) -> None:
        """``size``: of what is added up in the gains, which may cancel."""
        best = int(gains.argmax())
        if gains[best] - found.value > _ROUNDING * size:
            raise OracleError(
                f"example {i}: argmax returned {shown(found.y)} of value {found.value:.6g}, but "
                f"{shown(labels[best])}, which it returned before, has {gains[best]:.6g} there: "
                "it is not the maximum"
            )

    # -- the certificate ---------------------------------------------------------------------------

    def certify(self, iterate: StructuredIterate, backend: Backend) -> Certificate:
        """P by one pass of the oracle, D afresh; an oracle that contradicts itself is refused."""
        certificate = super().certify(iterate, backend)
        if np.isfinite(certificate.primal):
            norm = float(np.linalg.norm(certificate.solution.w))
            refuse_contradiction(
                certificate.dual, certificate.primal, f"of P at a w of norm {norm:.6g}"
            )
        return certificate

    def fingerprint(self) -> dict[str, Any]:
        """Sizes, λ, and what the oracle says at 0."""
        kind = type(self.oracle)
        value, slope = self.at_nought
        return {
            "oracle": f"{kind.__module__}.{kind.__qualname__}",
            "features": self.shape[0],
            "examples": self.n_rows,
            "lam": self.lam,
            "sample weights": hashlib.sha256(self.weight.data).hexdigest(),
            "risk of zero": value,
            "labels": hashlib.sha256(slope.tobytes()).hexdigest(),
        }


def _pairwise_steps(share: Any, gains: Any, gram: Any, unit: float) -> float:
    """Move weight from the labelling of the least gain to that of the largest, by exact line
    search, until the block's gap is a tenth of what it was; D grows by s_i/S times the result.

    Modified  share, gains.
    """
    growth, enough = 0.0, -1.0
    for _ in range(_STEPS):
        a = int(gains.argmax())
        apart = float(gains[a] - share @ gains)
        enough = _WORTH * apart if enough < 0 else enough
        b = int(np.where(share > 0, gains, np.inf).argmin())
        pull = float(gains[a] - gains[b])
        if not (apart > enough and pull > 0):
            break
        square = float(gram[a, a] + gram[b, b] - 2.0 * gram[a, b])
        far = float(share[b])
        if pull < far * unit * square:
            far = pull / (unit * square)
            share[b] -= far
        else:
            share[b] = 0.0
        share[a] += far
        gains -= far * unit * (gram[a] - gram[b])
        growth += far * (pull - 0.5 * far * unit * square)
    return growth
