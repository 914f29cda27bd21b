"""Where arrays that are read at random begin."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from gapsvm.backends.memory import row_table, zeros


@pytest.mark.parametrize("size", [0, 1, 7, 8, 1000, 1 << 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_begin_at_a_cache_line(size, dtype):
    array = zeros(size, dtype)
    assert array.shape == (size,)
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert not array.any()
    assert size == 0 or array.ctypes.data % 64 == 0
    assert len(pickle.dumps(array)) < array.nbytes + 500


def test_the_numbers_of_a_row_share_a_line():
    table = row_table(1000)
    starts = table.ctypes.data + table.itemsize * np.arange(0, table.size, 4)
    assert table.shape == (1000, 4)
    assert table.flags.c_contiguous
    assert np.all(starts // 64 == (starts + 31) // 64)
