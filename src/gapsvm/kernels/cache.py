"""Rows of a kernel matrix that are kept: as many as there is room for, by how often they serve."""

from __future__ import annotations

from typing import Any

import numpy as np

_ABSENT = -1


class RowCache:
    """A store of rows, each in a slot.

    A row that is asked for counts one more use; a new one takes the slot of the row with the fewest
    uses, and counts are halved when that happens, so that old merits fade.

    Parameters
    ----------
    n_rows : int
    columns : array of int, or None
        Which columns of the matrix the rows hold; None: all.
    megabytes : float
        The room there is.
    patient : bool
        A row is kept from the second time on that it is asked for: where values cost little more
        than memory does, most rows are not worth a place.
    """

    def __init__(
        self, n_rows: int, columns: Any, dtype: Any, megabytes: float, *, patient: bool = False
    ) -> None:
        self.n_rows, self.patient, self.dtype = n_rows, patient, np.dtype(dtype)
        width = n_rows if columns is None else len(columns)
        room = int(megabytes * 2**20) // self.dtype.itemsize
        self._memory = np.empty(min(room, n_rows * width), dtype)
        self.asked = np.zeros(n_rows, dtype=np.int32)
        self.slot = np.full(n_rows, _ABSENT, dtype=np.int64)
        self.row = np.zeros(0, dtype=np.int64)
        self.uses = np.zeros(0)
        self.last = np.zeros(0, dtype=np.int64)
        self.time = self.filled = 0
        self._shape_for(columns)

    def _shape_for(self, columns: Any) -> None:
        self.columns = columns
        self.width = self.n_rows if columns is None else len(columns)
        self.capacity = min(self.n_rows, self._memory.size // max(1, self.width))
        self.values = self._memory[: self.capacity * self.width].reshape(self.capacity, self.width)
        more = self.capacity - self.row.size
        self.row = np.concatenate([self.row, np.full(more, _ABSENT, dtype=np.int64)])
        self.uses = np.concatenate([self.uses, np.zeros(more)])
        self.last = np.concatenate([self.last, np.zeros(more, dtype=np.int64)])

    def narrow(self, columns: Any) -> None:
        """Keep some of the columns alone, in place; what becomes free is room for more rows."""
        kept = columns if self.columns is None else np.searchsorted(self.columns, columns)
        before = self.values
        self._shape_for(columns)
        for slot in range(self.filled):  # a row moves to where it or one before it lay
            self.values[slot] = before[slot][kept]

    def found(self, rows: Any) -> Any:
        """Which of these rows are here; each counts a use, and stays until rows are sought anew."""
        cached = self.slot[rows] != _ABSENT
        self.time += 1
        self.uses[self.slot[rows[cached]]] += 1.0
        self.last[self.slot[rows[cached]]] = self.time
        return cached

    def admit(self, rows: Any) -> Any:
        """A slot for each of these new rows, or −1 where there is none for it."""
        slots = np.full(rows.size, _ABSENT, dtype=np.int64)
        known = self.asked[rows] > 0 if self.patient else np.ones(rows.size, dtype=bool)
        self.asked[rows] += 1
        wanted = int(np.count_nonzero(known))
        slots[known] = self._slots(wanted)
        given = slots != _ABSENT
        self.slot[rows[given]], self.row[slots[given]] = slots[given], rows[given]
        self.uses[slots[given]], self.last[slots[given]] = 1.0, self.time
        return slots

    def _slots(self, wanted: int) -> Any:
        """Free ones, then those of other rows; −1 where there are no more."""
        slots = np.full(wanted, _ABSENT, dtype=np.int64)
        free = min(wanted, self.capacity - self.filled)
        slots[:free] = np.arange(self.filled, self.filled + free)
        self.last[slots[:free]] = self.time
        self.filled += free
        if wanted > free and self.capacity:
            slots[free:] = self._freed(wanted - free)
        return slots

    def _freed(self, wanted: int) -> Any:
        """Slots of the rows with the fewest uses; at most half of all, so that some may settle."""
        self.uses *= 0.5
        idle = np.flatnonzero(self.last < self.time)
        count = min(wanted, idle.size, max(1, self.capacity // 2))
        slots = np.full(wanted, _ABSENT, dtype=np.int64)
        if count:
            chosen = idle[np.argpartition(self.uses[idle], count - 1)[:count]]
            self.slot[self.row[chosen]] = _ABSENT
            slots[:count] = chosen
        return slots
