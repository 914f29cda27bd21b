"""Documents by query: who is compared with whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Queries:
    """The documents of each query; rows of a query need not be neighbours."""

    names: Any
    """The qid of each query, ascending."""
    of_row: Any
    """The number of the query that a row belongs to."""
    order: Any
    """Row numbers, query by query."""
    starts: Any
    """order[starts[q]:starts[q + 1]] are those of query q."""

    def __len__(self) -> int:
        return len(self.names)

    def rows(self, q: int) -> Any:
        return self.order[self.starts[q] : self.starts[q + 1]]

    def sums(self, values: Any) -> Any:
        """Σ of a number a row, for each query."""
        return np.bincount(self.of_row, weights=values, minlength=len(self))

    def ascending(self, scores: Any) -> Any:
        """Row numbers query by query, scores ascending."""
        order = np.argsort(scores)
        queries = self.of_row.astype(np.min_scalar_type(len(self)))  # short numbers: a radix sort
        return order[np.argsort(queries[order], kind="stable")]


def queries_of(qid: Any, n: int) -> Queries:
    """Rows grouped by qid, or an error that says what is wrong with it."""
    if qid is None:
        raise ValueError(
            "qid is missing: a ranking needs to know which documents belong to one query; pass an "
            "array with the query of each row"
        )
    qid = np.asarray(qid)
    if qid.shape != (n,):
        raise ValueError(f"qid has shape {qid.shape}, but X has {n} rows")
    if qid.dtype.kind == "O":
        missing = np.array([name is None or name != name for name in qid])
        if missing.any():
            raise ValueError(f"qid is missing in row {_first(missing)}")
        if len({isinstance(name, str) for name in qid}) > 1:
            raise ValueError("qid must hold texts or numbers, not both")
    if qid.dtype.kind == "f" and not np.isfinite(qid).all():
        raise ValueError(f"qid contains NaN or infinity, first in row {_first(~np.isfinite(qid))}")
    names, of_row = np.unique(qid, return_inverse=True)
    counts = np.bincount(of_row, minlength=len(names))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Queries(names, of_row, np.argsort(of_row, kind="stable").astype(np.int64), starts)


def _first(mask: Any) -> int:
    return int(np.flatnonzero(mask)[0])
