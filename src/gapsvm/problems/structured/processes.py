"""Oracles that hold Python's lock run in processes of their own, which get the examples once."""

from __future__ import annotations

import signal
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gapsvm.problems.risk import OracleError
from gapsvm.problems.structured.oracle import Examples, Found

_given: Examples | None = None
"""In a process of the pool: its examples."""


class Processes:
    """Processes that wait for calls of an oracle; they end with this object."""

    def __init__(self, examples: Examples, count: int) -> None:
        from joblib.externals.loky import ProcessPoolExecutor

        self.count = count
        self._pool = ProcessPoolExecutor(count, initializer=_begin, initargs=(examples,))
        self.close = weakref.finalize(self, self._pool.shutdown, wait=True, kill_workers=True)

    def worst(self, w: Any, examples: Any) -> list[Found]:
        """As ``Examples.worst`` of some examples."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        parts = np.array_split(examples, min(self.count, len(examples)))
        try:
            with _children_ignore_interrupts():
                calls = [self._pool.submit(_worst_of, w, part) for part in parts if len(part)]
            return [found for call in calls for found in call.result()]
        except BrokenProcessPool as error:
            raise OracleError(
                f"a process that ran the oracle ended, or could not be given it: {error}; "
                "threads (workers='threads') need no copy of it"
            ) from error


@contextmanager
def _children_ignore_interrupts() -> Iterator[None]:
    """Processes that are started inside never see Ctrl-C, not even while they begin."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(examples: Examples) -> None:
    global _given
    _given = examples
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the business of who waits


def _worst_of(w: Any, examples: Any) -> list[Found]:
    assert _given is not None
    return [_given.worst(int(i), w) for i in examples]
