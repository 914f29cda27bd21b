"""Steps at the bias that is best for the batch (Pegasos §6, the third treatment)."""

from __future__ import annotations

import numpy as np

from gapsvm.backends.numba.curves import maximiser
from gapsvm.backends.numba.intrinsics import prefetch
from gapsvm.backends.numba.jit import allocating_kernel
from gapsvm.backends.numba.rows import prefetch_row, row_dot
from gapsvm.backends.numba.subgradient import subgradient_loop
from gapsvm.types.curves import FiveNumbers
from gapsvm.types.steps import Ball, BiasStep, StepSizes
from gapsvm.types.tables import PULLS, SIGNED_WEIGHT, TARGET, VISITS

_FAR, _MID, _NEAR = 12, 6, 4  # rows ahead at which they are asked for, as in ``sdca``


@allocating_kernel
def balanced_pulls(curve, m, c, t, b, a):
    """Minimise Σ |c_i| φ(σ_i(m_i + b)) over b, σ_i the sign of c_i.

    h(b) = Σ c_i a*(σ_i(m_i + b)) never rises; where it is zero, or jumps over zero, is the minimum.
    Between two points that enclose it, rows whose a* is the same at both are settled; in the end
    those left over are at a kink, and take the share of both a* that makes up Σ c_i a_i = 0.

    Given     a first guess b.
    Returns   the best b.
    Modified  a: a_i with −a_i ∈ ∂φ at that b, Σ c_i a_i = 0.
    """
    ends, unsettled = np.empty((2, m.size)), np.arange(m.size)
    count, settled = m.size, 0.0
    low, high, up, down = -np.inf, np.inf, 0.0, 0.0
    width, flat = 1e-3 * (1.0 + abs(b)), 1e-13 * np.abs(c).sum()
    for step in range(1000):
        h = settled
        for j in range(count):
            i = unsettled[j]
            z = m[i] + b
            a[i] = maximiser(curve, z if c[i] >= 0.0 else -z, t[i])
            h += c[i] * a[i]
        if not abs(h) > flat:
            return b
        if h > 0.0:
            low, up = b, h
        else:
            high, down = b, h
        enclosed, kept = high - low < np.inf, 0
        for j in range(count):
            i = unsettled[j]
            ends[0 if h > 0.0 else 1, i] = a[i]
            if enclosed and ends[0, i] == ends[1, i]:
                settled += c[i] * a[i]
            else:
                unsettled[kept] = i
                kept += 1
        count = kept
        if not enclosed:
            b += width if h > 0.0 else -width
            width *= 4.0
            continue
        b = low + (0.5 if step % 2 else up / (up - down)) * (high - low)
        if not low < b < high:
            break
    share = up / (up - down)
    for j in range(count):
        i = unsettled[j]
        a[i] = ends[0, i] + share * (ends[1, i] - ends[0, i])
    return low + share * (high - low)


@allocating_kernel
def batch_bias_steps(X, curve, table, batches, sizes, averaging, bias_step, ball, weights):
    """``subgradient_loop`` on min_b (mean loss of the batch), with ``balanced_pulls`` for a*.

    The steps themselves are those of the half squared loss, whose a* is t − z: with t = z + a_i it
    is the a_i that was found.

    Given     what ``subgradient_loop`` is given; bias_step and ball.bias_norm do not matter.
    Returns   the steps done.
    Modified  what it modifies; the bias is the last batch's best.
    """
    steps, size = batches.shape
    flat, scalars = batches.ravel(), weights.scalars
    half_squared, given = FiveNumbers(0.0, 1.0, -np.inf, np.inf), np.empty(table.shape)
    m, c, t, a = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    held, in_ball = BiasStep(0.0, False), Ball(ball.radius, 0.0, ball.leave_at)
    pulls = np.empty(size)
    for k in range(steps):
        for j in range(size):
            i, at = np.uint64(batches[k, j]), k * size + j
            if at + _FAR < flat.size:
                prefetch(table, flat[at + _FAR])
                prefetch_row(X, flat[at + _FAR], flat[at + _MID], flat[at + _NEAR])
            m[j] = scalars[0] * row_dot(X, i, weights.v)
            c[j], t[j] = table[i, SIGNED_WEIGHT], table[i, TARGET]
        scalars[2] = balanced_pulls(curve, m, c, t, scalars[2], a)
        for j in range(size):
            i, z = np.uint64(batches[k, j]), m[j] + scalars[2]
            table[i, VISITS] += 1.0
            table[i, PULLS] += a[j]
            given[i, SIGNED_WEIGHT] = c[j]
            given[i, TARGET] = (z if c[j] >= 0.0 else -z) + a[j]
        one = slice(k, k + 1)
        size_k = StepSizes(sizes.eta[one], sizes.decay[one])
        subgradient_loop(
            X, half_squared, given, batches[one], size_k, averaging, held, in_ball, weights, pulls
        )
        if scalars[0] * scalars[0] * scalars[1] >= ball.leave_at * ball.leave_at:
            return k + 1
    return steps
