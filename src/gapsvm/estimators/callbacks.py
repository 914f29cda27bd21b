"""scikit-learn's own callbacks (1.9 and later): an evaluation of the gap is a task of the fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from gapsvm.solvers.trace import Callback, Record

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks

    WRAPPER_FRAMES = 1
    """Frames that ``with_callbacks`` puts between a user and ``fit``, for warnings."""
except ImportError:  # scikit-learn before 1.9: estimators have no set_callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for the mixin that this scikit-learn does not have."""

    def _with_callbacks(method: Any) -> Any:
        return method

    WRAPPER_FRAMES = 0

Fit = TypeVar("Fit", bound=Callable[..., Any])


def with_callbacks(fit: Fit) -> Fit:
    """``fit`` with scikit-learn's callbacks around it, where there are some; its type stays."""
    return cast(Fit, _with_callbacks(fit))


class CallbackBridge:
    """Turns records of the loop into scikit-learn's task hooks.

    The tree of tasks is fit → evaluations, and with several problems fit → problem → evaluations.
    ``attributes`` makes the fitted attributes of a one-problem model from a record's solution.
    """

    def __init__(
        self,
        estimator: Any,
        data: dict[str, Any],
        problems: int,
        attributes: Callable[[Any], dict[str, Any]],
    ) -> None:
        self.estimator, self.data = estimator, data
        self.attributes = attributes if problems == 1 else None
        several = problems > 1
        self.fit = estimator._init_callback_context(
            max_subtasks=problems if several else None, sequential_subtasks=not several
        )
        self.fit.call_on_fit_task_begin(estimator=estimator, **data)
        self.parents = [
            self.fit.subcontext("problem", task_id=k, max_subtasks=None) if several else self.fit
            for k in range(problems)
        ]
        if several:
            for parent in self.parents:
                parent.call_on_fit_task_begin(estimator=estimator, **data)

    def watch(self, problem: int) -> list[Callback]:
        """The callbacks of one problem's loop."""
        parent = self.parents[problem]

        def on_record(record: Record) -> bool:
            task = parent.subcontext("evaluation")
            task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
            make = self.attributes
            known = None if make is None else lambda: make(record.solution)
            return bool(
                task.call_on_fit_task_end(
                    estimator=self.estimator, reconstruction_attributes=known, **self.data
                )
            )

        return [on_record]

    def close(self) -> None:
        """The fit is done."""
        if len(self.parents) > 1:
            for parent in self.parents:
                parent.call_on_fit_task_end(estimator=self.estimator, **self.data)
        self.fit.call_on_fit_task_end(estimator=self.estimator, **self.data)
