"""Chains of labels: the best labelling, marginals, emission scores, every sum in logarithms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gapsvm.backends.reference.rows import Matrix, entries


def spans(starts: Any, order: Any) -> Iterator[tuple[int, slice, slice]]:
    """Each chain in order: its number, where its results lie, and its tokens."""
    p = 0
    for i in map(int, order):
        first, last = int(starts[i]), int(starts[i + 1])
        yield i, slice(p, p + last - first), slice(first, last)
        p += last - first


def chain_scores(X: Matrix, w: Any, starts: Any, order: Any, ahead: bool, out: Any) -> None:
    for _, results, tokens in spans(starts, order):
        for p, t in zip(range(results.start, results.stop), range(tokens.start, tokens.stop)):
            columns, x = entries(X, t)
            out[p] = x @ w[columns]


def _tables(edges: Any, results: slice) -> Any:
    """The table of the step to each token of a chain; that to its first one is not read."""
    return (
        edges[results] if len(edges) > 1 else np.repeat(edges, results.stop - results.start, axis=0)
    )


def _score(scores: Any, edge: Any, y: Any) -> float:
    t = np.arange(len(y))
    return float(scores[t, y].sum() + edge[t[1:], y[:-1], y[1:]].sum())


def _forward(scores: Any, edge: Any, together: np.ufunc) -> Any:
    """All ways to each label, taken together by max or log Σ exp."""
    ways = [scores[0]]
    for t in range(1, len(scores)):
        ways.append(scores[t] + together.reduce(ways[-1][:, None] + edge[t], axis=0))
    return np.array(ways)


def _backward(scores: Any, edge: Any, together: np.ufunc) -> Any:
    """All ways on from each label."""
    ways = [np.zeros(scores.shape[1])]
    for t in range(len(scores) - 1, 0, -1):
        ways.append(together.reduce(edge[t] + scores[t] + ways[-1], axis=1))
    return np.array(ways[::-1])


def chain_best(
    scores: Any,
    edges: Any,
    starts: Any,
    order: Any,
    truth: Any,
    cost: float,
    ways: Any,
    labels: Any,
    values: Any,
) -> None:
    for k, (_, results, tokens) in enumerate(spans(starts, order)):
        s, edge, of_truth = scores[results], _tables(edges, results), 0.0
        if truth.size:
            of_truth = _score(s, edge, truth[tokens])
            s += cost * (np.arange(s.shape[1]) != truth[tokens][:, None])
        s[:] = _forward(s, edge, np.maximum)
        y = labels[results]
        y[-1] = s[-1].argmax()
        for t in range(len(s) - 1, 0, -1):
            y[t - 1] = (s[t - 1] + edge[t][:, y[t]]).argmax()
        values[k] = s[-1].max() - of_truth


def chain_max_marginals(
    scores: Any, edges: Any, starts: Any, order: Any, ways: Any, later: Any, out: Any
) -> None:
    for _, results, _ in spans(starts, order):
        s, edge = scores[results], _tables(edges, results)
        out[results] = _forward(s, edge, np.maximum) + _backward(s, edge, np.maximum)


def chain_marginals(
    scores: Any,
    edges: Any,
    powers: Any,
    shifts: Any,
    starts: Any,
    order: Any,
    truth: Any,
    weight: Any,
    room: Any,
    kept: Any,
    pairs: Any,
    log_z: Any,
) -> None:
    for k, (i, results, tokens) in enumerate(spans(starts, order)):
        s, edge = scores[results].copy(), _tables(edges, results)
        before, after = _forward(s, edge, np.logaddexp), _backward(s, edge, np.logaddexp)
        log_z[k] = np.logaddexp.reduce(before[-1])
        both = before[:-1, :, None] + edge[1:] + (s + after)[1:, None, :]
        likely = np.exp(before + after - log_z[k])
        steps = np.exp(both - log_z[k])
        if truth.size:
            y, t = truth[tokens], np.arange(len(s))
            likely[t, y] -= 1.0
            steps[t[:-1], y[:-1], y[1:]] -= 1.0
            log_z[k] -= _score(s, edge, y)
        scores[results] = weight[i] * likely
        if len(pairs) > 1:
            pairs[results][1:] += weight[i] * steps
        else:
            pairs[0] += weight[i] * steps.sum(axis=0)
