"""What ``auto`` chooses for SVC and SVR, and what classes share."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from problems import matrix, targets
from sklearn.metrics.pairwise import rbf_kernel

from gapsvm import SVC, SVR, solve
from gapsvm.kernels.registry import get_kernel
from gapsvm.kernels.rows import FeatureRows
from gapsvm.losses.registry import get_loss
from gapsvm.problems.kernel import KernelProblem
from gapsvm.training import machines

MANY = matrix(1500, 6)
LABELS = targets(MANY, "margin")
WIDE = np.tile(MANY, (1, 50))


@pytest.mark.parametrize(
    ("X", "options", "method"),
    [
        (MANY[:300], {}, "full-gram"),
        (MANY, {}, "working-set"),
        (WIDE[:900], {}, "working-set"),
        (WIDE[:600], {}, "full-gram"),
        (MANY, {"kernel": "linear"}, "linear-sdca"),
        (MANY[:300], {"kernel": "linear"}, "full-gram"),
        (MANY[:300], {"loss": "logistic"}, "kernel-newton"),
    ],
    ids=["few", "many", "dear", "few, dear", "linear", "few, linear", "logistic"],
)
def test_the_choice_is_visible(X, options, method):
    fitted = SVC(gamma=0.01, **options).fit(X, LABELS[: len(X)])
    assert fitted.method_ == method
    assert fitted.converged_


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "smoothed_hinge"])
@pytest.mark.parametrize("C", [0.01, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_linear_kernels_are_solved_over_weights(loss, C, fit_intercept, make):
    """The same optimum, certified as any other, without a value of K."""
    how = {"kernel": "linear", "loss": loss, "C": C, "fit_intercept": fit_intercept}
    X, tol = make(MANY), 1e-5
    fitted = SVC(**how, tol=tol).fit(X, LABELS)
    blocks = SVC(**how, tol=tol, method="working-set").fit(X, LABELS)
    assert fitted.method_ == "linear-sdca"
    assert fitted.n_kernel_evals_ == 0
    assert fitted.dual_gap_ <= tol
    assert abs(fitted.primal_objective_ - blocks.primal_objective_) <= 2 * tol
    weights = fitted.coef_.toarray() if sp.issparse(fitted.coef_) else fitted.coef_
    scores = X @ weights.ravel() + fitted.intercept_
    np.testing.assert_allclose(scores, fitted.decision_function(X), atol=1e-8)


def test_working_sets_take_over_where_sdca_is_slow():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4)) * [1e-2, 1, 30, 1e3]
    fitted = SVR(kernel="linear", tol=1e-8).fit(X, X @ [50.0, 1, 0.1, 0.01])
    assert fitted.converged_
    assert fitted.method_ in ("working-set", "linear-sdca")
    with pytest.warns(UserWarning, match="not reached"):
        short = SVR(kernel="linear", tol=1e-12, max_iter=1000).fit(X, X @ [50.0, 1, 0.1, 0.01])
    assert short.n_iter_ == 1000


def test_sdca_over_weights_goes_on_bit_for_bit():
    rows = FeatureRows(MANY, get_kernel("linear"))
    p = KernelProblem(rows, LABELS, get_loss("hinge"), 1e-3, bias="free")
    straight = solve(p, "linear-sdca", gap=1e-7)
    part = solve(p, "linear-sdca", gap=1e-7, max_passes=3)
    rest = solve(p, "linear-sdca", gap=1e-7, checkpoint=part.checkpoint)
    np.testing.assert_array_equal(rest.solution.alpha, straight.solution.alpha)
    for kernel in ("rbf", "poly"):
        other = KernelProblem(FeatureRows(MANY, get_kernel(kernel)), LABELS, p.loss, 1e-3)
        with pytest.raises(ValueError, match="its kernel is not linear"):
            solve(other, "linear-sdca", gap=1e-3)


def test_classes_against_all_others_share_rows_of_k(monkeypatch):
    """Rows that one class asked for are there for the next."""
    monkeypatch.setattr(machines, "_SHARED", 0)
    y = np.digitize(MANY[:, 0] + 0.3 * MANY[:, 1], [-0.5, 0.5])
    how = {"gamma": 0.2, "tol": 1e-4, "method": "working-set(whole=0)"}
    together = SVC(multi_class="ovr", **how).fit(MANY, y)
    apart = [SVC(**how).fit(MANY, np.where(y == c, 1, -1)) for c in range(3)]
    assert together.n_kernel_evals_ < 0.9 * sum(one.n_kernel_evals_ for one in apart)
    for c, one in enumerate(apart):
        found = together.decision_function(MANY)[:, c]
        np.testing.assert_allclose(found, one.decision_function(MANY), atol=0.05)


def test_large_matrices_are_looked_at_as_well():
    """Of more than 2,000 rows, some may show that there are negative eigenvalues."""
    K = rbf_kernel(matrix(2100, 4))
    y = targets(matrix(2100, 4), "margin")
    assert SVC(kernel="precomputed").fit(K, y).gap_is_bound_ is None
    with pytest.warns(UserWarning, match="not positive definite"):
        assert SVC(kernel="precomputed").fit(0.5 - K, y).gap_is_bound_ is False


@pytest.mark.parametrize("y", [LABELS[:400], np.arange(400) % 3], ids=["two", "three"])
def test_values_of_a_function_are_asked_for_in_blocks(monkeypatch, y):
    from gapsvm.estimators import kernel_machine

    def function(A, B):
        seen.append(A.shape[0])
        return rbf_kernel(A, B, gamma=0.3)

    seen: list[int] = []
    X = MANY[:400]
    fitted = SVC(kernel=function).fit(X, y)
    by_matrix = SVC(kernel="precomputed").fit(rbf_kernel(X, gamma=0.3), y)
    want = fitted.decision_function(X)
    seen.clear()
    monkeypatch.setattr(kernel_machine, "_VALUES_AT_ONCE", 5000)
    np.testing.assert_array_equal(fitted.decision_function(X), want)
    assert max(seen) * len(fitted.support_) <= 5000
    found = by_matrix.decision_function(rbf_kernel(X, gamma=0.3))
    np.testing.assert_allclose(found, want, atol=1e-8)
