"""Checkpoints: bit for bit what they were, whole at every moment, and of one problem only."""

from __future__ import annotations

import copy
import dataclasses
import errno
import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from problems import matrix, problem, targets

from gapsvm.io.tensors import read_tensors, write_tensors
from gapsvm.problems.linear import LinearProblem
from gapsvm.solvers.bundle.bundle import Bundle
from gapsvm.solvers.bundle.level import LevelBundle
from gapsvm.solvers.bundle.proximal import ProximalBundle
from gapsvm.solvers.loop import solve
from gapsvm.solvers.newton.interior import InteriorPoint
from gapsvm.solvers.sdca.serial import SDCA
from gapsvm.solvers.subgradient.solver import Pegasos
from gapsvm.solvers.trace import Checkpoint, Record, Status
from gapsvm.training.checkpoint import (
    CheckpointError,
    fingerprint,
    load_checkpoint,
    load_tree,
    save_checkpoint,
    save_tree,
)
from gapsvm.training.several import Standing, train_several
from gapsvm.training.train import Fit, Options, Training, train

SOLVERS = {
    "sdca": SDCA(),
    "warm sdca": SDCA(alpha=np.linspace(0, 1, 40), bias=0.5, shrinking=False),
    "interior": InteriorPoint(),
    "bundle": Bundle(max_cuts=5),
    "proximal bundle": ProximalBundle(max_cuts=5),
    "level bundle": LevelBundle(max_cuts=5),
    "pegasos": Pegasos(),
    "pegasos in batches": Pegasos(batch_size=7, projection=True),
}


def same(a, b):
    """Whether two trees are equal, arrays bit for bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, np.random.Generator):
        return same(a.bit_generator.state, b.bit_generator.state)
    return a == b or (a != a and b != b)


def without_seconds(trace):
    return [dataclasses.replace(record, seconds=0, evaluation_seconds=0) for record in trace]


# -- going on --------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize(("layout", "d"), [("dense", 5), ("csr", 5), ("dense", 60), ("csr", 60)])
@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_resuming_is_bit_equal(tmp_path, solver, layout, d, bias):
    def fresh():
        return problem("hinge", d=d, layout=layout, bias=bias)

    path, options = tmp_path / "state", {"gap": 0.0, "evaluate_every": 1.0}
    whole = solve(fresh(), solver, max_passes=9, **options)
    first = solve(fresh(), solver, max_passes=4, **options)
    save_checkpoint(path, first.checkpoint, fingerprint(fresh()), solver)
    run, again = load_checkpoint(path, fingerprint(fresh()))
    assert same(again, solver)
    assert same(run, first.checkpoint)
    rest = solve(fresh(), again, max_passes=9, checkpoint=run, **options)
    assert same(rest.solution, whole.solution)
    assert same(rest.checkpoint.state, whole.checkpoint.state)
    assert rest.certificate == whole.certificate
    unsaved = solve(fresh(), solver, max_passes=9, checkpoint=first.checkpoint, **options)
    assert without_seconds(rest.trace) == without_seconds(unsaved.trace)


class SlicedProblem(LinearProblem):
    """A small problem that solvers visit a quarter at a time, as they do large ones."""

    slice_rows = 50


@pytest.mark.parametrize("name", ["sdca", "interior", "pegasos"])
def test_a_checkpoint_at_any_moment(tmp_path, name):
    """Stopped between any two slices, saved, loaded: on to the same end."""
    X = matrix(200, 5)
    p = SlicedProblem(X, targets(X, "margin"), problem("hinge").loss, 0.05)
    options = {"gap": 0.0, "max_passes": 6}
    whole = solve(p, SOLVERS[name], **options)
    slices = 6 if name == "interior" else 6 * 4
    for moment in range(0, slices, 3):
        questions = iter(range(slices))
        part = solve(
            p,
            SOLVERS[name],
            cancelled=lambda questions=questions, moment=moment: next(questions) == moment,
            **options,
        )
        assert part.status is Status.INTERRUPTED
        save_checkpoint(tmp_path / "state", part.checkpoint, fingerprint(p), SOLVERS[name])
        run, solver = load_checkpoint(tmp_path / "state", fingerprint(p))
        rest = solve(p, solver, checkpoint=run, **options)
        assert same(rest.solution, whole.solution)
        assert same(rest.checkpoint.state, whole.checkpoint.state)


# -- several problems ------------------------------------------------------------------------------


def trained(standing=None, save=None, **options):
    X = matrix(60, 5)
    ys = [targets(X, "margin", seed) for seed in range(3)]
    options = Options(**{"method": "sdca", "tol": 1e-3, "seed": 3, "threads": 2, **options})
    loss = problem("hinge").loss

    class Problems:
        def __len__(self):
            return 3

        def problem(self, k):
            return LinearProblem(X, ys[k], loss, 0.01)

    standing = None if standing is None else Standing(standing, save)
    return train_several(Problems(), options, standing=standing)


def weights(fits):
    return [fit.solution.w.tobytes() for fit in fits]


def test_several_problems_go_on_from_where_they_stand(tmp_path):
    """Saved before each step of each, in one thread; every eleventh save is gone on from."""
    whole, standing, trees = trained(), [None] * 3, []

    def save():
        save_tree(tmp_path / "state", standing, {})
        trees.append(load_tree(tmp_path / "state", {}))

    assert weights(trained(standing, save)) == weights(whole)
    assert all(isinstance(place, Fit) for place in standing)
    assert {tuple(type(place) for place in tree) for tree in trees} == {
        (type(None), type(None), type(None)),
        (Training, type(None), type(None)),
        (Fit, type(None), type(None)),
        (Fit, Training, type(None)),
        (Fit, Fit, type(None)),
        (Fit, Fit, Training),
    }
    for tree in trees[::11]:
        assert weights(trained(tree)) == weights(whole)
        assert all(isinstance(place, Fit) for place in tree)


def test_a_budget_leaves_trainings_that_a_larger_one_goes_on_from():
    standing = [None] * 3
    some = trained(standing, max_passes=3)
    assert not any(fit.result.converged for fit in some)
    assert all(isinstance(place, Training) for place in standing)
    assert weights(trained(standing)) == weights(trained())


def test_what_is_finished_is_not_trained_again_unless_more_is_asked_for():
    standing = [None] * 3
    first = trained(standing, tol=1e-2)
    assert trained(standing, tol=1e-2) == first
    assert trained(standing, tol=0.1) == first
    tight = trained(standing, tol=1e-5)
    assert weights(tight) == weights(trained(tol=1e-5))
    assert all(fit.result.gap <= 1e-5 for fit in tight)


def test_the_time_is_shared_by_those_that_are_not_finished(monkeypatch):
    standing = [None] * 3
    trained(standing)
    standing[1] = None
    limits = []

    def noted(p, options, **more):
        limits.append(options.time_limit)
        return train(p, options, **more)

    monkeypatch.setattr("gapsvm.training.several.train", noted)
    trained(standing, lambda: None, time_limit=1000.0)
    assert limits == [pytest.approx(1000.0, abs=50.0)]
    limits.clear()
    trained([None] * 3, lambda: None, time_limit=1000.0)
    assert limits == pytest.approx([1000 / 3, 500, 1000], abs=50.0)


def test_one_fingerprint_for_several_problems():
    p = problem("hinge")
    ys = [targets(matrix(40, 5), "margin", seed) for seed in (7, 8)]
    of = fingerprint(p, ys)
    assert of["number of problems"] == 3
    assert fingerprint(p)["number of problems"] == 1
    assert of == fingerprint(p, [y.copy() for y in ys])
    assert of["labels"] not in (fingerprint(p)["labels"], fingerprint(p, ys[::-1])["labels"])


# -- trees -----------------------------------------------------------------------------------------


def a_tree():
    generator = np.random.default_rng(3)
    generator.integers(0, 10, dtype=np.uint32)  # half a word is left over
    return {
        "floats": [0.1, -0.0, math.inf, -math.inf, math.nan, 5e-324],
        "others": (1, 2**200, True, None, "späm", Status.STALLED, []),
        "arrays": {
            "f64": np.array([[0.1, np.nan], [np.inf, -0.0]]),
            "f32": np.float32([1.5]),
            "u64": np.array([2**64 - 1], dtype=np.uint64),
            "i32": np.zeros((0, 3), dtype=np.int32),
            "bool": np.array([True, False]),
            "scalar": np.array(7),
        },
        "generators": [generator, np.random.Generator(np.random.MT19937(5))],
        "trace": [Record(1.0, 2.0, 3.0, 4.0, 5.0, -1.0), Record(1, 2, 3, 4, 5, math.inf)],
        "": {"": {}},
    }


def test_trees_come_back(tmp_path):
    tree = a_tree()
    save_tree(tmp_path / "state", tree, {})
    back = load_tree(tmp_path / "state", {})
    assert same(back, tree)
    draws = [g.integers(0, 1000, 5).tolist() for g in tree["generators"]]
    assert [g.integers(0, 1000, 5).tolist() for g in back["generators"]] == draws


def test_numpy_scalars_become_python_numbers(tmp_path):
    save_tree(tmp_path / "state", [np.float64(0.1), np.int64(3), np.bool_(True)], {})
    assert same(load_tree(tmp_path / "state", {}), [0.1, 3, True])


@pytest.mark.parametrize(
    "thing", [object(), {1: 2}, {1, 2}, 1j, np.array(["a"]), np.array([None]), lambda: 0]
)
def test_what_a_checkpoint_cannot_hold(tmp_path, thing):
    with pytest.raises(TypeError):
        save_tree(tmp_path / "state", {"thing": thing}, {})
    assert list(tmp_path.iterdir()) == []


def test_only_listed_classes_are_made(tmp_path):
    path = tmp_path / "state"
    save_tree(path, [0.5], {})
    arrays, texts = read_tensors(path)
    for node in (
        {"class": "Popen", "fields": {"args": "true"}},
        {"class": "Record", "fields": {"passes": 1}},
        {"class": "Record", "fields": []},
        {"class": ["Record"], "fields": {}},
        {"generator": {"dict": {"bit_generator": "Generator"}}},
        {"generator": 5},
        {"array": "elsewhere"},
        {"array": []},
        {"status": "UNKNOWN"},
        {"float": "x"},
        {"tuple": 5},
        {"dict": 5},
        {"unknown": 5},
    ):
        state = json.dumps({"fingerprint": {}, "tree": node})
        write_tensors(path, arrays, {**texts, "state": state})
        with pytest.raises(CheckpointError, match="not a sound checkpoint"):
            load_tree(path, {})


# -- of one problem --------------------------------------------------------------------------------


def other(name, value):
    X = matrix(40, 5)
    y = targets(X, "margin")
    options = {"X": X, "y": y, "loss": problem("hinge").loss, "lam": 0.05}
    if name == "one value of X":
        X = X.copy()
        X[np.nonzero(X)[0][0], np.nonzero(X)[1][0]] = 7.0
        return LinearProblem(X, *list(options.values())[1:])
    if name == "one label":
        options["y"] = np.where(np.arange(40) == 5, -y, y)
    else:
        options[name] = value
    return LinearProblem(**options)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("lam", 0.06, "lam is 0.05 there and 0.06 here"),
        ("loss", problem("squared_hinge").loss, "loss is .* there"),
        ("bias", "free", "bias is none there and free here"),
        ("radius", 2.0, "radius is None there and 2.0 here"),
        ("sample_weight", np.linspace(1, 2, 40), "sample weights differs"),
        ("one label", None, "labels differs"),
        ("one value of X", None, "sample of X differs"),
    ],
)
def test_other_problems_are_refused(tmp_path, name, value, words):
    p = problem("hinge")
    result = solve(p, SDCA(), gap=0.0, max_passes=1)
    save_checkpoint(tmp_path / "state", result.checkpoint, fingerprint(p), SDCA())
    with pytest.raises(CheckpointError, match=f"another problem: {words}"):
        load_checkpoint(tmp_path / "state", fingerprint(other(name, value)))


def test_other_shapes_and_layouts_are_refused(tmp_path):
    p = problem("hinge")
    result = solve(p, SDCA(), gap=0.0, max_passes=1)
    save_checkpoint(tmp_path / "state", result.checkpoint, fingerprint(p), SDCA())
    for q, words in (
        (problem("hinge", n=41), "shape"),
        (problem("hinge", layout="csr"), "stored values"),
        (problem("hinge", dtype=np.float32), "sample of X"),
    ):
        with pytest.raises(CheckpointError, match=words):
            load_checkpoint(tmp_path / "state", fingerprint(q))


def test_the_same_data_in_other_clothes_has_the_same_fingerprint():
    p = problem("hinge", layout="csr")
    X = matrix(40, 5, layout="csr")
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    q = LinearProblem(X, p.y, p.loss, p.lam)
    assert fingerprint(q) == fingerprint(p)


def test_a_tree_is_not_a_checkpoint(tmp_path):
    save_tree(tmp_path / "state", [1], {})
    with pytest.raises(CheckpointError, match="something else"):
        load_checkpoint(tmp_path / "state", {})


# -- damage ----------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    p = problem("hinge", n=5, d=2)
    path = tmp_path / "state"
    save_checkpoint(
        path, solve(p, SDCA(), gap=0.0, max_passes=2).checkpoint, fingerprint(p), SDCA()
    )
    return path, fingerprint(p)


def test_truncated_files_are_refused(saved):
    path, of = saved
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="damaged or no checkpoint"):
            load_checkpoint(path, of)
    path.write_bytes(content + b"x")
    with pytest.raises(CheckpointError, match="goes on for 1 bytes"):
        load_checkpoint(path, of)


def test_flipped_bits_are_refused(saved):
    path, of = saved
    content = path.read_bytes()
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        with pytest.raises(CheckpointError):
            load_checkpoint(path, of)


def test_other_formats_and_newer_versions(saved):
    path, of = saved
    arrays, texts = read_tensors(path)
    for change, words in (
        ({"format": "gapsvm model"}, "holds 'gapsvm model'"),
        ({"format_version": "2"}, "newer gapsvm"),
        ({"state": "["}, "not a sound checkpoint"),
        ({"state": "[" * 100_000}, "not a sound checkpoint"),
        ({"state": "{}"}, "not a sound checkpoint"),
        ({"state": '{"fingerprint": 5, "tree": 5}'}, "not a sound checkpoint"),
    ):
        write_tensors(path, arrays, {**texts, **change})
        with pytest.raises(CheckpointError, match=words):
            load_checkpoint(path, of)


def test_a_full_disk_leaves_the_old_checkpoint(saved, monkeypatch):
    path, of = saved
    before, solver = load_checkpoint(path, of)

    def no_space(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match=str(path)):
        save_checkpoint(path, Checkpoint(copy.deepcopy(before.state)), of, solver)
    assert [file.name for file in path.parent.iterdir()] == ["state"]
    assert same(load_checkpoint(path, of)[0], before)


WRITER = """
import sys
import numpy as np
from gapsvm.training.checkpoint import save_tree

state = np.zeros(200_000)
k = 0
while True:
    k += 1
    state[:] = k
    save_tree(sys.argv[1], {"k": k, "state": state}, {"of": "this"})
    if k == 1:
        print("written", flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_a_kill_at_any_moment_leaves_a_usable_checkpoint(tmp_path):
    path = tmp_path / "state"
    delays = np.random.default_rng(0).uniform(0.0, 0.05, 8)
    for delay in delays:
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout.readline() == "written\n"
        time.sleep(delay)
        writer.kill()
        writer.communicate()
        tree = load_tree(path, {"of": "this"})
        assert np.all(tree["state"] == tree["k"])
