"""Mapped folders are trained on as they lie on the disk, in memory that could not hold them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gapsvm
from gapsvm import SDCA, LinearProblem, get_loss, solve
from gapsvm.io.folder import convert, open_folder

LAM, GAP = 1e-3, 1e-3

LIMITED = """
import json, re, resource, sys
import numpy as np
from gapsvm import SDCA, LinearProblem, get_loss, solve
from gapsvm.io.folder import open_folder

folder, lam, gap = sys.argv[1], *map(float, sys.argv[2:])

def fitted(X, y):
    return solve(LinearProblem(X, y, get_loss("hinge"), lam), SDCA(), gap=gap)

X, y, _ = open_folder(folder)
fitted(X[:50], y[:50])  # compiled before the limit is set
used = 1024 * int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read())[1])
limit = used + (X.data.nbytes + X.indices.nbytes) // 4
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    X.data.copy()
    sys.exit("the limit let half of the data be copied")
except MemoryError:
    pass
certificate = fitted(X, y).certificate
print(json.dumps([certificate.primal, certificate.dual]))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="RLIMIT_DATA needs Linux")
def test_a_quarter_of_the_data_is_memory_enough(tmp_path):
    """Certified, and as good as with the data in memory."""
    rng = np.random.default_rng(0)
    X = rng.choice([-2, -1, 1, 2], size=(100, 400)) / 32  # short as text
    y = np.where(X @ rng.normal(size=400) + 0.3 * rng.normal(size=100) > 0, 1, -1)
    gapsvm.write_svmlight(tmp_path / "few.svm", X, y)
    (tmp_path / "rows.svm").write_bytes((tmp_path / "few.svm").read_bytes() * 200)
    folder = tmp_path / "rows.gsv"
    assert 8 * convert(tmp_path / "rows.svm", folder).n_values == 64 * 10**6
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(folder), str(LAM), str(GAP)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    primal, dual = json.loads(done.stdout)
    assert primal - dual <= GAP

    mapped, labels, _ = open_folder(folder)
    problem = LinearProblem(mapped.copy(), labels, get_loss("hinge"), LAM)
    assert not problem.rows.is_mapped
    assert abs(solve(problem, SDCA(), gap=GAP).certificate.primal - primal) <= GAP
