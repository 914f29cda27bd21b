"""How many cores BLAS takes."""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> Any:
    """BLAS on the caller's own core: its threads spin, and where cores are shared a small
    factorisation took twenty times as long with two of them."""
    return _blas().limit(limits=1, user_api="blas")
