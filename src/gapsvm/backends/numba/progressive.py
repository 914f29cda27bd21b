"""Steps over a stream: every row is predicted before it is learnt from."""

from __future__ import annotations

import numpy as np

from gapsvm.backends.numba.jit import kernel
from gapsvm.backends.numba.rows import row_dot
from gapsvm.backends.numba.subgradient import subgradient_loop
from gapsvm.types.steps import StepSizes


@kernel
def progressive_loop(
    X, curve, table, batches, sizes, averaging, bias_step, ball, weights, margins, pulls
):  # fmt: skip
    """``subgradient_loop`` batch by batch, with a look at the margins before each.

    Given     what ``subgradient_loop`` is given.
    Returns   the steps done.
    Modified  what it modifies, and margins_i = ⟨x_i, w⟩ + bias as of before the step of row i.
    """
    scalars = weights.scalars
    for k in range(batches.shape[0]):
        for j in range(batches.shape[1]):
            i = np.uint64(batches[k, j])
            margins[i] = scalars[0] * row_dot(X, i, weights.v) + scalars[2]
        one = slice(k, k + 1)
        size = StepSizes(sizes.eta[one], sizes.decay[one])
        subgradient_loop(
            X, curve, table, batches[one], size, averaging, bias_step, ball, weights, pulls
        )
        if scalars[0] * scalars[0] * scalars[1] >= ball.leave_at * ball.leave_at:
            return k + 1
    return batches.shape[0]


def progressive_steps(
    X, curve, table, batches, sizes, averaging, bias_step, ball, weights, margins
):  # fmt: skip
    """``progressive_loop`` with room for the pulls of a batch."""
    pulls = np.empty(batches.shape[1])
    return progressive_loop(
        X, curve, table, batches, sizes, averaging, bias_step, ball, weights, margins, pulls
    )
