"""Steps on chains: ``cpu`` and ``reference`` do the same, and what they do raises the dual."""

from __future__ import annotations

import chains
import numpy as np
import pytest
import scipy.sparse as sp

from gapsvm import LBFGS, ChainLikelihood, FrankWolfe, Subgradient, solve
from gapsvm.backends import get_backend
from gapsvm.problems.structured import chain
from gapsvm.problems.structured.chain import ChainProblem

CPU, REFERENCE = get_backend("cpu"), get_backend("reference")
X, STARTS, Y = chains.tiny()
WEIGHT = np.random.default_rng(3).uniform(0.5, 2.0, len(STARTS) - 1)
WEIGHT[4] = 0.0  # a chain that says nothing
LAYOUTS = {"dense": np.asarray, "csr": sp.csr_matrix}
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
every_pairing = pytest.mark.parametrize("paired", [False, True], ids=["labels", "steps"])


def chain_problem(layout, paired, slots=8):
    options = {"paired": paired, "sample_weight": WEIGHT, "slots": slots}
    return ChainProblem(LAYOUTS[layout](X), STARTS, Y, 3, 0.02, **options)


def same(a, b, tight=1e-9):
    np.testing.assert_allclose(a, b, rtol=tight, atol=tight)


def same_certificates(one, other):
    same(one.solution.w, other.solution.w, 1e-7)
    same(one.certificate.primal, other.certificate.primal)
    same(one.certificate.dual, other.certificate.dual)


@pytest.mark.compiles
@every_layout
@every_pairing
@pytest.mark.parametrize("slots", [8, 2], ids=["room", "crowded"])
@pytest.mark.parametrize("most", [1, 10])
def test_block_steps(layout, paired, slots, most):
    """New labellings, then steps among those kept; with two slots the weight has to move.

    A step ends where two labellings violate alike, and rounding says which of them is next: only
    single steps on a block are compared number by number.
    """
    got = []
    for backend in (CPU, REFERENCE):
        p = chain_problem(layout, paired, slots)
        dual, w, gaps = p.truth(), p.zeros(), np.full(p.n_rows, np.inf)
        rng, numbers = np.random.default_rng(0), []
        for visit in range(6):
            examples = rng.permutation(p.n_rows).astype(np.uint32)
            found = p.worst(w, examples, CPU)[0] if visit % 3 < 2 else None
            before = p.dual_value(dual, CPU)[0]
            d, none = np.uint64(X.shape[1]), np.empty(0, dtype=np.uint16)
            growth, work, crowded = backend.chain_block_steps(
                *(p.rows.view, w, d, p.chains.starts, examples, none if found is None else found),
                *(dual.kept, p.mean_weight, np.array([1.0 / p.lam, 1.0]), most),
                *(np.empty(slots), gaps),
            )
            after, combination = p.dual_value(dual, CPU)
            same(w, combination)
            if not crowded:
                assert growth == pytest.approx(after - before, abs=1e-12)
            numbers.append((growth, work, crowded))
        got.append((w, dual.share, dual.cost, dual.labels, gaps, numbers))
        assert any(full for _, _, full in numbers) == (slots == 2)
    for a, b in zip(*got) if most == 1 else ():
        same(a, b)


@every_layout
@every_pairing
def test_push(layout, paired):
    """w moves along φ(truth) − φ(found) of some chains."""
    p, rng = chain_problem(layout, paired), np.random.default_rng(1)
    twin = chain_problem("dense", paired)
    order, steps = np.array([5, 0, 7], dtype=np.uint32), rng.normal(size=3)
    start, found = rng.normal(size=p.shape), rng.integers(0, 3, len(p.chains.tokens(order)))
    expected, at = start.copy(), 0
    for i, step in zip(order, steps):
        here = chains.span(p, i)
        mine = found[at : at + here.stop - here.start]
        at += len(mine)
        expected += step * (chains.features(twin, i, p.y[here]) - chains.features(twin, i, mine))
    for backend in (CPU, REFERENCE):
        w = start.copy()
        growth = p.push(w, order, found.astype(np.uint16), steps, backend)
        same(w, expected)
        assert growth == pytest.approx(np.vdot(w, w) - np.vdot(start, start), rel=1e-9)


@every_layout
def test_pull(layout):
    """w moves along Σ x coefᵀ over the tokens of some chains; transitions stay."""
    p, rng = chain_problem(layout, False), np.random.default_rng(2)
    order = np.array([5, 0, 7], dtype=np.uint32)
    tokens, start = p.chains.tokens(order), rng.normal(size=p.shape)
    coef = rng.normal(size=(len(tokens), 3))
    expected = start.copy()
    expected[: X.shape[1]] += 0.7 * X[tokens].T @ coef
    for backend in (CPU, REFERENCE):
        w = start.copy()
        growth = backend.chain_pull(p.rows.view, w, p.chains.starts, order, coef, 0.7)
        same(w, expected)
        assert growth == pytest.approx(np.vdot(w, w) - np.vdot(start, start), rel=1e-9)


@every_layout
@every_pairing
@pytest.mark.parametrize("solver", [FrankWolfe(), Subgradient(batch_size=3)], ids=["bcfw", "sgd"])
def test_passes_over_chains(layout, paired, solver, monkeypatch):
    """A few passes of a solver on either backend: the same weights and certificate."""
    monkeypatch.setattr(chain, "_BLOCK_STEPS", 1)
    results = [
        solve(chain_problem(layout, paired), solver, max_passes=4, gap=0.0, backend=backend)
        for backend in ("cpu", "reference")
    ]
    same_certificates(*results)


@every_layout
@pytest.mark.parametrize("solver", [LBFGS(), Subgradient(batch_size=3)], ids=["lbfgs", "sgd"])
def test_passes_over_random_fields(layout, solver):
    results = []
    for backend in ("cpu", "reference"):
        p = ChainLikelihood(LAYOUTS[layout](X), STARTS, Y, 3, 0.1, sample_weight=WEIGHT)
        results.append(solve(p, solver, max_passes=4, gap=0.0, backend=backend))
    same_certificates(*results)
