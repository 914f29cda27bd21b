"""What Takáč §5 says of Figure 1, and the number that decides each statement."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gapsvm.reproduce.claims import AHEAD, NOISE, Bar, Claim, Verdict, plain
from gapsvm.reproduce.framework import Row, Settings
from gapsvm.reproduce.takac.figure1 import Counts, counts_of

LEAST_KNEE = 8
"""The least b up to which a speed-up can be called linear: three doublings."""

AHEAD_AT_ONE = Claim(
    "SDCA is ahead of Pegasos at b = 1", "iterations of Pegasos over those of SDCA", AHEAD
)
NEARLY_LINEAR = {
    method: Claim(
        f"{name}: nearly linear speed-up until b ≈ 1/σ²",
        f"least speed-up over b, b = 2 to the last power of two below 1/σ², {LEAST_KNEE} or more,",
        Bar(0.5, 0.25),
    )
    for method, name in (
        ("pegasos", "Pegasos"), ("safe", "safe SDCA"), ("aggressive", "aggressive SDCA"),
    )
}  # fmt: skip
"""β_b ≤ 2 up to 1/σ² promises half of b."""
NAIVE_FAILS = Claim(
    "naive SDCA deteriorates for large b",
    "its iterations at the largest b over its fewest",
    Bar(NOISE, 1.0),
)
FAILS_WHERE = Claim(
    "it deteriorates once b ≈ 1/σ²",
    "the least b at which it fails, or takes 1.25 times its fewest iterations, in units of 1/σ²",
    Bar(4.0, 16.0),
)
SAFE_FLATTENS = Claim(
    "safe SDCA allows not much speed-up past b ≈ 1/σ²",
    "its gain from there to the largest b over that of β_b/b",
    Bar(2.0, 4.0),
)
SAFE_PLATEAU = Claim(
    "safe SDCA ends on a plateau",
    "its gain over the last three doublings of b",
    Bar(NOISE, 4.0),
)
GOES_ON = {
    method: Claim(
        f"{name} goes on past b ≈ 1/σ²", "its largest gain from there over that of β_b/b", Bar(2, 1)
    )
    for method, name in (("pegasos", "Pegasos"), ("aggressive", "aggressive SDCA"))
}
SAME_SPEED_UP = Claim(
    "aggressive SDCA enjoys roughly the same speed-ups as Pegasos",
    "T(1)/T(b) of Pegasos over that of aggressive SDCA, at the largest b that both reached",
    Bar(2.0, 8.0),
)
STAYS_AHEAD = Claim(
    "aggressive SDCA keeps its advantage over Pegasos throughout",
    "iterations of Pegasos over those of aggressive SDCA, at the worst b",
    AHEAD,
)
OUTLIVES_NAIVE = Claim(
    "aggressive SDCA improves past the point where naive fails",
    "fewest iterations of naive at any b over the fewest of aggressive from there on",
    AHEAD,
)


def _ahead_at_one(counts: Counts) -> Verdict:
    pegasos, sdca = (counts.iterations(method, 1) for method in ("pegasos", "naive"))
    ratio = pegasos / sdca if sdca < math.inf else math.nan
    return AHEAD_AT_ONE.judge(ratio, counts.task.title)


def _nearly_linear(method: str) -> Callable[[Counts], Verdict]:
    def judge(counts: Counts) -> Verdict:
        claim, on = NEARLY_LINEAR[method], counts.task.title
        if counts.knee < LEAST_KNEE:
            return claim.judge(math.nan, on, f"1/σ² = {1 / counts.sigma2:.2g} leaves too few b")
        sizes = [b for b in counts.sizes if 1 < b <= counts.knee]
        shares = {b: counts.gained(method, 1, b) / b for b in sizes}
        worst = min(shares, key=shares.__getitem__)
        return claim.judge(shares[worst], on, f"{plain(shares[worst])} at b = {worst:,}")

    return judge


def _naive_fails(counts: Counts) -> Verdict:
    fewest = min(counts.iterations("naive", b) for b in counts.sizes)
    last = counts.iterations("naive", counts.sizes[-1])
    ratio = last / fewest if fewest < math.inf else math.nan
    words = "does not get there" if last == math.inf else ""
    return NAIVE_FAILS.judge(ratio, counts.task.title, words)


def _fails_where(counts: Counts) -> Verdict:
    b, on = counts.failure(), counts.task.title
    if b is None:
        return FAILS_WHERE.judge(math.inf, on, f"not up to b = {counts.sizes[-1]:,}")
    multiple = b * counts.sigma2
    return FAILS_WHERE.judge(multiple, on, f"{plain(multiple)}, b = {b:,}")


def _safe_flattens(counts: Counts) -> Verdict:
    b, last = counts.knee, counts.reached("safe")[-1:]
    if not last or last[0] < 4 * b:
        return SAFE_FLATTENS.judge(math.nan, counts.task.title, "not reached past 4/σ²")
    return _gain(SAFE_FLATTENS, counts, "safe", b, last[0])


def _safe_plateau(counts: Counts) -> Verdict:
    b = counts.sizes[-1]
    start = max(size for size in counts.sizes if size <= max(1, b // 8))
    first, last = (counts.iterations("safe", size) for size in (start, b))
    ratio = first / last if last < math.inf else math.nan
    words = f"{plain(ratio)}, from b = {start:,} to {b:,}" if last < math.inf else "not reached"
    return SAFE_PLATEAU.judge(ratio, counts.task.title, words)


def _goes_on(method: str) -> Callable[[Counts], Verdict]:
    def judge(counts: Counts) -> Verdict:
        claim, knee = GOES_ON[method], counts.knee
        past = [b for b in counts.reached(method) if b > knee]
        if not past or counts.iterations(method, knee) == math.inf:
            return claim.judge(math.nan, counts.task.title, "not reached past 1/σ²")
        best = min(past, key=lambda b: counts.iterations(method, b))
        return _gain(claim, counts, method, knee, best)

    return judge


def _gain(claim: Claim, counts: Counts, method: str, b: int, to: int) -> Verdict:
    """How the iterations fell from one b to another, over how β_b/b did."""
    gained, allowed = counts.gained(method, b, to), counts.allowed(b, to)
    words = f"{plain(gained / allowed)}: {plain(gained)} from b = {b:,} to {to:,}, "
    return claim.judge(
        gained / allowed, counts.task.title, f"{words}where β_b/b allows {plain(allowed)}"
    )


def _same_speed_up(counts: Counts) -> Verdict:
    on = counts.task.title
    both = set(counts.reached("aggressive")) & set(counts.reached("pegasos"))
    if 1 not in both or len(both) < 2:
        return SAME_SPEED_UP.judge(math.nan, on, "not reached")
    b = max(both)
    pegasos, aggressive = (counts.gained(m, 1, b) for m in ("pegasos", "aggressive"))
    words = f"{plain(pegasos / aggressive)}: {plain(pegasos)} and {plain(aggressive)} at b = {b:,}"
    return SAME_SPEED_UP.judge(pegasos / aggressive, on, words)


def _stays_ahead(counts: Counts) -> Verdict:
    on = counts.task.title
    both = sorted({*counts.reached("aggressive"), *counts.reached("pegasos")})
    if not both:
        return STAYS_AHEAD.judge(math.nan, on, "neither got there")
    ratios = {b: counts.iterations("pegasos", b) / counts.iterations("aggressive", b) for b in both}
    worst = min(ratios, key=ratios.__getitem__)
    return STAYS_AHEAD.judge(ratios[worst], on, f"{plain(ratios[worst])} at b = {worst:,}")


def _outlives_naive(counts: Counts) -> Verdict:
    b, on = counts.failure(), counts.task.title
    naive = min(counts.iterations("naive", v) for v in counts.sizes)
    if b is None or naive == math.inf:
        return OUTLIVES_NAIVE.judge(math.nan, on, "naive did not fail" if b is None else "")
    past = [counts.iterations("aggressive", v) for v in counts.sizes if v >= b]
    ratio = naive / min(past)
    return OUTLIVES_NAIVE.judge(ratio, on)


JUDGES: tuple[Callable[[Counts], Verdict], ...] = (
    _ahead_at_one,
    *(_nearly_linear(method) for method in NEARLY_LINEAR),
    _naive_fails,
    _fails_where,
    _safe_flattens,
    _safe_plateau,
    *(_goes_on(method) for method in GOES_ON),
    _same_speed_up,
    _stays_ahead,
    _outlives_naive,
)


def verdicts(rows: Sequence[Row], settings: Settings) -> list[Verdict]:
    found = counts_of(rows)
    return [judge(counts) for judge in JUDGES for counts in found]
