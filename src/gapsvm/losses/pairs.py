"""How well base pairs are found: sensitivity, PPV and F."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class PairScore(NamedTuple):
    """Shares, from 0 to 1, and what they are shares of."""

    sensitivity: float
    """Of the true pairs, those that were predicted."""
    ppv: float
    """Of the predicted pairs, those that are true."""
    f: float
    """2·right/(true + predicted); 1 where there are no pairs at all."""
    n_true: int
    n_predicted: int
    n_right: int


def pair_score(truth: Any, predicted: Any) -> PairScore:
    """The score of one structure, both as the partners of each base, 0 for none."""
    at = np.arange(len(truth))
    n_true, n_predicted = int(np.sum(truth > at)), int(np.sum(predicted > at))
    n_right = int(np.sum((truth > at) & (truth == predicted)))
    both = n_true + n_predicted
    return PairScore(
        n_right / n_true if n_true else 1.0,
        n_right / n_predicted if n_predicted else 1.0,
        2.0 * n_right / both if both else 1.0,
        *(n_true, n_predicted, n_right),
    )


def mean_pair_score(scores: Sequence[PairScore], weights: Any = None) -> PairScore:
    """The means over structures, and the sums of the counts."""
    sensitivity, ppv, f = np.average([score[:3] for score in scores], axis=0, weights=weights)
    true, predicted, right = np.sum([score[3:] for score in scores], axis=0).tolist()
    return PairScore(float(sensitivity), float(ppv), float(f), true, predicted, right)
