"""Where compiled kernels lie on disk, and which are there; Numba is not needed to know it."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

KERNELS = Path(__file__).with_name("numba")
"""Their sources."""


def source_hash(folder: Path = KERNELS) -> str:
    """A digest of all kernel sources and of the versions of what compiles and runs them."""
    versions = (version("numba"), version("llvmlite"), sys.implementation.cache_tag)
    digest = hashlib.sha256(repr(versions).encode())
    for path in sorted([*folder.glob("*.py"), *(folder.parents[1] / "types").glob("*.py")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _user_cache() -> Path:
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


@cache
def kept_in() -> Path | None:
    """The folder of compiled kernels, which need not exist; None without a home directory."""
    try:
        return _user_cache() / "gapsvm" / f"kernels-{source_hash()}"
    except RuntimeError:
        return None


@cache
def kept_at_first() -> frozenset[str]:
    """The names of the kernels that were there when this process first asked."""
    folder = kept_in()
    try:
        files = [] if folder is None else os.listdir(folder)
    except OSError:
        files = []
    return frozenset(name.rpartition("-")[0] for name in files if name.endswith(".nbc"))
