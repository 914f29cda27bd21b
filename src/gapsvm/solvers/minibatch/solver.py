"""Mini-batch dual coordinate ascent (Takáč §4): naive, safe, aggressive, and exact blocks.

All rows of a batch look at the same w, then w moves once.  Row i takes the step that is exact for a
curvature β·q_i, q_i = s_i v_i/(λS), instead of its own:

    a⁺ = clip(soft(t − z + β q_i a, ε)/(γ + β q_i), lo, hi)

naive       β = 1, v_i = ‖x_i‖²: eq. (14).  Rows that say the same are heard twice; it may diverge.
safe        β bounds what they may add up to, by σ² ≥ ‖X‖²/n (Lemma 1):
            form "unit": v_i = 1, β = β_b, eq. (15) as printed, for rows of norm ≤ 1;
            form "rows": v_i = ‖x_i‖², β = β_b of the row-normalised data, eq. (24);
            form "tight": v_i = (1 − r)‖x_i‖² + r·nσ², r = (b − 1)/(n − 1), β = 1: Lemma 1's first
            line, never a larger step bound than "unit" allows.
aggressive  β follows what the batches do add up to (Algorithm 2), and a step that would lower D is
            not taken.
exact       the batch's own Gram matrix: coordinate ascent inside the block, which is serial SDCA in
            that order, step for step.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from gapsvm.backends import Backend
from gapsvm.problems.kernel import KernelProblem
from gapsvm.problems.linear import LinearProblem
from gapsvm.registry.storable import storable
from gapsvm.rows.spectral import batch_worth_using, beta
from gapsvm.solvers.base import refusal_of_balls, refusal_of_others
from gapsvm.solvers.dual_rows import dual_rows_of
from gapsvm.solvers.row_order import new_order
from gapsvm.solvers.sdca.serial import bias_ratio, dual_start
from gapsvm.solvers.tail import Tail
from gapsvm.solvers.trace import Progress
from gapsvm.system.blas import one_blas_thread
from gapsvm.types.steps import AverageOfAlpha, BatchCurvature, Queue
from gapsvm.types.tables import ALPHA, CURVATURE, SIGNED_WEIGHT

Rule = Literal["naive", "safe", "aggressive", "exact"]
Form = Literal["auto", "unit", "rows", "tight"]
BATCH_RULES = ("naive", "safe", "aggressive", "exact")
_FORMS = {
    "naive": ("rows",),
    "safe": ("tight", "rows", "unit"),
    "aggressive": ("rows", "unit"),
    "exact": ("rows",),
}
"""The forms of a rule; the first is its "auto"."""
_CHUNK_INDICES = 1 << 20
_EXACT_BLOCK = 64
_WEIGHT_OF_PAST = 0.9
_SAMPLE = 10_000
"""Rows from which σ² is estimated when that is asked for."""


@storable
@dataclass
class MiniBatchState:
    """Everything the solver knows; resuming from a copy is bit-equal."""

    table: Any
    """(α_i, q_i, c_i, t_i), row after row."""
    w: Any
    scratch: Any
    """Zeros, where Δ̃ is summed if a batch has more values than w; else empty."""
    bias: float
    centre: float
    """Of the proximal term of a free bias."""
    order: Any
    seed: Any
    batch_size: int
    beta: float
    limit: float
    """β_b, which β may not exceed; infinite if σ² is not known."""
    queue: tuple[Any, Any, Any]
    """Rows, α before and α after of the batches under way."""
    mean: Any
    seen: Any
    """The average of each α_i (or its sum) as of step ``seen``; empty without averaging."""
    earlier: Any
    """Tail averaging: the sums of the window before this one, ..."""
    tail: Tail = field(default_factory=Tail)
    """... and the steps of which these and those are."""
    steps: int = 0
    refusals: int = 0
    rows_visited: int = 0
    gap_sum: float = 0.0
    last_estimate: float = math.inf
    hint: float = math.inf
    note: str = ""
    """Which batch size and which σ² were chosen, and why."""


@storable
@dataclass(frozen=True)
class MiniBatchSDCA:
    """Dual ascent on many rows at a time.

    Parameters
    ----------
    rule : "naive", "safe", "aggressive" or "exact"
    batch_size : int or "auto"
        b.  "auto": as many rows as may step together at less than twice the curvature, about
        1/σ²; for "exact" a block whose Gram matrix stays in cache.
    inertia : float
        Aggressive: how slowly β follows, in (0, 1): γ of the paper.
    sigma2 : None, "bound", "estimate" or a number
        σ² of the data.  None: what the rule needs, an upper bound for "safe", and nothing for
        "aggressive", which then has no upper clip, as on the poster.  "estimate": from a sample of
        the rows, not a bound.  A number is taken as it is, for the σ² that the form asks for.
    form : "auto", "unit", "rows" or "tight"
        What bounds the curvature, see above.  "auto": "tight" for safe, else "rows".
    staleness : int
        A batch is applied so many steps after it was looked at (Takáč §6); β is then that of all
        rows under way.  A row that moved in between keeps its value.
    average : None, "tail" or "decaying"
        What is certified: the last iterate, the mean of the later half or so of the iterates
        (Theorem 2), or ᾱ ← 0.9ᾱ + 0.1α, as in the paper's experiments.  w̄ = w(ᾱ) in each case.
    tail_from : int, optional
        The first step of the tail (T₀ in eq. 21); by default it moves along, a quarter to a half.
    sampler : "subsets", "permutation" or "streams"
        Rand(b), as in the paper; the blocks of a new random order every pass, which "exact" takes
        too; or of a new order that is kind to memory, as SDCA's (``gapsvm.solvers.row_order``).
    sweeps : int
        Exact: how often a block is gone through.
    alpha : array, optional
        Warm start.
    bias : float
        The bias to begin with.
    """

    rule: Rule = "safe"
    batch_size: int | Literal["auto"] = "auto"
    inertia: float = 0.95
    sigma2: float | Literal["bound", "estimate"] | None = None
    form: Form = "auto"
    staleness: int = 0
    average: Literal["tail", "decaying"] | None = None
    tail_from: int | None = None
    sampler: Literal["subsets", "permutation", "streams"] = "subsets"
    sweeps: int = 1
    alpha: Any = None
    bias: float = 0.0

    def __post_init__(self) -> None:
        if self.rule not in BATCH_RULES:
            raise ValueError(f"unknown rule {self.rule!r}; choose one of {', '.join(BATCH_RULES)}")
        if self.form != "auto" and self.form not in _FORMS[self.rule]:
            forms = ", ".join(("auto", *_FORMS[self.rule]))
            raise ValueError(f"rule {self.rule!r} has the forms {forms}, not {self.form!r}")
        if self.batch_size != "auto" and not self.batch_size >= 1:
            raise ValueError(f"batch_size must be 'auto' or at least 1, got {self.batch_size!r}")
        if not 0 < self.inertia < 1:
            raise ValueError(f"inertia must lie between 0 and 1, got {self.inertia!r}")
        given = self.sigma2
        if not (given in (None, "bound", "estimate") or (not isinstance(given, str) and given > 0)):
            raise ValueError(
                f"sigma2 must be None, 'bound', 'estimate' or a positive number, got {given!r}"
            )
        if self.staleness < 0 or (self.staleness and self.rule == "exact"):
            raise ValueError("staleness must be 0 or more, and 0 for rule 'exact'")
        if self.average not in (None, "tail", "decaying"):
            raise ValueError(f"average must be None, 'tail' or 'decaying', got {self.average!r}")
        if self.sampler not in ("subsets", "permutation", "streams"):
            raise ValueError(
                f"sampler must be 'subsets', 'permutation' or 'streams', got {self.sampler!r}"
            )
        if self.sweeps < 1:
            raise ValueError(f"sweeps must be at least 1, got {self.sweeps!r}")
        self._refuse_idle()

    def _refuse_idle(self) -> None:
        """Raise a ValueError for a parameter that would change nothing."""
        rule, default = self.rule, {field.name: field.default for field in fields(self)}
        if rule != "aggressive" and self.inertia != default["inertia"]:
            raise ValueError(f"inertia is for rule 'aggressive', not {rule!r}")
        if rule != "exact" and self.sweeps != default["sweeps"]:
            raise ValueError(f"sweeps is for rule 'exact', not {rule!r}")
        counts = rule in ("safe", "aggressive") or self.batch_size == "auto"
        if not counts and self.sigma2 is not None:
            raise ValueError(f"sigma2 is for rules 'safe' and 'aggressive', not {rule!r}")

    def refusal(self, problem: object) -> str:
        """What the problem lacks for this solver to work; empty if nothing."""
        if not isinstance(problem, LinearProblem | KernelProblem):
            return refusal_of_others(problem, LinearProblem, KernelProblem)
        found = refusal_of_balls(problem)
        if not found and isinstance(problem, KernelProblem) and self.sampler == "streams":
            found = "sampler='streams' is for rows in memory, which a kernel matrix is not"
        if not found and self.batch_size != "auto" and self.batch_size > problem.n_rows:
            found = f"batch_size must be at most n = {problem.n_rows}, got {self.batch_size}"
        return found

    def warmed(self, iterate: Any) -> MiniBatchSDCA:
        """The same, to begin at an α."""
        return replace(self, alpha=iterate.alpha, bias=iterate.bias)

    def init(self, problem: Any, backend: Backend, rng: np.random.Generator) -> MiniBatchState:
        n = problem.n_rows
        ratio = bias_ratio(problem)
        table, w, bias, centre = dual_start(problem, backend, ratio, self.alpha, self.bias)
        size, note = self._size(problem, backend)
        factor, limit, curvature, why = self._curvature(problem, backend, size, ratio)
        table[:, CURVATURE] = np.abs(table[:, SIGNED_WEIGHT]) * curvature
        order = backend.place(np.arange(n, dtype=np.uint32))
        slots = (self.staleness + 1, size)
        averaged = n if self.average else 0
        return MiniBatchState(
            table=table,
            w=w,
            scratch=backend.zeros(w.size if self._needs_scratch(problem, size) else 0),
            bias=bias,
            centre=centre,
            order=order,
            seed=rng.integers(0, 2**64, size=1, dtype=np.uint64),
            batch_size=size,
            beta=factor,
            limit=limit,
            queue=(backend.zeros(slots, np.uint32), backend.zeros(slots), backend.zeros(slots)),
            mean=table[:, ALPHA].copy() if self.average == "decaying" else backend.zeros(averaged),
            seen=backend.zeros(averaged, np.int64) - (self.average == "tail"),
            earlier=backend.zeros(averaged if self.average == "tail" else 0),
            tail=Tail(self.tail_from),
            note="; ".join(text for text in (note, why) if text),
        )

    def _size(self, problem: Any, backend: Backend) -> tuple[int, str]:
        """The batch size, and why."""
        n = problem.n_rows
        if self.batch_size != "auto":
            return int(self.batch_size), ""
        if self.rule == "exact":
            return min(n, _EXACT_BLOCK), f"blocks of {_EXACT_BLOCK} keep their Gram matrix in cache"
        found = self._sigma2(problem, backend, normalised=True, needed=True)
        size = batch_worth_using(n, found or 1.0)
        return size, f"batches of {size}: the largest b with β_b ≤ 2"

    def _sigma2(
        self, problem: Any, backend: Backend, *, normalised: bool, needed: bool
    ) -> float | None:
        """σ² as asked for; None if nobody needs it."""
        if isinstance(self.sigma2, float | int):
            return float(self.sigma2)
        if self.sigma2 is None and not needed:
            return None
        sample = min(problem.n_rows, _SAMPLE) if self.sigma2 == "estimate" else None
        reach = dual_rows_of(problem)
        return reach.sigma2(backend, normalised=normalised, sample=sample).value

    def _curvature(
        self, problem: Any, backend: Backend, size: int, ratio: float
    ) -> tuple[float, float, Any, str]:
        """β to begin with, its upper limit, v_i of every row, and a note on σ²."""
        n = problem.n_rows
        together = min(n, size * (self.staleness + 1))  # rows under way look past each other too
        form = _FORMS[self.rule][0] if self.form == "auto" else self.form
        norms = np.maximum(problem.sq_norms, 0.0) + ratio
        largest = float(np.max(norms, initial=0.0))
        if form == "unit" and largest > 1.0 + 1e-6:
            raise ValueError(
                f"form 'unit' is eq. (15), for rows of norm at most 1; the largest here is "
                f"{math.sqrt(largest):.4g}: scale the rows, or take another form"
            )
        if self.rule in ("naive", "exact"):
            return 1.0, 1.0, norms, ""
        normalised = form == "rows"
        found = self._sigma2(problem, backend, normalised=normalised, needed=self.rule == "safe")
        curvature = np.ones(n) if form == "unit" else norms
        if found is None:
            return float(together), math.inf, curvature, ""
        kind = "row-normalised" if normalised else "raw"
        note = f"{kind} σ² = {found:.4g}"
        # The bias is one more feature, of the constant value √ratio.
        shares = ratio / np.where(norms > 0, norms, 1.0) if normalised else ratio
        top = 1.0 if normalised or form == "unit" else largest
        found = min(top, found + float(np.mean(shares)))
        if form == "tight":
            r = (together - 1) / (n - 1) if n > 1 else 0.0
            return 1.0, 1.0, (1.0 - r) * norms + r * n * found, note
        limit = beta(together, n, found)
        return limit, limit, curvature, note

    def advance(
        self, problem: Any, state: MiniBatchState, backend: Backend, budget: int
    ) -> MiniBatchState:
        """Whole batches only: at least one, and no more rows than the budget beyond that; of a
        kernel problem those whose values of K are computed together."""
        a_pass = max(1, math.ceil(problem.n_rows / state.batch_size))
        together = dual_rows_of(problem).together
        chunk = max(1, int(min(_CHUNK_INDICES, together)) // state.batch_size)
        left = max(1, budget // state.batch_size)
        if together < math.inf:
            left = chunk - state.steps % a_pass % chunk  # whole ones, so that a break shifts none
        if state.steps == 0:
            state.hint = math.inf
        while left > 0:
            done = state.steps % a_pass
            steps = min(left, chunk, a_pass - done, self._wait(state))
            self._steps(problem, state, backend, steps, done)
            left -= steps
            if state.steps % a_pass == 0:
                self._end_pass(problem, state, a_pass)
        return state

    def _steps(
        self, problem: Any, state: MiniBatchState, backend: Backend, steps: int, done: int
    ) -> None:
        size, n = state.batch_size, problem.n_rows
        permuted = self.sampler != "subsets" or self.rule == "exact"
        if done == 0 and self.sampler == "streams":
            new_order(problem, state.order, n, state.seed, backend)
        elif done == 0 and permuted:
            backend.shuffle(state.order, n, state.seed)
        first, last = done * size, (done + steps) * size
        if permuted:  # the last batch is filled up from the front
            rows = state.order[first : min(n, last)]
            if last > n and self.rule != "exact":
                rows = np.append(rows, state.order[: last - n])
        else:
            rows = backend.empty((steps, size), np.uint32)
            backend.draw_subsets(state.order, rows, state.seed)
        visited = rows.ravel() if not self.staleness else np.append(rows, state.queue[0])
        with dual_rows_of(problem).stepping(visited, state.table, state.w) as view:
            if self.rule == "exact":
                gap = self._exact_steps(view, problem, state, backend, first, min(n, last))
            else:
                gap = self._batch_steps(view, problem, state, backend, rows.reshape(steps, size))
        state.rows_visited += rows.size
        state.steps += steps
        state.gap_sum += gap

    def _exact_steps(
        self,
        view: Any,
        problem: Any,
        state: MiniBatchState,
        backend: Backend,
        start: int,
        stop: int,
    ) -> float:
        with one_blas_thread():
            state.bias, gap = backend.block_steps(
                view, problem.loss.curve, state.table, state.order, start, stop, state.batch_size,
                state.w, state.scratch, state.bias, bias_ratio(problem), self.sweeps,
            )  # fmt: skip
        return float(gap)

    def _batch_steps(
        self, view: Any, problem: Any, state: MiniBatchState, backend: Backend, batches: Any
    ) -> float:
        inertia = self.inertia if self.rule == "aggressive" else 1.0
        keep = _WEIGHT_OF_PAST if self.average == "decaying" else 1.0
        state.bias, state.beta, refusals, gap = backend.minibatch_steps(
            view, problem.loss.curve, state.table, batches, state.w, state.bias,
            bias_ratio(problem), state.steps,
            BatchCurvature(state.beta, state.limit, inertia),
            Queue(*state.queue),
            AverageOfAlpha(keep, state.mean, state.seen),
            state.scratch,
        )  # fmt: skip
        state.refusals += refusals
        return float(gap)

    def _needs_scratch(self, problem: Any, size: int) -> bool:
        """Whether a batch stores more values than w has: then vectors are gone through whole."""
        if isinstance(problem, KernelProblem):
            return False
        many = size * problem.rows.n_stored >= problem.n_features * problem.n_rows
        return bool(many or self.rule == "exact")

    def _wait(self, state: MiniBatchState) -> int:
        """Steps until the tail begins anew; it is begun here if this is the step."""
        if self.average != "tail":
            return sys.maxsize
        if state.tail.turns(state.steps):
            sums = state.mean + (state.steps - 1 - state.seen) * state.table[:, ALPHA]
            state.earlier[:] = sums if state.tail.turn(state.steps) else 0.0
            state.mean[:], state.seen[:] = 0.0, state.steps - 1
        return state.tail.wait(state.steps)

    def _end_pass(self, problem: Any, state: MiniBatchState, a_pass: int) -> None:
        """Guess the gap from what the rows of this pass had, and move the centre of a free bias."""
        visited = (
            min(problem.n_rows, a_pass * state.batch_size)
            if self.rule == "exact"
            else (a_pass * state.batch_size)
        )
        estimate = max(0.0, problem.lam * state.gap_sum * problem.n_rows / max(visited, 1))
        known = 0.0 < state.last_estimate < math.inf
        falling = min(1.0, estimate / state.last_estimate) if known else 0.5
        state.hint = estimate * math.sqrt(falling)  # rows were judged half a pass ago on average
        state.last_estimate, state.gap_sum = estimate, 0.0
        if problem.bias == "free":
            state.bias, state.centre = 2.0 * state.bias - state.centre, state.bias

    def iterate(self, problem: Any, state: MiniBatchState) -> Any:
        alpha, iterate = state.table[:, ALPHA].copy(), dual_rows_of(problem).iterate
        if self.average is None:
            return iterate(state.w.copy(), state.bias, alpha)
        if self.average == "decaying":
            mean = alpha + _WEIGHT_OF_PAST ** (state.steps - state.seen) * (state.mean - alpha)
        elif count := state.tail.count(state.steps):
            mean = (state.earlier + state.mean + (state.steps - 1 - state.seen) * alpha) / count
        else:
            mean = alpha
        curve = problem.loss.curve
        return iterate(None, state.bias, np.clip(mean, curve.lo, curve.hi))

    def progress(self, problem: Any, state: MiniBatchState) -> Progress:
        return Progress(state.rows_visited, math.nan if self.average else state.hint)
