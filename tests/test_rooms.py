"""Each new thing has its room: in a copy of the package, the files that must be touched are few.

A loss is one file, a step rule one, a method two (its own, and the list of names), a problem one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gapsvm

PACKAGE = Path(gapsvm.__file__).parent

LOSS = '''
"""A hinge whose slope is not 1."""
from gapsvm.losses.family import margin_loss


def steep_hinge(slope: float = 2.0):
    return margin_loss("steep_hinge", 0, 0, 0, slope)


LOSS = ("steep_hinge", steep_hinge, "slope · max(0, 1 − z)")
'''
RULE = '''

@storable
@dataclass(frozen=True)
class LateRule:
    """η_t = 1/(λ(t + delay))."""

    delay: float = 10.0
    needs_ball: ClassVar[bool] = False
    needs_lam: ClassVar[bool] = True

    def rates(self, scale, first, steps, curvature, backend):
        return Rates(1.0 / (scale.lam * (_times(first, steps) + self.delay)), 0.0, 0.0)


STEP_RULES.add("late", LateRule, "1/(λ(t + delay))")
'''
SOLVER = '''
"""One look at zero."""
from dataclasses import dataclass

import numpy as np

from gapsvm.problems.linear import Iterate
from gapsvm.registry.storable import storable
from gapsvm.solvers.trace import Progress


@storable
@dataclass
class ZeroState:
    rows_visited: int = 0


@storable
@dataclass(frozen=True)
class Zero:
    share: float = 0.0

    def init(self, problem, backend, rng):
        return ZeroState()

    def advance(self, problem, state, backend, budget):
        state.rows_visited += problem.n_rows
        return state

    def iterate(self, problem, state):
        return Iterate(np.zeros(problem.n_features), 0.0, np.zeros(problem.n_rows))

    def progress(self, problem, state):
        return Progress(state.rows_visited)
'''
PROBLEM = '''
"""min (1/n) Σ(w − c_i)²/2 + (λ/2)w², for any oracle method."""
import numpy as np

from gapsvm.problems.risk import RiskProblem


class Mean(RiskProblem):
    default_method = "bundle"

    def __init__(self, centres, lam):
        def oracle(w):
            off = w[0] - centres
            return float(np.mean(off**2)) / 2, np.array([np.mean(off)])

        super().__init__(oracle, lam, n_features=1)
'''
DATA = """
import numpy as np
from gapsvm import LinearSVC, solve
rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
y = np.where(X @ [1, -2, 0] > 0, 1, -1)
"""
ROOMS = {
    "loss": (
        {"losses/steep.py": LOSS},
        "print(LinearSVC(loss='steep_hinge(slope=3)', lam=0.1).fit(X, y).converged_)",
        ("losses", "steep_hinge"),
    ),
    "step rule": (
        {"solvers/subgradient/rules.py": RULE},
        "print(LinearSVC(method='late(delay=3, average=tail)', lam=1, tol=.2).fit(X, y).method_)",
        ("methods", "late"),
    ),
    "method": (
        {
            "solvers/zero.py": SOLVER,
            "training/methods.py": (
                '\nfrom gapsvm.solvers.zero import Zero\n_add("zero", Zero, "nothing")\n'
            ),
        },
        "print(LinearSVC(method='zero(share=0.5)', tol=1).fit(X, y).method_)",
        ("methods", "zero"),
    ),
    "problem": (
        {"problems/mean.py": PROBLEM},
        "from gapsvm.problems.mean import Mean\n"
        "print(solve(Mean(X[:, 0], 0.1), gap=1e-6).converged)",
        ("methods", "bundle"),
    ),
}
MOST_FILES = {"loss": 1, "step rule": 1, "method": 2, "problem": 1}


@pytest.mark.parametrize("thing", ROOMS)
def test_what_a_new_thing_touches(thing: str, tmp_path: Path) -> None:
    files, use, (command, name) = ROOMS[thing]
    assert len(files) <= MOST_FILES[thing]
    copy = tmp_path / "gapsvm"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in files.items():
        with open(copy / path, "a", encoding="utf-8") as file:
            file.write(text)
    listed = f"from gapsvm.cli import main\nmain(['{command}', '{name}'])"
    done = subprocess.run(
        [sys.executable, "-c", f"{DATA}\n{use}\n{listed}"],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert name in done.stdout
    assert done.stdout.splitlines()[0] in ("True", "late", "zero")
