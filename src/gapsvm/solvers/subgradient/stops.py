"""When a fit may end before its gap is reached: where a theorem promises ε, or where the output was
judged on a sample of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.linear import LinearProblem
from gapsvm.solvers.subgradient.parameters import SubgradientParameters
from gapsvm.solvers.subgradient.rules import PegasosRule
from gapsvm.solvers.subgradient.state import SubgradientState
from gapsvm.solvers.subgradient.theorems import missing_premise, promised_steps
from gapsvm.theory import pegasos_footnote1_rows


class Stop(Protocol):
    """A rule for the end, besides the gap."""

    def refusal(self, parameters: SubgradientParameters, problem: Any) -> str:
        """What is missing for it to mean something; empty if nothing."""

    def begin(
        self,
        parameters: SubgradientParameters,
        problem: Any,
        state: SubgradientState,
        backend: Backend,
    ) -> None:
        """Say when to look first.  Modified: state.stop, state.kept."""

    def look(
        self, parameters: SubgradientParameters, problem: Any, state: SubgradientState
    ) -> None:
        """After the step that is due.  Modified: state.stop, state.kept."""


@dataclass(frozen=True)
class StopAtGap:
    """Nothing but the gap, which is the loop's business."""

    def refusal(self, parameters: SubgradientParameters, problem: Any) -> str:
        return ""

    def begin(
        self,
        parameters: SubgradientParameters,
        problem: Any,
        state: SubgradientState,
        backend: Backend,
    ) -> None:
        pass

    def look(
        self, parameters: SubgradientParameters, problem: Any, state: SubgradientState
    ) -> None:
        pass


@dataclass(frozen=True)
class StopAtBound:
    """The T of a theorem; its tail is the later half."""

    def refusal(self, parameters: SubgradientParameters, problem: LinearProblem) -> str:
        return missing_premise(parameters, problem)

    def begin(
        self,
        parameters: SubgradientParameters,
        problem: LinearProblem,
        state: SubgradientState,
        backend: Backend,
    ) -> None:
        state.stop.due = promised_steps(parameters, problem, backend, parameters.eps)
        if parameters.average == "tail":
            state.kept.tail.fixed = state.stop.due // 2

    def look(
        self, parameters: SubgradientParameters, problem: LinearProblem, state: SubgradientState
    ) -> None:
        state.stop.promised = True


@dataclass(frozen=True)
class StopAtSample:
    """The output judged on O(1/(λε)) rows (Pegasos, footnote 1)."""

    def refusal(self, parameters: SubgradientParameters, problem: LinearProblem) -> str:
        if parameters.average != "random":
            return ""
        if not isinstance(parameters.rule_object, PegasosRule):
            return "stop='sampled' has two attempts for step_rule='pegasos' alone"
        return missing_premise(parameters, problem)

    def begin(
        self,
        parameters: SubgradientParameters,
        problem: LinearProblem,
        state: SubgradientState,
        backend: Backend,
    ) -> None:
        if parameters.average == "random":
            state.stop.due = promised_steps(parameters, problem, backend, parameters.eps / 2)
            state.stop.rival = parameters.average_object.begin(problem.n_features)
            state.stop.rival.attempt = 1
            return
        rows = judging_rows(parameters, problem, state.run.key)
        state.stop.due = math.ceil(len(rows) / parameters.batch_size)

    def look(
        self, parameters: SubgradientParameters, problem: LinearProblem, state: SubgradientState
    ) -> None:
        stop, rows = state.stop, judging_rows(parameters, problem, state.run.key)

        def judged(point: Any) -> float:
            return problem.sampled_objective(rows, point[:-1], float(point[-1]))

        found = judged(parameters.output(state))
        if stop.rival is not None:
            if judged(stop.rival.earlier) < found:
                state.kept, stop.rival = stop.rival, state.kept
            stop.promised = True
            return
        stop.settled = abs(stop.judged - found) <= parameters.eps
        stop.judged = found
        stop.due *= 2


def judging_rows(parameters: SubgradientParameters, problem: LinearProblem, key: int) -> Any:
    """The rows that judge, the same ones whenever asked; all of them where that is less."""
    n, longest = problem.n_rows, parameters.longest_pull(problem)
    if problem.lam == 0 or longest == 0:
        return np.arange(n)
    size = pegasos_footnote1_rows(
        parameters.eps / 2, lam=problem.lam, R=longest, delta=parameters.delta
    )
    if size >= n:
        return np.arange(n)
    return np.random.default_rng([key, 0]).integers(n, size=size)


STOPS: dict[str, Stop] = {
    "gap": StopAtGap(),
    "bound": StopAtBound(),
    "sampled": StopAtSample(),
}
