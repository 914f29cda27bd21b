"""Certified optima of real data sets, where the folder of them is at hand."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from gapsvm import LinearProblem, LinearSVC, get_loss
from gapsvm.datasets import load, optimum
from gapsvm.training.train import Options, train


@cache
def rows(name, scale, dtype, folder):
    return load(name, scale=scale, dtype=dtype, folder=folder)


def solved(name, scale, lam, dtype, gap, folder, method="auto"):
    X, y = rows(name, scale, dtype, folder)
    p = LinearProblem(X, y, get_loss("hinge"), lam)
    fit = train(p, Options(method=method, tol=gap, max_passes=20_000))
    best = optimum(name, scale, lam, folder=folder)
    assert best is not None
    certificate = fit.result.certificate
    rounding = 1e-9 if dtype == np.float64 else 1e-7
    assert fit.result.converged, fit.result.status
    assert certificate.gap <= gap  # P₀ = 1: relative is absolute
    assert -rounding <= certificate.primal - best <= certificate.gap + rounding
    assert certificate.dual <= best + rounding
    return fit


SETS = [("a9a", 1e-4), ("w8a", 1e-5), ("ijcnn1", 1e-5)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "lam"), SETS)
def test_certified_gap_of_1e_6(name, lam, dtype, data_folder):
    solved(name, "max", lam, dtype, 1e-6, data_folder)


def test_text(data_folder):
    solved("news20", "unit", 1e-4, np.float32, 1e-6, data_folder, method="sdca")


@pytest.mark.parametrize(("name", "lam"), [("a9a", 1e-7), ("ijcnn1", 1e-7), ("w8a", 1e-8)])
def test_weak_lambda_to_1e_8(name, lam, data_folder):
    fit = solved(name, "max", lam, np.float64, 1e-8, data_folder, method="interior")
    assert fit.result.passes <= 100


def test_through_the_estimator(data_folder):
    """lam is the λ of the mean convention, and the free intercept can only help."""
    X, y = rows("a9a", "max", np.float64, data_folder)
    best = optimum("a9a", "max", 1e-4, folder=data_folder)
    plain = LinearSVC(lam=1e-4, fit_intercept=False, tol=1e-5, random_state=0).fit(X, y)
    assert best - 1e-9 <= plain.primal_objective_ <= best + plain.dual_gap_ + 1e-9
    free = LinearSVC(lam=1e-4, tol=1e-5, random_state=0).fit(X, y)
    assert free.converged_
    assert free.primal_objective_ <= best + free.dual_gap_
    by_c = LinearSVC(C=1 / (1e-4 * len(y)), fit_intercept=False, tol=1e-5, random_state=0)
    assert by_c.fit(X, y).primal_objective_ == pytest.approx(plain.primal_objective_, abs=1e-9)
