"""Shalev-Shwartz, Singer, Srebro, Cotter 2011: every theorem as a function."""

from __future__ import annotations

import math

from gapsvm.theory.checks import fewest, positive, probability, whole

# Pegasos 2011.  R ≥ max‖x_i‖; batches of any size, subsets or multisets; T ≥ 3.


def pegasos_constant(lam: float, R: float, *, projected: bool) -> float:
    """c of Pegasos Theorem 1: (√λ + R)² with projection onto ‖w‖ ≤ 1/√λ, 4R² without."""
    positive(lam=lam, R=R)
    return (math.sqrt(lam) + R) ** 2 if projected else 4 * R * R


def pegasos_theorem1_error(T: int, *, lam: float, R: float, projected: bool = False) -> float:
    """Pegasos Theorem 1 and Corollary 1: c(1 + ln T)/(2λT).

    It bounds the mean of f(w_t; A_t) − f(w*; A_t) over t = 1, …, T, for any batches A_t; with all
    rows in each, f(w̄) − f*; with uniformly drawn ones, E[f(w̄)] − f*.  w̄ is the mean of w_1, …, w_T.
    """
    whole(3, T=T)
    return pegasos_constant(lam, R, projected=projected) * (1 + math.log(T)) / (2 * lam * T)


def pegasos_theorem1_iterations(
    eps: float, *, lam: float, R: float, projected: bool = False
) -> int:
    """Pegasos Theorem 1 and Corollary 1 for ε."""
    return fewest(
        lambda T: pegasos_theorem1_error(T, lam=lam, R=R, projected=projected), eps, least=3
    )


def pegasos_corollary2_error(
    T: int, *, lam: float, R: float, delta: float, projected: bool = False
) -> float:
    """Pegasos Corollary 2: f(w̄) − f* ≤ 21c·ln(T/δ)/(λT) with probability at least 1 − δ.

    For R ≥ 1, λ ≤ 1/4 and uniformly drawn batches; by Lemma 2 it bounds the mean of f(w_t) − f*.
    """
    whole(3, T=T)
    probability(delta)
    c = pegasos_constant(lam, R, projected=projected)
    if R < 1:
        raise ValueError(f"Corollary 2 needs R >= 1, got {R}; a bound on the norms may be raised")
    if lam > 0.25:
        raise ValueError(f"Corollary 2 needs lam <= 1/4, got {lam}")
    return 21 * c * math.log(T / delta) / (lam * T)


def pegasos_corollary2_iterations(
    eps: float, *, lam: float, R: float, delta: float, projected: bool = False
) -> int:
    """Pegasos Corollary 2 for ε."""

    def bound(T: int) -> float:
        return pegasos_corollary2_error(T, lam=lam, R=R, delta=delta, projected=projected)

    return fewest(bound, eps, least=3)


def pegasos_lemma3_error(
    T: int, *, lam: float, R: float, delta: float, projected: bool = False
) -> float:
    """Pegasos Lemma 3: f(w_t) − f* ≤ 42c·ln(T/δ)/(λT) for at least half of all t = 1, …, T.

    With probability at least 1 − δ over the run, so that a random t is good with ½: try two.
    Conditions as in Corollary 2.
    """
    return 2 * pegasos_corollary2_error(T, lam=lam, R=R, delta=delta, projected=projected)


def pegasos_lemma3_iterations(
    eps: float, *, lam: float, R: float, delta: float, projected: bool = False
) -> int:
    """Pegasos Lemma 3 for ε."""

    def bound(T: int) -> float:
        return pegasos_lemma3_error(T, lam=lam, R=R, delta=delta, projected=projected)

    return fewest(bound, eps, least=3)


def pegasos_footnote1_rows(eps: float, *, lam: float, R: float, delta: float) -> int:
    """Pegasos, footnote 1, with a number: rows on which the better of two points is told.

    4R²·ln(1/δ)/((√2 − 1)²λε), rounded up.  Of two points, one with f(w) − f* ≤ ε and one with at
    least 2ε, the first has the smaller objective on so many uniformly drawn rows with probability
    at least 1 − δ.  For with errors a and b strong convexity gives ‖w − v‖ ≤ √(2/λ)(√a + √b), so
    that the losses of a row differ by at most M = R‖w − v‖, and by Hoeffding the order of the two
    is wrong with probability at most exp(−m(b − a)²/(2M²)) ≤ exp(−mλ(√b − √a)²/(4R²)).
    """
    positive(eps=eps, lam=lam, R=R)
    probability(delta)
    return math.ceil(4 * R * R * math.log(1 / delta) / ((math.sqrt(2) - 1) ** 2 * lam * eps))
