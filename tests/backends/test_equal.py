"""``cpu`` and ``reference`` do the same, step for step, on the same indices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from problems import DTYPES, INTERIOR_LOSSES, LOSS_NAMES, feasible_points, matrix, targets

from gapsvm.backends import get_backend
from gapsvm.losses.registry import get_loss
from gapsvm.rows.matrix import as_rows
from gapsvm.types.curves import FiveNumbers
from gapsvm.types.steps import (
    AverageOfAlpha,
    Averaging,
    Ball,
    BarrierAims,
    BarrierEquations,
    BarrierMove,
    BarrierPoint,
    BatchCurvature,
    BiasStep,
    LastMoves,
    Queue,
    StepSizes,
    Until,
    WeightArrays,
)
from gapsvm.types.tables import ALPHA, SIGNED_WEIGHT

CPU, REFERENCE = get_backend("cpu"), get_backend("reference")
N, D = 40, 7

KINDS = [("dense", None), ("csr", np.int32), ("csr", np.int64)]
every_matrix = pytest.mark.parametrize(
    ("layout", "index", "dtype"), [(*kind, dtype) for kind in KINDS for dtype in DTYPES]
)
every_loss = pytest.mark.parametrize("name", LOSS_NAMES)


def view(layout, index, dtype, n=N, d=D):
    X = matrix(n, d, 3, layout, dtype)
    if index is not None:
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return as_rows(X).view


def row_scalars(loss, seed=0, weighted=True):
    """sign, t, weight, as a problem has them."""
    rng = np.random.default_rng(seed)
    y = targets(matrix(N, D, 3), loss.kind)
    weight = rng.uniform(0.2, 3.0, N) if weighted else np.ones(1)
    one = np.ones(1)
    return (y, one, weight) if loss.kind == "margin" else (one, y, weight)


def same(a, b, tight=1e-12):
    np.testing.assert_allclose(a, b, rtol=tight, atol=tight)


@pytest.mark.compiles
@every_matrix
@every_loss
@pytest.mark.parametrize(("ratio", "sigma"), [(0.0, 1.0), (0.7, 1.6)])
def test_sdca_steps(name, layout, index, dtype, ratio, sigma):
    """Two passes in two slices each, rows dropped in the second one."""
    loss, X = get_loss(name), view(layout, index, dtype)
    rng = np.random.default_rng(5)
    norms = np.empty(N)
    REFERENCE.sq_norms(X, norms)
    start = feasible_points(loss, N, rng)
    got = []
    order = rng.permutation(N).astype(np.uint32)
    for backend in (CPU, REFERENCE):
        sign, t, weight = row_scalars(loss)
        c = 0.4 * sign * weight
        table = np.stack(np.broadcast_arrays(start, abs(c) * (norms + ratio), c, t), axis=1)
        w = np.zeros(D)
        mass = table[:, SIGNED_WEIGHT] * table[:, ALPHA]
        backend.combination(X, mass, w)
        bias, own_order, numbers = ratio * float(mass.sum()), order.copy(), []
        active, threshold = N, np.inf
        for _ in range(2):
            kept = 0
            for first, last in ((0, active // 3), (active // 3, active)):
                kept, bias, worst, gap = backend.sdca_steps(
                    X,
                    loss.curve,
                    table,
                    own_order,
                    first,
                    last,
                    kept,
                    w,
                    bias,
                    ratio,
                    threshold,
                    sigma,
                )
                numbers += [kept, bias, worst, gap]
            active, threshold = kept, 0.05
        got.append((table, own_order, w, numbers))
    for a, b in zip(*got):
        same(a, b, 1e-10)


@pytest.mark.compiles
@every_matrix
@every_loss
@pytest.mark.parametrize("free", [False, True])
def test_sdca_passes(name, layout, index, dtype, free):
    """Five passes at most over half of the rows, some of which are dropped on the way."""
    loss, X, ratio = get_loss(name), view(layout, index, dtype), 0.3
    norms = np.empty(N)
    REFERENCE.sq_norms(X, norms)
    got = []
    for backend in (CPU, REFERENCE):
        sign, t, weight = row_scalars(loss)
        c = 0.4 * sign * weight
        start = feasible_points(loss, N, np.random.default_rng(5))
        table = np.stack(np.broadcast_arrays(start, abs(c) * (norms + ratio), c, t), axis=1)
        w, order, seed = np.zeros(D), np.arange(N, dtype=np.uint32), np.array([3], dtype=np.uint64)
        backend.combination(X, table[:, SIGNED_WEIGHT] * table[:, ALPHA], w)
        centre = 0.1 if free else np.nan
        rest = (w, 0.2, centre, ratio, 0.5, Until(5 * (N // 2), 1e-3))
        numbers = backend.sdca_passes(X, loss.curve, table, order, N // 2, seed, *rest)
        got.append((table, order, seed, w, np.array(numbers)))
    for a, b in zip(*got):
        same(a, b, 1e-9)


@pytest.mark.compiles
@every_matrix
@pytest.mark.parametrize("name", INTERIOR_LOSSES)
@pytest.mark.parametrize(("held", "ratio"), [(0.0, 0.0), (0.4, 0.0), (0.4, 0.3)])
@pytest.mark.parametrize("lam", [0.1, 3.0])
def test_subspace_step(name, layout, index, dtype, held, ratio, lam):
    """Four of them between passes, some with rows that are held; they lower D never, and α is in
    its bounds and w = w(α) all the time."""
    loss, X = get_loss(name), view(layout, index, dtype)
    norms = np.empty(N)
    REFERENCE.sq_norms(X, norms)
    sign, t, weight = row_scalars(loss)
    c = sign * weight / (lam * N)
    got = []
    for backend in (CPU, REFERENCE):
        start = feasible_points(loss, N, np.random.default_rng(5))
        table = np.stack(np.broadcast_arrays(start, abs(c) * (norms + ratio), c, t), axis=1)
        w, bias = np.zeros(D), held + ratio * float(c @ start)
        backend.combination(X, table[:, SIGNED_WEIGHT] * table[:, ALPHA], w)
        order, found = np.arange(N, dtype=np.uint32), []
        start = table[:, ALPHA].copy()
        last = LastMoves(order.copy(), start, np.zeros(N), w.copy(), np.zeros(D))
        for _ in range(4):
            rest = (0, N, 0, w, bias, ratio, np.inf, 1.0)
            _, bias, _, _ = backend.sdca_steps(X, loss.curve, table, order, *rest)
            before = dual(X, loss, table, held, ratio)
            bias = backend.subspace_step(X, loss.curve, table, w, bias, ratio, 1e-13, last)
            after = dual(X, loss, table, held, ratio)
            assert after >= before - 1e-12 * abs(before)
            found += [table.copy(), w.copy(), bias, *(part.copy() for part in last)]
        again = np.zeros(D)
        REFERENCE.combination(X, table[:, SIGNED_WEIGHT] * table[:, ALPHA], again)
        same(w, again, 1e-11)
        assert bias == pytest.approx(
            held + ratio * float(table[:, SIGNED_WEIGHT] @ table[:, ALPHA]), abs=1e-11
        )
        got.append(found)
    for a, b in zip(*got):
        same(a, b, 1e-8)


def dual(X, loss, table, held, ratio):
    """D/λ, where the bias is ``held`` but for its pull."""
    alpha, _, c, t = table.T
    w = np.zeros(D)
    REFERENCE.combination(X, c * alpha, w)
    mass = float(c @ alpha)
    conjugates = np.abs(c) @ loss.curve.conjugate(alpha, t)
    return -float(conjugates) - 0.5 * float(w @ w) - mass * (held + 0.5 * ratio * mass)


@every_matrix
@every_loss
def test_screen(name, layout, index, dtype):
    """α at its bounds, at the kink and free; some rows without weight."""
    loss, X = get_loss(name), view(layout, index, dtype)
    rng, got = np.random.default_rng(8), []
    low, high = (0.0, 1.0) if name == "logistic" else (loss.curve.lo, min(loss.curve.hi, 2.0))
    start = np.clip(rng.normal(size=N), max(low, -2.0), high)
    w = 0.3 * rng.normal(size=D)
    for backend in (CPU, REFERENCE):
        sign, t, weight = row_scalars(loss)
        c = np.where(np.arange(N) % 5 == 0, 0.0, 0.4 * sign * weight)
        table = np.stack(np.broadcast_arrays(start, 1.0, c, t), axis=1)
        found = np.zeros(N - 3, dtype=np.uint32)
        count, gap = backend.screen(X, loss.curve, table, 3, N, w, 0.1, 0.05, found)
        got.append((found[:count], [gap]))
    for a, b in zip(*got):
        same(a, b, 1e-10)


@pytest.mark.compiles
@every_matrix
@every_loss
@pytest.mark.parametrize(
    ("size", "radius", "bias_norm"), [(1, np.inf, 0.0), (3, 0.8, 2.0), (3, 0.8, -4.0)]
)
def test_subgradient_steps(name, layout, index, dtype, size, radius, bias_norm):
    """With a decaying average for k = 1 and a sum for k = 3; the first step forgets w."""
    loss, X = get_loss(name), view(layout, index, dtype)
    steps = 30
    batches = np.random.default_rng(6).integers(0, N, (steps, size)).astype(np.uint32)
    t = np.arange(1.0, steps + 1)
    keep, gain = (0.9, 0.1) if size == 1 else (1.0, 1.0)
    got = []
    for backend in (CPU, REFERENCE):
        sign, target, weight = row_scalars(loss)
        zero = np.zeros(N)
        table = np.stack(np.broadcast_arrays(zero, zero, sign * weight, target), axis=1)
        v, u, scalars = np.zeros(D), np.zeros(D), np.array([1.0, 0, 0, 0, 1, 0])
        for part in (slice(0, 11), slice(11, steps)):
            backend.subgradient_steps(
                *(X, loss.curve, table, batches[part]),
                StepSizes(1 / (0.3 * t[part]), 1 - 1 / t[part]),
                Averaging(keep, gain),
                BiasStep(0.5, bias_norm > 0),
                Ball(radius, bias_norm, np.inf),
                WeightArrays(v, u, scalars),
            )
        scale, square, bias, p, r, mean_bias = scalars
        norm = scale**2 * square if radius < np.inf else v @ v * scale**2
        got.append((scale * v, p * v + r * u, [norm, bias, mean_bias], table))
    for a, b in zip(*got):
        same(a, b, 1e-8)  # the compiled one keeps ‖v‖² by updates


@every_matrix
@every_loss
def test_single_steps(name, layout, index, dtype):
    """One row at a time and nothing else; twice w is forgotten, once it all but vanishes."""
    loss, X = get_loss(name), view(layout, index, dtype)
    steps = 30
    batches = np.random.default_rng(6).integers(0, N, (steps, 1)).astype(np.uint32)
    decay = 1 - 1 / np.arange(1.0, steps + 1)
    decay[[9, 20]] = 1e-12, 0.0
    got = []
    for backend in (CPU, REFERENCE):
        sign, target, weight = row_scalars(loss)
        zero = np.zeros(N)
        table = np.stack(np.broadcast_arrays(zero, zero, sign * weight, target), axis=1)
        v, scalars = np.zeros(D), np.array([1.0, 0, 0, 0, 1, 0])
        done = backend.subgradient_steps(
            *(X, loss.curve, table, batches),
            StepSizes(1 / (1 + np.arange(steps)), decay),
            Averaging(1.0, 1.0),
            BiasStep(0.0, False),
            Ball(np.inf, 0.0, np.inf),
            WeightArrays(v, np.zeros(0), scalars),
        )
        got.append((scalars[0] * v, table, [done]))
    for a, b in zip(*got):
        same(a, b, 1e-8)


@pytest.mark.parametrize("count", [0, 1, 2, 37])
def test_shuffle_is_bit_equal(count):
    got = []
    for backend in (CPU, REFERENCE):
        order = np.arange(40, dtype=np.uint32)
        seed = np.array([2**64 - 12345], dtype=np.uint64)
        backend.shuffle(order, count, seed)
        backend.shuffle(order, count, seed)
        got.append((order, seed))
    for a, b in zip(*got):
        np.testing.assert_array_equal(a, b)
    assert sorted(got[0][0]) == list(range(40))
    assert list(got[0][0][count:]) == list(range(count, 40))


@pytest.mark.parametrize(("count", "streams"), [(0, 4), (1, 4), (37, 1), (37, 5), (37, 64)])
def test_interleave_is_bit_equal(count, streams):
    """An order of the same rows; neighbours are visited a round apart."""
    got = []
    for backend in (CPU, REFERENCE):
        order = (2 * np.random.default_rng(3).permutation(40)).astype(np.uint32)
        seed = np.array([7], dtype=np.uint64)
        rows = np.sort(order[:count])
        for _ in range(2):
            backend.interleave(rows, streams, seed, order)
        np.testing.assert_array_equal(np.sort(order[:count]), rows)
        got.append((order, seed))
    for a, b in zip(*got):
        np.testing.assert_array_equal(a, b)


def test_shuffle_is_uniform():
    """Every position gets every value equally often: 24 orders of 4, chi-squared far below 1e-6."""
    counts: dict[tuple[int, ...], int] = {}
    seed = np.array([1], dtype=np.uint64)
    for _ in range(4800):
        order = np.arange(4, dtype=np.uint32)
        CPU.shuffle(order, 4, seed)
        counts[tuple(order)] = counts.get(tuple(order), 0) + 1
    assert len(counts) == 24
    assert sum((c - 200) ** 2 / 200 for c in counts.values()) < 75


@every_matrix
@every_loss
@pytest.mark.parametrize("weighted", [True, False])
def test_evaluate(name, layout, index, dtype, weighted):
    loss, X = get_loss(name), view(layout, index, dtype)
    rng = np.random.default_rng(7)
    w, alpha = rng.normal(size=D), feasible_points(loss, N, rng)
    scalars = row_scalars(loss, weighted=weighted)
    got = []
    for backend in (CPU, REFERENCE):
        margins, total = np.empty(N), np.zeros(D)
        sums = backend.evaluate(X, loss.curve, w, 0.3, alpha, *scalars, 0.2, margins, total)
        got.append((sums, margins, total))
    for a, b in zip(*got):
        same(a, b)


@every_matrix
def test_one_look(layout, index, dtype):
    """sq_norms, margins, combination and normal_matrix, against plain NumPy too."""
    X = view(layout, index, dtype)
    dense = matrix(N, D, 3, "dense", dtype).astype(float)
    rng = np.random.default_rng(8)
    w, coef, omega = rng.normal(size=D), rng.normal(size=N), rng.uniform(0, 2, N)
    coef[::5] = omega[::7] = 0.0
    for backend in (CPU, REFERENCE):
        norms, margins, total = np.empty(N), np.empty(N), np.zeros(D)
        backend.sq_norms(X, norms)
        backend.margins(X, w, margins)
        backend.combination(X, coef, total)
        same(norms, (dense**2).sum(1))
        same(margins, dense @ w)
        same(total, coef @ dense)
        same(backend.normal_matrix(X, omega, D), dense.T @ (omega[:, None] * dense))


@pytest.mark.parametrize("index", [np.uint32, np.uint64])
@pytest.mark.parametrize("seed", range(20))
def test_column_order(seed, index):
    """Row by row, empty rows included; columns may come twice and in any order."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 4, size=rng.integers(1, 12))
    lengths[rng.integers(lengths.size)] += 1
    columns = rng.integers(0, 5, size=lengths.sum()).astype(index)
    starts = np.append(0, np.cumsum(lengths)).astype(index)
    assert CPU.column_order(columns, starts) == REFERENCE.column_order(columns, starts)


@every_matrix
@pytest.mark.parametrize("each", [True, False])
def test_normal_product(layout, index, dtype, each):
    """A factor for each row, or one for all; what was in ``out`` stays."""
    X = view(layout, index, dtype)
    dense = matrix(N, D, 3, "dense", dtype).astype(float)
    rng = np.random.default_rng(9)
    v, scale = rng.normal(size=D), rng.uniform(0, 2, N if each else 1)
    for backend in (CPU, REFERENCE):
        out = np.ones(D)
        backend.normal_product(X, v, scale, out)
        same(out, 1.0 + dense.T @ (scale * (dense @ v)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("density", [0.02, 0.6])
def test_gram_of_sparse_rows(density, dtype):
    """Few nonzeros are scattered, many are expanded; more rows than a block."""
    X = sp.random(2100, 30, density, "csr", dtype, np.random.default_rng(0))
    omega = np.random.default_rng(1).uniform(0, 1, 2100)
    dense = X.toarray().astype(float)
    got = CPU.normal_matrix(as_rows(X).view, omega, 30)
    same(got, dense.T @ (omega[:, None] * dense), 1e-10)
    np.testing.assert_array_equal(got, got.T)


def test_a_missing_function_is_a_sentence():
    with pytest.raises(NotImplementedError, match="backend 'cpu' has no conjure"):
        CPU.conjure()
    with pytest.raises(ValueError, match="unknown backend 'gpux'; choose one of cpu"):
        get_backend("gpux")


def test_both_lists_are_the_same():
    """Every function of ``cpu`` has its oracle in ``reference``."""
    missing = [name for name in CPU.module.__all__ if not hasattr(REFERENCE.module, name)]
    assert missing == []


def dual_table(loss, X, ratio, rng):
    """A table as the dual solvers keep it, with w and the bias that belong to it."""
    norms, w = np.empty(N), np.zeros(D)
    REFERENCE.sq_norms(X, norms)
    sign, t, weight = row_scalars(loss)
    c = 0.4 * sign * weight
    start = feasible_points(loss, N, rng)
    table = np.stack(np.broadcast_arrays(start, abs(c) * (norms + ratio), c, t), axis=1)
    coef = table[:, SIGNED_WEIGHT] * table[:, ALPHA]
    REFERENCE.combination(X, coef, w)
    return table, w, ratio * float(coef.sum())


@pytest.mark.compiles
@every_matrix
@every_loss
@pytest.mark.parametrize(
    ("ratio", "inertia", "staleness", "keep"),
    [
        (0.0, 1.0, 0, 0.9),
        (0.7, 1.0, 2, 1.0),
        (0.7, 1.0, 0, None),
        (0.0, 0.8, 0, 1.0),
        (0.7, 0.8, 1, 0.9),
    ],
)
def test_minibatch_steps(name, layout, index, dtype, ratio, inertia, staleness, keep):
    """Batches of 6 in two slices, fixed β or the aggressive rule, late or not, averages or none."""
    loss, X = get_loss(name), view(layout, index, dtype)
    batches = np.stack([np.random.default_rng(k).permutation(N)[:6] for k in range(12)])
    batches = batches.astype(np.uint32)
    for whole in (True, False):
        got = []
        for backend in (CPU, REFERENCE):
            table, w, bias = dual_table(loss, X, ratio, np.random.default_rng(5))
            slots = (staleness + 1, 6)
            queue = Queue(np.zeros(slots, dtype=np.uint32), np.zeros(slots), np.zeros(slots))
            mean, seen = table[:, ALPHA].copy(), np.zeros(N, dtype=np.int64)
            move = np.zeros(D if whole else 0)
            if keep is None:
                mean, seen = mean[:0], seen[:0]
            beta, step, numbers = 1.5, 0, []
            for part in (batches[:5], batches[5:]):
                bias, beta, *rest = backend.minibatch_steps(
                    *(X, loss.curve, table, part, w, bias, ratio, step),
                    *(BatchCurvature(beta, 3.0, inertia), queue),
                    *(AverageOfAlpha(keep or 1.0, mean, seen), move),
                )
                step += len(part)
                numbers += [bias, beta, *rest]
            got.append((table, w, mean, seen, move, numbers, *queue))
        for a, b in zip(*got):
            same(a, b, 1e-9)


@pytest.mark.parametrize("backend", [CPU, REFERENCE], ids=["cpu", "reference"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_row_at_its_optimum_does_not_move_by_rounding(backend, whole):
    """(q·a)/q is not always a; β would follow what is nothing but rounding."""
    a, q = 0.4341718354537837, 0.6108869734438016
    assert (q * a) / q != a
    table, w, move = np.array([[a, q, 1.0, 1.0]]), np.ones(1), np.zeros(1 if whole else 0)
    batches = np.zeros((1, 1), dtype=np.uint32)
    queue = Queue(np.zeros((1, 1), dtype=np.uint32), np.zeros((1, 1)), np.zeros((1, 1)))
    X, mean, seen = as_rows(np.ones((1, 1))).view, np.zeros(0), np.zeros(0, dtype=np.int64)
    got = backend.minibatch_steps(
        *(X, get_loss("hinge").curve, table, batches, w, 0.0, 0.0, 0),
        *(BatchCurvature(1.0, np.inf, 0.8), queue, AverageOfAlpha(1.0, mean, seen), move),
    )
    assert got == (0.0, 1.0, 0, 0.0)
    assert table[0, ALPHA] == a
    assert w[0] == 1.0


@pytest.mark.compiles
@every_matrix
@every_loss
@pytest.mark.parametrize(("ratio", "sweeps"), [(0.0, 1), (0.7, 3)])
def test_block_steps(name, layout, index, dtype, ratio, sweeps):
    """Blocks of 7, the last one shorter; with one sweep the steps of serial SDCA."""
    loss, X = get_loss(name), view(layout, index, dtype)
    order = np.random.default_rng(3).permutation(N).astype(np.uint32)
    got = []
    for backend in (CPU, REFERENCE):
        table, w, bias = dual_table(loss, X, ratio, np.random.default_rng(5))
        u, sums = np.zeros(D), []
        for start, stop in ((0, 14), (14, N)):
            bias, gap = backend.block_steps(
                X, loss.curve, table, order, start, stop, 7, w, u, bias, ratio, sweeps
            )
            sums.append(gap)
        got.append((table, w, bias, sums, u))
    for a, b in zip(*got):
        same(a, b, 1e-9 if dtype == np.float64 else 2e-4)  # the Gram matrix has the data's type


def test_draw_subsets():
    """Bit-equal twins, subsets without repetition, all of them equally often."""
    got = []
    for backend in (CPU, REFERENCE):
        order, seed = np.arange(5, dtype=np.uint32), np.array([7], dtype=np.uint64)
        batches = np.empty((4000, 2), dtype=np.uint32)
        backend.draw_subsets(order, batches[:1500], seed)
        backend.draw_subsets(order, batches[1500:], seed)
        got.append((batches, order, seed))
    for a, b in zip(*got):
        np.testing.assert_array_equal(a, b)
    pairs, counts = np.unique(np.sort(got[0][0], axis=1), axis=0, return_counts=True)
    assert len(pairs) == 10
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert np.sum((counts - 400) ** 2 / 400) < 40


def test_draw_multisets():
    """Bit-equal twins; every row equally often."""
    got = []
    for backend in (CPU, REFERENCE):
        seed, batches = np.array([7], dtype=np.uint64), np.empty((1000, 3), dtype=np.uint32)
        backend.draw_multisets(6, batches[:400], seed)
        backend.draw_multisets(6, batches[400:], seed)
        got.append((batches, seed))
    for a, b in zip(*got):
        np.testing.assert_array_equal(a, b)
    counts = np.bincount(got[0][0].ravel(), minlength=6)
    assert np.sum((counts - 500) ** 2 / 500) < 30


@pytest.mark.parametrize("square", [0.0, 2.5])
def test_balance(square):
    got = []
    for backend in (CPU, REFERENCE):
        total = np.empty(20)
        backend.balance(0.3, square, 1.5, total)
        got.append(total)
    same(*got)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("bounded", [0.0, 1.0])
def test_barrier(sides, bounded):
    """One Newton step of the interior point, row by row."""
    rng = np.random.default_rng(4)
    shape = (sides, N)
    u, slack, zeta = rng.uniform(0.1, 1.0, (3, *shape))
    upsilon = bounded * rng.uniform(0.1, 1.0, shape)
    lower, upper = rng.uniform(0.0, 0.1, shape), bounded * rng.uniform(0.0, 0.1, shape)
    z, t, dz = rng.standard_normal((3, N))
    weight, sign = rng.uniform(0.0, 2.0, N), rng.choice([-1.0, 1.0], N)
    point, caps, got = BarrierPoint(u, slack, zeta, upsilon), np.full(sides, bounded), []
    curve = FiveNumbers(0.1, 0.3)
    for backend in (CPU, REFERENCE):
        terms, move = BarrierEquations(*np.empty((2, *shape))), BarrierMove(*np.empty((3, *shape)))
        aims, omega, pull = BarrierAims(lower.copy(), upper.copy()), np.empty(N), np.empty(N)
        products = backend.barrier_terms(curve, point, z, t, weight, terms, omega)
        backend.barrier_pull(point, terms, aims, sign, weight, pull)
        ends = backend.barrier_direction(point, terms, aims, dz, weight, caps, move)
        backend.barrier_aims(point, move, caps, 0.7, 0.01, 0.2, aims)
        got.append((products, *terms, omega, pull, *move, ends, *aims))
    for a, b in zip(*got):
        same(a, b)
