"""LASVM and SMO: written again from the papers, their invariants, both backends."""

from __future__ import annotations

import numpy as np
import pytest
from problems import INTERIOR_LOSSES, kernel_problem
from problems import KERNEL_ROWS as N

from gapsvm import LASVM, SMO, solve
from gapsvm.backends import get_backend

CPU = get_backend("cpu")
BIASES = ("none", "free")


class Twin:
    """LASVM of a margin loss, as Bordes et al. print it (§3.2).

    A step that no bound shortens leaves two gradients equal but for rounding, and the next choice
    is between them: gradients are therefore kept for all rows, by the same two subtractions.
    """

    def __init__(self, problem, tau):
        self.K, self.D = problem.rows.gram, problem.rows.diagonal
        self.y, (self.A, self.B) = problem.y, problem.box
        self.tau, self.paired = tau, problem.bias == "free"
        self.v, self.g = {}, problem.y.copy()

    def ends(self):
        ups = [s for s in self.v if self.v[s] < self.B[s]]
        downs = [s for s in self.v if self.v[s] > self.A[s]]
        i = max(ups, key=self.g.__getitem__, default=None)
        j = min(downs, key=self.g.__getitem__, default=None)
        return i, j

    def move(self, i, j):
        K = self.K
        step = (self.g[i] - self.g[j]) / (self.D[i] + self.D[j] - 2.0 * K[i, j])
        room, other = self.B[i] - self.v[i], self.v[j] - self.A[j]
        step = min(step, room, other)
        self.v[i] = self.B[i] if step >= room else self.v[i] + step  # exactly
        self.v[j] = self.A[j] if step >= other else self.v[j] - step
        self.g -= step * K[i]
        self.g -= -step * K[j]

    def move_one(self, k):
        step = self.g[k] / self.D[k]
        low, high = self.A[k] - self.v[k], self.B[k] - self.v[k]
        step = min(max(step, low), high)
        end = self.A[k] if step == low else self.B[k]
        self.v[k] = self.v[k] + step if low < step < high else end
        self.g -= step * self.K[k]

    def process(self, k):
        if k in self.v:
            return
        own = self.y[k] - sum(self.v[s] * self.K[k, s] for s in self.v)
        assert abs(self.g[k] - own) <= 1e-9
        self.v[k] = 0.0
        if not self.paired:
            if self.y[k] * self.g[k] > self.tau:
                self.move_one(k)
            return
        i, j = self.ends()
        i, j = (k, j) if self.y[k] > 0 else (i, k)
        if i is not None and j is not None and self.g[i] - self.g[j] > self.tau:
            self.move(i, j)

    def reprocess(self):
        i, j = self.ends()
        up = -np.inf if i is None else self.g[i]
        down = np.inf if j is None else self.g[j]
        if not (up - down if self.paired else max(up, -down)) > self.tau:
            return False
        if self.paired:
            self.move(i, j)
            i, j = self.ends()
            up, down = self.g[i], self.g[j]
        else:
            self.move_one(i if up >= -down else j)
            up = down = 0.0
        for s in [s for s in self.v if self.v[s] == 0.0]:
            if (self.y[s] > 0 and self.g[s] <= down) or (self.y[s] < 0 and self.g[s] >= up):
                del self.v[s]
        return True


@pytest.mark.parametrize(("backend", "finish"), [("cpu", 200), ("reference", 60)])
@pytest.mark.parametrize("bias", BIASES)
def test_lasvm_is_written_as_printed(bias, backend, finish):
    """A pass over 60 rows and steps of finishing: the same members, coefficients and gradients."""
    problem, backend = kernel_problem(n=60, bias=bias, backend=backend), get_backend(backend)
    solver, twin = LASVM(tau=1e-2), Twin(problem, 1e-2)
    state = solver.init(problem, backend, np.random.default_rng(4))
    state = solver.advance(problem, state, backend, 1)
    for k in state.order.tolist():
        twin.process(k)
        twin.reprocess()
    block, point = solver._block(problem, state)
    backend.lasvm_finish(block, point, state.expansion.inside, 1e-2, bias == "free", finish)
    for _ in range(finish):
        twin.reprocess()
    S = state.expansion
    members = S.members
    assert set(S.rows[members].tolist()) == set(twin.v)
    want = np.array([(twin.v[k], twin.g[k]) for k in S.rows[members].tolist()])
    np.testing.assert_allclose(S.coef[members], want[:, 0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(S.pull[members], want[:, 1], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", INTERIOR_LOSSES)
@pytest.mark.parametrize("bias", BIASES)
def test_lasvm_keeps_its_invariants(name, bias):
    """Box, Σv = 0, gradients of the members, K among them; no τ-violation after finishing."""
    problem, solver = kernel_problem(name, bias=bias), LASVM(tau=1e-4)
    K = np.stack([problem.rows.product(e) for e in np.eye(N)])
    lower, upper = problem.box
    state = solver.init(problem, CPU, np.random.default_rng(0))
    for _ in range(12):
        state = solver.advance(problem, state, CPU, 1)
        S = state.expansion
        rows, coef = S.rows[S.members], S.coef[S.members]
        assert len(set(rows.tolist())) == rows.size
        assert np.all((coef >= lower[rows]) & (coef <= upper[rows]))
        assert bias == "none" or abs(coef.sum()) <= 1e-9 * np.abs(coef).sum() + 1e-12
        kept = S.kernel[np.ix_(S.members, S.members)]
        np.testing.assert_allclose(kept, K[np.ix_(rows, rows)], rtol=1e-13)
        pull = problem.y[rows] - K[np.ix_(rows, rows)] @ coef - problem.ridge[rows] * coef
        np.testing.assert_allclose(S.pull[S.members], pull, rtol=1e-7, atol=1e-8)
    while state.position or state.finishing:
        state = solver.advance(problem, state, CPU, 1)
    S = state.expansion
    rows, v, g = S.rows[S.members], S.coef[S.members], S.pull[S.members]
    up = np.where(v < upper[rows], g - np.where(v >= 0, problem.eps, -problem.eps), -np.inf)
    down = np.where(v > lower[rows], g + np.where(v <= 0, problem.eps, -problem.eps), np.inf)
    violation = up.max() - down.min() if bias == "free" else max(up.max(), -down.min())
    assert violation <= 1e-4 + 1e-9


@pytest.mark.parametrize("solver", [LASVM(), LASVM(finish=False), SMO(), SMO(cache_rows=False)])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", INTERIOR_LOSSES)
def test_every_loss_to_its_optimum(name, bias, solver):
    problem = kernel_problem(name, bias=bias, lam=0.05)
    best = solve(problem, tol=1e-9).certificate.primal
    found = solve(problem, solver, tol=1e-4, max_passes=2000)
    assert found.converged
    assert found.certificate.dual <= best + 1e-9 <= found.certificate.primal + 2e-9


@pytest.mark.parametrize("bias", BIASES)
def test_steps_of_smo_are_the_best_pair_by_second_order(bias):
    """50 steps written again, with K as a matrix."""
    problem = kernel_problem(bias=bias)
    K, diagonal = problem.rows.gram, problem.rows.diagonal
    (lower, upper), v, g = problem.box, np.zeros(N), problem.y.copy()
    for _ in range(50):
        up, down = np.where(v < upper, g, -np.inf), np.where(v > lower, g, np.inf)
        if bias == "free":
            i = int(np.argmax(up))
            gain = np.maximum(up[i] - down, 0) ** 2 / (diagonal[i] + diagonal - 2 * K[i] + 1e-300)
            j = int(np.argmax(np.where(np.arange(N) == i, -1, gain)))
            step = (g[i] - g[j]) / (diagonal[i] + diagonal[j] - 2 * K[i, j])
            room, other = upper[i] - v[i], v[j] - lower[j]
            step = min(step, room, other)
            v[i] = upper[i] if step >= room else v[i] + step
            v[j] = lower[j] if step >= other else v[j] - step
            g = g - step * (K[i] - K[j])
        else:
            i = int(np.argmax(np.maximum(np.maximum(up, -down), 0) ** 2 / diagonal))
            low, high = lower[i] - v[i], upper[i] - v[i]
            step = min(max(g[i] / diagonal[i], low), high)
            end = lower[i] if step == low else upper[i]
            v[i], g = v[i] + step if low < step < high else end, g - step * K[i]
    state = SMO().init(problem, CPU, np.random.default_rng(0))
    state.steps = 150  # of 200 in a call
    state = SMO().advance(problem, state, CPU, 1)
    assert state.steps == 200
    np.testing.assert_allclose(state.coef, v, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(state.pull, g, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("solver", [LASVM(), SMO()])
@pytest.mark.parametrize("bias", BIASES)
def test_a_warm_start_goes_on_from_its_alpha(solver, bias):
    problem = kernel_problem(bias=bias)
    best = solve(problem, tol=1e-8)
    warm = solve(problem, solver, tol=1e-6, warm=best.solution)
    cold = solve(problem, solver, tol=1e-6)
    assert warm.converged
    assert warm.passes < cold.passes
    state = solver.warmed(best.solution).init(problem, CPU, np.random.default_rng(0))
    got = problem.coef_of(solver.iterate(problem, state))
    np.testing.assert_allclose(got, problem.coef_of(best.solution), atol=1e-12)


def test_a_pass_of_lasvm_compares_rows_with_those_of_s_alone():
    problem = kernel_problem(n=900, lam=0.1, kernel="rbf(gamma=0.05)")
    state = LASVM().init(problem, CPU, np.random.default_rng(0))
    allowed = 0
    while not state.finishing:
        size = int(state.expansion.inside.sum())
        state = LASVM().advance(problem, state, CPU, 1)
        allowed += 64 * size + 64 * 64
    assert problem.rows.evaluations <= allowed


@pytest.mark.parametrize("kernel", ["rbf(gamma=0.3)", "poly(gamma=1, coef0=1)", "linear"])
def test_a_row_by_itself_is_that_of_a_tile(kernel):
    """Sparse rows have a way of their own for one."""
    rows = kernel_problem(kernel=kernel, layout="csr", cache_size=0.01).rows
    K = rows.lines(np.arange(N), np.float64)
    for i in (0, 7, N // 2):
        np.testing.assert_allclose(rows.lines(np.array([i]), np.float64)[0], K[i], rtol=1e-12)
