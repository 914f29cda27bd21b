"""From rows, labels and an objective to certified models: what every door would do itself.

Classes become targets, C becomes λ, class weights meet sample weights, one problem or one per class
is solved, and what comes back are weights, dual variables and a model file's contents.  Estimators,
paths and the command line call this; scikit-learn is not needed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, Literal, Protocol

import numpy as np

from gapsvm.backends import get_backend
from gapsvm.losses.base import Loss
from gapsvm.losses.registry import LOSSES, get_loss
from gapsvm.models.linear import LinearModel
from gapsvm.problems.limits import check_square, lam_of
from gapsvm.problems.linear import Bias, LinearProblem, check_weights
from gapsvm.problems.multiclass import MulticlassProblem
from gapsvm.rows.matrix import Rows, checked_rows
from gapsvm.solvers.trace import Callback, Record, Result, Status
from gapsvm.training.several import Problems, Standing, train_several
from gapsvm.training.train import Fit, Options

_FEW_OF_EACH = 2
"""Rows of a class on average, below which whole numbers may be no labels."""
_JOINT_LOSSES = {"hinge": "crammer_singer", "logistic": "multinomial"}
"""What a loss of two classes is for all classes at once."""


@dataclass(frozen=True)
class Objective:
    """What is minimised, before there are rows.

    Parameters
    ----------
    loss : Loss
    lam : float, optional
        λ of the mean convention; by default 1/(C·S), S the sum of the weights.
    C : float
    bias : "none", "penalized" or "free"
    bias_scale : float
        Value of the constant feature whose weight a penalised bias is.
    radius : float
        The largest norm of the weights.
    multi_class : "ovr" or "crammer_singer"
        A problem for each class against the rest, or one over all.
    class_weight : dict, "balanced" or None
        Multiplies the sample weights.
    """

    loss: Loss
    lam: float | None = None
    C: float = 1.0
    bias: Bias = "free"
    bias_scale: float = 1.0
    radius: float = math.inf
    multi_class: Literal["ovr", "crammer_singer"] = "ovr"
    class_weight: Any = None

    def __post_init__(self) -> None:
        check_square("intercept_scaling", self.bias_scale)
        if self.lam == 0 and self.radius == math.inf:
            raise ValueError(
                "The 'lam' parameter may be 0 only where a radius is given, as by method "
                "'proximal(radius=1)'."
            )
        if self.is_joint:
            self._check_joint()

    @property
    def is_joint(self) -> bool:
        """Whether one problem is over all classes."""
        return self.multi_class != "ovr"

    def _check_joint(self) -> None:
        how = f"multi_class={self.multi_class!r}"
        if self.loss.name not in _JOINT_LOSSES:
            names = " or ".join(repr(name) for name in _JOINT_LOSSES)
            raise ValueError(f"{how} needs loss {names}, not {self.loss.name!r}")
        if self.bias == "free":
            raise ValueError(
                f"{how} has no unpenalised intercept; set penalize_intercept=True or "
                "fit_intercept=False"
            )
        if self.radius < math.inf:
            raise ValueError(f"{how} has no radius; set lam or C alone")

    def lam_for(self, total: float) -> float:
        """λ, where the weights have that sum."""
        return self.lam if self.lam is not None else lam_of(self.C, total)


def loss_of(spec: str | Loss, kind: str) -> Loss:
    """The loss of a name, a spec or itself, if it is of that kind: "margin" or "response"."""
    loss = get_loss(spec)
    if loss.kind != kind:
        fit = [name for name, entry in LOSSES.items() if entry().kind == kind]
        what = {"margin": "classes", "response": "numbers"}
        raise ValueError(
            f"loss {loss.name!r} is for {what[loss.kind]}; for {what[kind]} choose one of "
            f"{', '.join(fit)}"
        )
    return loss


# -- rows and what they are to say -----------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """Rows, what they are to say, and the objective: one problem, or one a class.

    Parameters
    ----------
    rows : Rows
    y : array
        The number of each row's class, or its response.
    classes : array, or None for regression
    weight : array or None
        Class weights included.
    """

    rows: Rows
    y: Any
    classes: Any
    weight: Any
    objective: Objective
    lam: float

    def __len__(self) -> int:
        """How many problems there are."""
        one = self.classes is None or self.objective.is_joint or len(self.classes) == 2
        return 1 if one else len(self.classes)

    @property
    def n_dual_rows(self) -> int:
        """How many dual variables a row has."""
        return len(self.classes) if self.objective.is_joint else len(self)

    def target(self, k: int) -> Any:
        """What the rows are to say in problem k."""
        if self.classes is None or self.objective.is_joint:
            return self.y
        return np.where(self.y == (1 if len(self) == 1 else k), 1.0, -1.0)

    def problem(self, k: int) -> LinearProblem | MulticlassProblem:
        """Problem k."""
        objective = self.objective
        common: dict[str, Any] = {
            "sample_weight": self.weight,
            "bias": objective.bias,
            "bias_scale": objective.bias_scale,
        }
        if objective.is_joint:
            loss = _JOINT_LOSSES[objective.loss.name]
            count = len(self.classes)
            return MulticlassProblem(self.rows, self.y, count, loss, self.lam, **common)
        given = (self.rows, self.target(k), objective.loss, self.lam)
        return LinearProblem(*given, radius=objective.radius, **common)

    def model_of(
        self, fitted: Fitted, feature_names: list[str] | None, label: str | int | None
    ) -> LinearModel:
        """What is stored, and predicts."""
        coef, intercept = fitted.functions
        each = len(fitted.fits) == len(coef)
        return LinearModel(
            coef=coef,
            intercept=intercept,
            classes=self.classes,
            loss=self.objective.loss.name,
            lam=self.lam,
            bias=self.objective.bias,
            primal=fitted.primal if each else fitted.primal[0],
            dual=fitted.dual if each else fitted.dual[0],
            method=fitted.fits[0].method,
            passes=fitted.passes,
            status=(Status.CONVERGED if fitted.converged else fitted.ending.status).name,
            feature_names=feature_names,
            label=label,
        )

    def at(self, lam: float) -> Task:
        """The same with another λ."""
        return replace(self, lam=float(lam))

    def solutions_of(self, coef: Any, intercept: Any, alpha: Any) -> list[Any] | None:
        """Where to begin, given an earlier model; None if it is of other rows or columns."""
        n, d = self.rows.shape
        if alpha is None or alpha.shape != (self.n_dual_rows, n) or coef.shape[1] != d:
            return None
        if self.objective.is_joint:
            return [MulticlassProblem.solution(coef, intercept, alpha)]
        one = [slice(k, k + 1) for k in range(len(self))]
        return [LinearProblem.solution(coef[k], intercept[k], alpha[k]) for k in one]


def classification(
    X: Any,
    y: Any,
    objective: Objective,
    sample_weight: Any = None,
    *,
    backend: str = "cpu",
    checked: Callable[[Any], Any] = np.asarray,
) -> Task:
    """Labels of any kind; ``checked`` looks at those that are not two whole numbers."""
    rows = checked_rows(X, get_backend(backend))
    found = labelled(y, objective.class_weight, sample_weight, rows.shape[0], checked=checked)
    lam = objective.lam_for(_total(found.weight, rows))
    return Task(rows, found.labels, found.classes, found.weight, objective, lam)


@dataclass(frozen=True)
class Labelled:
    """Classes as 0..k−1, their labels, and weights.

    Parameters
    ----------
    weight : array or None
        Of each row, those of the classes included.
    per_class : array
        Weights of the classes.
    """

    labels: Any
    classes: Any
    weight: Any
    per_class: Any


def labelled(
    y: Any,
    class_weight: Any,
    sample_weight: Any,
    n_rows: int,
    *,
    checked: Callable[[Any], Any] = np.asarray,
) -> Labelled:
    """Labels of any kind and their weights, or an error that says what is wrong with them."""
    labels, classes = encoded(y, checked)
    if len(classes) < 2:
        raise ValueError(
            f"a classifier needs at least two classes, but y holds one class: {classes.tolist()!r}"
        )
    weight, per_class = checked_weight(sample_weight, n_rows), np.ones(len(classes))
    if class_weight is not None:
        per_class = class_weights(class_weight, classes, labels, weight)
        with np.errstate(over="ignore"):
            weight = per_class[labels] * (1.0 if weight is None else weight)
        weight = check_weights(weight, len(labels), "class_weight times sample_weight")
    if weight is not None:
        mass = np.bincount(labels, weights=weight, minlength=len(classes))
        if not mass.all():
            raise ValueError(
                "every class needs a positive weight; classes whose weights are all zero: "
                f"{classes[mass == 0].tolist()!r}"
            )
    return Labelled(labels, classes, weight, per_class)


def regression(
    X: Any, y: Any, objective: Objective, sample_weight: Any = None, *, backend: str = "cpu"
) -> Task:
    """Responses, one a row."""
    if objective.class_weight is not None:
        raise ValueError("class weights need classes; this loss is for regression")
    rows = checked_rows(X, get_backend(backend))
    weight = checked_weight(sample_weight, rows.shape[0])
    lam = objective.lam_for(_total(weight, rows))
    return Task(rows, np.asarray(y, dtype=np.float64), None, weight, objective, lam)


def _total(weight: Any, rows: Rows) -> float:
    return float(rows.shape[0] if weight is None else weight.sum())


def encoded(y: Any, checked: Callable[[Any], Any] = np.asarray) -> tuple[Any, Any]:
    """Labels as 0..k−1 and the classes; two whole numbers are found without sorting."""
    y = np.asarray(y)
    if y.ndim == 1 and y.dtype.kind in "biuf" and y.size:
        low, high = y.min(), y.max()
        is_high = y == high
        whole = float(low).is_integer() and float(high).is_integer()
        if whole and low != high and np.all(is_high | (y == low)):
            return is_high.astype(np.intp), np.array([low, high])
    if y.ndim == 1 and y.dtype.kind in "biu" and y.size:
        classes, labels = np.unique(y, return_inverse=True)
        if _FEW_OF_EACH * len(classes) <= y.size:  # nothing that a check could complain about
            return labels, classes
    classes, labels = np.unique(checked(y), return_inverse=True)
    return labels, classes


def numbers_of(y: Any, classes: Any) -> Any:
    """0, 1, … for labels of which all are known already."""
    numbers = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    strange = classes[numbers] != y
    if np.any(strange):
        labels = np.unique(np.asarray(y)[strange])
        raise ValueError(
            f"y has labels that are not in classes {classes.tolist()}: {labels[:10].tolist()}"
        )
    return numbers


def checked_weight(sample_weight: Any, n: int) -> Any:
    """One weight a row as float64, or None where all are 1."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    return check_weights(np.full(n, float(weight)) if weight.ndim == 0 else weight, n)


def class_weights(given: Any, classes: Any, labels: Any, weight: Any) -> Any:
    """One weight per class; "balanced" gives every class the same share of the total weight."""
    if isinstance(given, str):
        mass = np.bincount(labels, weights=weight, minlength=len(classes))
        return mass.sum() / (len(classes) * np.where(mass > 0, mass, 1.0))
    known = dict(zip(classes.tolist(), range(len(classes))))
    unknown = [label for label in given if label not in known]
    if unknown:
        raise ValueError(f"class_weight names classes that are not in y: {unknown!r}")
    per_class = np.ones(len(classes))
    for label, value in given.items():
        if not (isinstance(value, Real) and 0 <= float(value) < math.inf):
            raise ValueError(
                f"class_weight of class {label!r} is {value!r}; class weights must be finite "
                "numbers, >= 0"
            )
        per_class[known[label]] = value
    return per_class


# -- the fit, and the way back ---------------------------------------------------------------------


class Trainable(Problems, Protocol):
    """Problems whose solutions make a model."""

    def model_of(
        self, fitted: Fitted, feature_names: list[str] | None, label: str | int | None
    ) -> Any:
        """What is stored, and predicts."""


def fit(
    task: Trainable,
    options: Options,
    *,
    warm: Sequence[Any] | None = None,
    watch: Callable[[int], Sequence[Callback]] = lambda k: (),
    standing: Standing | None = None,
) -> Fitted:
    """Train every problem of a task; see ``gapsvm.training.several.train_several``."""
    return Fitted(task, train_several(task, options, warm=warm, watch=watch, standing=standing))


@dataclass(frozen=True)
class Fitted:
    """The certified solutions of a task, and the model they make."""

    task: Trainable
    fits: list[Fit]

    @property
    def results(self) -> list[Result]:
        return [fit.result for fit in self.fits]

    @cached_property
    def functions(self) -> tuple[Any, Any]:
        """Weights and intercepts, a row for each linear function."""
        coef, intercept = zip(*(fit.solution.functions for fit in self.fits))
        return np.concatenate(coef), np.concatenate(intercept)

    @property
    def alpha(self) -> Any:
        """Dual variables, a row for each linear function."""
        return np.concatenate([fit.solution.dual_rows for fit in self.fits])

    @property
    def gaps(self) -> Any:
        return np.array([result.gap for result in self.results])

    @property
    def primal(self) -> Any:
        return np.array([result.certificate.primal for result in self.results])

    @property
    def dual(self) -> Any:
        return np.array([result.certificate.dual for result in self.results])

    @property
    def traces(self) -> list[list[Record]]:
        return [result.trace for result in self.results]

    @property
    def methods(self) -> list[str]:
        return [fit.method for fit in self.fits]

    @property
    def note(self) -> str:
        """What the method chose by itself, and why."""
        return self.fits[0].note

    @property
    def passes(self) -> float:
        """Of the problem that took most."""
        return max(result.passes for result in self.results)

    @property
    def converged(self) -> bool:
        return all(result.converged for result in self.results)

    @property
    def ending(self) -> Result:
        """The first that did not converge; if all did, the first."""
        return next((r for r in self.results if not r.converged), self.results[0])

    @property
    def worst(self) -> Fit:
        """The one with the largest gap."""
        return max(self.fits, key=lambda fit: fit.result.gap)

    def model(self, feature_names: list[str] | None = None, label: str | int | None = None) -> Any:
        """What is stored, and predicts."""
        return self.task.model_of(self, feature_names, label)
