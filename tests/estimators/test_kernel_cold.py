"""The first fits of kernel machines where nothing is compiled."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
from sklearn.datasets import load_iris

from gapsvm import SVC, SVR

PROGRAM = """
import sys
import numpy as np
from sklearn.datasets import load_iris
from gapsvm import SVC, SVR
X, y = load_iris(return_X_y=True)
ovo, ovr = SVC().fit(X, y), SVC(multi_class="ovr").fit(X, y)
found = [ovo.decision_function(X), ovr.decision_function(X)]
found.append(SVR(C=10.0).fit(X, y).predict(X)[:, None])
found.append(SVC(loss="logistic").fit(X, y).decision_function(X))
assert "numba" not in sys.modules
SVC(method="working-set").fit(X, y)
assert "numba" in sys.modules
np.save(sys.argv[1], np.hstack(found))
"""


def test_small_fits_wait_for_no_compiler(tmp_path):
    """NumPy does them, and what it finds is what compiled loops find."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "found.npy")]
    subprocess.run(command, check=True, env=environment)
    X, y = load_iris(return_X_y=True)
    want = [model.fit(X, y).decision_function(X) for model in (SVC(), SVC(multi_class="ovr"))]
    want.append(SVR(C=10.0).fit(X, y).predict(X)[:, None])
    want.append(SVC(loss="logistic").fit(X, y).decision_function(X))
    np.testing.assert_allclose(np.load(tmp_path / "found.npy"), np.hstack(want), atol=1e-8)
