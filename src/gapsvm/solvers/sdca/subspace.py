"""Steps of SDCA in the subspace of its last two moves, to where D is largest there.

When nearly every α has found its place, some directions are left in which D is almost flat, rows
that are nearly alike for example, and a pass goes a small part of the way along them.  Between two
passes D is maximised over

    α + c₁(α − α₀) + c₂ d,   α₀ where the last such step ended, d the move that ended there

which is how conjugate gradients go on from a preconditioned step, the passes being that step.  D is
a quadratic there, and all it takes are the moves of α and of w; no row is read but those that are
held at a bound.  A step that would hold many rows is halved, and none lowers D.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.linear import LinearProblem
from gapsvm.solvers.sdca.parallel import Ascent
from gapsvm.types.steps import LastMoves
from gapsvm.types.tables import ALPHA

_SCREENINGS_BEFORE, _PASSES_BEFORE = 3, 3
"""Screenings, and passes since the last, before such steps begin: most gaps fall faster."""
_VALUES_PER_WEIGHT, _FEWEST_ROWS = 4, 512
"""Stored values per weight to visit between two steps, since they go over all weights, and rows,
since short passes are made several at a time."""
_EXACT = 500
"""w must have moved by so many times its rounding error."""


def rows_to_wait(problem: LinearProblem, screenings: int, passes: int, active: int) -> int:
    """Rows to visit before steps may begin; ``passes`` are those since the last screening."""
    if screenings < _SCREENINGS_BEFORE:
        return int(problem.n_rows)
    return max(0, _PASSES_BEFORE - passes) * active


def period(problem: LinearProblem) -> int:
    """Rows to visit between two steps."""
    return max(_FEWEST_ROWS, int(_VALUES_PER_WEIGHT * problem.n_features / _a_row(problem)))


def begin(table: Any, rows: Any, w: Any) -> LastMoves:
    """The first step is yet to come: nothing has moved."""
    rows = np.sort(rows)
    alpha = table[rows, ALPHA]
    return LastMoves(rows, alpha, np.zeros_like(alpha), w.copy(), np.zeros_like(w))


def take_step(
    problem: LinearProblem,
    given: Ascent,
    backend: Backend,
    last: LastMoves,
    since: int,
) -> float:
    """The step, and the bias after it.  Modified: table and w of what is given, last."""
    updates = max(1.0, since * _a_row(problem) / problem.n_features)  # of a weight: they round it
    least = _EXACT * float(np.finfo(given.w.dtype).eps) * math.sqrt(updates)
    return float(
        backend.subspace_step(
            *(problem.rows.view, problem.loss.curve, given.table, given.w, given.bias),
            *(given.ratio, least, last),
        )
    )


def _a_row(problem: LinearProblem) -> float:
    """Stored values of a row."""
    return max(1.0, problem.rows.n_stored / problem.n_rows)
