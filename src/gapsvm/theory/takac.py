"""Takáč, Bijral, Richtárik, Srebro 2013: every theorem as a function."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gapsvm.theory.checks import fewest, positive, whole

# Takáč 2013.  β_b is eq. (11) with σ² ≥ ‖X‖²/n for batches that are subsets, 1 + (b − 1)σ² for
# draws with replacement; 1 ≤ β_b ≤ b where 1/n ≤ σ² ≤ 1, but any larger σ² is right as well, and
# a smaller one where all rows are shorter than 1.


def takac_lemma1(Q: Any, v: Any, batch_size: int) -> float:
    """Takáč Lemma 1, first line: E[v_Aᵀ Q v_A] over all subsets A of that size, exactly."""
    Q, v = np.asarray(Q, dtype=np.float64), np.asarray(v, dtype=np.float64)
    if v.ndim != 1 or Q.shape != (v.size, v.size):
        raise ValueError(f"Q must be n × n and v of length n, got {Q.shape} and {v.shape}")
    n, b = v.size, batch_size
    _check_batch(b, n)
    r = (b - 1) / (n - 1) if n > 1 else 0.0
    return float(b / n * ((1 - r) * (np.diag(Q) @ v**2) + r * (v @ Q @ v)))


def takac_lemma1_bound(v: Any, batch_size: int, beta: float) -> float:
    """Takáč Lemma 1, second line: (b/n) β_b ‖v‖², for Q_ii ≤ 1 and ‖Q‖ ≤ nσ²."""
    v = np.asarray(v, dtype=np.float64)
    _check_batch(batch_size, v.size)
    positive(beta=beta)
    return float(batch_size / v.size * beta * (v @ v))


def takac_theorem1_error(
    T: int, *, lam: float, beta: float, batch_size: int, lipschitz: float = 1.0
) -> float:
    """Takáč Theorem 1: E[P(w̄)] − P* ≤ L² (β_b/b)·30/(λT) for mini-batch Pegasos (Algorithm 1).

    w̄ is the mean of w⁽ᵗ⁾ over t = ⌊T/2⌋ + 1, …, T, divided by T − ⌊T/2⌋ (the printed 2/T is that
    for even T).  L = 1 for the hinge.
    """
    whole(1, T=T, batch_size=batch_size)
    positive(lam=lam, beta=beta, lipschitz=lipschitz)
    return lipschitz**2 * beta / batch_size * 30 / (lam * T)


def takac_theorem1_iterations(
    eps: float, *, lam: float, beta: float, batch_size: int, lipschitz: float = 1.0
) -> int:
    """Takáč Theorem 1 for ε; the poster's 30 β_b/(bλε)."""

    def bound(T: int) -> float:
        return takac_theorem1_error(
            T, lam=lam, beta=beta, batch_size=batch_size, lipschitz=lipschitz
        )

    return fewest(bound, eps)


def takac_ball_error(
    T: int, *, radius: float, beta: float, batch_size: int, lipschitz: float = 1.0
) -> float:
    """Takáč §6 with Lemma 2: E[L(w̄)] − min L ≤ L·B·√(β_b/(bT)) over the ball ‖w‖ ≤ B, without λ.

    For projected mini-batch steps w ← Π_B[w − η ∇L_A(w)] from w = 0 of constant length
    η = B/(L·√(Tβ_b/b)), and w̄ the mean of w⁽¹⁾, …, w⁽ᵀ⁾: ‖w⁽ᵗ⁺¹⁾ − w*‖² falls by
    2η(L(w⁽ᵗ⁾) − L(w*)) − η²‖∇L_A‖² in expectation, and E‖∇L_A‖² ≤ L²β_b/b by Lemma 2.
    """
    whole(1, T=T, batch_size=batch_size)
    positive(radius=radius, beta=beta, lipschitz=lipschitz)
    return lipschitz * radius * math.sqrt(beta / (batch_size * T))


def takac_ball_iterations(
    eps: float, *, radius: float, beta: float, batch_size: int, lipschitz: float = 1.0
) -> int:
    """The least T whose ``takac_ball_error`` is at most ε: b/β_b times fewer than with b = 1."""

    def bound(T: int) -> float:
        return takac_ball_error(
            T, radius=radius, beta=beta, batch_size=batch_size, lipschitz=lipschitz
        )

    return fewest(bound, eps)


def takac_constant(lipschitz: float) -> float:
    """G = 4L² of eq. (27) for an L-Lipschitz loss (printed 4L); the hinge has G = 1.

    For any loss whose dual variables stay in [lo, hi] it is (hi − lo)².
    """
    positive(lipschitz=lipschitz)
    return 4 * lipschitz**2


class DualCounts(NamedTuple):
    """Iterations of safe SDCA: the rate starts at t0, the average is over T0, …, T − 1."""

    t0: int
    T0: int
    T: int


class _Safe(NamedTuple):
    """The setting of Theorem 2, checked."""

    lam: float
    beta: float
    batch_size: int
    n_rows: int
    G: float
    initial: float

    def checked(self) -> _Safe:
        _check_batch(self.batch_size, self.n_rows)
        positive(lam=self.lam, beta=self.beta, G=self.G, initial=self.initial)
        return self

    @property
    def t0(self) -> int:
        """Eq. (29)."""
        ratio = 2 * self.lam * self.n_rows * self.initial / (self.G * self.beta)
        return max(0, math.ceil(self.n_rows / self.batch_size * math.log(ratio)))

    @property
    def shortest_tail(self) -> int:
        """⌈n/b⌉, so that Lemma 4 may be used with s = n/(b(T − T0)) ≤ 1."""
        return -(-self.n_rows // self.batch_size)

    def rate(self, steps: int) -> float:
        """Eq. (31), steps after t0."""
        return 2 * self.beta * self.G / (self.lam * (2 * self.n_rows + self.batch_size * steps))

    def tail(self, steps: int) -> float:
        """The second term of eq. (33), for an average over that many iterates."""
        return self.beta * self.G / (2 * self.batch_size * self.lam * steps)

    def best_start(self, T: int) -> int:
        """The T0 with the least (33): the tail takes a third of T − t0 + 2n/b."""
        free = T - self.t0
        third = int((free + 2 * self.n_rows / self.batch_size) / 3)
        tails = (min(max(t, self.shortest_tail), free) for t in (third, third + 1))
        return T - min(tails, key=lambda tail: self.rate(free - tail) + self.tail(tail))

    def gap(self, T: int) -> float:
        """(33) with the best T0."""
        if self.t0 + self.shortest_tail > T:
            return math.inf
        T0 = self.best_start(T)
        return self.rate(T0 - self.t0) + self.tail(T - T0)

    def dual_error(self, t: int) -> float:
        """Eq. (28) with s = 0 and s = 1; from t0 on also (31)."""
        shrunk = (1 - self.batch_size / self.n_rows) ** t * self.initial
        error = min(self.initial, shrunk + 0.5 * self.rate(0))
        return min(error, self.rate(t - self.t0)) if t >= self.t0 else error


def takac_theorem2_counts(
    eps: float,
    *,
    lam: float,
    beta: float,
    batch_size: int,
    n_rows: int,
    G: float = 1.0,
    initial: float = 1.0,
) -> DualCounts:
    """Takáč Theorem 2, eqs. (18)–(20): safe SDCA (15) with E[P(w(ᾱ)) − D(ᾱ)] ≤ ε.

    As printed for the hinge from α = 0; in general by (29), (34) and (35) with G of
    ``takac_constant`` and `initial` ≥ D(α*) − D(α⁰), for which P(0) will do from α = 0.
    """
    safe = _Safe(lam, beta, batch_size, n_rows, G, initial).checked()
    positive(eps=eps)
    T0 = safe.t0 + fewest(safe.rate, eps / 2, least=0)
    return DualCounts(safe.t0, T0, T0 + fewest(safe.tail, eps / 2, least=safe.shortest_tail))


def takac_theorem2_gap(
    T: int,
    T0: int | None = None,
    *,
    lam: float,
    beta: float,
    batch_size: int,
    n_rows: int,
    G: float = 1.0,
    initial: float = 1.0,
) -> float:
    """Takáč eq. (33): the bound on E[P(w(ᾱ)) − D(ᾱ)] for ᾱ averaged over T0, …, T − 1.

    Without T0 the one that makes it least; infinite where T < t0 + ⌈n/b⌉.
    """
    safe = _Safe(lam, beta, batch_size, n_rows, G, initial).checked()
    whole(1, T=T)
    if T0 is None:
        return safe.gap(T)
    if not (safe.t0 <= T0 <= T - safe.shortest_tail and int(T0) == T0):
        raise ValueError(
            f"T0 must be a whole number from t0 = {safe.t0} to T - n/b = {T - safe.shortest_tail}, "
            f"got {T0}"
        )
    return safe.rate(T0 - safe.t0) + safe.tail(T - T0)


def takac_theorem2_iterations(
    eps: float,
    *,
    lam: float,
    beta: float,
    batch_size: int,
    n_rows: int,
    G: float = 1.0,
    initial: float = 1.0,
) -> DualCounts:
    """The least T, with its T0, for which eq. (33) is at most ε.

    Never more than (18)–(20), which give half of ε to each term: 4.5 β_b G/(bλε) where they
    ask for 5.
    """
    safe = _Safe(lam, beta, batch_size, n_rows, G, initial).checked()
    T = fewest(safe.gap, eps)
    return DualCounts(safe.t0, safe.best_start(T), T)


def takac_dual_error(
    t: int,
    *,
    lam: float,
    beta: float,
    batch_size: int,
    n_rows: int,
    G: float = 1.0,
    initial: float = 1.0,
) -> float:
    """Takáč eqs. (28)–(31): the bound on E[D(α*) − D(α⁽ᵗ⁾)] under safe SDCA.

    From t0 on 2β_b G/(λ(2n + b(t − t0))), before it (1 − b/n)ᵗ ε_D + β_b G/(2λn), and where that
    is more than the ε_D (`initial`) of the start, ε_D.
    """
    safe = _Safe(lam, beta, batch_size, n_rows, G, initial).checked()
    whole(0, t=t)
    return safe.dual_error(t)


def takac_dual_iterations(
    eps: float,
    *,
    lam: float,
    beta: float,
    batch_size: int,
    n_rows: int,
    G: float = 1.0,
    initial: float = 1.0,
) -> int:
    """The first t whose ``takac_dual_error`` is at most ε."""
    safe = _Safe(lam, beta, batch_size, n_rows, G, initial).checked()
    return fewest(safe.dual_error, eps, least=0)


def takac_order(eps: float, *, lam: float, beta: float, batch_size: int, n_rows: int) -> float:
    """Takáč eq. (22), without constants and logarithms: n/b + (β_b/b)/(λε)."""
    _check_batch(batch_size, n_rows)
    positive(eps=eps, lam=lam, beta=beta)
    return n_rows / batch_size + beta / (batch_size * lam * eps)


def takac_poster_gap(T: int, *, lam: float, beta: float, batch_size: int, n_rows: int) -> float:
    """Takáč's poster: the ε of T = 2(n/b)·log(2λn/β_b + 2) + (β_b/b)·8/(λε).

    For safe SDCA with the hinge from α = 0, averaging the second half, t = ⌊T/2⌋ + 1, …, T.
    Infinite where T is not above the first term, or its half below n/b (as (33) needs; that
    matters for ε > 150 only).
    """
    _check_batch(batch_size, n_rows)
    positive(lam=lam, beta=beta)
    whole(1, T=T)
    passes = n_rows / batch_size
    excess = T - 2 * passes * math.log(2 * lam * n_rows / beta + 2)
    if excess <= 0 or passes > T - T // 2:
        return math.inf
    return 8 * beta / (batch_size * lam * excess)


def takac_poster_iterations(
    eps: float, *, lam: float, beta: float, batch_size: int, n_rows: int
) -> int:
    """Takáč's poster: T = 2(n/b)·log(2λn/β_b + 2) + (β_b/b)·8/(λε), rounded up."""

    def bound(T: int) -> float:
        return takac_poster_gap(T, lam=lam, beta=beta, batch_size=batch_size, n_rows=n_rows)

    return fewest(bound, eps)


def _check_batch(batch_size: int, n_rows: int) -> None:
    whole(1, n_rows=n_rows, batch_size=batch_size)
    if batch_size > n_rows:
        raise ValueError(f"batch_size must be from 1 to n_rows = {n_rows}, got {batch_size}")
