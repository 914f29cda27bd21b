"""Public names: found on first use, known to type checkers, the same in both places."""

from __future__ import annotations

import ast
import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gapsvm

PACKAGE = Path(gapsvm.__file__).parent

RIGHT = """
from typing import Any

import numpy as np
import gapsvm
from gapsvm import LinearSVC, LinearProblem, Loss, MulticlassProblem, SDCA, get_loss, solve
from gapsvm import KernelProblem, RiskProblem
from gapsvm.problems.base import Problem
from gapsvm.problems.structured.own import OracleProblem
from gapsvm.problems.structured.ranking import RankingProblem
from gapsvm.solvers.base import Solver
from gapsvm.solvers.sdca.serial import SDCAState

X, y = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
model = LinearSVC(C=2.0, method="minibatch(batch_size=2)", loss="hinge").fit(X, y)
gap: float = model.dual_gap_
loss: Loss = get_loss("huber(delta=2)")
found = solve(LinearProblem(X, y, get_loss("hinge"), 0.1), SDCA(recheck=0.3), tol=1e-3)
print(found.gap, model.converged_, gapsvm.theory.__name__)


def all_fit(
    linear: LinearProblem, joint: MulticlassProblem, kernel: KernelProblem, risk: RiskProblem,
    chain: gapsvm.ChainProblem, smooth: gapsvm.ChainLikelihood, own: OracleProblem,
    ranking: RankingProblem,
) -> list[Problem[Any]]:
    return [linear, joint, kernel, risk, chain, smooth, own, ranking]


sdca: Solver[LinearProblem, SDCAState] = SDCA()
"""
WRONG = {
    "LinearSVC(c=2.0)": '"c"',
    "SDCA(rechekc=0.3)": "rechekc",
    "gapsvm.LinearSVCC": "LinearSVCC",
}


def test_every_name_is_found_where_it_is_said_to_be() -> None:
    for name in gapsvm.__all__:
        assert getattr(gapsvm, name) is not None
    assert set(dir(gapsvm)) == set(gapsvm.__all__)
    with pytest.raises(AttributeError, match="no attribute 'LinearSVCC'"):
        gapsvm.LinearSVCC  # noqa: B018


def test_the_stub_knows_the_same_names() -> None:
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    known = {}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            known |= {str(a.asname): (str(node.module), a.name) for a in node.names}
    assert {*known, "__version__"} == set(gapsvm.__all__)
    for name, (module, original) in known.items():
        try:
            home = importlib.import_module(f"{module}.{original}")
        except ModuleNotFoundError:
            home = getattr(importlib.import_module(module), original)
        assert getattr(gapsvm, name) is home
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_a_type_checker_finds_what_is_misspelt(checker: str, tmp_path: Path) -> None:
    if shutil.which(checker) is None:
        pytest.skip(f"{checker} is not installed")
    options = ["--level", "error"]
    if checker == "mypy":
        options = ["--strict", "--cache-dir", str(tmp_path / "cache")]

    def complaints(script: str) -> str:
        (tmp_path / "script.py").write_text(script)
        command = [str(shutil.which(checker)), *options, "script.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        return "\n".join(line for line in lines if "script.py" in line and "error" in line)

    assert complaints(RIGHT) == ""
    found = complaints(RIGHT + "".join(f"\nprint({expression})" for expression in WRONG))
    assert all(name in found for name in WRONG.values())
    assert len(found.splitlines()) == len(WRONG)


def test_the_names_cost_nothing() -> None:
    """Imports cost next to nothing."""
    code = "import sys, gapsvm; print([m for m in ('numpy', 'scipy', 'numba') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
