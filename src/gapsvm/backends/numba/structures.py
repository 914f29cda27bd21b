"""RNA structures piece by piece: which entries of the scores each loop has, and their counts.

A loop is known by the pair that closes it.  ``entries`` is room for the numbers of its entries;
each function returns how many there are.
"""

from __future__ import annotations

from numba.extending import register_jitable

from gapsvm.backends.numba.jit import kernel
from gapsvm.types import folding as f

_G, _U, _C, _A = 2, 3, 1, 0
PAIR_OF = f.PAIR_OF


@register_jitable
def end_entry(table, s, p, q):
    """Of the end of a helix, its pair (p, q) as seen from the loop."""
    kind = PAIR_OF[s[p], s[q]]
    return table + (kind * f.N_BASES + s[p + 1]) * f.N_BASES + s[q - 1]


@register_jitable
def hairpin_entries(s, i, j, entries):
    """The loop that (i, j) closes has no other pair."""
    length = j - i - 1
    entries[0] = f.PAIR + PAIR_OF[s[i], s[j]]
    entries[1] = f.HAIRPIN + min(length, f.LONGEST)
    entries[2] = end_entry(f.HAIRPIN_END, s, i, j)
    if length == 4:
        if s[i + 1] == _G and (s[i + 3] == _A or s[i + 3] == _G) and s[i + 4] == _A:
            entries[3] = f.FOUR
            return 4
        if s[i + 1] == _U and s[i + 3] == _C and s[i + 4] == _G:
            entries[3] = f.FOUR + 1
            return 4
    return 3


@register_jitable
def stack_entries(s, i, j, entries):
    """(i + 1, j − 1) pair as well."""
    outer = PAIR_OF[s[i], s[j]]
    entries[0] = f.PAIR + outer
    entries[1] = f.STACK + f.N_PAIRS * outer + PAIR_OF[s[i + 1], s[j - 1]]
    return 2


@register_jitable
def bulge_entries(s, i, j, k, m, entries):
    """The other pair of the loop is (k, m), next to (i, j) on one strand."""
    length = k - i + j - m - 2
    outer = PAIR_OF[s[i], s[j]]
    entries[0] = f.PAIR + outer
    entries[1] = f.BULGE + min(length, f.LONGEST)
    if length == 1:
        entries[2] = f.BULGE_STACK + f.N_PAIRS * outer + PAIR_OF[s[k], s[m]]
        entries[3] = f.BULGE_BASE + (s[i + 1] if k > i + 1 else s[j - 1])
    else:
        entries[2] = f.BULGE_END + outer
        entries[3] = f.BULGE_END + PAIR_OF[s[m], s[k]]
    return 4


@register_jitable
def interior_entries(s, i, j, k, m, entries):
    """The other pair is (k, m), with bases between on both strands."""
    first = min(k - i - 1, f.LONGEST - 1)
    second = max(1, min(j - m - 1, f.LONGEST - first))
    entries[0] = f.PAIR + PAIR_OF[s[i], s[j]]
    entries[1] = f.INTERIOR + (f.LONGEST + 1) * first + second
    entries[2] = end_entry(f.INTERIOR_END, s, i, j)
    entries[3] = end_entry(f.INTERIOR_END, s, m, k)
    if first == 1 and second == 1:
        entries[4] = f.ONE_BY_ONE + f.N_BASES * s[i + 1] + s[j - 1]
        return 5
    return 4


@register_jitable
def two_pair_entries(s, i, j, k, m, entries):
    """Any loop of two pairs, (k, m) inside (i, j)."""
    if k == i + 1 and m == j - 1:
        return stack_entries(s, i, j, entries)
    if k == i + 1 or m == j - 1:
        return bulge_entries(s, i, j, k, m, entries)
    return interior_entries(s, i, j, k, m, entries)


@register_jitable
def closing_entries(s, i, j, entries):
    """(i, j) closes a multiloop: what it has but for its branches and unpaired bases."""
    entries[0] = f.PAIR + PAIR_OF[s[i], s[j]]
    entries[1] = end_entry(f.MULTI_END, s, i, j)
    entries[2] = f.MULTI_OPEN
    return 3


@register_jitable
def sum_of(scores, entries, count):
    total = 0.0
    for e in range(count):
        total += scores[entries[e]]
    return total


@register_jitable
def _count_loop(s, partners, i, j, entries, counts):
    """Count the entries of the loop that (i, j) closes."""
    branches, unpaired, k, first = 0, 0, i + 1, 0
    while k < j:
        if partners[k] > k:
            first = k if branches == 0 else first
            branches += 1
            k = partners[k] + 1
        else:
            unpaired += 1
            k += 1
    if branches == 0:
        size = hairpin_entries(s, i, j, entries)
    elif branches == 1:
        size = two_pair_entries(s, i, j, first, partners[first], entries)
    else:
        size = closing_entries(s, i, j, entries)
        counts[f.MULTI_UNPAIRED] += unpaired
        k = first
        while k < j:
            if partners[k] > k:
                counts[end_entry(f.MULTI_END, s, partners[k], k)] += 1.0
                k = partners[k]
            k += 1
    for e in range(size):
        counts[entries[e]] += 1.0


@kernel
def structure_counts(s, partners, entries, counts):
    """What a structure has of each piece.

    Given     a sequence, a structure without crossing pairs, room for entries.
    Modified  counts: those of the structure are added.
    """
    n = s.size - 2
    for i in range(1, n + 1):
        if partners[i] > i:
            _count_loop(s, partners, i, partners[i], entries, counts)
    i = 1
    while i <= n:
        if partners[i] > i:
            counts[end_entry(f.EXTERNAL_END, s, partners[i], i)] += 1.0
            i = partners[i] + 1
        else:
            counts[f.EXTERNAL_UNPAIRED] += 1.0
            i += 1
