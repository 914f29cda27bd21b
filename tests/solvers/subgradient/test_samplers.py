"""Which rows are visited: samplers, in slices that do not divide the pass."""

from __future__ import annotations

import numpy as np
import pytest
from problems import problem

from gapsvm import Subgradient
from gapsvm.backends import get_backend
from gapsvm.solvers.subgradient.samplers import SAMPLERS
from gapsvm.types.tables import VISITS

CPU = get_backend("cpu")


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samplers(sampler):
    """Which rows are visited how often, in slices that do not divide the pass."""
    n, size, steps = 30, 4, 60
    p = problem("hinge", n, 5)
    solver = Subgradient(size, sampler=sampler)
    state = solver.init(p, CPU, np.random.default_rng(3))
    orders = []
    for part in (7, 23, 30):
        state = solver.advance(p, state, CPU, part * size)
        orders.append(state.order.copy())
    visits = state.table[:, VISITS]
    assert visits.sum() == steps * size
    if sampler in ("permutation", "fixed", "streams"):
        assert set(visits) == {steps * size / n}  # eight whole passes
    else:
        assert len(set(visits)) > 1
    if sampler == "fixed":
        assert all(np.array_equal(order, orders[0]) for order in orders)
    if sampler in ("permutation", "streams"):
        assert not np.array_equal(orders[0], orders[-1])
    whole = solver.advance(p, solver.init(p, CPU, np.random.default_rng(3)), CPU, steps * size)
    np.testing.assert_allclose(whole.weights.w, state.weights.w, rtol=1e-9)


def test_multisets_repeat_rows_and_subsets_do_not():
    n = 6
    p = problem("hinge", n, 3)
    for sampler, alike in (("multisets", False), ("subsets", True)):
        solver = Subgradient(n, sampler=sampler)
        state = solver.advance(p, solver.init(p, CPU, np.random.default_rng(0)), CPU, n)
        assert (set(state.table[:, VISITS]) == {1.0}) == alike
