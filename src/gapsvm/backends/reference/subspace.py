"""The best point of the subspace of the last two moves of α."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapsvm.backends.reference.rows import Matrix, row
from gapsvm.types.curves import FiveNumbers
from gapsvm.types.steps import LastMoves
from gapsvm.types.tables import ALPHA


def subspace_step(
    X: Matrix,
    curve: FiveNumbers,
    table: Any,
    w: Any,
    bias: float,
    ratio: float,
    least: float,
    last: LastMoves,
) -> float:
    a, _, c, t = table[last.rows].T
    moves = np.array([a - last.alpha, last.move])
    moves_of_w = np.array([w - last.w, last.move_w])
    masses = moves @ c

    def dual(a: Any, w: Any, mass: float) -> float:
        """D/λ but for constants, after Σ c_i α_i has grown by ``mass``."""
        values = float(np.abs(c) @ -curve.conjugate(a, t))
        return values - 0.5 * float(w @ w) - mass * (bias + 0.5 * ratio * mass)

    slope = np.abs(c) * (t - curve.curvature * a - curve.eps * np.sign(a)) - c * bias
    gradient = moves @ slope - moves_of_w @ w
    hessian = moves_of_w @ moves_of_w.T + curve.curvature * (moves * np.abs(c)) @ moves.T
    hessian += ratio * np.outer(masses, masses)
    far_enough = float(moves_of_w[0] @ moves_of_w[0]) > least**2 * float(w @ w)
    best = _best(hessian, gradient) if far_enough else np.zeros(2)
    for share in 0.5 ** np.arange(6 if far_enough else 0):
        step = share * best
        aim = a + step @ moves
        new = np.where(curve.is_free(a), np.clip(aim, curve.lo, curve.hi), a)
        new = np.where((curve.eps > 0) & (new * a < 0), 0.0, new)
        held = np.flatnonzero(new != aim)
        if 8 * held.size <= last.rows.size:
            new_w, mass = w + step @ moves_of_w, float(c @ (new - a))
            for k in held:
                columns, x = row(X, int(last.rows[k]))
                new_w[columns] += c[k] * (new[k] - aim[k]) * x
            rises = dual(new, new_w, mass) > dual(a, w, 0.0)
            if rises or (held.size == 0 and curve.eps == 0):
                table[last.rows, ALPHA] = a = new
                w[:] = new_w
                bias += ratio * mass
            break
    last.move[:], last.alpha[:] = a - last.alpha, a
    last.move_w[:], last.w[:] = w - last.w, w
    return bias


def _best(hessian: Any, gradient: Any) -> Any:
    """The maximiser of the quadratic, not too far off."""
    best = np.zeros(2)
    left = hessian[1, 1] - hessian[0, 1] ** 2 / hessian[0, 0]
    if left > 1e-10 * hessian[1, 1]:
        best[1] = np.clip(np.linalg.solve(hessian, gradient)[1], -1.0, 1.0)
    best[0] = (gradient[0] - hessian[0, 1] * best[1]) / hessian[0, 0]
    return best * (16 / max(np.abs(best[0]), 16))
