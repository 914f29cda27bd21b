"""Steps of SDCA in planes: to where D is largest in the plane of the last two moves.

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

_SCREENINGS_BEFORE, _PASSES_BEFORE = 3, 3
"""Screenings, and passes since the last, before such steps begin: most gaps fall faster."""
_VALUES_PER_WEIGHT, _FEWEST_ROWS = 4, 512
"""Stored values per weight to visit between two steps, since they go over all weights, and rows,
since short passes are made several at a time."""
_EXACT = 500
"""w must have moved by so many times its rounding error."""


def step_in_plane(problem: Any, state: Any, backend: Backend, ratio: float) -> int:
    """A step if one is due before a pass; how many rows may be visited until the next one is.

    Modified: table, w, bias, plane and plane_at of the state.
    """
    if state.screenings < _SCREENINGS_BEFORE:
        return int(problem.n_rows)
    if state.passes < _PASSES_BEFORE:
        return int((_PASSES_BEFORE - state.passes) * state.active)
    a_row = max(1.0, problem.rows.n_stored / problem.n_rows)
    period = max(_FEWEST_ROWS, int(_VALUES_PER_WEIGHT * problem.n_features / a_row))
    visited = state.rows_visited - state.plane_at
    if not state.plane:
        rows = np.sort(state.order[: state.active])
        alpha = state.table[4 * rows.astype(np.int64)]
        w, still = state.w.copy(), np.zeros_like(state.w)
        state.plane = (rows, alpha, np.zeros_like(alpha), w, still)
    elif visited >= period:
        updates = max(1.0, visited * a_row / problem.n_features)  # of a weight: they round it
        state.bias = backend.plane_step(
            problem.rows.view,
            problem.loss.curve,
            state.table,
            state.w,
            state.bias,
            ratio,
            _EXACT * float(np.finfo(state.w.dtype).eps) * math.sqrt(updates),
            state.plane,
        )
    else:
        return period - int(visited)
    state.plane_at = state.rows_visited
    return period
