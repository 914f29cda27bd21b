"""Learning from a stream: the steps, where it may be cut, what validation and σ² say."""

from __future__ import annotations

import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from problems import LAYOUTS, LOSS_NAMES, matrix, targets

from gapsvm.backends import get_backend
from gapsvm.losses.registry import get_loss
from gapsvm.problems.linear import LinearProblem
from gapsvm.rows.matrix import as_rows
from gapsvm.solvers.row_order import one_pass
from gapsvm.solvers.subgradient.rules import STEP_RULES
from gapsvm.solvers.subgradient.solver import Subgradient
from gapsvm.training.label_runs import LabelRuns
from gapsvm.training.online import STREAM_AVERAGES, OnlineLearner, TopEigenvalue
from gapsvm.types.steps import Averaging, Ball, BiasStep, StepSizes, WeightArrays

N, D = 90, 6
X = matrix(N, D)
LABELS = (targets(X, "margin") > 0).astype(int)
RESPONSE = targets(X, "response")
WEIGHT = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], N)


def learner(loss: str = "hinge", **options: Any) -> OnlineLearner:
    found = get_loss(loss)
    options.setdefault("n_classes", 2 if found.kind == "margin" else None)
    return OnlineLearner(found, options.pop("lam", 0.05), n_features=D, **options)


def y_for(loss: str) -> Any:
    return LABELS if get_loss(loss).kind == "margin" else RESPONSE


def everything(thing: Any) -> Any:
    """All of a learner's state, as something that can be compared bit for bit."""
    if isinstance(thing, np.ndarray):
        return thing.dtype.str, thing.shape, thing.tobytes()
    if isinstance(thing, list | tuple):
        return [everything(part) for part in thing]
    if dataclasses.is_dataclass(thing) or isinstance(thing, OnlineLearner | TopEigenvalue):
        return {name: everything(value) for name, value in vars(thing).items()}
    return repr(thing)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", ["hinge", "logistic", "epsilon_insensitive"])
@pytest.mark.parametrize("leave_at", [math.inf, 0.9])
def test_the_kernel_equals_the_reference(loss: str, layout: str, leave_at: float) -> None:
    view, rng = as_rows(matrix(N, D, layout=layout)).view, np.random.default_rng(2)
    batches = np.arange(N, dtype=np.uint32).reshape(-1, 3)
    steps = len(batches)
    sizes = StepSizes(rng.uniform(0, 0.3, steps), rng.uniform(0.8, 1, steps))
    rest = (sizes, Averaging(0.9, 0.2), BiasStep(1.0, True), Ball(2.0, 0.0, leave_at))
    table = np.zeros((N, 4))
    table[:, 2:] = rng.choice([-1.0, 1.0, 2.0], (N, 2))
    found = []
    for name in ("cpu", "reference"):
        state = WeightArrays(np.zeros(D), np.zeros(D), np.array([1.0, 0, 0, 0, 1, 0]))
        margins, own, curve = np.full(N, np.nan), table.copy(), get_loss(loss).curve
        take_steps = get_backend(name).progressive_steps
        done = take_steps(view, curve, own, batches, *rest, state, margins)
        w, bias = state.scalars[0] * state.v, state.scalars[2:3]
        found.append(np.concatenate([[done], own.ravel(), w, bias, margins]))
    np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("average", STREAM_AVERAGES)
@pytest.mark.parametrize("rule", STEP_RULES)
def test_steps_are_those_of_the_solver(rule: str, average: Any) -> None:
    """Over rows in the solver's order, of one length, so that G is the same from the start."""
    kept = X.any(axis=1)
    unit, y = X[kept] / np.linalg.norm(X[kept], axis=1, keepdims=True), LABELS[kept]
    problem = LinearProblem(unit, 2.0 * y - 1, get_loss("hinge"), 0.05, bias="free")
    solver = Subgradient(1, 3.0, average, step_rule=rule, sampler="fixed", horizon=500)
    backend = get_backend("cpu")
    state = solver.init(problem, backend, np.random.default_rng(0))
    stream = learner(step_rule=rule, average=average, projection=3.0, horizon=500)
    stream.learn(unit[state.order], y[state.order])
    state = solver.advance(problem, state, backend, len(y))
    assert stream.states[0].steps == state.steps == len(y)
    assert stream.states[0].run.phases == state.run.phases
    want = solver.iterate(problem, state)
    (w,), (bias,) = stream.weights()
    np.testing.assert_allclose(w, want.w, rtol=1e-9, atol=1e-12)
    assert bias == pytest.approx(want.bias, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("average", STREAM_AVERAGES)
@pytest.mark.parametrize("rule", STEP_RULES)
def test_where_the_stream_is_cut_does_not_matter(rule: str, average: Any, size: int) -> None:
    options = {"step_rule": rule, "average": average, "batch_size": size, "n_classes": 3}
    y = (LABELS + (X[:, 0] > 0.3)) % 3
    once, pieces = learner(**options), learner(**options)
    once.learn(X, y)
    for part in (slice(0, 8), slice(8, 12), slice(12, 52), slice(52, N)):
        pieces.learn(X[part], y[part])
    assert everything(pieces) == everything(once)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_every_loss_cut_and_weighted(loss: str, layout: str) -> None:
    rows, y = matrix(N, D, layout=layout), y_for(loss)
    kept = WEIGHT > 0
    weight = np.where(kept, WEIGHT, 0.0)
    once, fewer, pieces = (learner(loss, batch_size=2) for _ in range(3))
    once.learn(rows, y, weight)
    fewer.learn(rows[np.flatnonzero(kept)], y[kept], weight[kept])
    cut = int(np.flatnonzero(np.cumsum(kept) == 30)[0]) + 1
    pieces.learn(rows[:cut], y[:cut], weight[:cut])
    pieces.learn(rows[cut:], y[cut:], weight[cut:])
    assert everything(fewer) == everything(once)
    assert everything(pieces) == everything(once)
    assert once.rows_seen == kept.sum()
    assert once.weight_seen == pytest.approx(weight.sum())
    assert all(np.isfinite(w).all() for w in once.weights())


@pytest.mark.parametrize("average", STREAM_AVERAGES)
def test_long_calls_are_cut_by_themselves(average: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    once, pieces = (learner(average=average, batch_size=4) for _ in range(2))
    once.learn(X, LABELS, WEIGHT)
    monkeypatch.setattr("gapsvm.training.online._CHUNK_ROWS", 10)
    pieces.learn(X, LABELS, WEIGHT)
    assert everything(pieces) == everything(once)


@pytest.mark.parametrize("average", STREAM_AVERAGES)
def test_weight_zero_changes_nothing(average: Any) -> None:
    stream = learner(average=average)
    stream.learn(X[:50], LABELS[:50])
    before = everything(stream)
    stream.learn(1e6 * X[50:], LABELS[50:], np.zeros(N - 50))
    stream.learn(X[:0], LABELS[:0])
    assert everything(stream) == before


def test_a_weight_is_the_length_of_the_pull() -> None:
    heavy, light = (
        learner(step_rule="pegasos", average=None),
        learner(step_rule="pegasos", average=None),
    )
    heavy.learn(X[:1], LABELS[:1], np.array([2.0]))
    light.learn(X[:1], LABELS[:1])
    np.testing.assert_array_equal(heavy.weights()[0], 2 * light.weights()[0])


@pytest.mark.parametrize("average", STREAM_AVERAGES)
def test_columns_may_come_later(average: Any) -> None:
    narrow = OnlineLearner(get_loss("hinge"), 0.1, n_classes=2, n_features=2, average=average)
    wide = OnlineLearner(get_loss("hinge"), 0.1, n_classes=2, n_features=D, average=average)
    first = np.array(X[:40])
    first[:, 2:] = 0.0
    narrow.learn(sp.csr_matrix(first[:, :2]), LABELS[:40])
    narrow.grow(D)
    narrow.grow(3)
    narrow.learn(sp.csr_matrix(X[40:]), LABELS[40:])
    wide.learn(sp.csr_matrix(first), LABELS[:40])
    wide.learn(sp.csr_matrix(X[40:]), LABELS[40:])
    np.testing.assert_array_equal(narrow.weights()[0], wide.weights()[0])
    np.testing.assert_array_equal(narrow.weights()[1], wide.weights()[1])
    assert narrow.progressive_error == wide.progressive_error
    assert narrow.sigma2 == pytest.approx(wide.sigma2)


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize(("loss", "classes"), [("hinge", 2), ("squared_hinge", 3), ("huber", None)])
def test_progressive_validation(loss: str, classes: int | None, size: int) -> None:
    """Every row is predicted by the model that has learnt from the batches before it, no others."""
    y = RESPONSE if classes is None else (LABELS + (X[:, 0] > 0.3) * (classes == 3)) % classes
    stream = learner(loss, n_classes=classes, batch_size=size, average=None)
    errors, losses = 0.0, 0.0
    for first in range(0, N, size):
        part = slice(first, first + size)
        coef, intercept = stream.weights()
        scores = X[part] @ coef.T + intercept
        for score, label in zip(scores, y[part]):
            if classes is None:
                sign, t = np.ones(1), label
                errors += abs(score[0] - label)
            elif classes == 2:
                sign, t = np.array([2.0 * label - 1]), 1.0
                errors += (score[0] > 0) != label
            else:
                sign, t = np.where(np.arange(3) == label, 1.0, -1.0), 1.0
                errors += score.argmax() != label
            losses += stream.loss.curve.value(sign * score, t).mean()
        stream.learn(X[part], y[part])
    assert stream.progressive_error == pytest.approx(errors / N)
    assert stream.progressive_loss == pytest.approx(losses / N)
    again = everything((stream._error_sum, stream._loss_sum))
    stream.learn(X, y, validate=False)
    assert everything((stream._error_sum, stream._loss_sum)) == again


def test_nothing_to_validate_yet() -> None:
    stream = learner()
    assert math.isnan(stream.progressive_error)
    assert math.isnan(stream.progressive_loss)
    assert (stream.sigma2, stream.beta, stream.rows_seen) == (0.0, 1.0, 0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sigma2_comes_close(layout: str) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(20_000, 8)) * np.array([3, 2.5, 1, 1, 1, 1, 0.5, 0.1])
    truth = np.linalg.norm(rows, 2) ** 2 / len(rows)
    given = sp.csr_matrix(rows) if layout == "csr" else rows
    stream = OnlineLearner(get_loss("hinge"), 0.1, n_classes=2, n_features=8, batch_size=10)
    for first in range(0, len(rows), 700):
        part = given[first : first + 700]
        stream.learn(part, np.arange(part.shape[0]) % 2)
    assert stream.sigma2 == pytest.approx(truth, rel=0.1)
    longest = np.linalg.norm(rows, axis=1).max()
    assert stream.longest == pytest.approx(longest)
    assert stream.beta == pytest.approx(1 + 9 * stream.sigma2 / longest**2)


def test_sigma2_follows_a_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gapsvm.training.online._LAST_WINDOW", 64)
    estimate = TopEigenvalue(3)
    rng = np.random.default_rng(4)
    for axis in (0, 1):
        rows = rng.normal(size=(2000, 3)) * np.where(np.arange(3) == axis, 4.0, 1.0)
        stream = OnlineLearner(get_loss("hinge"), 0.1, n_classes=2, n_features=3)
        stream.sigma2_estimate = estimate
        stream.learn(rows, np.arange(2000) % 2)
        assert estimate.value == pytest.approx(16.0, rel=0.5)
        assert abs(estimate.direction[axis]) > 0.9


def test_zero_rows_do_no_harm() -> None:
    stream = learner(average=None)
    stream.learn(np.zeros((5, D)), LABELS[:5])
    assert not stream.weights()[0].any()
    assert stream.sigma2 == 0.0
    stream.learn(X, LABELS)
    assert stream.sigma2 > 0


def test_a_learner_goes_on_after_pickling() -> None:
    stream = learner(average="tail", step_rule="optimistic")
    stream.learn(X[:30], LABELS[:30])
    copy = pickle.loads(pickle.dumps(stream))
    for one in (stream, copy):
        one.learn(X[30:], LABELS[30:])
    assert everything(copy) == everything(stream)


@pytest.mark.parametrize("bias", ["free", "penalized", "none"])
def test_the_bias(bias: Any) -> None:
    stream = learner(bias=bias, projection=0.5, step_rule="pegasos", average=None)
    stream.learn(X, LABELS)
    (w,), (b,) = stream.weights()
    assert (b == 0) == (bias == "none")
    assert w @ w + (b * b if bias == "penalized" else 0.0) <= 0.25 * (1 + 1e-12)


@pytest.mark.parametrize("loss", ["half_squared", "squared_hinge"])
def test_steps_on_squares_do_not_grow(loss: str) -> None:
    """Steps of length 1/λ on long rows led away from the optimum, further each time."""
    stream = learner(loss, lam=1e-8, step_rule="pegasos", projection=False)
    stream.learn(1e3 * np.tile(X, (9, 1)), np.tile(y_for(loss), 9))
    assert np.abs(stream.weights()[0]).max() < 100


def test_steps_that_overflow_say_so() -> None:
    stream = learner("hinge", lam=1e-8, step_rule="pegasos", projection=False)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="overflowed"):
        stream.learn(1e151 * X, LABELS)


def test_weights_that_overflowed_are_not_handed_out() -> None:
    stream = learner(average=None)
    stream.learn(X, LABELS)
    stream.states[0].weights.v[0] = np.inf
    with pytest.raises(ValueError, match="overflowed"):
        stream.weights()


def test_responses_whose_loss_overflows() -> None:
    with pytest.raises(ValueError, match="the objective overflows: y has values of size"):
        learner("half_squared").learn(X, 1e200 * RESPONSE)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_random_order_is_that_of_its_seed(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the rows are gathered; weights go with their rows."""
    rows, order = matrix(N, D, layout=layout), one_pass(as_rows(X), 3, get_backend("cpu"))
    assert sorted(order) == list(range(N))
    assert not np.array_equal(order, one_pass(as_rows(X), 4, get_backend("cpu")))
    once, sorted_before = (learner(batch_size=4) for _ in range(2))
    monkeypatch.setattr("gapsvm.training.online._COPIED_VALUES", 50)
    once.learn(rows, LABELS, WEIGHT, seed=3)
    sorted_before.learn(rows[order], LABELS[order], WEIGHT[order])
    assert everything(once) == everything(sorted_before)


def test_runs_of_a_label() -> None:
    """Those that a random order would hardly bring, wherever the stream is cut."""
    rng = np.random.default_rng(0)
    mixed, rare = rng.integers(3, size=5000), (rng.random(50_000) < 0.01).astype(int)
    digits = np.repeat(np.arange(10), 180)
    for labels, classes, found in (
        (mixed, 3, None),
        (rare, 2, None),
        (np.zeros(999, int), 2, None),
        (np.zeros(1000, int), 2, 0),
        (digits, 10, 1),
        (np.append(mixed, np.full(200, 2)), 3, 2),
        (np.append(rare, np.ones(120, int)), 2, 1),
    ):
        for size in (len(labels), 7, 130):
            runs = LabelRuns(classes)
            pieces = [runs.see(labels[k : k + size]) for k in range(0, len(labels), size)]
            told = [piece[0] for piece in pieces if piece is not None]
            assert told == ([] if found is None else [found])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step_rule": "newton"}, "unknown step rule"),
        ({"average": "random"}, "average must be one of"),
        ({"batch_size": 0}, "batch_size"),
        ({"lam": math.inf}, "lam must be"),
        ({"n_classes": 1}, "two classes"),
        ({"n_classes": None}, "n_classes is None"),
        ({"projection": -1.0}, "projection"),
    ],
)
def test_impossible_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learner(**options)


def test_rows_that_do_not_fit() -> None:
    stream = learner()
    with pytest.raises(ValueError, match="features"):
        stream.learn(X[:, :2], LABELS)
    bad = X.copy()
    bad[7, 1] = np.nan
    before = everything(stream)
    with pytest.raises(ValueError, match="NaN: first at row 7, column 1"):
        stream.learn(bad, LABELS)
    assert everything(stream) == before
