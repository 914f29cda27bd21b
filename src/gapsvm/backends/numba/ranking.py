"""The hinge loss of all pairs of documents of a query, without visiting the pairs."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from gapsvm.backends.numba.jit import kernel

_ZERO, _ONE = np.int64(0), np.int64(1)


@register_jitable
def _add(tree, rank, amount):
    """tree[rank] += amount in a tree of partial sums (Fenwick)."""
    k = rank + _ONE
    while k <= tree.size:
        tree[k - _ONE] += amount
        k += k & -k


@register_jitable
def _sum_below(tree, rank):
    """Σ of the amounts at ranks less than this one."""
    total, k = 0.0, rank
    while k > _ZERO:
        total += tree[k - _ONE]
        k -= k & -k
    return total


@kernel
def pair_hinge(scores, order, starts, rank, weight, factor, tree, pull):
    """Σ_q factor_q Σ s_i s_j max(0, 1 − (z_i − z_j)) over pairs with rank_i > rank_j.

    Given     order: documents query by query, starts[q] … starts[q + 1] those of q, their scores
              ascending; rank: grades as numbers from 0 within the tree's size.
    Modified  pull_i = the derivative in z_i.  tree: room for a number a grade.
    Returns   the sum, and Σ factor·s_i s_j over the pairs that have a loss.
    """
    value, mass = 0.0, 0.0
    for q in range(starts.size - 1):
        first, last = starts[q], starts[q + 1]
        if factor[q] == 0.0:
            for k in range(first, last):
                pull[order[k]] = 0.0
            continue
        tree[:] = 0.0
        near = last - _ONE
        for k in range(last - _ONE, first - _ONE, -_ONE):  # as the better one of a pair
            i = order[k]
            while near >= first and scores[i] - scores[order[near]] < 1.0:
                _add(tree, rank[order[near]], weight[order[near]])
                near -= _ONE
            worse = factor[q] * weight[i] * _sum_below(tree, rank[i])
            mass += worse
            value += worse * (1.0 - scores[i])
            pull[i] = -worse
        tree[:] = 0.0
        near, total = first, 0.0
        for k in range(first, last):  # as the worse one
            j = order[k]
            while near < last and scores[order[near]] - scores[j] < 1.0:
                _add(tree, rank[order[near]], weight[order[near]])
                total += weight[order[near]]
                near += _ONE
            better = factor[q] * weight[j] * (total - _sum_below(tree, rank[j] + _ONE))
            value += better * scores[j]
            pull[j] += better
    return value, mass
