"""Values of a kernel by a user's function of two lots of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.kernels.rows import KernelRows, Part
from gapsvm.system.lazy import sparse as sp


class CallableRows(KernelRows):
    """K(A, B) by a user's function of two lots of rows."""

    steps_in_single = False
    rounds_by_place = True

    def __init__(
        self,
        X: Any,
        function: Callable[[Any, Any], Any],
        *,
        backend: str | Backend = "cpu",
        cache_size: float = 200.0,
        like: KernelRows | None = None,
    ) -> None:
        super().__init__(get_backend(backend), cache_size)
        self.X, self.function = X, function
        self.n_rows = X.shape[0]
        if like is not None:  # it was checked there
            self.is_definite, self.repeatable = like.is_definite, like.repeatable
            return
        self.is_definite = self.looked_at()

    def part(self, index: Any, dtype: Any) -> Part:
        rows = self.X[index]
        return Part(rows.shape[0], rows, None, index)

    def fill(self, rows: Part, columns: Part, out: Any) -> None:
        out[...] = called(self.function, rows.view, columns.view)

    @cached_property
    def diagonal(self) -> Any:
        if "gram" in self.__dict__:
            return self.gram.diagonal().copy()
        found = [self.square(np.array([i]), np.float64)[0, 0] for i in range(self.n_rows)]
        return np.array(found)

    def chosen(self, index: Any) -> CallableRows:
        how: dict[str, Any] = {"backend": self.backend, "cache_size": self.cache_size}
        return CallableRows(self.X[index], self.function, like=self, **how)

    def fingerprint(self) -> dict[str, Any]:
        name = getattr(self.function, "__qualname__", repr(self.function))
        return {"shape": list(self.X.shape), "kernel": f"callable {name}"}


def called(function: Callable[[Any, Any], Any], A: Any, B: Any) -> Any:
    """K(A, B), or an error that says what is wrong with it."""
    name = getattr(function, "__name__", "the callable")
    try:
        found = function(A, B)
    except Exception as error:
        raise ValueError(
            f"kernel {name} raised {error!r} for {A.shape[0]} and {B.shape[0]} rows"
        ) from error
    if sp.issparse(found):
        found = found.toarray()
    if np.iscomplexobj(found):
        raise ValueError(f"kernel {name} gave complex numbers")
    try:
        values = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"kernel {name} gave {type(found).__name__}, not numbers") from None
    if values.shape != (A.shape[0], B.shape[0]):
        raise ValueError(
            f"kernel {name} gave shape {values.shape} for {A.shape[0]} and {B.shape[0]} rows"
        )
    if not np.isfinite(values).all():
        raise ValueError(f"kernel {name} gave NaN or infinity")
    return values
