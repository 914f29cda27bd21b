"""Primal subgradient steps: the compiled loop."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from gapsvm.backends.numba.curves import maximiser
from gapsvm.backends.numba.intrinsics import prefetch
from gapsvm.backends.numba.jit import kernel
from gapsvm.backends.numba.rows import prefetch_row, row_axpy, row_axpy_growth, row_dot
from gapsvm.types.tables import PULLS, SIGNED_WEIGHT, TARGET, VISITS

_FAR, _MID, _NEAR = 12, 6, 4  # rows ahead at which they are asked for, as in ``sdca``
_SMALL_SCALE, _SMALL_SHARE = 1e-9, 1e-150  # below, v and the average are written out
_INLINE = {"forceinline": True}


@register_jitable(**_INLINE)
def _pull(X, curve, table, flat, at, scale, v, bias):
    """a*(z_i) and s_i σ_i of the row i that is due, which is counted; those after it are asked for.

    No product of the two: whoever branches on a* need not wait for it.
    """
    if at + _FAR < flat.size:
        prefetch(table, flat[at + _FAR])
        prefetch_row(X, flat[at + _FAR], flat[at + _MID], flat[at + _NEAR])
    i = np.uint64(flat[at])
    weight = table[i, SIGNED_WEIGHT]
    z = scale * row_dot(X, i, v) + bias
    a = maximiser(curve, z if weight >= 0.0 else -z, table[i, TARGET])
    table[i, VISITS] += 1.0
    table[i, PULLS] += a
    return a, weight


@register_jitable
def _single_steps(X, curve, table, flat, first, sizes, scale, v):
    """Steps of one row each from step ``first`` on, as long as v need not be written out.

    Nothing but what every step needs: on short rows the rest would take a fifth of the time.
    Returns the steps done and the scale.
    """
    for k in range(first, flat.size):
        smaller = scale * sizes.decay[k]
        if smaller < _SMALL_SCALE:
            return k, scale
        push = sizes.eta[k] / smaller
        a, weight = _pull(X, curve, table, flat, k, scale, v, 0.0)
        scale = smaller
        if a != 0.0:
            row_axpy(X, np.uint64(flat[k]), push * weight * a, v)
    return flat.size, scale


@register_jitable(**_INLINE)
def _write_out(weights, scale, p, r):
    """v becomes w, and u the average."""
    v, u = weights.v, weights.u
    for m in range(u.size):
        u[m] = p * v[m] + r * u[m]
    for m in range(v.size):
        v[m] *= scale


@register_jitable(**_INLINE)
def _push(X, i, step, share, weights, watched):
    """v += step·x_i, u −= step·share·x_i; returns by how much ‖v‖² has grown, if that is asked."""
    growth = 0.0
    if watched:
        growth = row_axpy_growth(X, i, step, weights.v)
    else:
        row_axpy(X, i, step, weights.v)
    if weights.u.size > 0:
        row_axpy(X, i, -step * share[0] / share[1], weights.u)
    return growth


@register_jitable(**_INLINE)
def _projected(ball, scale, norm, bias):
    """(scale, ‖w‖², bias) on or in the ball."""
    excess = (norm + max(ball.bias_norm, 0.0) * bias * bias) / (ball.radius * ball.radius)
    if excess > 1.0:
        scale /= np.sqrt(excess)
        if ball.bias_norm > 0.0:  # else it is no part of the ball
            bias /= np.sqrt(excess)
        norm /= excess
    if ball.bias_norm < 0.0 and bias * bias * -ball.bias_norm > 1.0:
        bias = np.copysign(1.0 / np.sqrt(-ball.bias_norm), bias)
    return scale, norm, bias


@kernel
def subgradient_loop(X, curve, table, batches, sizes, averaging, bias_step, ball, weights, pulls):
    """w ← Π[decay_k·w + eta_k·g_k], g_k the batch mean of s_i a*(z_i) x̃_i (Pegasos Fig. 1 and 2).

    Given     batches (steps × k) row numbers; table[i] = (visits, Σ a*, σ_i s_i, t_i);
              the others as ``gapsvm.types.steps`` has them; pulls: room for a number a row of a
              batch.
    Returns   the steps done.
    Modified  table, weights, pulls.
    """
    scale, square, bias, p, r, mean_bias = weights.scalars
    v, ratio = weights.v, bias_step.ratio
    steps, size = batches.shape
    flat = batches.reshape(batches.size)
    averages, watched = weights.u.size > 0, ball.radius < np.inf or ball.leave_at < np.inf
    plain = size == 1 and bias == 0.0 == ratio and not (averages or watched)
    k = 0
    while k < steps:
        if plain:
            k, scale = _single_steps(X, curve, table, flat, k, sizes, scale, v)
            if k == steps:
                break
        if averages:
            p, r = averaging.keep * p + averaging.gain * scale, averaging.keep * r
            mean_bias = averaging.keep * mean_bias + averaging.gain * bias
        # All divisions here, not between a row's margin and its step: the next row waits for that.
        smaller = scale * sizes.decay[k]
        rate = sizes.eta[k] / size
        push = rate / smaller
        a, weight = _pull(X, curve, table, flat, k * size, scale, v, bias)
        first = total = a * weight  # in a register
        for j in range(1, size):
            a, weight = _pull(X, curve, table, flat, k * size + j, scale, v, bias)
            pulls[j] = a * weight
            total += pulls[j]
        scale = smaller
        if scale < _SMALL_SCALE or (averages and r < _SMALL_SHARE):
            # Also the first step of Pegasos, where decay = 0: write v out, never divide by 0.
            _write_out(weights, scale, p, r)
            square *= scale * scale
            scale, push, p, r = 1.0, rate, 0.0, 1.0
        for j in range(size):
            pull = pulls[j] if j > 0 else first
            if pull != 0.0:
                i = np.uint64(flat[k * size + j])
                square += _push(X, i, push * pull, (p, r), weights, watched)
        if bias_step.decays:
            bias *= sizes.decay[k]
        if ratio != 0.0:
            bias += ratio * rate * total
        if watched:
            scale, norm, bias = _projected(ball, scale, scale * scale * square, bias)
            steps = k + 1 if norm >= ball.leave_at * ball.leave_at else steps
        k += 1
    _store(weights.scalars, scale, square, bias, p, r, mean_bias)
    return steps


@register_jitable(**_INLINE)
def _store(scalars, scale, square, bias, p, r, mean_bias):
    """One by one: in a slice of them Numba would compile its messages for shapes, for seconds."""
    scalars[0], scalars[1], scalars[2] = scale, square, bias
    scalars[3], scalars[4], scalars[5] = p, r, mean_bias


def subgradient_steps(X, curve, table, batches, sizes, averaging, bias_step, ball, weights):
    """``subgradient_loop`` with room for its pulls."""
    pulls = np.empty(batches.shape[1])
    return subgradient_loop(
        X, curve, table, batches, sizes, averaging, bias_step, ball, weights, pulls
    )


@kernel
def balance(lam, square, curvature, total):
    """total_t = λ_{1:t} + τ_{1:t}, 2τ_t = √(Λ² + square) − Λ, Λ = λ + total_{t−1} (Do §3.2)."""
    for t in range(total.size):
        before = curvature + lam
        # ½(√(Λ² + s) − Λ) without the difference
        rise = 0.5 * square / (np.sqrt(before * before + square) + before) if square > 0.0 else 0.0
        curvature = before + rise
        total[t] = curvature
