"""The reference backend: NumPy, one line per formula, the oracle of the compiled one."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.data.matrix import CSR, Dense

Curve = Any


def _row(X: Dense | CSR, i: int) -> tuple[Any, Any]:
    """Columns and float64 values of row i."""
    if isinstance(X, Dense):
        return slice(None), X.values[i].astype(np.float64)
    inside = slice(int(X.indptr[i]), int(X.indptr[i + 1]))
    return X.indices[inside], X.data[inside].astype(np.float64)


def _n_rows(X: Dense | CSR) -> int:
    return len(X.values) if isinstance(X, Dense) else len(X.indptr) - 1


def _each(x: Any, i: int) -> float:
    return float(x[i] if x.size > 1 else x[0])


def sq_norms(X: Dense | CSR, out: Any) -> None:
    for i in range(_n_rows(X)):
        _, x = _row(X, i)
        out[i] = x @ x


def margins(X: Dense | CSR, w: Any, out: Any) -> None:
    for i in range(_n_rows(X)):
        columns, x = _row(X, i)
        out[i] = x @ w[columns]


def combination(X: Dense | CSR, coef: Any, out: Any) -> None:
    for i in range(_n_rows(X)):
        columns, x = _row(X, i)
        out[columns] += coef[i] * x


def evaluate(
    X: Dense | CSR,
    loss: Curve,
    w: Any,
    bias: float,
    alpha: Any,
    sign: Any,
    t: Any,
    weight: Any,
    scale: float,
    margins: Any,
    combination: Any,
) -> tuple[float, float, float]:
    coef = scale * sign * weight * alpha
    for i in range(_n_rows(X)):
        columns, x = _row(X, i)
        margins[i] = x @ w[columns]
        combination[columns] += coef[i] * x
    values = float(np.sum(weight * loss.value(sign * (margins + bias), t)))
    conjugates = float(np.sum(weight * loss.conjugate(alpha, t)))
    return values, conjugates, float(coef.sum())


def sdca_steps(
    X: Dense | CSR,
    loss: Curve,
    table: Any,
    order: Any,
    start: int,
    stop: int,
    kept: int,
    w: Any,
    bias: float,
    ratio: float,
    threshold: float,
) -> tuple[int, float, float, float]:
    worst = gap = 0.0
    for k in range(start, stop):
        i = int(order[k])
        a, q, c, t = table[4 * i : 4 * i + 4]
        columns, x = _row(X, i)
        z = np.sign(c) * (x @ w[columns] + bias)
        v = float(loss.violation(a, z, t))
        if v < -threshold:
            continue
        order[kept] = i
        kept += 1
        if v <= 0:
            continue
        worst = max(worst, v)
        gap += abs(c) * float(loss.value(z, t) + loss.conjugate(a, t) + a * z)
        new = float(loss.dual_step(a, z, t, q))
        table[4 * i] = new
        w[columns] += c * (new - a) * x
        bias += ratio * c * (new - a)
    return kept, bias, worst, gap


def shuffle(order: Any, count: int, seed: Any) -> None:
    mask = (1 << 64) - 1
    state = int(seed[0])
    for k in range(count - 1, 0, -1):
        state = (state + 0x9E3779B97F4A7C15) & mask
        x = state
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        x ^= x >> 31
        j = ((x >> 32) * (k + 1)) >> 32
        order[k], order[j] = order[j], order[k]
    seed[0] = state


def subgradient_steps(
    X: Dense | CSR,
    loss: Curve,
    sign: Any,
    t: Any,
    weight: Any,
    batches: Any,
    eta: Any,
    decay: Any,
    decay_bias: Any,
    ratio: float,
    bias_norm: float,
    radius: float,
    v: Any,
    scalars: Any,
    visits: Any,
    mass: Any,
) -> None:
    w, bias = scalars[0] * v, scalars[2]
    for k, batch in enumerate(batches):
        step, total = np.zeros_like(w), 0.0
        for i in batch:
            columns, x = _row(X, i)
            a = float(loss.maximiser(_each(sign, i) * (x @ w[columns] + bias), _each(t, i)))
            visits[i] += 1.0
            mass[i] += a
            pull = eta[k] * _each(weight, i) * _each(sign, i) * a / len(batch)
            step[columns] += pull * x
            total += pull
        w = decay[k] * w + step
        bias = decay_bias[k] * bias + ratio * total
        norm = np.sqrt(w @ w + bias_norm * bias**2)
        if norm > radius:
            w, bias = w * (radius / norm), bias * (radius / norm)
    v[:] = w
    scalars[:] = 1.0, w @ w, bias


def weighted_gram(X: Dense | CSR, omega: Any, n_features: int) -> Any:
    dense = np.zeros((omega.size, n_features))
    for i in range(omega.size):
        columns, x = _row(X, i)
        dense[i, columns] = x
    return dense.T @ (omega[:, None] * dense)
