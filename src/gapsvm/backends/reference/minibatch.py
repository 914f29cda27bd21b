"""Mini-batch dual ascent (Takáč §4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.rows import Matrix, add, margins_of
from gapsvm.backends.reference.sdca import sdca_steps
from gapsvm.types.steps import AverageOfAlpha, BatchCurvature, Queue
from gapsvm.types.tables import ALPHA, SIGNED_WEIGHT, TARGET

Curve = Any


def _push(X: Matrix, table: Any, rows: Any, steps: Any, w: Any) -> tuple[float, float]:
    """w += Σ c_i δ_i x_i; returns Σ c_i δ_i, and by how much ‖w‖² has grown."""
    c = table[rows, SIGNED_WEIGHT]
    growth = sum(add(X, i, push, w) for i, push in zip(rows, c * steps))
    return float(c @ steps), growth


def _look(
    X: Matrix, curve: Curve, table: Any, rows: Any, w: Any, bias: float
) -> tuple[Any, Any, float]:
    """z of the rows, whether each wants to move, and Σ |c_i|·(Fenchel gap)."""
    a, _, c, t = table[rows].T
    m = margins_of(X, rows, w) + bias
    z = np.where(c < 0, -m, m)
    moves = curve.violation(a, z, t) > 0
    gaps = curve.value(z, t) + curve.conjugate(a, t) + a * z
    return z, moves, float(np.sum(np.abs(c) * np.where(moves, gaps, 0.0)))


def _adapted(
    X: Matrix,
    curve: Curve,
    table: Any,
    batch: Any,
    look: tuple[Any, Any],
    new: Any,
    w: Any,
    ratio: float,
    beta: float,
    curvature: BatchCurvature,
) -> tuple[Any, float]:
    """Algorithm 2 between its two steps: the second ones, and the next β."""
    (a, q, c, t), (z, moves) = table[batch].T, look
    mass, square = _push(X, table, batch, new - a, np.zeros_like(w))
    zeta = np.sum(np.abs(c) * q * (new - a) ** 2)
    if zeta == 0:
        return new, beta
    rho = min(max((square + ratio * mass**2) / zeta, 1.0), curvature.limit)
    second = np.where(moves, curve.dual_step(a, z, t, rho * q), a)
    return second, float(beta**curvature.inertia * rho ** (1 - curvature.inertia))


def _settle(rows: Any, old: Any, new: Any, average: AverageOfAlpha, step: int) -> None:
    """The average is brought up to the last step, until which α was old."""
    for i, x, y in zip(rows, old, new):
        if average.values.size and x != y:
            count, mean = step - average.since[i], average.values[i]
            decayed = x + average.keep**count * (mean - x)
            average.values[i] = decayed if average.keep < 1 else mean + count * x
            average.since[i] = step


def minibatch_steps(
    X: Matrix,
    curve: Curve,
    table: Any,
    batches: Any,
    w: Any,
    bias: float,
    ratio: float,
    step: int,
    curvature: BatchCurvature,
    queue: Queue,
    average: AverageOfAlpha,
    move: Any,
) -> tuple[float, float, int, float]:
    slots, adaptive = queue.rows.shape[0], curvature.inertia < 1
    beta, refusals, gap = curvature.beta, 0, 0.0
    for batch in batches.astype(np.int64):
        z, moves, looked = _look(X, curve, table, batch, w, bias)
        gap += looked
        a, q, _, t = table[batch].T
        new = np.where(moves, curve.dual_step(a, z, t, beta * q), a)
        if adaptive and np.any(new != a):
            rest = (w, ratio, beta, curvature)
            new, beta = _adapted(X, curve, table, batch, (z, moves), new, *rest)
        for part, values in zip(queue, (batch, a, new)):
            part[step % slots] = values
        step += 1
        if step < slots:
            continue
        rows, old, new = (part[step % slots] for part in queue)
        rows = rows.astype(np.int64)
        new[:] = np.where(table[rows, ALPHA] == old, new, table[rows, ALPHA])
        old[:] = table[rows, ALPHA]
        moved = w.copy()
        mass, growth = _push(X, table, rows, new - old, moved)
        weights, t = np.abs(table[rows, SIGNED_WEIGHT]), table[rows, TARGET]
        rise = weights @ (curve.conjugate(old, t) - curve.conjugate(new, t))
        rise -= 0.5 * growth + bias * mass + 0.5 * ratio * mass**2
        if adaptive and np.any(new != old) and rise <= 0:
            refusals += 1
            new[:] = old
            continue
        _settle(rows, old, new, average, step - 1)
        w[:], table[rows, ALPHA] = moved, new
        bias += ratio * mass
    return bias, beta, refusals, gap


def block_steps(
    X: Matrix,
    curve: Curve,
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
        gap += _look(X, curve, table, rows, w, bias)[2]
        for _ in range(sweeps):  # serial steps, in that order
            once, stay = rows.copy(), (w, bias, ratio, np.inf, 1.0)
            _, bias, _, _ = sdca_steps(X, curve, table, once, 0, rows.size, 0, *stay)
    return bias, gap
