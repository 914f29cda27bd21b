"""Where the values of a kernel matrix come from: rows of features, a matrix, or a callable.

A source hands out tiles: K between some rows and some others, in float32 or float64.  What is
done with rows of K, sums over them and their use in steps, is written here once over tiles that
stay in cache, and is shared by all sources.  ``evaluations`` counts values that were computed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from gapsvm.backends import Backend, get_backend
from gapsvm.kernels.cache import RowCache
from gapsvm.kernels.registry import on_data
from gapsvm.rows.matrix import Rows, as_rows, checked_rows
from gapsvm.types.matrices import CSR, Dense
from gapsvm.types.mercer import OF_PRODUCTS, ChiSquared, Gaussian

_TILE_ROWS, _TILE_COLUMNS = 128, 1024
"""A tile of float32 that stays in the second-level cache with the rows that it is made of."""
_SPARSE_COLUMNS = 8192
"""Columns of a tile of sparse rows, each of whose groups of rows is spread out once a tile."""
_SINGLE_REACH = 16.0
"""γ‖x‖² up to which distances in float32 are good enough to take steps by."""
_CHECKED_ROWS = 2000
"""Rows of a matrix that is looked at for negative eigenvalues."""


@dataclass(frozen=True)
class Part:
    """Some rows, ready for tiles."""

    size: int
    view: Any
    squares: Any
    index: Any
    """A slice or an array: which rows."""


def sections(count: int, size: int) -> Iterator[slice]:
    """0 … count in parts of a size."""
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


class KernelRows:
    """The rows of a kernel matrix, n × n, symmetric.

    A source says what a part and a tile are, its diagonal, and what tells it from others.
    """

    n_rows: int
    is_definite: bool | None
    """None: not known."""
    steps_in_single: bool
    """Whether values in float32 are good enough to take steps by."""
    tile_columns = _TILE_COLUMNS

    def __init__(self, backend: Backend, cache_size: float) -> None:
        self.backend = backend
        self.cache_size = cache_size
        self.evaluations = 0
        self._cache: RowCache | None = None

    def part(self, index: Any, dtype: Any) -> Part:
        """Rows, by a slice or an array of numbers."""
        raise NotImplementedError

    def fill(self, rows: Part, columns: Part, out: Any) -> None:
        """out = K between rows and columns."""
        raise NotImplementedError

    @property
    def diagonal(self) -> Any:
        """K(x_i, x_i), float64."""
        raise NotImplementedError

    def fingerprint(self) -> dict[str, Any]:
        """What tells it from other sources."""
        raise NotImplementedError

    def subset(self, index: Any) -> KernelRows:
        """The rows and columns of these numbers; of a matrix that is there already, a part."""
        if "gram" in self.__dict__:
            return MatrixRows(self.gram[np.ix_(index, index)], like=self)
        return self.chosen(index)

    def chosen(self, index: Any) -> KernelRows:
        """``subset`` where K is not there."""
        raise NotImplementedError

    @cached_property
    def gram(self) -> Any:
        """All of K in float64: for few rows."""
        out = np.empty((self.n_rows, self.n_rows))
        self.evaluations += out.size
        everything = self.part(slice(0, self.n_rows), np.float64)
        for rows in sections(self.n_rows, _TILE_ROWS):
            self.fill(self.part(rows, np.float64), everything, out[rows])
        return out

    def square(self, index: Any, dtype: Any) -> Any:
        """K among some rows."""
        if "gram" in self.__dict__:
            return np.asarray(self.gram[np.ix_(index, index)], dtype)
        part = self.part(index, dtype)
        out = np.empty((part.size, part.size), dtype)
        self.evaluations += out.size
        self.fill(part, part, out)
        return out

    def product(self, coef: Any) -> Any:
        """K·coef in float64; only rows with a coefficient are looked at."""
        if "gram" in self.__dict__:
            return np.asarray(self.gram @ coef)
        used, out = np.flatnonzero(coef), np.zeros(self.n_rows)
        self.evaluations += used.size * self.n_rows

        def part(columns: slice) -> None:
            here = self.part(columns, np.float64)
            for group in sections(used.size, _TILE_ROWS):
                rows = self.part(used[group], np.float64)
                tile = np.empty((rows.size, here.size))
                self.fill(rows, here, tile)
                out[columns] += coef[used[group]] @ tile

        self.backend.map(part, list(sections(self.n_rows, self.tile_columns)))
        return out

    def subtract(self, index: Any, coef: Any, pull: Any, dtype: Any) -> None:
        """pull −= Σ coef_r K_r over rows r of ``index``; rows of K are kept where there is room."""
        if "gram" in self.__dict__:
            self.backend.add_kernel_rows(self.gram, index, -coef, pull)
            return
        cache = self._kept(dtype)
        here = cache.found(index)
        old, new = index[here], index[~here]
        old_slots, new_slots = cache.slot[old], cache.admit(new)
        old_coef, new_coef = -coef[here], -coef[~here]
        self.evaluations += new.size * self.n_rows

        def part(columns: slice) -> None:
            mine = pull[columns]
            self.backend.add_kernel_rows(cache.values[:, columns], old_slots, old_coef, mine)
            if not new.size:
                return
            others = self.part(columns, dtype)
            for group in sections(new.size, _TILE_ROWS):
                rows = self.part(new[group], dtype)
                tile = np.empty((rows.size, others.size), dtype)
                self.fill(rows, others, tile)
                every = np.arange(rows.size)
                self.backend.add_kernel_rows(tile, every, new_coef[group], mine)
                slots = new_slots[group]
                cache.values[slots[slots >= 0], columns] = tile[slots >= 0]

        self.backend.map(part, list(sections(self.n_rows, self.tile_columns)))

    def _kept(self, dtype: Any) -> RowCache:
        if self._cache is None or self._cache.values.dtype != dtype:
            self._cache = RowCache(self.n_rows, self.n_rows, dtype, self.cache_size)
        return self._cache

    def forget(self) -> None:
        """Give the memory of kept rows back."""
        self._cache = None


class FeatureRows(KernelRows):
    """K(x_i, x_j) of rows of features, dense or CSR.

    Parameters
    ----------
    X : array, sparse matrix or ``Rows``
    kernel : a NamedTuple of ``gapsvm.types.mercer``
        Its γ may be "scale" or "auto".
    cache_size : float
        Megabytes for rows that are kept.
    weight : array, optional
        Weights of the rows, for γ = "scale".
    """

    def __init__(
        self,
        X: Any,
        kernel: Any,
        *,
        backend: str | Backend = "cpu",
        cache_size: float = 200.0,
        weight: Any = None,
    ) -> None:
        super().__init__(get_backend(backend), cache_size)
        self.rows: Rows = checked_rows(X, self.backend)
        self.kernel = on_data(kernel, self.rows, weight)
        self.n_rows = self.rows.shape[0]
        self.is_definite = self.kernel.is_definite
        self.squares = self.rows.sq_norms
        self.of_products = isinstance(self.kernel, OF_PRODUCTS)
        if isinstance(self.kernel, ChiSquared) and _least(self.rows) < 0:
            raise ValueError("kernel 'chi2' needs values that are not negative, but X has some")
        far = float(np.max(self.squares, initial=0.0)) * float(getattr(self.kernel, "gamma", 0.0))
        self.steps_in_single = not isinstance(self.kernel, Gaussian) or far <= _SINGLE_REACH
        if self.rows.is_sparse and self.of_products:
            self.tile_columns = _SPARSE_COLUMNS

    def part(self, index: Any, dtype: Any) -> Part:
        return part_of(self.rows, index, dtype, spread=not self.of_products)

    def fill(self, rows: Part, columns: Part, out: Any) -> None:
        self.backend.kernel_block(
            self.kernel, rows.view, columns.view, rows.squares, columns.squares, out
        )

    @cached_property
    def diagonal(self) -> Any:
        return self.kernel.on_diagonal(self.squares)

    def fingerprint(self) -> dict[str, Any]:
        return {**self.rows.fingerprint(), "kernel": repr(self.kernel)}

    def chosen(self, index: Any) -> FeatureRows:
        view = as_rows(self.rows.to_scipy()[index]).view
        rows = Rows(view, (len(index), self.rows.shape[1]), None, self.rows.sq_norms[index])
        return FeatureRows(rows, self.kernel, backend=self.backend, cache_size=self.cache_size)


def part_of(rows: Rows, index: Any, dtype: Any, *, spread: bool = False) -> Part:
    """Rows of a matrix in a precision; ``spread``: CSR rows with all their values written out."""
    squares = rows.sq_norms[index].astype(dtype)
    if not rows.is_sparse:
        values = np.ascontiguousarray(rows.to_scipy()[index], dtype=dtype)
        return Part(len(values), Dense(values), squares, index)
    if isinstance(index, slice) and not spread:
        return Part(squares.size, rows.part(index.start, index.stop), squares, index)
    chosen = rows.to_scipy()[index]
    if spread:
        return Part(squares.size, Dense(chosen.toarray().astype(dtype)), squares, index)
    return Part(squares.size, as_rows(chosen).view, squares, index)


def _least(rows: Rows) -> float:
    values = rows.view.data if isinstance(rows.view, CSR) else rows.view.values
    return float(np.min(values, initial=0.0))


class MatrixRows(KernelRows):
    """A kernel matrix that is there already; it is not copied.

    Its symmetry is checked, and for matrices of up to 2,000 rows whether it is positive definite.
    """

    steps_in_single = False

    def __init__(
        self, K: Any, *, backend: str | Backend = "cpu", like: KernelRows | None = None
    ) -> None:
        super().__init__(get_backend(backend) if like is None else like.backend, 0.0)
        if sp.issparse(K):
            raise TypeError("a precomputed kernel matrix must be dense; call its toarray()")
        self.matrix = np.asarray(K)
        if not np.isfinite(self.matrix).all():
            raise ValueError("the kernel matrix contains NaN or infinity")
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise ValueError(
                f"a precomputed kernel matrix must be square: rows × rows; got {self.matrix.shape}"
            )
        self.n_rows = len(self.matrix)
        if self.matrix.dtype == np.float64:
            self.__dict__["gram"] = self.matrix
        if like is not None:  # it was checked there
            self.is_definite = like.is_definite
            return
        check_matrix(self.matrix)
        self.is_definite = is_definite(self.matrix)

    def part(self, index: Any, dtype: Any) -> Part:
        count = index.stop - index.start if isinstance(index, slice) else len(index)
        return Part(count, None, None, index)

    def fill(self, rows: Part, columns: Part, out: Any) -> None:
        both_arrays = not isinstance(columns.index, slice)
        where = np.ix_(rows.index, columns.index) if both_arrays else (rows.index, columns.index)
        out[...] = self.matrix[where]

    @cached_property
    def diagonal(self) -> Any:
        return self.matrix.diagonal().astype(np.float64)

    def chosen(self, index: Any) -> MatrixRows:
        return MatrixRows(self.matrix[np.ix_(index, index)], like=self)

    def fingerprint(self) -> dict[str, Any]:
        some = self.matrix[: max(1, self.n_rows // 1000)]
        digest = hashlib.sha256(np.ascontiguousarray(some).data).hexdigest()
        return {"shape": list(self.matrix.shape), "kernel": "precomputed", "sample of K": digest}


class CallableRows(KernelRows):
    """K(A, B) by a user's function of two lots of rows."""

    steps_in_single = False

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
            self.is_definite = like.is_definite
            return
        if self.n_rows <= _CHECKED_ROWS:
            check_matrix(self.gram)
            self.is_definite = is_definite(self.gram)
        else:
            some = np.linspace(0, self.n_rows - 1, _CHECKED_ROWS).astype(np.int64)
            matrix = self.square(some, np.float64)
            check_matrix(matrix)
            self.is_definite = None if is_definite(matrix) else False

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
    found = function(A, B)
    if sp.issparse(found):
        found = found.toarray()
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


def check_matrix(K: Any) -> None:
    """Finite, and symmetric up to rounding."""
    for rows in sections(len(K), _TILE_ROWS):
        here = K[rows]
        if not np.isfinite(here).all():
            raise ValueError("the kernel matrix contains NaN or infinity")
        largest = float(np.max(np.abs(here), initial=0.0))
        rounding = 1e-5 if K.dtype == np.float32 else 1e-8
        if np.max(np.abs(here - K[:, rows].T), initial=0.0) > rounding * largest:
            raise ValueError("the kernel matrix is not symmetric: K(a, b) and K(b, a) differ")


def is_definite(K: Any) -> bool | None:
    """Whether no eigenvalue is negative beyond rounding; None for a large matrix."""
    if len(K) > _CHECKED_ROWS:
        return None
    if not len(K):
        return True
    size = float(np.abs(K.diagonal()).sum()) or float(np.abs(K).max())
    rounding = (1e-6 if K.dtype == np.float32 else 1e-12) * size
    shifted = np.array(K, dtype=np.float64)
    shifted = 0.5 * (shifted + shifted.T)
    shifted[np.diag_indices_from(shifted)] += rounding + 1e-300
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True
