"""Reading svmlight text, and from a file to a model in a fresh process, beside the peers.

    python benchmarks/files.py [--folder DIR] [--big-mb 500]

Makes (once) plain-text files of imdb and of covtype, and one of at least ``--big-mb`` megabytes by
repeating covtype, in DIR.  Readers: best of three.  Fits: from a fresh process to its end, best of
three, kernels cached; every process prints its objective, and P is shown for each, so that nobody
is faster by stopping early.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path[0] = str(Path(__file__).parents[1])

from benchmarks.common import versions
from gapsvm import datasets, read_svmlight, write_svmlight

SKLEARN = """
import sys, warnings; warnings.simplefilter("ignore")
from sklearn.datasets import load_svmlight_file
from sklearn.svm import LinearSVC
X, y = load_svmlight_file(sys.argv[1])
X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")  # else it is refused
lam = float(sys.argv[2])
m = LinearSVC(C=1 / (lam * X.shape[0]), loss="hinge", fit_intercept=False, tol=1e-2).fit(X, y)
import numpy as np
w = m.coef_[0]
print(np.maximum(0, 1 - np.where(y == m.classes_[1], 1, -1) * (X @ w)).mean() + lam / 2 * w @ w)
"""
LIBLINEAR = """
import sys
from liblinear import commonutil, liblinearutil
y, X = commonutil.svm_read_problem(sys.argv[1], return_scipy=True)
lam = float(sys.argv[2])
m = liblinearutil.train(y, X, f"-s 3 -c {1 / (lam * X.shape[0])} -e 0.01 -B -1 -q")
import numpy as np
w = np.ctypeslib.as_array(m.w, shape=(X.shape[1],))
s = np.where(y == m.get_labels()[0], 1, -1)
print(np.maximum(0, 1 - s * (X @ w)).mean() + lam / 2 * w @ w)
"""
GAPSVM = "from gapsvm.cli import main; main()"


def text_file(folder: Path, name: str, scale: str, copies: int = 1) -> Path:
    path = folder / f"{name}-{copies}.svm"
    if not path.exists():
        X, y = datasets.load(name, scale=scale)
        X.data = X.data.round(6)
        one = folder / f"{name}-one.svm"
        write_svmlight(one, X, y)
        with open(path, "wb") as out:
            for _ in range(copies):
                out.write(one.read_bytes())
        one.unlink()
    return path


def best_of(run: Callable[[], Any], times: int = 3) -> float:
    seconds = []
    for _ in range(times):
        before = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - before)
    return min(seconds)


def reader_row(path: Path) -> None:
    from sklearn.datasets import load_svmlight_file

    size = path.stat().st_size / 1e6
    read_svmlight(path)
    one = two = np.inf
    for _ in range(5):  # in turns
        one = min(one, best_of(lambda: read_svmlight(path), 1))
        two = min(two, best_of(lambda: read_svmlight(path, threads=2), 1))
    peer = best_of(lambda: load_svmlight_file(str(path)), 1)
    print(
        f"| {path.stem} | {size:.0f} | {size / one:.0f} | {size / two:.0f} | {one / two:.2f} | "
        f"{size / peer:.0f} | {peer / one:.1f} |",
        flush=True,
    )


def fit_row(path: Path, lam: float, rounds: int = 3) -> None:
    """The contenders take turns; the least time of each counts."""
    ours = ("fit", str(path), "--lam", str(lam), "--bias", "none", "--gap", "1e-3", "--json")
    contenders = {
        "one thread": (GAPSVM, *ours, "--threads", "1"),
        "gapsvm": (GAPSVM, *ours),
        "scikit-learn": (SKLEARN, str(path), str(lam)),
        "liblinear": (LIBLINEAR, str(path), str(lam)),
    }
    seconds = dict.fromkeys(contenders, np.inf)
    objectives = {}
    run_process(*contenders["gapsvm"])  # compile
    for _ in range(rounds):
        for name, command in contenders.items():
            taken, objectives[name] = run_process(*command)
            seconds[name] = min(seconds[name], taken)
    one, ours_, sklearn, liblinear = seconds.values()
    print(
        f"| {path.stem} | {path.stat().st_size / 1e6:.0f} | {one:.2f} | {ours_:.2f} | "
        f"{sklearn:.2f} | {sklearn / ours_:.1f} | {liblinear:.2f} | {liblinear / ours_:.1f} | "
        + ", ".join(f"{value:.5f}" for value in objectives.values())
        + " |",
        flush=True,
    )


def run_process(code: str, *arguments: str) -> tuple[float, float]:
    """Seconds of a fresh process, and the objective it printed."""
    before = time.perf_counter()
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - before
    last = json.loads(done.stdout.splitlines()[-1])
    return seconds, last["primal"][0] if isinstance(last, dict) else last


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "gapsvm-bench")
    parser.add_argument("--big-mb", type=float, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="imdb only")
    args = parser.parse_args()
    args.folder.mkdir(exist_ok=True)
    imdb = text_file(args.folder, "imdb", "unit")
    covtype = text_file(args.folder, "cov1", "max")
    copies = int(np.ceil(args.big_mb * 1e6 / covtype.stat().st_size))
    big = text_file(args.folder, "cov1", "max", copies)
    print(versions("gapsvm", "numba", "numpy", "scikit-learn", "liblinear-official"))
    print("| file | MB | MB/s | 2 threads | speed-up | scikit-learn MB/s | ratio |")
    print("|---|---|---|---|---|---|---|")
    for path in (imdb,) if args.small else (imdb, covtype, big):
        reader_row(path)
    names = "fresh process | MB | 1 thread, s | as it comes | scikit-learn | ratio | liblinear"
    print(f"\n| {names} | ratio | P |")
    print("|---|---|---|---|---|---|---|---|---|")
    fit_row(imdb, 1e-4, args.rounds)
    if not args.small:
        fit_row(big, 1e-5, args.rounds)


if __name__ == "__main__":
    main()
