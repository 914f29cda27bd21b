"""The reference backend: NumPy, one line per formula, the oracle of the compiled one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gapsvm.backends.reference.kernels import add_kernel_rows as add_kernel_rows
from gapsvm.backends.reference.kernels import kernel_block as kernel_block
from gapsvm.backends.reference.kernels import pair_steps as pair_steps
from gapsvm.backends.reference.kernels import single_steps as single_steps
from gapsvm.types.matrices import CSR, Dense

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


def column_order(columns: Any, starts: Any) -> tuple[int, int]:
    rows = [columns[int(first) : int(last)] for first, last in pairwise(starts)]
    return int(columns.max()), sum(int(np.sum(row[1:] <= row[:-1])) for row in rows)


def margins(X: Dense | CSR, w: Any, out: Any) -> None:
    for i in range(_n_rows(X)):
        columns, x = _row(X, i)
        out[i] = x @ w[columns]


def combination(X: Dense | CSR, coef: Any, out: Any) -> None:
    for i in range(_n_rows(X)):
        columns, x = _row(X, i)
        out[columns] += coef[i] * x


def gram_product(X: Dense | CSR, v: Any, scale: Any, out: Any) -> None:
    for i in range(_n_rows(X)):
        columns, x = _row(X, i)
        out[columns] += _each(scale, i) * (x @ v[columns]) * x


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
    sigma: float,
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
        new = float(loss.dual_step(a, z, t, sigma * q))
        table[4 * i] = new
        w[columns] += sigma * c * (new - a) * x
        bias += sigma * ratio * c * (new - a)
    return kept, bias, worst, gap


def sdca_passes(
    X: Dense | CSR,
    loss: Curve,
    table: Any,
    order: Any,
    active: int,
    seed: Any,
    w: Any,
    bias: float,
    centre: float,
    ratio: float,
    threshold: float,
    budget: int,
    enough: float,
) -> tuple[int, float, float, float, float, float, int]:
    visited, gap, before = 0, np.inf, np.inf
    while gap > enough and active > 0 and (visited == 0 or visited + active <= budget):
        before = gap
        visited += active
        shuffle(order, active, seed)
        rest = (w, bias, ratio, threshold, 1.0)
        active, bias, threshold, gap = sdca_steps(X, loss, table, order, 0, active, 0, *rest)
        if not np.isnan(centre):
            bias, centre = 2.0 * bias - centre, bias
    return active, bias, centre, threshold, gap, before, visited


def plane_step(
    X: Dense | CSR,
    loss: Curve,
    table: Any,
    w: Any,
    bias: float,
    ratio: float,
    least: float,
    plane: tuple[Any, ...],
) -> float:
    rows, alpha, move, w0, move_w = plane
    a, _, c, t = table.reshape(-1, 4)[rows].T
    moves = np.array([a - alpha, move])
    ways = np.array([w - w0, move_w])
    masses = moves @ c

    def dual(a: Any, w: Any, mass: float) -> float:
        """D/λ but for constants, after Σ c_i α_i has grown by ``mass``."""
        values = float(np.abs(c) @ -loss.conjugate(a, t))
        return values - 0.5 * float(w @ w) - mass * (bias + 0.5 * ratio * mass)

    slope = np.abs(c) * (t - loss.gamma * a - loss.eps * np.sign(a)) - c * bias
    gradient = moves @ slope - ways @ w
    hessian = ways @ ways.T + loss.gamma * (moves * np.abs(c)) @ moves.T
    hessian += ratio * np.outer(masses, masses)
    best, halvings = np.zeros(2), 0
    if float(ways[0] @ ways[0]) > least**2 * float(w @ w):
        halvings = 6
        left = hessian[1, 1] - hessian[0, 1] ** 2 / hessian[0, 0]
        if left > 1e-10 * hessian[1, 1]:
            best[1] = np.clip(np.linalg.solve(hessian, gradient)[1], -1.0, 1.0)
        best[0] = (gradient[0] - hessian[0, 1] * best[1]) / hessian[0, 0]
        best *= 16 / max(np.abs(best[0]), 16)
    for share in 0.5 ** np.arange(halvings):
        step = share * best
        aim = a + step @ moves
        new = np.where(loss.is_free(a), np.clip(aim, loss.lo, loss.hi), a)
        new = np.where((loss.eps > 0) & (new * a < 0), 0.0, new)
        held = np.flatnonzero(new != aim)
        if 8 * held.size <= rows.size:
            new_w, mass = w + step @ ways, float(c @ (new - a))
            for k in held:
                columns, x = _row(X, int(rows[k]))
                new_w[columns] += c[k] * (new[k] - aim[k]) * x
            rises = dual(new, new_w, mass) > dual(a, w, 0.0)
            if rises or (held.size == 0 and loss.eps == 0):
                table[4 * rows.astype(int)] = a = new
                w[:] = new_w
                bias += ratio * mass
            break
    move[:], alpha[:] = a - alpha, a
    move_w[:], w0[:] = w - w0, w
    return bias


def screen(
    X: Dense | CSR,
    loss: Curve,
    table: Any,
    start: int,
    stop: int,
    w: Any,
    bias: float,
    floor: float,
    found: Any,
) -> tuple[int, float]:
    a, _, c, t = table.reshape(-1, 4)[start:stop].T
    product = np.array([x @ w[columns] for columns, x in (_row(X, i) for i in range(start, stop))])
    z = np.sign(c) * (product + bias)
    gaps = loss.value(z, t) + loss.conjugate(a, t) + a * z
    rows = start + np.flatnonzero((c != 0) & ((gaps > floor) | loss.is_free(a)))
    found[: rows.size] = rows
    return rows.size, float(np.abs(c) @ gaps)


def _draw(seed: Any, count: int) -> int:
    """A number below ``count`` by splitmix64."""
    mask = (1 << 64) - 1
    state = (int(seed[0]) + 0x9E3779B97F4A7C15) & mask
    seed[0] = state
    x = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    x ^= x >> 31
    return ((x >> 32) * count) >> 32


def shuffle(order: Any, count: int, seed: Any) -> None:
    for k in range(count - 1, 0, -1):
        j = _draw(seed, k + 1)
        order[k], order[j] = order[j], order[k]


def interleave(rows: Any, streams: int, seed: Any, order: Any) -> None:
    count = rows.size
    runs = [rows[s * count // streams : (s + 1) * count // streams] for s in range(streams)]
    runs = [np.roll(run, -_draw(seed, run.size)) for run in runs]
    turn, found = np.arange(streams), []
    for step in range(max(run.size for run in runs)):
        shuffle(turn, streams, seed)
        found += [runs[s][step] for s in turn if step < runs[s].size]
    order[:count] = found


def draw_subsets(order: Any, batches: Any, seed: Any) -> None:
    for batch in batches:
        for j in range(batch.size):
            other = j + _draw(seed, order.size - j)
            order[j], order[other] = order[other], order[j]
        batch[:] = order[: batch.size]


def draw_multisets(n: int, batches: Any, seed: Any) -> None:
    for batch in batches:
        batch[:] = [_draw(seed, n) for _ in batch]


def balance(lam: float, square: float, curvature: float, total: Any) -> None:
    for t in range(total.size):
        before = curvature + lam
        curvature = total[t] = before + 0.5 * (np.sqrt(before**2 + square) - before)


def _push(X: Dense | CSR, table: Any, rows: Any, steps: Any, w: Any) -> float:
    """w += Σ c_i δ_i x_i; returns Σ c_i δ_i."""
    for i, step in zip(rows, steps):
        columns, x = _row(X, i)
        w[columns] += table[4 * i + 2] * step * x
    return float(table[4 * rows + 2] @ steps)


def _look(
    X: Dense | CSR, loss: Curve, a: Any, c: Any, t: Any, rows: Any, w: Any, bias: float
) -> tuple[Any, Any, float]:
    """z of the rows, whether each wants to move, and Σ |c_i|·(Fenchel gap)."""
    m = np.array([x @ w[columns] for columns, x in (_row(X, i) for i in rows)]) + bias
    z = np.where(c < 0, -m, m)
    moves = loss.violation(a, z, t) > 0
    gaps = loss.value(z, t) + loss.conjugate(a, t) + a * z
    return z, moves, float(np.sum(np.abs(c) * np.where(moves, gaps, 0.0)))


def minibatch_steps(
    X: Dense | CSR,
    loss: Curve,
    table: Any,
    batches: Any,
    w: Any,
    u: Any,
    whole: bool,
    bias: float,
    ratio: float,
    beta: float,
    limit: float,
    gamma: float,
    queue: Any,
    step: int,
    keep: float,
    mean: Any,
    seen: Any,
) -> tuple[float, float, int, float]:
    slots, refusals, gap = queue[0].shape[0], 0, 0.0
    for batch in batches.astype(np.int64):
        a, q, c, t = (table[4 * batch + k] for k in range(4))
        z, moves, looked = _look(X, loss, a, c, t, batch, w, bias)
        gap += looked
        new = np.where(moves, loss.dual_step(a, z, t, beta * q), a)
        if gamma < 1 and np.any(new != a):
            delta = np.zeros_like(w)
            mass = _push(X, table, batch, new - a, delta)
            zeta = np.sum(np.abs(c) * q * (new - a) ** 2)
            if zeta > 0:
                rho = min(max((delta @ delta + ratio * mass**2) / zeta, 1.0), limit)
                new = np.where(moves, loss.dual_step(a, z, t, rho * q), a)
                beta = beta**gamma * rho ** (1 - gamma)
        slot = step % slots
        queue[0][slot], queue[1][slot], queue[2][slot] = batch, a, new
        step += 1
        if step < slots:
            continue
        rows, old, new = (part[step % slots] for part in queue)
        rows = rows.astype(np.int64)
        new[:] = np.where(table[4 * rows] == old, new, table[4 * rows])
        old[:] = table[4 * rows]
        before = w @ w
        moved = w.copy()
        mass = _push(X, table, rows, new - old, moved)
        weights, t = np.abs(table[4 * rows + 2]), table[4 * rows + 3]
        rise = weights @ (loss.conjugate(old, t) - loss.conjugate(new, t))
        rise -= 0.5 * (moved @ moved - before) + bias * mass + 0.5 * ratio * mass**2
        if gamma < 1 and np.any(new != old) and rise <= 0:
            refusals += 1
            new[:] = old
            continue
        for i, x, y in zip(rows, old, new):
            if mean.size and x != y:
                count = step - 1 - seen[i]
                mean[i] = x + keep**count * (mean[i] - x) if keep < 1 else mean[i] + count * x
                seen[i] = step - 1
        w[:], table[4 * rows] = moved, new
        bias += ratio * mass
    return bias, beta, refusals, gap


def block_steps(
    X: Dense | CSR,
    loss: Curve,
    table: Any,
    order: Any,
    start: int,
    stop: int,
    size: int,
    w: Any,
    u: Any,
    bias: float,
    ratio: float,
    sweeps: int,
) -> tuple[float, float]:
    gap = 0.0
    for first in range(start, stop, size):
        rows = order[first : min(first + size, stop)].astype(np.int64)
        a, c, t = table[4 * rows], table[4 * rows + 2], table[4 * rows + 3]
        gap += _look(X, loss, a, c, t, rows, w, bias)[2]
        for _ in range(sweeps):  # serial steps, in that order
            once, stay = rows.copy(), (w, bias, ratio, np.inf, 1.0)
            _, bias, _, _ = sdca_steps(X, loss, table, once, 0, rows.size, 0, *stay)
    return bias, gap


def subgradient_steps(
    X: Dense | CSR,
    loss: Curve,
    table: Any,
    batches: Any,
    eta: Any,
    decay: Any,
    bias_decays: bool,
    keep: float,
    gain: float,
    ratio: float,
    bias_norm: float,
    radius: float,
    leave_at: float,
    v: Any,
    u: Any,
    scalars: Any,
) -> int:
    scale, _, bias, p, r, mean_bias = scalars
    w, mean = scale * v, p * v + r * u if u.size else u
    done = 0
    for k, batch in enumerate(batches.astype(np.int64)):
        if u.size:
            mean, mean_bias = keep * mean + gain * w, keep * mean_bias + gain * bias
        step, total = np.zeros_like(w), 0.0
        for i in batch:
            columns, x = _row(X, i)
            weight, t = table[4 * i + 2 : 4 * i + 4]
            z = x @ w[columns] + bias
            a = float(loss.maximiser(z if weight >= 0 else -z, t))
            table[4 * i : 4 * i + 2] += 1.0, a
            pull = eta[k] * weight * a / len(batch)
            step[columns] += pull * x
            total += pull
        w = decay[k] * w + step
        bias = (decay[k] if bias_decays else 1.0) * bias + ratio * total
        norm = np.sqrt(w @ w + max(bias_norm, 0.0) * bias**2)
        if norm > radius:
            w, bias = w * (radius / norm), bias * (radius / norm if bias_norm > 0 else 1.0)
        if bias_norm < 0 and radius < np.inf:
            limit = 1 / np.sqrt(-bias_norm)
            bias = min(max(bias, -limit), limit)
        done = k + 1
        if np.sqrt(w @ w) >= leave_at:
            break
    v[:], u[:] = w, mean
    scalars[:] = 1.0, w @ w, bias, 0.0, 1.0, mean_bias
    return done


def balanced_pulls(loss: Curve, m: Any, c: Any, t: Any, b: float, a: Any) -> float:
    sign = np.where(c >= 0, 1.0, -1.0)
    low, high, width = -np.inf, np.inf, 1e-3 * (1.0 + abs(b))
    up = down = a
    for step in range(1000):
        a[:] = loss.maximiser(sign * (m + b), t)
        h = c @ a
        if not abs(h) > 1e-13 * np.abs(c).sum():
            return b
        low, up, high, down = (b, a.copy(), high, down) if h > 0 else (low, up, b, a.copy())
        if np.isinf(high - low):
            b += width if h > 0 else -width
            width *= 4.0
            continue
        share = c @ up / (c @ up - c @ down)
        b = low + (0.5 if step % 2 else share) * (high - low)
        if not low < b < high:
            break
    share = c @ up / (c @ up - c @ down)
    a[:] = up + share * (down - up)
    return float(low + share * (high - low))


def batch_bias_steps(
    X: Dense | CSR,
    loss: Curve,
    table: Any,
    batches: Any,
    eta: Any,
    decay: Any,
    bias_decays: bool,
    keep: float,
    gain: float,
    ratio: float,
    bias_norm: float,
    radius: float,
    leave_at: float,
    v: Any,
    u: Any,
    scalars: Any,
) -> int:
    scale, _, bias, p, r, mean_bias = scalars
    w, mean = scale * v, p * v + r * u if u.size else u
    done = 0
    for k, batch in enumerate(batches.astype(np.int64)):
        m = np.array([x @ w[columns] for columns, x in (_row(X, i) for i in batch)])
        a = np.empty(len(batch))
        bias = balanced_pulls(loss, m, table[4 * batch + 2], table[4 * batch + 3], bias, a)
        if u.size:
            mean, mean_bias = keep * mean + gain * w, keep * mean_bias + gain * bias
        w = decay[k] * w
        for i, pull in zip(batch, a):
            columns, x = _row(X, i)
            table[4 * i : 4 * i + 2] += 1.0, pull
            w[columns] += eta[k] / len(batch) * table[4 * i + 2] * pull * x
        w *= min(1.0, radius / max(np.sqrt(w @ w), 1e-300))
        done = k + 1
        if np.sqrt(w @ w) >= leave_at:
            break
    v[:], u[:] = w, mean
    scalars[:] = 1.0, w @ w, bias, 0.0, 1.0, mean_bias
    return done


def progressive_steps(
    X: Dense | CSR, loss: Curve, table: Any, batches: Any, *steps_and_state: Any
) -> int:
    rates, rest = steps_and_state[:2], steps_and_state[2:-1]
    leave_at, v, _, scalars, margins = steps_and_state[-5:]
    for k, batch in enumerate(batches.astype(np.int64)):
        for i in batch:
            columns, x = _row(X, i)
            margins[i] = scalars[0] * (x @ v[columns]) + scalars[2]
        one = slice(k, k + 1)
        of_this_step: list[Any] = [rate[one] for rate in rates]
        arguments: Any = (*of_this_step, *rest)
        subgradient_steps(X, loss, table, batches[one], *arguments)
        if scalars[0] ** 2 * scalars[1] >= leave_at**2:
            return k + 1
    return len(batches)


def weighted_gram(X: Dense | CSR, omega: Any, n_features: int) -> Any:
    dense = np.zeros((omega.size, n_features))
    for i in range(omega.size):
        columns, x = _row(X, i)
        dense[i, columns] = x
    return dense.T @ (omega[:, None] * dense)


def barrier_terms(
    gamma: float,
    eps: float,
    u: Any,
    slack: Any,
    zeta: Any,
    upsilon: Any,
    z: Any,
    t: Any,
    weight: Any,
    residual: Any,
    stiffness: Any,
    omega: Any,
) -> float:
    e = _sides(u)
    residual[:] = eps - e * t + gamma * u + e * z
    stiffness[:] = gamma + zeta / u + upsilon / slack
    omega[:] = weight * (1.0 / stiffness).sum(axis=0)
    return float(np.sum(weight * (u * zeta + slack * upsilon)))


def barrier_pull(
    u: Any,
    slack: Any,
    residual: Any,
    stiffness: Any,
    lower: Any,
    upper: Any,
    sign: Any,
    weight: Any,
    pull: Any,
) -> None:
    r = residual - lower / u + upper / slack
    pull[:] = sign * weight * (_sides(u) * r / stiffness).sum(axis=0)


def barrier_direction(
    u: Any,
    slack: Any,
    zeta: Any,
    upsilon: Any,
    residual: Any,
    stiffness: Any,
    lower: Any,
    upper: Any,
    dz: Any,
    weight: Any,
    bounded: Any,
    du: Any,
    dzeta: Any,
    dupsilon: Any,
) -> tuple[float, float, float]:
    du[:] = -(residual - lower / u + upper / slack + _sides(u) * dz) / stiffness
    dzeta[:] = lower / u - zeta - zeta / u * du
    dupsilon[:] = upper / slack - upsilon + upsilon / slack * du
    dslack = -bounded[:, None] * du
    nearest = np.inf
    for value, change in ((u, du), (slack, dslack), (zeta, dzeta), (upsilon, dupsilon)):
        falls = (change < 0) & (value > 0)
        nearest = min(nearest, np.min(-value[falls] / change[falls], initial=np.inf))
    first = np.sum(weight * (u * dzeta + zeta * du + slack * dupsilon + upsilon * dslack))
    second = np.sum(weight * (du * dzeta + dslack * dupsilon))
    return float(nearest), float(first), float(second)


def barrier_aims(
    u: Any,
    slack: Any,
    zeta: Any,
    upsilon: Any,
    du: Any,
    dzeta: Any,
    dupsilon: Any,
    bounded: Any,
    length: float,
    least: float,
    most: float,
    lower: Any,
    upper: Any,
) -> None:
    bounded = bounded[:, None]
    there = (u + length * du) * (zeta + length * dzeta)
    lower += np.maximum(np.clip(there, least, most) - there, -most)
    there = (slack - length * bounded * du) * (upsilon + length * dupsilon)
    upper += bounded * np.maximum(np.clip(there, least, most) - there, -most)


def _sides(u: Any) -> Any:
    """e: +1 for p, −1 for m."""
    return np.array([[1.0], [-1.0]])[: len(u)]


def multiclass_scores(X: Dense | CSR, w: Any, constant: float, out: Any) -> None:
    for i in range(_n_rows(X)):
        columns, x = _row(X, i)
        out[i] = x @ w[:-1][columns] + constant * w[-1]


def multiclass_combination(X: Dense | CSR, coef: Any, constant: float, out: Any) -> None:
    for i in range(_n_rows(X)):
        columns, x = _row(X, i)
        out[:-1][columns] += np.outer(x, coef[i])
        out[-1] += constant * coef[i]


def multiclass_steps(
    X: Dense | CSR,
    loss: Curve,
    y: Any,
    weight: Any,
    batches: Any,
    eta: Any,
    decay: Any,
    keep: float,
    gain: float,
    constant: float,
    radius: float,
    table: Any,
    v: Any,
    u: Any,
    scalars: Any,
) -> None:
    scale, _, _, p, r, _ = scalars
    w, mean = scale * v, p * v + r * u if u.size else u
    for k, batch in enumerate(batches.astype(np.int64)):
        if u.size:
            mean = keep * mean + gain * w
        step = np.zeros_like(w)
        for i in batch:
            columns, x = _row(X, i)
            a = loss.maximiser(x @ w[:-1][columns] + constant * w[-1], y[i])
            table[i, 0] += 1.0
            table[i, 1:] += a
            pull = eta[k] * weight[i] / len(batch) * (np.eye(len(a))[y[i]] - a)
            step[:-1][columns] += np.outer(x, pull)
            step[-1] += constant * pull
        w = decay[k] * w + step
        norm = np.sqrt(np.sum(w * w))
        if norm > radius:
            w = w * (radius / norm)
    v[:], u[:] = w, mean
    scalars[:] = 1.0, np.sum(w * w), 0.0, 0.0, 1.0, 0.0
