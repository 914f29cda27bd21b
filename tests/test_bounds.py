"""The papers' bounds: values by hand, inverses, conditions, and runs of the algorithms."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from gapsvm import theory as bounds


def log_floats(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


LAM, EPS, BETA = log_floats(1e-7, 10), log_floats(1e-6, 2), log_floats(0.1, 50)
BATCH, ROWS = st.integers(1, 50), st.integers(50, 100_000)
R_OR_G, DELTA = log_floats(1e-2, 1e2), st.floats(1e-6, 0.99)

MINI_BATCH = {"lam": LAM, "beta": BETA, "batch_size": BATCH}
SAFE = {**MINI_BATCH, "n_rows": ROWS}
ANY_LOSS = {**SAFE, "G": log_floats(0.1, 40), "initial": log_floats(1e-3, 1e3)}
PEGASOS = {"lam": LAM, "R": R_OR_G, "projected": st.booleans()}
LIKELY = {
    "lam": log_floats(1e-7, 0.25),
    "R": log_floats(1, 100),
    "delta": DELTA,
    "projected": st.booleans(),
}
ONLINE = {"lam": LAM, "G": R_OR_G, "R": R_OR_G}


def fewest(counts):
    return counts if isinstance(counts, int) else counts.T


# bound, its inverse, the setting, the first T
PAIRS = {
    "takac theorem 1": (
        bounds.takac_theorem1_error,
        bounds.takac_theorem1_iterations,
        {**MINI_BATCH, "lipschitz": log_floats(0.1, 10)},
        1,
    ),
    "takac (33)": (bounds.takac_theorem2_gap, bounds.takac_theorem2_iterations, ANY_LOSS, 1),
    "takac dual": (bounds.takac_dual_error, bounds.takac_dual_iterations, ANY_LOSS, 0),
    "takac poster": (bounds.takac_poster_gap, bounds.takac_poster_iterations, SAFE, 1),
    "pegasos theorem 1": (
        bounds.pegasos_theorem1_error,
        bounds.pegasos_theorem1_iterations,
        PEGASOS,
        3,
    ),
    "pegasos corollary 2": (
        bounds.pegasos_corollary2_error,
        bounds.pegasos_corollary2_iterations,
        LIKELY,
        3,
    ),
    "pegasos lemma 3": (bounds.pegasos_lemma3_error, bounds.pegasos_lemma3_iterations, LIKELY, 3),
    "do theorem 2": (bounds.do_theorem2_error, bounds.do_theorem2_iterations, ONLINE, 1),
    "do phase": (
        bounds.do_phase_error,
        bounds.do_phase_iterations,
        {**ONLINE, "delta": DELTA},
        1,
    ),
    "do theorem 5": (
        bounds.do_theorem5_error,
        bounds.do_theorem5_iterations,
        {"lam": LAM, "A": R_OR_G, "R": R_OR_G},
        1,
    ),
}
every_pair = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())


@every_pair
@settings(max_examples=40)
@given(data=st.data())
def test_inverses_are_exact(pair, data):
    error, iterations, setting, first = pair
    setting = data.draw(st.fixed_dictionaries(setting))
    eps = data.draw(EPS)
    T = fewest(iterations(eps, **setting))
    assert first <= T
    assert error(T, **setting) <= eps
    assert first == T or error(T - 1, **setting) > eps


@every_pair
@settings(max_examples=40)
@given(data=st.data())
def test_bounds_fall_with_iterations(pair, data):
    error, _, setting, first = pair
    setting = data.draw(st.fixed_dictionaries(setting))
    T = data.draw(st.integers(first, 10**9))
    later = data.draw(st.integers(T, 10**10))
    assert error(later, **setting) <= error(T, **setting) * (1 + 1e-12)


@every_pair
def test_what_no_theorem_allows_is_refused(pair):
    error, iterations, setting, first = pair
    numbers = {"beta": 1.5, "batch_size": 2, "n_rows": 40, "R": 1.0, "projected": True}
    numbers |= {"lam": 0.1, "lipschitz": 1.0, "G": 1.0, "initial": 1.0, "delta": 0.1, "A": 1.0}
    good = {name: numbers[name] for name in setting}
    for T in (first - 1, first + 0.5, math.inf, math.nan):
        with pytest.raises(ValueError, match="whole number"):
            error(T, **good)
    for eps in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="eps must be positive"):
            iterations(eps, **good)
    for name in set(good) - {"projected"}:
        for value in (-1.0, math.inf, math.nan):
            with pytest.raises(ValueError, match=f"{name} must"):
                error(10, **{**good, name: value})
            with pytest.raises(ValueError, match=f"{name} must"):
                iterations(0.1, **{**good, name: value})
    with pytest.raises(ValueError, match="out of reach"):
        iterations(1e-305, **{**good, "lam": 1e-305})


# ---- Takáč: by hand


def test_takac_theorem1_by_hand():
    setting = {"lam": 0.1, "beta": 2.0, "batch_size": 4}
    assert bounds.takac_theorem1_error(300, **setting) == pytest.approx(0.5)
    assert bounds.takac_theorem1_iterations(0.5, **setting) == 300
    assert bounds.takac_theorem1_iterations(0.499, **setting) == 301
    assert bounds.takac_theorem1_error(300, **setting, lipschitz=2.0) == pytest.approx(2.0)


def test_takac_theorem2_by_hand():
    """n = 40, b = 4, β = 2, λ = 0.1, ε = 0.01: n/b = 10, log(2λn/β) = log 4."""
    setting = {"lam": 0.1, "beta": 2.0, "batch_size": 4, "n_rows": 40}
    counts = bounds.takac_theorem2_counts(0.01, **setting)
    assert counts == (14, 14 + 1980, 14 + 1980 + 500)  # ½(4000 − 40), ½·1000
    # large ε: only the passes over the data remain
    assert bounds.takac_theorem2_counts(2.0, **setting) == (14, 14, 24)
    # 4L² for L = 1 is four times the hinge's G, and a nearer start a shorter one
    assert bounds.takac_constant(1.0) == 4.0
    assert bounds.takac_constant(3.0) == 36.0
    counts = bounds.takac_theorem2_counts(0.01, **setting, G=4.0, initial=1.5)
    assert counts == (5, 5 + 7980, 5 + 7980 + 2000)  # 10·log 1.5 = 4.05
    counts = bounds.takac_theorem2_counts(0.01, **setting, initial=0.2)
    assert counts.t0 == 0
    assert bounds.takac_order(0.01, **setting) == pytest.approx(10 + 500)
    # (31) at t0 is β/(λn), and falls to half of that in 2n/b steps
    assert bounds.takac_dual_error(14 + 20, **setting) == pytest.approx(0.25)
    assert bounds.takac_dual_error(0, **setting) == 1.0
    assert bounds.takac_dual_error(10, **setting) == pytest.approx(0.9**10 + 0.25)
    # poster: 20·log 6 + 4000
    assert bounds.takac_poster_iterations(0.01, **setting) == 4000 + math.ceil(20 * math.log(6))
    assert bounds.takac_poster_gap(35, **setting) == math.inf


@settings(max_examples=100)
@given(eps=EPS, setting=st.fixed_dictionaries(ANY_LOSS))
def test_takac_counts_satisfy_the_theorem(eps, setting):
    """(18)–(20) with the least whole numbers; (33) is then at most ε, and the best split better."""
    t0, T0, T = bounds.takac_theorem2_counts(eps, **setting)
    lam, beta, b, n, G, initial = (setting[name] for name in ANY_LOSS)
    start = max(0.0, n / b * math.log(2 * lam * n * initial / (G * beta)))
    middle = beta / b * max(0.0, 4 * G / (lam * eps) - 2 * n / beta)
    tail = max(math.ceil(n / b), beta / b * G / (lam * eps))
    for count, real in ((t0, start), (T0 - t0, middle), (T - T0, tail)):
        assert real * (1 - 1e-12) <= count <= real * (1 + 1e-12) + 1
    assert bounds.takac_theorem2_gap(T, T0, **setting) <= eps
    best = bounds.takac_theorem2_iterations(eps, **setting)
    assert t0 == best.t0 <= best.T0 <= best.T <= T
    assert bounds.takac_theorem2_gap(best.T, best.T0, **setting) <= eps


def test_the_best_start_is_the_best():
    setting = {"lam": 0.02, "beta": 3.0, "batch_size": 7, "n_rows": 100, "G": 4.0}
    t0 = bounds.takac_theorem2_counts(1.0, **setting).t0
    for T in (t0 + 15, t0 + 16, t0 + 40, 500):
        every = [bounds.takac_theorem2_gap(T, T0, **setting) for T0 in range(t0, T - 15 + 1)]
        assert bounds.takac_theorem2_gap(T, **setting) == min(every)
    assert bounds.takac_theorem2_gap(t0 + 14, **setting) == math.inf
    for T0 in (t0 - 1, 486, 300.5):
        with pytest.raises(ValueError, match="T0 must be a whole number"):
            bounds.takac_theorem2_gap(500, T0, **setting)


def test_the_poster_promises_no_more_than_theorem_2():
    """Averaging the second half of the poster's T, (33) is at most ε: it follows from Theorem 2."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        n = int(rng.integers(1, 1000))
        setting = {
            "lam": float(np.exp(rng.uniform(-10, 3))),
            "beta": float(np.exp(rng.uniform(0, 4))),
            "batch_size": int(rng.integers(1, n + 1)),
            "n_rows": n,
        }
        eps = float(np.exp(rng.uniform(-8, 7)))
        T = bounds.takac_poster_iterations(eps, **setting)
        assert bounds.takac_theorem2_gap(T + 1, T // 2 + 1, **setting) <= eps
        if eps < 150:
            printed = 2 * n / setting["batch_size"] * math.log(
                2 * setting["lam"] * n / setting["beta"] + 2
            ) + 8 * setting["beta"] / (setting["batch_size"] * setting["lam"] * eps)
            assert pytest.approx(printed, rel=1e-12, abs=1.0) == T


def test_batches_larger_than_the_data_are_refused():
    with pytest.raises(ValueError, match="from 1 to n_rows = 3"):
        bounds.takac_theorem2_counts(0.1, lam=0.1, beta=1.0, batch_size=4, n_rows=3)
    with pytest.raises(ValueError, match="from 1 to n_rows = 3"):
        bounds.takac_lemma1(np.eye(3), np.ones(3), 4)
    with pytest.raises(ValueError, match="n × n"):
        bounds.takac_lemma1(np.eye(3), np.ones(2), 1)


# ---- Takáč: expectations over all subsets


def beta_of(X, b):
    """Eq. (11)."""
    n = len(X)
    return 1 + (b - 1) * (np.linalg.norm(X, 2) ** 2 - 1) / (n - 1) if n > 1 else 1.0


def censored(v, A):
    out = np.zeros_like(v)
    out[list(A)] = v[list(A)]
    return out


@pytest.mark.parametrize("n", [1, 2, 6])
def test_lemma1_by_enumeration(n):
    rng = np.random.default_rng(n)
    for b in range(1, n + 1):
        Q, v = rng.normal(size=(n, n)), rng.normal(size=n)
        parts = [censored(v, A) for A in combinations(range(n), b)]
        mean = np.mean([u @ Q @ u for u in parts])
        assert bounds.takac_lemma1(Q, v, b) == pytest.approx(mean, rel=1e-12, abs=1e-12)

        for shrink in (1.0, 0.3):  # Q_ii ≤ 1, with and without equality
            X = rng.normal(size=(n, 3))
            X *= shrink * rng.uniform(0.5, 1, (n, 1)) / np.linalg.norm(X, axis=1, keepdims=True)
            X[0] *= shrink / np.linalg.norm(X[0])
            bound = bounds.takac_lemma1_bound(v, b, beta_of(X, b))
            assert bounds.takac_lemma1(X @ X.T, v, b) <= bound * (1 + 1e-12)


def test_lemma1_is_tight_for_the_top_eigenvector():
    """Rows of norm 1 all in one place: E = (b/n)β_b‖v‖², and β_b = b."""
    X, v = np.ones((5, 1)), np.ones(5)
    assert beta_of(X, 3) == pytest.approx(3.0)
    assert bounds.takac_lemma1(X @ X.T, v, 3) == pytest.approx(9.0)
    assert bounds.takac_lemma1_bound(v, 3, 3.0) == pytest.approx(9.0)


def dual(X, alpha, t, lam):
    """D(α) of losses whose conjugate is −t·a on a box; rows are y_i x_i."""
    w = alpha @ X / (lam * len(X))
    return alpha @ t / len(X) - 0.5 * lam * np.sum(w * w, axis=-1)


def primal(X, w, t, lam, lo):
    """P(w) of the hinge (lo = 0, t = 1) or the absolute loss (lo = −1)."""
    pull = t - w @ X.T
    return np.mean(np.maximum(pull, lo * pull), axis=-1) + 0.5 * lam * np.sum(w * w, axis=-1)


def unit_rows(n, d, seed):
    """Labelled rows of norm at most 1, one of them of norm 1, with a common direction."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.7 * rng.normal(size=d)
    X *= np.where(rng.random((n, 1)) < 0.7, 1.0, -1.0)
    return X / np.linalg.norm(X, axis=1).max()


def safe_steps(X, alpha, t, lam, beta, lo):
    """δ of eq. (15) for all rows."""
    z = (alpha @ X / (lam * len(X))) @ X.T
    return np.clip(alpha + lam * len(X) * (t - z) / beta, lo, 1.0) - alpha


@pytest.mark.parametrize("lo", [0.0, -1.0])
@pytest.mark.parametrize("b", [1, 3, 6])
def test_lemmas_3_and_4_by_enumeration(b, lo):
    """E[D(α + δ_A)] ≥ (1 − b/n)D(α) + (b/n)H(δ, α), and its progress against the gap."""
    rng = np.random.default_rng(b)
    n, lam = 6, 0.05
    subsets = list(combinations(range(n), b))
    for seed in range(20):
        X = unit_rows(n, 3, seed)
        t = np.ones(n) if lo == 0 else rng.normal(size=n)
        beta, alpha = beta_of(X, b), rng.uniform(lo, 1, n)

        def expected(delta, X=X, alpha=alpha, t=t):
            return np.mean([dual(X, alpha + censored(delta, A), t, lam) for A in subsets])

        step = safe_steps(X, alpha, t, lam, beta, lo)
        w = alpha @ X / (lam * n)
        for delta in (rng.normal(size=n), step):
            H = (
                dual(X, alpha, t, lam)
                + delta @ (t - X @ w) / n
                - beta * delta @ delta / (2 * lam * n**2)
            )
            assert expected(delta) >= (1 - b / n) * dual(X, alpha, t, lam) + b / n * H - 1e-12

        gap = primal(X, w, t, lam, lo) - dual(X, alpha, t, lam)
        slopes = np.where(t - X @ w > 0, 1.0, lo)
        spread = np.mean((slopes - alpha) ** 2)
        assert spread <= (1.0 if lo == 0 else bounds.takac_constant(1.0))
        progress = expected(step) - dual(X, alpha, t, lam)
        for s in np.linspace(0, 1, 11):
            assert progress >= b * (s / n * gap - (s / n) ** 2 * beta / (2 * lam) * spread) - 1e-12


# ---- Takáč: runs of both algorithms, many seeds at once

SEEDS = 60


def random_subsets(rng, n, b):
    """One subset for each seed."""
    return np.argsort(rng.random((SEEDS, n)), axis=1)[:, :b]


def pegasos_tail_averages(X, lam, b, T, seed=0):
    """Takáč's Algorithm 1: w̄ of every seed."""
    rng, n = np.random.default_rng(seed), len(X)
    w, total = np.zeros((SEEDS, X.shape[1])), 0.0
    for t in range(1, T + 1):
        if t > T // 2:
            total = total + w
        rows = X[random_subsets(rng, n, b)]
        violated = np.einsum("sbd,sd->sb", rows, w) < 1
        w = (1 - 1 / t) * w + np.einsum("sb,sbd->sd", violated, rows) / (lam * t * b)
    return total / (T - T // 2)


def safe_sdca(X, t, lam, b, T, beta, lo=0.0, seed=0):
    """Eq. (15) from α = 0: α⁽⁰⁾, …, α⁽ᵀ⁾ of every seed."""
    rng, n = np.random.default_rng(seed), len(X)
    alpha = np.zeros((SEEDS, n))
    yield alpha
    for _ in range(T):
        chosen = np.zeros((SEEDS, n))
        np.put_along_axis(chosen, random_subsets(rng, n, b), 1.0, axis=1)
        alpha = alpha + chosen * safe_steps(X, alpha, t, lam, beta, lo)
        yield alpha


def optimum(X, t, lam, lo=0.0):
    """P*, from below, to 1e-7."""
    n = len(X)
    Q = X @ X.T / (lam * n**2)
    found = minimize(
        lambda a: (0.5 * a @ Q @ a - a @ t / n, Q @ a - t / n),
        np.zeros(n),
        jac=True,
        bounds=[(lo, 1.0)] * n,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10},
    )
    lower = -found.fun
    assert primal(X, found.x @ X / (lam * n), t, lam, lo) - lower < 1e-6
    return lower


COLLINEAR = np.tile([[0.6, 0.8]], (40, 1)) * np.where(np.arange(40) % 3, 1.0, -1.0)[:, None]
DATA = {"random": unit_rows(40, 5, 0), "one line": COLLINEAR}
every_data = pytest.mark.parametrize("X", DATA.values(), ids=DATA.keys())


@every_data
@pytest.mark.parametrize(("b", "T"), [(1, 600), (1, 7), (5, 301), (40, 100)])
def test_theorem1_of_takac_holds(X, b, T):
    lam = 0.1
    w = pegasos_tail_averages(X, lam, b, T)
    error = primal(X, w, 1.0, lam, 0.0).mean() - optimum(X, np.ones(40), lam)
    bound = bounds.takac_theorem1_error(T, lam=lam, beta=beta_of(X, b), batch_size=b)
    assert -1e-9 <= error <= bound


@every_data
@pytest.mark.parametrize("b", [1, 5, 40])
def test_theorem2_of_takac_holds(X, b):
    """The gap of every promised average, and the dual error on the way."""
    lam, eps, n, t = 0.1, 0.05, len(X), np.ones(40)
    setting = {"lam": lam, "beta": beta_of(X, b), "batch_size": b, "n_rows": n}
    poster = bounds.takac_poster_iterations(eps, **setting)
    windows = [  # T0 ≤ t < T
        bounds.takac_theorem2_counts(eps, **setting)[1:],
        bounds.takac_theorem2_iterations(eps, **setting)[1:],
        (poster // 2 + 1, poster + 1),
    ]
    best, total = optimum(X, t, lam), np.zeros((3, SEEDS, n))
    for k, alpha in enumerate(safe_sdca(X, t, lam, b, max(T for _, T in windows), setting["beta"])):
        dual_error = best - dual(X, alpha, t, lam).mean()
        assert dual_error <= bounds.takac_dual_error(k, **setting)
        for window, (T0, T) in enumerate(windows):
            total[window] += alpha * (T0 <= k < T)
    for (T0, T), summed in zip(windows, total):
        mean = summed / (T - T0)
        gaps = primal(X, mean @ X / (lam * n), t, lam, 0.0) - dual(X, mean, t, lam)
        assert gaps.min() >= -1e-12
        assert gaps.mean() <= eps
        assert gaps.mean() <= bounds.takac_theorem2_gap(T, T0, **setting)


def test_theorem2_of_takac_holds_for_a_lipschitz_loss():
    """The absolute loss: L = 1, α ∈ [−1, 1], G = 4, and P(0) = mean |t| bounds the start."""
    X, lam, b, eps = DATA["random"], 0.1, 4, 0.2
    t = 3 * np.random.default_rng(3).normal(size=40)
    setting = {"lam": lam, "beta": beta_of(X, b), "batch_size": b, "n_rows": 40}
    setting |= {"G": bounds.takac_constant(1.0), "initial": float(np.abs(t).mean())}
    _, T0, T = bounds.takac_theorem2_counts(eps, **setting)
    best, total = optimum(X, t, lam, -1.0), 0.0
    for k, alpha in enumerate(safe_sdca(X, t, lam, b, T - 1, setting["beta"], -1.0)):
        dual_error = best - dual(X, alpha, t, lam).mean()
        assert dual_error <= bounds.takac_dual_error(k, **setting)
        total = total + alpha * (k >= T0)
    mean = total / (T - T0)
    gaps = primal(X, mean @ X / (lam * 40), t, lam, -1.0) - dual(X, mean, t, lam)
    assert gaps.mean() <= eps


# ---- Pegasos


def test_pegasos_by_hand():
    assert bounds.pegasos_constant(0.25, 1.0, projected=True) == pytest.approx(2.25)
    assert bounds.pegasos_constant(0.25, 1.5, projected=False) == pytest.approx(9.0)
    error = bounds.pegasos_theorem1_error(10, lam=0.1, R=1.0)
    assert error == pytest.approx(4 * (1 + math.log(10)) / 2)
    error = bounds.pegasos_corollary2_error(100, lam=0.1, R=1.0, delta=0.01)
    assert error == pytest.approx(84 * math.log(1e4) / 10)
    twice = bounds.pegasos_lemma3_error(100, lam=0.1, R=1.0, delta=0.01)
    assert twice == pytest.approx(2 * error)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"R": 0.99}, "R >= 1"),
        ({"lam": 0.26}, "lam <= 1/4"),
        ({"delta": 1.0}, r"delta must lie in \(0, 1\)"),
        ({"delta": 0.0}, "delta must lie"),
        ({"T": 2}, "at least 3"),
    ],
)
def test_conditions_of_pegasos(change, words):
    good = {"T": 100, "lam": 0.1, "R": 1.0, "delta": 0.1}
    for bound in (bounds.pegasos_corollary2_error, bounds.pegasos_lemma3_error):
        bound(**good)
        with pytest.raises(ValueError, match=words):
            bound(**{**good, **change})


def online(X, lam, G, R, curvature, pull=0.0):
    """Steps on f_t(w) = (λ_t/2)‖w‖² + [1 − ⟨w, x_t⟩]₊ in the ball of radius R: all w_t.

    `pull` are Bartlett's τ_t, for which the step is on ∇f_t(w_t) + τ_t w_t.
    """
    T = len(X)
    lam, G, curvature, pull = (np.broadcast_to(v, T) for v in (lam, G, curvature, pull))
    w, path = np.zeros(X.shape[1]), []
    for t, x in enumerate(X):
        path.append(w)
        g = lam[t] * w - (x @ w < 1) * x
        assert np.linalg.norm(g) <= G[t] * (1 + 1e-12)
        w = w - (g + pull[t] * w) / curvature[t]
        w = w * min(1.0, R / max(np.linalg.norm(w), 1e-300))
    return np.array(path)


def regret(X, lam, path, R):
    """Against the best u in the ball (from below: the regret against any u is no larger)."""
    lam = np.broadcast_to(lam, len(X))

    def total(u):
        return 0.5 * lam.sum() * u @ u + np.maximum(0, 1 - X @ u).sum()

    def of_any(v):  # the ball as the image of the whole space
        return total(v * min(1.0, R / max(np.linalg.norm(v), 1e-300)))

    starts = [np.zeros(X.shape[1]), path[-1], path.mean(0), X.mean(0) * R]
    options = {"maxiter": 2000}
    rivals = [minimize(of_any, u, method="Nelder-Mead", options=options).fun for u in starts[1:3]]
    rivals += [of_any(u) for u in starts]
    suffered = np.sum(0.5 * lam * np.sum(path**2, 1) + np.maximum(0, 1 - np.sum(X * path, 1)))
    return suffered - min(rivals)


@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("lam", [0.02, 0.2])
def test_theorem1_of_pegasos_holds(lam, projected):
    """For any order of rows, the worst of which are sorted by class."""
    X = unit_rows(40, 3, 1)
    rows = np.concatenate([X[np.argsort(X[:, 0])]] * 5)
    radius = 1 / math.sqrt(lam) if projected else 1e9
    c = bounds.pegasos_constant(lam, 1.0, projected=projected)
    path = online(rows, lam, math.sqrt(c), radius, lam * np.arange(1, len(rows) + 1))
    for T in (3, 50, 200):
        bound = bounds.pegasos_theorem1_error(T, lam=lam, R=1.0, projected=projected)
        assert regret(rows[:T], lam, path[:T], radius) / T <= bound


def test_corollaries_and_lemma3_of_pegasos_hold():
    """Full batches are deterministic; single rows hold in mean and, for Lemma 3, for half of t."""
    X, lam, T, n = DATA["random"], 0.1, 400, 40
    best = optimum(X, np.ones(n), lam)
    w, path = np.zeros(5), []
    for t in range(1, T + 1):
        path.append(w)
        w = (1 - 1 / t) * w + (X @ w < 1) @ X / (n * lam * t)
    error = primal(X, np.mean(path, 0), 1.0, lam, 0.0) - best
    assert 0 <= error <= bounds.pegasos_theorem1_error(T, lam=lam, R=1.0)

    rng = np.random.default_rng(0)
    w, errors = np.zeros((SEEDS, 5)), np.empty((T, SEEDS))
    total = np.zeros_like(w)
    for t in range(1, T + 1):
        errors[t - 1] = primal(X, w, 1.0, lam, 0.0) - best
        total += w
        rows = X[rng.integers(0, n, SEEDS)]
        w = (1 - 1 / t) * w + (np.sum(rows * w, 1) < 1)[:, None] * rows / (lam * t)
    averaged = primal(X, total / T, 1.0, lam, 0.0) - best
    assert averaged.mean() <= bounds.pegasos_theorem1_error(T, lam=lam, R=1.0)
    setting = {"lam": lam, "R": 1.0, "delta": 0.05}
    assert np.mean(averaged > bounds.pegasos_corollary2_error(T, **setting)) <= 0.05
    good = np.mean(errors <= bounds.pegasos_lemma3_error(T, **setting), axis=0)
    assert np.mean(good < 0.5) <= 0.05


# ---- Do


def test_balance_by_hand():
    """The positive root of τ² + Λτ = G²/(4R²), or 2G²/(3R²) for Bartlett."""
    tau, curvature = bounds.balanced_tau([1.5, 0.0], [2.0, 2.0], 1.0)
    assert tau[0] == pytest.approx(0.5)  # ½(√(2.25 + 4) − 1.5)
    assert curvature[0] == pytest.approx(2.0)
    assert tau[1] == pytest.approx(0.5 * (math.sqrt(8) - 2))
    # Bartlett: ½(√(Λ² + 8·G²/(3R²)) − Λ) with Λ = 1, G²/R² = 3
    tau, _ = bounds.bartlett_tau(1.0, math.sqrt(3.0), 1.0)
    assert tau[0] == pytest.approx(1.0)
    # no digits are lost where λ is large
    tau, _ = bounds.balanced_tau(1e9, 1.0, 1.0)
    assert tau[0] == pytest.approx(2.5e-10, rel=1e-12)


@pytest.mark.parametrize("rule", [bounds.balanced_tau, bounds.bartlett_tau])
def test_balance_equates_both_terms_and_can_be_continued(rule):
    rng = np.random.default_rng(0)
    lam, G, R = rng.uniform(0, 0.1, 50), rng.uniform(0.1, 3, 50), 2.5
    lam[:5] = 0.0
    tau, curvature = rule(lam, G, R)
    np.testing.assert_allclose(curvature, np.cumsum(lam + tau))
    left, right = (2, 0.5) if rule is bounds.balanced_tau else (1.5, 1)
    np.testing.assert_allclose(left * tau * R**2, right * G**2 / curvature)
    head = rule(lam[:20], G[:20], R)
    rest = rule(lam[20:], G[20:], R, head.curvature[-1])
    np.testing.assert_array_equal(tau, np.append(head.tau, rest.tau))
    np.testing.assert_array_equal(curvature, np.append(head.curvature, rest.curvature))


def test_regrets_by_hand():
    assert bounds.do_lemma1_regret([1.0, 1.0], [2.0, 4.0]) == pytest.approx(0.5 * (4 + 8))
    value = bounds.do_corollary1_regret([1.0, 0.0], [1.0, 2.0], 2.0, 3.0)
    assert value == pytest.approx(0.5 * (36 + 2 + 1))
    # footnote 4: λ = 0, so that τ_1 = √(ΣG²)/(2R) and min R_T = 2R√(ΣG²)
    assert bounds.do_proposition1_tau(0.0, [3.0, 4.0], 1.0) == pytest.approx(2.5)
    assert bounds.do_theorem1_regret(0.0, [3.0, 4.0], 1.0) == pytest.approx(20.0)
    # strong λ: no proximal term at all
    assert bounds.do_proposition1_tau(10.0, [3.0, 4.0], 1.0) == 0.0
    assert bounds.do_theorem1_regret(10.0, [3.0, 4.0], 1.0) == pytest.approx(0.9 + 0.8)
    assert bounds.do_proposition1_tau([0.0, 1.0], [0.0, 0.0], 1.0) == 0.0
    # footnote 3 with λ = 0: min 3τR² + 2ΣG²/τ = 2√(6ΣG²)R
    assert bounds.bartlett_regret(0.0, [3.0, 4.0], 2.0) == pytest.approx(2 * math.sqrt(6) * 10)


def test_theorem2_of_do_by_hand():
    setting = {"lam": 0.5, "G": 3.0, "R": 2.0}
    corollary2 = 9 / 0.5 * (1 + math.log(50))
    assert bounds.do_theorem2_bound(0.0, 50, **setting) == pytest.approx(corollary2)
    printed = 16 + 18 * (1 / 3 + math.log(52 / 3))
    assert bounds.do_theorem2_bound(1.0, 50, **setting) == pytest.approx(printed)
    for lam in (0.0, 1e-300, 1e-14):  # Corollary 3
        tau = 3 * math.sqrt(50) / 4
        value = bounds.do_theorem2_bound(tau, 50, lam=lam, G=3.0, R=2.0)
        assert value == pytest.approx(24 * math.sqrt(50))
        assert bounds.do_theorem2_tau(50, lam=lam, G=3.0, R=2.0) == pytest.approx(tau)
    assert bounds.do_proposition2_error(8.0, 10, 0.5) == pytest.approx(1.6)
    assert bounds.do_proposition2_error(8.0, 10, 1.0) == pytest.approx(0.8)
    assert bounds.do_phase_iterations(0.1, lam=1e-9, G=1.0, R=1.0, delta=0.5) == 6400


@settings(max_examples=60)
@given(setting=st.fixed_dictionaries(ONLINE), T=st.integers(1, 3000))
def test_strategy_2_minimises_its_bound(setting, T):
    tau = bounds.do_theorem2_tau(T, **setting)
    least = bounds.do_theorem2_bound(tau, T, **setting)
    for factor in (0.0, 0.5, 0.99, 1.01, 2.0):
        assert least <= bounds.do_theorem2_bound(factor * tau, T, **setting) * (1 + 1e-12)
    assert least <= bounds.do_theorem2_bound(tau + 0.1, T, **setting) * (1 + 1e-12)
    # Corollaries 2 and 3, for any λ > 0
    lam, G, R = setting["lam"], setting["G"], setting["R"]
    assert least <= G * G / lam * (1 + math.log(T)) * (1 + 1e-12)
    assert least <= 4 * R * G * math.sqrt(T) * (1 + 1e-12)
    phase = bounds.do_phase_error(T, **setting, delta=0.5)
    assert bounds.do_proposition2_error(least, T, 0.5) <= phase * (1 + 1e-12)
    # B(τ) is at least twice (5), and Theorem 1 at most B's least value
    constant = bounds.do_theorem1_regret(np.full(T, lam), G, R)
    assert constant <= least * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_proposition_1_and_theorem_1_for_any_sequences(seed):
    """One τ_1 is best, and balancing costs at most twice as much."""
    rng = np.random.default_rng(seed)
    T = 12
    lam, G, R = rng.uniform(0, 0.3, T), rng.uniform(0.1, 2, T), 1.3
    least = bounds.do_theorem1_regret(lam, G, R) / 2
    one = minimize_scalar(
        lambda tau: bounds.do_corollary1_regret(np.append(tau, np.zeros(T - 1)), lam, G, R),
        bounds=(0, 20),
        method="bounded",
    )
    assert least == pytest.approx(one.fun, rel=1e-6)
    for _ in range(300):
        tau = rng.exponential(rng.uniform(0, 1), T) * (rng.random(T) < 0.5)
        if tau[0] + lam[0] > 0:
            assert bounds.do_corollary1_regret(tau, lam, G, R) >= least * (1 - 1e-12)
    balanced = bounds.do_corollary1_regret(bounds.balanced_tau(lam, G, R).tau, lam, G, R)
    assert least <= balanced <= 2 * least


def test_bad_sequences_are_refused():
    with pytest.raises(ValueError, match=r"differ in length \(tau: 2, lam: 3, G: 1\)"):
        bounds.do_corollary1_regret(np.ones(2), np.ones(3), 1.0, 1.0)
    with pytest.raises(ValueError, match="G must be finite and not negative"):
        bounds.balanced_tau([1.0, 1.0], [1.0, -1.0], 1.0)
    with pytest.raises(ValueError, match="lam must be finite"):
        bounds.do_lemma1_regret([math.nan], 1.0)
    with pytest.raises(ValueError, match="number or a sequence"):
        bounds.do_lemma1_regret([], 1.0)
    for call in (
        lambda: bounds.do_lemma1_regret([0.0, 1.0], 1.0),
        lambda: bounds.balanced_tau([0.0, 1.0], [0.0, 1.0], 1.0),
    ):
        with pytest.raises(ValueError, match="first step"):
            call()
    with pytest.raises(ValueError, match="curvature must"):
        bounds.balanced_tau(1.0, 1.0, 1.0, curvature=-1.0)
    with pytest.raises(ValueError, match="positive for lam = 0"):
        bounds.do_theorem2_bound(0.0, 5, lam=0.0, G=1.0, R=1.0)
    with pytest.raises(ValueError, match="regret must"):
        bounds.do_proposition2_error(-1.0, 5, 0.5)


@pytest.mark.parametrize("R", [0.5, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_regret_bounds_of_do_hold(seed, R):
    """Algorithm 1, Algorithm 2, Strategy 2 and Adaptive on hinge losses, in sorted order."""
    rng = np.random.default_rng(seed)
    X = unit_rows(150, 3, seed)
    X = X[np.argsort(X @ rng.normal(size=3))]
    lam = rng.uniform(0, 0.05, len(X))
    lam[0] = 0.02
    G = lam * R + np.linalg.norm(X, axis=1)

    path = online(X, lam, G, R, np.cumsum(lam))
    assert regret(X, lam, path, R) <= bounds.do_lemma1_regret(lam, G)

    tau, curvature = bounds.balanced_tau(lam, G, R)
    suffered = regret(X, lam, online(X, lam, G, R, curvature), R)
    assert suffered <= bounds.do_corollary1_regret(tau, lam, G, R)
    assert suffered <= bounds.do_theorem1_regret(lam, G, R)

    tau, curvature = bounds.bartlett_tau(lam, G, R)
    suffered = regret(X, lam, online(X, lam, G, R, curvature, tau), R)
    assert suffered <= bounds.bartlett_regret(lam, G, R)

    setting = {"lam": 0.01, "G": 0.01 * R + 1.0, "R": R}
    least = bounds.do_theorem2_error(len(X), **setting) * len(X)
    _, curvature = bounds.balanced_tau(np.full(len(X), 0.01), setting["G"], R)
    assert regret(X, 0.01, online(X, 0.01, setting["G"], R, curvature), R) <= least
    tau = bounds.do_theorem2_tau(len(X), **setting)
    single = 0.01 * np.arange(1, len(X) + 1) + tau
    assert regret(X, 0.01, online(X, 0.01, setting["G"], R, single), R) <= least / 2


def test_theorem4_of_do_by_hand():
    """λ = 2⁻¹²: R² = 1, 2, …, 2¹⁴ in 15 phases, δ̂ = δ/(3 + 12)."""
    setting = {"lam": 2.0**-12, "delta": 0.75, "G": 1.25}
    counts = bounds.do_theorem4_counts(0.4, **setting, batch_size=10)
    assert counts.phases == 15
    assert counts.delta == pytest.approx(0.05)
    assert counts.examples == 10 * counts.iterations
    # up to R² = 64 the bound 4RG/(δ̂√T) is the smaller one, at the end the other
    first = sum(math.ceil(16 * 2**i * 1.25**2 / (0.05 * 0.4) ** 2) for i in range(7))
    last = bounds.do_phase_iterations(0.4, lam=2.0**-12, G=1.25, R=1e9, delta=0.05)
    assert counts.iterations == pytest.approx(first + 8 * last, rel=1e-6)
    closed = 128 * 1.25**2 / (0.05**2 * 2.0**-12 * 0.4**2)  # the proof's sum, with 4RG/(δ̂√T)
    assert counts.iterations <= closed + 15
    assert bounds.do_theorem4_counts(0.01, lam=0.3, delta=0.5, G=1.0).phases == 5
    assert bounds.do_theorem4_counts(0.01, lam=20.0, delta=0.5, G=5.0).phases == 3
    for change, words in (({"delta": 1.0}, "delta"), ({"lam": 0.0}, "lam"), ({"G": 0.0}, "G")):
        with pytest.raises(ValueError, match=words):
            bounds.do_theorem4_counts(0.01, **{**setting, **change})
    with pytest.raises(ValueError, match="eps < 1/2"):
        bounds.do_theorem4_counts(0.5, **setting)


@settings(max_examples=40)
@given(lam=log_floats(1e-6, 100), eps=log_floats(1e-3, 0.499))
def test_the_last_phase_of_algorithm_3_is_never_left(lam, eps):
    """There R − √(2ε/λ) > 1/√λ, the norm of no iterate; for ε near ½ one phase less is too few."""
    phases = bounds.do_theorem4_counts(eps, lam=lam, delta=0.5, G=1.0).phases
    R0 = min(1.0, 1 / math.sqrt(lam))
    assert R0 * math.sqrt(2) ** (phases - 1) - math.sqrt(2 * eps / lam) > 1 / math.sqrt(lam)
    assert R0 * math.sqrt(2) ** (phases - 2) < 2 / math.sqrt(lam) * (1 + 1e-12)


def test_proposition3_and_theorem5_by_hand():
    """λ = 1, R = 2, A = 1: (λR + A)² = 9."""
    value = bounds.do_proposition3_error([1.0, 0.0], 1.0, 1.0, 2.0)
    assert value == pytest.approx((8 + 9 / 4 + 9 / 6) / 2)
    value = bounds.do_theorem5_error(10, lam=1.0, A=1.0, R=2.0)
    assert value == pytest.approx(0.9 * (1 + math.log(10)))


@pytest.mark.parametrize("lam", [0.003, 0.1])
def test_proposition3_and_theorem5_of_do_hold(lam):
    """Algorithm 4 with an ascent in place of the QP: the proof only needs D′ not to fall."""
    X, T, n = DATA["random"], 25, 40
    R, A = 1 / math.sqrt(lam), 1.0
    tau, curvature = bounds.balanced_tau(np.full(T, lam), lam * R + A, R)
    best = optimum(X, np.ones(n), lam)
    path, planes, offsets, alpha = [np.zeros(5)], [], [], np.zeros(0)
    for t in range(1, T + 1):
        w = path[-1]
        violated = X @ w < 1
        planes.append(-(violated @ X) / n)
        offsets.append(violated.mean())  # b_t = ℓ(w_t) − ⟨a_t, w_t⟩
        a, centre = np.array(planes), tau[:t] @ np.array(path)
        alpha = np.append(alpha, 1.0)
        rate = curvature[t - 1] / np.linalg.norm(a, 2) ** 2
        for _ in range(100):
            slope = np.array(offsets) + a @ (centre - alpha @ a) / curvature[t - 1]
            alpha = onto_simplex(alpha + rate * slope, t)
        path.append((centre - alpha @ a) / curvature[t - 1])
    path = np.array(path[:T])
    assert np.linalg.norm(path, axis=1).max() <= R
    assert np.linalg.norm(planes, axis=1).max() <= A
    for stop in (1, 5, T):
        error = primal(X, path[:stop], 1.0, lam, 0.0).min() - best
        tight = bounds.do_proposition3_error(tau[:stop], lam, A, R)
        assert error <= tight <= bounds.do_theorem5_error(stop, lam=lam, A=A, R=R) * (1 + 1e-12)


def onto_simplex(v, total):
    """The nearest point with v ≥ 0 and Σ v ≤ total."""
    if np.maximum(v, 0).sum() <= total:
        return np.maximum(v, 0)
    down = np.sort(v)[::-1]
    excess = (np.cumsum(down) - total) / np.arange(1, v.size + 1)
    return np.maximum(v - excess[down > excess][-1], 0)


def test_takac_ball_by_hand():
    setting = {"radius": 3.0, "beta": 2.0, "batch_size": 8}
    assert bounds.takac_ball_error(100, **setting) == pytest.approx(3 * (2 / 800) ** 0.5)
    assert bounds.takac_ball_iterations(0.1500001, **setting) == 100
    with pytest.raises(ValueError, match="radius"):
        bounds.takac_ball_error(100, **{**setting, "radius": 0.0})


@pytest.mark.parametrize("b", [1, 4, 16])
def test_steps_over_a_ball_are_within_the_bound(b):
    """The mean over many runs, of projected steps on rows in general position."""
    rng = np.random.default_rng(b)
    n, d, B, T = 40, 6, 2.0, 30
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1).max()
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    sigma2 = np.linalg.norm(X, 2) ** 2 / n
    beta = 1 + (b - 1) * (n * sigma2 - 1) / (n - 1)
    eta = B / np.sqrt(T * beta / b)

    def loss(w):
        return np.mean(np.maximum(0.0, 1 - y * (X @ w)))

    ends = []
    for _ in range(200):
        w, total = np.zeros(d), np.zeros(d)
        for _ in range(T):
            total += w
            A = rng.choice(n, b, replace=False)
            hit = y[A] * (X[A] @ w) < 1
            w = w + eta * (y[A] * hit) @ X[A] / b
            w *= min(1.0, B / max(np.linalg.norm(w), 1e-300))
        ends.append(loss(total / T))
    w, least = np.zeros(d), 1.0
    for t in range(1, 4000):
        hit = y * (X @ w) < 1
        w = w + B / np.sqrt(t) * (y * hit) @ X / n
        w *= min(1.0, B / max(np.linalg.norm(w), 1e-300))
        least = min(least, loss(w))
    bound = bounds.takac_ball_error(T, radius=B, beta=beta, batch_size=b)
    assert 0 <= np.mean(ends) - least <= bound
