"""The order in which a pass visits its rows: at random, as far as memory and disk bear it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.linear import LinearProblem
from gapsvm.rows.matrix import Rows

_LONG_ROW = 64
"""Stored values a row from which on rows are visited along streams, ..."""
_STREAMS, _ROUNDS = 128, 32
"""... so many, if there are rows for so many rounds: fewer lie in the cache soon."""
FEW = _STREAMS * _ROUNDS
"""Up to so many rows are visited at random, however long, unless streams are asked for."""
_CHUNK_VALUES = 4_000_000
"""Stored values of the chunks in which mapped rows are read: some 32 MB; ..."""
_CHUNKS_AHEAD = 2
"""... so many are asked for at a time."""


def new_order(
    problem: LinearProblem,
    order: Any,
    count: int,
    seed: Any,
    backend: Backend,
    streams: int | None = None,
) -> None:
    """Order the rows order[:count] anew, along so many streams; 0: at random.

    By default long rows are visited along streams: memory pays for it, and their neighbours in the
    data are less alike than in tables of short ones.  Rows of a mapped file, which may not fit
    into memory, are visited chunk by chunk: the chunks at random, and the rows of each.
    Modified: order, seed.
    """
    if streams is None and read_in_chunks(problem):
        _by_chunks(problem, order, count, seed, backend)
        return
    if streams is None:
        streams = _STREAMS if problem.rows.n_stored >= _LONG_ROW * problem.n_rows else 0
    if count > _ROUNDS * streams > 0:
        visited = np.zeros(problem.n_rows, dtype=bool)
        visited[order[:count]] = True
        backend.interleave(np.flatnonzero(visited).astype(order.dtype), streams, seed, order)
    else:
        backend.shuffle(order, count, seed)


def one_pass(rows: Rows, seed: int, backend: Backend) -> Any:
    """All rows once, at random.

    A mapped file is read along streams: forwards, and yet the neighbours in this order are rows
    from all over it, since a file may be sorted by label.
    """
    n = rows.shape[0]
    order, state = np.arange(n, dtype=np.uint32), np.array([seed], dtype=np.uint64)
    if rows.is_mapped and n > FEW:
        backend.interleave(order.copy(), _STREAMS, state, order)
    else:
        backend.shuffle(order, n, state)
    return order


def expect_rows(problem: LinearProblem, rows: Any) -> int:
    """Have the first chunks that ``rows`` visits read from a mapped file; the rows they hold.

    Few chunks, however few rows of each are visited: what is read ahead must fit into memory.
    """
    if not read_in_chunks(problem):
        return len(rows)
    size = problem.rows_for(_CHUNK_VALUES)
    chunks = rows // size
    starts = np.flatnonzero(np.diff(chunks, prepend=-1))
    for start in starts[:_CHUNKS_AHEAD]:
        first = int(chunks[start]) * size
        problem.rows.expect(first, min(first + size, problem.n_rows))
    return int(starts[_CHUNKS_AHEAD]) if starts.size > _CHUNKS_AHEAD else len(rows)


def read_in_chunks(problem: LinearProblem) -> bool:
    """Whether the rows lie in a file and are too many to be visited in any order."""
    return problem.rows.is_mapped and problem.n_rows > problem.rows_for(_CHUNK_VALUES)


def _by_chunks(problem: LinearProblem, order: Any, count: int, seed: Any, backend: Backend) -> None:
    rows, size = np.sort(order[:count]), problem.rows_for(_CHUNK_VALUES)
    ends = np.searchsorted(rows, np.arange(0, problem.n_rows + size, size))
    chunks = np.arange(ends.size - 1, dtype=np.uint32)
    backend.shuffle(chunks, chunks.size, seed)
    filled = 0
    for chunk in chunks:
        part = rows[ends[chunk] : ends[chunk + 1]]
        backend.shuffle(part, part.size, seed)
        order[filled : filled + part.size] = part
        filled += part.size
