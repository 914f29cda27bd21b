"""stop="bound": the counts of theorems, and what they need."""

from __future__ import annotations

import numpy as np
import pytest
from problems import problem

from gapsvm import Status, Subgradient, solve


@pytest.mark.parametrize(
    ("rule", "average"),
    [
        ("pegasos", "uniform"),
        ("pegasos", "tail"),
        ("pegasos", "random"),
        ("proximal", "uniform"),
        ("bound", "random"),
    ],
)
def test_stop_at_the_theorems_count(rule, average):
    """It ends there, and the promise holds (in the mean over seeds, by far)."""
    p = problem("hinge", 60, 4, lam=0.2)
    best = solve(p, Subgradient(), gap=2e-2, max_passes=3000).certificate.dual
    solver = Subgradient(20, True, average, step_rule=rule, stop="bound", eps=0.5)
    off = []
    for seed in range(2):
        result = solve(p, solver, gap=-1.0, max_passes=1e9, seed=seed)
        assert result.status is Status.PROMISED
        state = result.checkpoint.state
        assert state.steps == state.stop.due
        off.append(result.certificate.primal - best)
    assert np.mean(off) <= 0.5


def test_stop_needs_a_theorem():
    with pytest.raises(ValueError, match="stop='bound' knows theorems for step_rule='pegasos'"):
        solve(problem("hinge"), Subgradient(step_rule="norma", stop="bound", eps=0.1), gap=0.1)
    with pytest.raises(ValueError, match="stop must be 'gap', or 'bound' or 'sampled' with eps"):
        Subgradient(stop="bound")
