"""What belongs together in the arguments of compiled loops."""

from __future__ import annotations

from typing import Any, NamedTuple


class Until(NamedTuple):
    """Where passes of dual ascent end."""

    rows: int
    """Before more than so many are visited, ..."""
    gap: float
    """... or when that of a pass is no larger."""


class LastMoves(NamedTuple):
    """The two directions of ``subspace_step``: what the rows that move, and w, did since it ended,
    and did before that."""

    rows: Any
    alpha: Any
    """Of the rows after the last step, ..."""
    move: Any
    """... and the move that ended there."""
    w: Any
    move_w: Any


class BatchCurvature(NamedTuple):
    """β, and how it follows what the steps of a batch add up to (Takáč, Algorithm 2)."""

    beta: float
    limit: float
    """β_b, which β may not exceed."""
    inertia: float
    """γ of the paper: β ← β^γ·ρ^(1 − γ); 1: β stays."""


class Queue(NamedTuple):
    """Batches under way, each array (staleness + 1) × b."""

    rows: Any
    before: Any
    """α_i when the batch was looked at, ..."""
    after: Any
    """... and as it is to be."""


class AverageOfAlpha(NamedTuple):
    """Brought up to date when an α moves; empty arrays: there is none."""

    keep: float
    """Below 1: the average decays by it; 1: a sum."""
    values: Any
    since: Any
    """The step up to which the value of a row holds."""


class BatchRoom(NamedTuple):
    """Room of mini-batch steps for what the rows of a batch say."""

    move: Any
    """Zeros of w's shape, or empty where a batch has fewer values than w has."""
    margins: Any
    second: Any
    movers: Any
    everyone: Any
    """0, 1, …, b − 1."""


class Batch(NamedTuple):
    """Rows that were looked at together: where each α was, goes to, and goes to at second sight."""

    rows: Any
    old: Any
    new: Any
    margins: Any
    second: Any


class StepSizes(NamedTuple):
    """η_t and 1 − η_t(λ + κ_t), a number a step."""

    eta: Any
    decay: Any


class Averaging(NamedTuple):
    """w̄ ← keep·w̄ + gain·w before each step."""

    keep: float
    gain: float


class BiasStep(NamedTuple):
    """bias ← decay_t·bias + ratio·η_t·(mean of s_i σ_i a*); without decay_t unless ``decays``."""

    ratio: float
    decays: bool


class Ball(NamedTuple):
    """Where iterates are kept."""

    radius: float
    """‖w‖² + bias_norm·bias² ≤ radius²; infinite: anywhere."""
    bias_norm: float
    """0 or less: of w alone, and the bias is kept to bias²·|bias_norm| ≤ 1 by itself."""
    leave_at: float
    """After a step to a ‖w‖ that is no smaller the rest is left undone (Do's Algorithm 3)."""


class WeightArrays(NamedTuple):
    """w = scale·v and w̄ = p·v + r·u, so that a step costs the nonzeros of its batch (Pegasos §2.4).

    ``scalars`` = (scale, ‖v‖², bias, p, r, average bias); ``u`` is empty without averaging.
    """

    v: Any
    u: Any
    scalars: Any


class Labels(NamedTuple):
    """The classes of the rows, and s_i of mean 1."""

    y: Any
    weight: Any


class ClassRoom(NamedTuple):
    """Room of multiclass steps: a* and the worst class of each row of a batch."""

    a: Any
    worst: Any


class BarrierPoint(NamedTuple):
    """A point of the interior: u, U − u and their multipliers; a second row where α may be < 0."""

    u: Any
    slack: Any
    zeta: Any
    upsilon: Any


class BarrierMove(NamedTuple):
    """A change of it; the slack changes by minus that of u where U is finite."""

    u: Any
    zeta: Any
    upsilon: Any


class BarrierEquations(NamedTuple):
    """Where the point stands: what ``barrier_terms`` finds and right-hand sides are made of."""

    residual: Any
    """ε − e·t + γu + e·z."""
    stiffness: Any
    """γ + ζ/u + υ/(U − u)."""


class BarrierAims(NamedTuple):
    """The products u·ζ and (U − u)·υ to aim at, second-order terms included."""

    lower: Any
    upper: Any
