"""Whether a stream comes sorted by label: one that does is learnt badly, since it is seen once."""

from __future__ import annotations

import numpy as np

_LONG, _LONG_AT_FIRST = 100, 1000
"""Rows of one label in a row that may be too many; the first label may just be a frequent one."""
_UNLIKELY = 20.0
"""A run of r rows of a label that has the share p of the others is one of pʳ < exp(−r(1 − p))."""


def describe_run(label: object, rows: int) -> str:
    return (
        f"{rows:,} rows in a row are of class {label}, more than a random order would bring: rows "
        "sorted by label are learnt badly in one pass; shuffle them"
    )


class LabelRuns:
    """Watches for a run of one label that no random order would bring.

    Where the stream is cut does not matter.
    """

    def __init__(self, n_classes: int) -> None:
        self._counts = np.zeros(n_classes, dtype=np.int64)
        """Of the rows before the run that is under way."""
        self._label, self._length = -1, 0
        self._reported = False

    def see(self, numbers: np.ndarray) -> tuple[int, int] | None:
        """(label number, rows) of the first such run so far, once; None for all is well."""
        if self._reported or numbers.size == 0:
            return None
        starts = np.append(0, np.flatnonzero(numbers[1:] != numbers[:-1]) + 1)
        lengths = np.diff(np.append(starts, numbers.size))
        labels = numbers[starts]
        if labels[0] == self._label:
            lengths[0] += self._length
        else:
            self._close()
        before = 0  # runs that are counted already
        for k in [*np.flatnonzero(lengths >= _LONG).tolist(), len(labels) - 1]:
            np.add.at(self._counts, labels[before:k], lengths[before:k])
            before = k
            self._label, self._length = int(labels[k]), int(lengths[k])
            if self._is_unlikely():
                self._reported = True
                return self._label, self._length
        return None

    def _close(self) -> None:
        if self._length:
            self._counts[self._label] += self._length

    def _is_unlikely(self) -> bool:
        total = int(self._counts.sum())
        share = (self._counts[self._label] + 1) / (total + self._counts.size)
        longest = _LONG if total else _LONG_AT_FIRST
        return self._length >= longest and self._length * (1.0 - share) > _UNLIKELY
