"""Steps of block-coordinate Frank–Wolfe on chains: each block is one chain and the labellings kept.

The dual is D(α) = (1/S) Σ_i s_i Σ_y α_i(y) Δ_i(y) − (λ/2)‖W(α)‖², its derivative along α_i(y) is
(s_i/S)·g_y with g_y = Δ_i(y) + score(y) − score(truth) at W(α).  A pairwise step moves weight from
the kept labelling of the least g to that of the largest, as far as D grows or the weight lasts.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from gapsvm.backends.numba.jit import kernel
from gapsvm.backends.numba.multiclass import row_entry, row_span

_0, _1 = np.uint64(0), np.uint64(1)
_WORTH = 0.1  # a block is left when its own gap is this share of what it was


@register_jitable
def _score_of_step(X, t, w, d, a, b, paired):
    """Of label b at token t after label a, without what b itself scores."""
    labels = np.uint64(w.shape[1])
    total = w[d + a, b]
    if paired:
        begin, end = row_span(X, t)
        for k in range(begin, end):
            column, x = row_entry(X, t, k)
            total += x * w[d + labels + column * labels + a, b]
    return total


@register_jitable
def _margin(X, w, d, paired, first, length, y, right):
    """score(y) − score(right) for two labellings of a chain, and the weights that were read."""
    total, work = 0.0, 0.0
    for t in range(length):
        b, r = np.uint64(y[t]), np.uint64(right[t])
        if b != r:
            begin, end = row_span(X, first + t)
            for k in range(begin, end):
                column, x = row_entry(X, first + t, k)
                total += x * (w[column, b] - w[column, r])
            work += end - begin
        if t > _0:
            a, q = np.uint64(y[t - _1]), np.uint64(right[t - _1])
            if a != q or b != r:
                total += _score_of_step(X, first + t, w, d, a, b, paired)
                total -= _score_of_step(X, first + t, w, d, q, r, paired)
    return total, work


@register_jitable
def _push_step(X, t, w, d, a, b, paired, step):
    """w += step·(features of the step from a to b at token t); returns the growth of ‖w‖²."""
    labels = np.uint64(w.shape[1])
    growth = (2.0 * w[d + a, b] + step) * step
    w[d + a, b] += step
    if paired:
        begin, end = row_span(X, t)
        for k in range(begin, end):
            column, x = row_entry(X, t, k)
            row, by = d + labels + column * labels + a, step * x
            growth += (2.0 * w[row, b] + by) * by
            w[row, b] += by
    return growth


@register_jitable
def _push(X, w, d, paired, first, length, step, to, off):
    """w += step·(φ(to) − φ(off)); returns the growth of ‖w‖²."""
    growth = 0.0
    for t in range(length):
        b, r = np.uint64(to[t]), np.uint64(off[t])
        if b != r:
            begin, end = row_span(X, first + t)
            for k in range(begin, end):
                column, x = row_entry(X, first + t, k)
                by = step * x
                growth += 2.0 * (w[column, b] - w[column, r] + by) * by
                w[column, b] += by
                w[column, r] -= by
        if t > _0:
            a, q = np.uint64(to[t - _1]), np.uint64(off[t - _1])
            if a != q or b != r:
                growth += _push_step(X, first + t, w, d, a, b, paired, step)
                growth += _push_step(X, first + t, w, d, q, r, paired, -step)
    return growth


@register_jitable
def _same(one, other):
    equal = True
    for t in range(np.uint64(one.size)):
        equal &= one[t] == other[t]
    return equal


@register_jitable
def _place_for(labels, share, cost, found):
    """The slot that holds ``found``, else an empty one, else that of the least weight."""
    empty = least = _0
    for s in range(_1, np.uint64(cost.size)):
        if cost[s] < 0.0:
            empty = s if empty == _0 else empty
        elif _same(labels[s], found):
            return s, True
        elif least == _0 or share[s] < share[least]:
            least = s
    return (empty if empty > _0 else least), _same(labels[_0], found)


@register_jitable
def _move(X, w, d, paired, first, share, labels, a, b, pull, apart, unit):
    """The pairwise step from slot b to slot a, by exact line search: returns how far D grows.

    ``pull`` is g_a − g_b, ``apart`` the difference of the costs, ``unit`` s_i/(λS).  All of b's
    weight is moved first, which shows ‖φ_a − φ_b‖; what was too much is moved back.
    """
    length, most = np.uint64(labels.shape[1]), share[b]
    step = most * unit
    growth = _push(X, w, d, paired, first, length, step, labels[b], labels[a])
    slope = apart - pull  # ⟨w, φ_b − φ_a⟩
    square = max(growth - 2.0 * step * slope, 0.0) / (step * step)
    far = most
    if pull < most * unit * square:
        far = pull / (unit * square)
        _push(X, w, d, paired, first, length, (far - most) * unit, labels[b], labels[a])
    share[a] += far
    share[b] = most - far
    return far * (pull - 0.5 * far * unit * square)


@register_jitable
def _extremes(share, cost, gains):
    """The slots of the largest g and, of those with weight, of the least; the mean of g."""
    a = b = _0
    mean, none = 0.0, True
    for s in range(np.uint64(gains.size)):
        if cost[s] >= 0.0:
            a = s if gains[s] > gains[a] else a
            if share[s] > 0.0:
                mean += share[s] * gains[s]
                b = s if none or gains[s] < gains[b] else b
                none = False
    return a, b, mean


@register_jitable
def _rate(X, w, d, paired, first, labels, cost, gains):
    """g of every kept labelling; returns the weights that were read."""
    work, length = 0.0, np.uint64(labels.shape[1])
    for s in range(np.uint64(cost.size)):
        gains[s] = -np.inf
        if cost[s] >= 0.0:
            margin, read = _margin(X, w, d, paired, first, length, labels[s], labels[_0])
            gains[s] = cost[s] + margin
            work += read
    return work


@register_jitable
def _keep(X, w, d, paired, first, labels, share, cost, found, price, unit):
    """Put a labelling among the kept ones, if it is not there; where all slots carry weight, it
    takes over the weight of the least, and the answer is 1."""
    place, known = _place_for(labels, share, cost, found)
    if known:
        return 0
    crowded = cost[place] >= 0.0 and share[place] > 0.0
    if crowded:
        length, step = np.uint64(found.size), share[place] * unit
        _push(X, w, d, paired, first, length, step, labels[place], found)
    wrong = 0
    for t in range(np.uint64(found.size)):
        labels[place, t] = found[t]
        wrong += found[t] != labels[_0, t]
    cost[place] = price * wrong
    return 1 if crowded else 0


@kernel
def chain_block_steps(X, w, d, starts, order, found, kept, weight, scale, most, gains, gaps):
    """Pairwise Frank–Wolfe steps on the blocks in order, one block after the other.

    Given     d: features, the rows of w before the transitions; found: the labellings that the
              oracle gave for these chains, one after the other, or empty: steps among those kept;
              weight: s_i/S; scale: 1/λ and the price of a wrong label; most: steps on one block.
    Modified  w = W(α), kept; gaps[i]: the block's gap when it was visited, if ``found`` has it;
              gains: room for a number a slot.
    Returns   by how much D grew, the weights that were read, and for how many blocks there was no
              slot without weight.
    """
    paired = np.uint64(w.shape[0]) > d + np.uint64(w.shape[1])
    growth, work, crowded, p = 0.0, 0.0, 0, _0
    for k in range(np.uint64(order.size)):
        i = np.uint64(order[k])
        first, last = np.uint64(starts[i]), np.uint64(starts[i + _1])
        labels, share, cost = kept.labels[:, first:last], kept.share[i], kept.cost[i]
        unit = weight[i] * scale[0]
        if unit == 0.0:
            gaps[i] = 0.0
            p += last - first
            continue
        if found.size > 0:
            new = found[p : p + last - first]
            crowded += _keep(X, w, d, paired, first, labels, share, cost, new, scale[1], unit)
            p += last - first
        enough = 0.0
        for step in range(most):
            work += _rate(X, w, d, paired, first, labels, cost, gains)
            a, b, mean = _extremes(share, cost, gains)
            if step == 0:
                enough = _WORTH * (gains[a] - mean)
                if found.size > 0:
                    gaps[i] = weight[i] * max(gains[a] - mean, 0.0)
            pull = gains[a] - gains[b]
            if not (gains[a] - mean > enough and pull > 0.0):
                break
            apart = cost[a] - cost[b]
            gain = _move(X, w, d, paired, first, share, labels, a, b, pull, apart, unit)
            growth += weight[i] * gain
    return growth, work, crowded


@kernel
def chain_push(X, w, d, starts, order, found, truth, steps):
    """w += Σ_k steps_k (φ(truth) − φ(found_k)) over the chains in order.

    Given     d: features, the rows of w before the transitions; found: a labelling of each of these
              chains, one after the other; truth: a label for each token of all.
    Modified  w.
    Returns   the growth of ‖w‖².
    """
    paired = np.uint64(w.shape[0]) > d + np.uint64(w.shape[1])
    growth, p = 0.0, _0
    for k in range(np.uint64(order.size)):
        first, last = np.uint64(starts[order[k]]), np.uint64(starts[order[k] + _1])
        length = last - first
        other = found[p : p + length]
        growth += _push(X, w, d, paired, first, length, steps[k], truth[first:last], other)
        p += length
    return growth


@kernel
def chain_pull(X, w, starts, order, coef, step):
    """w += step·Σ x_t coef_tᵀ over the tokens of the chains in order.

    Given     coef: numbers for the labels of these tokens, one chain after the other.
    Modified  w.
    Returns   the growth of ‖w‖².
    """
    growth, p = 0.0, _0
    for k in range(np.uint64(order.size)):
        for t in range(np.uint64(starts[order[k]]), np.uint64(starts[order[k] + _1])):
            begin, end = row_span(X, t)
            for j in range(begin, end):
                column, x = row_entry(X, t, j)
                for r in range(np.uint64(coef.shape[1])):
                    by = step * x * coef[p, r]
                    growth += (2.0 * w[column, r] + by) * by
                    w[column, r] += by
            p += _1
    return growth
