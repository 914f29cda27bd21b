"""Targets and features of any size: the interior point finds its way in."""

from __future__ import annotations

import numpy as np
import pytest

from gapsvm import InteriorPoint, LinearProblem, get_loss, solve

LOSSES = ["epsilon_insensitive", "squared_epsilon_insensitive", "absolute", "huber", "half_squared"]


@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("name", LOSSES)
def test_responses_of_any_size(name, size, bias):
    """House prices in dollars or in millions: the same certificate, relative to P(0)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) * np.array([1e-2, 1.0, 1e2, 1e3, 1.0])
    y = size * (X[:, 1] + 3.0 + 0.1 * rng.normal(size=200))
    parameters = {"delta": size} if name == "huber" else {}
    if "epsilon" in name:
        parameters = {"epsilon": 0.05 * size}
    problem = LinearProblem(X, y, get_loss(name, **parameters), 1e-6, bias=bias)
    result = solve(problem, InteriorPoint(), gap=1e-6 * problem.primal_at_zero)
    assert result.converged
