"""Compile hygiene, in processes of their own: imports, the cache, stale code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gapsvm

PACKAGE = Path(gapsvm.__file__).parent


def python(code: str, cache: Path, package: Path = PACKAGE) -> str:
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("from gapsvm import LinearSVC, LinearSVR", "numba torch dask matplotlib typer"),
        ("from gapsvm import solve, SDCA, LinearProblem", "numba sklearn torch dask matplotlib"),
        ("import gapsvm.training.train", "numba sklearn torch dask matplotlib rich"),
    ],
)
def test_imports_stay_lazy(statement, forbidden, tmp_path):
    code = f"import sys; {statement}; print(*(m for m in {forbidden.split()} if m in sys.modules))"
    assert python(code, tmp_path) == ""


FIT = """
import numpy as np, scipy.sparse as sp
from gapsvm import LinearSVC
rng = np.random.default_rng(0)
X = rng.normal(size=(50, 4)); y = np.where(X[:, 0] > 0, 1, -1)
for A in (X, sp.csr_matrix(X)):
    LinearSVC(method="interior").fit(A, y)
import importlib, pkgutil, gapsvm.backends.numba as cpu
hits = misses = 0
for module in pkgutil.iter_modules(cpu.__path__):
    for thing in vars(importlib.import_module(f"gapsvm.backends.numba.{module.name}")).values():
        if hasattr(thing, "stats") and hasattr(thing, "py_func"):
            hits += sum(thing.stats.cache_hits.values())
            misses += sum(thing.stats.cache_misses.values())
print(hits, misses)
"""


def test_a_second_process_compiles_nothing(tmp_path):
    first_hits, first_misses = map(int, python(FIT, tmp_path).split())
    hits, misses = map(int, python(FIT, tmp_path).split())
    assert first_misses > 0
    assert first_hits == 0
    assert misses == 0
    assert hits == first_misses


COMPILED = """
import warnings
from numba.core import event
names = []
class Listener(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        names.append(f"{function.__module__}.{function.__qualname__}")
    def on_end(self, event):
        pass
event.register("numba:compile", Listener())
import numpy as np
from gapsvm import LinearSVC
from gapsvm.backends.numba import minibatch, sdca, subgradient
X = np.random.default_rng(0).normal(size=(50, 4))
warnings.simplefilter("ignore")
for method in ("pegasos", "minibatch(rule=aggressive, batch_size=4)", "sdca", "interior"):
    LinearSVC(method=method, max_iter=2).fit(X, np.where(X[:, 0] > 0, 1, -1))
print(*names)
for kernel in (subgradient.subgradient_loop, minibatch.minibatch_loop, sdca.sdca_steps):
    print(*("NRT_" in code for code in kernel.inspect_llvm().values()))
"""


def test_kernels_neither_write_messages_nor_count_references(tmp_path):
    """Numba compiles messages for target[:] = source, two seconds of strings; counting is an atomic
    operation or two for every row, of each array of X."""
    names, *counts = python(COMPILED, tmp_path).splitlines()
    assert sum(name.startswith("gapsvm.") for name in names.split()) > 10
    assert not [name for name in names.split() if ".unicode." in name or "shape_context" in name]
    assert len(counts) == 3
    assert {word for line in counts for word in line.split()} == {"False"}


MARGIN = """
import numpy as np
from gapsvm.backends import get_backend
from gapsvm.rows.matrix import as_rows
out = np.empty(1)
get_backend("cpu").margins(as_rows(np.ones((1, 3))).view, np.ones(3), out)
print(out[0])
"""


def test_an_edit_of_a_helper_is_never_missed(tmp_path):
    """Numba looks at a kernel's own file only; an edit of rows.py must reach every kernel."""
    copy = tmp_path / "src" / "gapsvm"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    cache = tmp_path / "cache"
    assert float(python(MARGIN, cache, copy)) == 3.0
    helper = copy / "backends" / "numba" / "rows.py"
    text = helper.read_text()
    needle = "total += x[j] * w[j]"
    assert needle in text, "the line that this test edits has moved"
    helper.write_text(text.replace(needle, "total += 2.0 * x[j] * w[j]"))
    assert float(python(MARGIN, cache, copy)) == 6.0
    helper.write_text(text)
    assert float(python(MARGIN, cache, copy)) == 3.0


def test_a_read_only_cache_folder_is_no_obstacle(tmp_path):
    """A file where the folder should be: kernels are compiled and not kept."""
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert float(python(MARGIN, blocked)) == 3.0
