"""More threads than cores are asked for: as many as there are cores do the work."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from problems import matrix, targets

import gapsvm
from gapsvm import LinearSVC, backends
from gapsvm.io.svmlight import SvmlightReader
from gapsvm.system import cores

MANY = 10**6


@pytest.fixture
def two_cores(monkeypatch):
    """As on a machine with two, and the most threads that were alive at once."""
    monkeypatch.setattr(cores, "usable_cores", lambda: 2)
    backends._pool.cache_clear()
    alive = [threading.active_count()]
    start = threading.Thread.start

    def counted(thread):
        start(thread)
        alive.append(threading.active_count())

    monkeypatch.setattr(threading.Thread, "start", counted)
    yield alive
    backends._pool.cache_clear()


def test_a_reader_has_as_many_lanes_as_cores(two_cores):
    text = b"1 1:2 3:4\n-1 2:1\n" * 100
    reader = SvmlightReader(text, threads=MANY)
    assert reader.threads == 2
    before = two_cores[0]
    X, y = gapsvm.read_svmlight(text, threads=MANY)[:2]
    assert max(two_cores) <= before + 2
    np.testing.assert_array_equal(y, gapsvm.read_svmlight(text)[1])
    assert X.shape == (200, 3)


@pytest.mark.parametrize("classes", [2, 3])
def test_an_estimator_has_as_many_threads_as_cores(two_cores, classes):
    X = matrix(90, 6)
    y = np.arange(90) % classes
    many = LinearSVC(n_jobs=MANY, random_state=0, method="sdca").fit(X, y)
    assert max(two_cores) <= two_cores[0] + 2
    two = LinearSVC(n_jobs=2, random_state=0, method="sdca").fit(X, y)
    np.testing.assert_array_equal(many.coef_, two.coef_)


def test_a_backend_shares_work_among_as_many_threads_as_cores(two_cores):
    backend = backends.get_backend("cpu", MANY)
    assert backend.map(abs, range(-300, 0)) == [*range(300, 0, -1)]
    assert max(two_cores) <= two_cores[0] + 2


def test_the_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {3, 5, 6}, raising=False)
    assert cores.usable_cores() == 3
    assert cores.at_most_cores(5000) == 3
    assert cores.at_most_cores(2) == 2


def test_all_cores_is_what_minus_one_means(two_cores):
    X = matrix(40, 5)
    model = LinearSVC(n_jobs=-1, random_state=0).fit(X, targets(X, "margin"))
    assert model._threads() <= 2
