"""Rows of K for methods that step on single rows: some rows at a time, what loops read them from.

``coefficient_rows`` and ``margin_rows`` are K as ``row_dot`` and ``row_axpy`` see it
(``gapsvm.types.matrices``), so that the loops of linear problems are those of kernel problems.
A value of K that is not kept is computed when a step asks for it, and counted in
``rows.evaluations``; each pair of rows that step together is computed once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.kernels.rows import KernelRows, sections
from gapsvm.types.matrices import CoefficientRows, MarginRows

TOGETHER = 64
"""Rows whose values of K are computed at a time: X is read once for all of them."""
_LEAF = 16
"""Rows whose pairs are computed both ways, since that takes no longer."""


def coefficient_rows(
    rows: KernelRows, visited: Any, used: Any, *, exactly: bool = False, keep: bool = False
) -> CoefficientRows:
    """K between rows that are visited and those whose coefficients may then be other than zero.

    Parameters
    ----------
    visited : array
        Rows in the order of their visits.
    used : array
        Rows with a coefficient before the first visit, in order.
    exactly : bool
        A row visited first is compared with those used and visited before it alone; else a few
        values more may be computed.
    keep : bool
        Compute full rows, and keep them where there is room.
    """
    _, first = np.unique(visited, return_index=True)
    lines = visited[np.sort(first)].astype(np.int64)
    place = np.zeros(rows.n_rows, dtype=np.uint32)
    place[lines] = np.arange(lines.size, dtype=np.uint32)
    if "gram" in rows.__dict__ or keep:
        columns = np.arange(rows.n_rows, dtype=np.uint32)
        return CoefficientRows(full_rows(rows, lines), place, columns, rows.diagonal)
    is_new = np.ones(rows.n_rows, dtype=bool)
    is_new[used] = False
    new_lines = np.flatnonzero(is_new[lines])
    new, m = lines[new_lines], used.size
    values = np.empty((lines.size, m + new.size))
    values[:, :m] = between(rows, lines, used)
    among = np.empty((new.size, new.size))
    _pairs(rows, new, among, 1 if exactly else _LEAF)
    values[new_lines, m:] = among
    old_lines = np.flatnonzero(~is_new[lines])
    column = np.searchsorted(used, lines[old_lines])
    values[np.ix_(old_lines, np.arange(m, m + new.size))] = values[np.ix_(new_lines, column)].T
    columns = np.concatenate([used, new]).astype(np.uint32)
    return CoefficientRows(values, place, columns, rows.diagonal)


def margin_rows(rows: KernelRows, visited: Any) -> MarginRows:
    """K among rows that step together, each of them named once or more."""
    lines = np.unique(visited).astype(np.int64)
    place = np.zeros(rows.n_rows, dtype=np.uint32)
    place[lines] = np.arange(lines.size, dtype=np.uint32)
    return MarginRows(rows.square(lines, np.float64), place, lines.astype(np.uint32))


def add_rows(rows: KernelRows, index: Any, coef: Any, margins: Any, *, keep: bool = False) -> None:
    """margins += Σ coef_r K_r over rows r of ``index``.  Modified: margins.

    ``keep``: rows are kept where there is room; else they are computed each time.
    """
    if not index.size:
        return
    if "gram" in rows.__dict__ or keep:
        for some in sections(index.size, TOGETHER):
            values = full_rows(rows, index[some])
            rows.backend.add_kernel_rows(values, np.arange(len(values)), coef[some], margins)
    else:
        margins += rows.sums(index, coef, np.arange(rows.n_rows), np.float64)


def full_rows(rows: KernelRows, index: Any) -> Any:
    """Rows of K, from where they are kept, or computed and kept if there is room."""
    if "gram" in rows.__dict__:
        return rows.gram[index]
    return rows.lines(index, np.float64)


def between(rows: KernelRows, some: Any, others: Any) -> Any:
    """K between some rows and others, in float64."""
    if "gram" in rows.__dict__:
        return rows.gram[np.ix_(some, others)]
    out = np.empty((some.size, others.size))
    rows.evaluations += out.size
    part = rows.part(some, np.float64)

    def fill(columns: slice) -> None:
        rest = rows.part(others[columns], np.float64)
        tile = np.empty((part.size, rest.size))
        rows.fill(part, rest, tile)
        out[:, columns] = tile

    rows.backend.map(fill, list(sections(others.size, rows.tile_columns)))
    return out


def among(rows: KernelRows, index: Any) -> Any:
    """K among some rows, in float64, each pair computed once."""
    out = np.empty((index.size, index.size))
    if "gram" in rows.__dict__:
        return rows.gram[np.ix_(index, index)]
    _pairs(rows, index, out, _LEAF)
    return out


def _pairs(rows: KernelRows, index: Any, out: Any, leaf: int) -> None:
    """K among some rows, of each pair computed once.  Modified: out."""
    if index.size == 1:
        out[0, 0] = rows.diagonal[index[0]]
    elif index.size <= leaf:
        out[...] = rows.square(index, np.float64)
    elif index.size:
        half = index.size // 2
        out[half:, :half] = between(rows, index[half:], index[:half])
        out[:half, half:] = out[half:, :half].T
        _pairs(rows, index[:half], out[:half, :half], leaf)
        _pairs(rows, index[half:], out[half:, half:], leaf)
