"""Learning from a stream: each row is predicted, then learnt from, then forgotten.

The steps are those of ``solvers.subgradient``, on consecutive rows.  α is not kept, so there is no
certificate.  In its place stands progressive validation: the error and the loss of predictions that
were made before their rows were learnt from, an honest estimate of what new rows will cost.
scikit-learn is not needed here; ``OnlineSVC``, ``OnlineSVR`` and ``gapsvm stream`` are thin
over this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend, get_backend
from gapsvm.losses.base import Loss
from gapsvm.problems.limits import check_lam, check_responses, check_square
from gapsvm.problems.linear import Bias
from gapsvm.registry import parsed
from gapsvm.rows.matrix import Rows, check_width, checked_rows
from gapsvm.solvers.row_order import one_pass
from gapsvm.solvers.subgradient import optimistic
from gapsvm.solvers.subgradient.averages import LastIterate
from gapsvm.solvers.subgradient.balls import ball_radius, limit_of_bias, stiffness_of
from gapsvm.solvers.subgradient.rules import (
    STEP_RULES,
    OptimisticRule,
    Scale,
    StepRule,
    damped,
    get_step_rule,
    needs_ball,
)
from gapsvm.solvers.subgradient.solver import Subgradient
from gapsvm.solvers.subgradient.state import Course, MovingWeights
from gapsvm.training.methods import METHODS
from gapsvm.types.curves import FiveNumbers
from gapsvm.types.matrices import CSR, Dense
from gapsvm.types.steps import Averaging, Ball, BiasStep, StepSizes
from gapsvm.types.tables import SIGNED_WEIGHT, TARGET

STREAM_AVERAGES = (None, "uniform", "tail", "decaying")
_OF_A_STREAM = ("batch_size", "average", "projection", "horizon")
"""Parameters of ``Subgradient`` that mean something where rows come as they come."""
HORIZON = 100_000
"""Steps that the rules norma, zhang and bound foresee."""
_FIRST_WINDOW, _LAST_WINDOW, _GROWTH = 32, 1 << 16, 1.25
_ONE = np.ones(1)
_OVERFLOW = (
    "the steps overflowed: they are too long for these rows and this loss; choose another rule "
    "(optimistic), a larger lam, or scale the rows"
)
_CHUNK_ROWS = 1 << 15
"""Rows at a time, ..."""
_COPIED_VALUES = 1 << 22
"""... and stored values, where rows are copied because they are not gone through as they stand."""


class OnlineLearner:
    """One linear function, or one per class, that learns from rows in the order they come.

    Rows of weight zero are left out before batches are formed, so they change nothing.  To learn
    from some rows in two calls is the same, bit for bit, as in one, if the first call holds a
    multiple of ``batch_size`` rows.

    Parameters
    ----------
    loss : Loss
    lam : float
        λ of the objective: mean loss + (λ/2)‖w‖².
    n_classes : int, optional
        Of a margin loss: two share one function, more have one each against the rest.
    n_features : int
        Columns; see ``grow``.
    step_rule : name or spec of ``STEP_RULES``, a ``StepRule``, or "auto"
        "auto": proximal; for responses and losses of bounded slope zhang, whose steps are shorter.
    batch_size : int
        Rows of a step; what is left at the end of a call is a smaller batch.
    average : None, "uniform", "tail" or "decaying"
        What ``weights`` gives: the last iterate or a mean of them; see ``Subgradient``.
    projection : bool, float or "auto"
        As for ``Subgradient``, with the largest |y| so far in the place of P₀.  "auto": where the
        rule counts on a ball, or the loss has slopes without a bound.
    bias : "free", "penalized" or "none"
        A free bias takes the step of the weights and is not shrunk.
    horizon : int
        Steps foreseen, for the rules that need to know.
    """

    def __init__(
        self,
        loss: Loss,
        lam: float,
        *,
        n_classes: int | None = None,
        n_features: int = 0,
        step_rule: str | StepRule = "auto",
        batch_size: int = 1,
        average: str | None = None,
        projection: bool | float | Literal["auto"] = "auto",
        bias: Bias = "free",
        bias_scale: float = 1.0,
        horizon: int = HORIZON,
    ) -> None:
        if not 0 < lam < math.inf:
            raise ValueError(f"lam must be positive and finite, got {lam!r}")
        check_lam(lam, 1.0)
        check_square("bias_scale", bias_scale)
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if average not in STREAM_AVERAGES:
            raise ValueError(f"average must be one of {STREAM_AVERAGES}, got {average!r}")
        if (loss.kind == "margin") != (n_classes is not None):
            raise ValueError(f"loss {loss.name!r} is for {loss.kind}s; n_classes is {n_classes}")
        if n_classes is not None and n_classes < 2:
            raise ValueError(f"a classifier needs two classes, got {n_classes}")
        bounded = math.isfinite(loss.curve.largest_slope)
        if step_rule == "auto":
            step_rule = "zhang" if loss.kind == "response" and bounded else "proximal"
        if projection == "auto":
            projection = needs_ball(get_step_rule(step_rule)) or not bounded
        self.loss, self.lam, self.n_classes, self.bias = loss, float(lam), n_classes, bias
        self.bias_ratio = float(bias_scale) ** 2 if bias == "penalized" else 1.0
        self.solver = Subgradient(
            batch_size,
            projection,
            average,  # type: ignore[arg-type]
            step_rule=step_rule,
            horizon=horizon,
        )
        self.n_features = n_features
        functions = 1 if n_classes is None or n_classes == 2 else n_classes
        self.states = [self._begin() for _ in range(functions)]
        self.sigma2_estimate = TopEigenvalue(n_features)
        self.rows_seen = 0
        """Rows of positive weight."""
        self.weight_seen = 0.0
        self.longest = 0.0
        """The largest ‖x‖ so far."""
        self.largest_target = 1.0 if loss.kind == "margin" else 0.0
        self._counted = self._error_sum = self._loss_sum = 0.0

    @classmethod
    def by_method(cls, loss: Loss, lam: float, method: str, **more: Any) -> OnlineLearner:
        """One that steps as a subgradient method does: "auto", or a name or spec of ``METHODS``."""
        name, given = parsed(method, METHODS.kind)
        if name != "auto" and METHODS[name].name not in STEP_RULES:
            rules = ", ".join(("auto", *STEP_RULES))
            raise ValueError(f"a stream is learnt from by subgradient methods, {rules}; not {name}")
        METHODS["pegasos" if name == "auto" else name].check(given)
        own = {key: given.pop(key) for key in list(given) if key not in _OF_A_STREAM}
        foreign = [key for key in own if name == "auto" or key not in STEP_RULES[name].parameters]
        if foreign:
            takes = ", ".join(_OF_A_STREAM)
            raise ValueError(f"method {method!r}: a stream takes no {foreign[0]}, but {takes}")
        step_rule = STEP_RULES[name](**own) if own else name
        return cls(loss, lam, step_rule=step_rule, **{"average": "tail", **given}, **more)

    @property
    def backend(self) -> Backend:
        """Where steps are computed; a pickle holds none."""
        return get_backend("cpu")

    def _begin(self) -> Course:
        d, average = self.n_features, self.solver.average_object
        weights = MovingWeights.at_zero(d, self.backend, summed=average.summed)
        return Course(weights=weights, kept=average.begin(d), R=min(1.0, 1.0 / math.sqrt(self.lam)))

    # -- what has been learnt ----------------------------------------------------------------------

    def weights(self) -> tuple[Any, Any]:
        """Coefficients, a row per function, and intercepts.

        A mean is one of the iterates that steps were made from; the first is zero, so that after
        a single step there is nothing to average, and the iterate it led to is given.
        """
        points = np.stack([self._output(state) for state in self.states])
        if not np.isfinite(points).all():
            raise ValueError(_OVERFLOW)
        return points[:, :-1].copy(), points[:, -1].copy()

    def _output(self, state: Course) -> Any:
        average = self.solver.average_object if state.steps > 1 else LastIterate()
        return average.output(state.kept, state.weights, state.run)

    @property
    def progressive_error(self) -> float:
        """Share of wrong predictions, or mean absolute error; weighted; NaN before any row."""
        return self._error_sum / self._counted if self._counted else math.nan

    @property
    def progressive_loss(self) -> float:
        """Mean loss of the predictions, over the classes too; weighted; NaN before any row."""
        return self._loss_sum / self._counted if self._counted else math.nan

    @property
    def sigma2(self) -> float:
        """An estimate of the largest eigenvalue of E[xxᵀ]."""
        return self.sigma2_estimate.value

    @property
    def beta(self) -> float:
        """1 + (b − 1)σ², Takáč §6, with rows measured by the longest so far."""
        share = min(1.0, self.sigma2 / self.longest**2) if self.longest > 0 else 0.0
        return 1.0 + (self.solver.batch_size - 1) * share

    # -- learning ----------------------------------------------------------------------------------

    def grow(self, n_features: int) -> None:
        """Add columns, of weight zero so far."""
        more = n_features - self.n_features
        if more <= 0:
            return
        check_width(n_features)
        self.n_features = n_features
        for state in self.states:
            state.weights.widen(more, summed=self.solver.average_object.summed)
            state.kept.widen(more)
        self.sigma2_estimate.grow(more)

    def learn(
        self, X: Any, y: Any, weight: Any = None, *, validate: bool = True, seed: int | None = None
    ) -> None:
        """Go through the rows once.

        Parameters
        ----------
        X : dense or CSR rows, as wide as ``n_features``
        y : label numbers 0, 1, … or responses
        weight : array, optional
        validate : bool
            False leaves progressive validation alone: the rows have been seen before.
        seed : int, optional
            Of a random order; by default the rows are gone through as they stand.
        """
        rows = checked_rows(X, self.backend)
        if rows.shape[1] != self.n_features:
            raise ValueError(f"X has {rows.shape[1]} features, but {self.n_features} are expected")
        y = np.asarray(y)
        if self.n_classes is None and isinstance(self.loss.curve, FiveNumbers):
            check_responses(self.loss.curve, y, max(1.0, self.weight_seen))
        order = None if seed is None else one_pass(rows, seed, self.backend)
        n = rows.shape[0]
        weight = np.broadcast_to(_ONE if weight is None else np.asarray(weight, np.float64), (n,))
        if not weight.all():
            order = np.flatnonzero(weight) if order is None else order[weight[order] > 0]
        for part in self._parts(rows, n if order is None else len(order), order is not None):
            if order is None:
                numbers = _part(rows.view, part), (part.stop - part.start, self.n_features)
                some, chosen = Rows(*numbers, sq_norms=rows.sq_norms[part]), part
            else:
                chosen = order[part]
                some = rows.taken(chosen)
            self._learn(some, y[chosen], np.ascontiguousarray(weight[chosen]), validate)

    def _parts(self, rows: Rows, count: int, copied: bool) -> Iterator[slice]:
        """Whole batches at a time, so that what is noted or copied of them stays small."""
        size, most = self.solver.batch_size, _CHUNK_ROWS
        if copied:
            most = min(most, _COPIED_VALUES // (1 + rows.n_stored // max(rows.shape[0], 1)))
        chunk = max(1, most // size) * size
        for first in range(0, count, chunk):
            yield slice(first, min(count, first + chunk))

    def _learn(self, rows: Rows, y: Any, weight: Any, validate: bool) -> None:
        n = rows.shape[0]
        sign, t = self._signs_and_targets(y)
        margins = np.empty((len(self.states), n))
        tables = [self.backend.row_table(n) for _ in self.states]
        for table, s in zip(tables, sign):
            table[:, SIGNED_WEIGHT], table[:, TARGET] = s * weight, t
        for batches, longest, largest in self._stretches(rows, t):
            self.longest, self.largest_target = longest, largest
            scale, radius = self._scale(), self._radius()
            for state, table, out in zip(self.states, tables, margins):
                done = 0
                while done < len(batches):
                    done += self._steps(state, rows, table, batches[done:], scale, radius, out)
        self._check_finite(margins)
        self.sigma2_estimate.see(rows, weight, self.backend)
        self.rows_seen += n
        self.weight_seen = _running_sum(self.weight_seen, weight)
        if validate:
            self._validate(margins, y, sign, t, weight)

    def _signs_and_targets(self, y: Any) -> tuple[Any, Any]:
        """σ_i for each function, and t_i."""
        if self.n_classes is None:
            return np.ones((1, len(y))), y.astype(np.float64)
        positives = [1] if self.n_classes == 2 else range(self.n_classes)
        return np.stack([np.where(y == k, 1.0, -1.0) for k in positives]), np.ones(len(y))

    def _stretches(self, rows: Rows, t: Any) -> Any:
        """(batches, longest row, largest |t|): steps between which the two maxima do not change."""
        n, size = rows.shape[0], self.solver.batch_size
        starts = np.arange(0, n, size)
        norms = np.sqrt(np.maximum.reduceat(rows.sq_norms, starts))
        norms = np.maximum.accumulate(np.append(self.longest, norms))
        largest = np.maximum.reduceat(np.abs(t), starts)
        largest = np.maximum.accumulate(np.append(self.largest_target, largest))
        changes = (norms[1:] > norms[:-1]) | (largest[1:] > largest[:-1])
        changes[0] = True
        if n % size:
            changes[-1] = True
        edges = [*np.flatnonzero(changes).tolist(), len(starts)]
        numbers = np.arange(n, dtype=np.uint32)
        for first, last in pairwise(edges):
            batches = numbers[first * size : last * size].reshape(last - first, -1)
            yield batches, float(norms[last]), float(largest[last])

    def _radius(self) -> float:
        """Of the ball that rules count on."""
        projection = self.solver.projection
        if projection is not True and projection > 0:
            return float(projection)
        return ball_radius(self.lam, float(self.loss.curve.value(0.0, self.largest_target)))

    def _scale(self) -> Scale:
        """As in ``Subgradient``, with the maxima so far in the place of those of all rows."""
        ball = self._radius()
        curve = self.loss.curve
        slope = curve.largest_slope
        if math.isinf(slope):
            slope = curve.slope_within(self.longest * ball, self.largest_target)
        G = self.longest * slope + self.lam * ball
        return Scale(self.lam, G or 1.0, ball, self.solver.horizon or HORIZON)

    def _steps(
        self,
        state: Course,
        rows: Rows,
        table: Any,
        batches: Any,
        scale: Scale,
        radius: float,
        margins: Any,
    ) -> int:
        """Some of the steps; returns how many."""
        solver, backend, weights = self.solver, self.backend, state.weights
        rule, average = solver.rule_object, solver.average_object
        guesses_R = isinstance(rule, OptimisticRule)
        if guesses_R:
            scale = scale._replace(R=state.R)
        count = min(len(batches), average.wait(state.kept, weights, state.run))
        rates = rule.rates(scale, state.run.steps_in_phase, count, state.curvature, backend)
        if not (solver.projection or guesses_R):
            radius = math.inf
            square = self.longest**2 + (0.0 if self.bias == "none" else self.bias_ratio)
            rates = damped(rates, stiffness_of(self.loss.curve, 1.0, square))
        leave_at = state.R if guesses_R else math.inf
        bias_norm = 1.0 / self.bias_ratio if self.bias == "penalized" else 0.0
        if self.bias == "free" and radius < math.inf:
            bias_norm = limit_of_bias(radius, self.largest_target, self.longest)
        done = int(
            backend.progressive_steps(
                rows.view,
                self.loss.curve,
                table,
                batches[:count],
                StepSizes(rates.eta, 1.0 - rates.eta * (self.lam + rates.kappa)),
                Averaging(average.past, average.share),
                BiasStep(0.0 if self.bias == "none" else self.bias_ratio, self.bias == "penalized"),
                Ball(radius, bias_norm, leave_at),
                weights.arrays,
                margins,
            )
        )
        state.run.steps += done
        state.curvature = rates.curvature
        if isinstance(rule, OptimisticRule) and weights.length >= leave_at:
            optimistic.begin_phase(state, rule)
        return done

    def _check_finite(self, margins: Any) -> None:
        sound = all(state.weights.are_finite for state in self.states)
        if not (sound and np.isfinite(margins).all()):
            raise ValueError(_OVERFLOW)

    def _validate(self, margins: Any, y: Any, sign: Any, t: Any, weight: Any) -> None:
        with np.errstate(over="ignore"):
            losses = self.loss.curve.value(sign * margins, t).mean(axis=0)
        if self.n_classes is None:
            errors = np.abs(margins[0] - t)
        elif self.n_classes == 2:
            errors = (margins[0] > 0) != (y == 1)
        else:
            errors = margins.argmax(axis=0) != y
        self._counted = _running_sum(self._counted, weight)
        self._error_sum = _running_sum(self._error_sum, weight * errors)
        self._loss_sum = _running_sum(self._loss_sum, weight * losses)


class TopEigenvalue:
    """A running estimate of the largest eigenvalue of E[xxᵀ], O(nonzeros) a row.

    Power iteration on the stream: every window of rows gives one power step, and the direction of
    the windows before is measured on its rows (a Rayleigh quotient, on rows that it has not seen:
    on average not above the truth).  Windows grow, and then stay, so that a drift is followed.
    """

    def __init__(self, n_features: int) -> None:
        self.direction = np.zeros(n_features)
        self.product = np.zeros(n_features)
        self.mass = 0.0
        self.rows, self.window = 0, _FIRST_WINDOW
        self.last = 0.0

    @property
    def value(self) -> float:
        """Of this window if half of it is over, else of the one before; 0 before any row."""
        if self.mass > 0 and (2 * self.rows >= self.window or self.window == _FIRST_WINDOW):
            return float(self.direction @ self.product) / self.mass
        return self.last

    def grow(self, more: int) -> None:
        self.direction, self.product = _longer(self.direction, more), _longer(self.product, more)

    def see(self, rows: Rows, weight: Any, backend: Backend) -> None:
        n, first = rows.shape[0], 0
        if not self.direction.any():
            self._begin(rows, backend)
        while first < n:
            last = min(n, first + self.window - self.rows)
            part = slice(first, last)
            weights = np.ascontiguousarray(weight[part])
            backend.normal_product(_part(rows.view, part), self.direction, weights, self.product)
            self.mass = _running_sum(self.mass, weights)
            self.rows, first = self.rows + last - first, last
            if self.rows == self.window:
                self._turn()

    def _begin(self, rows: Rows, backend: Backend) -> None:
        """The direction of the first row that is not zero."""
        found = np.flatnonzero(rows.sq_norms)
        if found.size:
            i = int(found[0])
            one = _part(rows.view, slice(i, i + 1))
            backend.combination(one, _ONE / math.sqrt(rows.sq_norms[i]), self.direction)

    def _turn(self) -> None:
        self.last = float(self.direction @ self.product) / self.mass
        largest = float(np.abs(self.product).max())
        if 0 < largest < math.inf:  # its square may overflow
            towards = self.product / largest
            self.direction = towards / np.linalg.norm(towards)
        self.product = np.zeros_like(self.product)
        self.mass, self.rows = 0.0, 0
        self.window = min(_LAST_WINDOW, math.ceil(_GROWTH * self.window))


def _longer(array: Any, more: int) -> Any:
    return np.concatenate([array, np.zeros(more)])


def _running_sum(total: float, values: Any) -> float:
    """total + v_1 + v_2 + …, in that order: where a stream is cut must not change the rounding."""
    return float(np.add.accumulate(np.append(total, values))[-1])


def _part(view: Dense | CSR, part: slice) -> Dense | CSR:
    if isinstance(view, Dense):
        return Dense(view.values[part])
    return CSR(view.data, view.indices, view.indptr[part.start : part.stop + 1])
