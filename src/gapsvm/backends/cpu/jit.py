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
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])
_LOCK = threading.Lock()


def _source_hash(folder: Path | None = None) -> str:
    """A digest of all kernel sources and of the compiler's version."""
    folder = folder or Path(__file__).parent
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(folder.glob("*.py")):
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


def kernel(function: F) -> F:
    """Compile to machine code on first call; cached on disk; releases the GIL while it runs."""
    with _numba_cache_in(cache_directory()):
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for the cache line of ``array[index]`` (1-D, C order) without waiting for it."""
    from llvmlite import ir

    def codegen(context, builder, signature, args):
        array_type = signature.args[0]
        view = context.make_array(array_type)(context, builder, args[0])
        index_value = context.cast(builder, args[1], signature.args[1], types.intp)
        address = cgutils.gep_inbounds(builder, view.data, index_value)
        void_pointer = ir.IntType(8).as_pointer()
        address = builder.bitcast(address, void_pointer)
        i32 = ir.IntType(32)
        signature_ = ir.FunctionType(ir.VoidType(), [void_pointer, i32, i32, i32])
        function = cgutils.get_or_insert_function(builder.module, signature_, "llvm.prefetch.p0")
        # read, keep in all cache levels, data cache
        builder.call(function, [address, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(array, index), codegen
