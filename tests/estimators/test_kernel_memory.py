"""What a fit and a prediction of kernel machines may take beside the data."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from problems import matrix, targets

from gapsvm import SVC

N = 9000
X = np.float32(matrix(N, 12))
LABELS = np.where(np.random.default_rng(0).random(N) < 0.1, -1, 1) * targets(X, "margin")


def peak_of(act):
    """Bytes beyond what there was."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(("C", "cache_size"), [(1.0, 24), (300.0, 40)])
def test_a_fit_keeps_to_the_cache_and_some_numbers_a_row(make, C, cache_size):
    """The cache, the data, 200 bytes a row; also with blocks that grow and Newton's step."""
    data = make(np.where(np.abs(X) > 1.3, X, 0.0)) if make is sp.csr_matrix else X
    size = data.nbytes if make is np.asarray else data.data.nbytes + data.indices.nbytes
    model = SVC(gamma=0.3, C=C, cache_size=cache_size, tol=1e-4, max_iter=50_000)
    SVC(gamma=0.3).fit(data[:1500], LABELS[:1500])  # compiled, pools are there
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *anything, **more: None)
        peak = peak_of(lambda: model.fit(data, LABELS))
    assert peak <= cache_size * 2**20 + size + 200 * N
    assert peak >= 0.5 * cache_size * 2**20  # the cache is used


def test_a_prediction_takes_little_beside_its_answer():
    fitted = SVC(gamma=0.3).fit(X[:1500], LABELS[:1500])
    fitted.predict(X[:10])
    peak = peak_of(lambda: fitted.decision_function(X))
    assert peak <= 100 * N + 2**22
    assert peak < 0.1 * 8 * N * len(fitted.support_)
