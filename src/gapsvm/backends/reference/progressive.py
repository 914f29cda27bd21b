"""Steps over a stream: every row is predicted before it is learnt from."""

from __future__ import annotations

from typing import Any

from gapsvm.backends.reference.rows import Matrix, margins_of
from gapsvm.backends.reference.subgradient import subgradient_steps
from gapsvm.types.steps import Averaging, Ball, BiasStep, StepSizes, WeightArrays

Curve = Any


def progressive_steps(
    X: Matrix,
    curve: Curve,
    table: Any,
    batches: Any,
    sizes: StepSizes,
    averaging: Averaging,
    bias_step: BiasStep,
    ball: Ball,
    weights: WeightArrays,
    margins: Any,
) -> int:
    scalars = weights.scalars
    for k, batch in enumerate(batches):
        margins[batch] = scalars[0] * margins_of(X, batch, weights.v) + scalars[2]
        one = slice(k, k + 1)
        size = StepSizes(sizes.eta[one], sizes.decay[one])
        rest = (size, averaging, bias_step, ball, weights)
        subgradient_steps(X, curve, table, batches[one], *rest)
        if scalars[0] ** 2 * scalars[1] >= ball.leave_at**2:
            return k + 1
    return len(batches)
