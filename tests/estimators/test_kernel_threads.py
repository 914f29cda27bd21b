"""Kernel machines predict on all cores, and say the same on any number of them."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from problems import matrix, targets

from gapsvm import SVC, SVR, backends
from gapsvm.estimators import kernel_machine, threads
from gapsvm.estimators.threads import threads_to_predict
from gapsvm.system import cores
from gapsvm.training import machines

X = matrix(100, 5)
MANY = matrix(3000, 5)
"""Rows for several threads to share."""


def asked(n_jobs=None):
    return threads_to_predict(n_jobs)


@pytest.fixture
def eight_cores(monkeypatch):
    monkeypatch.setattr(cores, "usable_cores", lambda: 8)
    monkeypatch.setattr(threads, "usable_cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    backends._pool.cache_clear()
    yield
    backends._pool.cache_clear()


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (SVC(), targets(X, "margin")),
        (SVC(), np.arange(100) % 3),
        (SVC(multi_class="ovr", kernel="laplacian"), np.arange(100) % 3),
        (SVR(kernel="poly"), targets(X, "response")),
    ],
    ids=["two", "three", "ovr", "svr"],
)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_any_number_of_threads_predicts_the_same(eight_cores, monkeypatch, model, y, layout):
    monkeypatch.setattr(kernel_machine, "is_due", lambda *args: True)
    monkeypatch.setattr("gapsvm.models.support_vectors.is_due", lambda *args: True)
    model.fit(layout(X), y)
    say = model.predict if isinstance(model, SVR) else model.decision_function
    found = []
    for n_jobs in (1, 2, 5, None):
        model.set_params(n_jobs=n_jobs)
        found.append(say(layout(MANY)))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_all_cores_predict_where_nothing_is_said(eight_cores, monkeypatch):
    seen = []
    whole = kernel_machine.machine_functions
    monkeypatch.setattr(
        kernel_machine, "machine_functions", lambda *args: seen.append(args[-1]) or whole(*args)
    )
    model = SVC().fit(X, targets(X, "margin"))
    model.predict(X)
    model.set_params(n_jobs=3).decision_function(X)
    assert seen == [8, 3]


@pytest.mark.parametrize(("worth", "side_by_side"), [(0.0, True), (machines._WORTH_THREADS, False)])
def test_small_problems_are_not_handed_to_threads(eight_cores, monkeypatch, worth, side_by_side):
    pools = []
    monkeypatch.setattr(machines, "_WORTH_THREADS", worth)
    monkeypatch.setattr(
        machines,
        "ThreadPoolExecutor",
        lambda threads: pools.append(threads) or ThreadPoolExecutor(threads),
    )
    SVC(n_jobs=2).fit(X, np.arange(100) % 3)
    assert pools == ([2] if side_by_side else [])


def test_a_limit_of_the_user_holds(eight_cores, monkeypatch):
    assert asked() == 8
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert asked() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")  # of nested loops
    assert asked() == 8
    with joblib.parallel_config("threading", n_jobs=2):
        assert asked() == 2


def test_workers_take_no_more_than_their_share(eight_cores):
    with joblib.parallel_config("threading"):
        found = joblib.Parallel(2)(joblib.delayed(asked)() for _ in range(4))
    assert found == [1] * 4
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(asked, [2, 3])) == [2, 3]


@pytest.mark.slow
def test_processes_take_no_more_than_their_share(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    workers = cores.usable_cores()
    found = joblib.Parallel(workers, backend="loky")(
        joblib.delayed(asked)() for _ in range(workers)
    )
    assert found == [1] * workers
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(asked, [None]) == [1]
