"""Primal subgradient steps: the kernel."""

from __future__ import annotations

import numpy as np

from gapsvm.backends.cpu.jit import kernel
from gapsvm.backends.cpu.losses import maximiser
from gapsvm.backends.cpu.rows import prefetch_row, row_axpy, row_dot, row_sq_norm


@kernel
def subgradient_steps(
    X,
    loss,
    sign,
    t,
    weight,
    batches,
    eta,
    decay,
    decay_bias,
    ratio,
    bias_norm,
    radius,
    v,
    scalars,
    visits,
    mass,
):
    """w ← Π[decay_k·w + eta_k·g_k], g_k the batch mean of s_i a*(z_i) x̃_i (Pegasos Fig. 1 and 2).

    Given     batches (steps × k) row numbers; eta and decay, a number a step; w = scale·v and
              bias, ‖w‖² kept in scalars = (scale, ‖w‖², bias), so that a step costs the nonzeros
              of its batch (Pegasos §2.4); bias ← decay_bias_k·bias + ratio·(mean of s_i σ_i a*);
              Π onto ‖w‖² + bias_norm·bias² ≤ radius², radius = inf for none.
              sign, t, weight: arrays of n numbers or of one; weight has mean 1.
    Modified  v, scalars, visits_i += 1, mass_i += a*(z_i), for the certificate.
    """
    scale, sq_norm, bias = scalars[0], scalars[1], scalars[2]
    steps, size = batches.shape
    pull = np.empty(size)
    for k in range(steps):
        total = 0.0
        for j in range(size):
            i = np.uint64(batches[k, j])
            if k + 4 < steps:
                prefetch_row(X, batches[k + 4, j], batches[k + 2, j], batches[k + 1, j])
            si = sign[i] if sign.size > 1 else sign[0]
            ti = t[i] if t.size > 1 else t[0]
            wi = weight[i] if weight.size > 1 else weight[0]
            a = maximiser(loss, si * (scale * row_dot(X, i, v) + bias), ti)
            visits[i] += 1.0
            mass[i] += a
            pull[j] = eta[k] * wi * si * a / size
            total += pull[j]
        scale *= decay[k]
        sq_norm *= decay[k] * decay[k]
        if scale < 1e-9:  # also the first step of Pegasos, where decay = 0: reset, never divide
            for m in range(v.size):
                v[m] *= scale
            scale = 1.0
        for j in range(size):
            if pull[j] != 0.0:
                i = np.uint64(batches[k, j])
                sq_norm += 2 * pull[j] * scale * row_dot(X, i, v) + pull[j] ** 2 * row_sq_norm(X, i)
                row_axpy(X, i, pull[j] / scale, v)
        bias = decay_bias[k] * bias + ratio * total
        excess = (sq_norm + bias_norm * bias * bias) / (radius * radius)
        if excess > 1.0:
            shrink = 1.0 / np.sqrt(excess)
            scale *= shrink
            bias *= shrink
            sq_norm /= excess
    scalars[0], scalars[1], scalars[2] = scale, sq_norm, bias
