"""``gapsvm.solve``: any problem, by any method, to a certified gap."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.base import Problem
from gapsvm.solvers.base import Foreseen, Solver, warmed
from gapsvm.solvers.loop import solve as run
from gapsvm.solvers.trace import Result
from gapsvm.training.methods import AUTO, solver_of
from gapsvm.training.train import Options, train


def solve(
    problem: Problem[Any],
    method: str | Solver[Any, Any] = AUTO,
    *,
    gap: float | None = None,
    tol: float = 1e-3,
    max_passes: float = 1000,
    warm: Any = None,
    backend: str | Backend = "cpu",
    seed: int | np.random.SeedSequence | None = 0,
    **limits: Any,
) -> Result:
    """Solve a problem and prove how far the solution is from the optimum.

    Parameters
    ----------
    problem : a problem of this package, or of your own (docs/extending.md)
    method : str or solver, default="auto"
        A name or spec such as ``"minibatch(rule=safe, batch_size=64)"``, see ``gapsvm methods``;
        or a solver.  "auto" is what suits the problem.
    gap : float, optional
        Certified gap to reach, absolute.
    tol : float
        The same relative to the objective of the zero model, where ``gap`` is not given.
    max_passes : float
        Budget of passes over the rows.
    warm : iterate of the problem, optional
        It is certified first; methods that can begin there do.
    backend : str or Backend
        "cpu", or "reference" for plain NumPy.
    seed : int, SeedSequence or None
        What random orders begin with; None: another one every time.
    **limits
        ``time_limit`` in seconds, ``callbacks``, ``checkpoint`` (of an earlier result), and the
        other keywords of ``gapsvm.solvers.loop.solve``.

    Returns
    -------
    Result
        ``gap`` is the certificate, ``solution`` what was found, ``status`` how it ended.
    """
    p0 = getattr(problem, "primal_at_zero", math.nan)
    gap = _target(gap, tol, p0, max_passes)
    if isinstance(method, str) and method == AUTO:
        return _by_itself(problem, gap, p0, max_passes, warm, backend, seed, limits)
    foreseen = Foreseen(gap / p0 if p0 > 0 else tol, max_passes)
    solver = solver_of(method, problem, foreseen)
    return run(
        problem,
        warmed(solver, warm),
        gap=gap,
        max_passes=max_passes,
        backend=backend,
        seed=seed,
        first=warm,
        **limits,
    )


def _target(gap: float | None, tol: float, p0: float, max_passes: float) -> float:
    """The absolute gap to reach."""
    if math.isnan(tol if gap is None else gap) or math.isnan(max_passes):
        raise ValueError(f"no number: gap={gap}, tol={tol}, max_passes={max_passes}")
    if gap is not None:
        return gap
    if math.isnan(p0):
        raise ValueError("a problem without primal_at_zero needs gap, the absolute one")
    return tol * p0


_OF_A_PLAN = ("callbacks", "time_limit", "evaluate_every")


def _by_itself(
    problem: Any,
    gap: float,
    p0: float,
    max_passes: float,
    warm: Any,
    backend: str | Backend,
    seed: Any,
    limits: dict[str, Any],
) -> Result:
    if math.isnan(p0):
        raise ValueError("a problem without primal_at_zero needs a method by name, not 'auto'")
    others = [name for name in limits if name not in (*_OF_A_PLAN, "cancelled")]
    if others:
        raise ValueError(f"{', '.join(others)}: name a method; 'auto' may run several")
    options = Options(
        tol=gap / p0 if p0 > 0 else 0.0,
        max_passes=max_passes,
        seed=seed,
        backend=backend if isinstance(backend, str) else backend.name,
        threads=1 if isinstance(backend, str) else backend.threads,
        **{name: limits[name] for name in _OF_A_PLAN if name in limits},
    )
    return train(problem, options, warm=warm, cancelled=limits.get("cancelled")).result
