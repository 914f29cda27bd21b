"""Chains of tokens: rows of a matrix with boundaries, and what weights say of their labels.

A weight matrix W has K columns, a label each: first a row for each feature (emissions), then K rows
of transitions, row a for the steps from label a; where features rate steps as well, K rows more for
each feature.  A labelling y of a chain scores

    Σ_t ⟨x_t, W[:d, y_t]⟩ + Σ_t T_t[y_{t−1}, y_t]      T_t = W[d:d+K] + Σ_j x_tj W[d+K+jK : d+2K+jK]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.rows.matrix import Rows
from gapsvm.rows.tokens import later_tokens

MOST_LABELS = 1 << 16
_VALUES = 1 << 21
"""Numbers in the tables of one part of the chains: a part's tables stay in the caches."""

_MOST_SUMS, _TOKENS = 8, 4096
"""Sums over dense rows are taken in so many parts at most, of so many tokens or more."""


@dataclass(frozen=True)
class Chains:
    """Rows, of which starts[i] … starts[i + 1] are the tokens of chain i, one at least."""

    rows: Rows
    starts: Any

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> Any:
        return np.diff(self.starts).astype(np.int64)

    @cached_property
    def firsts(self) -> Any:
        """The first token of each chain."""
        return self.starts[:-1].astype(np.int64)

    @cached_property
    def later(self) -> Any:
        """The tokens that are not the first of their chain."""
        return later_tokens(self.starts)

    @cached_property
    def owners(self) -> Any:
        """The chain of each token."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def longest(self) -> int:
        return int(self.lengths.max(initial=0))

    @property
    def everything(self) -> Any:
        """All chains, as kernels number them."""
        return np.arange(len(self), dtype=np.uint32)

    def tokens(self, order: Any) -> Any:
        """The rows of chains, one chain after the other."""
        lengths = self.lengths[order]
        ends = np.cumsum(lengths)
        offsets = self.firsts[order] - (ends - lengths)
        return np.repeat(offsets, lengths) + np.arange(int(ends[-1]) if len(ends) else 0)

    def parts(self, order: Any, values_per_token: int, at_least: int) -> list[Any]:
        """``order`` cut into that many parts of like length or more, of a bounded size."""
        ends = np.cumsum(self.lengths[order])
        total = int(ends[-1]) if len(ends) else 0
        count = max(at_least, -(-total * values_per_token // _VALUES))
        cuts = np.searchsorted(ends, total * np.arange(1, count) / count)
        return [part for part in np.split(order, cuts) if len(part)]


@dataclass(frozen=True)
class ChainWeights:
    """How a weight matrix is laid out, and which steps between labels are barred."""

    n_features: int
    n_labels: int
    paired: bool = False
    """Features rate steps as well."""
    bars: Any = None
    """K × K: 0, or −∞ where label b may not follow label a; None: every label may follow."""

    @property
    def shape(self) -> tuple[int, int]:
        d, K = self.n_features, self.n_labels
        return (d + K + d * K if self.paired else d + K), K

    @property
    def values_per_token(self) -> int:
        return self.n_labels * (self.n_labels if self.paired else 1)

    def transitions(self, W: Any) -> Any:
        d, K = self.n_features, self.n_labels
        return W[d : d + K]

    def pairs(self, W: Any) -> Any:
        """Features × (steps from a to b): a view."""
        d, K = self.n_features, self.n_labels
        return W[d + K :].reshape(d, K * K)

    def barred(self, edges: Any) -> Any:
        return edges if self.bars is None else edges + self.bars


@dataclass(frozen=True)
class Marginals:
    """Of labels and of steps between them, weighted; less the indicators of the truth, if given."""

    labels: Any
    """Tokens × labels."""
    steps: Any
    """K × K: of all neighbours together."""
    pairs: Any
    """Features × K²: Σ_t x_t (marginals of the step to t)ᵀ, where features rate steps."""
    log_z: Any
    """log Z of each chain, less the score of the truth if there was one."""


@dataclass(frozen=True)
class ChainScores:
    """What W says of the labels of chains; every sum is taken afresh from the rows."""

    chains: Chains
    weights: ChainWeights
    W: Any
    backend: Backend

    def best(self, order: Any, truth: Any = None, cost: float = 0.0) -> tuple[Any, Any]:
        """The best labellings of the chains in ``order``, one after the other, and their values.

        With a truth (a label for each token of all chains) every label that is not its one gains
        ``cost``, and values are differences to the truth's.
        """

        def one(part: Any) -> tuple[Any, Any]:
            scores, edges = self._tables(part)
            labels, values = np.empty(len(scores), dtype=np.uint16), np.empty(len(part))
            right = truth if truth is not None else np.empty(0, dtype=np.uint16)
            ways = np.empty(self.weights.n_labels)
            args = (scores, edges, self.chains.starts, part, right, cost, ways, labels, values)
            self.backend.chain_best(*args)
            return labels, values

        found = self.backend.map(one, self._parts(order))
        if not found:
            return np.empty(0, dtype=np.uint16), np.empty(0)
        labels, values = zip(*found)
        return np.concatenate(labels), np.concatenate(values)

    def of(self, labels: Any) -> Any:
        """The score of a labelling of each chain; a label for every token of all."""
        everything = self.chains.everything
        return self.best(everything)[1] - self.best(everything, labels)[1]

    def k_best(self, i: int, count: int) -> tuple[Any, Any]:
        """The ``count`` best labellings of chain i, best first, one a row, and their scores; fewer
        where there are no more."""
        scores, edges = self._tables(np.array([i], dtype=np.uint32))
        tops, origins = scores[0][:, None], []  # labels × places: best scores of ways to a label
        for t in range(1, len(scores)):
            edge = edges[t if len(edges) > 1 else 0]
            ways = (tops[:, :, None] + edge[:, None, :]).reshape(-1, edge.shape[1])
            order = np.argsort(-ways, axis=0, kind="stable")[:count]
            origins.append((order // tops.shape[1], order % tops.shape[1]))
            tops = np.take_along_axis(ways, order, axis=0).T + scores[t][:, None]
        found = np.argsort(-tops, axis=None, kind="stable")[:count]
        values = tops.ravel()[found]
        found, values = found[np.isfinite(values)], values[np.isfinite(values)]
        labels = np.empty((len(found), len(scores)), dtype=np.intp)
        label, place = np.divmod(found, tops.shape[1])
        for t in range(len(scores) - 1, 0, -1):
            labels[:, t] = label
            before, places = origins[t - 1]
            label, place = before[place, label], places[place, label]
        labels[:, 0] = label
        return labels, values

    def max_marginals(self) -> Any:
        """Tokens × labels: the score of the best labelling that has this label there."""

        def one(part: Any) -> Any:
            scores, edges = self._tables(part)
            ways, out = np.empty((2, self.weights.n_labels)), np.empty_like(scores)
            args = (scores, edges, self.chains.starts, part, ways[0], ways[1], out)
            self.backend.chain_max_marginals(*args)
            return out

        parts = self._parts(self.chains.everything)
        none = np.empty((0, self.weights.n_labels))
        return np.concatenate([none, *self.backend.map(one, parts)])

    def marginals(self, truth: Any = None, weight: Any = None) -> Marginals:
        """Marginals for all chains, each times its weight, by the forward–backward algorithm.

        With a truth (a label for each token) its indicators are taken off: X times the result is
        the gradient of Σ weight_i·(log-loss of chain i).
        """
        chains, K = self.chains, self.weights.n_labels
        right = truth if truth is not None else np.empty(0, dtype=np.uint16)
        mass = np.ones(len(chains)) if weight is None else weight
        labels, log_z = np.empty((chains.rows.shape[0], K)), np.empty(len(chains))
        steps, pairs = np.zeros((K, K)), None

        def one(part: Any) -> tuple[Any, Any]:
            first, last = chains.starts[part[0]], chains.starts[part[-1] + 1]
            scores, edges = self._tables(part)
            edge_marginals, found = self._marginals_of(part, scores, edges, right, mass)
            labels[int(first) : int(last)] = scores
            log_z[part] = found
            if not self.weights.paired:
                return edge_marginals[0], None
            rows = Rows(
                chains.rows.part(int(first), int(last)), (len(scores), chains.rows.shape[1])
            )
            return edge_marginals.sum(axis=0), combination(
                rows, edge_marginals.reshape(-1, K * K), self.backend
            )

        parts = chains.parts(chains.everything, self.weights.values_per_token, _MOST_SUMS)
        together = max(1, self.backend.threads)
        for k in range(0, len(parts), together):  # few at a time: each may have a large sum
            for of_steps, of_pairs in self.backend.map(one, parts[k : k + together]):
                steps += of_steps
                if of_pairs is not None:
                    pairs = of_pairs if pairs is None else np.add(pairs, of_pairs, out=pairs)
        return Marginals(labels, steps, pairs, log_z)

    def pulls(self, order: Any, truth: Any, weight: Any, scale: float) -> tuple[Any, Any]:
        """``marginals`` of the chains in ``order`` alone, at scale·W: of labels, for the tokens of
        one chain after the other, and of steps; features of steps are not known here."""
        scores = self._emissions(order)
        scores *= scale
        edges = self.weights.barred(scale * self.weights.transitions(self.W)[None])
        return scores, self._marginals_of(order, scores, edges, truth, weight)[0][0]

    def _marginals_of(
        self, part: Any, scores: Any, edges: Any, truth: Any, weight: Any
    ) -> tuple[Any, Any]:
        """Marginals of steps, as many tables as edges, and log Z.  Modified: scores, to those of
        labels."""
        longest, K = int(self.chains.lengths[part].max()), self.weights.n_labels
        of_steps, found = np.zeros_like(edges), np.empty(len(part))
        shifts = edges.max(axis=(1, 2))
        powers = np.exp(edges - shifts[:, None, None])
        room, kept = np.empty((longest + 2, K)), np.empty((longest, K))
        tables = scores, edges, powers, shifts, self.chains.starts, part
        self.backend.chain_marginals(*tables, truth, weight, room, kept, of_steps, found)
        return of_steps, found

    def _parts(self, order: Any) -> list[Any]:
        return self.chains.parts(order, self.weights.values_per_token, self.backend.threads)

    def _emissions(self, part: Any) -> Any:
        rows, lengths = self.chains.rows, self.chains.lengths
        scores = np.empty((int(lengths[part].sum()), self.weights.n_labels))
        where = self.chains.starts, part, rows.is_sparse, scores
        self.backend.chain_scores(rows.view, self.W, *where)
        return scores

    def _tables(self, part: Any) -> tuple[Any, Any]:
        """Scores of labels for the tokens of chains, and of steps between them."""
        chains, weights, K = self.chains, self.weights, self.weights.n_labels
        rows, starts = chains.rows, chains.starts
        scores = self._emissions(part)
        edges = weights.transitions(self.W)[None]
        if weights.paired:
            steps = np.empty((len(scores), K * K))
            pairs = weights.pairs(self.W)
            self.backend.chain_scores(rows.view, pairs, starts, part, rows.is_sparse, steps)
            edges = steps.reshape(-1, K, K) + edges
        return scores, weights.barred(edges)


def combination(rows: Rows, coef: Any, backend: Backend, columns: Rows | None = None) -> Any:
    """Σ_t x_t coef_tᵀ, features × columns of coef; ``columns``: the transpose of sparse rows,
    with which every feature is a sum of its own and all threads take part."""
    d = rows.shape[1]
    if columns is not None:
        found = np.empty((d, coef.shape[1]))

        def gather(part: slice) -> None:
            bounds = np.array([part.start, part.stop], dtype=np.uint64)
            order = np.zeros(1, dtype=np.uint32)
            backend.chain_scores(columns.view, coef, bounds, order, True, found[part])

        backend.map(gather, columns.slices(4 * backend.threads))
        return found

    def scatter(part: slice) -> Any:
        out = np.zeros((d + 1, coef.shape[1]))
        view = rows.part(part.start, part.stop)
        backend.multiclass_combination(view, coef[part], 0.0, out)
        return out[:d]

    count = max(
        1, min(_MOST_SUMS, rows.shape[0] // _TOKENS)
    )  # never the threads: sums would differ
    return sum(backend.map(scatter, rows.slices(count)))
