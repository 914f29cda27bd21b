"""Dual coordinate ascent: the kernels."""

from __future__ import annotations

import numpy as np

from gapsvm.backends.cpu.jit import kernel, prefetch
from gapsvm.backends.cpu.losses import conjugate, dual_step, loss_value, violation
from gapsvm.backends.cpu.rows import prefetch_bounds, prefetch_values, row_axpy, row_dot

_FAR = 12  # steps ahead at which a row's scalars and bounds are asked for
_NEAR = 6  # steps ahead at which its values are


@kernel
def sdca_steps(X, loss, table, order, start, stop, kept, w, bias, ratio, threshold):
    """Exact coordinate steps of the dual on the rows order[start:stop] (Takáč Alg. 2 with b = 1).

    Problem   max_α D(α), D as in ``gapsvm.problem``, one coordinate at a time.
    Given     table[i] = (α_i, q_i, c_i, t_i): c_i = σ_i s_i/(λS) with σ_i the sign of the row,
              q_i = |c_i|(‖x_i‖² + ratio); w = Σ c_i α_i x_i, and bias moves by ratio·c_i·δ.
              A row whose α is stuck at a bound by more than threshold is dropped: the rows that
              stay are gathered in order[:kept].  Modified in place: table, order, w.
    Returns   kept, bias, the largest violation met, Σ |c_i|·(Fenchel gap of row i when visited).
    """
    scalars = table.reshape(-1)
    worst = 0.0
    gap = 0.0
    for k in range(start, stop):
        if k + _FAR < stop:
            ahead = order[k + _FAR]
            prefetch(scalars, 4 * ahead)
            prefetch_bounds(X, ahead)
            prefetch_values(X, order[k + _NEAR])
        i = order[k]
        a, q, c, t = table[i, 0], table[i, 1], table[i, 2], table[i, 3]
        z = row_dot(X, i, w) + bias
        if c < 0:
            z = -z
        v = violation(loss, a, z, t)
        if v < -threshold:
            continue
        order[kept] = i
        kept += 1
        if v <= 0.0:
            continue
        worst = max(worst, v)
        gap += abs(c) * (loss_value(loss, z, t) + conjugate(loss, a, t) + a * z)
        new = dual_step(loss, a, z, t, q)
        if new != a:
            table[i, 0] = new
            row_axpy(X, i, c * (new - a), w)
            bias += ratio * c * (new - a)
    return kept, bias, worst, gap


@kernel
def row_table(alpha, sq_norms, sign, t, weight, scale):
    """Rows (α_i, q_i, c_i, t_i): c_i = scale·sign_i·weight_i, q_i = |c_i|·sq_norms_i.

    alpha, sign, t and weight are arrays of n numbers, or of one that holds for all rows.
    """
    n = sq_norms.size
    table = np.empty((n, 4))
    for i in range(n):
        c = scale * (sign[i] if sign.size > 1 else sign[0])
        c *= weight[i] if weight.size > 1 else weight[0]
        table[i, 0] = alpha[i] if alpha.size > 1 else alpha[0]
        table[i, 1] = abs(c) * sq_norms[i]
        table[i, 2] = c
        table[i, 3] = t[i] if t.size > 1 else t[0]
    return table


@kernel
def shuffle(order, count, seed):
    """Fisher–Yates on order[:count] by splitmix64.  Modified in place: order and seed[0]."""
    state = seed[0]
    for k in range(count - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        x = state
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
        j = np.int64(((x >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32))
        order[k], order[j] = order[j], order[k]
    seed[0] = state
