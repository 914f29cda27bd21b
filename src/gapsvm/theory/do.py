"""Do, Le, Foo 2009, and Bartlett's method beside it: every theorem as a function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gapsvm.theory.checks import fewest, positive, probability, whole

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
    positive(R=R)
    if not 0 <= curvature < math.inf:
        raise ValueError(f"curvature must be finite and not negative, got {curvature}")
    slopes = math.sqrt(factor) * (G / R)
    tau, total = np.empty(lam.size), np.empty(lam.size)
    for t, (step, slope) in enumerate(zip(lam.tolist(), slopes.tolist())):
        before = curvature + step
        # ½(√(Λ² + s²) − Λ) without the difference, and without a square that overflows
        rise = 0.5 * slope * (slope / (math.hypot(before, slope) + before)) if slope else 0.0
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
    positive(R=R)
    curvature = np.cumsum(lam + tau)
    _check_curvature(curvature)
    return float(2 * R * R * tau.sum() + 0.5 * np.sum(G * G / curvature))


def do_proposition1_tau(lam: Any, G: Any, R: float) -> float:
    """Do Proposition 1: the τ_1 that minimises R_T(τ_1, …, τ_T); all other τ_t are 0.

    Footnote 4: for λ = 0 it is √(Σ G_t²)/(2R).
    """
    lam, G = _sequences(lam=lam, G=G)
    positive(R=R)
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
    return fewest(lambda T: do_theorem2_error(T, lam=lam, G=G, R=R), eps)


def do_proposition2_error(regret: float, T: int, delta: float) -> float:
    """Do Proposition 2: f(w_r) − f* ≤ regret/(δT) with probability at least 1 − δ, for random r.

    With δ = 1 it is Theorem 3: the bound on E[f(w_r)] − f*, and on the mean iterate's.
    """
    whole(1, T=T)
    probability(delta, certain=True)
    if not 0 <= regret < math.inf:
        raise ValueError(f"regret must be finite and not negative, got {regret}")
    return regret / (delta * T)


def do_phase_error(T: int, *, lam: float, G: float, R: float, delta: float) -> float:
    """Do §3.3: Proposition 2 with Corollaries 2 and 3, min(G²(1 + log T)/(δλT), 4RG/(δ√T))."""
    whole(1, T=T)
    positive(lam=lam, G=G, R=R)
    probability(delta, certain=True)
    return min(G * G * (1 + math.log(T)) / (lam * T), 4 * R * G / math.sqrt(T)) / delta


def do_phase_iterations(eps: float, *, lam: float, G: float, R: float, delta: float) -> int:
    """Do's Algorithm 3: the T of a phase, for δ̂ of ``do_theorem4_counts`` (printed δ)."""
    return fewest(lambda T: do_phase_error(T, lam=lam, G=G, R=R, delta=delta), eps)


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
    positive(eps=eps, lam=lam, G=G)
    whole(1, batch_size=batch_size)
    probability(delta)
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


def do_lemma3_rise(value: float, slope: float, curvature: float) -> float:
    """Do Lemma 3, eq. (12): D′_t([β; 1]) − D′_{t−1}(β) = f(w_t) − ‖λw_t + a_t‖²/(2(λt + τ_{1:t})).

    ``value`` is f(w_t), ``slope`` the norm of λw_t + a_t, ``curvature`` is λt + τ_{1:t}; w_t must
    be the minimiser that belongs to β.
    """
    positive(curvature=curvature)
    return value - slope * slope / (2 * curvature)


def do_proposition3_error(tau: Any, lam: float, A: Any, R: float) -> float:
    """Do Proposition 3: (1/T) Σ [2τ_t R² + (λR + A_t)²/(2(λt + τ_{1:t}))].

    It bounds min_t f(w_t) − f* for the bundle method (Algorithm 4) with ℓ ≥ 0, ‖a_t‖ ≤ A_t and
    ‖w_t‖ ≤ R; the proof also uses ‖w*‖ ≤ R.  Its τ_t are ``balanced_tau`` with G_t = λR + A_t.
    """
    positive(lam=lam, R=R)
    tau, A = _sequences(tau=tau, A=A)
    return do_corollary1_regret(tau, lam, lam * R + A, R) / len(tau)


def do_theorem5_error(T: int, *, lam: float, A: float, R: float) -> float:
    """Do Theorem 5: min_t f(w_t) − f* ≤ (λR + A)²(1 + log T)/(λT) for Algorithm 4."""
    whole(1, T=T)
    positive(lam=lam, A=A, R=R)
    return (lam * R + A) ** 2 * (1 + math.log(T)) / (lam * T)


def do_theorem5_iterations(eps: float, *, lam: float, A: float, R: float) -> int:
    """Do Theorem 5 for ε."""
    return fewest(lambda T: do_theorem5_error(T, lam=lam, A=A, R=R), eps)


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
    whole(1, T=T)
    positive(G=G, R=R)
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
