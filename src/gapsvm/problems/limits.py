"""Numbers with which the objective could not be computed, refused under the name they were given.

Squares and quotients of what is let through are finite and not zero, so that nothing overflows or
vanishes before the first step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_LEAST, MOST = 1e-150, 1e150
"""Their squares are ordinary floats."""
ULPS = 4 * float(np.finfo(np.float64).eps)
"""By how much a computed sum may be off, as a share of the sizes of its terms."""
_SMALL, _LARGE = 1e-300, 1e300


def check_shape(n_rows: int, n_columns: int) -> None:
    """A problem has a row and a column at least."""
    if n_rows < 1 or n_columns < 1:
        none = "rows" if n_rows < 1 else "columns"
        raise ValueError(
            f"X has no {none} (its shape is {(n_rows, n_columns)}): there is nothing to learn from"
        )


def check_square(name: str, value: float) -> None:
    """For numbers that enter as their squares: refuses what under- or overflows."""
    if not _LEAST <= value <= MOST:
        raise ValueError(
            f"{name} must lie between {_LEAST:g} and {MOST:g}, so that its square is an ordinary "
            f"float; got {value!r}"
        )


def check_total(total: float, name: str = "sample_weight") -> None:
    """For the sum of the weights."""
    if not _LEAST <= total <= MOST:
        raise ValueError(
            f"the sum of {name} is {total:g}; scale the weights so that it lies between "
            f"{_LEAST:g} and {MOST:g}"
        )


def check_lam(lam: float, total: float) -> None:
    """For λ > 0: w(α) has the factor 1/(λS), S the sum of the weights."""
    if lam and not _SMALL <= lam * total <= _LARGE:
        size, cure = ("small", "raise") if lam < 1 else ("large", "lower")
        raise ValueError(
            f"lam = {lam!r} is too {size}: 1/(lam · sum of weights) under- or overflows; {cure} lam"
        )


_NORMS = "squared row norms of {} (a penalised bias included)"


def check_curvature(
    lam: float, largest: float, heaviest: float, total: float, named: str = _NORMS
) -> None:
    """For the curvature of the dual along α_i, s_i(‖x_i‖² + ρ)/(λS), at its largest."""
    if not largest * heaviest <= _LARGE * (lam or 1.0) * total:
        raise ValueError(
            f"the objective overflows: {named.format(f'{largest:g}')}, divided by "
            f"lam = {lam!r}, exceed {_LARGE:g}; rescale X, or raise lam"
        )


def check_responses(curve: Any, y: Any, total: float) -> None:
    """For responses: S·φ at the largest residual that w = 0 and a bias can have is finite, and
    the loss of a response beyond the tube is not 0."""
    largest = float(np.max(np.abs(y), initial=0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        most = total * float(curve.value(-largest, largest))
        least = float(curve.value(0.0, largest))
    if not most <= _LARGE:
        raise ValueError(
            f"the objective overflows: y has values of size {largest:g}; rescale y (and epsilon)"
        )
    if largest > curve.eps and least < 1.0 / _LARGE:
        raise ValueError(
            f"the objective underflows: no value of y is larger than {largest:g}; rescale y"
        )


def lam_of(C: float, total: float) -> float:
    """λ = 1/(C·S) of the mean convention."""
    check_total(total)
    product = C * total
    if not (_SMALL <= product <= _LARGE and _SMALL <= C <= _LARGE):
        size, cure = ("small", "raise") if C < 1 else ("large", "lower")
        raise ValueError(
            f"C = {C!r} is too {size}: lam = 1/(C · sum of weights) under- or overflows; {cure} C"
        )
    return 1.0 / product
