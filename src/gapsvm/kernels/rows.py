"""Where the values of a kernel matrix come from: rows of features, or the matrix itself.

A source hands out tiles: K between some rows and some others, in float32 or float64.  What is
done with rows of K, sums over them and their use in steps, is written here once over tiles that
stay in cache, and is shared by all sources.  ``evaluations`` counts values that were computed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.kernels.cache import RowCache
from gapsvm.kernels.definite import CHECKED_ROWS, check_matrix, is_definite
from gapsvm.kernels.registry import on_data
from gapsvm.rows.matrix import Rows, as_rows, checked_rows
from gapsvm.system.lazy import sparse as sp
from gapsvm.types.matrices import CSR, Dense
from gapsvm.types.mercer import OF_PRODUCTS, ChiSquared, Gaussian, Linear

_TILE_ROWS, _TILE_COLUMNS = 128, 1024
"""A tile of float32 that stays in the second-level cache with the rows that it is made of."""
_SPARSE_COLUMNS = 2048
"""Columns of a tile of sparse rows, each of whose groups of rows is spread out once a tile."""
_SQUARE = 512
"""Rows of a square tile of float64."""
_DEAR = 300
"""Multiplications for a value of K from which on every row is worth a place in memory."""
_FOR_ROWS, _FOR_BLOCKS = 7 / 8, 1 / 16
"""Shares of the cache's size: for rows that are kept, and for K among the rows of a block."""
_TILES = 3.0
"""Megabytes of what lies beside them for a moment."""
_BLAS, _LOOP = 0.018, 0.06
"""Nanoseconds of a multiplication."""
_LEAST_BLOCK = 64
_WIDE = 16
_ROUNDING_SINGLE = 2.0**-24
_LEAST = 1e-30
"""An error that is not 0; values of K below it count as 0 in float32."""
_PROBE = 2048
"""Rows that tell whether float32 will do for most of them."""
_SPARSE_BELOW = 0.25
"""Share of values that are not zero below which products are made of those alone."""
_SINGLE_REACH = 16.0
"""γ‖x‖² up to which distances in float32 are good enough to take steps by."""


@dataclass(frozen=True)
class Part:
    """Some rows, ready for tiles."""

    size: int
    view: Any
    squares: Any
    index: Any
    """A slice or an array: which rows."""


Settled = Callable[[Any, Any, Any], Any]


class _Group(NamedTuple):
    """Rows of one tile: those that are computed, and where kept ones lie."""

    rows: Part
    new_slots: Any
    old_slots: Any
    order: Any
    """Where in the tile each row of the group lies."""
    coef: Any


def _within(some: Any, sorted_all: Any) -> bool:
    """Whether all of some numbers are among sorted ones."""
    places = np.minimum(np.searchsorted(sorted_all, some), len(sorted_all) - 1)
    return bool(np.array_equal(sorted_all[places], some))


def sections(count: int, size: int) -> Iterator[slice]:
    """0 … count in parts of a size."""
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


class KernelRows:
    """The rows of a kernel matrix, n × n, symmetric.

    A source says what a part and a tile are, its diagonal, and what tells it from others.

    Parameters
    ----------
    backend : Backend
        What computes values of K, and on how many threads.
    cache_size : float
        Megabytes for rows that are kept.
    """

    n_rows: int
    is_definite: bool | None
    """None: not known."""
    steps_in_single: bool
    """Whether values in float32 are good enough to take steps by."""
    tile_columns = _TILE_COLUMNS
    work = float("inf")
    """Multiplications for a value."""
    repeatable = False
    """Whether a fit that is broken off and gone on with is to be the same bit for bit: then no
    row is kept whose values would be others when computed anew."""
    rounds_by_place = False
    """Whether a value of K depends on its place in a tile, as BLAS rounds it."""
    serve_several = False
    """Whether several problems ask for full rows, so that each is worth keeping."""
    value_nanoseconds = 1.0
    """Of a value, roughly: so that costs can be compared."""

    def __init__(self, backend: Backend, cache_size: float) -> None:
        self.backend = backend
        self.cache_size = cache_size
        self.evaluations = 0
        self._cache: RowCache | None = None

    def share(self, threads: int, *, several: bool) -> None:
        """Be computed on so many threads; ``several``: for problems that are solved in turn."""
        self.backend = get_backend(self.backend.name, threads)
        self.serve_several = several

    def part(self, index: Any, dtype: Any) -> Part:
        """Rows, by a slice or an array of numbers."""
        raise NotImplementedError

    def fill(self, rows: Part, columns: Part, out: Any) -> None:
        """out = K between rows and columns."""
        raise NotImplementedError

    @property
    def single_error(self) -> float:
        """A proven bound of the relative error of a value in float32."""
        return math.inf

    @property
    def diagonal(self) -> Any:
        """K(x_i, x_i), float64."""
        raise NotImplementedError

    def fingerprint(self) -> dict[str, Any]:
        """What tells it from other sources."""
        raise NotImplementedError

    @property
    def has_gram(self) -> bool:
        """Whether all of K is there."""
        return "gram" in self.__dict__

    def subset(self, index: Any) -> KernelRows:
        """The rows and columns of these numbers; of a matrix that is there already, a part."""
        if "gram" in self.__dict__:
            return MatrixRows(self.gram.take(index, 0).take(index, 1), like=self)
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
            return np.asarray(self.gram.take(index, 0).take(index, 1), dtype)
        part = self.part(index, dtype)
        out = np.empty((part.size, part.size), dtype)
        self.evaluations += out.size
        self.fill(part, part, out)
        return out

    def looked_at(self) -> bool | None:
        """Whether K is positive definite, after a check of up to 2,000 of its rows; where there are
        more, these can show that it is not, but not that it is: None."""
        if self.n_rows <= CHECKED_ROWS:
            check_matrix(self.gram)
            return is_definite(self.gram)
        some = np.linspace(0, self.n_rows - 1, CHECKED_ROWS).astype(np.int64)
        matrix = self.square(some, np.float64)
        check_matrix(matrix)
        return None if is_definite(matrix) else False

    def product(self, coef: Any) -> Any:
        """K·coef in float64; only rows with a coefficient are looked at."""
        if "gram" in self.__dict__:
            return np.asarray(self.gram @ coef)
        used, out = np.flatnonzero(coef), np.empty(self.n_rows)
        rest = np.flatnonzero(coef == 0.0)
        out[used] = self._among(used, coef[used])
        out[rest] = self.sums(used, coef[used], rest, np.float64)
        return out

    def at(self, index: Any, coef: Any) -> Any:
        """(K·coef) at some rows, in float64."""
        if "gram" in self.__dict__:
            return np.asarray(self.gram @ coef)[index]
        used = np.flatnonzero(coef)
        return self.sums(used, coef[used], index, np.float64)

    def screened(self, coef: Any, settled: Settled) -> tuple[Any, Any]:
        """K·coef and bounds of the errors: 0 in float64, but for rows without a coefficient that
        ``settled`` lets go, given their numbers, sums in float32 and bounds of their errors."""
        errors = np.zeros(self.n_rows)
        used, rest = np.flatnonzero(coef), np.flatnonzero(coef == 0.0)
        if "gram" in self.__dict__ or self.single_error == math.inf or rest.size == 0:
            return self.product(coef), errors
        out, weights = np.zeros(self.n_rows), coef[used]
        out[used] = self._among(used, weights)
        probe = rest[:: max(1, rest.size // _PROBE)]
        for some in (probe, np.setdiff1d(rest, probe, assume_unique=True)):
            out[some], size = self.sums(used, weights, some, np.float32, np.abs(weights))
            bounds = self.single_error * size + _LEAST
            errors[some] = np.where(settled(some, out[some], bounds), bounds, 0.0)
            if np.count_nonzero(errors[probe]) < 0.5 * probe.size:
                break
        left = rest[errors[rest] == 0.0]
        out[left] = self.sums(used, weights, left, np.float64)
        return out, errors

    def _among(self, index: Any, coef: Any) -> Any:
        """K·coef in float64 for the rows with coefficients themselves: half of K is enough."""
        blocks = list(sections(index.size, _SQUARE))
        parts = np.zeros((len(blocks), index.size))
        sizes = np.array([block.stop - block.start for block in blocks], dtype=np.int64)
        self.evaluations += int(sizes @ np.cumsum(sizes)) if index.size else 0

        def block(k: int) -> None:
            own, out = blocks[k], parts[k]
            rows = self.part(index[own], np.float64)
            for other in blocks[: k + 1]:
                columns = self.part(index[other], np.float64)
                tile = np.empty((rows.size, columns.size))
                self.fill(rows, columns, tile)
                self.backend.add_kernel_rows(tile, np.arange(rows.size), coef[own], out[other])
                if other is not own:
                    out[own] += tile @ coef[other]

        self.backend.map(block, list(range(len(blocks)))[::-1])  # the longest first
        return parts.sum(axis=0)

    def sums(self, index: Any, coef: Any, columns: Any, dtype: Any, size: Any = None) -> Any:
        """Σ coef_r K_r at some columns over rows r of ``index``, values of K in a precision.

        ``size``: coefficients for a second such sum of the same values; the result has two rows.
        """
        every = [coef] if size is None else [coef, size]
        out = np.zeros((len(every), len(columns)))
        self.evaluations += index.size * len(columns)
        groups = [(g, self.part(index[g], dtype)) for g in sections(index.size, _TILE_ROWS)]

        def part(some: slice) -> None:
            others = self.part(columns[some], dtype)
            tile = np.empty((_TILE_ROWS, others.size), dtype)
            for group, rows in groups:
                values = tile[: rows.size]
                self.fill(rows, others, values)
                for sums, weights in zip(out, every):
                    chosen = np.arange(rows.size)
                    self.backend.add_kernel_rows(values, chosen, weights[group], sums[some])

        self.backend.map(part, list(sections(len(columns), self.tile_columns)))
        return out[0] if size is None else out

    def subtract(self, index: Any, coef: Any, pull: Any, dtype: Any, active: Any = None) -> None:
        """pull −= Σ coef_r K_r over rows r of ``index``; rows of K are kept where there is room.

        ``active``: the rows, in order, whose pull is wanted; None: all.
        """
        if "gram" in self.__dict__:
            self.backend.add_kernel_rows(self.gram, index, -coef, pull)
            return
        cache = self._kept(dtype, active)
        cached = cache.found(index)
        slots = cache.slot[index]
        slots[~cached] = cache.admit(index[~cached])
        self.evaluations += int(np.count_nonzero(~cached)) * cache.width
        groups = [
            self._group(index[g], -coef[g], cached[g], slots[g], dtype)
            for g in sections(index.size, _TILE_ROWS)
        ]

        def part(some: slice) -> None:
            chosen = some if active is None else active[some]
            others = self.part(chosen, dtype)
            moves, tile = np.zeros(others.size), np.empty((_TILE_ROWS, others.size), dtype)
            for group in groups:
                values = tile[: group.coef.size]
                fresh = group.rows.size
                if fresh:
                    self.fill(group.rows, others, values[:fresh])
                    admitted = np.flatnonzero(group.new_slots >= 0)
                    cache.values[group.new_slots[admitted], some] = values[admitted]
                values[fresh:] = cache.values[group.old_slots, some]
                self.backend.add_kernel_rows(values, group.order, group.coef, moves)
            pull[chosen] += moves

        self.backend.map(part, list(sections(cache.width, self.tile_columns)))

    def one_row(self, i: int) -> Any:
        """A full row in float64, where it is cheaper by itself than as a tile; else None."""
        return None

    def lines(self, index: Any, dtype: Any) -> Any:
        """Full rows, each named once; kept where there is room, those that are kept already not
        computed again."""
        cache = self._kept(dtype, None)
        cached = cache.found(index)
        slots = cache.slot[index]
        slots[~cached] = cache.admit(index[~cached])
        self.evaluations += int(np.count_nonzero(~cached)) * self.n_rows
        group = self._group(index, np.zeros(index.size), cached, slots, dtype)
        out, fresh = np.empty((index.size, self.n_rows), dtype), group.rows.size
        admitted = np.flatnonzero(group.new_slots >= 0)
        alone = self.one_row(int(index[0])) if fresh == index.size == 1 else None

        def part(some: slice) -> None:
            if alone is not None:
                out[0, some] = alone[some]
            elif fresh:
                others = self.part(some, dtype)
                tile = np.empty((fresh, others.size), dtype)
                self.fill(group.rows, others, tile)
                out[:fresh, some] = tile
            cache.values[group.new_slots[admitted], some] = out[admitted, some]
            out[fresh:, some] = cache.values[group.old_slots, some]

        self.backend.map(part, list(sections(self.n_rows, self.tile_columns)))
        return out[group.order]

    def _group(self, index: Any, coef: Any, cached: Any, slots: Any, dtype: Any) -> _Group:
        """Rows for one tile: those to be computed come first; sums go by the order of ``index``,
        whatever is kept."""
        order = np.empty(index.size, dtype=np.int64)
        fresh = int(np.count_nonzero(~cached))
        order[~cached], order[cached] = np.arange(fresh), np.arange(fresh, index.size)
        rows = self.part(index[~cached], dtype)
        return _Group(rows, slots[~cached], slots[cached], order, coef)

    def _kept(self, dtype: Any, active: Any) -> RowCache:
        cache = self._cache
        if cache is not None and cache.dtype == dtype:
            if active is cache.columns or np.array_equal(active, cache.columns):
                return cache
            if active is not None and (cache.columns is None or _within(active, cache.columns)):
                cache.narrow(active)
                return cache
        self._cache = cache = None  # its memory first
        patient = self.work < _DEAR and not self.serve_several
        exact = not (self.repeatable and self.rounds_by_place)
        room = max(0.5 * self.cache_size, _FOR_ROWS * self.cache_size - _TILES)
        size = room if exact else 0.0
        self._cache = RowCache(self.n_rows, active, dtype, size, patient=patient)
        return self._cache

    @property
    def most_in_a_block(self) -> int:
        """Rows among which K has room beside the rows that are kept, in float64."""
        return max(_LEAST_BLOCK, math.isqrt(int(_FOR_BLOCKS * self.cache_size * 2**20 / 8)))

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
    backend : str or Backend
        What computes values of K: "cpu", or "reference" for plain NumPy.
    cache_size : float
        Megabytes for rows that are kept.
    weight : array, optional
        Weights of the rows, for γ = "scale".
    like : KernelRows, optional
        Other rows of the same kernel, whose definiteness was looked at.
    """

    def __init__(
        self,
        X: Any,
        kernel: Any,
        *,
        backend: str | Backend = "cpu",
        cache_size: float = 200.0,
        weight: Any = None,
        like: KernelRows | None = None,
    ) -> None:
        super().__init__(get_backend(backend), cache_size)
        self.rows: Rows = checked_rows(X, self.backend)
        self.kernel = on_data(kernel, self.rows, weight)
        self.of_products = isinstance(self.kernel, OF_PRODUCTS)
        if self.of_products:
            self.rows = _as_products_want(self.rows)
        self.n_rows, d = self.rows.shape
        self.work = self.rows.n_stored / max(1, self.n_rows) if self.of_products else 2.0 * d
        self.rounds_by_place = self.of_products and not self.rows.is_sparse
        self.value_nanoseconds = 0.5 + self.work * (_BLAS if self.rounds_by_place else _LOOP)
        self.repeatable = like is not None and like.repeatable
        self.squares = self.rows.sq_norms
        if isinstance(self.kernel, ChiSquared) and _least(self.rows) < 0:
            raise ValueError("kernel 'chi2' needs values that are not negative, but X has some")
        far = float(np.max(self.squares, initial=0.0)) * float(getattr(self.kernel, "gamma", 0.0))
        self.steps_in_single = not isinstance(self.kernel, Gaussian) or far <= _SINGLE_REACH
        if self.rows.is_sparse and self.of_products:
            self.tile_columns = _SPARSE_COLUMNS
        self.is_definite = self.kernel.is_definite
        if self.is_definite is None:
            self.is_definite = self.looked_at() if like is None else like.is_definite

    def product(self, coef: Any) -> Any:
        """Of the linear kernel X(Xᵀ·coef): no value of K is needed."""
        if not isinstance(self.kernel, Linear) or "gram" in self.__dict__:
            return super().product(coef)
        weights, out = np.zeros(self.rows.shape[1]), np.empty(self.n_rows)
        self.backend.combination(self.rows.view, np.ascontiguousarray(coef, np.float64), weights)
        self.backend.margins(self.rows.view, weights, out)
        return out

    def subtract(self, index: Any, coef: Any, pull: Any, dtype: Any, active: Any = None) -> None:
        if not isinstance(self.kernel, Linear) or "gram" in self.__dict__:
            super().subtract(index, coef, pull, dtype, active)
            return
        every = np.zeros(self.n_rows)
        every[index] = coef
        some = slice(None) if active is None else active
        pull[some] -= self.product(every)[some]

    def part(self, index: Any, dtype: Any) -> Part:
        return part_of(self.rows, index, dtype, spread=not self.of_products)

    def fill(self, rows: Part, columns: Part, out: Any) -> None:
        self.backend.kernel_block(
            self.kernel, rows.view, columns.view, rows.squares, columns.squares, out
        )

    def one_row(self, i: int) -> Any:
        """Of sparse rows by one sparse product: tiles are for many rows at a time."""
        if not (self.of_products and self.rows.is_sparse):
            return None
        dense, products = np.zeros(self.rows.shape[1]), np.empty(self.n_rows)
        row = self.rows.to_scipy()[i]
        dense[row.indices] = row.data
        self.backend.margins(self.rows.view, dense, products)
        own = self.squares[i : i + 1]
        return self.kernel.of_products(products[None, :], own, self.squares)[0]

    @cached_property
    def diagonal(self) -> Any:
        return self.kernel.on_diagonal(self.squares)

    @cached_property
    def single_error(self) -> float:
        """Of a product of m terms: (m + 2)·u·‖x‖‖x'‖, and one more of each when values are
        rounded to float32; u = 2⁻²⁴.  Of a distance: that twice, and its three sums.  The exponent
        is γ times it; e^ itself and its argument add a few u (Higham 2002, §3.1)."""
        if not isinstance(self.kernel, Gaussian) or not self.steps_in_single:
            return math.inf
        terms = self.rows.shape[1]
        if isinstance(self.rows.view, CSR):
            terms = int(np.max(np.diff(self.rows.view.indptr.astype(np.int64)), initial=0))
        largest = 2.0 * float(np.max(self.squares, initial=0.0))
        exponent = self.kernel.gamma * largest * (terms + 16) * _ROUNDING_SINGLE
        return math.expm1(exponent + 8 * _ROUNDING_SINGLE)

    def fingerprint(self) -> dict[str, Any]:
        return {**self.rows.fingerprint(), "kernel": repr(self.kernel)}

    def chosen(self, index: Any) -> FeatureRows:
        rows = self.rows.taken(index)
        how: dict[str, Any] = {"backend": self.backend, "cache_size": self.cache_size}
        return FeatureRows(rows, self.kernel, like=self, **how)


def _as_products_want(rows: Rows) -> Rows:
    """Dense rows that are mostly zeros as CSR, and CSR rows that are not as dense ones: the sparse
    loops and BLAS are each several times faster on their own."""
    n, d = rows.shape
    if d < _WIDE:
        return rows
    values = rows.to_scipy()
    if rows.is_sparse:
        if rows.n_stored <= _SPARSE_BELOW * n * d:
            return rows
        note = "X was copied once: to a dense array, since few of its values are zeros"
        return replace(as_rows(values.toarray()), sq_norms=rows.sq_norms, note=note)
    stored = sum(int(np.count_nonzero(values[part])) for part in sections(n, 4096))
    if stored > _SPARSE_BELOW * values.size:
        return rows
    note = "X was copied once: its values to csr, since most are zeros"
    return replace(as_rows(sp.csr_matrix(values)), sq_norms=rows.sq_norms, note=note)


def part_of(rows: Rows, index: Any, dtype: Any, *, spread: bool = False) -> Part:
    """Rows of a matrix in a precision; ``spread``: CSR rows with all their values written out."""
    squares = rows.sq_norms[index].astype(dtype)
    if not rows.is_sparse:
        values = np.ascontiguousarray(rows.to_scipy()[index], dtype=dtype)
        return Part(len(values), Dense(values), squares, index)
    if isinstance(index, slice) and not spread:
        return Part(squares.size, rows.part(index.start, index.stop), squares, index)
    if spread:
        return Part(
            squares.size, Dense(rows.to_scipy()[index].toarray().astype(dtype)), squares, index
        )
    return Part(squares.size, rows.taken(index).view, squares, index)


def _least(rows: Rows) -> float:
    values = rows.view.data if isinstance(rows.view, CSR) else rows.view.values
    return float(np.min(values, initial=0.0))


class MatrixRows(KernelRows):
    """A kernel matrix that is there already; it is not copied.

    Its symmetry is checked, and whether it is positive definite: of 2,000 of its rows at most,
    which can show that it is not.
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
        if self.is_definite is None:
            some = np.linspace(0, self.n_rows - 1, CHECKED_ROWS).astype(np.int64)
            self.is_definite = None if is_definite(self.matrix[np.ix_(some, some)]) else False

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
