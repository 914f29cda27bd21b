"""Rows of a kernel matrix that are kept: as many as there is room for, by how often they serve."""

from __future__ import annotations

from typing import Any

import numpy as np

_ABSENT = -1


class RowCache:
    """A store of rows, each in a slot.

    A row that is asked for counts one more use; a new one takes the slot of the row with the fewest
    uses, and counts are halved when that happens, so that old merits fade.
    """

    def __init__(self, n_rows: int, width: int, dtype: Any, megabytes: float) -> None:
        room = int(megabytes * 2**20) // max(1, width * np.dtype(dtype).itemsize)
        self.capacity = max(0, min(n_rows, room))
        self.values = np.empty((self.capacity, width), dtype)
        self.slot = np.full(n_rows, _ABSENT, dtype=np.int64)
        self.row = np.full(self.capacity, _ABSENT, dtype=np.int64)
        self.uses = np.zeros(self.capacity)
        self.filled = 0

    def found(self, rows: Any) -> Any:
        """Which of these rows are here; each counts a use."""
        here = self.slot[rows] != _ABSENT
        self.uses[self.slot[rows[here]]] += 1.0
        return here

    def admit(self, rows: Any) -> Any:
        """A slot for each of these new rows, or −1 where there is no room."""
        slots = np.full(rows.size, _ABSENT, dtype=np.int64)
        free = min(rows.size, self.capacity - self.filled)
        slots[:free] = np.arange(self.filled, self.filled + free)
        self.uses[slots[:free]] = np.inf  # not to be given twice
        self.filled += free
        wanted = rows.size - free
        if wanted and self.capacity:
            slots[free:] = self._freed(wanted)
        given = slots != _ABSENT
        self.slot[rows[given]], self.row[slots[given]] = slots[given], rows[given]
        self.uses[slots[given]] = 1.0
        return slots

    def _freed(self, wanted: int) -> Any:
        """Slots of the rows with the fewest uses; at most half of all, so that some may settle."""
        count = min(wanted, max(1, self.capacity // 2))
        self.uses *= 0.5
        chosen = np.argpartition(self.uses, count - 1)[:count]
        chosen = chosen[self.uses[chosen] <= 1.0]  # what came in this round stays
        self.slot[self.row[chosen]] = _ABSENT
        slots = np.full(wanted, _ABSENT, dtype=np.int64)
        slots[: chosen.size] = chosen
        return slots
