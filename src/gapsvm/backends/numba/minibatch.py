"""Mini-batch dual ascent: the kernels (Takáč §4)."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from gapsvm.backends.numba.intrinsics import prefetch
from gapsvm.backends.numba.jit import allocating_kernel, kernel
from gapsvm.backends.numba.losses import batch_step, fenchel_gap, row_step, value_and_conjugate
from gapsvm.backends.numba.rows import (
    block_gram,
    prefetch_row,
    row_axpy,
    row_axpy_growth,
    row_dot,
    simd_dot,
)

_ONE, _TWO, _THREE, _FOUR = (np.uint64(k) for k in (1, 2, 3, 4))
_FAR, _MID, _NEAR = 12, 6, 4  # rows ahead at which they are asked for, as in ``dual``
_NOTHING = 1e-14  # share of a step that is rounding


@register_jitable(forceinline=True)
def _margin(X, table, flat, at, w, bias):
    """⟨x_i, w⟩ + bias of the row i that is due; those after it are asked for."""
    if at + _FAR < flat.size:
        far = flat[at + _FAR]
        prefetch(table, _FOUR * far)
        prefetch_row(X, far, flat[at + _MID], flat[at + _NEAR])
    return row_dot(X, np.uint64(flat[at]), w) + bias


@register_jitable(forceinline=True)
def _wish(loss, table, i, m, beta):
    """z_i, α_i and the a⁺ that is exact for the curvature β·q_i: eq. (14) and (15).

    And with them c_i δ, |c_i| q_i δ², and |c_i| times the Fenchel gap of the row.
    """
    k = _FOUR * i
    a, q, c, t = table[k], table[k + _ONE], table[k + _TWO], table[k + _THREE]
    z = -m if c < 0 else m
    a_new = batch_step(loss, a, z, t, beta * q)
    push = c * (a_new - a)
    return z, a, a_new, push, abs(push) * q * abs(a_new - a), abs(c) * fenchel_gap(loss, z, a, t)


@register_jitable
def _look(X, loss, table, flat, at, size, w, bias, beta, z, old, new, movers):
    """The margins of the batch flat[at : at + size], then the steps it wants.

    Margins come first: no row waits for the step of the one before, nor for how a guess ends.
    Returns Σ |c_i|·(Fenchel gap of row i), Σ c_i δ_i, ζ of Algorithm 2, ⟨w, Δ⟩ and how many rows
    move; their places in the batch are in ``movers``.
    """
    gap = mass = zeta = inner = 0.0
    count = 0
    for j in range(size):
        z[j] = _margin(X, table, flat, at + j, w, bias)
    for j in range(size):
        m = z[j]
        z[j], old[j], new[j], push, curved, row_gap = _wish(
            loss, table, np.uint64(flat[at + j]), m, beta
        )
        gap += row_gap
        mass += push
        zeta += curved
        inner += push * (m - bias)
        movers[count] = j
        count += new[j] != old[j]
    return gap, mass, zeta, inner, count


@register_jitable
def _look_and_sum(X, loss, table, flat, at, size, w, bias, beta, z, old, new, movers, u):
    """``_look`` that takes the steps, with u in the place of w, while their rows are at hand."""
    gap = mass = zeta = inner = 0.0
    count = 0
    for j in range(size):
        i = np.uint64(flat[at + j])
        m = _margin(X, table, flat, at + j, w, bias)
        z[j], a, a_new, push, curved, row_gap = _wish(loss, table, i, m, beta)
        old[j], new[j] = a, a_new
        gap += row_gap
        mass += push
        zeta += curved
        inner += push * (m - bias)
        movers[count] = j
        if a_new != a:
            count += 1
            table[_FOUR * i] = a_new
            row_axpy(X, i, push, u)
    return gap, mass, zeta, inner, count


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
        growth += row_axpy_growth(X, i, table[_FOUR * i + _TWO] * (new[j] - old[j]), w)
    return growth


@register_jitable
def _second_steps(loss, table, rows, which, z, old, new, second, rho, shrink, bias):
    """The steps with ρ.

    Returns of how many rows they are the tentative ones, or those shrunk, Σ c_i δ_i, ⟨w, Δ⟩, and by
    how much (D(α + δ) − D(α))/λ is above −½‖Δ‖².
    """
    same = shrunk = 0
    mass = inner = rise = 0.0
    for j in which:
        k = _FOUR * np.uint64(rows[j])
        q, c, t = table[k + _ONE], table[k + _TWO], table[k + _THREE]
        a = old[j]
        a_new = second[j] = batch_step(loss, a, z[j], t, rho * q)
        step = a_new - a
        same += a_new == new[j]
        shrunk += abs(step - shrink * (new[j] - a)) <= _NOTHING * abs(step)
        _, before = value_and_conjugate(loss, z[j], a, t)
        _, after = value_and_conjugate(loss, z[j], a_new, t)
        mass += c * step
        inner += abs(c) * step * z[j] - bias * c * step
        rise += abs(c) * (before - after - z[j] * step)
    return same, shrunk, mass, inner, rise


@register_jitable
def _adapt(
    X, loss, table, rows, which, z, old, new, second, moving, fused, bias, ratio, looked,
    beta, limit, gamma,
):  # fmt: skip
    """Algorithm 2 between its two steps: ρ from the tentative δ̃, then δ with ρ.

    ``moving`` is u, which holds Δ̃ and ends as Δ, or w itself, which gains Δ.  Only what δ differs
    from δ̃ by, or from δ̃·β/ρ, is added: away from the bounds the steps of a γ = 0 loss are that.
    Returns β for the next batch, Σ c_i δ_i and whether D would not rise.
    """
    mass, zeta, inner = looked
    growth = simd_dot(moving, moving) if fused else _shift(X, table, rows, which, old, new, moving)
    if zeta == 0.0:  # nothing moves but rows without curvature, to their bounds
        return beta, mass, False
    square = growth if fused else growth - 2.0 * inner
    rho = min(max((square + ratio * mass * mass) / zeta, 1.0), limit)
    shrink = beta / rho
    same, shrunk, mass, inner, rise = _second_steps(
        loss, table, rows, which, z, old, new, second, rho, shrink, bias
    )
    if fused and shrunk > same:
        for j in range(moving.size):
            moving[j] *= shrink
    else:
        shrink = 1.0
    if same < which.size:
        for j in which:
            i = np.uint64(rows[j])
            missing = second[j] - old[j] - shrink * (new[j] - old[j])
            if abs(missing) > _NOTHING * abs(second[j] - old[j]):
                missing *= table[_FOUR * i + _TWO]
                if fused:
                    row_axpy(X, i, missing, moving)
                else:
                    growth += row_axpy_growth(X, i, missing, moving)
            new[j] = second[j]
        if fused:
            growth = simd_dot(moving, moving)
    square = growth if fused else growth - 2.0 * inner
    refused = rise - 0.5 * (square + ratio * mass * mass) <= 0.0
    return beta**gamma * rho ** (1.0 - gamma), mass, refused


@register_jitable
def _move(X, loss, table, rows, which, old, new, w, bias, ratio, ascent_only):
    """w goes from where the rows are old to where they are new.

    A row that another batch has moved since is left out.  ``ascent_only``: the step is taken back
    unless it raises D (Algorithm 2's refusal).  Returns Σ c_i δ_i and whether it was refused.
    """
    mass = rise = 0.0
    moved = False
    for j in which:
        i = np.uint64(rows[j])
        k = _FOUR * i
        if table[k] != old[j]:
            new[j] = old[j] = table[k]
        if new[j] != old[j]:
            c, t = table[k + _TWO], table[k + _THREE]
            push = c * (new[j] - old[j])
            mass += push
            moved = True
            table[k] = new[j]
            if ascent_only:
                _, before = value_and_conjugate(loss, 0.0, old[j], t)
                _, after = value_and_conjugate(loss, 0.0, new[j], t)
                rise += abs(c) * (before - after) - 0.5 * row_axpy_growth(X, i, push, w)
            else:
                row_axpy(X, i, push, w)
    refused = ascent_only and moved and rise - bias * mass - 0.5 * ratio * mass * mass <= 0.0
    if refused:
        _shift(X, table, rows, which, new, old, w)
        _copy(old, new)
    return 0.0 if refused else mass, refused


@register_jitable
def _settle(table, rows, which, old, new, mean, seen, step, keep):
    """α becomes new; its average is brought up to the last step, until which it was old."""
    for j in which:
        i = np.uint64(rows[j])
        table[_FOUR * i] = new[j]
        if mean.size > 0 and new[j] != old[j]:
            count = step - seen[i]
            if keep < 1.0:
                mean[i] = old[j] + keep**count * (mean[i] - old[j])
            else:
                mean[i] += count * old[j]
            seen[i] = step


@kernel
def _minibatch_steps(
    X, loss, table, batches, w, u, whole, bias, ratio, beta, limit, gamma, queue, step, keep,
    mean, seen, z, second, movers, everyone,
):  # fmt: skip
    """Mini-batch SDCA on the rows of ``batches``, a batch a step (Takáč §4, Algorithm 2).

    Given     table, w, bias, ratio as in ``sdca_steps``, but q_i = |c_i|v_i with any v_i: ‖x_i‖²
              for eq. (14), 1 for eq. (15); the curvature of a step is β·q_i.
              gamma < 1: β adapts, ρ = clip(‖Δ̃‖²/ζ, 1, limit), steps are proposed anew with ρ,
              and refused unless D rises.  u: zeros, of w's shape; whole: a batch has more values
              than w, which is then gone through at once.
              queue = (rows, old, new), each (staleness + 1) × b: a batch is applied so many steps
              after it was looked at.  step: steps so far.
              mean, seen: averages of α, brought up to date when α moves; keep < 1: decaying,
              1: the sum since seen; arrays of length 0: no average.
              z, second, movers: room for a number a row of a batch; everyone = 0, 1, …, b − 1.
    Modified  table, w, u, queue, mean, seen, z, second, movers.
    Returns   bias, β, refusals, Σ |c_i|·(Fenchel gap of row i when looked at).
    """
    rows_of, old_of, new_of = queue
    size, slots, adaptive = batches.shape[1], rows_of.shape[0], gamma < 1.0
    summed = whole and slots == 1
    flat = batches.reshape(batches.size)
    refusals, gap = 0, 0.0
    for k in range(batches.shape[0]):
        slot = step % slots
        rows, old, new = rows_of[slot], old_of[slot], new_of[slot]
        _copy(batches[k], rows)
        if summed:
            row_gaps, mass, zeta, inner, count = _look_and_sum(
                X, loss, table, flat, k * size, size, w, bias, beta, z, old, new, movers, u
            )
        else:
            row_gaps, mass, zeta, inner, count = _look(
                X, loss, table, flat, k * size, size, w, bias, beta, z, old, new, movers
            )
        gap += row_gaps
        step += 1
        which, refused = movers[:count], False
        if adaptive:
            beta, mass, refused = _adapt(
                X, loss, table, rows, which, z, old, new, second, u if summed else w, summed, bias,
                ratio, (mass, zeta, inner), beta, limit, gamma,
            )  # fmt: skip
            refused = refused and slots == 1  # else it is seen when the step is taken
        if summed:
            if not refused:
                for j in range(u.size):
                    w[j] += u[j]
            for j in range(u.size):
                u[j] = 0.0
        elif adaptive and (refused or slots > 1):
            _shift(X, table, rows, which, new, old, w)
        if refused:
            _copy(old, new)
            mass = 0.0
        if slots > 1:
            if step < slots:
                continue
            slot, which = step % slots, everyone
            rows, old, new = rows_of[slot], old_of[slot], new_of[slot]
        if slots > 1 or not (summed or adaptive):
            mass, late = _move(X, loss, table, rows, which, old, new, w, bias, ratio, adaptive)
            refused = refused or late
        refusals += refused
        if adaptive or mean.size > 0:
            _settle(table, rows, which, old, new, mean, seen, step - 1, keep)
        bias += ratio * mass
    return bias, beta, refusals, gap


def minibatch_steps(*arguments):
    """``_minibatch_steps`` with room for what the rows of a batch say."""
    size = arguments[3].shape[1]
    z, second, movers = np.empty(size), np.empty(size), np.empty(size, dtype=np.uint32)
    everyone = np.arange(size, dtype=np.uint32)
    return _minibatch_steps(*arguments, z, second, movers, everyone)


@allocating_kernel
def block_steps(X, loss, table, order, start, stop, size, w, u, bias, ratio, sweeps):
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
        row_gaps, _, _, _, _ = _look(
            X, loss, table, order[:stop], first, rows.size, w, bias, 1.0, z, old, new, movers
        )
        gap += row_gaps
        block_gram(X, rows, u, gram)
        push[:] = 0.0
        for _ in range(sweeps):
            for j in range(rows.size):
                k = _FOUR * np.uint64(rows[j])
                a, q, c, t = table[k], table[k + _ONE], table[k + _TWO], table[k + _THREE]
                _, a_new = row_step(loss, a, z[j], t, q)
                if a_new != a:
                    table[k] = a_new
                    step = c * (a_new - a)
                    push[j] += step
                    for m in range(rows.size):
                        change = step * (gram[j, m] + ratio)
                        z[m] += -change if table[_FOUR * np.uint64(rows[m]) + _TWO] < 0 else change
        for j in range(rows.size):
            if push[j] != 0.0:
                row_axpy(X, np.uint64(rows[j]), push[j], w)
                bias += ratio * push[j]
    return bias, gap
