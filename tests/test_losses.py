"""Every loss: value, conjugate, subgradient and dual step belong together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problems import LOSS_NAMES, feasible_points
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

from gapsvm.backends import get_backend
from gapsvm.losses.base import Loss
from gapsvm.losses.registry import LOSSES, get_loss
from gapsvm.rows.matrix import as_rows
from gapsvm.types.curves import FiveNumbers
from gapsvm.types.steps import Averaging, Ball, BiasStep, StepSizes, WeightArrays
from gapsvm.types.tables import ALPHA, PULLS

CURVES = {
    **{name: get_loss(name) for name in LOSS_NAMES},
    "smoothed_hinge(2)": get_loss("smoothed_hinge", smoothing=2.0),
    "epsilon_insensitive(0)": get_loss("epsilon_insensitive", epsilon=0.0),
    "squared_epsilon_insensitive(1)": get_loss("squared_epsilon_insensitive", epsilon=1.0),
    "huber(0.3)": get_loss("huber", delta=0.3),
}
every_loss = pytest.mark.parametrize("loss", CURVES.values(), ids=CURVES.keys())

# What everybody knows these losses to be: φ(z), t the response.
TEXTBOOK = {
    "hinge": lambda z, t: np.maximum(0, 1 - z),
    "smoothed_hinge": lambda z, t: np.where(
        z >= 1, 0, np.where(z <= 0.5, 1 - z - 0.25, (1 - z) ** 2)
    ),
    "squared_hinge": lambda z, t: np.maximum(0, 1 - z) ** 2,
    "epsilon_insensitive": lambda z, t: np.maximum(0, abs(z - t) - 0.1),
    "squared_epsilon_insensitive": lambda z, t: np.maximum(0, abs(z - t) - 0.1) ** 2,
    "absolute": lambda z, t: abs(z - t),
    "huber": lambda z, t: np.where(abs(z - t) <= 1, 0.5 * (z - t) ** 2, abs(z - t) - 0.5),
    "half_squared": lambda z, t: 0.5 * (z - t) ** 2,
    "logistic": lambda z, t: np.log1p(np.exp(-z)),
}


def ts(loss: Loss) -> list[float]:
    return [1.0] if loss.kind == "margin" else [-1.3, 0.0, 0.7]


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_values_are_the_textbook_ones(name):
    """A loss that is not in the table above has no test of what it is: add it."""
    loss, z = get_loss(name), np.linspace(-4, 4, 401)
    for t in ts(loss):
        np.testing.assert_allclose(loss.curve.value(z, t), TEXTBOOK[name](z, t), atol=1e-13)


@every_loss
def test_fenchel_young(loss):
    """φ(z) + φ*(−a) ≥ −a·z, with equality at a*(z)."""
    z = np.linspace(-5, 5, 201)
    a = feasible_points(loss, 200, np.random.default_rng(0))
    for t in ts(loss):
        value = loss.curve.value(z, t)
        gaps = value[:, None] + loss.curve.conjugate(a, t)[None] + z[:, None] * a[None]
        assert gaps.min() >= -1e-13
        best = loss.curve.maximiser(z, t)
        at_best = value + loss.curve.conjugate(best, t) + z * best
        np.testing.assert_allclose(at_best, 0, atol=1e-12)


@every_loss
def test_biconjugate_and_conjugate_numerically(loss):
    """φ(z) = max_a −a·z − φ*(−a), and φ*(−a) = max_z −a·z − φ(z), on fine grids."""
    c, grid = loss.curve, np.linspace(-12, 12, 24001)
    inside = np.linspace(max(c.lo, -12), min(c.hi, 12), 24001)
    for t in ts(loss):
        for z in (-2.0, -0.4, 0.0, 0.9, 1.0, 2.0):
            best = np.max(-inside * z - c.conjugate(inside, t))
            assert best == pytest.approx(float(c.value(z, t)), abs=1e-5)
        for a in np.linspace(max(c.lo, -2), min(c.hi, 2), 9)[1:-1]:
            best = np.max(-a * grid - c.value(grid, t))
            assert best == pytest.approx(float(c.conjugate(a, t)), abs=1e-5)


@every_loss
def test_conjugate_is_infinite_outside_its_box(loss):
    for bound, direction in ((loss.curve.lo, -1), (loss.curve.hi, 1)):
        if np.isfinite(bound):
            assert np.isfinite(loss.curve.conjugate(bound, 0.5))
            assert loss.curve.conjugate(bound + direction * 1e-9, 0.5) == np.inf


@every_loss
def test_subgradient_inequality(loss):
    """φ(y) ≥ φ(z) − a*(z)(y − z) for all y and z."""
    z = np.linspace(-4, 4, 161)
    for t in ts(loss):
        value, a = loss.curve.value(z, t), loss.curve.maximiser(z, t)
        below = value[:, None] - a[:, None] * (z[None] - z[:, None])
        assert (value[None] - below).min() >= -1e-12


def test_kinks_give_zero():
    """Pegasos's strict "< 1": a margin of exactly 1 pulls nothing."""
    assert get_loss("hinge").curve.maximiser(1.0, 1.0) == 0
    assert get_loss("absolute").curve.maximiser(0.7, 0.7) == 0
    tube = get_loss("epsilon_insensitive", epsilon=0.5).curve
    assert tube.maximiser(0.5, 1.0) == 0
    assert tube.maximiser(1.5, 1.0) == 0
    assert tube.maximiser(0.4999, 1.0) == 1
    assert tube.maximiser(1.5001, 1.0) == -1


def step_objective(loss, a, z, t, q):
    return lambda p: -loss.curve.conjugate(p, t) - z * (p - a) - 0.5 * q * (p - a) ** 2


def exact(loss, a, z, t, q, step, slack=1e-9):
    """No feasible point does better than ``step``, by scalar search and on a grid."""
    f, c = step_objective(loss, a, z, t, q), loss.curve
    reach = 5.0 + abs(a) + (abs(t - z) + 1) / max(q + getattr(c, "curvature", 1.0), 0.05)
    low, high = max(c.lo, -reach), min(c.hi, reach)
    found = minimize_scalar(lambda p: -f(p), bounds=(low, high), options={"xatol": 1e-12})
    rivals = [*np.linspace(low, high, 41), found.x, low, high, a, 0.0]
    best = max(float(f(p)) for p in rivals)
    return float(f(step)) >= best - slack * (1.0 + abs(best))


@settings(max_examples=80)
@given(st.data())
@pytest.mark.parametrize("name", CURVES)
def test_dual_step_is_exact(name, data):
    """a⁺ maximises the dual over one coordinate, from any feasible a; q = 0 included."""
    loss = CURVES[name]
    c, number = loss.curve, st.floats(-4, 4) | st.floats(-40, 40)
    a = data.draw(st.floats(max(c.lo, -3.0), min(c.hi, 3.0)))
    z = data.draw(number)
    t = 1.0 if loss.kind == "margin" else data.draw(number)
    q = data.draw(
        st.sampled_from([0.0, 1e-6, 0.1, 1.0, 30.0]) | st.floats(1e-3, 100) | st.floats(1e2, 1e5)
    )
    if q == 0 and isinstance(c, FiveNumbers) and c.curvature == 0 and np.isinf(c.hi):
        assume(False)
    step = float(c.dual_step(a, z, t, q))
    assert c.lo <= step <= c.hi
    assert exact(loss, a, z, t, q, step)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_the_logistic_step_finds_its_root(backend):
    """u + z + q(p − a) = 0 at the logit u of p, for long and short rows, wherever a starts."""
    rng, loss, one = np.random.default_rng(0), get_loss("logistic"), np.ones(1)
    for _ in range(400):
        a = rng.choice([0.0, 1e-10, 1e-4, rng.random(), 1 - 1e-6, 1.0])
        z, q = rng.normal() * rng.choice([1, 10, 100]), 10 ** rng.uniform(-3, 5)
        table, order = np.array([[a, q, 1.0, 1.0]]), np.zeros(1, dtype=np.uint32)
        X = as_rows(np.ones((1, 1))).view
        steps = get_backend(backend).sdca_steps
        steps(X, loss.curve, table, order, 0, 1, 0, z * one, 0.0, 0.0, np.inf, 1.0)
        p = table[0, ALPHA]
        root = brentq(lambda u, a=a, z=z, q=q: u + z + q * (expit(u) - a), -z - q - 1, -z + q + 1)
        assert p == pytest.approx(expit(root), rel=1e-6, abs=1e-9), (a, z, q)


@every_loss
def test_dual_step_of_zero_rows(loss):
    """q = 0: the maximiser of a linear (or smooth) function at once; it forgets a."""
    c = loss.curve
    for a in feasible_points(loss, 5, np.random.default_rng(1)):
        for t in ts(loss):
            for z in (-2.0, 0.0, 0.3, 2.0):
                step = float(c.dual_step(a, z, t, 0.0))
                assert exact(loss, a, z, t, 0.0, step), (a, z, t, step)


def test_dual_step_of_a_zero_row_inside_the_tube_is_zero():
    """|t − z| < ε: no positive or negative α pays, whatever it was before."""
    assert get_loss("epsilon_insensitive").curve.dual_step(0.5, 0.0, 0.05, 0.0) == 0.0


@every_loss
def test_violation_says_whether_a_wants_to_move(loss):
    """Positive exactly where the step of unit curvature moves; negative: held, with slack."""
    rng = np.random.default_rng(2)
    a, z = feasible_points(loss, 400, rng), rng.uniform(-3, 3, 400)
    for t in ts(loss):
        violation = loss.curve.violation(a, z, t)
        moves = np.abs(loss.curve.dual_step(a, z, t, 1.0) - a)
        assert np.all(moves[violation <= 0] <= 1e-14)
        assert np.all(violation[moves > 1e-9] > 0)
        held = (violation < -1e-6) & np.isfinite(violation)
        nudged = loss.curve.dual_step(a, z + 0.99 * np.where(held, violation, 0), t, 1.0)
        other = loss.curve.dual_step(a, z - 0.99 * np.where(held, violation, 0), t, 1.0)
        np.testing.assert_allclose(nudged[held], a[held], atol=1e-12)
        np.testing.assert_allclose(other[held], a[held], atol=1e-12)


@pytest.mark.parametrize(
    ("a", "z", "sign"),
    [(0.0, 2.0, -1), (0.0, 0.0, 1), (1.0, 0.0, -1), (1.0, 2.0, 1), (0.5, 1.0, 0), (0.5, 2.0, 1)],
)
def test_violation_of_the_hinge(a, z, sign):
    assert np.sign(get_loss("hinge").curve.violation(a, z, 1.0)) == sign


@every_loss
def test_compiled_losses_equal_the_definition(loss):
    """Row by row: value and conjugate through ``evaluate``, the maximiser through a step."""
    cpu, rng, one = get_backend("cpu"), np.random.default_rng(3), np.ones(1)
    m, alpha = rng.uniform(-4, 4, 60), feasible_points(loss, 60, rng)
    m[:3] = 1.0, 0.9, -1.0
    margin = loss.kind == "margin"
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0) if margin else rng.normal(size=60)
    X = as_rows(m[:, None]).view
    sign, t = (y, one) if margin else (one, y)
    nothing, none = np.zeros(60), np.zeros(0)
    table = np.stack(np.broadcast_arrays(nothing, nothing, sign, t), axis=1)
    w, scalars = one.copy(), np.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.0])
    batches = np.arange(60, dtype=np.uint32)[:, None]
    cpu.subgradient_steps(
        *(X, loss.curve, table, batches, StepSizes(nothing, nothing + 1), Averaging(1.0, 0.0)),
        *(BiasStep(0.0, False), Ball(np.inf, 0.0, np.inf), WeightArrays(w, none, scalars)),
    )
    np.testing.assert_allclose(
        table[:, PULLS], loss.curve.maximiser(sign * m, t), rtol=1e-13, atol=1e-14
    )
    for i in range(60):
        sign, t = (y[i : i + 1], one) if margin else (one, y[i : i + 1])
        row, a = as_rows(m[i : i + 1, None]).view, alpha[i : i + 1]
        out = np.zeros(1), np.zeros(1)
        got = cpu.evaluate(row, loss.curve, one, 0.0, a, sign, t, one, 1.0, *out)
        want = loss.curve.value(sign * m[i], t)[0], loss.curve.conjugate(a, t)[0]
        np.testing.assert_allclose(got[:2], want, rtol=1e-13, atol=1e-14)


def test_unknown_loss_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown loss 'hunge'") as error:
        get_loss("hunge")
    assert all(name in str(error.value) for name in LOSSES)


@pytest.mark.parametrize("numbers", [(-0.1,), (0, -1.0), (0, 0, 0.5, 1), (0, 0, -1, 0)])
def test_impossible_five_numbers(numbers):
    with pytest.raises(ValueError, match="needs eps >= 0, curvature >= 0, lo <= 0 < hi"):
        Loss("broken", "margin", FiveNumbers(*map(float, numbers)))
