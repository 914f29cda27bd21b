"""Block-coordinate Frank–Wolfe: D grows, a break changes nothing, bad options are refused."""

from __future__ import annotations

import chains
import numpy as np
import pytest
from problems import problem as linear_problem

from gapsvm import FrankWolfe, solve
from gapsvm.backends import get_backend
from gapsvm.training.checkpoint import fingerprint, load_checkpoint, save_checkpoint

CPU = get_backend("cpu")


@pytest.mark.parametrize("sampling", ["permutation", "gap"])
def test_the_dual_never_falls_and_w_belongs_to_alpha(sampling):
    p, solver = chains.problem(0.01, n=20, paired=True), FrankWolfe(sampling, batch=3)
    state, last = solver.init(p, CPU, np.random.default_rng(0)), 0.0
    for _ in range(30):
        state = solver.advance(p, state, CPU, 7)
        value, w = p.dual_value(state.dual, CPU)
        assert value >= last - 1e-12
        np.testing.assert_allclose(state.w, w, atol=1e-10)
        last = value


def test_slots_grow_with_the_labellings_that_carry_weight():
    p = chains.problem(0.01, n=10, slots=2)
    result = solve(p, FrankWolfe(), gap=1e-6 * p.primal_at_zero, max_passes=1000)
    assert result.converged
    assert len(result.solution.dual.labels) > 2


@pytest.mark.parametrize("sampling", ["permutation", "gap"])
def test_a_checkpoint_goes_on_bit_for_bit(sampling, tmp_path):
    p, solver = chains.problem(n=20), FrankWolfe(sampling)
    straight = solve(p, solver, gap=0, max_passes=9)
    halves = solve(p, solver, gap=0, max_passes=4.5)
    save_checkpoint(tmp_path / "c", halves.checkpoint, fingerprint(p), solver)
    checkpoint, found = load_checkpoint(tmp_path / "c", fingerprint(p))
    again = solve(p, found, gap=0, max_passes=9, checkpoint=checkpoint)
    np.testing.assert_array_equal(again.solution.w, straight.solution.w)


def test_a_warm_start_begins_where_another_fit_ended():
    p = chains.problem(n=20)
    first = solve(p, FrankWolfe(), gap=1e-3, max_passes=500)
    solver = FrankWolfe().warmed(first.solution)
    warm = solve(p, solver, gap=1e-3, max_passes=500, warm=first.solution)
    assert warm.passes == 0
    assert warm.converged
    state = solver.init(p, CPU, np.random.default_rng(0))
    assert p.dual_value(state.dual, CPU)[0] == pytest.approx(first.certificate.dual)


def test_options_and_problems_that_make_no_sense():
    for options in ({"sampling": "x"}, {"cached": -1}, {"batch": 0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            FrankWolfe(**options)
    with pytest.raises(ValueError, match="structured problem"):
        solve(linear_problem("hinge"), FrankWolfe(), gap=1.0)
