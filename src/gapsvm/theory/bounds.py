"""What the papers promise: how small an error after T iterations, how many iterations for ε.

Plain functions on numbers.  ``*_error`` and ``*_gap`` are the bound after T iterations;
``*_iterations`` is its inverse, the least T whose bound is at most ε, exactly: the bound of T − 1
is larger, unless T is the first the theorem speaks about.  What a theorem asks for and numbers
can show is checked (ValueError); the rest is in its docstring.

Everywhere P(w) = (1/n) Σ φ(z_i) + (λ/2)‖w‖².  Takáč's results take rows of norm at most 1; for
longer ones divide X by r = max‖x_i‖ and λ by r², which leaves P as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


def _positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value}")


def _whole(least: int, **numbers: float) -> None:
    for name, value in numbers.items():
        if not (least <= value < math.inf and value == int(value)):
            raise ValueError(f"{name} must be a whole number, at least {least}, got {value}")


def _probability(delta: float, certain: bool = False) -> None:
    if not (0 < delta < 1 or (certain and delta == 1)):
        raise ValueError(f"delta must lie in (0, 1{']' if certain else ')'}, got {delta}")


def _fewest(bound: Callable[[int], float], eps: float, least: int = 1) -> int:
    """The first T ≥ least with bound(T) ≤ eps, for a bound that falls with T."""
    _positive(eps=eps)
    if bound(least) <= eps:
        return least
    low, high = least, max(1, 2 * least)
    while bound(high) > eps:
        if high > 2**900:
            raise ValueError(f"eps = {eps} is out of reach of any number of iterations")
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if bound(middle) <= eps:
            high = middle
        else:
            low = middle
    return high


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
    _positive(beta=beta)
    return float(batch_size / v.size * beta * (v @ v))


def takac_theorem1_error(
    T: int, *, lam: float, beta: float, batch_size: int, lipschitz: float = 1.0
) -> float:
    """Takáč Theorem 1: E[P(w̄)] − P* ≤ L² (β_b/b)·30/(λT) for mini-batch Pegasos (Algorithm 1).

    w̄ is the mean of w⁽ᵗ⁾ over t = ⌊T/2⌋ + 1, …, T, divided by T − ⌊T/2⌋ (the printed 2/T is that
    for even T).  L = 1 for the hinge.
    """
    _whole(1, T=T, batch_size=batch_size)
    _positive(lam=lam, beta=beta, lipschitz=lipschitz)
    return lipschitz**2 * beta / batch_size * 30 / (lam * T)


def takac_theorem1_iterations(
    eps: float, *, lam: float, beta: float, batch_size: int, lipschitz: float = 1.0
) -> int:
    """Takáč Theorem 1 for ε; the poster's 30 β_b/(bλε)."""

    def bound(T: int) -> float:
        return takac_theorem1_error(
            T, lam=lam, beta=beta, batch_size=batch_size, lipschitz=lipschitz
        )

    return _fewest(bound, eps)


def takac_constant(lipschitz: float) -> float:
    """G = 4L² of eq. (27) for an L-Lipschitz loss (printed 4L); the hinge has G = 1.

    For any loss whose dual variables stay in [lo, hi] it is (hi − lo)².
    """
    _positive(lipschitz=lipschitz)
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
        _positive(lam=self.lam, beta=self.beta, G=self.G, initial=self.initial)
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
    _positive(eps=eps)
    T0 = safe.t0 + _fewest(safe.rate, eps / 2, least=0)
    return DualCounts(safe.t0, T0, T0 + _fewest(safe.tail, eps / 2, least=safe.shortest_tail))


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
    _whole(1, T=T)
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
    T = _fewest(safe.gap, eps)
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
    _whole(0, t=t)
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
    return _fewest(safe.dual_error, eps, least=0)


def takac_order(eps: float, *, lam: float, beta: float, batch_size: int, n_rows: int) -> float:
    """Takáč eq. (22), without constants and logarithms: n/b + (β_b/b)/(λε)."""
    _check_batch(batch_size, n_rows)
    _positive(eps=eps, lam=lam, beta=beta)
    return n_rows / batch_size + beta / (batch_size * lam * eps)


def takac_poster_gap(T: int, *, lam: float, beta: float, batch_size: int, n_rows: int) -> float:
    """Takáč's poster: the ε of T = 2(n/b)·log(2λn/β_b + 2) + (β_b/b)·8/(λε).

    For safe SDCA with the hinge from α = 0, averaging the second half, t = ⌊T/2⌋ + 1, …, T.
    Infinite where T is not above the first term, or its half below n/b (as (33) needs; that
    matters for ε > 150 only).
    """
    _check_batch(batch_size, n_rows)
    _positive(lam=lam, beta=beta)
    _whole(1, T=T)
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

    return _fewest(bound, eps)


def _check_batch(batch_size: int, n_rows: int) -> None:
    _whole(1, n_rows=n_rows, batch_size=batch_size)
    if batch_size > n_rows:
        raise ValueError(f"batch_size must be from 1 to n_rows = {n_rows}, got {batch_size}")


# Pegasos 2011.  R ≥ max‖x_i‖; batches of any size, subsets or multisets; T ≥ 3.


def pegasos_constant(lam: float, R: float, *, projected: bool) -> float:
    """c of Pegasos Theorem 1: (√λ + R)² with projection onto ‖w‖ ≤ 1/√λ, 4R² without."""
    _positive(lam=lam, R=R)
    return (math.sqrt(lam) + R) ** 2 if projected else 4 * R * R


def pegasos_theorem1_error(T: int, *, lam: float, R: float, projected: bool = False) -> float:
    """Pegasos Theorem 1 and Corollary 1: c(1 + ln T)/(2λT).

    It bounds the mean of f(w_t; A_t) − f(w*; A_t) over t = 1, …, T, for any batches A_t; with all
    rows in each, f(w̄) − f*; with uniformly drawn ones, E[f(w̄)] − f*.  w̄ is the mean of w_1, …, w_T.
    """
    _whole(3, T=T)
    return pegasos_constant(lam, R, projected=projected) * (1 + math.log(T)) / (2 * lam * T)


def pegasos_theorem1_iterations(
    eps: float, *, lam: float, R: float, projected: bool = False
) -> int:
    """Pegasos Theorem 1 and Corollary 1 for ε."""
    return _fewest(
        lambda T: pegasos_theorem1_error(T, lam=lam, R=R, projected=projected), eps, least=3
    )


def pegasos_corollary2_error(
    T: int, *, lam: float, R: float, delta: float, projected: bool = False
) -> float:
    """Pegasos Corollary 2: f(w̄) − f* ≤ 21c·ln(T/δ)/(λT) with probability at least 1 − δ.

    For R ≥ 1, λ ≤ 1/4 and uniformly drawn batches; by Lemma 2 it bounds the mean of f(w_t) − f*.
    """
    _whole(3, T=T)
    _probability(delta)
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

    return _fewest(bound, eps, least=3)


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

    return _fewest(bound, eps, least=3)


def pegasos_footnote1_rows(eps: float, *, lam: float, R: float, delta: float) -> int:
    """Pegasos, footnote 1, with a number: rows on which the better of two points is told.

    4R²·ln(1/δ)/((√2 − 1)²λε), rounded up.  Of two points, one with f(w) − f* ≤ ε and one with at
    least 2ε, the first has the smaller objective on so many uniformly drawn rows with probability
    at least 1 − δ.  For with errors a and b strong convexity gives ‖w − v‖ ≤ √(2/λ)(√a + √b), so
    that the losses of a row differ by at most M = R‖w − v‖, and by Hoeffding the order of the two
    is wrong with probability at most exp(−m(b − a)²/(2M²)) ≤ exp(−mλ(√b − √a)²/(4R²)).
    """
    _positive(eps=eps, lam=lam, R=R)
    _probability(delta)
    return math.ceil(4 * R * R * math.log(1 / delta) / ((math.sqrt(2) - 1) ** 2 * lam * eps))


# Do 2009.  f_t is λ_t-strongly convex, ‖g_t‖ ≤ G_t, and S is the ball of radius R.  Regret is
# Σ f_t(w_t) − Σ f_t(u) for the best u in S.  Sequences are arrays over t = 1, …, T, or one number
# for all t where another argument has length T.


class Proximal(NamedTuple):
    """τ_t, and λ_{1:t} + τ_{1:t} = 1/η_t."""

    tau: Any
    curvature: Any


def balanced_tau(lam: Any, G: Any, R: float, curvature: float = 0.0) -> Proximal:
    """Do's Strategy 1 (Algorithm 2): the τ_t with 2τ_t R² = G_t²/(2(λ_{1:t} + τ_{1:t})).

    τ_t = ½(√(Λ² + G_t²/R²) − Λ), Λ = λ_{1:t} + τ_{1:t−1}.  To go on after earlier steps, pass
    the last curvature.
    """
    return _balance(lam, G, R, 1.0, curvature)


def bartlett_tau(lam: Any, G: Any, R: float, curvature: float = 0.0) -> Proximal:
    """Bartlett's Adaptive, for steps on ∇f_t(w_t) + τ_t w_t with ‖∇f_t(w_t)‖ ≤ G_t.

    τ_t = ½(√(Λ² + 8G_t²/(3R²)) − Λ), Λ = λ_{1:t} + τ_{1:t−1}.
    """
    return _balance(lam, G, R, 8 / 3, curvature)


def _balance(lam: Any, G: Any, R: float, factor: float, curvature: float) -> Proximal:
    lam, G = _sequences(lam=lam, G=G)
    _positive(R=R)
    if not 0 <= curvature < math.inf:
        raise ValueError(f"curvature must be finite and not negative, got {curvature}")
    squares = factor * (G / R) ** 2
    tau, total = np.empty(lam.size), np.empty(lam.size)
    for t, (step, square) in enumerate(zip(lam.tolist(), squares.tolist())):
        before = curvature + step
        # ½(√(Λ² + s) − Λ) without the difference
        rise = 0.5 * square / (math.sqrt(before * before + square) + before) if square else 0.0
        curvature = before + rise
        tau[t], total[t] = rise, curvature
    _check_curvature(total)
    return Proximal(tau, total)


def do_lemma1_regret(lam: Any, G: Any) -> float:
    """Do Lemma 1, eq. (2): the regret of Algorithm 1 is at most ½ Σ G_t²/λ_{1:t}.

    For constant λ and G that is at most G²(1 + log T)/(2λ).
    """
    return do_corollary1_regret(0.0, lam, G, 1.0)


def do_corollary1_regret(tau: Any, lam: Any, G: Any, R: float) -> float:
    """Do Corollary 1, eq. (5): R_T(τ) = ½ Σ [4τ_t R² + G_t²/(λ_{1:t} + τ_{1:t})].

    It bounds the regret of steps η_t = 1/(λ_{1:t} + τ_{1:t}), for any τ_t ≥ 0.
    """
    tau, lam, G = _sequences(tau=tau, lam=lam, G=G)
    _positive(R=R)
    curvature = np.cumsum(lam + tau)
    _check_curvature(curvature)
    return float(2 * R * R * tau.sum() + 0.5 * np.sum(G * G / curvature))


def do_proposition1_tau(lam: Any, G: Any, R: float) -> float:
    """Do Proposition 1: the τ_1 that minimises R_T(τ_1, …, τ_T); all other τ_t are 0.

    Footnote 4: for λ = 0 it is √(Σ G_t²)/(2R).
    """
    lam, G = _sequences(lam=lam, G=G)
    _positive(R=R)
    curvature, squares = np.cumsum(lam)[G > 0], (G * G)[G > 0]

    def slope(tau: float) -> float:
        return float(4 * R * R - np.sum(squares / (curvature + tau) ** 2))

    return _minimiser(slope, math.sqrt(squares.sum()) / (2 * R), bool(np.all(curvature > 0)))


def do_theorem1_regret(lam: Any, G: Any, R: float) -> float:
    """Do Theorem 1: the regret of Algorithm 2 is at most 2 min_τ R_T(τ).

    The minimum is that of Proposition 1, so the bound is a number.  What (5) says for the τ_t of
    ``balanced_tau`` itself lies between it and its half.
    """
    lam, G = _sequences(lam=lam, G=G)
    first = np.zeros(lam.size)
    first[0] = do_proposition1_tau(lam, G, R)
    return 2 * do_corollary1_regret(first, lam, G, R)


def bartlett_regret(lam: Any, G: Any, R: float) -> float:
    """Do, footnote 3: the regret of Adaptive is at most min_τ of Σ [3τ_t R² + 2G_t²/c_t].

    c_t = λ_{1:t} + τ_{1:t}.  The sum is 4 R_T(τ) with R√(3/8) for R, so Proposition 1
    holds here too.
    """
    return 2 * do_theorem1_regret(lam, G, math.sqrt(3 / 8) * R)


def do_theorem2_bound(tau: float, T: int, *, lam: float, G: float, R: float) -> float:
    """Do Theorem 2: B(τ) = 4τR² + (G²/λ)[1/(1 + τ/λ) + log((T + τ/λ)/(1 + τ/λ))].

    For any τ it bounds the regret of Algorithm 2; that of Strategy 2, whose only proximal term is
    τ_1 = τ, is at most half of it.  λ may be 0 where τ is not (Corollary 3's limit).
    """
    _check_online(T, lam, G, R)
    if not (0 <= tau < math.inf and tau + lam > 0):
        raise ValueError(f"tau must be finite and not negative, and positive for lam = 0: {tau}")
    first = lam + tau
    ratio = lam * (T - 1) / first
    # log(1 + ratio)/λ, which is (T − 1)/τ at λ = 0
    sum_of_rest = math.log1p(ratio) / lam if ratio > 0 else (T - 1) / first
    return 4 * tau * R * R + G * G * (1 / first + sum_of_rest)


def do_theorem2_tau(T: int, *, lam: float, G: float, R: float) -> float:
    """Do's Strategy 2: the τ that minimises B(τ), which is convex."""
    _check_online(T, lam, G, R)

    def slope(tau: float) -> float:
        first, last = lam + tau, lam * T + tau
        return 4 * R * R - G * G * (1 / first + (T - 1) / last) / first

    return _minimiser(slope, G * math.sqrt(T) / (2 * R), lam > 0)


def do_theorem2_error(T: int, *, lam: float, G: float, R: float) -> float:
    """Do Theorems 2 and 3: E[f(w_r)] − f* ≤ min_τ B(τ)/T for random r; for the mean iterate too."""
    tau = do_theorem2_tau(T, lam=lam, G=G, R=R)
    return do_theorem2_bound(tau, T, lam=lam, G=G, R=R) / T


def do_theorem2_iterations(eps: float, *, lam: float, G: float, R: float) -> int:
    """Do Theorems 2 and 3 for ε."""
    return _fewest(lambda T: do_theorem2_error(T, lam=lam, G=G, R=R), eps)


def do_proposition2_error(regret: float, T: int, delta: float) -> float:
    """Do Proposition 2: f(w_r) − f* ≤ regret/(δT) with probability at least 1 − δ, for random r.

    With δ = 1 it is Theorem 3: the bound on E[f(w_r)] − f*, and on the mean iterate's.
    """
    _whole(1, T=T)
    _probability(delta, certain=True)
    if not 0 <= regret < math.inf:
        raise ValueError(f"regret must be finite and not negative, got {regret}")
    return regret / (delta * T)


def do_phase_error(T: int, *, lam: float, G: float, R: float, delta: float) -> float:
    """Do §3.3: Proposition 2 with Corollaries 2 and 3, min(G²(1 + log T)/(δλT), 4RG/(δ√T))."""
    _whole(1, T=T)
    _positive(lam=lam, G=G, R=R)
    _probability(delta, certain=True)
    return min(G * G * (1 + math.log(T)) / (lam * T), 4 * R * G / math.sqrt(T)) / delta


def do_phase_iterations(eps: float, *, lam: float, G: float, R: float, delta: float) -> int:
    """Do's Algorithm 3: the T of a phase, for δ̂ of ``do_theorem4_counts`` (printed δ)."""
    return _fewest(lambda T: do_phase_error(T, lam=lam, G=G, R=R, delta=delta), eps)


class OptimisticCounts(NamedTuple):
    """Do's Algorithm 3 at its worst: phases, δ̂ of each, iterations and rows of all together."""

    phases: int
    delta: float
    iterations: int
    examples: int


def do_theorem4_counts(
    eps: float, *, lam: float, delta: float, G: float, batch_size: int = 1
) -> OptimisticCounts:
    """Do Theorem 4, with numbers: what Algorithm 3 needs at most to be ε-optimal.

    With probability at least 1 − δ, for ε < ½ and G = max‖x_i‖ + √λ.  R grows by √2 from
    min(1, 1/√λ) to at least 2/√λ, where the iterates cannot reach it, and the lengths of all
    phases are added up.  δ̂ = δ/phases: the printed δ/(3 − log₂λ) where that divisor is a whole
    number and λ ≤ 1, elsewhere less (the printed one is negative for λ > 8).
    """
    _positive(eps=eps, lam=lam, G=G)
    _whole(1, batch_size=batch_size)
    _probability(delta)
    if eps >= 0.5:
        raise ValueError(f"Theorem 4 needs eps < 1/2, got {eps}")
    R0 = min(1.0, 1 / math.sqrt(lam))
    phases = 3 + math.ceil(max(0.0, -math.log2(lam)))
    each = delta / phases
    iterations = sum(
        do_phase_iterations(eps, lam=lam, G=G, R=R0 * math.sqrt(2) ** i, delta=each)
        for i in range(phases)
    )
    return OptimisticCounts(phases, each, iterations, batch_size * iterations)


def do_proposition3_error(tau: Any, lam: float, A: Any, R: float) -> float:
    """Do Proposition 3: (1/T) Σ [2τ_t R² + (λR + A_t)²/(2(λt + τ_{1:t}))].

    It bounds min_t f(w_t) − f* for the bundle method (Algorithm 4) with ℓ ≥ 0, ‖a_t‖ ≤ A_t and
    ‖w_t‖ ≤ R; the proof also uses ‖w*‖ ≤ R.  Its τ_t are ``balanced_tau`` with G_t = λR + A_t.
    """
    _positive(lam=lam, R=R)
    tau, A = _sequences(tau=tau, A=A)
    return do_corollary1_regret(tau, lam, lam * R + A, R) / len(tau)


def do_theorem5_error(T: int, *, lam: float, A: float, R: float) -> float:
    """Do Theorem 5: min_t f(w_t) − f* ≤ (λR + A)²(1 + log T)/(λT) for Algorithm 4."""
    _whole(1, T=T)
    _positive(lam=lam, A=A, R=R)
    return (lam * R + A) ** 2 * (1 + math.log(T)) / (lam * T)


def do_theorem5_iterations(eps: float, *, lam: float, A: float, R: float) -> int:
    """Do Theorem 5 for ε."""
    return _fewest(lambda T: do_theorem5_error(T, lam=lam, A=A, R=R), eps)


def _sequences(**values: Any) -> list[Any]:
    """The values as arrays of one length; none may be negative."""
    arrays = [np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in values.values()]
    for name, array in zip(values, arrays):
        if array.ndim != 1 or array.size == 0:
            raise ValueError(f"{name} must be a number or a sequence, got shape {array.shape}")
        if not (np.isfinite(array).all() and array.min() >= 0):
            raise ValueError(f"{name} must be finite and not negative")
    if len({array.size for array in arrays} - {1}) > 1:
        sizes = ", ".join(f"{name}: {array.size}" for name, array in zip(values, arrays))
        raise ValueError(f"sequences differ in length ({sizes})")
    return list(np.broadcast_arrays(*arrays))


def _check_curvature(curvature: Any) -> None:
    if not curvature[0] > 0:
        raise ValueError("the first step needs lam + tau > 0, its size is 1/(lam + tau)")


def _check_online(T: int, lam: float, G: float, R: float) -> None:
    _whole(1, T=T)
    _positive(G=G, R=R)
    if not 0 <= lam < math.inf:
        raise ValueError(f"lam must be finite and not negative, got {lam}")


def _minimiser(slope: Callable[[float], float], high: float, finite_at_zero: bool) -> float:
    """Where an increasing slope crosses zero in [0, high]; 0 where it is nowhere negative."""
    low = 0.0
    if high == 0 or (finite_at_zero and slope(low) >= 0):
        return 0.0
    while low < (middle := 0.5 * (low + high)) < high:
        if slope(middle) < 0:
            low = middle
        else:
            high = middle
    return high
