"""``gapsvm demo``: the main job, on data that ships with the package."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from gapsvm.cli.figures import convergence_plot
from gapsvm.cli.output import say, show_facts
from gapsvm.cli.streams import is_terminal
from gapsvm.cli.tables import certificate_table
from gapsvm.datasets import load
from gapsvm.losses.registry import get_loss
from gapsvm.problems.linear import LinearProblem
from gapsvm.training.progress import ProgressBar
from gapsvm.training.train import Options, train


def run_demo(gap: float, lam: float, plot: Path) -> None:
    """Train on Adult (a9a), print the certificate and the test error, draw the convergence."""
    X, y = load("a9a", dtype=np.float32)
    X_test, y_test = load("a9a", split="test", dtype=np.float32)
    n, d = X.shape
    say(f"Adult (a9a): {n:,} rows × {d} features, hinge loss, λ = {lam:g}, free intercept")
    started = time.perf_counter()
    problem = LinearProblem(X, y, get_loss("hinge"), lam, bias="free")
    with ProgressBar("demo", shown=is_terminal(sys.stderr)) as bar:
        fit = train(problem, Options(tol=gap, evaluate_every=1, callbacks=bar.watch()))
    seconds = time.perf_counter() - started
    show_facts(certificate_table(fit, seconds))
    solution = fit.solution
    errors = np.mean(np.where(X_test @ solution.w + solution.bias > 0, 1, -1) != y_test)
    say(f"test error {100 * errors:.2f} % on {X_test.shape[0]:,} rows")
    convergence_plot({f"{fit.method}": fit.result.trace}, plot, title=f"Adult (a9a), λ = {lam:g}")
    say(f"convergence plot: {plot}")
