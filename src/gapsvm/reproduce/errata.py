"""Executable errata: what the papers print wrong, each with a check that the correction passes.

A check is asked for the printed or the corrected form and says whether that form does on a made-up
example what the paper says of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapsvm.theory import do_theorem5_iterations, pegasos_theorem1_iterations

LAM = 0.1


@dataclass(frozen=True)
class Erratum:
    """A misprint."""

    paper: str
    place: str
    printed: str
    corrected: str
    shows: str
    """What the check does."""
    holds: Callable[[bool], bool]
    """Whether the printed (True) or the corrected form (False) does what is said of it."""


def _data(n: int = 12, d: int = 3) -> tuple[Any, Any]:
    """Rows of norm at most 1, and signs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1).max(), np.where(rng.random(n) < 0.5, 1.0, -1.0)


def _gram() -> Any:
    X, y = _data()
    return (y[:, None] * X) @ (y[:, None] * X).T


def _dual(alpha: Any, Q: Any) -> float:
    """Takáč eq. (2)."""
    n = len(alpha)
    return float(np.sum(alpha) / n - alpha @ Q @ alpha / (2 * LAM * n**2))


# -- Shalev-Shwartz, Singer, Srebro, Cotter 2011 ---------------------------------------------------


def _drawn(steps: int = 60) -> Any:
    return np.random.default_rng(1).integers(0, 12, steps)


def _figure1(steps: int = 60) -> tuple[list[Any], list[Any]]:
    """The w_t of Figure 1, t = 1, 2, …, and the α that count its violations."""
    X, y = _data()
    w, alpha = np.zeros(3), np.zeros(12)
    ws, alphas = [w], [alpha]
    for t, i in enumerate(_drawn(steps), 1):
        hit = y[i] * (X[i] @ w) < 1
        w = (1 - 1 / t) * w + hit * y[i] * X[i] / (LAM * t)
        alpha = alpha + hit * (np.arange(12) == i)
        ws.append(w)
        alphas.append(alpha)
    return ws, alphas


def _figure3(signs_of_j: bool, divide_before: bool) -> list[Any]:
    """The α_t of Figure 3, with y_j or y_{i_t} in the sum, over λ(t − 1) or over λt."""
    X, y = _data()
    K, alpha = X @ X.T, np.zeros(12)
    alphas = [alpha]
    for t, i in enumerate(_drawn(), 1):
        signs = y if signs_of_j else np.full(12, y[i])
        total = alpha * signs @ K[i]
        scale = LAM * (t - 1 if divide_before else t)
        margin = y[i] * total / scale if scale else 0.0
        alpha = alpha + (margin < 1) * (np.arange(12) == i)
        alphas.append(alpha)
    return alphas


def _same(one: list[Any], other: list[Any]) -> bool:
    return all(np.allclose(a, b) for a, b in zip(one, other))


def _signs_of_figure3(printed: bool) -> bool:
    return _same(_figure3(not printed, True), _figure1()[1])


def _scale_of_figure3(printed: bool) -> bool:
    return _same(_figure3(True, not printed), _figure1()[1])


def _indices_of_figure3(printed: bool) -> bool:
    """Every index names a row, and every row has one."""
    return set(range(0 if printed else 1, 13)) == {j + 1 for j in range(12)}


def _sign_of_12(printed: bool) -> bool:
    X, y = _data()
    ws, _ = _figure1()
    found = []
    for t, i in enumerate(_drawn(), 1):
        v = (y[i] * (X[i] @ ws[t - 1]) < 1) * y[i] * X[i]
        found.append((1 - 1 / t) * ws[t - 1] + (-1 if printed else 1) * v / (LAM * t))
    return _same(found, ws[1:])


def _squares() -> Any:
    """‖w_t − u‖², t = 1, …, T + 1, for some u."""
    return np.array([np.sum((w - 0.7) ** 2) for w in _figure1()[0]])


def _telescope(sign: float) -> float:
    """The first sum in the proof of Lemma 1, η_t = 1/(λt)."""
    a = _squares()
    t = np.arange(1, len(a))
    return float(np.sum(0.5 * LAM * t * (a[:-1] - a[1:]) + sign * 0.5 * LAM * a[:-1]))


def _sign_in_lemma1(printed: bool) -> bool:
    """It collapses: what is left depends on w_{T+1} alone."""
    a = _squares()
    return math.isclose(
        _telescope(1.0 if printed else -1.0), -0.5 * LAM * (len(a) - 1) * a[-1], rel_tol=1e-9
    )


def _value_in_lemma1(printed: bool) -> bool:
    a = _squares()
    T = len(a) - 1
    value = -LAM * (T + 1) * a[-1] if printed else -0.5 * LAM * T * a[-1]
    return math.isclose(_telescope(-1.0), value, rel_tol=1e-9)


def _indices_of_section4(printed: bool) -> bool:
    """w_{t+1} as a sum over the steps so far."""
    X, y = _data()
    ws, _ = _figure1()
    found = []
    for t in range(1, len(ws)):
        total = np.zeros(3)
        for tau in range(1, t + 1):
            k = t if printed else tau  # as printed every term has the index t
            i = _drawn()[k - 1]
            total += (y[i] * (X[i] @ ws[k - 1]) < 1) * y[i] * X[i]
        found.append(total / (LAM * t))
    return _same(found, ws[1:])


def _penalty_of_25(printed: bool) -> bool:
    """min over b of J(b) is the minimum of (23): two rows, x = ±1 with y = ±1, λ = ½."""
    w, b = np.meshgrid(np.linspace(-4, 4, 161), np.linspace(-2, 2, 81))
    loss: Any = 0.5 * sum(np.maximum(0.0, 1 - s * (w * s + b)) for s in (1.0, -1.0))
    J = (loss if printed else loss + 0.25 * w**2).min(axis=1)
    return math.isclose(float(J.min()), float((loss + 0.25 * w**2).min()))


def _runtime_by_lambda(printed: bool) -> bool:
    """Iterations for ε at half of λ, by Theorem 1, are those at λ times what is said, or more."""
    T = [pegasos_theorem1_iterations(0.01, lam=lam, R=1.0, projected=False) for lam in (0.1, 0.05)]
    times = 0.5 if printed else 2.0
    return abs(T[1] / T[0] / times - 1) < 0.25


# -- Takáč, Bijral, Richtárik, Srebro 2013 ---------------------------------------------------------


def _beta(b: int, n: int, sigma2: float) -> float:
    return 1 + (b - 1) * (n * sigma2 - 1) / (n - 1)


def _below(printed: bool) -> bool:
    return all(_beta(b, 10, 0.3) < (1 if printed else b) for b in (2, 4, 10))


def _tail_average(printed: bool) -> bool:
    """An average of equal iterates is that iterate."""
    return all(
        math.isclose((T - T // 2) * (2 / T if printed else 1 / (T - T // 2)), 1.0)
        for T in (1, 2, 7, 10)
    )


def _batch_size(printed: bool) -> bool:
    """A subset of that size can be drawn."""
    b: Any = np.zeros(3) if printed else 3
    try:
        return len(np.random.default_rng(0).choice(12, size=b, replace=False)) == 3
    except (TypeError, ValueError):
        return False


def _dual_of_23(printed: bool) -> bool:
    X, y = _data()
    alpha = np.random.default_rng(2).random(12)
    w = (alpha * y) @ X / (LAM * 12)
    value = -(w @ w) - alpha.sum() / 12 if printed else alpha.sum() / 12 - 0.5 * LAM * (w @ w)
    return math.isclose(float(value), _dual(alpha, _gram()))


def _square_of_24(printed: bool) -> bool:
    """With b = 1, β_b = 1, and a move of one row, H is D."""
    X, y = _data()
    alpha, delta = np.random.default_rng(3).random(12), 0.2 * (np.arange(12) == 4)
    scale = 1 / (LAM * 12)
    w = scale * (alpha * y) @ X
    quadratic = (scale if printed else scale**2) * np.sum(X**2, axis=1) @ delta**2
    linear = 2 * scale * delta @ (y * (X @ w))
    H = np.sum(alpha + delta) / 12 - 0.5 * LAM * (w @ w + quadratic + linear)
    return math.isclose(float(H), _dual(alpha + delta, _gram()))


def _norm_of_24(printed: bool) -> bool:
    """Lemma 1 with row norms: x = 1 and 0.1 on a line, b = n = 2; σ² raw or row-normalised."""
    x, v = np.array([1.0, 0.1]), np.array([1.0, 10.0])
    rows = x if printed else np.ones(2)
    beta = _beta(2, 2, float(rows @ rows) / 2)
    return bool((x @ v) ** 2 <= beta * np.sum(x**2 * v**2) + 1e-12)


def _constant_of_27(printed: bool) -> bool:
    """(χ − α)² ≤ G for the loss 2|z − y|, whose L is 2, at χ = 2 and α = −2."""
    L = 2.0
    return (4 * L if printed else 4 * L**2) >= (L - -L) ** 2


def _extreme_of_H(printed: bool) -> bool:
    """(15) with β_b is, among feasible moves, the least or the most of H."""
    Q, rng = _gram(), np.random.default_rng(4)
    alpha, n, beta = rng.random(12), 12, 2.0

    def H(delta: Any) -> float:
        quadratic = alpha @ Q @ alpha + 2 * alpha @ Q @ delta + beta * delta @ delta
        return float(np.sum(alpha + delta) / n - quadratic / (2 * LAM * n**2))

    step = np.clip((LAM * n - Q @ alpha) / beta, -alpha, 1 - alpha)
    others = [H(rng.random(12) - alpha) for _ in range(200)]
    return H(step) <= min(others) if printed else H(step) >= max(others)


def _sign_of_the_poster(printed: bool) -> bool:
    """The step of the poster is that of eq. (15)."""
    Q, beta, n = _gram(), 2.0, 12
    alpha = np.random.default_rng(5).random(12)
    j = int(np.argmin(np.abs(LAM * n - Q @ alpha)))  # a step that ends inside the box
    grid, e = np.linspace(-alpha[j], 1 - alpha[j], 20_001), np.arange(n) == j
    sign = 1 if printed else -1
    values = [
        _dual(alpha + d * e, Q) + sign * (beta - Q[j, j]) / (2 * LAM * n**2) * d**2 for d in grid
    ]
    step = float(np.clip((LAM * n - Q[j] @ alpha) / beta, -alpha[j], 1 - alpha[j]))
    return bool(abs(grid[int(np.argmax(values))] - step) < 1e-3)


# -- Do, Le, Foo 2009 ------------------------------------------------------------------------------


def _delta_of_algorithm3(printed: bool) -> bool:
    """All phases together fail with probability δ at most, by the union bound."""
    lam, delta = 1e-6, 0.1
    phases = 3 - math.log2(lam)
    return phases * (delta if printed else delta / phases) <= delta * (1 + 1e-12)


def _minimised_by_algorithm4(printed: bool) -> bool:
    """The w_{t+1} of Algorithm 4 minimises what is said, P_t or P'_t: two cuts in the plane."""
    a, b = np.array([[1.0, 0.2], [-0.4, 0.9]]), np.array([0.3, 0.5])
    centres, tau, lam = np.array([[3.0, -2.0], [2.0, 3.0]]), np.array([2.0, 1.0]), 0.3

    def P(w: Any) -> float:
        return float(0.5 * lam * w @ w + max(0.0, np.max(a @ w + b)))

    def with_proximal_terms(w: Any) -> float:
        return 2 * P(w) + 0.5 * float(tau @ np.sum((w - centres) ** 2, axis=1))

    def w_of(alpha: Any) -> Any:
        return (tau @ centres - alpha @ a) / (2 * lam + tau.sum())

    def D(alpha: Any) -> float:
        move = tau @ centres - alpha @ a
        rest = 0.5 * float(tau @ np.sum(centres**2, axis=1)) + float(alpha @ b)
        return rest - float(move @ move) / (2 * (2 * lam + tau.sum()))

    grid = np.linspace(0, 2, 201)
    best = max((np.array([p, q]) for p in grid for q in grid if p + q <= 2), key=D)
    w, minimised = w_of(best), P if printed else with_proximal_terms
    rng = np.random.default_rng(6)
    return all(minimised(w) <= minimised(w + 0.3 * rng.normal(size=2)) + 1e-3 for _ in range(300))


def _rate_of_bundles(printed: bool) -> bool:
    """A smaller ε takes more iterations."""
    if printed:  # O(1/(λT)): ε does not occur
        return False
    T = [do_theorem5_iterations(eps, lam=0.1, A=1.0, R=1.0) for eps in (0.1, 0.01)]
    return T[1] > 2 * T[0]


def _footnote8(printed: bool) -> bool:
    """1/√λ of λ_best = 1e-9, to its leading digit."""
    return abs(1 / math.sqrt(1e-9) / (3e5 if printed else 3e4) - 1) < 0.1


P, T, D = "Shalev-Shwartz 2011", "Takáč 2013", "Do 2009"

ERRATA = (
    Erratum(P, "Figure 3", "y_{i_t} in the sum", "y_j",
            "the α of Figure 3 are the violations that Figure 1 counts", _signs_of_figure3),
    Erratum(P, "Figure 3", "1/(λt)", "1/(λ(t − 1)), and w_1 = 0",
            "the α of Figure 3 are the violations that Figure 1 counts", _scale_of_figure3),
    Erratum(P, "Figure 3", "i_t ∈ {0, …, |S|}", "i_t ∈ {1, …, |S|}",
            "every index names a row", _indices_of_figure3),
    Erratum(P, "§4, the display before α_{t+1}", "i_t and w_t in every term", "i_τ and w_τ",
            "the sum is the w_{t+1} of Figure 1", _indices_of_section4),
    Erratum(P, "eq. (12)", "− (1/(tλ)) v_t", "+ (1/(λt)) v_t",
            "it is the step of eq. (5)", _sign_of_12),
    Erratum(P, "Lemma 1, proof", "+ (λ/2)‖w_t − u‖² in the sum", "− (λ/2)‖w_t − u‖²",
            "the sum collapses to a term in w_{T+1}", _sign_in_lemma1),
    Erratum(P, "Lemma 1, proof", "−λ(T + 1)‖w_{T+1} − u‖²", "−(λT/2)‖w_{T+1} − u‖²",
            "it is what the sum collapses to", _value_in_lemma1),
    Erratum(P, "eq. (25)", "min over w of the mean hinge loss", "… + (λ/2)‖w‖²",
            "min over b of J(b) is the minimum of (23)", _penalty_of_25),
    Erratum(P, "§7.3", "the runtime would increase in proportion to λ", "… to 1/λ",
            "iterations of Theorem 1 at λ and at λ/2", _runtime_by_lambda),
    Erratum(T, "§3", "σ² < 1, and so β_b < 1", "β_b < b",
            "β_b at σ² = 0.3 for several b", _below),
    Erratum(T, "Theorem 1, Algorithm 1", "2/T", "1/(T − ⌊T/2⌋)",
            "the mean of equal iterates is that iterate, T odd as well", _tail_average),
    Erratum(T, "Algorithm 2, input", "b ∈ ℝᵈ", "b ∈ {1, …, n}",
            "a batch can be drawn", _batch_size),
    Erratum(T, "§4.3, below (23)", "D(α) = −‖w(α)‖² − ‖α‖₁/n", "‖α‖₁/n − (λ/2)‖w(α)‖²",
            "it is the dual of eq. (2)", _dual_of_23),
    Erratum(T, "eq. (24)", "β_b (1/(λn)) Σ ‖x_i‖²δ_i²", "β_b (1/(λn))² Σ ‖x_i‖²δ_i²",
            "H is D for b = 1 and a move of one row", _square_of_24),
    Erratum(T, "eq. (24)", "σ² of the data", "σ² of the row-normalised data",
            "Lemma 1 with row norms on two rows of a line", _norm_of_24),
    Erratum(T, "eq. (27)", "G = 4L", "G = 4L²",
            "(χ − α)² ≤ G for 2|z − y|", _constant_of_27),
    Erratum(T, "Lemma 4, proof", "δ is a minimizer of H", "a maximizer",
            "(15) against feasible moves", _extreme_of_H),
    Erratum(T, "poster, the safe update", "+ (β − Q_jj)/(2λn²) δ_j²", "− (β − Q_jj)/(2λn²) δ_j²",
            "it is the step of eq. (15)", _sign_of_the_poster),
    Erratum(D, "Algorithm 3", "T from δ", "T from δ̂ = δ/(3 − log₂ λ)",
            "all phases together fail with probability δ at most", _delta_of_algorithm3),
    Erratum(D, "§4", "w_{t+1} = argmin P_t", "argmin P′_t",
            "the w_{t+1} of Algorithm 4 against others", _minimised_by_algorithm4),
    Erratum(D, "§4", "O(1/(λT)) iterations", "O(1/(λε))",
            "a smaller ε takes more", _rate_of_bundles),
    Erratum(D, "footnote 8", "1/√λ ≈ 3 × 10⁵", "3 × 10⁴",
            "1/√(1e-9)", _footnote8),
)  # fmt: skip

IN_WORDS = (
    (P, "Table 2, caption", "\"linear SVM problems\": its problems have Gaussian kernels"),
    (P, "§7.6", "\"Fig. 7.6\" is Figure 9"),
    (T, "§4.3", "β_σ is β_b"),
    (T, "Algorithm 2", "the refusal is judged by the δ that ρ gives, not by the tentative one; "
        "ζ = 0, which nothing is said about, is a batch at its optimum: no step"),
    (D, "Algorithm 3", "t and τ start again when R grows; w does as printed, and need not"),
)  # fmt: skip
"""What has no example that could fail."""


def page() -> str:
    """The page of all errata."""
    lines = [
        "# Errata of the three papers",
        "",
        "What is implemented is the corrected form. Each line has a check, in "
        "`gapsvm/reproduce/errata.py`, that the printed form fails and the corrected one passes on "
        "a made-up example; the tests run all of them.",
        "",
    ]
    for paper in (P, T, D):
        lines += [f"## {paper}", "", "| where | printed | corrected | what the check does |"]
        lines += ["|---|---|---|---|"]
        lines += [
            f"| {e.place} | {_cell(e.printed)} | {_cell(e.corrected)} | {_cell(e.shows)} |"
            for e in ERRATA
            if e.paper == paper
        ]
        words = [f"- {place}: {text}." for owner, place, text in IN_WORDS if owner == paper]
        lines += ["", *words, ""] if words else [""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
