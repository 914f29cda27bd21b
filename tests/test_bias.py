"""The best unpenalised bias against brute force."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from problems import LOSS_NAMES

from gapsvm.losses.best_bias import Part, best_bias, loss_sum
from gapsvm.losses.registry import get_loss

ONE = np.ones(1)


def case(loss, n, seed, ties=False):
    """margins, sign, t and weight as a problem has them."""
    rng = np.random.default_rng(seed)
    m, weight = rng.normal(size=n), rng.uniform(0, 2, n)
    y = np.where(rng.random(n) < 0.7, 1.0, -1.0) if loss.kind == "margin" else rng.normal(size=n)
    y[:2] = 1.0, -1.0
    weight[::5] = 0.0
    weight[:2] = 1.0
    if ties:
        m, weight = np.round(m), np.round(weight) + 1.0
        y = np.round(y) if loss.kind == "response" else y
    return (m, y, ONE, weight) if loss.kind == "margin" else (m, ONE, y, weight)


def total(loss, m, sign, t, weight, b):
    return float(np.sum(weight * loss.curve.value(sign * (m + b), t)))


def brute_force(loss, m, sign, t, weight):
    """The least value over all kinks, and over a grid refined three times."""
    eps = getattr(loss.curve, "eps", 0.0)
    kinks = np.concatenate([np.broadcast_to(sign * (t + e), m.shape) - m for e in (eps, -eps)])
    rivals = kinks if len(m) <= 200 else np.quantile(kinks, np.linspace(0, 1, 401))
    best = min(rivals, key=lambda b: total(loss, m, sign, t, weight, b))
    width = 8.0
    for _ in range(6):
        grid = best + np.linspace(-width, width, 41)
        best = min([best, *grid], key=lambda b: total(loss, m, sign, t, weight, b))
        width /= 15
    return total(loss, m, sign, t, weight, best)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [2, 3, 25, 200])
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_no_bias_is_better(name, n, seed, ties):
    loss = get_loss(name)
    arguments = case(loss, n, seed, ties)
    found = best_bias(loss.curve, [Part(*arguments)], guess=5.0)
    best = brute_force(loss, *arguments)
    assert total(loss, *arguments, found) <= best + 1e-9 * (1 + abs(best))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [9_000, 30_001])
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_many_rows(name, n, ties):
    """More than are sorted at once: the window around the crossing comes from a sample."""
    loss = get_loss(name)
    arguments = case(loss, n, 1, ties)
    found = best_bias(loss.curve, [Part(*arguments)])
    best = brute_force(loss, *arguments)
    assert total(loss, *arguments, found) <= best + 1e-10 * best


@pytest.mark.parametrize("order", ["sorted", "reversed", "rare heavy row", "periodic"])
def test_a_sample_that_misleads(order):
    """Every k-th row is sampled: adversarial orders must not move the answer."""
    rng, n = np.random.default_rng(0), 20_000
    m, y = np.sort(rng.normal(size=n)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    weight = np.ones(n)
    if order == "reversed":
        m = m[::-1].copy()
    elif order == "rare heavy row":
        weight[12_345] = 1e6
    elif order == "periodic":
        m[:: n // 2048] += 1e3
    loss = get_loss("hinge")
    found = best_bias(loss.curve, [Part(m, y, ONE, weight)])
    best = brute_force(loss, m, y, ONE, weight)
    assert total(loss, m, y, ONE, weight, found) <= best + 1e-10 * best


@pytest.mark.parametrize(
    ("name", "m", "y", "middle"),
    [
        ("hinge", [5.0, -5.0], [1.0, -1.0], 0.0),  # b ∈ [−4, 4]
        ("hinge", [3.0, -7.0], [1.0, -1.0], 2.0),  # b ∈ [−2, 6]
        ("epsilon_insensitive", [0.0, 0.0], [1.0, 3.0], 2.0),  # b ∈ [1.1, 2.9]
        ("absolute", [0.0, 0.0], [1.0, 3.0], 2.0),
        ("squared_hinge", [5.0, -5.0], [1.0, -1.0], 0.0),
        ("smoothed_hinge", [5.0, -5.0], [1.0, -1.0], 0.0),
        ("smoothed_hinge", [-5.0, 5.0], [1.0, -1.0], 0.0),  # both saturated for |b| ≤ 5.5
        ("huber", [0.0, 0.0], [-10.0, 10.0], 0.0),  # |b| ≤ 9
        ("squared_epsilon_insensitive", [0.0, 0.0], [0.95, 1.05], 1.0),
    ],
)
@pytest.mark.parametrize("guess", [0.0, 3.0, -30.0])
def test_the_middle_of_many_minimisers(name, m, y, middle, guess):
    """Where an interval minimises, its middle: unique, whatever the guess."""
    loss = get_loss(name)
    m, y = np.array(m), np.array(y)
    sign, t = (y, ONE) if loss.kind == "margin" else (ONE, y)
    assert best_bias(loss.curve, [Part(m, sign, t, ONE)], guess) == pytest.approx(middle, abs=1e-9)


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_degenerate_weights_and_classes(name):
    """No rows, one row, one class: a finite answer that nothing beats by much."""
    loss = get_loss(name)
    assert best_bias(loss.curve, [Part(np.empty(0), ONE, ONE, ONE)]) == 0.0
    m, y = np.array([0.5, -0.2, 1.0]), np.array([1.0, 1.0, 1.0])
    sign, t = (y, ONE) if loss.kind == "margin" else (ONE, y)
    found = best_bias(loss.curve, [Part(m, sign, t, ONE)])
    assert np.isfinite(found)
    assert total(loss, m, sign, t, ONE, found) <= brute_force(loss, m, sign, t, ONE) + 1e-3


@pytest.mark.parametrize("n", [40, 9_000])
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_rows_may_come_in_parts(name, n):
    """Some of them empty: the bias and the sum of losses are those of all rows."""
    loss = get_loss(name)
    m, *rest = case(loss, n, 3)
    ends, parts = (0, 7, 7, n // 3, n), []
    for first, last in pairwise(ends):
        part = slice(first, last)
        parts.append(Part(m[part], *(a[part] if a.size > 1 else a for a in rest)))
    whole = [Part(m, *rest)]
    bias = best_bias(loss.curve, whole)
    assert best_bias(loss.curve, parts) == pytest.approx(bias, abs=1e-9)
    assert loss_sum(loss.curve, parts, bias) == pytest.approx(loss_sum(loss.curve, whole, bias))
