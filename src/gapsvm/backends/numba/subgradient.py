"""Primal subgradient steps: the kernel."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from gapsvm.backends.numba.intrinsics import prefetch
from gapsvm.backends.numba.jit import kernel
from gapsvm.backends.numba.losses import maximiser
from gapsvm.backends.numba.rows import prefetch_row, row_axpy, row_axpy_growth, row_dot

_ONE, _TWO, _THREE, _FOUR = (np.uint64(k) for k in (1, 2, 3, 4))
_FAR, _MID, _NEAR = 12, 6, 4  # rows ahead at which they are asked for, as in ``dual``
_SMALL_SCALE, _SMALL_SHARE = 1e-9, 1e-150  # below, v and the average are written out


@register_jitable(forceinline=True)
def _pull(X, loss, table, flat, at, scale, v, bias):
    """a*(z_i) and s_i σ_i of the row i that is due, which is counted; those after it are asked for.

    No product of the two: whoever branches on a* need not wait for it.
    """
    if at + _FAR < flat.size:
        prefetch(table, _FOUR * np.uint64(flat[at + _FAR]))
        prefetch_row(X, flat[at + _FAR], flat[at + _MID], flat[at + _NEAR])
    i = np.uint64(flat[at])
    weight = table[_FOUR * i + _TWO]
    z = scale * row_dot(X, i, v) + bias
    a = maximiser(loss, z if weight >= 0.0 else -z, table[_FOUR * i + _THREE])
    table[_FOUR * i] += 1.0
    table[_FOUR * i + _ONE] += a
    return a, weight


@register_jitable
def _single_steps(X, loss, table, flat, first, eta, decay, scale, v):
    """Steps of one row each from step ``first`` on, as long as v need not be written out.

    Nothing but what every step needs: on short rows the rest would take a fifth of the time.
    Returns the steps done and the scale.
    """
    for k in range(first, flat.size):
        smaller = scale * decay[k]
        if smaller < _SMALL_SCALE:
            return k, scale
        push = eta[k] / smaller
        a, weight = _pull(X, loss, table, flat, k, scale, v, 0.0)
        scale = smaller
        if a != 0.0:
            row_axpy(X, np.uint64(flat[k]), push * weight * a, v)
    return flat.size, scale


@kernel
def subgradient_kernel(
    X, loss, table, batches, eta, decay, bias_decays, keep, gain, ratio, bias_norm, radius,
    leave_at, v, u, scalars, pull,
):  # fmt: skip
    """w ← Π[decay_k·w + eta_k·g_k], g_k the batch mean of s_i a*(z_i) x̃_i (Pegasos Fig. 1 and 2).

    Given     batches (steps × k) row numbers; eta and decay, a number a step;
              table[4i:4i+4] = (visits, Σ a*, σ_i s_i, t_i), s_i of mean 1.
              w = scale·v and, if u is not empty, the average w̄ = p·v + r·u, so that a step costs
              the nonzeros of its batch (Pegasos §2.4): before each step, w̄ ← keep·w̄ + gain·w.
              bias ← decay_k·bias + ratio·(mean of s_i σ_i a*), averaged alike; without the decay
              unless bias_decays.
              Π onto ‖w‖² + bias_norm·bias² ≤ radius², of w alone if bias_norm ≤ 0, when the bias is
              kept to bias²·|bias_norm| ≤ 1 by itself; radius = inf for none.
              After a step to ‖w‖ ≥ leave_at the rest is left undone (Do's Algorithm 3).
              pull: room for a number a row of a batch.
    Returns   the steps done.
    Modified  table, v, u, pull, scalars = (scale, ‖v‖², bias, p, r, average bias).
    """
    scale, square, bias, p, r, mean_bias = scalars
    steps, size = batches.shape
    flat = batches.reshape(batches.size)
    averages, watched = u.size > 0, radius < np.inf or leave_at < np.inf
    plain = size == 1 and bias == 0.0 == ratio and not (averages or watched)
    k = 0
    while k < steps:
        if plain:
            k, scale = _single_steps(X, loss, table, flat, k, eta, decay, scale, v)
            if k == steps:
                break
        if averages:
            p, r = keep * p + gain * scale, keep * r
            mean_bias = keep * mean_bias + gain * bias
        # All divisions here, not between a row's margin and its step: the next row waits for that.
        smaller = scale * decay[k]
        rate = eta[k] / size
        push = rate / smaller
        a, weight = _pull(X, loss, table, flat, k * size, scale, v, bias)
        first = total = a * weight  # in a register
        for j in range(1, size):
            a, weight = _pull(X, loss, table, flat, k * size + j, scale, v, bias)
            pull[j] = a * weight
            total += pull[j]
        scale = smaller
        if scale < _SMALL_SCALE or (averages and r < _SMALL_SHARE):
            # Also the first step of Pegasos, where decay = 0: write v out, never divide by 0.
            if averages:
                for m in range(u.size):
                    u[m] = p * v[m] + r * u[m]
                p, r = 0.0, 1.0
            for m in range(v.size):
                v[m] *= scale
            square *= scale * scale
            scale, push = 1.0, rate
        for j in range(size):
            own = pull[j] if j > 0 else first
            if own != 0.0:
                i, step = np.uint64(flat[k * size + j]), push * own
                if watched:
                    square += row_axpy_growth(X, i, step, v)
                else:
                    row_axpy(X, i, step, v)
                if averages:
                    row_axpy(X, i, -step * p / r, u)
        if bias_decays:
            bias *= decay[k]
        if ratio != 0.0:
            bias += ratio * rate * total
        if watched:
            norm = scale * scale * square
            excess = (norm + max(bias_norm, 0.0) * bias * bias) / (radius * radius)
            if excess > 1.0:
                scale /= np.sqrt(excess)
                if bias_norm > 0.0:  # else it is no part of the ball
                    bias /= np.sqrt(excess)
                norm /= excess
            if bias_norm < 0.0 and bias * bias * -bias_norm > 1.0:
                bias = np.copysign(1.0 / np.sqrt(-bias_norm), bias)
            if norm >= leave_at * leave_at:
                steps = k + 1
        k += 1
    # One by one: in a slice of them Numba would compile its messages for shapes, for seconds.
    scalars[0], scalars[1], scalars[2] = scale, square, bias
    scalars[3], scalars[4], scalars[5] = p, r, mean_bias
    return steps


def subgradient_steps(*arguments):
    """``subgradient_kernel`` with room for its pulls."""
    return subgradient_kernel(*arguments, np.empty(arguments[3].shape[1]))


@kernel
def balance(lam, square, curvature, total):
    """total_t = λ_{1:t} + τ_{1:t}, 2τ_t = √(Λ² + square) − Λ, Λ = λ + total_{t−1} (Do §3.2)."""
    for t in range(total.size):
        before = curvature + lam
        # ½(√(Λ² + s) − Λ) without the difference
        rise = 0.5 * square / (np.sqrt(before * before + square) + before) if square > 0.0 else 0.0
        curvature = before + rise
        total[t] = curvature
