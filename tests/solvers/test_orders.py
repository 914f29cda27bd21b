"""Orders of a pass: permutations all, kind to memory or to a disk."""

from __future__ import annotations

import numpy as np
import pytest

from gapsvm import SDCA, LinearProblem, get_loss, solve
from gapsvm.backends import get_backend
from gapsvm.rows.matrix import Rows
from gapsvm.solvers import row_order as orders
from gapsvm.solvers.row_order import expect_rows, new_order

BACKENDS = [get_backend("cpu"), get_backend("reference")]


def mapped_problem(folder, n=3000, d=20):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    X = X[np.argsort(y, kind="stable")]
    options = (np.sort(y), get_loss("hinge"), 1e-3)  # one class after the other, as files often are
    np.save(folder / "X.npy", X)
    on_disk = LinearProblem(np.load(folder / "X.npy", mmap_mode="r"), *options)
    return on_disk, LinearProblem(X, *options)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(orders, "_CHUNK_VALUES", 5000)


@pytest.mark.parametrize("count", [1, 500, 3000])
def test_blocks_follow_one_another(tmp_path, small_blocks, count):
    """Every block is visited in one go; both backends agree."""
    problem, _ = mapped_problem(tmp_path)
    size, got = problem.rows_for(5000), []
    assert problem.rows.is_mapped
    assert 4 * size < 3000
    for backend in BACKENDS:
        order = np.random.default_rng(1).permutation(3000).astype(np.uint32)
        rows, seed = np.sort(order[:count]), np.array([5], dtype=np.uint64)
        new_order(problem, order, count, seed, backend)
        np.testing.assert_array_equal(np.sort(order[:count]), rows)
        changes = np.count_nonzero(np.diff(order[:count] // size))
        assert changes == np.unique(rows // size).size - 1
        got.append(order)
    np.testing.assert_array_equal(*got)
    expect_rows(problem, order[:count])


def test_few_blocks_are_asked_for_at_a_time(tmp_path, small_blocks, monkeypatch):
    """Also when the rows visited are few and lie in all blocks."""
    problem, in_memory = mapped_problem(tmp_path)
    size, asked = problem.rows_for(5000), []
    monkeypatch.setattr(Rows, "expect", lambda self, first, last: asked.append((first, last)))
    order = np.arange(0, 3000, 10, dtype=np.uint32)
    new_order(problem, order, order.size, np.array([5], dtype=np.uint64), BACKENDS[0])
    count = expect_rows(problem, order)
    visited = list(dict.fromkeys((order // size).tolist()))[: orders._CHUNKS_AHEAD]
    assert asked == [(size * block, min(size * (block + 1), 3000)) for block in visited]
    assert count == np.isin(order // size, visited).sum()
    assert expect_rows(problem, order[count - 1 : count]) == 1
    assert expect_rows(problem, order[:0]) == 0
    assert expect_rows(in_memory, order) == order.size


def test_a_mapped_file_gives_the_same_optimum(tmp_path, small_blocks):
    on_disk, in_memory = mapped_problem(tmp_path)
    results = [solve(p, SDCA(), gap=1e-6, max_passes=2000) for p in (on_disk, in_memory)]
    assert all(result.converged for result in results)
    a, b = (result.certificate.primal for result in results)
    assert abs(a - b) <= 1e-6


def test_one_block_is_no_block(tmp_path):
    """A file that fits is visited as memory is: the same model."""
    problems = mapped_problem(tmp_path)
    a, b = (solve(p, SDCA(), gap=1e-4).solution.w for p in problems)
    np.testing.assert_array_equal(a, b)
