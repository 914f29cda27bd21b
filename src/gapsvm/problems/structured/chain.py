"""Chains of labels as a structured problem: Hamming loss, Viterbi as the oracle."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.problems.limits import check_curvature
from gapsvm.problems.structured.base import Growth, StructuredProblem
from gapsvm.registry.storable import storable
from gapsvm.rows.chains import MOST_LABELS, Chains, ChainScores, ChainWeights, combination
from gapsvm.rows.matrix import Rows, as_rows, checked_rows
from gapsvm.types.chains import KeptLabellings
from gapsvm.types.curves import SIMPLEX_ROUNDING

_SLICE_WORK = 3e7
"""Multiplications of some hundredths of a second."""
_MOST_SLOTS = 256
_BLOCK_STEPS = 10
"""Pairwise steps on one block before the next one has its turn."""


@storable
@dataclass
class ChainDual:
    """Labellings of each chain and their weights; the arrays of ``KeptLabellings``."""

    labels: Any
    share: Any
    cost: Any

    @property
    def kept(self) -> KeptLabellings:
        return KeptLabellings(self.labels, self.share, self.cost)


class LabelledChains:
    """Chains with their true labels: what max-margin and likelihood problems have in common.

    Parameters
    ----------
    X : array or sparse matrix, or ``Rows``
        A row for each token.
    starts : array of integers
        Chain i has the rows starts[i] … starts[i + 1] − 1, one at least.
    y : array of integers
        A label 0, …, n_labels − 1 for each token.
    n_labels : int
        How many labels there are.
    allowed : array of booleans (n_labels × n_labels), optional
        Whether label b may follow label a, allowed[a, b]; every label by default.
    paired : bool
        Whether features rate steps between labels as well as labels.
    backend : str or Backend
        What computes while rows are checked: "cpu", or "reference" for plain NumPy.
    """

    def __init__(
        self,
        X: Any,
        starts: Any,
        y: Any,
        n_labels: int,
        *,
        allowed: Any = None,
        paired: bool = False,
        backend: str | Backend = "cpu",
    ) -> None:
        self.rows: Rows = checked_rows(X, get_backend(backend))
        n, d = self.rows.shape
        self.chains = Chains(self.rows, checked_starts(starts, n))
        self.n_labels = int(n_labels)
        if not 2 <= self.n_labels <= MOST_LABELS:
            raise ValueError(f"n_labels must be between 2 and {MOST_LABELS}, got {n_labels!r}")
        self.y = _checked_labels(y, n, self.n_labels)
        bars = None if allowed is None else _bars(allowed, self.n_labels)
        self.weights = ChainWeights(d, self.n_labels, bool(paired), bars)
        if bars is not None:
            self._check_truth(bars)

    def _check_truth(self, bars: Any) -> None:
        later = self.chains.later
        a, b = self.y[later - 1], self.y[later]
        wrong = np.flatnonzero(np.isneginf(bars[a, b]))
        if len(wrong):
            t = later[wrong[0]]
            i = int(np.searchsorted(self.chains.starts, t, side="right")) - 1
            raise ValueError(
                f"sequence {i} has label {b[wrong[0]]} after label {a[wrong[0]]}, a transition "
                "that is not allowed"
            )

    def scores(self, W: Any, backend: Backend) -> ChainScores:
        return ChainScores(self.chains, self.weights, W, backend)

    @cached_property
    def columns(self) -> Rows | None:
        """The transpose of sparse rows: features as sums over the tokens that have them."""
        return as_rows(self.rows.to_scipy().T.tocsr()) if self.rows.is_sparse else None

    @cached_property
    def longest_pull(self) -> float:
        """A bound: as if all tokens of a chain pulled at the same weights."""
        square = self.rows.sq_norms
        steps = 1.0 + square if self.weights.paired else np.ones_like(square)
        steps[self.chains.firsts] = 0.0
        sums = (np.add.reduceat(np.sqrt(part), self.chains.firsts) for part in (square, steps))
        return float(np.sqrt(2.0 * sum(part**2 for part in sums)).max())

    @property
    def work_of_a_pass(self) -> float:
        """Multiplications of a pass of Viterbi over all chains."""
        n, K = self.rows.shape[0], self.n_labels
        per_value = K * K if self.weights.paired else K
        return float(self.rows.n_stored * per_value + n * K * K)

    def fingerprint(self) -> dict[str, Any]:
        bars = self.weights.bars
        return {
            **self.rows.fingerprint(),
            "labels": hashlib.sha256(self.y.data).hexdigest(),
            "classes": self.n_labels,
            "boundaries": hashlib.sha256(self.chains.starts.data).hexdigest(),
            "paired": self.weights.paired,
            "transitions": "" if bars is None else hashlib.sha256(bars.data).hexdigest(),
        }


class ChainProblem(LabelledChains, StructuredProblem[ChainDual]):
    """Max-margin chains: Δ_i(y) is the number of wrong labels, Viterbi the oracle.

    Parameters
    ----------
    X, starts, y, n_labels, allowed, paired, backend : as for ``LabelledChains``
    lam : float
        λ > 0.
    sample_weight : array, optional
        s_i ≥ 0 for each chain, with a positive sum; 1 by default.
    slots : int
        Labellings kept for each chain at first, the truth among them; there will be more where
        so many carry weight.

    w is a matrix, see ``gapsvm.rows.chains``.  A chain of one token is an example of
    Crammer–Singer's multiclass problem.
    """

    def __init__(
        self,
        X: Any,
        starts: Any,
        y: Any,
        n_labels: int,
        lam: float,
        *,
        sample_weight: Any = None,
        allowed: Any = None,
        paired: bool = False,
        slots: int = 8,
        backend: str | Backend = "cpu",
    ) -> None:
        LabelledChains.__init__(
            self, X, starts, y, n_labels, allowed=allowed, paired=paired, backend=backend
        )
        shape = self.weights.shape
        StructuredProblem.__init__(self, len(self.chains), shape, lam, sample_weight)
        if not slots >= 2:
            raise ValueError(f"slots must be at least 2, got {slots!r}")
        self.slots = int(slots)
        largest = float(np.max(self.rows.sq_norms, initial=0.0)) + 1.0
        longest = max(self.chains.longest, 1)
        heaviest = float(np.max(self.weight, initial=0.0))
        check_curvature(self.lam, largest * longest**2, heaviest, self.total_weight or 1.0)

    @property
    def oracle_work(self) -> float:
        return self.work_of_a_pass

    @property
    def slice_rows(self) -> int:
        per_chain = self.work_of_a_pass / max(self.n_rows, 1)
        return max(1, min(self.n_rows, int(_SLICE_WORK / max(per_chain, 1.0))))

    @cached_property
    def primal_at_zero(self) -> float:
        """P₀: all labels wrong, as far as bars between labels leave that open."""
        if self.weights.bars is None:
            return float(self.mean_weight @ self.chains.lengths)
        _, most = self.worst(self.zeros(), self.chains.everything, get_backend("cpu"))
        return float(self.mean_weight @ most)

    def truth(self) -> ChainDual:
        share, cost = np.ones((self.n_rows, 1)), np.zeros((self.n_rows, 1))
        return self._with_slots(ChainDual(self.y[None], share, cost), self.slots)

    def _with_slots(self, dual: ChainDual, slots: int) -> ChainDual:
        """The same with so many slots; those that are new are empty."""
        kept = dual.labels.shape[0]
        labels = np.zeros((slots, len(self.y)), dtype=np.uint16)
        share, cost = np.zeros((self.n_rows, slots)), np.full((self.n_rows, slots), -1.0)
        labels[:kept], share[:, :kept], cost[:, :kept] = dual.labels, dual.share, dual.cost
        return ChainDual(labels, share, cost)

    def room_for(self, dual: ChainDual) -> ChainDual:
        return self._with_slots(dual, max(self.slots, len(dual.labels)))

    def worst(self, w: Any, examples: Any, backend: Backend) -> tuple[Any, Any]:
        return self.scores(w, backend).best(examples, self.y, 1.0)

    def worst_at(self, scale: float, v: Any, examples: Any, backend: Backend) -> tuple[Any, Any]:
        """The labels that are wrong cost 1/scale in place of 1: w itself is not made."""
        return self.scores(v, backend).best(examples, self.y, 1.0 / scale)

    def push(self, w: Any, examples: Any, found: Any, steps: Any, backend: Backend) -> float:
        d = np.uint64(self.rows.shape[1])
        growth = backend.chain_push(
            self.rows.view, w, d, self.chains.starts, examples, found, self.y, steps
        )
        return float(growth)

    def tally(self, dual: ChainDual, examples: Any, found: Any) -> None:
        p = 0
        for i in map(int, examples):
            first, last = int(self.chains.starts[i]), int(self.chains.starts[i + 1])
            labels = found[p : p + last - first]
            p += last - first
            kept = dual.labels[:, first:last]
            slots = np.flatnonzero((kept == labels).all(axis=1) & (dual.cost[i] >= 0))
            if len(slots):
                dual.share[i, slots[0]] += 1.0
                continue
            empty = np.flatnonzero(dual.cost[i] < 0)
            if not len(empty) and len(dual.labels) < _MOST_SLOTS:
                more = self._with_slots(dual, 2 * len(dual.labels))
                dual.labels, dual.share, dual.cost = more.labels, more.share, more.cost
                empty = np.flatnonzero(dual.cost[i] < 0)
            slot = empty[0] if len(empty) else 1 + int(dual.share[i, 1:].argmin())
            dual.labels[slot, first:last] = labels
            dual.share[i, slot] += 1.0  # where all slots are taken, the rarest one's visits as well
            dual.cost[i, slot] = np.sum(labels != self.y[first:last])

    def subgradient(self, w: Any, backend: Backend) -> tuple[float, Any]:
        labels, values = self.worst(w, self.chains.everything, backend)
        one = np.ones((self.n_rows, 1))
        slope = -self._combination(labels[None], one, backend)
        return float(self.mean_weight @ values), slope

    def settle(
        self, dual: ChainDual, w: Any, examples: Any, found: Any, gaps: Any, backend: Backend
    ) -> Growth:
        none = np.empty(0, dtype=np.uint16)
        scale = np.array([1.0 / self.lam, 1.0])
        growth, work, crowded = backend.chain_block_steps(
            *(self.rows.view, w, np.uint64(self.rows.shape[1]), self.chains.starts, examples),
            *(none if found is None else found, dual.kept, self.mean_weight, scale),
            *(_BLOCK_STEPS, np.empty(len(dual.labels)), gaps),
        )
        if crowded and len(dual.labels) < _MOST_SLOTS:
            more = self._with_slots(dual, 2 * len(dual.labels))
            dual.labels, dual.share, dual.cost = more.labels, more.share, more.cost
        return Growth(growth, work)

    def dual_value(self, dual: ChainDual, backend: Backend) -> tuple[float, Any]:
        labels, share = np.asarray(dual.labels), np.asarray(dual.share)
        if not self._feasible(labels, share):
            return -np.inf, self.zeros()
        share = share / share.sum(axis=1, keepdims=True)
        wrong = np.add.reduceat(labels != self.y, self.chains.firsts, axis=1)
        costs = float(self.mean_weight @ np.einsum("is,si->i", share, wrong))
        w = self._combination(labels, share, backend) / self.lam
        return costs - 0.5 * self.lam * float(np.vdot(w, w)), w

    def _feasible(self, labels: Any, share: Any) -> bool:
        """Whether α is weights of sum 1, of labellings that no bar forbids."""
        if labels.shape[1:] != self.y.shape or share.shape != (self.n_rows, len(labels)):
            return False
        astray = np.abs(share.sum(axis=1) - 1.0).max(initial=0.0)
        if not (share.min(initial=0.0) >= 0 and astray <= SIMPLEX_ROUNDING):
            return False
        if labels.max(initial=0) >= self.n_labels:
            return False
        if self.weights.bars is None:
            return True
        later, chain_of = self.chains.later, self.chains.owners
        barred = np.isneginf(self.weights.bars)[labels[:, later - 1], labels[:, later]]
        return not np.any(barred & (share.T[:, chain_of[later]] > 0))

    def _combination(self, labels: Any, share: Any, backend: Backend) -> Any:
        """(1/S) Σ s_i Σ_s share_is (φ_i(y_i) − φ_i(labels_s)), a labelling of all chains a row."""
        weights, K = self.weights, self.n_labels
        chain_of = self.chains.owners
        tokens, later = np.arange(len(self.y)), self.chains.later
        at = later if weights.paired else np.zeros_like(later)
        coef = np.zeros((len(self.y), K))
        steps = np.zeros((len(self.y) if weights.paired else 1, K, K))
        for y, part in zip((self.y, *labels), (np.ones(self.n_rows), *(-share.T))):
            mass = (self.mean_weight * part)[chain_of]
            coef[tokens, y] += mass
            np.add.at(steps, (at, y[later - 1], y[later]), mass[later])
        w = self.zeros()
        w[: weights.n_features] = combination(self.rows, coef, backend, self.columns)
        weights.transitions(w)[:] = steps.sum(axis=0)
        if weights.paired:
            flat = steps.reshape(len(steps), -1)
            weights.pairs(w)[:] = combination(self.rows, flat, backend, self.columns)
        return w

    def fingerprint(self) -> dict[str, Any]:
        return {
            **LabelledChains.fingerprint(self),
            "loss": "hamming",
            "lam": self.lam,
            "sample weights": hashlib.sha256(self.weight.data).hexdigest(),
        }


def checked_starts(starts: Any, n: int) -> Any:
    """Boundaries as kernels read them."""
    found = np.asarray(starts)
    if found.ndim != 1 or len(found) < 1 or found.dtype.kind not in "iu":
        raise ValueError("starts must be a list of whole numbers: 0, …, the number of rows")
    found = found.astype(np.int64)
    if found[0] != 0 or found[-1] != n:
        raise ValueError(f"starts must begin with 0 and end with {n}, the number of rows of X")
    short = np.flatnonzero(np.diff(found) < 1)
    if len(short):
        raise ValueError(f"sequence {short[0]} is empty; leave it out")
    return found.astype(np.uint64)


def _checked_labels(y: Any, n: int, n_labels: int) -> Any:
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"X has {n} tokens but y has shape {y.shape}")
    if y.dtype.kind not in "iu" or np.any((y < 0) | (y >= n_labels)):
        raise ValueError(f"y must hold whole numbers from 0 to n_labels - 1 = {n_labels - 1}")
    return np.ascontiguousarray(y, dtype=np.uint16)


def _bars(allowed: Any, n_labels: int) -> Any:
    allowed = np.asarray(allowed)
    if allowed.shape != (n_labels, n_labels) or allowed.dtype != bool:
        raise ValueError(f"allowed must be a {n_labels} by {n_labels} array of booleans")
    return np.where(allowed, 0.0, -np.inf)
