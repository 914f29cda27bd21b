"""A loss of a user's own modules, of no family: an exponential tail, straight below z = 0."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from problems import matrix, targets

from gapsvm import SDCA, LinearProblem, MiniBatchSDCA, Subgradient, solve
from gapsvm.backends.numba.kept import KeptCode
from gapsvm.losses.base import Loss

CURVE = '''
from typing import Any, NamedTuple
import numpy as np

class Tail(NamedTuple):
    """φ(z) = h·e^(−z) for z >= 0, h·(1 − z) below; φ*(−a) = a·log(a/h) − a on [0, h]."""

    height: float = 1.0

    @staticmethod
    def compiled() -> str:
        return "own_tail_compiled"

    def needs(self) -> str:
        return "" if self.height > 0 else "height > 0"

    lo = property(lambda self: 0.0)
    hi = property(lambda self: self.height)
    largest_slope = property(lambda self: self.height)

    def slope_within(self, reach, t):
        return self.height

    def maximiser(self, z, t):
        return self.height * np.exp(-np.maximum(z, 0.0))

    def value(self, z, t):
        return self.height * np.where(np.asarray(z) < 0, 1.0 - z, np.exp(-np.maximum(z, 0.0)))

    def conjugate(self, a, t):
        a = np.asarray(a, dtype=np.float64)
        inside = (a >= 0) & (a <= self.height)
        p = np.where(inside & (a > 0), a, self.height)
        return np.where(inside, np.where(a > 0, p * np.log(p / self.height) - p, 0.0), np.inf)

    def dual_step(self, a, z, t, q):
        """log(p/h) + z + q(p − a) = 0, or h, by bisection on log(p/h)."""
        a, z, q = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (a, z, q)))
        low, high = np.minimum(-z + q * (a - self.height), 0.0) - 1.0, np.zeros(z.shape)
        for _ in range(100):
            u = 0.5 * (low + high)
            above = u + z + q * (self.height * np.exp(u) - a) > 0
            low, high = np.where(above, low, u), np.where(above, u, high)
        held = z + q * (self.height - a) <= 0
        return self.height * np.where(held, 1.0, np.exp(0.5 * (low + high)))

    def is_free(self, a):
        return np.asarray(a) < self.height

    def violation(self, a, z, t):
        with np.errstate(divide="ignore"):
            slope = -np.log(np.asarray(a) / self.height) - z
        return np.where(np.asarray(a) < self.height, np.abs(slope), -slope)
'''
COMPILED = """
from math import exp, inf, log

def maximiser(curve, z, t):
    return curve.height * (exp(-z) if z > 0.0 else 1.0)

def value_and_conjugate(curve, z, a, t):
    value = curve.height * (exp(-z) if z > 0.0 else 1.0 - z)
    if a < 0.0 or a > curve.height:
        return value, inf
    return value, a * log(a / curve.height) - a if a > 0.0 else 0.0

def is_free(curve, a):
    return a < curve.height

def row_step(curve, a, z, t, q):
    slope = -log(a / curve.height) - z if a > 0.0 else inf
    v = abs(slope) if a < curve.height else -slope
    if v <= 0.0:
        return v, a
    if z + q * (curve.height - a) <= 0.0:
        return v, curve.height
    low, high = min(-z + q * (a - curve.height), 0.0) - 1.0, 0.0
    for _ in range(100):
        u = 0.5 * (low + high)
        if u + z + q * (curve.height * exp(u) - a) > 0.0:
            high = u
        else:
            low = u
    return v, curve.height * exp(0.5 * (low + high))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where the user's two modules lie."""
    (tmp_path / "own_tail.py").write_text(CURVE)
    (tmp_path / "own_tail_compiled.py").write_text(COMPILED)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield tmp_path
    for name in ("own_tail", "own_tail_compiled"):
        sys.modules.pop(name, None)


def test_it_is_solved_by_compiled_loops_as_by_numpy(folder):
    """What its module does not define follows from what it does."""
    loss = Loss("tail", "margin", importlib.import_module("own_tail").Tail(1.5))
    X = matrix(30, 4, layout="csr")
    problem = LinearProblem(X, targets(X, "margin"), loss, 0.1, bias="penalized")
    solvers = SDCA(), MiniBatchSDCA(batch_size=3), Subgradient(step_rule="proximal")
    best = solve(problem, SDCA(), gap=1e-9, max_passes=500)
    assert best.converged
    for solver in solvers:
        results = [
            solve(problem, solver, gap=0.0, max_passes=6, seed=1, backend=backend)
            for backend in ("cpu", "reference")
        ]
        ours, theirs = (result.certificate for result in results)
        assert ours.dual <= best.certificate.primal <= ours.primal + 1e-12
        np.testing.assert_allclose(
            (ours.primal, ours.dual), (theirs.primal, theirs.dual), rtol=1e-9, atol=1e-9
        )


class Processor:
    """What a file of compiled code asks of the compiler."""

    @staticmethod
    def magic_tuple():
        return ("any",)


def test_an_edit_of_its_module_means_another_file(folder, monkeypatch):
    monkeypatch.setattr("gapsvm.backends.numba.kept.kept_in", lambda: folder / "kernels")

    def path():
        curve = importlib.import_module("own_tail").Tail()
        return KeptCode(path)._place((numba.typeof((1.0, curve)),), Processor())[0]

    before = path()
    assert path() == before
    (folder / "own_tail_compiled.py").write_text(COMPILED + "\n# edited\n")
    assert path() != before


def test_what_its_module_lacks_is_named(folder):
    (folder / "own_tail_compiled.py").write_text(COMPILED.replace("def row_step", "def step"))
    loss = Loss("tail", "margin", importlib.import_module("own_tail").Tail(1.5))
    problem = LinearProblem(np.eye(2), np.array([1.0, -1.0]), loss, 0.1)
    with pytest.raises(numba.TypingError, match="own_tail_compiled lacks row_step"):
        solve(problem, SDCA(), gap=0.1)
