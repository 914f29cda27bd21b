"""Whether the index arrays of a sparse matrix stay within it.

Neither compiled loops nor SciPy look where indices point: one that lies outside reads, or writes,
whatever is there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_POINTERS = (
    "indptr must have n + 1 entries, start at 0, never decrease and end at the number of values, "
    "of which there are as many as indices"
)


def as_csr(X: Any) -> Any:
    """A SciPy matrix as CSR; SciPy converts without a look at where indices point."""
    if X.format == "csr":
        return X
    check_structure(X)
    return X.tocsr()


def check_structure(X: Any) -> None:
    """Raise a ValueError if reading a SciPy matrix would leave its arrays: a pass over its indices.

    lil and dok have no such arrays; what they are converted to has.
    """
    if X.format in ("csr", "csc", "bsr"):
        rows, columns = X.shape if X.ndim == 2 else (1, *X.shape)
        if X.format == "csc":
            rows, columns = columns, rows
        elif X.format == "bsr":
            height, width = X.blocksize
            rows, columns = rows // height, columns // width
        check_pointers(X.indptr, X.indices, len(X.data), rows, X.format)
        check_indices(X.indices, columns, "column" if X.format != "csc" else "row")
    elif X.format == "coo" and X.ndim == 2:
        for indices, size, name in zip((X.row, X.col), X.shape, ("row", "column")):
            if indices.shape != X.data.shape:
                raise ValueError(
                    f"X is not a valid COO matrix: there are {indices.size} {name} indices for "
                    f"{X.data.size} values"
                )
            check_indices(indices, size, name)
    elif X.format == "dia" and X.offsets.shape != X.data.shape[:1]:
        raise ValueError("X is not a valid DIA matrix: each diagonal needs one offset")


def check_pointers(indptr: Any, indices: Any, n_values: int, n_rows: int, layout: str) -> None:
    """Raise a ValueError if a row does not lie within the arrays; of unsigned numbers too."""
    whole = all(a.ndim == 1 and a.dtype.kind in "iu" for a in (indptr, indices))
    if not (
        whole
        and indptr.size == n_rows + 1
        and indices.size == n_values
        and indptr[0] == 0
        and indptr[-1] == n_values
        and not np.any(indptr[1:] < indptr[:-1])
    ):
        raise ValueError(f"X is not a valid {layout.upper()} matrix: {_POINTERS}")


def check_indices(indices: Any, size: int, name: str = "column") -> None:
    """Raise a ValueError unless all indices are from 0 to size - 1."""
    if indices.size == 0:
        return
    if indices.dtype.kind == "i" and indices.dtype.isnative:
        indices = indices.view(f"u{indices.dtype.itemsize}")  # a negative one becomes huge
    if indices.max() >= size or indices.min() < 0:
        raise outside(name, size)


def outside(name: str, size: int) -> ValueError:
    return ValueError(f"X has a {name} index outside 0..{size - 1}")
