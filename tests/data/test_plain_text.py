"""The parser that needs no compiler gives what the compiled one does, or leaves the text to it."""

from __future__ import annotations

import random
from unittest import mock

import numpy as np
import pytest

from gapsvm.backends.reference.text import parse_plain_rows
from gapsvm.io import svmlight
from gapsvm.io.svmlight import SvmlightError, read_svmlight

TEXTS = [
    b"1 1:0.5 3:-2\n-1 2:1e-3\n",
    b"+1 1:.5\t7:5.\r\n\n  \n-1\n0 1:1E5",
    b"1 0:3 2:4\n2 1:0\n",
    b"1 1:0.1 2:123456789012345678901234567890\n",
    b"1 1:1e-400 2:4.9406564584124654e-324\n",
    b"1 3000000000:1\n",
]
ODD = [
    b"1 2:1 1:1\n",
    b"1 1:1 1:2\n",
    b"1 1:1e999\n",
    b"1 1:\n",
    b"1 :1\n",
    b"1 1:2:3 4\n",
    b"1:2 3:4\n",
    b"1e 1:1\n",
    b"1 -1:2\n",
    b"1 qid:1 1:1\n",
    b"1 1:1 # words\n",
    b"1 1:1_0\n",
    b"nan 1:1\n",
    b"1 99999999999999999999:1\n",
]


def read(text: bytes, plain: bool, **options):
    """What is read, or the error."""
    with mock.patch.object(svmlight, "is_due", return_value=not plain):
        try:
            X, y, _ = read_svmlight(text, **options)
        except SvmlightError as error:
            return str(error)
    arrays = (X.data, X.indices, X.indptr, y)
    return [X.shape, *((array.dtype, array.tobytes()) for array in arrays)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zero_based", ["auto", True, False])
def test_the_same_as_compiled(dtype, zero_based):
    options = {"dtype": dtype, "zero_based": zero_based}
    for text in TEXTS + ODD:
        assert read(text, True, **options) == read(text, False, **options), text


def test_random_tokens():
    pick = random.Random(0)
    tokens = ["1", "-1", "2:1", "3:0.5", "7:-1e2", "0:1", "2:", ":", "1:1:1", ".", "+3", "\n", "\n"]
    for _ in range(400):
        text = " ".join(pick.choices(tokens, k=pick.randint(1, 12))).encode()
        assert read(text, True) == read(text, False), text


def test_what_is_plain_and_what_is_not():
    def parsed(text):
        return parse_plain_rows(np.frombuffer(text, np.uint8), 1, 0, 2**31, np.float64)

    assert all(parsed(text) is not None for text in TEXTS[:4])
    assert all(parsed(text) is None for text in ODD)
