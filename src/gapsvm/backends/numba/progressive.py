"""Steps over a stream: every row is predicted before it is learnt from."""

from __future__ import annotations

import numpy as np

from gapsvm.backends.numba.jit import kernel
from gapsvm.backends.numba.rows import row_dot
from gapsvm.backends.numba.subgradient import subgradient_kernel


@kernel
def _progressive_steps(
    X, loss, table, batches, eta, decay, bias_decays, keep, gain, ratio, bias_norm, radius,
    leave_at, v, u, scalars, margins, pull,
):  # fmt: skip
    """``subgradient_kernel`` batch by batch, with a look at the margins before each.

    Given     what ``subgradient_kernel`` is given.
    Returns   the steps done.
    Modified  what it modifies, and margins_i = ⟨x_i, w⟩ + bias as of before the step of row i.
    """
    for k in range(batches.shape[0]):
        for j in range(batches.shape[1]):
            i = np.uint64(batches[k, j])
            margins[i] = scalars[0] * row_dot(X, i, v) + scalars[2]
        one = slice(k, k + 1)
        subgradient_kernel(
            X, loss, table, batches[one], eta[one], decay[one], bias_decays, keep, gain,
            ratio, bias_norm, radius, leave_at, v, u, scalars, pull,
        )  # fmt: skip
        if scalars[0] * scalars[0] * scalars[1] >= leave_at * leave_at:
            return k + 1
    return batches.shape[0]


def progressive_steps(*arguments):
    """``_progressive_steps`` with room for the pulls of a batch."""
    return _progressive_steps(*arguments, np.empty(arguments[3].shape[1]))
