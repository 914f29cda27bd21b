"""σ² of the data: how much rows interact, and so how large a mini-batch is worth using.

Takáč (2013) eq. 10 and 11: σ² is any upper bound of ‖X‖²/n (spectral norm).  If no row is longer
than 1, the Gram matrix of a batch of b rows is in expectation at most β_b = 1 + (b−1)(nσ²−1)/(n−1).
"Safe" steps are safe only if σ² is not below the truth, so an upper bound is returned wherever one
can be had, and ``Sigma2.kind`` says what it is.  With A = XᵀX/n:

- X ≥ 0: λ₁(A) ≤ max_j (Av)_j/v_j for every v > 0 (Collatz, Wielandt), and power steps never raise
  this bound.  Columns that no row connects go their own way: each block tends to its own λ₁.
- X of any sign: Lanczos.  In the basis that k steps give, A is a tridiagonal T, coupled by one
  number β to a positive semidefinite rest of trace tr A − tr T, which therefore has no larger norm.
  So λ₁ of T, bordered by β and that trace, is an upper bound of λ₁(A); it is close once the trace
  that remains is below λ₁: few features, or few that matter.
- Otherwise, where it is affordable, the eigenvalue of the Gram matrix itself.
- Where it is not, a bound that holds but for a probability δ.  Lanczos starts at b, uniform on the
  sphere, so that ⟨u₁, b⟩² ≥ δ²π/(2d) but for a probability δ.  Its polynomials p_j are orthonormal
  for a measure that has the mass ⟨u₁, b⟩² at λ₁, hence Σ_j p_j(λ₁)² ≤ 1/⟨u₁, b⟩² ≤ 2d/(πδ²).  The
  sum grows beyond the largest Ritz value: the bound is where it meets the right-hand side (after
  van Dorsselaer, Hochstenbach, van der Vorst 2000).  It profits from a gap below λ₁, which the
  bound of Kuczyński and Woźniakowski (1992), 1.648·√d·exp(−√ε(2k−1)), cannot see.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from gapsvm.backends import Backend, get_backend
from gapsvm.rows.matrix import Rows, checked_rows
from gapsvm.system.lazy import linalg
from gapsvm.types.matrices import CSR, Dense

Kind = Literal["exact", "bound", "probable", "estimate"]

_PRODUCTS = 8  # products XᵀXv, each a pass, before a bound is left as it is
_STEPS = 32  # the same, where nothing but Lanczos is affordable
_BASIS = 1 << 27  # numbers in the basis of Lanczos: 1 GiB
_FAILURE = 1e-6
_GRAM_FEATURES = 2000
_GRAM_WORK = 4e9  # multiplications: seconds
_GRAM_PASSES = 10  # a Gram matrix that costs no more than so many passes needs no bound
_EMPTY = 1e-300  # of ‖x‖²: below, it cannot be divided by
_FLOOR = 1e-200  # of v, in columns that have values: keeps it positive where it would underflow
_TINY = float(np.finfo(np.float64).tiny)
_EPS = float(np.finfo(np.float64).eps)
_BLOCK = 1 << 20  # values looked at before a negative one may end the search


@dataclass(frozen=True)
class Sigma2:
    """σ² and what is known about it.

    Attributes
    ----------
    value : float
        Always positive, so that 1/σ² exists.
    kind : "exact", "bound", "probable" or "estimate"
        An eigenvalue, or an upper bound, which are never below ‖X‖²/n; a bound that is below it
        with probability ``failure``; the σ² of some of the rows.
    normalised : bool
        Of the rows divided by their norms; empty rows stay empty.
    passes : float
        Passes over the data that it took.  A Gram matrix counts by its multiplications.
    lower : float
        ‖X‖²/n is not below this: value/lower − 1 is the accuracy.
    failure : float
    """

    value: float
    kind: Kind
    normalised: bool
    passes: float
    lower: float
    failure: float = 0.0


class _Found(NamedTuple):
    """Bounds of the largest eigenvalue of A, in units of its trace where X is raw."""

    upper: float
    lower: float
    kind: Kind
    passes: float


def sigma2(
    X: Any,
    backend: str | Backend = "cpu",
    *,
    normalised: bool = False,
    sample: int | None = None,
    accuracy: float = 0.01,
    seed: int = 0,
) -> Sigma2:
    """σ² of the data, a little above ‖X‖²/n; X is only read.

    Parameters
    ----------
    X : array or sparse matrix, or ``Rows``
    backend : str or Backend
    normalised : bool
        σ² of the rows divided by their norms, which steps of length 1/‖x_i‖² need (Takáč eq. 24).
        Rows of a norm below 1e-150 count as empty.
    sample : int, optional
        Look at so many rows only, drawn without replacement: an estimate, on average too large.
    accuracy : float
        Stop when value/lower ≤ 1 + accuracy.  Ten passes were enough on every data set that
        we have (benchmarks/spectral.py); otherwise value and lower show how far it went.
    seed : int
        Of the sample and of Lanczos.
    """
    backend = get_backend(backend)
    rows = checked_rows(X, backend)
    n, d = rows.shape
    if sample is not None and sample < n:
        return _estimate(rows, backend, normalised, sample, accuracy, seed)
    norms = rows.sq_norms
    largest = float(np.max(norms, initial=0.0))
    if largest < _EMPTY:
        return Sigma2(_TINY if normalised else largest + _TINY, "bound", normalised, 0.0, 0.0)
    total = float(np.sum(norms))
    if normalised:
        full = norms >= _EMPTY
        scale = np.divide(1.0 / n, norms, out=np.zeros(n), where=full)
        unit, trace = 1.0, float(np.mean(full))
    else:
        scale = np.array([1.0 / total])
        unit, trace = total / n, 1.0
    found = _largest_eigenvalue(rows, backend, scale, trace, accuracy, seed)
    slack = _slack(rows)
    upper = min(found.upper, trace * (1.0 + slack))
    lower = max(found.lower, trace / min(n, d) * (1.0 - slack))
    return Sigma2(
        value=unit * max(upper, lower),
        kind=found.kind,
        normalised=normalised,
        passes=found.passes,
        lower=unit * lower,
        failure=_FAILURE if found.kind == "probable" else 0.0,
    )


def sigma2_by_products(
    product: Callable[[Any], Any],
    size: int,
    trace: float,
    normalised: bool,
    start: Any,
    accuracy: float,
    seed: int,
) -> Sigma2:
    """σ² where it is the norm of a positive semidefinite matrix that is known by its products.

    Parameters
    ----------
    product : callable
        Av, for a vector of ``size`` numbers.
    trace : float
        Of A.
    normalised : bool
        What σ² is of.
    start : array, or None
        Where A has no negative value: a vector that is positive where A has values.
    accuracy : float
        Stop when value/lower ≤ 1 + accuracy.
    seed : int
        Of Lanczos.
    """
    if not trace > 0.0:
        return Sigma2(_TINY, "bound", normalised, 0.0, 0.0)
    slack = 8.0 * _EPS * (size + 16)
    if start is not None:
        found = _collatz_wielandt(product, start, accuracy, slack)
    else:
        rng, steps = np.random.default_rng(seed), max(_PRODUCTS, min(_STEPS, _BASIS // size))
        scaled = _lanczos(
            lambda v: product(v) / trace, size, 1.0, steps, accuracy, True, rng, slack
        )
        found = scaled._replace(upper=trace * scaled.upper, lower=trace * scaled.lower)
    lower = max(found.lower, trace / size * (1.0 - slack))
    return Sigma2(
        value=max(min(found.upper, trace * (1.0 + slack)), lower),
        kind=found.kind,
        normalised=normalised,
        passes=found.passes,
        lower=lower,
        failure=_FAILURE if found.kind == "probable" else 0.0,
    )


def _estimate(
    rows: Rows, backend: Backend, normalised: bool, sample: int, accuracy: float, seed: int
) -> Sigma2:
    if sample < 1:
        raise ValueError(f"sample must be a number of rows, at least 1, got {sample!r}")
    some = _drawn(rows, sample, seed)
    found = sigma2(some, backend, normalised=normalised, accuracy=accuracy, seed=seed)
    return replace(
        found,
        kind="estimate",
        passes=found.passes * some.n_stored / max(rows.n_stored, 1),
        lower=found.lower * (sample / rows.shape[0]),  # more rows only add to ‖X‖²
        failure=0.0,
    )


def _drawn(rows: Rows, size: int, seed: int) -> Rows:
    """So many rows, in their order, in a copy; nothing else is read."""
    chosen = np.random.default_rng(seed).choice(rows.shape[0], size, replace=False, shuffle=False)
    chosen.sort()
    return rows.taken(chosen)


def _slack(rows: Rows) -> float:
    """A generous bound on relative rounding errors of sums over rows and features."""
    n, d = rows.shape
    return 4.0 * _EPS * (n + d + 16)


def _largest_eigenvalue(
    rows: Rows, backend: Backend, scale: Any, trace: float, accuracy: float, seed: int
) -> _Found:
    """Bounds of λ₁ of A = Xᵀ diag(scale) X, which has that trace."""
    n, d = rows.shape

    def product(v: Any) -> Any:
        image = np.zeros(d)
        backend.normal_product(rows.view, v, scale, image)
        return image

    gram_passes = _gram_passes(rows)
    affordable = d <= _GRAM_FEATURES and gram_passes * rows.n_stored <= _GRAM_WORK
    nonnegative, looked = _is_nonnegative(rows)
    if nonnegative:
        start = np.zeros(d)
        backend.combination(rows.view, np.broadcast_to(np.sqrt(scale), n).copy(), start)
        found = _collatz_wielandt(product, start, accuracy, _slack(rows))
        found = found._replace(passes=found.passes + 1.0)
    elif gram_passes <= _GRAM_PASSES:
        return _exact(rows, backend, scale, looked + gram_passes)
    else:
        steps = _PRODUCTS if affordable else max(_PRODUCTS, min(_STEPS, _BASIS // d))
        rng = np.random.default_rng(seed)
        found = _lanczos(product, d, trace, steps, accuracy, not affordable, rng, _slack(rows))
    if affordable and found.upper > (1.0 + accuracy) * found.lower:
        return _exact(rows, backend, scale, looked + found.passes + gram_passes)
    return found._replace(passes=looked + found.passes)


def _is_nonnegative(rows: Rows) -> tuple[bool, float]:
    """Whether no value is below 0, and the share of the values that it took to know."""
    values = rows.view.values.reshape(-1) if isinstance(rows.view, Dense) else rows.view.data
    for first in range(0, values.size, _BLOCK):
        if values[first : first + _BLOCK].min() < 0:
            return False, min(1.0, (first + _BLOCK) / values.size)
    return True, 1.0


# -- the Gram matrix -------------------------------------------------------------------------------


def _gram_passes(rows: Rows) -> float:
    """Multiplications of the Gram matrix and its eigenvalue, a pass being one for each value."""
    n, d = rows.shape
    if isinstance(rows.view, CSR):
        counts = np.diff(rows.view.indptr.astype(np.int64)).astype(np.float64)
        work = 0.5 * float(counts @ counts)
    else:
        work = 0.5 * n * float(d) ** 2
    return (work + float(d) ** 3) / max(rows.n_stored, 1)


def _exact(rows: Rows, backend: Backend, scale: Any, passes: float) -> _Found:
    n, d = rows.shape
    omega = np.broadcast_to(scale, n).copy()
    with threadpool_limits(1, "blas"):  # BLAS's threads spin, where cores are shared
        gram = backend.normal_matrix(rows.view, omega, d)
        value = float(linalg.eigh(gram, eigvals_only=True, subset_by_index=[d - 1, d - 1])[0])
    slack = _slack(rows)  # of the trace, which is at most 1
    return _Found(value + slack, value - slack, "exact", passes)


# -- nonnegative data ------------------------------------------------------------------------------


def _collatz_wielandt(
    product: Callable[[Any], Any], v: Any, accuracy: float, slack: float
) -> _Found:
    """Power steps from v, which is positive in every column that has a value."""
    upper, lower, passes = math.inf, 0.0, 0
    used = v > 0.0
    while passes < _PRODUCTS and upper > (1.0 + accuracy) * lower:
        v /= v.max()
        np.maximum(v, _FLOOR, out=v, where=used)
        image = product(v)
        passes += 1
        ratios = np.divide(image, v, out=np.zeros_like(v), where=used)
        upper = min(upper, float(ratios.max()) * (1.0 + slack))
        lower = max(lower, float(image @ image) / float(v @ image) * (1.0 - slack))
        v = image
    return _Found(upper, lower, "bound", float(passes))


# -- data of any sign ------------------------------------------------------------------------------


def _lanczos(
    product: Callable[[Any], Any],
    d: int,
    trace: float,
    steps: int,
    accuracy: float,
    take_probable: bool,
    rng: np.random.Generator,
    slack: float,
) -> _Found:
    """Lanczos with full reorthogonalisation, until the certain or the probable bound is close."""
    limit = 2.0 * d / (math.pi * _FAILURE**2)
    basis = np.empty((min(steps, d), d))
    q = rng.standard_normal(d)
    norm = float(np.linalg.norm(q))
    diagonal: list[float] = []
    beside: list[float] = []
    ritz, certain = 0.0, trace
    for k in range(len(basis)):
        basis[k] = q / norm
        q = product(basis[k])
        diagonal.append(float(basis[k] @ q))
        for _ in range(2):
            q -= (basis[: k + 1] @ q) @ basis[: k + 1]
        norm = float(np.linalg.norm(q))
        ritz = _top_of_tridiagonal(diagonal, beside)
        beside.append(norm)
        certain = _top_of_tridiagonal([*diagonal, max(trace - sum(diagonal), 0.0)], beside)
        close = (1.0 + accuracy) * ritz
        if certain <= close or norm <= _EPS * ritz:
            break
        if take_probable and _exceeds(diagonal, beside, close, limit):
            break
    probable = _crossing(diagonal, beside, ritz, certain, limit) if take_probable else certain
    kind: Kind = "bound" if certain <= probable else "probable"
    return _Found(min(certain, probable) + slack, ritz - slack, kind, float(len(diagonal)))


def _top_of_tridiagonal(diagonal: list[float], beside: list[float]) -> float:
    matrix = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    return float(np.linalg.eigvalsh(matrix)[-1])


def _exceeds(diagonal: list[float], beside: list[float], t: float, limit: float) -> bool:
    """Whether Σ p_j(t)² > limit: p_0 = 1, β_j p_j = (t − α_j)p_{j−1} − β_{j−1}p_{j−2}."""
    before, last, total, coupling = 0.0, 1.0, 1.0, 0.0
    for a, b in zip(diagonal, beside):
        top = (t - a) * last - coupling * before
        if top * top >= limit * b * b:  # so that nothing is divided by a b that has vanished
            return True
        before, last, coupling = last, top / b, b
        total += last * last
    return total > limit


def _crossing(
    diagonal: list[float], beside: list[float], low: float, high: float, limit: float
) -> float:
    """Where Σ p_j(t)² meets the limit, between the largest Ritz value and a certain bound."""
    if not _exceeds(diagonal, beside, high, limit):
        return high
    for _ in range(60):
        middle = 0.5 * (low + high)
        if _exceeds(diagonal, beside, middle, limit):
            high = middle
        else:
            low = middle
    return high


# -- what σ² is for --------------------------------------------------------------------------------


def beta(batch_size: int, n_rows: int, sigma2: float) -> float:
    """β_b of Takáč eq. 11: how much shorter a step is when b rows move at once; at least 1."""
    if n_rows == 1:
        return 1.0
    return max(1.0, 1.0 + (batch_size - 1) * (n_rows * sigma2 - 1.0) / (n_rows - 1))


def batch_worth_using(n_rows: int, sigma2: float) -> int:
    """The largest batch with β_b ≤ 2, about 1/σ²: up to there rows hardly interact."""
    if n_rows * sigma2 <= 2.0:  # β_n = nσ²
        return n_rows
    near = 1 + int((n_rows - 1) / (n_rows * sigma2 - 1.0))
    sizes = (b for b in (near + 1, near, near - 1) if b <= n_rows)
    return next(b for b in sizes if beta(b, n_rows, sigma2) <= 2.0)
