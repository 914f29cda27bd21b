"""What small work does without: processes that start with an empty cache of kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import gapsvm
from gapsvm.backends import renting

HEAVY = ("numba", "llvmlite", "scipy", "numpy", "sklearn")
COMMAND = "import sys; sys.argv = ['gapsvm', *sys.argv[1:]]\nfrom gapsvm.cli import main\nmain()"
SMALL = """
import numpy as np
from gapsvm import LinearSVC, LinearSVR, svm_path
X = np.random.default_rng(0).normal(size=(150, 4))
y = np.arange(150) % 3
for loss in ("hinge", "squared_hinge", "logistic"):
    assert LinearSVC(loss=loss).fit(X, y).dual_gap_ < 1e-12
LinearSVC(method="exact", class_weight="balanced").fit(X.astype(np.float32), y)
LinearSVR(epsilon=0.1).fit(X, X[:, 0]).predict(X)
"""
FIRST = """
import sys, numpy as np
from gapsvm import LinearSVC
X = np.random.default_rng(0).normal(size=(300, 200))
X.flags.writeable = {writeable}
y = np.where(X[:, 0] > 0, 1, -1)
y.flags.writeable = {writeable}
LinearSVC(method="sdca", tol=0.1).fit(X, y, sample_weight=np.ones(300))
"""


def run(code: str, *arguments: str, cache: Path | str, **environment: str) -> set[str]:
    """Run a program; which heavy packages it has loaded."""
    report = "\nimport atexit, json, sys; atexit.register(lambda: print('LOADED', json.dumps("
    report += f"[m for m in {HEAVY!r} if m in sys.modules]), file=sys.stderr))\n"
    variables = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONPATH": str(Path(gapsvm.__file__).parents[1]),
        **environment,
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", report + code, *arguments],
        env=variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (loaded,) = (line for line in done.stderr.splitlines() if line.startswith("LOADED"))
    return set(json.loads(loaded.removeprefix("LOADED")))


def kept(cache: Path) -> list[str]:
    """The kernels in a cache, by name and signature."""
    return sorted(path.name for path in cache.rglob("*.nbc"))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A small file of svmlight text."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    rows = (" ".join(f"{j + 1}:{v:.3f}" for j, v in enumerate(x)) for x in X)
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{1 if x[0] > 0 else -1} {row}\n" for x, row in zip(X, rows)))
    return path


def test_small_fits_need_no_compiler(tmp_path):
    assert not run(SMALL, cache=tmp_path) & {"numba", "llvmlite"}
    assert kept(tmp_path) == []


def test_listings_need_next_to_nothing(tmp_path):
    for command in ("--help", "--version", "data", "methods", "losses"):
        loaded = run(COMMAND, command, cache=tmp_path)
        assert not loaded & {"numba", "llvmlite", "scipy", "sklearn"}, command


def test_commands_on_small_files_need_no_compiler(tmp_path, text):
    model = tmp_path / "model.safetensors"
    for arguments in (
        ("fit", text, "--model", model),
        ("predict", model, text),
        ("inspect", model),
    ):
        loaded = run(COMMAND, *map(str, arguments), cache=tmp_path / "cache")
        assert not loaded & {"numba", "llvmlite", "sklearn"}, arguments
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
def test_no_kernel_is_compiled_for_read_only_arrays(tmp_path):
    """Read-only or not, the same signatures; and no more than the method runs."""
    run(FIRST.format(writeable=True), cache=tmp_path)
    first = kept(tmp_path)
    assert first
    run(FIRST.format(writeable=False), cache=tmp_path)
    assert kept(tmp_path) == first
    names = {name.rpartition("-")[0] for name in first}
    assert not names & {"exact_interior", "exact_newton", "subgradient_steps", "kernel_block"}


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_home(tmp_path):
    tmp_path.chmod(0o500)
    run(FIRST.format(writeable=True), cache=tmp_path)


def test_no_home_at_all(tmp_path):
    """A folder that cannot be made, and a home that is not there."""
    file = tmp_path / "file"
    file.touch()
    run(SMALL, cache=file / "below")
    run(SMALL, cache="", HOME=str(tmp_path / "missing"), XDG_CACHE_HOME="")


@pytest.mark.slow
def test_a_first_fit_says_what_it_waits_for(tmp_path):
    """Under verbose=1, after a second; the next process has nothing to say, or to compile."""
    code = FIRST.format(writeable=True).replace("tol=0.1", "tol=0.1, verbose=1")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        said.append("compiling what this fit runs" in done.stderr)
    assert said == [True, False]


@pytest.mark.slow
def test_warm_up_compiles_what_is_reached(tmp_path):
    """Reading text, and small fits that insist on compiled loops, find all they need."""
    code = "import gapsvm; print(gapsvm.warm_up('text', 'small'))"
    run(code, cache=tmp_path)
    before = kept(tmp_path)
    assert {name.rpartition("-")[0] for name in before} >= {
        "parse_rows",
        "exact_interior",
        "exact_newton",
    }
    insisting = "from gapsvm.backends import renting; renting.settle()\n" + SMALL
    assert "numba" in run(insisting, cache=tmp_path)
    assert kept(tmp_path) == before


def test_warm_up_knows_its_parts():
    with pytest.raises(ValueError, match="unknown part 'everything'; choose of small, text"):
        gapsvm.warm_up("everything")


def test_a_module_that_another_thread_is_importing_is_not_there(monkeypatch):
    name = "gapsvm.backends.numba.half_way"
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    assert renting.wait("half_way", "kernel") > 0
