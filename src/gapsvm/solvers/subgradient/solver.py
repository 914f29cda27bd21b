"""Primal subgradient methods: Pegasos and its relatives, Do's proximal and optimistic methods.

    w ← Π[(1 − η_t(λ + κ_t))w + η_t·(mean of s_i a*(z_i) x̃_i over the batch)]

One solver, put together of small parts, each in a file of its own: how long the steps are
(``rules``), which rows step (``samplers``), what is handed out (``averages``), when to end
(``stops``), and what a step is for a kind of problem (``steps``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.base import Regularised
from gapsvm.problems.linear import LinearProblem
from gapsvm.registry.storable import storable
from gapsvm.solvers.base import Foreseen
from gapsvm.solvers.subgradient import (
    kernel_steps,  # noqa: F401  # registers itself
    multiclass_steps,  # noqa: F401  # likewise
    optimistic,
    ranking_steps,  # noqa: F401  # likewise
    structured_steps,  # noqa: F401  # likewise
)
from gapsvm.solvers.subgradient.linear_steps import count_less
from gapsvm.solvers.subgradient.parameters import SubgradientParameters
from gapsvm.solvers.subgradient.rules import (
    STEP_RULES,
    OptimisticRule,
    needs_lam,
)
from gapsvm.solvers.subgradient.state import MovingWeights, Run, SubgradientState
from gapsvm.solvers.subgradient.steps import Steps, Stretch, steps_of
from gapsvm.solvers.subgradient.stops import STOPS
from gapsvm.solvers.trace import Progress

_CHUNK_INDICES = 1 << 14
"""Row numbers drawn at a time: they and their rates stay in cache."""
_LONGEST_HORIZON = 1e6
"""Passes that a horizon counts on at most."""
_OLD_VISITS = 1e-3
"""What the visits of a row count for when a bias that is held has moved since."""


@storable
@dataclass(frozen=True)
class Subgradient(SubgradientParameters):
    """Stochastic subgradient steps; the defaults are Pegasos (Figures 1 and 2).

    It solves a ``LinearProblem``, a ``KernelProblem`` (Figure 3), a ``MulticlassProblem``,
    structured problems, and any problem that brings its steps
    (``gapsvm.solvers.subgradient.steps``).

    Parameters
    ----------
    batch_size : int
        k: rows per step, up to n.
    projection : bool or float
        Project after each step, onto a ball of that radius; True: onto ‖w‖ ≤ √(P(0)/λ), which holds
        the minimum and is for the hinge the paper's ‖w‖ ≤ 1/√λ (eq. 6).
        A problem with a radius is always projected, onto its ball if that is smaller.
    average : None, "uniform", "tail", "decaying" or "random"
        What is certified: the last iterate, the mean of all, the mean of the later half or so
        (Takáč Algorithm 1), w̄ ← 0.9w̄ + 0.1w as in that paper's experiments, or an iterate drawn
        uniformly (Pegasos Lemma 3, Do Theorem 3).
    tail_from : int, optional
        The mean is over w_t, t > tail_from (⌊T/2⌋ in Algorithm 1); by default the tail moves along
        and begins between a quarter and a half of the way.
    step_rule : name or spec of ``gapsvm.solvers.subgradient.rules.STEP_RULES``, or a ``StepRule``
        The lengths of the steps: "pegasos", "zhang(eta=0.1)", or an object of a user's own.
        "optimistic" is Do's Algorithm 3: proximal steps with a guessed R, which grows by √2 and
        starts anew whenever ‖w‖ comes close to it.
    sampler : "subsets", "multisets", "permutation", "fixed" or "streams"
        Batches: uniform subsets; independent draws; a new random order every pass; one random
        order for all passes; a new order every pass that is kind to memory, as SDCA's
        (``gapsvm.solvers.row_order``).
    horizon : int, optional
        Steps of the whole run, for the rules that need to know; by default 100 passes.
    stop : "gap", "bound" or "sampled"
        "bound": end after the steps for which a theorem promises ε, if the gap is not reached
        before: Pegasos Theorem 1 for the uniform average and Lemma 3 for a random iterate, Takáč
        Theorem 1 for the tail, Do Theorem 2 for the rules proximal and bound.
        "sampled": the objective is judged on O(1/(λε)) rows (Pegasos, footnote 1; all rows if they
        are fewer).  Of Pegasos with a random iterate two attempts are kept for the steps of Lemma 3
        with ε/2, and the better one on the sample is handed out.  The uniform and the tail average
        are judged each time the steps have doubled, and the fit ends when the objective moved by
        no more than ε: if errors fall as 1/t that is how far it still is from the optimum; it is
        an estimate, not a promise.
    eps, delta : float
        ε of ``stop="bound"`` (in expectation; for a random iterate of Pegasos with probability
        (1 − δ)/2, so try two) and of "sampled" (two attempts: with probability ¾(1 − δ)²; δ is also
        that of the sample).  Optimistic: a phase that ends without leaving its ball promises ε
        with probability 1 − δ; with ε = 0, as in the paper's experiments, none ends by itself.
    radius : float
        Of the ball that w is confined to by the problem: the fit is then of the problem with that
        constraint, which need not hold the minimum without it.
    single : bool
        Keep w in float32 between steps: faster where it outgrows the cache.
    bias_step : "gradient" or "batch"
        How a free bias moves: by a subgradient step of its own, or to the minimum over b of the
        loss of each batch, of two rows at least (docs/bias.md; ``OuterBias`` is a third way).
    """

    def refusal(self, problem: object) -> str:
        """What the problem lacks for this solver to work; empty if nothing."""
        try:
            steps = steps_of(problem)
        except TypeError as error:
            return str(error)
        n, lam = steps.problem.n_rows, steps.problem.lam
        if self.radius not in (math.inf, steps.radius):
            return f"its radius is {self.radius:g}, the problem's {steps.radius:g}"
        if not 1 <= self.batch_size <= n:
            return f"batch_size must be between 1 and n = {n}, got {self.batch_size}"
        if lam == 0 and needs_lam(self.rule_object):
            others = [name for name, entry in STEP_RULES.items() if not needs_lam(entry.maker)]
            return (
                f"step rule {self.step_rule!r} divides by lam, which is 0; choose one of "
                f"{', '.join(others)}"
            )
        return steps.refusal(self) or STOPS[self.stop].refusal(self, problem)

    def tuned(self, problem: Regularised[Any], foreseen: Foreseen) -> Subgradient:
        """The horizon that is foreseen, the average that suits the problem, and float32 for w."""
        try:
            usual = getattr(steps_of(problem), "usual_average", None)
        except TypeError:
            return self
        passes = min(foreseen.max_passes, _LONGEST_HORIZON)
        horizon = self.horizon or max(1, math.ceil(passes * problem.n_rows / self.batch_size))
        wide = isinstance(problem, LinearProblem) and foreseen.allows_float32(problem)
        return replace(
            self, horizon=horizon, average=self.average or usual, single=self.single or wide
        )

    def init(
        self, problem: Regularised[Any], backend: Backend, rng: np.random.Generator
    ) -> SubgradientState:
        steps, average = steps_of(problem), self.average_object
        guessed = isinstance(self.rule_object, OptimisticRule)
        seed = rng.integers(0, 2**64, size=1, dtype=np.uint64)
        state = SubgradientState(
            weights=MovingWeights.at_zero(
                steps.size, backend, summed=average.summed, single=self.single
            ),
            kept=average.begin(steps.size),
            R=optimistic.first_radius(problem.lam, self.eps) if guessed else self.ball(problem),
            run=Run(key=int(seed[0])),
            table=steps.table(backend),
            order=np.arange(problem.n_rows, dtype=np.uint32),
            seed=seed,
        )
        STOPS[self.stop].begin(self, problem, state, backend)
        self.sampler_object.begin(state.order, state.seed, backend)
        return state

    def advance(
        self, problem: Regularised[Any], state: SubgradientState, backend: Backend, budget: int
    ) -> SubgradientState:
        grain = getattr(steps_of(problem), "grain", 0)
        if grain:  # whole ones, so that a break shifts none
            budget = max(self.batch_size, grain - state.rows_visited % grain)
        left, stop = max(1, budget // self.batch_size), state.stop
        chunk = max(1, _CHUNK_INDICES // self.batch_size)
        while left > 0 and not (stop.promised or stop.settled):
            count = min(left, chunk, self._wait(state))
            left -= self._take(steps_of(problem), state, backend, count)
            if state.steps == stop.due > 0:
                STOPS[self.stop].look(self, problem, state)
        return state

    def _wait(self, state: SubgradientState) -> int:
        """Steps until something but w changes; what an average keeps changes here."""
        attempts = [state.kept] if state.stop.rival is None else [state.kept, state.stop.rival]
        wait = min(self.average_object.wait(kept, state.weights, state.run) for kept in attempts)
        return min(wait, state.stop.due - state.steps) if state.stop.due else wait

    def _take(self, steps: Steps, state: SubgradientState, backend: Backend, count: int) -> int:
        """At most so many steps; returns how many were done."""
        problem, rule, average = steps.problem, self.rule_object, self.average_object
        scale, leave_at, phase_left = self.scale(problem, state.R), math.inf, math.inf
        if isinstance(rule, OptimisticRule):
            leave_at = optimistic.leaves_at(state.R, problem.lam, self.eps)
            phase_left = optimistic.steps_left(
                state.run, scale, self.eps, self.delta, self.batch_size
            )
            count = int(min(count, phase_left))
        batches = np.empty((count, self.batch_size), dtype=np.uint32)
        self.sampler_object.draw(problem, state.order, state.seed, batches, state.steps, backend)
        first = state.run.steps_in_phase
        rates = self.rates(problem, scale, first, count, state.curvature, backend)
        stretch = Stretch(
            batches,
            rates.eta,
            1.0 - rates.eta * (problem.lam + rates.kappa),
            average.past,
            average.share,
            self.projection_radius(problem),
            leave_at,
            self.bias_step == "batch",
        )
        done = steps.take(stretch, state.weights, state.table, backend)
        state.run.steps += done
        state.rows_visited += done * self.batch_size
        state.curvature = rates.curvature
        if isinstance(rule, OptimisticRule) and state.weights.length >= leave_at:
            optimistic.begin_phase(state, rule)
            steps.forget_pulls(state.table)  # what rows pulled at other w says little
        elif done == phase_left:
            state.stop.promised = True
        return done

    # -- inside a search for the bias (``OuterBias``) ----------------------------------------------

    def refusal_as_inner(self) -> str:
        """Why it cannot be the inner solver of a search for the bias; empty if it can."""
        if isinstance(self.rule_object, OptimisticRule):
            return "OuterBias holds the bias, but 'optimistic' starts it anew"
        if self.stop != "gap":
            return "the inner solver of OuterBias must not end by itself: stop='gap'"
        if self.bias_step != "gradient":
            return "OuterBias holds the bias: the inner solver takes no bias_step"
        return ""

    def with_bias(self, problem: Any, state: SubgradientState, bias: float) -> SubgradientState:
        """The state with b held there; what rows pulled at another b counts less."""
        state.weights.hold_bias(bias)
        count_less(state.table, _OLD_VISITS)
        return state

    def known_gap(self, state: SubgradientState) -> float:
        return math.inf

    # -- what comes out ----------------------------------------------------------------------------

    def iterate(self, problem: Regularised[Any], state: SubgradientState) -> Any:
        return steps_of(problem).iterate(self.output(state), state.table)

    def progress(self, problem: Regularised[Any], state: SubgradientState) -> Progress:
        stop = state.stop
        return Progress(state.rows_visited, promised=stop.promised, settled=stop.settled)


Pegasos = Subgradient
"""The defaults are the paper's."""
