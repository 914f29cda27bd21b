"""A fit as a whole: it leaves a model, or the estimator as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
Model = TypeVar("Model")


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Within it, what fails leaves the estimator's attributes as they were."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def whole_fit(fit: Callable[P, Model]) -> Callable[P, Model]:
    """``fit``, all or nothing, and then the estimator's ``_report`` of how it ended.

    What the report raises, such as the KeyboardInterrupt of a fit that was stopped, leaves the
    model in place.
    """

    @wraps(fit)
    def whole(*args: P.args, **options: P.kwargs) -> Model:
        estimator: Any = args[0]
        with all_or_nothing(estimator):
            fitted = fit(*args, **options)
        estimator._report()
        return fitted

    return whole
