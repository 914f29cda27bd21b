"""Primal subgradient methods: Pegasos and its relatives, Do's proximal and optimistic methods.

    w ← Π[(1 − η_t(λ + κ_t))w + η_t·(mean of s_i a*(z_i) x̃_i over the batch)]

One solver; what differs is the step rule (``gapsvm.solvers.subgradient.rules``), the sampler, the
ball and what is handed out in the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend
from gapsvm.backends.memory import row_table, zeros
from gapsvm.problems.limits import check_square
from gapsvm.problems.linear import Iterate, LinearProblem
from gapsvm.registry.storable import storable
from gapsvm.rows.spectral import beta, sigma2
from gapsvm.solvers.row_order import new_order
from gapsvm.solvers.subgradient.rules import RULES, Rates, Scale, StepRule, check_curvature, damped
from gapsvm.solvers.trace import Progress
from gapsvm.theory import (
    do_phase_iterations,
    do_theorem2_iterations,
    do_theorem4_counts,
    pegasos_footnote1_rows,
    pegasos_lemma3_iterations,
    pegasos_theorem1_iterations,
    takac_theorem1_iterations,
)
from gapsvm.types.curves import FiveNumbers

Average = Literal["uniform", "tail", "decaying", "random"]
Sampler = Literal["subsets", "multisets", "permutation", "fixed", "streams"]
AVERAGES = (None, "uniform", "tail", "decaying", "random")
SAMPLERS = ("subsets", "multisets", "permutation", "fixed", "streams")
BIAS_STEPS = ("gradient", "batch")
STOPS = ("gap", "bound", "sampled")
_CHUNK_INDICES = 1 << 14
"""Row numbers drawn at a time: they and their rates stay in cache."""
_WEIGHT_OF_PAST = 0.9
_PASSES_FORESEEN = 100


@storable
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
    """The step after which a theorem promises ε, or at which the output is judged next; 0 if nobody
    asked."""
    kept_promise: bool = False
    """That step is done, or a phase of the optimistic method."""
    settled: bool = False
    """The output was judged twice with the same result."""
    judged: float = math.inf
    """The objective of the output on the sampled rows when it was judged last."""
    rival: Any = None
    """The second attempt at a random iterate, ..."""
    rival_chosen: int = 1
    """... and its ``chosen``."""


def limit_of_bias(R: float, largest_target: float, longest: float) -> float:
    """How far from 0 the best free bias for a w of ‖w‖ ≤ R may be, as ``bias_norm`` of a step.

    It is at most max|t| + R·max‖x‖, and a step of 1/(λt) would throw it far beyond.
    """
    reach = largest_target + R * longest
    return -1.0 / (reach * reach) if reach else 0.0


def stiffness_of(curve: Any, heaviest: float, square: float) -> float:
    """L of ``rules.damped``: s(‖x‖² + ρ)/γ at most, for losses of unbounded slope; 0 for others."""
    if not isinstance(curve, FiveNumbers) or math.isfinite(max(curve.hi, -curve.lo)):
        return 0.0
    return heaviest * square / curve.gamma


def _slope_is_unbounded(problem: LinearProblem) -> bool:
    return stiffness_of(problem.loss.curve, 1.0, 1.0) > 0.0


@storable
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
        A problem with a radius is always projected, onto its ball if that is smaller.
    average : None, "uniform", "tail", "decaying" or "random"
        What is certified: the last iterate, the mean of all, the mean of the later half or so
        (Takáč Algorithm 1), w̄ ← 0.9w̄ + 0.1w as in that paper's experiments, or an iterate drawn
        uniformly (Pegasos Lemma 3, Do Theorem 3).
    tail_from : int, optional
        The mean is over w_t, t > tail_from (⌊T/2⌋ in Algorithm 1); by default the tail moves along
        and begins between a quarter and a half of the way.
    rule : name in ``gapsvm.solvers.subgradient.rules.RULES``, "optimistic", or a ``StepRule``
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
    keep_w : bool
        Optimistic: w stays when R grows, which the bound allows; as printed it starts at zero.
    single : bool
        Keep w in float32 between steps: faster where it outgrows the cache.
    bias_step : "gradient" or "batch"
        How a free bias moves: by a subgradient step of its own, or to the minimum over b of the
        loss of each batch, of two rows at least (docs/bias.md; ``OuterBias`` is a third way).
    """

    batch_size: int = 1
    projection: bool | float = False
    average: Average | None = None
    tail_from: int | None = None
    rule: str | StepRule = "pegasos"
    sampler: Sampler = "subsets"
    horizon: int | None = None
    stop: Literal["gap", "bound", "sampled"] = "gap"
    eps: float = 0.0
    delta: float = 0.5
    keep_w: bool = False
    single: bool = False
    bias_step: Literal["gradient", "batch"] = "gradient"

    def __post_init__(self) -> None:
        if isinstance(self.rule, str) and self.rule not in (*RULES, "optimistic"):
            names = ", ".join((*RULES, "optimistic"))
            raise ValueError(f"unknown step rule {self.rule!r}; choose one of {names}")
        if self.average not in AVERAGES:
            raise ValueError(f"average must be one of {AVERAGES}, got {self.average!r}")
        if self.sampler not in SAMPLERS:
            raise ValueError(f"sampler must be one of {', '.join(SAMPLERS)}, got {self.sampler!r}")
        if self.stop not in STOPS or (self.stop != "gap" and not self.eps > 0):
            raise ValueError(
                f"stop must be 'gap', or 'bound' or 'sampled' with eps > 0, got {self.stop!r}"
            )
        if self.stop == "sampled" and self.average not in ("uniform", "tail", "random"):
            raise ValueError(
                "stop='sampled' needs average 'uniform', 'tail' or 'random': the output of "
                f"{self.average!r} goes up and down too much to be judged twice"
            )
        if self.stop != "gap" and self.rule == "optimistic":
            raise ValueError("the optimistic method stops by itself where eps > 0: leave out stop")
        if self.projection is not True and not self.projection >= 0:
            raise ValueError(f"projection must be a bool or a radius, got {self.projection!r}")
        if not isinstance(self.projection, bool) and 0 < self.projection < math.inf:
            check_square("projection", self.projection)
        if self.bias_step not in BIAS_STEPS:
            names = ", ".join(BIAS_STEPS)
            raise ValueError(f"bias_step must be one of {names}, got {self.bias_step!r}")
        if self.bias_step == "batch" and self.batch_size < 2:
            raise ValueError(
                "bias_step='batch' needs batch_size >= 2: one row alone is met by a bias at no loss"
            )
        if self.bias_step == "batch" and self.stop == "bound":
            raise ValueError("stop='bound' knows no theorem for bias_step='batch'")

    def init(
        self, problem: LinearProblem, backend: Backend, rng: np.random.Generator
    ) -> SubgradientState:
        if not isinstance(problem, LinearProblem):
            raise TypeError(
                f"{type(self).__name__} solves a LinearProblem; for a {type(problem).__name__} "
                "there is MulticlassSubgradient"
            )
        n, d = problem.rows.shape
        if not 1 <= self.batch_size <= n:
            raise ValueError(f"batch_size must be between 1 and n = {n}, got {self.batch_size}")
        if self.bias_step == "batch" and problem.bias != "free":
            raise ValueError(f"bias_step='batch' is for a free bias; this one is {problem.bias!r}")
        table = row_table(n)
        table[2::4] = problem.sign * problem.weight * (n / problem.total_weight)
        table[3::4] = problem.t
        sums = self.average in ("uniform", "tail", "decaying")
        state = SubgradientState(
            table=table,
            v=zeros(d, np.float32 if self.single else np.float64),
            u=zeros(d if sums else 0),
            scalars=np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
            order=np.arange(n, dtype=np.uint32),
            seed=rng.integers(0, 2**64, size=1, dtype=np.uint64),
            earlier=np.zeros(d + 1 if self.average in ("tail", "random") else 0),
            R=self._first_guess(problem) if self.rule == "optimistic" else self._ball(problem),
        )
        state.key = int(state.seed[0])
        if self.stop == "bound":
            state.promised_at = self._promised_steps(problem, backend, self.eps)
        elif self.stop == "sampled" and self.average == "random":
            if self.rule != "pegasos":
                raise ValueError("stop='sampled' has two attempts for rule='pegasos' alone")
            state.promised_at = self._promised_steps(problem, backend, self.eps / 2)
            state.rival = np.zeros(d + 1)
        elif self.stop == "sampled":
            state.promised_at = math.ceil(len(self._sample(problem, state)) / self.batch_size)
        if self.sampler == "fixed":
            backend.shuffle(state.order, n, state.seed)
        return state

    def _first_guess(self, problem: LinearProblem) -> float:
        """R of the first phase of Algorithm 3."""
        check_curvature(problem.lam, "optimistic")
        smallest = min(1.0, 1.0 / math.sqrt(problem.lam))
        while smallest < math.sqrt(2.0 * self.eps / problem.lam):  # it would be left at once
            smallest *= math.sqrt(2.0)
        return smallest

    def radius(self, problem: LinearProblem) -> float:
        """Of the ball that iterates are projected onto; infinite for none."""
        confined = getattr(problem, "radius", math.inf) < math.inf
        always = confined or self.rule == "optimistic"  # Algorithm 3 projects as printed
        return self._ball(problem) if self.projection or always else math.inf

    def _projection(self, problem: LinearProblem) -> tuple[float, float]:
        """Radius and ``bias_norm`` of the projection."""
        R = self.radius(problem)
        if problem.bias == "penalized":
            return R, 1.0 / problem.bias_ratio
        if problem.bias == "none" or math.isinf(R) or not math.isinf(problem.radius):
            return R, 0.0
        largest = float(np.max(np.abs(problem.t)))
        return R, limit_of_bias(R, largest, math.sqrt(problem.largest_sq_norm))

    def _ball(self, problem: LinearProblem) -> float:
        if self.projection is not True and self.projection > 0:
            return min(float(self.projection), problem.radius)
        if problem.lam == 0:
            return problem.radius
        if problem.loss.name == "hinge":
            return min(1.0 / math.sqrt(problem.lam), problem.radius)
        return min(math.sqrt(2.0 * problem.primal_at_zero / problem.lam) or 1.0, problem.radius)

    def _scale(self, problem: LinearProblem, R: float) -> Scale:
        """λ, R, and G: the longest row times the largest slope in the ball, plus λ·(its radius)."""
        G = self._longest_pull(problem) + problem.lam * self._ball(problem)
        horizon = self.horizon or max(1, _PASSES_FORESEEN * problem.n_rows // self.batch_size)
        return Scale(problem.lam, G or 1.0, R, horizon)

    def _longest_pull(self, problem: LinearProblem) -> float:
        """The longest subgradient of a row's loss within the ball."""
        ball = self._ball(problem)
        longest = math.sqrt(problem.largest_sq_norm + problem.bias_ratio)
        slope, curve = 1.0, problem.loss.curve
        if isinstance(curve, FiveNumbers):
            slope = max(curve.hi, -curve.lo)
            if math.isinf(slope):
                slope = (float(np.max(np.abs(problem.t))) + longest * ball) / curve.gamma
        return max(self._heaviest(problem), 1.0) * longest * slope

    @staticmethod
    def _heaviest(problem: LinearProblem) -> float:
        """The largest s_i, of mean 1."""
        return float(np.max(problem.weight)) * problem.n_rows / problem.total_weight

    def advance(
        self, problem: LinearProblem, state: SubgradientState, backend: Backend, budget: int
    ) -> SubgradientState:
        left = max(1, budget // self.batch_size)
        while left > 0 and not (state.kept_promise or state.settled):
            chunk = max(1, _CHUNK_INDICES // self.batch_size)
            steps = min(left, chunk, self._steps_to_window(state))
            if state.promised_at:
                steps = min(steps, state.promised_at - state.steps)
            left -= self._steps(problem, state, backend, steps)
            if state.steps == state.promised_at > 0:
                self._judge(problem, state)
        return state

    def _judge(self, problem: LinearProblem, state: SubgradientState) -> None:
        """At the step of the theorem, or when the steps have doubled since the last time."""
        state.kept_promise = self.stop == "bound" or state.rival is not None
        if self.stop == "bound":
            return
        rows = self._sample(problem, state)
        now = problem.sampled_objective(rows, *self._output(state))
        if state.rival is not None:
            if problem.sampled_objective(rows, state.rival[:-1], state.rival[-1]) < now:
                state.earlier, state.rival = state.rival, state.earlier
            return
        state.settled = abs(state.judged - now) <= self.eps
        state.judged = now
        state.promised_at *= 2

    def _sample(self, problem: LinearProblem, state: SubgradientState) -> Any:
        """The rows that judge, the same ones whenever asked; all of them where that is less."""
        n = problem.n_rows
        longest = self._longest_pull(problem)
        if problem.lam == 0 or longest == 0:
            return np.arange(n)
        size = pegasos_footnote1_rows(self.eps / 2, lam=problem.lam, R=longest, delta=self.delta)
        if size >= n:
            return np.arange(n)
        return np.random.default_rng([state.key, 0]).integers(n, size=size)

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
        batches = self._batches(problem, state, backend, steps)
        rates = self._rates(problem, scale, first, steps, state.curvature, backend)
        decay = 1.0 - rates.eta * (problem.lam + rates.kappa)
        free = problem.bias == "free"
        ratio = 1.0 if free else problem.bias_ratio
        past = _WEIGHT_OF_PAST if self.average == "decaying" else 1.0
        leave_at = math.inf
        if self.rule == "optimistic":
            leave_at = state.R - math.sqrt(2.0 * self.eps / problem.lam)
        radius, bias_norm = self._projection(problem)
        batch_bias = self.bias_step == "batch"
        take_steps = backend.batch_bias_steps if batch_bias else backend.subgradient_steps
        done = int(
            take_steps(
                problem.rows.view,
                problem.loss.curve,
                state.table,
                batches,
                rates.eta,
                decay,
                problem.bias == "penalized",
                past,
                1.0 - past if self.average == "decaying" else 1.0,
                ratio,
                bias_norm,
                radius,
                leave_at,
                state.v,
                state.u,
                state.scalars,
            )
        )
        state.steps += done
        state.rows_visited += done * self.batch_size
        state.curvature = rates.curvature
        square = max(0.0, float(state.scalars[1]))  # a sum of changes: of a tiny w it is rounding
        if math.sqrt(square) * abs(state.scalars[0]) >= leave_at:
            self._grow(state)
        elif self.rule == "optimistic" and self.eps > 0 and state.steps == phase:
            state.kept_promise = True
        return done

    def _rates(
        self,
        problem: LinearProblem,
        scale: Scale,
        first: int,
        steps: int,
        curvature: float,
        backend: Backend,
    ) -> Rates:
        """Those of the rule; damped where no theory of a rule holds: squares outside a ball."""
        rates = self._rule().rates(scale, first, steps, curvature, backend)
        if self.radius(problem) < math.inf:
            return rates
        square = problem.largest_sq_norm + (1.0 if problem.bias == "free" else problem.bias_ratio)
        return damped(rates, stiffness_of(problem.loss.curve, self._heaviest(problem), square))

    def _check_premises(self, problem: LinearProblem) -> None:
        """What the theorems of ``_promised_steps`` are about, but for the rule and the output."""
        if problem.bias == "free":
            raise ValueError("no theorem is about a free bias; penalise it or leave it out")
        if self.sampler not in ("subsets", "multisets"):
            raise ValueError(f"no theorem is about sampler={self.sampler!r}; choose 'subsets'")
        if self.tail_from is not None:
            raise ValueError("stop='bound' sets tail_from itself: the tail is the later half")
        if self.rule not in ("pegasos", "proximal", "bound"):
            return
        projected = self.radius(problem) < math.inf
        unbounded = _slope_is_unbounded(problem)
        if not projected and (self.rule != "pegasos" or unbounded):
            loss = f"loss {problem.loss.name!r}, whose slope has no bound,"
            raise ValueError(
                f"the theorem for {loss if unbounded else f'rule {self.rule!r}'} needs iterates in "
                "a ball; set projection=True"
            )
        needed = min(replace(self, projection=True)._ball(problem), problem.radius)
        if projected and self.radius(problem) < needed:
            raise ValueError(
                f"the theorem speaks of the best w in the ball of radius {self.radius(problem):g}, "
                f"but the minimum may lie anywhere up to {needed:g}; set projection=True, or give "
                "the problem that radius"
            )

    def _promised_steps(self, problem: LinearProblem, backend: Backend, eps: float) -> int:
        """The T of the theorem for this rule and output."""
        self._check_premises(problem)
        lam, ball = problem.lam, self._ball(problem)
        scale = self._scale(problem, ball)
        longest = self._longest_pull(problem) or 1.0
        projected = self.radius(problem) <= 1.0 / math.sqrt(lam) if lam else True
        mean = self.average in ("uniform", "random")
        if self.rule in ("proximal", "bound") and mean:
            return do_theorem2_iterations(eps, lam=lam, G=scale.G, R=scale.R)
        if self.rule == "pegasos" and self.average == "uniform":
            return pegasos_theorem1_iterations(eps, lam=lam, R=longest, projected=projected)
        if self.rule == "pegasos" and self.average == "random":
            return pegasos_lemma3_iterations(
                eps, lam=lam, R=max(1.0, longest), delta=self.delta, projected=projected
            )
        if self.rule == "pegasos" and self.average == "tail":
            ratio = problem.bias_ratio
            square = float(np.max(problem.sq_norms, initial=0.0)) + ratio or 1.0  # norm 1, λ/r²
            share = min(1.0, (sigma2(problem.rows, backend).value + ratio) / square)
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

    def _batches(
        self, problem: LinearProblem, state: SubgradientState, backend: Backend, steps: int
    ) -> Any:
        batches = np.empty((steps, self.batch_size), dtype=np.uint32)
        n = state.order.size
        if self.sampler == "subsets" and self.batch_size > 1:
            backend.draw_subsets(state.order, batches, state.seed)
        elif self.sampler in ("subsets", "multisets"):
            backend.draw_multisets(n, batches, state.seed)
        else:
            flat, at, filled = batches.ravel(), state.steps * self.batch_size, 0
            while filled < flat.size:
                place = (at + filled) % n
                if place == 0 and self.sampler == "permutation":
                    backend.shuffle(state.order, n, state.seed)
                elif place == 0 and self.sampler == "streams":
                    new_order(problem, state.order, n, state.seed, backend)
                count = min(n - place, flat.size - filled)
                flat[filled : filled + count] = state.order[place : place + count]
                filled += count
        return batches

    def _steps_to_window(self, state: SubgradientState) -> int:
        """Steps until the tail begins anew; it is begun here if this is the step."""
        if self.average != "tail":
            return _CHUNK_INDICES
        now, fixed = state.steps, self._tail_start(state)
        begins = now == fixed if fixed is not None else now & (now - 1) == 0
        if begins and now > state.window[1]:
            state.earlier[:] = 0.0 if fixed is not None else self._sums(state)
            state.window = (now if fixed is not None else state.window[1], now)
            state.u[:] = 0.0
            state.scalars[3:] = 0.0, 1.0, 0.0
        if fixed is not None:
            return fixed - now if now < fixed else _CHUNK_INDICES
        return int(2 ** now.bit_length()) - now

    def _tail_start(self, state: SubgradientState) -> int | None:
        """The step after which the mean begins, if it is fixed: for a theorem at half of its T."""
        if self.stop == "bound" and self.average == "tail":
            return state.promised_at // 2
        return self.tail_from

    @staticmethod
    def _steps_to_choice(state: SubgradientState, done: int) -> int:
        """Steps until an iterate takes the place of one kept; it does so here if it is time.

        w_t replaces the one before with probability 1/t, so that each of w_1, …, w_T is kept with
        the same; the next t to do so after s exceeds any j with probability s/j.
        """

        def next_choice(*attempt: int) -> int:
            draw = np.random.default_rng([state.key, state.phases, done + 1, *attempt])
            return math.floor((done + 1) / (1.0 - draw.random())) + 1

        if state.chosen == done + 1:
            state.earlier[:] = np.append(state.scalars[0] * state.v, state.scalars[2])
            state.chosen = next_choice()
        if state.rival is None:
            return state.chosen - 1 - done
        if state.rival_chosen == done + 1:
            state.rival[:] = np.append(state.scalars[0] * state.v, state.scalars[2])
            state.rival_chosen = next_choice(1)
        return min(state.chosen, state.rival_chosen) - 1 - done

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
        elif self.average is None or count == 0 or state.steps < (self._tail_start(state) or 0):
            return scale * state.v, float(bias)
        elif self.average == "uniform":
            mean = self._sums(state) / count
        else:
            mean = (state.earlier + self._sums(state)) / count
        return mean[:-1].copy(), float(mean[-1])

    def iterate(self, problem: LinearProblem, state: SubgradientState) -> Iterate:
        visits, mass = state.table[0::4], state.table[1::4]
        w, bias = self._output(state)
        mean, curve = mass / np.where(visits > 0, visits, 1.0), problem.loss.curve
        alpha = np.clip(mean, curve.lo, curve.hi)  # by rounding a mean may leave the box
        return Iterate(w, bias, alpha, try_combination=True)

    def progress(self, problem: LinearProblem, state: SubgradientState) -> Progress:
        return Progress(state.rows_visited, promised=state.kept_promise, settled=state.settled)


Pegasos = Subgradient
"""The defaults are the paper's."""
