"""Primal subgradient methods: Pegasos and its relatives, Do's proximal and optimistic methods.

    w ← Π[(1 − η_t(λ + κ_t))w + η_t·(mean of s_i a*(z_i) x̃_i over the batch)]

One solver; what differs is the step rule (``gapsvm.rules``), the sampler, the ball and what is
handed out in the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend
from gapsvm.bounds import (
    do_phase_iterations,
    do_theorem2_iterations,
    do_theorem4_counts,
    pegasos_lemma3_iterations,
    pegasos_theorem1_iterations,
    takac_theorem1_iterations,
)
from gapsvm.losses import FiveNumbers
from gapsvm.problem import Iterate, LinearProblem
from gapsvm.rules import RULES, Scale, StepRule
from gapsvm.spectral import beta, sigma2
from gapsvm.trace import Progress

Average = Literal["uniform", "tail", "decaying", "random"]
Sampler = Literal["subsets", "multisets", "permutation", "fixed"]
AVERAGES = (None, "uniform", "tail", "decaying", "random")
SAMPLERS = ("subsets", "multisets", "permutation", "fixed")
_CHUNK_INDICES = 1 << 20
_WEIGHT_OF_PAST = 0.9
_PASSES_FORESEEN = 100


@dataclass
class SubgradientState:
    """w = scale·v, w̄ = p·v + r·u; what each row was seen to pull is kept for the certificate."""

    table: Any
    """(visits, Σ a*, σ_i s_i, t_i), row after row."""
    v: Any
    u: Any
    """Empty without averaging."""
    scalars: Any
    """scale, ‖v‖², bias, p, r, average bias."""
    order: Any
    seed: Any
    earlier: Any
    """Tail average: the sums of w and of the bias over the window before this one.  Random iterate:
    the one chosen so far."""
    R: float
    """The radius that the step rule believes in."""
    window: tuple[int, int] = (0, 0)
    """The first steps of that window and of this one."""
    steps: int = 0
    phase: int = 0
    """The step at which this phase of the optimistic method began."""
    phases: int = 1
    curvature: float = 0.0
    """λ_{1:t} + τ_{1:t} of the rules that keep it."""
    rows_visited: int = 0
    key: int = 0
    chosen: int = 1
    """Random iterate: the last t whose w_t was kept, or will be, counted in this phase."""
    promised_at: int = 0
    """The step after which a theorem promises ε; 0 if nobody asked."""
    kept_promise: bool = False
    """That step is done, or a phase of the optimistic method."""


@dataclass(frozen=True)
class Subgradient:
    """Stochastic subgradient steps; the defaults are Pegasos (Figures 1 and 2).

    The certificate takes α_i as the mean of a*(z_i) over the visits of row i (for the hinge:
    violations over visits), 0 if unvisited, and reports the better of w and w(α).

    Parameters
    ----------
    batch_size : int
        k: rows per step, up to n.
    projection : bool or float
        Project after each step, onto a ball of that radius; True: for the hinge onto the paper's
        ‖w‖ ≤ 1/√λ (eq. 6), for other losses onto ‖w‖ ≤ √(2P₀/λ), which follows from P(w*) ≤ P₀.
    average : None, "uniform", "tail", "decaying" or "random"
        What is certified: the last iterate, the mean of all, the mean of the later half or so
        (Takáč Algorithm 1), w̄ ← 0.9w̄ + 0.1w as in that paper's experiments, or an iterate drawn
        uniformly (Pegasos Lemma 3, Do Theorem 3).
    tail_from : int, optional
        The mean is over w_t, t > tail_from (⌊T/2⌋ in Algorithm 1); by default the tail moves along
        and begins between a quarter and a half of the way.
    rule : name in ``gapsvm.rules.RULES``, "optimistic", or a ``StepRule``
        "optimistic" is Do's Algorithm 3: proximal steps with a guessed R, which grows by √2 and
        starts anew whenever ‖w‖ comes close to it.
    sampler : "subsets", "multisets", "permutation" or "fixed"
        Batches: uniform subsets; independent draws; a new random order every pass; one random
        order for all passes.
    horizon : int, optional
        Steps of the whole run, for the rules that need to know; by default 100 passes.
    stop : "gap" or "bound"
        "bound": end after the steps for which a theorem promises ε, if the gap is not reached
        before: Pegasos Theorem 1 for the uniform average and Lemma 3 for a random iterate, Takáč
        Theorem 1 for the tail, Do Theorem 2 for the rules proximal and bound.
    eps, delta : float
        ε of ``stop="bound"`` (in expectation; for a random iterate of Pegasos with probability
        (1 − δ)/2, so try two).  Optimistic: a phase that ends without leaving its ball promises ε
        with probability 1 − δ; with ε = 0, as in the paper's experiments, none ends by itself.
    keep_w : bool
        Optimistic: w stays when R grows, which the bound allows; as printed it starts at zero.
    """

    batch_size: int = 1
    projection: bool | float = False
    average: Average | None = None
    tail_from: int | None = None
    rule: str | StepRule = "pegasos"
    sampler: Sampler = "subsets"
    horizon: int | None = None
    stop: Literal["gap", "bound"] = "gap"
    eps: float = 0.0
    delta: float = 0.5
    keep_w: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.rule, str) and self.rule not in (*RULES, "optimistic"):
            names = ", ".join((*RULES, "optimistic"))
            raise ValueError(f"unknown step rule {self.rule!r}; choose one of {names}")
        if self.average not in AVERAGES:
            raise ValueError(f"average must be one of {AVERAGES}, got {self.average!r}")
        if self.sampler not in SAMPLERS:
            raise ValueError(f"sampler must be one of {', '.join(SAMPLERS)}, got {self.sampler!r}")
        if self.stop not in ("gap", "bound") or (self.stop == "bound" and not self.eps > 0):
            raise ValueError(f"stop must be 'gap', or 'bound' with eps > 0, got {self.stop!r}")
        if self.projection is not True and not self.projection >= 0:
            raise ValueError(f"projection must be a bool or a radius, got {self.projection!r}")

    def init(
        self, problem: LinearProblem, backend: Backend, rng: np.random.Generator
    ) -> SubgradientState:
        n, d = problem.rows.shape
        if not 1 <= self.batch_size <= n:
            raise ValueError(f"batch_size must be between 1 and n = {n}, got {self.batch_size}")
        table = np.zeros(4 * n)
        table[2::4] = problem.sign * problem.weight * (n / problem.total_weight)
        table[3::4] = problem.t
        sums = self.average in ("uniform", "tail", "decaying")
        smallest = min(1.0, 1.0 / math.sqrt(problem.lam))
        if self.rule == "optimistic" and self.eps > 0:  # smaller ones would be left at once
            while smallest < math.sqrt(2.0 * self.eps / problem.lam):
                smallest *= math.sqrt(2.0)
        state = SubgradientState(
            table=table,
            v=np.zeros(d),
            u=np.zeros(d if sums else 0),
            scalars=np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
            order=np.arange(n, dtype=np.uint32),
            seed=rng.integers(0, 2**64, size=1, dtype=np.uint64),
            earlier=np.zeros(d + 1 if self.average in ("tail", "random") else 0),
            R=smallest if self.rule == "optimistic" else self._ball(problem),
        )
        state.key = int(state.seed[0])
        if self.stop == "bound":
            state.promised_at = self._promised_steps(problem, backend)
        if self.sampler == "fixed":
            backend.shuffle(state.order, n, state.seed)
        return state

    def radius(self, problem: LinearProblem) -> float:
        """Of the ball that iterates are projected onto; infinite for none."""
        if self.rule == "optimistic" and self.projection is False:
            return self._ball(problem)  # Algorithm 3 always projects
        return self._ball(problem) if self.projection else math.inf

    def _ball(self, problem: LinearProblem) -> float:
        if self.projection is not True and self.projection > 0:
            return float(self.projection)
        if problem.loss.name == "hinge":
            return float(1.0 / math.sqrt(problem.lam))
        return float(math.sqrt(2.0 * problem.primal_at_zero / problem.lam)) or 1.0

    def _scale(self, problem: LinearProblem, R: float) -> Scale:
        """λ, R, and G: the longest row times the largest slope in the ball, plus λ·(its radius)."""
        ball = self._ball(problem)
        longest = math.sqrt(float(np.max(problem.sq_norms, initial=0.0)))
        slope, curve = 1.0, problem.loss.curve
        if isinstance(curve, FiveNumbers):
            slope = max(curve.hi, -curve.lo)
            if math.isinf(slope):
                slope = (float(np.max(np.abs(problem.t))) + longest * ball) / curve.gamma
        heaviest = float(np.max(problem.weight)) * problem.n_rows / problem.total_weight
        G = max(heaviest, 1.0) * longest * slope + problem.lam * ball
        horizon = self.horizon or max(1, _PASSES_FORESEEN * problem.n_rows // self.batch_size)
        return Scale(problem.lam, G or 1.0, R, horizon)

    def advance(
        self, problem: LinearProblem, state: SubgradientState, backend: Backend, budget: int
    ) -> SubgradientState:
        left = max(1, budget // self.batch_size)
        while left > 0 and not state.kept_promise:
            chunk = max(1, _CHUNK_INDICES // self.batch_size)
            steps = min(left, chunk, self._steps_to_window(state))
            if state.promised_at:
                steps = min(steps, state.promised_at - state.steps)
            left -= self._steps(problem, state, backend, steps)
            state.kept_promise |= state.steps == state.promised_at > 0
        return state

    def _steps(
        self, problem: LinearProblem, state: SubgradientState, backend: Backend, steps: int
    ) -> int:
        """At most so many; returns how many were done."""
        scale = self._scale(problem, state.R)
        if self.rule == "optimistic" and self.eps > 0:
            phase = state.phase + self._phase_length(scale)
            steps = min(steps, phase - state.steps)
        first = state.steps - state.phase
        if self.average == "random":
            steps = min(steps, self._steps_to_choice(state, first))
        batches = self._batches(state, backend, steps)
        rates = self._rule().rates(scale, first, steps, state.curvature, backend)
        decay, ones = 1.0 - rates.eta * (problem.lam + rates.kappa), np.ones(steps)
        free = problem.bias == "free"
        ratio = 1.0 if free else problem.bias_ratio
        past = _WEIGHT_OF_PAST if self.average == "decaying" else 1.0
        leave_at = math.inf
        if self.rule == "optimistic":
            leave_at = state.R - math.sqrt(2.0 * self.eps / problem.lam)
        done = int(
            backend.subgradient_steps(
                problem.rows.view,
                problem.loss.curve,
                state.table,
                batches,
                rates.eta,
                decay,
                ones if free else decay,
                past * ones,
                (1.0 - past if self.average == "decaying" else 1.0) * ones,
                ratio,
                1.0 / ratio if problem.bias == "penalized" else 0.0,
                self.radius(problem),
                leave_at,
                state.v,
                state.u,
                state.scalars,
            )
        )
        state.steps += done
        state.rows_visited += done * self.batch_size
        state.curvature = rates.curvature
        if math.sqrt(state.scalars[1]) * abs(state.scalars[0]) >= leave_at:
            self._grow(state)
        elif self.rule == "optimistic" and self.eps > 0 and state.steps == phase:
            state.kept_promise = True
        return done

    def _promised_steps(self, problem: LinearProblem, backend: Backend) -> int:
        """The T of the theorem for this rule and output."""
        lam, eps = problem.lam, self.eps
        scale = self._scale(problem, self._ball(problem))
        longest = (scale.G - lam * self._ball(problem)) or 1.0  # the longest subgradient of a loss
        mean = self.average in ("uniform", "random")
        if self.rule in ("proximal", "bound") and mean:
            return do_theorem2_iterations(eps, lam=lam, G=scale.G, R=scale.R)
        if self.rule == "pegasos" and self.average == "uniform":
            projected = bool(self.projection)
            return pegasos_theorem1_iterations(eps, lam=lam, R=longest, projected=projected)
        if self.rule == "pegasos" and self.average == "random":
            return pegasos_lemma3_iterations(
                eps, lam=lam, R=max(1.0, longest), delta=self.delta, projected=bool(self.projection)
            )
        if self.rule == "pegasos" and self.average == "tail":
            square = float(np.max(problem.sq_norms, initial=0.0)) or 1.0  # rows of norm 1, λ/r²
            share = min(1.0, sigma2(problem.rows, backend).value / square)
            interaction = beta(self.batch_size, problem.n_rows, share)
            return takac_theorem1_iterations(
                eps,
                lam=lam / square,
                beta=interaction,
                batch_size=self.batch_size,
                lipschitz=longest / math.sqrt(square),
            )
        raise ValueError(
            "stop='bound' knows theorems for rule='pegasos' with average 'uniform', 'tail' or "
            f"'random', and for 'proximal' and 'bound' with 'uniform' or 'random'; not for "
            f"rule={self.rule!r} with average={self.average!r}"
        )

    def _rule(self) -> StepRule:
        if not isinstance(self.rule, str):
            return self.rule
        rule: StepRule = RULES["proximal" if self.rule == "optimistic" else self.rule]()
        return rule

    def _phase_length(self, scale: Scale) -> int:
        counts = do_theorem4_counts(
            self.eps, lam=scale.lam, delta=self.delta, G=scale.G, batch_size=self.batch_size
        )
        return do_phase_iterations(
            self.eps, lam=scale.lam, G=scale.G, R=scale.R, delta=counts.delta
        )

    def _grow(self, state: SubgradientState) -> None:
        """Algorithm 3: w came close to the ball it was believed to stay in."""
        state.R *= math.sqrt(2.0)
        state.phase, state.phases, state.curvature = state.steps, state.phases + 1, 0.0
        state.chosen = 1
        state.table[0::4] = state.table[1::4] = 0.0  # what rows pulled at other w says little
        if not self.keep_w:
            state.v[:] = state.u[:] = 0.0
            state.scalars[:] = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0
            state.earlier[:] = 0.0
            state.window = (state.steps, state.steps)

    def _batches(self, state: SubgradientState, backend: Backend, steps: int) -> Any:
        batches = np.empty((steps, self.batch_size), dtype=np.uint32)
        n = state.order.size
        if self.sampler == "subsets":
            backend.draw_subsets(state.order, batches, state.seed)
        elif self.sampler == "multisets":
            backend.draw_multisets(n, batches, state.seed)
        else:
            flat, at, filled = batches.ravel(), state.steps * self.batch_size, 0
            while filled < flat.size:
                place = (at + filled) % n
                if place == 0 and self.sampler == "permutation":
                    backend.shuffle(state.order, n, state.seed)
                count = min(n - place, flat.size - filled)
                flat[filled : filled + count] = state.order[place : place + count]
                filled += count
        return batches

    def _steps_to_window(self, state: SubgradientState) -> int:
        """Steps until the tail begins anew; it is begun here if this is the step."""
        if self.average != "tail":
            return _CHUNK_INDICES
        now, fixed = state.steps, self.tail_from
        begins = now == fixed if fixed is not None else now & (now - 1) == 0
        if begins and now > state.window[1]:
            state.earlier[:] = 0.0 if fixed is not None else self._sums(state)
            state.window = (now if fixed is not None else state.window[1], now)
            state.u[:] = 0.0
            state.scalars[3:] = 0.0, 1.0, 0.0
        if fixed is not None:
            return fixed - now if now < fixed else _CHUNK_INDICES
        return int(2 ** now.bit_length()) - now

    @staticmethod
    def _steps_to_choice(state: SubgradientState, done: int) -> int:
        """Steps until an iterate takes the place of the one kept; it does so here if it is time.

        w_t replaces the one before with probability 1/t, so that each of w_1, …, w_T is kept with
        the same; the next t to do so after s exceeds any j with probability s/j.
        """
        if state.chosen == done + 1:
            state.earlier[:] = np.append(state.scalars[0] * state.v, state.scalars[2])
            draw = np.random.default_rng([state.key, state.phases, state.chosen])
            state.chosen = math.floor(state.chosen / (1.0 - draw.random())) + 1
        return state.chosen - 1 - done

    @staticmethod
    def _sums(state: SubgradientState) -> Any:
        """The average (or sum) of w and of the bias in this window."""
        _, _, _, p, r, bias = state.scalars
        return np.append(p * state.v + r * state.u, bias)

    def _output(self, state: SubgradientState) -> tuple[Any, float]:
        scale, _, bias = state.scalars[:3]
        count = state.steps - state.window[0]
        if self.average == "decaying":
            mean = self._sums(state)
        elif self.average == "random":
            mean = state.earlier
        elif self.average is None or count == 0 or state.steps < (self.tail_from or 0):
            return scale * state.v, float(bias)
        elif self.average == "uniform":
            mean = self._sums(state) / count
        else:
            mean = (state.earlier + self._sums(state)) / count
        return mean[:-1].copy(), float(mean[-1])

    def iterate(self, problem: LinearProblem, state: SubgradientState) -> Iterate:
        visits, mass = state.table[0::4], state.table[1::4]
        w, bias = self._output(state)
        return Iterate(w, bias, mass / np.maximum(visits, 1.0), try_combination=True)

    def progress(self, problem: LinearProblem, state: SubgradientState) -> Progress:
        return Progress(state.rows_visited, promised=state.kept_promise)


Pegasos = Subgradient
"""The defaults are the paper's."""
