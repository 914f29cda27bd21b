"""Data, weights and C far from 1, for kernels, rankings, sequences, structures and streams.

Either a sentence says what cannot be computed, or there is a model that is finite with a gap that
is no worse than that of the zero model.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
from own import Multilabel
from problems import matrix

from gapsvm import SVC, SVR, ChainCRF, ChainSVC, OnlineSVC, RankSVC, Sequences, StructuredSVC

N = 24
X = matrix(N, 4)
LABELS = np.where(X[:, 0] > np.median(X[:, 0]), 1.0, -1.0)
GRADES, QID = np.arange(N) % 3, np.arange(N) // 8
STARTS = np.arange(0, N + 1, 4)
SEVERAL = (X[:, :3] > 0).astype(int)
BUDGET = {"max_iter": 12, "time_limit": 2.0}


def _machine(model, y, **options):
    return lambda X, C, s: model(C=C, time_limit=2.0, **options).fit(X, y, s)


def _ranking(method, loss="pairs"):
    return lambda X, C, s: RankSVC(C=C, method=method, loss=loss, **BUDGET).fit(
        X, GRADES, qid=QID, sample_weight=None if loss == "ndcg" else s
    )


def _chain(model, method):
    return lambda X, C, s: model(C=C, method=method, **BUDGET).fit(
        Sequences(X, STARTS), GRADES, None if s is None else s[: len(STARTS) - 1]
    )


def _own(method):
    oracle = Multilabel(4, 3)

    def fit(X, C, s):
        rows = X.toarray() if sp.issparse(X) else X
        with np.errstate(over="ignore", invalid="ignore"):  # the oracle's own sums
            return StructuredSVC(oracle, C=C, method=method, **BUDGET).fit(rows, SEVERAL, s)

    return fit


DOORS = {
    "machine": _machine(SVC, LABELS),
    "machine, linear": _machine(SVC, LABELS, kernel="linear", max_iter=20_000),
    "machine, sigmoid": _machine(SVC, LABELS, kernel="sigmoid", loss="squared_hinge"),
    "machine, logistic": _machine(SVC, LABELS, kernel="poly", loss="logistic"),
    "machine, numbers": _machine(SVR, X[:, 1], loss="half_squared"),
    "ranking, bundle": _ranking("bundle"),
    "ranking, proximal bundle": _ranking("proximal-bundle"),
    "ranking, pairs": _ranking("pair-sdca"),
    "ranking, steps": _ranking("proximal", "ndcg"),
    "chain": _chain(ChainSVC, "frank-wolfe"),
    "chain, steps": _chain(ChainSVC, "pegasos"),
    "random field": _chain(ChainCRF, "lbfgs"),
    "random field, steps": _chain(ChainCRF, "pegasos"),
    "own": _own("frank-wolfe"),
    "own, bundle": _own("bundle"),
    "stream": lambda X, C, s: OnlineSVC(lam=1 / C / N).partial_fit(
        X, LABELS, classes=[-1, 1], sample_weight=s
    ),
}
HEAVY = np.r_[1e12, np.full(N - 1, 1e-3)]
CASES = {f"X·{size:g}": (size * X, 1.0, None) for size in (1e-300, 1e-30, 1e30, 1e149, 1e160)}
CASES |= {f"C = {C:g}": (X, C, None) for C in (1e-300, 1e-150, 1e150, 1e300)}
CASES |= {f"weights of {s:g}": (X, 1.0, np.full(N, s)) for s in (1e-300, 1e307)}
CASES |= {"a heavy row": (X, 1.0, HEAVY), "zeros": (0 * X, 1.0, None)}
CASES |= {"one long row": (np.vstack([1e200 * X[:1], X[1:]]), 1.0, None)}
SENTENCES = r"(overflows?|too (small|large)|[Tt]he sum of sample_weight|needs lam \+ tau > 0|steps)"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:(every weight is 0|the kernel matrix|the steps):UserWarning")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("door", DOORS)
def test_numbers_far_from_one(door, case):
    data, C, weight = CASES[case]
    try:
        model = DOORS[door](data, C, weight)
    except ValueError as error:
        if not re.search(SENTENCES, str(error)):
            raise
        return
    gap = getattr(model, "dual_gap_", 0.0)
    size = np.max(np.abs(getattr(model, "primal_objective_", 0.0)))
    assert -1e-9 * (1 + size) <= gap < np.inf
    if not isinstance(model, SVC | SVR):
        assert np.isfinite(model.coef_).all()
    assert np.isfinite(getattr(model, "intercept_", 0.0)).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("door", DOORS)
def test_what_is_no_number_is_found_and_its_place_named(door, sparse, bad):
    data = X.copy()
    data[7, 2] = bad
    with pytest.raises(ValueError, match=r"row 7, column 2|example 7"):
        DOORS[door](sp.csr_matrix(data) if sparse else data, 1.0, None)


def test_examples_that_are_no_list():
    model = StructuredSVC(Multilabel(4, 3))
    for call in (model.fit, model.fit(X, SEVERAL).score):
        with pytest.raises(TypeError, match="pass a list of its rows"):
            call(sp.csr_matrix(X), SEVERAL)
        with pytest.raises(TypeError, match="sequence of examples"):
            call(3.0, SEVERAL)
