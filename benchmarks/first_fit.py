"""What a first fit costs in a fresh install: imports, compilation, and the same fit when cached.

Every run is a process of its own.  The first of each pair finds an empty kernel cache, the second
the cache the first one left.  Usage: python benchmarks/first_fit.py [pairs]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

PROGRAM = """
import json, time
start = time.perf_counter()
from gapsvm import LinearSVC
imported = time.perf_counter()
import numpy as np, scipy.sparse as sp
X = sp.random(20_000, 500, 0.05, format="csr", dtype=np.float32, random_state=0)
y = np.where(np.asarray(X @ np.random.default_rng(0).normal(size=500)) > 0, 1, -1)
times = []
for data in (X, X, X.toarray()):
    before = time.perf_counter()
    LinearSVC(method="sdca", lam=1e-3).fit(data, y)
    times.append(time.perf_counter() - before)
print(json.dumps([imported - start, *times]))
"""


def run(cache: str) -> list[float]:
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    return list(json.loads(done.stdout))


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("| cache | import | first CSR fit | again | first dense fit |\n|---|---|---|---|---|")
    for _ in range(pairs):
        with tempfile.TemporaryDirectory() as cache:
            for name in ("empty", "filled"):
                print(f"| {name} |" + "".join(f" {t:.2f} s |" for t in run(cache)), flush=True)


if __name__ == "__main__":
    main()
