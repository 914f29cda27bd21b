"""Random row numbers, all from splitmix64: orders, subsets and independent draws."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from gapsvm.backends.numba.jit import allocating_kernel, kernel


@register_jitable
def _below(state, count):
    """The next state of splitmix64 and a number below ``count``."""
    state += np.uint64(0x9E3779B97F4A7C15)
    x = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return state, np.int64(((x >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


@kernel
def shuffle(order, count, seed):
    """Fisher–Yates on order[:count].  Modified in place: order and seed[0]."""
    state = seed[0]
    for k in range(count - 1, 0, -1):
        state, j = _below(state, k + 1)
        order[k], order[j] = order[j], order[k]
    seed[0] = state


@allocating_kernel
def interleave(rows, streams, seed, order):
    """Order ``rows``, which ascend, at random but kindly to memory.

    They are cut into ``streams`` runs.  Round after round the next row of every run is visited, the
    runs in a new random order and each from a random row on: neighbours are a round apart, yet
    memory is read in so many forward streams.  Modified: order[:rows.size] and seed[0].
    """
    count, filled = rows.size, 0
    turn, shift, state = np.empty(streams, np.uint32), np.empty(streams, np.uint32), seed[0]
    for s in range(streams):
        turn[s] = s
        state, shift[s] = _below(state, (s + 1) * count // streams - s * count // streams)
    seed[0] = state
    for step in range((count + streams - 1) // streams):
        shuffle(turn, streams, seed)
        for s in turn:
            first, last = s * count // streams, (s + 1) * count // streams
            if step < last - first:
                place = first + shift[s] + step
                order[filled] = rows[place if place < last else place - last + first]
                filled += 1


@kernel
def draw_subsets(order, batches, seed):
    """Fill each row of ``batches`` with a uniform subset, the first places of a partial shuffle.

    ``order`` is any permutation of the rows and stays one.  Modified in place: all three.
    """
    state = seed[0]
    for k in range(batches.shape[0]):
        for j in range(batches.shape[1]):
            state, other = _below(state, order.size - j)
            order[j], order[j + other] = order[j + other], order[j]
            batches[k, j] = order[j]
    seed[0] = state


@kernel
def draw_multisets(n, batches, seed):
    """Fill ``batches`` with row numbers below n, drawn independently.  Modified: both arrays."""
    state = seed[0]
    for k in range(batches.shape[0]):
        for j in range(batches.shape[1]):
            state, batches[k, j] = _below(state, n)
    seed[0] = state
