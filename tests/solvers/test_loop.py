"""The one loop, driven by a problem and a solver that have neither w nor α."""

from __future__ import annotations

import copy
import math
import os
import signal
import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pytest
from problems import problem

from gapsvm import SDCA, Exact, InteriorPoint, Pegasos, Status, solve
from gapsvm.backends import get_backend
from gapsvm.problems.certificate import Certificate
from gapsvm.solvers.loop import deferred_interrupt
from gapsvm.solvers.trace import Progress


@dataclass
class Falling:
    """A problem whose gap is whatever the iterate says; counts its evaluations."""

    n_rows: int = 10
    slice_rows: int = 10
    looks: list = field(default_factory=list)

    def certify(self, iterate, backend):
        self.looks.append(iterate)
        return Certificate(1.0 + iterate, 1.0, solution=("certified", iterate))


@dataclass(frozen=True)
class Halving:
    """Each row halves (or multiplies by ``factor``) the iterate; an optional hint."""

    factor: float = 0.9
    hint: str = "none"
    stall_at: float = math.inf
    pause: float = 0.0

    def init(self, problem, backend, rng):
        return {"x": 1.0, "rows": 0, "budgets": []}

    def advance(self, problem, state, backend, budget):
        time.sleep(self.pause)
        state["x"] *= self.factor**budget
        state["rows"] += budget
        state["budgets"].append(budget)
        return state

    def iterate(self, problem, state):
        return state["x"]

    def progress(self, problem, state):
        hints = {"none": math.nan, "true": state["x"], "hopeful": state["x"] / 4, "hopeless": 9.0}
        return Progress(state["rows"], hints[self.hint], state["rows"] >= self.stall_at)


def test_converged():
    result = solve(Falling(), Halving(), gap=1e-3)
    assert result.status is Status.CONVERGED
    assert result.converged
    assert result.gap <= 1e-3
    assert result.solution == ("certified", pytest.approx(result.gap))
    assert result.trace[-1].gap == result.gap
    assert result.trace[-1].passes == result.passes


def test_max_passes():
    """The budget is kept to the row, a fraction of a pass too."""
    for passes in (3, 2.5, 0.1):
        result = solve(Falling(), Halving(), gap=0.0, max_passes=passes)
        assert result.status is Status.MAX_PASSES
        assert result.passes == passes
        assert sum(result.checkpoint.state["budgets"]) == round(10 * passes)
        assert result.gap == pytest.approx(0.9 ** (10 * passes))


def test_time_limit():
    result = solve(Falling(), Halving(pause=0.01), gap=0.0, time_limit=0.05, max_passes=1e6)
    assert result.status is Status.TIME_LIMIT
    assert 0 < result.passes < 1e6
    assert result.gap == pytest.approx(0.9 ** (10 * result.passes))


def test_no_time_at_all_still_gives_a_certificate():
    result = solve(Falling(), Halving(), gap=0.0, time_limit=0)
    assert result.status is Status.TIME_LIMIT
    assert result.passes == 0
    assert result.gap == 1.0
    assert len(result.trace) == 1


def test_stalled():
    result = solve(Falling(), Halving(stall_at=30), gap=0.0)
    assert result.status is Status.STALLED
    assert result.passes == 3


@pytest.mark.parametrize("factor", [math.inf, math.nan, -math.inf])
def test_diverged(factor):
    result = solve(Falling(), Halving(factor), gap=1e-3, max_passes=50)
    assert result.status is Status.DIVERGED


def test_cancelled_is_interrupted():
    calls = []
    result = solve(
        Falling(), Halving(), gap=0.0, cancelled=lambda: bool(calls.append(1) or len(calls) > 5)
    )
    assert result.status is Status.INTERRUPTED
    assert result.passes == 5


def test_callbacks_see_every_record_and_may_stop():
    seen, other = [], []

    def stop(record):
        seen.append(record)
        return record.gap < 0.01

    result = solve(Falling(), Halving(), gap=0.0, callbacks=[stop, other.append])
    assert result.status is Status.STOPPED_BY_CALLBACK
    assert seen == other == result.trace
    assert [r.gap < 0.01 for r in seen] == [False] * (len(seen) - 1) + [True]


def test_callbacks_see_no_record_twice():
    seen = []
    result = solve(
        Falling(), Halving(), gap=0.0, max_passes=3, evaluate_every=1, callbacks=[seen.append]
    )
    assert seen == result.trace
    assert [record.passes for record in seen] == [1, 2, 3]


def test_a_callback_that_raises_ends_the_fit():
    before = signal.getsignal(signal.SIGINT)

    def broken(record):
        raise RuntimeError("broken callback")

    with pytest.raises(RuntimeError, match="broken callback"):
        solve(Falling(), Halving(), gap=0.0, callbacks=[broken])
    assert signal.getsignal(signal.SIGINT) is before


def test_every_status_has_a_sentence():
    assert all(len(status.value.split()) >= 3 for status in Status)
    assert len({status.value for status in Status}) == len(Status)


def test_trace_keeps_evaluation_apart():
    """Passes and both clocks never fall, and the trace ends where the result does."""
    result = solve(Falling(), Halving(pause=0.001), gap=1e-4, evaluate_every=1)
    for name in ("passes", "seconds", "evaluation_seconds"):
        values = [getattr(record, name) for record in result.trace]
        assert values == sorted(values)
    assert result.trace[-1].seconds >= 0.001 * result.passes
    assert [r.passes for r in result.trace] == list(range(1, len(result.trace) + 1))


def test_evaluations_are_rare():
    """Without a hint: a geometric schedule; with a true one: only near the target."""
    slow = Falling()
    assert solve(slow, Halving(0.9999), gap=0.0, max_passes=1000).passes == 1000
    assert len(slow.looks) < 45
    guided = Falling()
    assert solve(guided, Halving(0.9999, "true"), gap=1e-2, max_passes=1e5).converged
    assert len(guided.looks) <= 3


def test_a_hopeful_hint_is_not_believed_for_ever():
    """A hint of a quarter of the gap costs a few looks, never a wrong stop."""
    fake = Falling()
    result = solve(fake, Halving(0.9999, "hopeful"), gap=1e-2, max_passes=1e5)
    assert result.converged
    assert result.gap <= 1e-2
    assert len(fake.looks) < 30


def test_a_hopeless_hint_ends_by_budget_with_a_certificate():
    result = solve(Falling(), Halving(hint="hopeless"), gap=1e-3, max_passes=20)
    assert result.gap == pytest.approx(0.9**200)
    assert result.converged  # the last look shows that the target was reached


@pytest.mark.parametrize("gap", [0.0, -1.0])
def test_an_impossible_gap_with_a_hint_ends_by_budget(gap):
    """tol = 0 is allowed: nothing is divided by it, and no logarithm taken of it."""
    result = solve(Falling(), Halving(0.99, "true"), gap=gap, max_passes=40)
    assert result.status is Status.MAX_PASSES


def test_patience():
    """Given up when the hint foresees more passes than the patience; never without a hint."""
    slow = solve(Falling(), Halving(0.9999, "true"), gap=1e-9, max_passes=1e4, patience=100)
    assert slow.status is Status.TOO_SLOW
    assert slow.passes < 100
    fast = solve(Falling(), Halving(0.9, "true"), gap=1e-9, max_passes=1e4, patience=100)
    assert fast.converged
    blind = solve(Falling(), Halving(0.9999), gap=1e-9, max_passes=50, patience=1)
    assert blind.status is Status.MAX_PASSES


def test_slices_are_the_grain():
    result = solve(Falling(n_rows=100, slice_rows=7), Halving(), gap=0.0, max_passes=1)
    assert max(result.checkpoint.state["budgets"]) == 7


def test_a_break_shifts_no_slice():
    """After it the slice that was cut short is finished first."""
    p = Falling(n_rows=100, slice_rows=40)
    cut = solve(p, Halving(), gap=0.0, max_passes=0.5)
    whole = solve(p, Halving(), gap=0.0, max_passes=1.2, checkpoint=cut.checkpoint)
    assert np.cumsum(whole.checkpoint.state["budgets"]).tolist() == [40, 50, 80, 120]


@pytest.fixture
def harmless_sigint():
    """A stray SIGINT must not end pytest itself."""
    strays = []
    before = signal.signal(signal.SIGINT, lambda *_: strays.append(1))
    yield strays
    signal.signal(signal.SIGINT, before)


def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


@pytest.mark.parametrize("solver", [SDCA(), Pegasos()], ids=["sdca", "pegasos"])
def test_ctrl_c_leaves_the_last_certified_iterate(solver, harmless_sigint):
    p = problem("hinge", 2000, 20, lam=1e-5)
    solve(p, solver, gap=0.5, max_passes=1)  # compiled
    timer = interrupt_after(0.3)
    started = time.perf_counter()
    try:
        result = solve(p, solver, gap=-1.0, max_passes=1e9, time_limit=60)
    finally:
        elapsed = time.perf_counter() - started
        timer.join()
    assert result.status is Status.INTERRUPTED
    assert elapsed < 10  # a second on a quiet machine
    assert 0 <= p.certify(result.solution, get_backend()).gap <= result.gap + 1e-12
    assert harmless_sigint == []


def test_the_second_ctrl_c_acts_as_always(harmless_sigint):
    with deferred_interrupt() as interrupted:
        assert not interrupted()
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        assert harmless_sigint == []
        signal.raise_signal(signal.SIGINT)
        assert harmless_sigint == [1]


def test_other_threads_leave_signals_alone(harmless_sigint):
    """A fit outside the main thread works; Ctrl-C belongs to the main thread."""
    results = []
    thread = threading.Thread(
        target=lambda: results.append(solve(Falling(), Halving(), gap=1e-3).status)
    )
    thread.start()
    thread.join()
    assert results == [Status.CONVERGED]


SOLVERS = {
    "sdca": SDCA(),
    "sdca without shrinking": SDCA(shrinking=False),
    "exact": Exact(),
    "interior": InteriorPoint(),
    "pegasos": Pegasos(),
    "pegasos, batches": Pegasos(batch_size=3, projection=True),
}


@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("first", [1, 3, 2.5])
@pytest.mark.parametrize("name", SOLVERS)
def test_resume_is_bit_equal(name, first, bias):
    """A copy of the checkpoint after some passes goes on as if it had never stopped."""
    p, solver = problem("hinge", 60, 6, lam=0.01, bias=bias), SOLVERS[name]
    whole = solve(p, solver, gap=0.0, max_passes=7, seed=4)
    part = solve(p, solver, gap=0.0, max_passes=first, seed=4)
    assert part.passes == pytest.approx(first, abs=1.0)
    kept = copy.deepcopy(part.checkpoint)
    rest = solve(p, solver, gap=0.0, max_passes=7, seed=99, checkpoint=part.checkpoint)
    again = solve(p, solver, gap=0.0, max_passes=7, checkpoint=kept)
    for result in (rest, again):
        assert result.passes == whole.passes
        np.testing.assert_array_equal(result.solution.w, whole.solution.w)
        np.testing.assert_array_equal(result.solution.alpha, whole.solution.alpha)
        assert result.solution.bias == whole.solution.bias
        assert result.certificate == whole.certificate


@pytest.mark.parametrize(
    ("name", "first"), [*((name, 2) for name in SOLVERS), ("pegasos", 8), ("pegasos, batches", 8)]
)
def test_resume_ends_where_the_uninterrupted_fit_ends(name, first):
    """The same stop by gap after a break: the look at the break moves no later one."""
    p, solver, gap = problem("hinge", 60, 6, lam=0.05), SOLVERS[name], 0.01
    whole = solve(p, solver, gap=gap, max_passes=3000, seed=4)
    part = solve(p, solver, gap=gap, max_passes=first, seed=4)
    rest = solve(p, solver, gap=gap, max_passes=3000, checkpoint=copy.deepcopy(part.checkpoint))
    assert whole.converged
    assert rest.converged
    assert rest.passes == whole.passes
    np.testing.assert_array_equal(rest.solution.w, whole.solution.w)


@pytest.mark.parametrize("name", SOLVERS)
def test_same_seed_same_model_twenty_times(name):
    p = problem("hinge", 50, 6, lam=0.02, bias="free")
    runs = [solve(p, SOLVERS[name], gap=1e-3, max_passes=5, seed=7) for _ in range(20)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.solution.w, runs[0].solution.w)
        np.testing.assert_array_equal(run.solution.alpha, runs[0].solution.alpha)
        assert run.solution.bias == runs[0].solution.bias


@pytest.mark.parametrize("name", ["sdca", "pegasos", "pegasos, batches"])
def test_another_seed_is_another_order(name):
    p = problem("hinge", 50, 6, lam=0.02)
    a, b = (solve(p, SOLVERS[name], gap=0.0, max_passes=1, seed=s).solution.w for s in (1, 2))
    assert not np.array_equal(a, b)
