"""Whether a kernel is being compiled just now, and a word to whoever waits for it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gapsvm.backends.kept_in import kept_in

_PATIENCE, _EVERY = 1.0, 0.2
"""Seconds of compiling before a word is said, and between two looks."""
_since: list[float] = []


@contextmanager
def compiling() -> Iterator[None]:
    """Around the compilation of a kernel, which may need that of others."""
    _since.append(time.perf_counter())
    try:
        yield
    finally:
        _since.pop()


class CompilerNotice:
    """Says, once a fit has waited for the compiler for a second, what it waits for."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Look now and then whether there is something to say."""
        self._thread = threading.Thread(target=self._look, daemon=True, name="gapsvm notice")
        self._thread.start()

    def end(self) -> None:
        """The fit is over."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _look(self) -> None:
        waited = 0.0
        while not self._over.wait(_EVERY):
            waited += _EVERY if _since else 0.0
            if waited >= _PATIENCE:
                print(_sentence(), file=sys.stderr, flush=True)
                return


def _sentence() -> str:
    folder = kept_in()
    kept = "" if folder is None else f", once for this machine, into {folder}"
    return f"gapsvm: compiling what this fit runs{kept} (gapsvm warm-up does it beforehand)"
