"""Dual coordinate ascent: the compiled loops."""

from __future__ import annotations

import numpy as np

from gapsvm.backends.numba.curves import fenchel_gap, is_free, row_step
from gapsvm.backends.numba.intrinsics import prefetch
from gapsvm.backends.numba.jit import kernel
from gapsvm.backends.numba.rows import prefetch_row, row_axpy, row_dot
from gapsvm.backends.numba.sampling import shuffle
from gapsvm.types.tables import ALPHA, CURVATURE, SIGNED_WEIGHT, TARGET

_FAR = 12  # steps ahead at which a row's scalars and bounds are asked for
_MID = 6  # ... the first and last of its values
_NEAR = 4  # ... and the values between them


@kernel
def sdca_steps(X, curve, table, order, start, stop, kept, w, bias, ratio, threshold, sigma):
    """Exact coordinate steps of the dual on the rows order[start:stop] (Takáč Alg. 2 with b = 1).

    Problem   max_α D(α), D as in ``gapsvm.problems.linear``, one coordinate at a time.
    Given     table[i] = (α_i, q_i, c_i, t_i): c_i = σ_i s_i/(λS), σ_i the sign of the row,
              q_i = |c_i|(‖x_i‖² + ratio); w = Σ c_i α_i x_i, and bias moves by ratio·c_i·δ.
              Curvature and movement count sigma times: 1, or more for a part among others.
              A row whose α is stuck at a bound by more than threshold is dropped: the rows that
              stay are gathered in order[:kept].  Modified in place: table, order, w.
    Returns   kept, bias, the largest violation met, Σ |c_i|·(Fenchel gap of row i when visited).
    """
    worst = 0.0
    gap = 0.0
    for k in range(start, stop):
        if k + _FAR < stop:
            ahead = order[k + _FAR]
            prefetch(table, ahead)
            prefetch_row(X, ahead, order[k + _MID], order[k + _NEAR])
        i = np.uint64(order[k])
        a, q = table[i, ALPHA], table[i, CURVATURE]
        c, t = table[i, SIGNED_WEIGHT], table[i, TARGET]
        z = row_dot(X, i, w) + bias
        if c < 0:
            z = -z
        v, new = row_step(curve, a, z, t, sigma * q)
        if v < -threshold:
            continue
        order[kept] = order[k]
        kept += 1
        if v <= 0.0:
            continue
        if v > worst:
            worst = v
        gap += abs(c) * fenchel_gap(curve, z, a, t)
        if new != a:
            table[i, ALPHA] = new
            step = sigma * c * (new - a)
            row_axpy(X, i, step, w)
            bias += ratio * step
    return kept, bias, worst, gap


@kernel
def sdca_passes(X, curve, table, order, active, seed, w, bias, centre, ratio, threshold, until):
    """Whole passes of ``sdca_steps`` over the few rows order[:active], each in a new random order.

    They end as ``until`` says (there is one pass at least), or when no row is left.
    Given     centre: of the proximal term of a free bias, which moves to it after each pass; NaN
              for any other bias.
    Modified  table, order, seed, w.
    Returns   active, bias, centre and threshold for the next pass; the gaps of the last pass and of
              the one before it (infinite if there was none); rows visited.
    """
    visited, gap, before = 0, np.inf, np.inf
    front = np.int64(0)  # a literal 0 would compile ``sdca_steps`` once more
    while gap > until.gap and active > 0 and (visited == 0 or visited + active <= until.rows):
        before = gap
        visited += active
        shuffle(order, active, seed)
        active, bias, threshold, gap = sdca_steps(
            X, curve, table, order, front, active, front, w, bias, ratio, threshold, 1.0
        )
        if not np.isnan(centre):
            bias, centre = 2.0 * bias - centre, bias
    return active, bias, centre, threshold, gap, before, visited


@kernel
def screen(X, curve, table, start, stop, w, bias, floor, found):
    """Rows start … stop in the order of memory, none of them moved: their gaps, and whose matter.

    Given     table, w, bias as in ``sdca_steps``.
    Modified  found: the rows whose Fenchel gap φ(z_i) + φ*(−α_i) + α_i z_i is above floor, and
              those whose α is free to follow w.
    Returns   how many these are, Σ |c_i|·(Fenchel gap of row i), which is the duality gap over λ.
    """
    count = 0
    total = 0.0
    for i in range(np.uint64(start), np.uint64(stop)):
        a, c, t = table[i, ALPHA], table[i, SIGNED_WEIGHT], table[i, TARGET]
        z = row_dot(X, i, w) + bias
        if c < 0:
            z = -z
        gap = fenchel_gap(curve, z, a, t)
        total += abs(c) * gap
        if c != 0.0 and (gap > floor or is_free(curve, a)):
            found[count] = i
            count += 1
    return count, total
