"""Writing svmlight / LIBSVM text that `gapsvm.read_svmlight` reads back bit for bit."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from gapsvm.backends.structure import as_csr, check_structure
from gapsvm.system.atomic import replacing
from gapsvm.system.lazy import sparse

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_ROWS_PER_WRITE = 1 << 12


def write_svmlight(
    path: str | os.PathLike[str],
    X: Any,
    y: Any,
    qid: Any = None,
    *,
    zero_based: bool = False,
) -> None:
    """Write rows and labels as svmlight text that `read_svmlight` reads back bit for bit.

    The file appears under its name when it is complete, or not at all.  Names that end in .gz,
    .bz2 or .xz are compressed.  The format does not keep the number of columns: pass it to the
    reader if the last ones may be empty.

    Parameters
    ----------
    path
        The file to write or replace.
    X : array or sparse matrix of shape (n, d)
        Stored zeros of a sparse matrix are written, zeros of an array are not.
    y : array of shape (n,)
    qid : integer array of shape (n,), optional
    zero_based
        Whether the first column is called 0; LIBSVM and most others call it 1.
    """
    X = as_csr(X) if sparse.issparse(X) else sparse.csr_matrix(X)
    check_structure(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    labels = np.asarray(y, dtype=np.float64)
    columns = [labels] if qid is None else [labels, np.asarray(qid)]
    for name, column in zip(("y", "qid"), columns):
        if column.shape != (X.shape[0],):
            raise ValueError(f"{name} has shape {column.shape}, but X has {X.shape[0]} rows")
    if not (np.isfinite(X.data).all() and np.isfinite(labels).all()):
        raise ValueError("X and y must be finite: svmlight text has no NaN and no infinity")
    if qid is not None and (columns[1].dtype.kind not in "iu" or columns[1].min(initial=0) < 0):
        raise ValueError("qid must be integers, not negative")
    with _replacing(Path(path)) as file:
        for start in range(0, X.shape[0], _ROWS_PER_WRITE):
            rows = slice(start, start + _ROWS_PER_WRITE)
            file.write(_format(X[rows], *(column[rows] for column in columns), base=not zero_based))


def _format(X: csr_matrix, labels: np.ndarray, *qid: np.ndarray, base: bool) -> bytes:
    """Rows as text.  ``repr`` gives the shortest digits that read back as the same float64."""
    indices = (X.indices.astype(np.int64) + base).tolist()
    values = X.data.astype(np.float64).tolist()
    pairs = [f"{index}:{value!r}" for index, value in zip(indices, values)]
    ends = X.indptr.tolist()
    starts = [f"{label!r}" for label in labels.tolist()]
    if qid:
        starts = [f"{start} qid:{number}" for start, number in zip(starts, qid[0].tolist())]
    lines = (
        " ".join((start, *pairs[begin:end], "\n"))
        for start, begin, end in zip(starts, ends, ends[1:])
    )
    # A blank ends every number, so that this turns each 1.0 into 1 and touches nothing else.
    return "".join(lines).replace(".0 ", " ").replace(" \n", "\n").encode("ascii")


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """As `replacing`, compressed if the name says so."""
    compressor: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(path.suffix)
    with replacing(path) as file:
        if compressor is None:
            yield file
        else:
            with compressor(file, "wb") as compressed:
                yield compressed
