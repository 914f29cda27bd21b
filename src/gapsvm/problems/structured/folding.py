"""RNA folding as a structured problem: Δ counts pairs, the oracle is a dynamic programme.

    Δ(y) = price₀·(pairs of y that the truth has not) + price₁·(pairs of the truth that y has not)

The labellings of a sequence are all structures without pseudoknots whose pairs can form and whose
interior loops have 30 bases at most, and the truth, whatever its loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.problems.structured.own import OracleProblem
from gapsvm.rows import folding

_BASES_A_VISIT = 2000.0
"""A fold of n bases takes as long as n²/2000 visits to structures that are known."""


_backend = cache(get_backend)


@dataclass(frozen=True)
class FoldingOracle:
    """Features, loss and best structure of RNA sequences.

    Parameters
    ----------
    prices : pair of floats
        Of a pair that is wrong, and of one that is missed.
    backend : str or Backend
        What folds: "cpu", or "reference" for plain Python.

    A sequence is its bases as ``gapsvm.rows.folding.encoded`` numbers them, a structure the
    partner of each base.
    """

    prices: tuple[float, float] = (0.1, 1.0)
    backend: str | Backend = "cpu"

    @property
    def n_features(self) -> int:
        return len(folding.feature_names())

    def features(self, x: Any, y: Any) -> Any:
        """φ(x, y): counts of the pieces of a structure."""
        return folding.structure_features(x, y, _backend(self.backend))

    def loss(self, truth: Any, y: Any) -> float:
        """Δ(truth, y)."""
        return folding.pair_loss(truth, y, self.prices)

    def argmax(self, w: Any, x: Any, truth: Any = None) -> Any:
        """The structure of the highest score; given a truth, of the highest score + Δ."""
        scores, backend = folding.scores_of(w), _backend(self.backend)
        if truth is None:
            return folding.fold(x, scores, backend).partners
        prices = np.array(self.prices)
        found = folding.fold(x, scores, backend, truth, prices)
        nothing = prices[1] * (np.count_nonzero(truth) / 2)
        if found.score + nothing < float(self.features(x, truth) @ w):
            return truth  # it has an interior loop that is longer than the programme knows
        return found.partners


class FoldingProblem(OracleProblem):
    """Max-margin RNA folding.

    Parameters
    ----------
    sequences : list of str
        Of A, C, G, U (or T) and N.
    structures : list of str
        Dots and brackets.  Pairs that no fold has, of bases that do not pair or with fewer than
        three bases between them, are left out: ``n_dropped`` counts them.
    lam : float
        λ > 0.
    prices : pair of floats
        What a wrong pair and a missed pair add to the loss.
    lonely_pairs : "drop" or "keep"
        Whether pairs that are stacked on no other are left out of the structures as well.
    sample_weight : array, optional
        s_i ≥ 0 with a positive sum; 1 by default.
    names : list of str, optional
        Of the sequences, for errors.
    backend : str or Backend
        What folds: "cpu", or "reference" for plain Python.
    """

    def __init__(
        self,
        sequences: Sequence[str],
        structures: Sequence[str],
        lam: float,
        *,
        prices: tuple[float, float] = (0.1, 1.0),
        lonely_pairs: Literal["drop", "keep"] = "drop",
        sample_weight: Any = None,
        names: Sequence[str] | None = None,
        backend: str | Backend = "cpu",
    ) -> None:
        if folding.count_of(sequences) != len(structures):
            raise ValueError(
                f"there are {len(sequences)} sequences but {len(structures)} structures"
            )
        if not (len(prices) == 2 and all(0 <= p < np.inf for p in prices) and sum(prices) > 0):
            raise ValueError(
                f"prices (wrong_pair, missed_pair) must be two numbers from 0, one above it, got "
                f"{prices!r}"
            )
        if lonely_pairs not in ("drop", "keep"):
            raise ValueError(f"lonely_pairs must be 'drop' or 'keep', got {lonely_pairs!r}")
        coded = folding.coded_sequences(sequences, names)
        told = [
            folding.partners_of(brackets, len(codes) - 2, folding.name_of(i, names))
            for i, (codes, brackets) in enumerate(zip(coded, structures))
        ]
        truth = [folding.formable(codes, partners) for codes, partners in zip(coded, told)]
        if lonely_pairs == "drop":
            truth = [folding.helical(partners) for partners in truth]
        self.n_dropped = sum(
            int(np.count_nonzero(a) - np.count_nonzero(b)) // 2 for a, b in zip(told, truth)
        )
        super().__init__(
            FoldingOracle((float(prices[0]), float(prices[1])), backend),
            *(coded, truth, lam),
            sample_weight=sample_weight,
            call_cost=max(1.0, _mean_square(coded) / _BASES_A_VISIT),
        )

    def fingerprint(self) -> dict[str, Any]:
        return {**super().fingerprint(), "prices": list(self.oracle.prices)}


def weights_by_length(sequences: Sequence[str]) -> Any:
    """The mean length over the length of each sequence; 1 for an empty one."""
    lengths = np.array([max(len(str(sequence)), 1) for sequence in sequences])
    return lengths.mean() / lengths


def _mean_square(coded: list[Any]) -> float:
    return float(np.mean([len(codes) ** 2 for codes in coded])) if coded else 0.0
