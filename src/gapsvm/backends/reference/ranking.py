"""Ranking losses pair by pair."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np


def pair_hinge(
    scores: Any, order: Any, starts: Any, rank: Any, weight: Any, factor: Any, tree: Any, pull: Any
) -> tuple[float, float]:
    """Σ_q factor_q Σ s_i s_j max(0, 1 − (z_i − z_j)) over pairs with rank_i > rank_j."""
    value = mass = 0.0
    for share, (first, last) in zip(factor, pairwise(starts)):
        rows = order[first:last]
        z, r, s = scores[rows], rank[rows], weight[rows]
        lead = z[:, None] - z
        pairs = share * np.outer(s, s) * ((r[:, None] > r) & (lead < 1.0))
        value += float(np.sum(pairs * (1.0 - lead)))
        mass += float(pairs.sum())
        pull[rows] = pairs.sum(axis=0) - pairs.sum(axis=1)
    return value, mass
