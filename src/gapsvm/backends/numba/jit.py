"""How kernels are compiled: one decorator, one cache directory that cannot go stale.

Numba's own cache looks only at the file a kernel is written in; a kernel that inlines another
file's function would survive an edit of that file.  Here the cache directory carries a hash of
every kernel source, so any edit means a new directory.  It lies in the user's cache folder, so
a read-only install works; ``NUMBA_CACHE_DIR`` is honoured.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.cpu import CPUTargetOptions

F = TypeVar("F", bound=Callable[..., Any])
_LOCK = threading.Lock()
_UNCOUNTED = {"_nrt": False} if hasattr(CPUTargetOptions, "_nrt") else {}
"""Compile without Numba's runtime; it has no public name, and kernels work with it as well."""


def _source_hash(folder: Path | None = None) -> str:
    """A digest of all kernel sources and of the compiler's version."""
    folder = folder or Path(__file__).parent
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted([*folder.glob("*.py"), *(folder.parents[1] / "types").glob("*.py")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _user_cache() -> Path:
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


@cache
def cache_directory() -> Path:
    """The folder of compiled kernels: the user's cache, or a temporary one if that is read-only."""
    tag = f"kernels-{_source_hash()}"
    try:
        folder = _user_cache() / "gapsvm" / tag
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        pass
    return Path(tempfile.mkdtemp(prefix=f"gapsvm-{tag}-"))


@contextmanager
def _numba_cache_in(folder: Path) -> Iterator[None]:
    """Point Numba at our folder while a kernel is declared, and leave its setting as it was."""
    with _LOCK:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder)
        try:
            yield
        finally:
            numba.config.CACHE_DIR = before


def _compile(function: F, **options: Any) -> F:
    with _numba_cache_in(cache_directory()):
        return numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)


def kernel(function: F) -> F:
    """Compile to machine code on first call; cached on disk; releases the GIL while it runs.

    A kernel makes no arrays, so Numba need not count references to those it is given.  It would
    count those of X for every row, which takes as long as a row of a dozen values does.
    """
    return _compile(function, **_UNCOUNTED)


def allocating_kernel(function: F) -> F:
    """A kernel that makes arrays of its own, and pays for counting references."""
    return _compile(function)
