"""Multiclass subgradient steps against a twin of Pegasos §5, other solvers, and real data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from problems import DTYPES, LAYOUTS, drawn, matrix
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from gapsvm import LinearProblem, MulticlassProblem, Subgradient, get_loss, solve
from gapsvm.backends import get_backend
from gapsvm.io.svmlight import read_svmlight
from gapsvm.problems.multiclass import MULTICLASS_LOSSES, MulticlassIterate
from gapsvm.solvers.subgradient.rules import STEP_RULES
from gapsvm.training.checkpoint import (
    CheckpointError,
    fingerprint,
    load_checkpoint,
    save_checkpoint,
)

K = 3
BACKEND = get_backend("cpu")
every_loss = pytest.mark.parametrize("loss", MULTICLASS_LOSSES)


def problem(loss, n=40, d=5, *, lam=0.1, layout="dense", dtype=np.float64, **options):
    X = matrix(n, d, 0, "dense", dtype)
    rng = np.random.default_rng(1)
    y = (X @ rng.normal(size=(d, K)) + rng.normal(size=(n, K))).argmax(axis=1)
    X = sp.csr_matrix(X) if layout == "csr" else X
    return MulticlassProblem(X, y, K, loss, lam, **options)


def dense(p):
    X = p.rows.to_scipy()
    return np.asarray(X.todense() if p.rows.is_sparse else X, dtype=float)


def feature(x, r):
    """φ(x, r): x in the block of class r."""
    out = np.zeros((K, x.size))
    out[r] = x
    return out.ravel()


def subgradient(loss, costs, w, x, y):
    """The last two lines of Pegasos's table, in the paper's own notation."""
    z = [w @ feature(x, r) for r in range(K)]
    if loss == "multinomial":
        p = np.exp(z) / np.sum(np.exp(z))
        return sum(p[r] * feature(x, r) for r in range(K)) - feature(x, y)
    worst = y
    for r in range(K):
        if costs[y, r] - z[y] + z[r] > costs[y, worst] - z[y] + z[worst]:
            worst = r
    return feature(x, worst) - feature(x, y)


def pegasos(p, batches, radius):
    """Figure 2 with the subgradients of §5, line by line."""
    X = dense(p)
    if p.bias == "penalized":
        X = np.hstack([X, np.full((len(X), 1), p.bias_scale)])
    w = np.zeros(K * X.shape[1])
    for t, batch in enumerate(batches, start=1):
        eta = 1 / (p.lam * t)
        v = sum(subgradient(p.loss, p.curve.costs, w, X[i], p.y[i]) for i in batch) / len(batch)
        w = w - eta * (p.lam * w + v)
        w = min(1, radius / max(np.linalg.norm(w), 1e-300)) * w
    return w.reshape(K, -1).T


@every_loss
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("projection", [False, 0.7])
@pytest.mark.parametrize(("batch", "bias"), [(1, "none"), (4, "penalized")])
def test_equals_the_paper(loss, batch, bias, projection, layout, dtype):
    """The same indices, 40 steps in two slices."""
    options = {"costs": [[0, 1, 2], [1, 0, 0.5], [3, 1, 0]]} if loss == "crammer_singer" else {}
    p = problem(loss, layout=layout, dtype=dtype, lam=0.5, bias=bias, bias_scale=1.5, **options)
    solver = Subgradient(batch, projection)
    state = solver.init(p, BACKEND, np.random.default_rng(8))
    batches = drawn(state, batch, 40)
    for steps in (15, 25):
        state = solver.advance(p, state, BACKEND, steps * batch)
    got = solver.iterate(p, state)
    want = pegasos(p, batches, projection or np.inf)
    np.testing.assert_allclose(got.W, want[:5], rtol=1e-8, atol=1e-10)
    if bias == "penalized":
        np.testing.assert_allclose(got.bias, 1.5 * want[5], rtol=1e-8, atol=1e-10)
    else:
        np.testing.assert_array_equal(got.bias, 0.0)
    assert not projection or np.linalg.norm(want) <= projection + 1e-12


@every_loss
def test_certificate_counts_per_visit(loss):
    """A_i is the mean of the maximisers met; e_y or uniform for a row never visited."""
    p, solver = problem(loss), Subgradient()
    state = solver.init(p, BACKEND, np.random.default_rng(1))
    indices = drawn(state, 1, 25)[:, 0]
    X, W = dense(p), np.zeros((5, K))
    visits, total = np.zeros(40), np.zeros((40, K))
    for t, i in enumerate(indices, start=1):
        a = p.curve.maximiser(X[i] @ W, p.y[i])
        visits[i] += 1
        total[i] += a
        W = (1 - 1 / t) * W + np.outer(X[i], np.eye(K)[p.y[i]] - a) / (p.lam * t)
    state = solver.advance(p, state, BACKEND, 25)
    A = solver.iterate(p, state).A
    seen = visits > 0
    np.testing.assert_allclose(A[seen], total[seen] / visits[seen, None], atol=1e-12)
    default = np.eye(K)[p.y] if loss == "crammer_singer" else np.full((40, K), 1 / K)
    np.testing.assert_array_equal(A[~seen], default[~seen])
    assert 0 < seen.sum() < 40
    assert np.isfinite(p.certify(solver.iterate(p, state), BACKEND).dual)


@every_loss
@pytest.mark.parametrize("average", ["uniform", "tail", "decaying"])
@pytest.mark.parametrize("batch", [1, 4])
def test_averages(loss, batch, average):
    """Means of the iterates of the plain solver, in uneven slices."""
    p = problem(loss, layout="csr", bias="penalized")
    solver, plain = Subgradient(batch, average=average), Subgradient(batch)
    state, one = (s.init(p, BACKEND, np.random.default_rng(8)) for s in (solver, plain))
    points = []
    for _ in range(41):
        now = plain.iterate(p, one)
        points.append(np.vstack([now.W, now.bias]))
        one = plain.advance(p, one, BACKEND, batch)
    for steps in (3, 17, 21):
        state = solver.advance(p, state, BACKEND, steps * batch)
    if average == "decaying":
        want = np.zeros((6, K))
        for point in points:
            want = 0.9 * want + 0.1 * point
    else:
        want = np.mean(points[0 if average == "uniform" else 16 :], axis=0)
    got = solver.iterate(p, state)
    np.testing.assert_allclose(np.vstack([got.W, got.bias]), want, rtol=1e-8, atol=1e-10)


@every_loss
def test_random_iterate(loss):
    """It is one of those that were there."""
    p = problem(loss)
    solver, plain = Subgradient(average="random"), Subgradient()
    state, one = (s.init(p, BACKEND, np.random.default_rng(3)) for s in (solver, plain))
    points = []
    for _ in range(30):
        points.append(plain.iterate(p, one).W)
        one = plain.advance(p, one, BACKEND, 1)
    got = solver.iterate(p, solver.advance(p, state, BACKEND, 30)).W
    assert any(np.allclose(got, point, atol=1e-12) for point in points)


@every_loss
@pytest.mark.parametrize("rule", [name for name in STEP_RULES if name != "optimistic"])
@pytest.mark.parametrize("sampler", ["subsets", "permutation"])
def test_every_rule_closes_in(loss, rule, sampler):
    p = problem(loss, lam=0.2, bias="penalized")
    solver = Subgradient(2, True, step_rule=rule, sampler=sampler, average="tail")
    found = solve(p, solver, gap=0.05 * p.primal_at_zero, max_passes=3000)
    assert found.converged


@every_loss
@pytest.mark.parametrize("bias", ["none", "penalized"])
def test_the_ball_holds_the_optimum(loss, bias):
    """‖W*‖² ≤ P₀/λ (docs/design/multiclass.md): the projected method comes as close."""
    p = problem(loss, lam=0.02, bias=bias)
    found = solve(p, Subgradient(4, True, average="tail"), gap=0.02, max_passes=4000)
    assert found.converged
    got = found.solution
    square = np.sum(got.W**2) + np.sum(got.bias**2)
    # ‖W − W*‖² ≤ 2·gap/λ
    assert np.sqrt(square) <= np.sqrt(p.primal_at_zero / p.lam) + np.sqrt(2 * found.gap / p.lam)


def certified(p, tol):
    found = solve(p, Subgradient(average="tail"), gap=tol, max_passes=20_000)
    assert found.converged
    return found.certificate


@pytest.mark.parametrize("layout", LAYOUTS)
def test_multinomial_optimum(layout):
    """The certified interval holds the optimum of SciPy's and scikit-learn's solvers."""
    p = problem("multinomial", 60, lam=0.05, layout=layout)
    X, found = dense(p), certified(p, 1e-4)

    def objective(flat):
        W = flat.reshape(5, K)
        A = p.curve.maximiser(X @ W, p.y) - np.eye(K)[p.y]
        value = p.curve.value(X @ W, p.y).mean() + 0.5 * p.lam * np.sum(W**2)
        return value, (X.T @ A / len(X) + p.lam * W).ravel()

    best = minimize(objective, np.zeros(5 * K), jac=True, options={"gtol": 1e-9})
    assert found.dual - 1e-10 <= best.fun <= found.primal + 1e-10
    np.testing.assert_allclose(found.solution.W, best.x.reshape(5, K), atol=np.sqrt(2e-4 / p.lam))
    other = LogisticRegression(C=1 / (p.lam * len(X)), fit_intercept=False, tol=1e-8).fit(X, p.y)
    assert objective(other.coef_.T.ravel())[0] == pytest.approx(best.fun, abs=1e-8)


def test_crammer_singer_optimum():
    """The certified interval holds the optimum of LIBLINEAR."""
    p = problem("crammer_singer", 60, lam=0.05)
    X, found = dense(p), certified(p, 2e-3)
    other = LinearSVC(
        *("l2", "hinge"),
        C=1 / (p.lam * len(X)),
        multi_class="crammer_singer",
        fit_intercept=False,
        tol=1e-8,
        max_iter=100_000,
        random_state=0,
    ).fit(X, p.y)
    zero = np.zeros(K)
    best = p.certify(MulticlassIterate(other.coef_.T, zero, found.solution.A), BACKEND).primal
    assert found.dual - 1e-9 <= best <= found.primal + 1e-9


@pytest.mark.parametrize(
    ("loss", "binary"), [("crammer_singer", "hinge"), ("multinomial", "logistic")]
)
def test_two_classes_are_a_binary_problem(loss, binary):
    """w = w_1 − w_0 with ‖W‖² = ‖w‖²/2: the same optimum as the binary loss has with λ/2."""
    X = matrix(60, 4, 2)
    y = (X @ np.ones(4) + np.random.default_rng(0).normal(size=60) > 0).astype(int)
    ours = certified(MulticlassProblem(X, y, 2, loss, 0.2), 3e-3)
    p = LinearProblem(X, 2.0 * y - 1, get_loss(binary), 0.1)
    from gapsvm import SDCA

    theirs = solve(p, SDCA(), gap=1e-8).certificate
    assert ours.dual - 1e-9 <= theirs.primal <= ours.primal + 1e-7


@every_loss
def test_resumes_bit_for_bit(loss, tmp_path):
    """Through a file; a problem with other costs refuses it."""
    p, solver = problem(loss, bias="penalized"), Subgradient(3, average="tail")
    whole = solve(p, solver, gap=0.0, max_passes=6, evaluate_every=2)
    half = solve(p, solver, gap=0.0, max_passes=3, evaluate_every=2)
    save_checkpoint(tmp_path / "c", half.checkpoint, fingerprint(p), solver)
    checkpoint, same = load_checkpoint(tmp_path / "c", fingerprint(p))
    assert same == solver
    rest = solve(p, same, gap=0.0, max_passes=6, evaluate_every=2, checkpoint=checkpoint)
    assert rest.certificate.primal == whole.certificate.primal
    assert rest.certificate.dual == whole.certificate.dual
    np.testing.assert_array_equal(rest.solution.W, whole.solution.W)
    np.testing.assert_array_equal(rest.solution.A, whole.solution.A)
    if loss == "crammer_singer":
        other = problem(loss, bias="penalized", costs=2 - 2 * np.eye(K))
        with pytest.raises(CheckpointError, match="costs differs"):
            load_checkpoint(tmp_path / "c", fingerprint(other))


def test_impossible_options():
    with pytest.raises(ValueError, match="batch_size must be between 1 and n = 40"):
        solve(problem("multinomial"), Subgradient(41), gap=1e-3)
    for solver, sentence in (
        (Subgradient(step_rule="optimistic"), "'optimistic' is for a LinearProblem"),
        (Subgradient(average="uniform", stop="bound", eps=0.1), "stop='bound' is for"),
        (Subgradient(2, bias_step="batch"), "bias_step is for a free bias"),
        (Subgradient(single=True), "single is for a LinearProblem"),
    ):
        with pytest.raises(ValueError, match=sentence):
            solve(problem("multinomial"), solver, gap=1e-3)


@every_loss
def test_hostile_rows(loss):
    """Empty rows, huge rows, one class only: finite certificates."""
    X = np.array([[0.0, 0.0], [1e6, -1e6], [1e-8, 0.0], [1.0, 1.0]])
    for y in ([0, 1, 2, 0], [1, 1, 1, 1]):
        p = MulticlassProblem(X, y, K, loss, 1e-3, bias="penalized")
        found = solve(p, Subgradient(projection=True), gap=0.0, max_passes=20)
        assert np.isfinite([found.certificate.primal, found.certificate.dual]).all()
        assert found.gap >= -1e-9 * abs(found.certificate.primal)


@pytest.mark.parametrize(
    ("name", "classes", "loss", "tol"),
    [("letter", 26, "crammer_singer", 0.1), ("sector", 105, "multinomial", 1e-4)],
)
def test_real_data(name, classes, loss, tol, data_folder):
    path = data_folder / name / f"{name}.bz2"
    if not path.exists():
        pytest.skip(f"no {path}")
    X, labels = read_svmlight(path)[:2]
    names, y = np.unique(labels, return_inverse=True)
    assert len(names) == classes
    p = MulticlassProblem(X, y, classes, loss, 1e-2)
    solver = Subgradient(average="tail")
    found = solve(p, solver, gap=tol * p.primal_at_zero, max_passes=30)
    assert found.converged
    assert found.certificate.primal < p.primal_at_zero
