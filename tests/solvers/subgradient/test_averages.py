"""What is handed out: means of every kind, and an iterate at random, against twins."""

from __future__ import annotations

import numpy as np
import pytest
from problems import LAYOUTS, problem

from gapsvm import Pegasos, Subgradient
from gapsvm.backends import get_backend

CPU = get_backend("cpu")
LAM = 0.05


def test_uniform_average():
    p = problem("hinge", 30, 5, lam=LAM, bias="penalized")
    mean, plain = Subgradient(2, average="uniform"), Subgradient(2)
    a, b = (s.init(p, CPU, np.random.default_rng(5)) for s in (mean, plain))
    points = []
    for _ in range(25):
        now = plain.iterate(p, b)
        points.append(np.append(now.w, now.bias))
        b = plain.advance(p, b, CPU, 2)
    for steps in (4, 21):
        a = mean.advance(p, a, CPU, 2 * steps)
    got = mean.iterate(p, a)
    np.testing.assert_allclose(np.append(got.w, got.bias), np.mean(points, axis=0), rtol=1e-9)


def test_random_iterate_is_uniform():
    """Each of w_1, …, w_6 is handed out equally often, whatever the slices."""
    p, plain = problem("hinge", 20, 3, lam=LAM), Subgradient()
    counts = np.zeros(6)
    for seed in range(600):
        solver = Subgradient(average="random")
        a, b = (s.init(p, CPU, np.random.default_rng(seed)) for s in (solver, plain))
        points = []
        for _ in range(6):
            points.append(plain.iterate(p, b).w)
            b = plain.advance(p, b, CPU, 1)
        for steps in (2, 4) if seed % 2 else (6,):
            a = solver.advance(p, a, CPU, steps)
        chosen = solver.iterate(p, a).w
        matches = [k for k, w in enumerate(points) if np.allclose(w, chosen, rtol=1e-12)]
        assert matches
        counts[matches] += 1 / len(matches)
    assert np.sum((counts - 100) ** 2 / 100) < 30


@pytest.mark.parametrize(
    ("average", "tail_from"), [("tail", 20), ("tail", None), ("decaying", None)]
)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("batch", [1, 4])
def test_averages(batch, layout, average, tail_from):
    """Takáč Algorithm 1's w̄ over t > T/2, the moving tail, and 0.9/0.1, in uneven slices."""
    p, backend = problem("hinge", 30, 5, lam=0.1, layout=layout, bias="penalized"), get_backend()
    solver = Pegasos(batch, average=average, tail_from=tail_from)
    plain = Pegasos(batch)
    state, one = (s.init(p, backend, np.random.default_rng(8)) for s in (solver, plain))
    points, T = [], 41
    for _ in range(T):
        now = plain.iterate(p, one)
        points.append(np.append(now.w, now.bias))
        one = plain.advance(p, one, backend, batch)
    for steps in (3, 17, 21):
        state = solver.advance(p, state, backend, steps * batch)
    if average == "decaying":
        want = np.zeros(6)
        for point in points:
            want = 0.9 * want + 0.1 * point
    else:
        first = 20 if tail_from is not None else 16  # 41 lies in [32, 64): the window before
        want = np.mean(points[first:], axis=0)
    got = solver.iterate(p, state)
    np.testing.assert_allclose(np.append(got.w, got.bias), want, rtol=1e-9, atol=1e-11)


def test_averages_of_long_runs():
    """Beyond 3,000 steps the share of the past underflows unless it is written out."""
    p, backend = problem("hinge", 30, 5, lam=0.1), get_backend()
    solver, plain = Pegasos(average="decaying"), Pegasos()
    state, one = (s.init(p, backend, np.random.default_rng(8)) for s in (solver, plain))
    state, one = (s.advance(p, x, backend, 9700) for s, x in ((solver, state), (plain, one)))
    assert np.isfinite(solver.iterate(p, state).w).all()
    want = solver.iterate(p, state).w
    for _ in range(300):
        want = 0.9 * want + 0.1 * plain.iterate(p, one).w
        one = plain.advance(p, one, backend, 1)
    got = solver.iterate(p, solver.advance(p, state, backend, 300)).w
    np.testing.assert_allclose(got, want, rtol=1e-9)
