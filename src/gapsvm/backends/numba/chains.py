"""Chains of labels: the best labelling (Viterbi), marginals (forward–backward), emission scores.

A chain is a run of tokens, rows starts[i] … starts[i+1] of X; a labelling y gives each a label and
scores Σ_t ⟨x_t, w_{y_t}⟩ + Σ_t edge_t[y_{t−1}, y_t].  Kernels treat the chains listed in ``order``
and write what they find for them one after the other, wherever these chains lie.

``edges`` is labels × labels, one table for all steps (1 × K × K) or one a token (its table rates
the step that leads to it); −∞ bars a step.  Room for tables is given: (longest chain + 2) × K.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba.extending import register_jitable

from gapsvm.backends.numba.intrinsics import prefetch
from gapsvm.backends.numba.jit import kernel
from gapsvm.backends.numba.multiclass import row_entry, row_span
from gapsvm.backends.numba.rows import simd_dot

_0, _1 = np.uint64(0), np.uint64(1)
_WIDE = 300.0  # factors of one step may differ by e to this, ...
_FAINT = 1e-170  # ... and what is not fainter than this cannot vanish in that one step
_LINE = np.uint64(8)  # float64 values in a cache line


@register_jitable
def _ask_for_weights(X, t, w):
    """Ask for the rows of w that the features of token t will read."""
    begin, end = row_span(X, t)
    for k in range(begin, end):
        column, _ = row_entry(X, t, k)
        for r in range(_0, np.uint64(w.shape[1]), _LINE):
            prefetch(w[column], r)


@kernel
def chain_scores(X, w, starts, order, ahead, out):
    """out_tr = ⟨x_t, w_r⟩ for the tokens of the chains in order, one after the other.

    Given     ahead: whether to ask for the weights of the next token, which pays on sparse rows.
    Modified  out.
    """
    p = _0
    for k in range(np.uint64(order.size)):
        first, last = np.uint64(starts[order[k]]), np.uint64(starts[order[k] + _1])
        for t in range(first, last):
            if ahead and t + _1 < last:
                _ask_for_weights(X, t + _1, w)
            scores = out[p]
            for r in range(np.uint64(scores.size)):
                scores[r] = 0.0
            begin, end = row_span(X, t)
            for j in range(begin, end):
                column, x = row_entry(X, t, j)
                for r in range(np.uint64(scores.size)):
                    scores[r] += x * w[column, r]
            p += _1


@register_jitable
def _labelling_score(scores, edges, each, labels, p, begin, length):
    """Of labels[begin …] for the chain whose scores start at row p."""
    total = scores[p, labels[begin]]
    for t in range(_1, length):
        a, b = np.uint64(labels[begin + t - _1]), np.uint64(labels[begin + t])
        total += scores[p + t, b] + edges[(p + t) * each, a, b]
    return total


@register_jitable
def _best_way_on(before, edge, scores, ways):
    """scores_b += max_a before_a + edge[a, b], which is −∞ where nothing leads."""
    for b in range(np.uint64(scores.size)):
        ways[b] = before[_0] + edge[_0, b]
    for a in range(_1, np.uint64(before.size)):
        so_far = before[a]
        for b in range(np.uint64(scores.size)):
            score = so_far + edge[a, b]
            ways[b] = score if score > ways[b] else ways[b]
    for b in range(np.uint64(scores.size)):
        scores[b] += ways[b]


@register_jitable
def _trace_back(scores, edges, each, p, length, labels, at):
    """The labels of the best way; rows of scores hold the best score of all ways to each label."""
    label = _0
    for b in range(_1, np.uint64(scores.shape[1])):
        label = b if scores[p + length - _1, b] > scores[p + length - _1, label] else label
    best = scores[p + length - _1, label]
    labels[at + length - _1] = label
    for back in range(_1, length):
        t = length - back
        before, edge, origin = scores[p + t - _1], edges[(p + t) * each], _0
        for a in range(_1, np.uint64(scores.shape[1])):
            origin = (
                a if before[a] + edge[a, label] > before[origin] + edge[origin, label] else origin
            )
        label = origin
        labels[at + t - _1] = label
    return best


@kernel
def chain_best(scores, edges, starts, order, truth, cost, ways, labels, values):
    """The labelling with the highest score + cost·(labels that are not those of truth) (Viterbi).

    Given     scores as chain_scores wrote them; truth: a label a token, or empty, and cost is 0;
              ways: room for a number a label.
    Modified  labels: the best ones; values_k: their value, less the score of the truth if there is
              one, which is max_y Δ(y) + score(y) − score(truth) ≥ 0, or −∞ where every way is
              barred; scores: the best score of all ways to each label.
    """
    each, p = np.uint64(edges.shape[0] > 1), _0
    for k in range(np.uint64(order.size)):
        first = np.uint64(starts[order[k]])
        length = np.uint64(starts[order[k] + _1]) - first
        of_truth = 0.0
        if truth.size > 0:
            of_truth = _labelling_score(scores, edges, each, truth, p, first, length)
            for t in range(length):
                right = scores[p + t, truth[first + t]]
                for r in range(np.uint64(scores.shape[1])):
                    scores[p + t, r] += cost
                scores[p + t, truth[first + t]] = right
        for t in range(_1, length):
            _best_way_on(scores[p + t - _1], edges[(p + t) * each], scores[p + t], ways)
        values[k] = _trace_back(scores, edges, each, p, length, labels, p) - of_truth
        p += length


@register_jitable
def _best_way_here(after, edge, later):
    """later_a ← max_b edge[a, b] + after_b, with after_b = later_b + what b scores itself."""
    for a in range(np.uint64(later.size)):
        top = edge[a, _0] + after[_0]
        for b in range(_1, np.uint64(after.size)):
            score = edge[a, b] + after[b]
            top = score if score > top else top
        later[a] = top


@kernel
def chain_max_marginals(scores, edges, starts, order, ways, later, out):
    """The score of the best labelling that has label r at token t, for every t and r.

    Given     scores as chain_scores wrote them; ways, later: room for a number a label.
    Modified  out.
    """
    each, p, labels = np.uint64(edges.shape[0] > 1), _0, np.uint64(scores.shape[1])
    for k in range(np.uint64(order.size)):
        length = np.uint64(starts[order[k] + _1]) - np.uint64(starts[order[k]])
        for t in range(length):
            for r in range(labels):
                out[p + t, r] = scores[p + t, r]
            if t > _0:
                _best_way_on(out[p + t - _1], edges[(p + t) * each], out[p + t], ways)
        for r in range(labels):
            later[r] = 0.0
        for back in range(_1, length):
            t = length - back
            for r in range(labels):
                ways[r] = later[r] + scores[p + t, r]
            _best_way_here(ways, edges[(p + t) * each], later)
            for r in range(labels):
                out[p + t - _1, r] += later[r]
        p += length


@register_jitable
def _to_powers(scores):
    """scores become e^(scores − top); returns the top, and whether they are too far apart."""
    top = low = scores[_0]
    for r in range(_1, np.uint64(scores.size)):
        top = scores[r] if scores[r] > top else top
        low = scores[r] if scores[r] < low else low
    for r in range(np.uint64(scores.size)):
        scores[r] = exp(scores[r] - top)
    return top, top - low > _WIDE


@register_jitable
def _normalised(powers, before, edge, out):
    """out_b = powers_b·Σ_a before_a·edge[a, b], divided by their sum, which is returned with
    whether one of them is so faint that it could vanish."""
    labels = np.uint64(out.size)
    for b in range(labels):
        out[b] = 0.0
    for a in range(labels):
        for b in range(labels):
            out[b] += before[a] * edge[a, b]
    total = 0.0
    for b in range(labels):
        out[b] *= powers[b]
        total += out[b]
    faint = not total > _FAINT
    for b in range(labels):
        out[b] /= total
        faint |= 0.0 < out[b] < _FAINT
    return total, faint


@register_jitable
def _forward(scores, powers, shifts, each, p, length, room):
    """Scaled forward pass.  scores become powers and room[t] the distribution of label t given the
    tokens so far.  Returns log Z, and whether all of it can be trusted."""
    top, wide = _to_powers(scores[p])
    total = 0.0
    for r in range(np.uint64(scores.shape[1])):
        total += scores[p, r]
    for r in range(np.uint64(scores.shape[1])):
        room[_0, r] = scores[p, r] / total
    log_z = top + log(total)
    for t in range(_1, length):
        top, apart = _to_powers(scores[p + t])
        e = (p + t) * each
        total, faint = _normalised(scores[p + t], room[t - _1], powers[e], room[t])
        log_z += top + log(total) + shifts[e]
        wide |= apart | faint
    return log_z, not wide


@register_jitable
def _backward(scores, powers, each, p, length, room, weight, pairs):
    """Scaled backward pass after ``_forward``: scores become weight·(marginals of labels) and
    pairs[a, b] += weight·(marginals of neighbours).  The last two rows of room are used."""
    labels, spare = np.uint64(scores.shape[1]), np.uint64(room.shape[0])
    later, pull = room[spare - _1], room[spare - np.uint64(2)]
    for r in range(labels):
        later[r] = 1.0
    for back in range(length):
        t = length - _1 - back
        total = 0.0
        for r in range(labels):
            pull[r] = scores[p + t, r] * later[r]
            later[r] *= room[t, r]
            total += later[r]
        for r in range(labels):
            scores[p + t, r] = weight * later[r] / total
        if t == _0:
            return
        edge, before, total = powers[(p + t) * each], room[t - _1], 0.0
        for a in range(labels):
            later[a] = simd_dot(edge[a], pull)
            total += before[a] * later[a]
        table = pairs[(p + t) * np.uint64(pairs.shape[0] > 1)]
        for a in range(labels):
            later[a] /= total
            share = weight * before[a] / total
            for b in range(labels):
                table[a, b] += share * edge[a, b] * pull[b]


@register_jitable
def _log_sum(terms):
    """log Σ e^terms; −∞ for none but −∞."""
    top = terms[_0]
    for r in range(_1, np.uint64(terms.size)):
        top = terms[r] if terms[r] > top else top
    if top == -np.inf:
        return top
    total = 0.0
    for r in range(np.uint64(terms.size)):
        total += exp(terms[r] - top)
    return top + log(total)


@register_jitable
def _log_forward(scores, edges, each, p, length, room):
    """The forward pass in logarithms, K² of them a token: what is too wide for the scaled one.

    room[t, b] = log of the sum over all ways to b.  Returns log Z.
    """
    labels = np.uint64(scores.shape[1])
    ways = room[np.uint64(room.shape[0]) - _1]
    for b in range(labels):
        room[_0, b] = scores[p, b]
    for t in range(_1, length):
        for b in range(labels):
            for a in range(labels):
                ways[a] = room[t - _1, a] + edges[(p + t) * each, a, b]
            room[t, b] = scores[p + t, b] + _log_sum(ways)
    return _log_sum(room[length - _1])


@register_jitable
def _log_backward(scores, edges, each, p, length, room, log_z, weight, pairs):
    """As ``_backward``, after ``_log_forward``."""
    labels, spare = np.uint64(scores.shape[1]), np.uint64(room.shape[0])
    later, pull = room[spare - _1], room[spare - np.uint64(2)]
    for r in range(labels):
        later[r] = 0.0
    for back in range(length):
        t = length - _1 - back
        for r in range(labels):
            pull[r] = scores[p + t, r] + later[r]
            scores[p + t, r] = weight * exp(room[t, r] + later[r] - log_z)
        if t == _0:
            return
        edge, table = edges[(p + t) * each], pairs[(p + t) * np.uint64(pairs.shape[0] > 1)]
        for a in range(labels):
            for b in range(labels):
                later[b] = pull[b] + edge[a, b]
                table[a, b] += weight * exp(room[t - _1, a] + later[b] - log_z)
            room[t, a] = _log_sum(later)  # row t is not read again
        for a in range(labels):
            later[a] = room[t, a]


@register_jitable
def _take_off(truth, begin, p, length, weight, scores, pairs):
    """Subtract the indicators of the truth from marginals."""
    each = np.uint64(pairs.shape[0] > 1)
    for t in range(length):
        b = np.uint64(truth[begin + t])
        scores[p + t, b] -= weight
        if t > _0:
            pairs[(p + t) * each, np.uint64(truth[begin + t - _1]), b] -= weight


@kernel
def chain_marginals(
    scores, edges, powers, shifts, starts, order, truth, weight, room, kept, pairs, log_z,
):  # fmt: skip
    """Marginals of labels and of neighbours, and log Z (scaled forward–backward).

    Given     scores as chain_scores wrote them; powers = e^(edges − shifts), shifts the largest
              entries of the tables; truth: a label a token, or empty; weight: a number a chain.
              A chain whose factors differ by more than e^300 goes through logarithms instead.
              kept: room for the scores of the longest chain.
    Modified  scores: weight·(marginals), less the indicator of the truth if there is one; pairs
              (as many tables as edges, or one): the same of neighbours is added; log_z_k: log Z of
              the chain, less the score of the truth, which is the log-loss.
    """
    each, p = np.uint64(edges.shape[0] > 1), _0
    for k in range(np.uint64(order.size)):
        first = np.uint64(starts[order[k]])
        length = np.uint64(starts[order[k] + _1]) - first
        of_truth = 0.0
        if truth.size > 0:
            of_truth = _labelling_score(scores, edges, each, truth, p, first, length)
        for t in range(length):
            for r in range(np.uint64(scores.shape[1])):
                kept[t, r] = scores[p + t, r]
        found, sound = _forward(scores, powers, shifts, each, p, length, room)
        share = weight[order[k]]
        if sound:
            _backward(scores, powers, each, p, length, room, share, pairs)
        else:
            for t in range(length):
                for r in range(np.uint64(scores.shape[1])):
                    scores[p + t, r] = kept[t, r]
            found = _log_forward(scores, edges, each, p, length, room)
            _log_backward(scores, edges, each, p, length, room, found, share, pairs)
        log_z[k] = found - of_truth
        if truth.size > 0:
            _take_off(truth, first, p, length, share, scores, pairs)
        p += length
