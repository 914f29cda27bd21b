"""RNA structures piece by piece: the entries of each loop."""

from __future__ import annotations

from typing import Any

from gapsvm.types import folding as f


def kind(s: Any, i: int, j: int) -> int:
    """The number of the pair of two bases."""
    return int(f.PAIR_OF[s[i], s[j]])


def end(table: int, s: Any, p: int, q: int) -> int:
    """Of the end of a helix, its pair (p, q) as seen from the loop."""
    return table + (kind(s, p, q) * f.N_BASES + int(s[p + 1])) * f.N_BASES + int(s[q - 1])


def hairpin(s: Any, i: int, j: int) -> list[int]:
    """The loop that (i, j) closes has no other pair."""
    loop = "".join((f.LETTERS + "N")[c] for c in s[i + 1 : j])
    found = [f.PAIR + kind(s, i, j), f.HAIRPIN + min(len(loop), f.LONGEST)]
    found.append(end(f.HAIRPIN_END, s, i, j))
    if len(loop) == 4 and loop[0] == "G" and loop[2] in "AG" and loop[3] == "A":
        found.append(f.FOUR)
    if len(loop) == 4 and loop[0] == "U" and loop[2:] == "CG":
        found.append(f.FOUR + 1)
    return found


def two_pairs(s: Any, i: int, j: int, k: int, m: int) -> list[int]:
    """The loop between (i, j) and (k, m) inside it."""
    first, second = k - i - 1, j - m - 1
    own, both = f.PAIR + kind(s, i, j), f.N_PAIRS * kind(s, i, j) + kind(s, k, m)
    if first == second == 0:
        return [own, f.STACK + both]
    if first + second == 1:
        base = int(s[i + 1] if first else s[j - 1])
        return [own, f.BULGE + 1, f.BULGE_STACK + both, f.BULGE_BASE + base]
    if first == 0 or second == 0:
        ends = [f.BULGE_END + kind(s, i, j), f.BULGE_END + kind(s, m, k)]
        return [own, f.BULGE + min(first + second, f.LONGEST), *ends]
    first = min(first, f.LONGEST - 1)
    second = max(1, min(second, f.LONGEST - first))
    ends = [end(f.INTERIOR_END, s, i, j), end(f.INTERIOR_END, s, m, k)]
    found = [own, f.INTERIOR + (f.LONGEST + 1) * first + second, *ends]
    if first == second == 1:
        found.append(f.ONE_BY_ONE + f.N_BASES * int(s[i + 1]) + int(s[j - 1]))
    return found


def closing(s: Any, i: int, j: int) -> list[int]:
    """(i, j) closes a multiloop: what it has but for its branches and unpaired bases."""
    return [f.PAIR + kind(s, i, j), end(f.MULTI_END, s, i, j), f.MULTI_OPEN]


def _branches(partners: Any, first: int, last: int) -> tuple[list[int], int]:
    """The places where pairs begin between two positions, outside other pairs; bases unpaired."""
    found, unpaired, k = [], 0, first
    while k <= last:
        if partners[k] > k:
            found.append(k)
            k = int(partners[k])
        else:
            unpaired += 1
        k += 1
    return found, unpaired


def structure_counts(s: Any, partners: Any, entries: Any, counts: Any) -> None:
    n = len(s) - 2
    for i in range(1, n + 1):
        j = int(partners[i])
        if j < i:
            continue
        inside, unpaired = _branches(partners, i + 1, j - 1)
        if not inside:
            pieces = hairpin(s, i, j)
        elif len(inside) == 1:
            pieces = two_pairs(s, i, j, inside[0], int(partners[inside[0]]))
        else:
            ends = [end(f.MULTI_END, s, int(partners[k]), k) for k in inside]
            pieces = [*closing(s, i, j), *ends, *([f.MULTI_UNPAIRED] * unpaired)]
        for piece in pieces:
            counts[piece] += 1.0
    outside, unpaired = _branches(partners, 1, n)
    for k in outside:
        counts[end(f.EXTERNAL_END, s, int(partners[k]), k)] += 1.0
    counts[f.EXTERNAL_UNPAIRED] += unpaired
