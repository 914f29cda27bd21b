"""Mini-batch dual ascent: the compiled loops (Takáč §4)."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from gapsvm.backends.numba.curves import batch_step, fenchel_gap, row_step, value_and_conjugate
from gapsvm.backends.numba.intrinsics import prefetch
from gapsvm.backends.numba.jit import allocating_kernel, kernel
from gapsvm.backends.numba.rows import (
    block_gram,
    prefetch_row,
    row_axpy,
    row_axpy_growth,
    row_dot,
    simd_dot,
)
from gapsvm.types.steps import Batch, BatchRoom
from gapsvm.types.tables import ALPHA, CURVATURE, SIGNED_WEIGHT, TARGET

_FAR, _MID, _NEAR = 12, 6, 4  # rows ahead at which they are asked for, as in ``sdca``
_NOTHING = 1e-14  # share of a step that is rounding


@register_jitable(forceinline=True)
def _margin(X, table, flat, at, w, bias):
    """⟨x_i, w⟩ + bias of the row i that is due; those after it are asked for."""
    if at + _FAR < flat.size:
        far = flat[at + _FAR]
        prefetch(table, far)
        prefetch_row(X, far, flat[at + _MID], flat[at + _NEAR])
    return row_dot(X, np.uint64(flat[at]), w) + bias


@register_jitable(forceinline=True)
def _wish(curve, table, i, m, beta):
    """z_i, α_i and the a⁺ that is exact for the curvature β·q_i: eq. (14) and (15).

    And with them c_i δ, |c_i| q_i δ², and |c_i| times the Fenchel gap of the row.
    """
    a, q = table[i, ALPHA], table[i, CURVATURE]
    c, t = table[i, SIGNED_WEIGHT], table[i, TARGET]
    z = -m if c < 0 else m
    a_new = batch_step(curve, a, z, t, beta * q)
    push = c * (a_new - a)
    return z, a, a_new, push, abs(push) * q * abs(a_new - a), abs(c) * fenchel_gap(curve, z, a, t)


@register_jitable
def _look(X, curve, table, flat, at, size, w, bias, beta, batch, movers):
    """The margins of the batch flat[at : at + size], then the steps it wants.

    Margins come first: no row waits for the step of the one before, nor for how a guess ends.
    Returns Σ |c_i|·(Fenchel gap of row i), (Σ c_i δ_i, ζ of Algorithm 2, ⟨w, Δ⟩) and how many rows
    move; their places in the batch are in ``movers``.
    """
    z, old, new = batch.margins, batch.old, batch.new
    gap = mass = zeta = inner = 0.0
    count = 0
    for j in range(size):
        z[j] = _margin(X, table, flat, at + j, w, bias)
    for j in range(size):
        m = z[j]
        z[j], old[j], new[j], push, curved, row_gap = _wish(
            curve, table, np.uint64(flat[at + j]), m, beta
        )
        gap += row_gap
        mass += push
        zeta += curved
        inner += push * (m - bias)
        movers[count] = j
        count += new[j] != old[j]
    return gap, (mass, zeta, inner), count


@register_jitable
def _look_and_sum(X, curve, table, flat, at, w, bias, beta, batch, movers, move):
    """``_look`` that takes the steps, with move in the place of w, while their rows are at hand."""
    z, old, new = batch.margins, batch.old, batch.new
    gap = mass = zeta = inner = 0.0
    count = 0
    for j in range(z.size):
        i = np.uint64(flat[at + j])
        m = _margin(X, table, flat, at + j, w, bias)
        z[j], a, a_new, push, curved, row_gap = _wish(curve, table, i, m, beta)
        old[j], new[j] = a, a_new
        gap += row_gap
        mass += push
        zeta += curved
        inner += push * (m - bias)
        movers[count] = j
        if a_new != a:
            count += 1
            table[i, ALPHA] = a_new
            row_axpy(X, i, push, move)
    return gap, (mass, zeta, inner), count


@register_jitable
def _copy(source, target):
    """target[:] = source, for which Numba would compile its messages for shapes, for seconds."""
    for j in range(target.size):
        target[j] = source[j]


@register_jitable
def _shift(X, table, rows, which, old, new, w):
    """w += Σ c_i(new_i − old_i)x_i; returns by how much ‖w‖² has grown."""
    growth = 0.0
    for j in which:
        i = np.uint64(rows[j])
        growth += row_axpy_growth(X, i, table[i, SIGNED_WEIGHT] * (new[j] - old[j]), w)
    return growth


@register_jitable
def _second_steps(curve, table, batch, which, rho, shrink, bias):
    """The steps with ρ.

    Returns of how many rows they are the tentative ones, or those shrunk, Σ c_i δ_i, ⟨w, Δ⟩, and by
    how much (D(α + δ) − D(α))/λ is above −½‖Δ‖².
    """
    z, old, new, second = batch.margins, batch.old, batch.new, batch.second
    same = shrunk = 0
    mass = inner = rise = 0.0
    for j in which:
        i = np.uint64(batch.rows[j])
        q, c, t = table[i, CURVATURE], table[i, SIGNED_WEIGHT], table[i, TARGET]
        a = old[j]
        a_new = second[j] = batch_step(curve, a, z[j], t, rho * q)
        step = a_new - a
        same += a_new == new[j]
        shrunk += abs(step - shrink * (new[j] - a)) <= _NOTHING * abs(step)
        _, before = value_and_conjugate(curve, z[j], a, t)
        _, after = value_and_conjugate(curve, z[j], a_new, t)
        mass += c * step
        inner += abs(c) * step * z[j] - bias * c * step
        rise += abs(c) * (before - after - z[j] * step)
    return same, shrunk, mass, inner, rise


@register_jitable
def _correct(X, table, batch, which, shrink, moving, fused):
    """``moving``, shrunk already, goes on to the second steps; by how much its ‖·‖² has grown."""
    old, new, second = batch.old, batch.new, batch.second
    growth = 0.0
    for j in which:
        i = np.uint64(batch.rows[j])
        missing = second[j] - old[j] - shrink * (new[j] - old[j])
        if abs(missing) > _NOTHING * abs(second[j] - old[j]):
            missing *= table[i, SIGNED_WEIGHT]
            if fused:
                row_axpy(X, i, missing, moving)
            else:
                growth += row_axpy_growth(X, i, missing, moving)
        new[j] = second[j]
    return growth


@register_jitable
def _adapt(X, curve, table, batch, which, moving, fused, bias, ratio, sums, beta, curvature):
    """Algorithm 2 between its two steps: ρ from the tentative δ̃, then δ with ρ.

    ``moving`` is the sum Δ̃, and ends as Δ (``fused``), or w itself, which gains Δ.  Only what δ
    differs from δ̃ by, or from δ̃·β/ρ, is added: away from the bounds the steps of a γ = 0 loss are
    that.  Returns β for the next batch, Σ c_i δ_i and whether D would not rise.
    """
    mass, zeta, inner = sums
    if fused:
        growth = simd_dot(moving, moving)
    else:
        growth = _shift(X, table, batch.rows, which, batch.old, batch.new, moving)
    if zeta == 0.0:  # nothing moves but rows without curvature, to their bounds
        return beta, mass, False
    square = growth if fused else growth - 2.0 * inner
    rho = min(max((square + ratio * mass * mass) / zeta, 1.0), curvature.limit)
    shrink = beta / rho
    same, shrunk, mass, inner, rise = _second_steps(curve, table, batch, which, rho, shrink, bias)
    if fused and shrunk > same:
        for j in range(moving.size):
            moving[j] *= shrink
    else:
        shrink = 1.0
    if same < which.size:
        growth += _correct(X, table, batch, which, shrink, moving, fused)
        if fused:
            growth = simd_dot(moving, moving)
    square = growth if fused else growth - 2.0 * inner
    refused = rise - 0.5 * (square + ratio * mass * mass) <= 0.0
    return beta**curvature.inertia * rho ** (1.0 - curvature.inertia), mass, refused


@register_jitable
def _move(X, curve, table, batch, which, w, bias, ratio, ascent_only):
    """w goes from where the rows are old to where they are new.

    A row that another batch has moved since is left out.  ``ascent_only``: the step is taken back
    unless it raises D (Algorithm 2's refusal).  Returns Σ c_i δ_i and whether it was refused.
    """
    rows, old, new = batch.rows, batch.old, batch.new
    mass = rise = 0.0
    moved = False
    for j in which:
        i = np.uint64(rows[j])
        if table[i, ALPHA] != old[j]:
            new[j] = old[j] = table[i, ALPHA]
        if new[j] != old[j]:
            c, t = table[i, SIGNED_WEIGHT], table[i, TARGET]
            push = c * (new[j] - old[j])
            mass += push
            moved = True
            table[i, ALPHA] = new[j]
            if ascent_only:
                _, before = value_and_conjugate(curve, 0.0, old[j], t)
                _, after = value_and_conjugate(curve, 0.0, new[j], t)
                rise += abs(c) * (before - after) - 0.5 * row_axpy_growth(X, i, push, w)
            else:
                row_axpy(X, i, push, w)
    refused = ascent_only and moved and rise - bias * mass - 0.5 * ratio * mass * mass <= 0.0
    if refused:
        _shift(X, table, rows, which, new, old, w)
        _copy(old, new)
    return 0.0 if refused else mass, refused


@register_jitable
def _settle(table, batch, which, average, step):
    """α becomes new; its average is brought up to the last step, until which it was old."""
    old, new, values, since = batch.old, batch.new, average.values, average.since
    for j in which:
        i = np.uint64(batch.rows[j])
        table[i, ALPHA] = new[j]
        if values.size > 0 and new[j] != old[j]:
            count = step - since[i]
            if average.keep < 1.0:
                values[i] = old[j] + average.keep**count * (values[i] - old[j])
            else:
                values[i] += count * old[j]
            since[i] = step


@register_jitable
def _add(move, w, refused):
    """w += move unless that was refused, and move is zeros again."""
    if not refused:
        for j in range(move.size):
            w[j] += move[j]
    for j in range(move.size):
        move[j] = 0.0


@register_jitable
def _under_way(queue, slot, room):
    """The batch at that place of the queue."""
    return Batch(queue.rows[slot], queue.before[slot], queue.after[slot], room.margins, room.second)


@kernel
def minibatch_loop(X, curve, table, batches, w, bias, ratio, step, curvature, queue, average, room):
    """Mini-batch SDCA on the rows of ``batches``, a batch a step (Takáč §4, Algorithm 2).

    Given     table, w, bias, ratio as in ``sdca_steps``, but q_i = |c_i|v_i with any v_i: ‖x_i‖²
              for eq. (14), 1 for eq. (15); the curvature of a step is β·q_i.
              curvature: inertia < 1: β adapts, ρ = clip(‖Δ̃‖²/ζ, 1, limit), steps are proposed anew
              with ρ, and refused unless D rises.
              queue: a batch is applied ``staleness`` steps after it was looked at.
              step: steps so far.  average, room: see ``gapsvm.types.steps``.
    Modified  table, w, queue, average, room.
    Returns   bias, β, refusals, Σ |c_i|·(Fenchel gap of row i when looked at).
    """
    size, slots, adaptive = batches.shape[1], queue.rows.shape[0], curvature.inertia < 1.0
    movers, move = room.movers, room.move
    summed = move.size > 0 and slots == 1
    flat = batches.reshape(batches.size)
    beta, refusals, gap = curvature.beta, 0, 0.0
    for k in range(batches.shape[0]):
        batch, at = _under_way(queue, step % slots, room), k * size
        _copy(batches[k], batch.rows)
        if summed:
            row_gaps, sums, count = _look_and_sum(
                X, curve, table, flat, at, w, bias, beta, batch, movers, move
            )
        else:
            row_gaps, sums, count = _look(
                X, curve, table, flat, at, size, w, bias, beta, batch, movers
            )
        gap += row_gaps
        step += 1
        which, refused, mass = movers[:count], False, sums[0]
        if adaptive:
            moving = move if summed else w
            beta, mass, refused = _adapt(
                X, curve, table, batch, which, moving, summed, bias, ratio, sums, beta, curvature
            )
            refused = refused and slots == 1  # else it is seen when the step is taken
        if summed:
            _add(move, w, refused)
        elif adaptive and (refused or slots > 1):
            _shift(X, table, batch.rows, which, batch.new, batch.old, w)
        if refused:
            _copy(batch.old, batch.new)
            mass = 0.0
        if slots > 1:
            if step < slots:
                continue
            batch, which = _under_way(queue, step % slots, room), room.everyone
        if slots > 1 or not (summed or adaptive):
            mass, late = _move(X, curve, table, batch, which, w, bias, ratio, adaptive)
            refused = refused or late
        refusals += refused
        if adaptive or average.values.size > 0:
            _settle(table, batch, which, average, step - 1)
        bias += ratio * mass
    return bias, beta, refusals, gap


def minibatch_steps(
    X, curve, table, batches, w, bias, ratio, step, curvature, queue, average, move
):  # fmt: skip
    """``minibatch_loop`` with room for what the rows of a batch say.

    move: zeros of w's shape, for batches that store more values than w has; else empty.
    """
    size = batches.shape[1]
    margins, second, movers = np.empty(size), np.empty(size), np.empty(size, dtype=np.uint32)
    room = BatchRoom(move, margins, second, movers, np.arange(size, dtype=np.uint32))
    return minibatch_loop(
        X, curve, table, batches, w, bias, ratio, step, curvature, queue, average, room
    )


@allocating_kernel
def block_steps(X, curve, table, order, start, stop, size, w, u, bias, ratio, sweeps):
    """Exact ascent on blocks of ``size`` rows of order[start:stop], one block after the other.

    Inside a block the margins follow from the block's Gram matrix, so that w is read and written
    once a block; with one sweep this is ``sdca_steps`` without shrinking, step for step.
    Given     table, w, bias, ratio as in ``sdca_steps``; u: zeros, of w's shape.
    Modified  table, w, u.
    Returns   bias, Σ |c_i|·(Fenchel gap of row i when its block was looked at).
    """
    gram = np.empty((size, size), dtype=X[0].dtype)
    z, old, new, push = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    movers = np.empty(size, dtype=np.uint32)
    gap = 0.0
    for first in range(start, stop, size):
        rows = order[first : min(first + size, stop)]
        batch = Batch(rows, old, new, z, push)
        row_gaps, _, _ = _look(
            X, curve, table, order[:stop], first, rows.size, w, bias, 1.0, batch, movers
        )
        gap += row_gaps
        block_gram(X, rows, u, gram)
        push[:] = 0.0
        for _ in range(sweeps):
            for j in range(rows.size):
                i = np.uint64(rows[j])
                a, q = table[i, ALPHA], table[i, CURVATURE]
                c, t = table[i, SIGNED_WEIGHT], table[i, TARGET]
                _, a_new = row_step(curve, a, z[j], t, q)
                if a_new != a:
                    table[i, ALPHA] = a_new
                    step = c * (a_new - a)
                    push[j] += step
                    for m in range(rows.size):
                        change = step * (gram[j, m] + ratio)
                        z[m] += -change if table[np.uint64(rows[m]), SIGNED_WEIGHT] < 0 else change
        for j in range(rows.size):
            if push[j] != 0.0:
                row_axpy(X, np.uint64(rows[j]), push[j], w)
                bias += ratio * push[j]
    return bias, gap
