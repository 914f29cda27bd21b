"""Gap-safe screening of a kernel problem: rows whose α at the optimum is proved by a gap.

For any (f, b) with a gap g, ‖f − f*‖ ≤ √(2g/λ), since P grows by (λ/2)‖f − f*‖² at least; so
|f(x_i) − f*(x_i)| ≤ ρ_i = √(2g K(x_i, x_i)/λ).  The best biases of margins that are off by at most
ρ = max ρ_i lie within ρ of the best ones of these margins, all of which are in the interval where
the loss is its least up to rounding.  With z* in an interval at both ends of which the maximiser
a*(z) is one and the same value, that value is α*_i, since a* never grows with z.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapsvm.problems.kernel import KernelProblem

_ROUNDING = 1e-12
_BISECTIONS = 60


def settled_rows(problem: KernelProblem, margins: Any, errors: Any, gap: float) -> tuple[Any, Any]:
    """Which rows are settled, and at which α; the margins are right up to ``errors``.

    The proof needs a positive definite kernel and a gap that bounds P − P*: none is settled else.
    """
    nothing = np.zeros(problem.n_rows, dtype=bool), np.zeros(problem.n_rows)
    if not problem.is_definite or not 0.0 <= gap < math.inf:
        return nothing
    gap += _ROUNDING * problem.primal_at_zero  # of the gap itself
    reach = np.sqrt(2.0 * gap / problem.lam * problem.rows.diagonal) + errors
    low, high = _biases(problem, margins, float(np.max(reach, initial=0.0)))
    if not math.isfinite(high - low):
        return nothing
    least, most = margins - reach + low, margins + reach + high
    swapped = problem.sign < 0
    ends = [
        problem.sign * np.where(swapped, other, end)
        for end, other in ((least, most), (most, least))
    ]
    slack = _ROUNDING * (1.0 + np.abs(ends[0]) + np.abs(ends[1]))
    curve = problem.loss.curve
    at_least, at_most = (
        curve.maximiser(end + side * slack, problem.t) for end, side in zip(ends, (-1.0, 1.0))
    )
    return at_least == at_most, at_most


def _biases(problem: KernelProblem, margins: Any, reach: float) -> tuple[float, float]:
    """An interval that holds every best bias at the optimum."""
    if problem.bias != "free":
        return 0.0, 0.0
    best = problem.best_bias(margins, 0.0)
    top = problem.loss_sum(margins, best) * (1.0 + _ROUNDING) + 1e-300

    def end(side: float) -> float:
        """Where the loss begins to grow."""
        near, far = 0.0, 1.0
        while problem.loss_sum(margins, best + side * far) <= top:
            near, far = far, 2.0 * far
            if far > 1e9:
                return math.inf
        for _ in range(_BISECTIONS):
            middle = 0.5 * (near + far)
            flat = problem.loss_sum(margins, best + side * middle) <= top
            near, far = (middle, far) if flat else (near, middle)
        return far

    return best - end(-1.0) - reach, best + end(1.0) + reach
