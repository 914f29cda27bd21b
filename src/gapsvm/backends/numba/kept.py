"""Compiled kernels on disk: one file for each kernel and signature, read only if it is whole.

Numba's own cache looks only at the file a kernel is written in; a kernel that inlines another
file's function would survive an edit of that file.  Here the folder carries a hash of every kernel
source, so any edit means a new folder; a file carries one of the module of a curve of a user's
own.  Numba's cache also breaks where a file of it is damaged or its folder cannot be written.  Here
a file carries a digest of what is in it, and one that is missing, cut short, altered, unreadable or
not to be written costs a compilation, nothing else.  ``NUMBA_CACHE_DIR`` is honoured.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.core.types import BaseTuple

from gapsvm.backends.kept_in import kept_in
from gapsvm.system.atomic import replacing

_DIGEST = 32  # bytes of SHA-256


class KeptCode(_Cache):
    """What Numba asks of a cache, for one kernel: its compiled signatures, loaded and saved."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        return None if kept_in() is None else str(kept_in())

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """Numba forgets what it has loaded; files stay, as they depend on sources alone."""

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled signature, or None if there is no whole file of it."""
        target.refresh()
        path, key = self._place(signature, target.codegen())
        if path is None:
            return None
        try:
            content = path.read_bytes()
        except OSError:
            return None
        digest, body = content[:_DIGEST], content[_DIGEST:]
        if digest != _digest(key, body):
            return None
        return CompileResult._rebuild(target, *pickle.loads(body))

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write a file that appears complete or not at all; where none can be, do without."""
        path, key = self._place(signature, compiled.codegen)
        if path is None or compiled.library.has_dynamic_globals:
            return
        body = dumps(compiled._reduce())
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                file.write(_digest(key, body) + body)
        except OSError:
            pass

    def _place(self, signature: Any, codegen: Any) -> tuple[Path | None, bytes]:
        """The file of a signature, for this processor, and what tells it from all others."""
        curves = sorted(set(_curves_of(getattr(signature, "args", signature))))
        key = repr((self._name, str(signature), curves, codegen.magic_tuple())).encode()
        folder = kept_in() if self._enabled else None
        if folder is None:
            return None, key
        short = self._name.rpartition(".")[2]
        return folder / f"{short}-{hashlib.sha256(key).hexdigest()[:16]}.nbc", key


def _curves_of(kinds: Iterable[Any]) -> Iterator[tuple[str, ...]]:
    """Class, fields and compiled source of each curve among types, groups of arguments included.

    A signature says no more of a curve than the name of its class, which another module may have.
    """
    for kind in kinds:
        if not isinstance(kind, BaseTuple):
            continue
        curve = getattr(kind, "instance_class", None)
        if hasattr(curve, "compiled"):
            source = find_spec(curve.compiled())
            content = Path(source.origin).read_bytes() if source and source.origin else b""
            fields = (f"{curve.__module__}.{curve.__qualname__}", *curve._fields)
            yield (*fields, hashlib.sha256(content).hexdigest())
        yield from _curves_of(kind)


def _digest(key: bytes, body: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(key).digest() + body).digest()
