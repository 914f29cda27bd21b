"""First fits in fresh processes: with an empty cache of kernels, with a filled one, and commands.

    python benchmarks/cold.py [--only WORD]

Every line is a process of its own; seconds are of the fit after the imports, and of the whole
command.  scikit-learn's first fit of the same data stands beside.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

from benchmarks.common import versions

FIT = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, scipy.sparse as sp
from sklearn import datasets as toy, svm
from gapsvm import LinearSVC, LinearSVR
name, who = sys.argv[1:]
if name == "diabetes":
    X, y = toy.load_diabetes(return_X_y=True)
elif name.endswith("CSR"):
    X = sp.random(20_000, 500, 0.05, format="csr", dtype=np.float32, random_state=0)
    y = np.where(np.asarray(X @ np.random.default_rng(0).normal(size=500)) > 0, 1, -1)
elif "x" in name:
    n, d = map(int, name.split("x"))
    X, y = toy.make_classification(n, d, flip_y=0.1, random_state=0)
else:
    set_, _, way = name.partition(" ")
    X, y = getattr(toy, "load_" + set_)(return_X_y=True)
    if way:
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
model = {"ours": LinearSVR if name == "diabetes" else LinearSVC,
         "theirs": svm.LinearSVR if name == "diabetes" else svm.LinearSVC}[who]
model = model(**{} if name == "diabetes" else {"loss": "hinge"})
before = time.perf_counter()
model.fit(X, y)
first = time.perf_counter() - before
before = time.perf_counter()
model.fit(X, y)
second = time.perf_counter() - before
print(json.dumps([first, second, "numba" in sys.modules]))
"""
SETS = (
    "iris",
    "wine",
    "breast_cancer",
    "breast_cancer scaled",
    "digits",
    "digits scaled",
    "100x5",
    "1000x20",
    "3000x50",
    "10000x20",
    "diabetes",
    "20000 × 500 CSR",
)
COMMANDS = ("--version", "--help", "methods", "data")


def ran(command: list[str], cache: str) -> tuple[str, float]:
    """Output and seconds of a process."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    before = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout, time.perf_counter() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="sets whose names have it")
    args = parser.parse_args()
    print(versions("gapsvm", "scikit-learn", "numba", "numpy"))
    print("| data | first fit, empty cache | second | filled cache | scikit-learn | Numba |")
    print("|---|---|---|---|---|---|")
    for name in SETS:
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory() as cache:
            fit = [sys.executable, "-c", FIT, name]
            empty, again, numba = json.loads(ran([*fit, "ours"], cache)[0])
            filled, *_ = json.loads(ran([*fit, "ours"], cache)[0])
            theirs, *_ = json.loads(ran([*fit, "theirs"], cache)[0])
        times = f"{empty:.3f} s | {again:.3f} s | {filled:.3f} s | {theirs:.3f} s"
        print(f"| {name} | {times} | {'yes' if numba else 'no'} |", flush=True)
    if args.only:
        return
    print("\n| command | seconds |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(sys.executable).with_name("gapsvm"))
        for command in COMMANDS:
            least = min(ran([program, command], folder)[1] for _ in range(3))
            print(f"| gapsvm {command} | {least:.2f} |", flush=True)


if __name__ == "__main__":
    main()
