"""The order in which a pass visits its rows: at random, as far as memory bears it."""

from __future__ import annotations

from typing import Any

from gapsvm.backends import Backend

_LONG_ROW = 64
"""Stored values a row from which on rows are visited along streams, ..."""
_STREAMS, _ROUNDS = 128, 4
"""... so many, if there are rows for so many rounds."""


def new_order(
    problem: Any, order: Any, count: int, seed: Any, backend: Backend, streams: int | None = None
) -> None:
    """Order the rows order[:count] anew, along so many streams; 0: at random.

    By default long rows are visited along streams: memory pays for it, and their neighbours in the
    data are less alike than in tables of short ones.  Modified: order, seed.
    """
    if streams is None:
        streams = _STREAMS if problem.rows.n_stored >= _LONG_ROW * problem.n_rows else 0
    if count > _ROUNDS * streams > 0:
        backend.interleave(order, count, problem.n_rows, streams, seed)
    else:
        backend.shuffle(order, count, seed)
