"""The best structure of an RNA sequence, by a dynamic programme over its intervals.

    V(i, j)   the best of i … j where i and j pair: a hairpin; a loop of two pairs, interior ones of
              30 bases at most; or a multiloop, of two branches or more inside (i, j)
    M(i, j)   the best part of a multiloop with one branch or more, M2(i, j) with two or more
    M2(i, j)  = max(M2(i + 1, j) + u, max_k V′(i, k) + M(k + 1, j))      u: an unpaired base
    F(i)      = max(F(i + 1) + u₀, max_k V″(i, k) + F(k + 1)): the best of i … n, outside all pairs

V′ and V″ hold the end of the helix at a multiloop and outside.  All of row i follows from rows
below it: rows are filled from the last to the first, each with loops over neighbouring numbers.
Interior loops of given lengths on both strands add the same number in a whole row.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from gapsvm.backends.numba.jit import kernel
from gapsvm.backends.numba.structures import (
    PAIR_OF,
    bulge_entries,
    closing_entries,
    end_entry,
    hairpin_entries,
    interior_entries,
    stack_entries,
    sum_of,
    two_pair_entries,
)
from gapsvm.types import folding as f

_NEAR = 31  # rows of ``near`` less one: a power of two less one
_OUTSIDE, _PAIR, _SOME, _MANY = 0, 1, 2, 3


@register_jitable
def _row(i, n):
    """Where column 0 of row i would lie in a table of rows i of columns i … n."""
    return (i - 1) * n - (i - 1) * (i - 2) // 2 - i


@register_jitable
def _raise_by_one(best, source, score):
    for p in range(np.uint64(best.size)):
        other = source[p] + score
        best[p] = other if other > best[p] else best[p]


@register_jitable
def _raise_by_four(best, source, scores):
    """best[p] against source[p + 3] + scores[0], …, source[p] + scores[3]."""
    a, b, c, d = scores[0], scores[1], scores[2], scores[3]
    zero = np.uint64(0)
    for p in range(zero, np.uint64(best.size)):
        one = source[p + np.uint64(3)] + a
        two = source[p + np.uint64(2)] + b
        three = source[p + np.uint64(1)] + c
        four = source[p] + d
        one = two if two > one else one
        three = four if four > three else three
        one = three if three > one else one
        best[p] = one if one > best[p] else best[p]


@register_jitable
def _interior_row(i, n, near, scores, best):
    """best[j]: of interior loops of (i, j), but for the end of its helix and those of two bases."""
    for first in range(1, f.LONGEST):
        k = i + 1 + first
        if k + f.SHORTEST + 3 > n:
            break
        row, lengths = near[k & _NEAR], scores[f.INTERIOR + (f.LONGEST + 1) * first :]
        second = 2 if first == 1 else 1
        while second + first <= f.LONGEST:
            least = k + f.SHORTEST + 2 + second
            if least > n:
                break
            begin = least - 1 - second
            if second + 3 + first <= f.LONGEST:
                four = lengths[second : second + 4]
                _raise_by_four(best[least : n + 1], row[begin - 3 : n - second], four)
                second += 4
            else:
                _raise_by_one(best[least : n + 1], row[begin : n - second], lengths[second])
                second += 1


@register_jitable
def _bulge_row(i, n, near, scores, best):
    """best[j]: of bulges of two bases or more next to (i, j), but for the end of its helix."""
    for length in range(2, f.LONGEST + 1):
        score, least = scores[f.BULGE + length], i + f.SHORTEST + 3 + length
        if least > n:
            break
        right = near[(i + 1) & _NEAR]
        _raise_by_one(best[least : n + 1], right[least - 1 - length : n - length], score)
        left = near[(i + 1 + length) & _NEAR]
        _raise_by_one(best[least : n + 1], left[least - 1 : n], score)


@register_jitable
def _paired(s, i, j, scores, room, entries):
    """V(i, j) but for the loss, ``room.rows`` holding the best of interior loops and bulges."""
    n = s.size - 2
    inner = room.paired
    best = sum_of(scores, entries, hairpin_entries(s, i, j, entries))
    outer = PAIR_OF[s[i], s[j]]
    own = scores[f.PAIR + outer]
    loop = own + scores[end_entry(f.INTERIOR_END, s, i, j)] + room.rows[0, j]
    best = max(best, loop, own + scores[f.BULGE_END + outer] + room.rows[1, j])
    if j - i > f.SHORTEST + 2 and PAIR_OF[s[i + 1], s[j - 1]] != f.NO_PAIR:
        value = sum_of(scores, entries, stack_entries(s, i, j, entries))
        best = max(best, value + inner[_row(i + 1, n) + j - 1])
    if j - i > f.SHORTEST + 3:
        for k in range(i + 1, i + 3):
            m = j - 3 + k - i
            if PAIR_OF[s[k], s[m]] != f.NO_PAIR:
                value = sum_of(scores, entries, bulge_entries(s, i, j, k, m, entries))
                best = max(best, value + inner[_row(k, n) + m])
    if j - i > f.SHORTEST + 4 and PAIR_OF[s[i + 2], s[j - 2]] != f.NO_PAIR:
        value = sum_of(scores, entries, interior_entries(s, i, j, i + 2, j - 2, entries))
        best = max(best, value + inner[_row(i + 2, n) + j - 2])
    if j - i > 2:
        value = sum_of(scores, entries, closing_entries(s, i, j, entries))
        best = max(best, value + room.many[_row(i + 1, n) + j - 1])
    return best


@register_jitable
def _fill_pairs(s, i, scores, truth, prices, room, entries):
    """Row i of V, and of ``near``."""
    n = s.size - 2
    at = _row(i, n)
    for j in range(i, n + 1):
        room.paired[at + j] = -np.inf
        room.near[0, i & _NEAR, j] = room.near[1, i & _NEAR, j] = -np.inf
        room.rows[0, j] = room.rows[1, j] = -np.inf
    _interior_row(i, n, room.near[0], scores, room.rows[0])
    _bulge_row(i, n, room.near[1], scores, room.rows[1])
    for j in range(i + f.SHORTEST + 1, n + 1):
        if PAIR_OF[s[i], s[j]] == f.NO_PAIR:
            continue
        value = _paired(s, i, j, scores, room, entries)
        if truth.size > 0:
            value += -prices[1] if truth[i] == j else prices[0]
        room.paired[at + j] = value
        room.near[0, i & _NEAR, j] = value + scores[end_entry(f.INTERIOR_END, s, j, i)]
        room.near[1, i & _NEAR, j] = value + scores[f.BULGE_END + PAIR_OF[s[j], s[i]]]


@register_jitable
def _fill_branches(s, i, scores, room):
    """Rows i of M2 and M; ``room.rows[2]`` holds the best with exactly one branch."""
    n = s.size - 2
    unpaired, one, at = scores[f.MULTI_UNPAIRED], room.rows[2], _row(i, n)
    below = _row(i + 1, n)
    many = room.many[at + i : at + n + 1]
    many[0] = -np.inf
    for j in range(i + 1, n + 1):
        many[j - i] = room.many[below + j] + unpaired
    last = -np.inf
    one[i] = -np.inf
    for j in range(i + 1, n + 1):
        value = room.paired[at + j]
        last += unpaired
        if value > -np.inf:
            value += scores[end_entry(f.MULTI_END, s, j, i)]
            last = max(last, value)
            if j < n:
                rest = _row(j + 1, n) + j + 1
                _raise_by_one(many[j + 1 - i :], room.some[rest : rest + n - j], value)
        one[j] = max(one[j] + unpaired, last)
    for j in range(i, n + 1):
        room.some[at + j] = max(one[j], many[j - i])


@register_jitable
def _outside(s, i, scores, room):
    """F(i), and the partner of i it has."""
    n = s.size - 2
    at, outside, partner = _row(i, n), room.rows[3], 0
    best = outside[i + 1] + scores[f.EXTERNAL_UNPAIRED]
    for j in range(i + f.SHORTEST + 1, n + 1):
        value = room.paired[at + j]
        if value > -np.inf:
            value += scores[end_entry(f.EXTERNAL_END, s, j, i)] + outside[j + 1]
            if value > best:
                best, partner = value, j
    return best, partner


@register_jitable
def _inside(s, i, j, scores, room, entries):
    """The loop of V(i, j): its other pair (k, m), (0, 0) for a hairpin, (−1, 0) for a multiloop."""
    n = s.size - 2
    best, k_best, m_best = sum_of(scores, entries, hairpin_entries(s, i, j, entries)), 0, 0
    for k in range(i + 1, min(i + f.LONGEST + 2, j - f.SHORTEST - 1)):
        room_left = f.LONGEST - (k - i - 1)
        for m in range(max(j - 1 - room_left, k + f.SHORTEST + 1), j):
            inner = room.paired[_row(k, n) + m]
            if inner > -np.inf:
                size = two_pair_entries(s, i, j, k, m, entries)
                value = sum_of(scores, entries, size) + inner
                if value > best:
                    best, k_best, m_best = value, k, m
    value = sum_of(scores, entries, closing_entries(s, i, j, entries))
    if value + room.many[_row(i + 1, n) + j - 1] > best:
        return -1, 0
    return k_best, m_best


@register_jitable
def _branch(s, i, j, scores, room, least):
    """How M(i, j), or M2 for ``least`` 2, begins: the partner of i, 0 if it has none; and whether
    more branches follow it."""
    n = s.size - 2
    table = room.many if least == 2 else room.some
    unpaired, at = scores[f.MULTI_UNPAIRED], _row(i, n)
    best, partner, more = -np.inf, 0, False
    if i < j:
        best = table[_row(i + 1, n) + j] + unpaired
    for k in range(i + f.SHORTEST + 1, j + 1):
        value = room.paired[at + k]
        if value > -np.inf:
            value += scores[end_entry(f.MULTI_END, s, k, i)]
            alone = value + (j - k) * unpaired
            if least == 1 and alone > best:
                best, partner, more = alone, k, False
            if k < j and value + room.some[_row(k + 1, n) + j] > best:
                best, partner, more = value + room.some[_row(k + 1, n) + j], k, True
    return partner, more


@register_jitable
def _push(stack, size, kind, i, j):
    stack[0, size], stack[1, size], stack[2, size] = kind, i, j
    return size + 1


@register_jitable
def _trace(s, scores, room, entries, partners):
    """Follow the best choices; every pair that they make is noted."""
    n, stack = s.size - 2, room.stack
    size = _push(stack, 0, _OUTSIDE, 1, n)
    while size > 0:
        size -= 1
        kind, i, j = stack[0, size], stack[1, size], stack[2, size]
        if kind == _PAIR:
            partners[i], partners[j] = j, i
            k, m = _inside(s, i, j, scores, room, entries)
            if k > 0:
                size = _push(stack, size, _PAIR, k, m)
            elif k < 0:
                size = _push(stack, size, _MANY, i + 1, j - 1)
        elif kind == _OUTSIDE:
            while i <= n:
                partner = _outside(s, i, scores, room)[1]
                if partner > 0:
                    size = _push(stack, size, _PAIR, i, partner)
                    i = partner
                i += 1
        else:
            partner, more = _branch(s, i, j, scores, room, 2 if kind == _MANY else 1)
            if partner == 0:
                size = _push(stack, size, kind, i + 1, j)
            else:
                size = _push(stack, size, _PAIR, i, partner)
                if more:
                    size = _push(stack, size, _SOME, partner + 1, j)


@kernel
def fold(s, scores, truth, prices, room, entries, partners):
    """The best structure of a sequence, and its score.

    Given     s: the bases; scores: of pieces; truth: a structure, or empty; prices: with a truth, a
              pair that it has not adds prices[0] and one that it has takes prices[1] away: the loss
              less that of no pairs; room and entries, written before they are read.
    Modified  partners: the structure.
    Returns   the score of the structure, with those prices.
    """
    n = s.size - 2
    outside = room.rows[3]
    for j in range(n + 2):
        partners[j] = 0
        room.rows[2, j] = -np.inf
        outside[j] = 0.0
    for i in range(n, 0, -1):
        _fill_pairs(s, i, scores, truth, prices, room, entries)
        _fill_branches(s, i, scores, room)
        outside[i] = _outside(s, i, scores, room)[0]
    _trace(s, scores, room, entries, partners)
    return outside[1]
