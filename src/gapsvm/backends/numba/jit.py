"""How kernels are compiled: one decorator, one compiler, one cache folder.

Compiled code lies in the user's cache folder (``gapsvm.backends.numba.kept``), so a read-only
install works, and where no folder can be written kernels are compiled anew in each process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.cpu import CPUTargetOptions

from gapsvm.backends.compiling import compiling
from gapsvm.backends.numba.kept import KeptCode

F = TypeVar("F", bound=Callable[..., Any])
_UNCOUNTED = {"_nrt": False} if hasattr(CPUTargetOptions, "_nrt") else {}
"""Compile without Numba's runtime; it has no public name, and kernels work with it as well."""


class _OwnCode(JITCodeLibrary):
    """Machine code of a kernel that calls nothing but its own copies of what it calls.

    Numba compiles a helper to a library of its own, which it loads, and links a copy of it into
    every kernel, to be merged with any other by name.  A fresh kernel then called the first that
    had been loaded, optimised alone, and one from disk its own, optimised with its caller: sums
    that may be reordered differed in the last bit, between the process that compiles and all
    later ones, and from one order of loading to another.  A private copy has no name to merge by.
    """

    def _optimize_final_module(self) -> None:  # after linking, before anything is inlined
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        super()._optimize_final_module()


class _KernelCompiler(Compiler):
    """Numba's compiler, into a library of the above kind."""

    def compile_extra(self, function: Any) -> Any:
        if self.state.library is None:
            library = _OwnCode(self.state.targetctx.codegen(), function.__qualname__)
            library.enable_object_caching()
            self.state.library = library
        with compiling():
            return super().compile_extra(function)


def _compile(function: F, **options: Any) -> F:
    how = {"nogil": True, "error_model": "numpy", "pipeline_class": _KernelCompiler}
    compiled = numba.njit(**how, **options)(function)
    compiled._cache = KeptCode(function)
    return compiled


def kernel(function: F) -> F:
    """Compile to machine code on first call; cached on disk; releases the GIL while it runs.

    A kernel makes no arrays, so Numba need not count references to those it is given.  It would
    count those of X for every row, which takes as long as a row of a dozen values does.
    """
    return _compile(function, **_UNCOUNTED)


_REORDERED = {"reassoc", "contract", "nsz", "arcp"}


def summing_kernel(function: F) -> F:
    """A kernel whose sums the compiler may take in another order, so that it makes vectors of them:
    of small dense arrays, where that is most of the work."""
    return _compile(function, fastmath=_REORDERED, **_UNCOUNTED)


def finite_kernel(function: F) -> F:
    """The same where NaN and infinity change nothing: largest values are vectors too."""
    return _compile(function, fastmath={*_REORDERED, "nnan", "ninf"}, **_UNCOUNTED)


def allocating_kernel(function: F) -> F:
    """A kernel that makes arrays of its own, and pays for counting references."""
    return _compile(function)
