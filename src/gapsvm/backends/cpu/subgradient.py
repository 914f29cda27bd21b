"""Primal subgradient steps: the kernel."""

from __future__ import annotations

import numpy as np

from gapsvm.backends.cpu.jit import kernel, prefetch
from gapsvm.backends.cpu.losses import maximiser
from gapsvm.backends.cpu.rows import prefetch_row, row_axpy, row_axpy_growth, row_dot

_ONE, _TWO, _THREE, _FOUR = (np.uint64(k) for k in (1, 2, 3, 4))
_FAR, _MID, _NEAR = 12, 6, 4  # rows ahead at which they are asked for, as in ``dual``
_SMALL_SCALE, _SMALL_SHARE = 1e-9, 1e-150  # below, v and the average are written out


@kernel
def subgradient_steps(
    X, loss, table, batches, eta, decay, decay_bias, keep, gain, ratio, bias_norm, radius, leave_at,
    v, u, scalars,
):  # fmt: skip
    """w ← Π[decay_k·w + eta_k·g_k], g_k the batch mean of s_i a*(z_i) x̃_i (Pegasos Fig. 1 and 2).

    Given     batches (steps × k) row numbers; eta, decay, ... a number a step;
              table[4i:4i+4] = (visits, Σ a*, σ_i s_i, t_i), s_i of mean 1.
              w = scale·v and, if u is not empty, the average w̄ = p·v + r·u, so that a step costs
              the nonzeros of its batch (Pegasos §2.4): before step k, w̄ ← keep_k·w̄ + gain_k·w.
              bias ← decay_bias_k·bias + ratio·(mean of s_i σ_i a*), averaged alike.
              Π onto ‖w‖² + bias_norm·bias² ≤ radius², of w alone if bias_norm ≤ 0, when the bias is
              kept to bias²·|bias_norm| ≤ 1 by itself; radius = inf for none.
              After a step to ‖w‖ ≥ leave_at the rest is left undone (Do's Algorithm 3).
    Returns   the steps done.
    Modified  table, v, u, scalars = (scale, ‖v‖², bias, p, r, average bias).
    """
    scale, square, bias, p, r, mean_bias = scalars
    steps, size = batches.shape
    flat, pull = batches.ravel(), np.empty(size)
    watched = radius < np.inf or leave_at < np.inf
    done = steps
    for k in range(steps):
        if u.size > 0:
            p, r = keep[k] * p + gain[k] * scale, keep[k] * r
            mean_bias = keep[k] * mean_bias + gain[k] * bias
        # All divisions here, not between a row's margin and its step: the next row waits for that.
        smaller = scale * decay[k]
        rate = eta[k] / size
        push = rate / smaller
        total = 0.0
        for j in range(size):
            at = k * size + j
            if at + _FAR < flat.size:
                prefetch(table, _FOUR * np.uint64(flat[at + _FAR]))
                prefetch_row(X, flat[at + _FAR], flat[at + _MID], flat[at + _NEAR])
            i = np.uint64(flat[at])
            weight = table[_FOUR * i + _TWO]
            z = scale * row_dot(X, i, v) + bias
            a = maximiser(loss, z if weight >= 0.0 else -z, table[_FOUR * i + _THREE])
            table[_FOUR * i] += 1.0
            table[_FOUR * i + _ONE] += a
            pull[j] = weight * a
            total += pull[j]
        scale = smaller
        if scale < _SMALL_SCALE or (u.size > 0 and r < _SMALL_SHARE):
            # Also the first step of Pegasos, where decay = 0: write v out, never divide by 0.
            if u.size > 0:
                for m in range(u.size):
                    u[m] = p * v[m] + r * u[m]
                p, r = 0.0, 1.0
            for m in range(v.size):
                v[m] *= scale
            square *= scale * scale
            scale, push = 1.0, rate
        for j in range(size):
            if pull[j] != 0.0:
                i, step = np.uint64(flat[k * size + j]), push * pull[j]
                if watched:
                    square += row_axpy_growth(X, i, step, v)
                else:
                    row_axpy(X, i, step, v)
                if u.size > 0:
                    row_axpy(X, i, -step * p / r, u)
        bias = decay_bias[k] * bias + ratio * rate * total
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
                done = k + 1
                break
    scalars[:] = scale, square, bias, p, r, mean_bias
    return done


@kernel
def balance(lam, square, curvature, total):
    """total_t = λ_{1:t} + τ_{1:t}, 2τ_t = √(Λ² + square) − Λ, Λ = λ + total_{t−1} (Do §3.2)."""
    for t in range(total.size):
        before = curvature + lam
        # ½(√(Λ² + s) − Λ) without the difference
        rise = 0.5 * square / (np.sqrt(before * before + square) + before) if square > 0.0 else 0.0
        curvature = before + rise
        total[t] = curvature
