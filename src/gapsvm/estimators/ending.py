"""What a user is told of how a fit ended."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from gapsvm.solvers.trace import Status

_AS_ASKED = (Status.CONVERGED, Status.PROMISED, Status.SETTLED)
_ADVICE = {
    Status.MAX_PASSES: "raise max_iter or tol",
    Status.TIME_LIMIT: "raise time_limit or tol",
    Status.STALLED: "raise tol, or rescale the features",
    Status.DIVERGED: "rescale the features",
}


def tell_ending(
    estimator: Any, count: int, unit: tuple[str, str] = ("pass", "passes"), wrappers: int = 0
) -> None:
    """Warn where a budget or floating point ended a fit; the model is in place by now.

    To be called by the ``_report`` of an estimator; ``wrappers``: frames between ``whole_fit`` and
    the user.  Ctrl-C goes on from here.
    """
    status = Status[estimator.status_]
    if status is Status.INTERRUPTED:
        raise KeyboardInterrupt("the estimator holds the last certified model")
    if status in _AS_ASKED:
        return
    warnings.warn(
        f"certified gap {estimator.dual_gap_:.3e} after {count} {unit[count != 1]}, "
        f"tol={estimator.tol:g} not reached: {estimator._ending}. The model is usable: its "
        f"objective is within the gap of the optimum. To get closer, "
        f"{_ADVICE.get(status, 'raise tol')}.",
        ConvergenceWarning,
        stacklevel=4 + wrappers,
    )
