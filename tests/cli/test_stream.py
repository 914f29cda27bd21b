"""``gapsvm stream``: the same model as ``OnlineSVC``, from files of any size."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command, rows_and_scores, same_bits

import gapsvm
from gapsvm.models.files import read_model

BOUNDED = """
import sys
from gapsvm.backends import renting
from gapsvm.cli import main
renting.settle()  # both files by the same loops
try:
    main(sys.argv[1:])
finally:
    for line in open("/proc/self/status"):
        if line.startswith("VmData"):
            print(line.split()[1])
"""


@pytest.fixture
def streamed(run: Command, tmp_path: Path) -> Any:
    """Fits with ``stream --json`` and gives the summary and the model."""

    def fit(data: Path, *options: Any, code: int = 0) -> Any:
        path = tmp_path / "streamed.safetensors"
        outcome = run("stream", data, "--json", "--model", path, *options)
        assert outcome.code == code, outcome.err
        return json.loads(outcome.out), read_model(path)

    return fit


def test_the_table(run: Command, two_classes: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.safetensors"
    code, out, err = run("stream", two_classes, "--model", model)
    assert code == 0
    assert err == ""
    for word in ("240", "8 features", "first look at all labels", "error", "loss", "proximal"):
        assert word in out
    assert str(model) in out
    declared = run("stream", two_classes, "--classes", "1,-1").out
    assert "declared" in declared


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", ["two", "three"])
def test_the_model_is_that_of_the_estimator(
    size: int,
    threads: int,
    kind: str,
    streamed: Any,
    run: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the blocks are in which the file is read."""
    monkeypatch.setattr("gapsvm.io.svmlight._CHUNK_BYTES", 1000)
    X, scores = rows_and_scores()
    y = np.digitize(scores, [0.8] if kind == "two" else [-1.0, 1.5]) + 4
    path = tmp_path / "rows.svm"
    gapsvm.write_svmlight(path, X, y)
    method = f"auto(batch_size={size})"
    options = ("--method", method, "--threads", threads, "--dtype", "float64", "--lam", 0.01)
    said, model = streamed(path, *options)
    X, y, _ = gapsvm.read_svmlight(path)
    online = gapsvm.OnlineSVC(lam=0.01, batch_size=size)
    online.partial_fit(X, y, classes=np.unique(y))
    np.testing.assert_allclose(model.coef, online.coef_, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(model.intercept, online.intercept_, rtol=1e-12, atol=1e-14)
    assert said["progressive_error"] == online.progressive_error_
    assert said["progressive_loss"] == pytest.approx(online.progressive_loss_)
    assert said["sigma2"] == pytest.approx(online.sigma2_)
    assert said["rows"] == 240
    assert model.metadata["stream"]["rows"] == 240
    assert np.isnan(model.gap).all()
    predicted = run("predict", tmp_path / "streamed.safetensors", path, "--json")
    assert json.loads(predicted.out)["accuracy"] == pytest.approx(online.score(X, y))
    loaded = gapsvm.load_model(tmp_path / "streamed.safetensors")
    np.testing.assert_array_equal(loaded.predict(X), online.predict(X))
    assert loaded.converged_ is False


def test_rows_sorted_by_label_are_noted(run: Command, tmp_path: Path) -> None:
    lines = [f"{k // 200} 1:{k % 7}" for k in range(600)]
    for name, rows in (("sorted", lines), ("mixed", lines[::-7] + lines[::-11])):
        (tmp_path / name).write_text("\n".join(rows) + "\n")
        code, _, err = run("stream", tmp_path / name)
        assert code == 0
        assert ("200 rows in a row are of class 1" in err) == (name == "sorted")


def test_regression(streamed: Any, responses: Path) -> None:
    options = ("--loss", "huber", "--bias", "none", "--dtype", "float64")
    options += ("--method", "auto(average=none)")
    said, model = streamed(responses, *options)
    X, y, _ = gapsvm.read_svmlight(responses)
    online = gapsvm.OnlineSVR(loss="huber", average=None, fit_intercept=False).partial_fit(X, y)
    np.testing.assert_allclose(model.coef[0], online.coef_, rtol=1e-12, atol=1e-14)
    assert said["progressive_error"] == pytest.approx(online.progressive_error_)
    assert said["classes"] is None
    assert said["method"] == "zhang"


@pytest.mark.parametrize("size", [1, 7])
def test_a_folder_gives_the_same(
    size: int, run: Command, three_classes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gapsvm.cli.stream._VALUES", 50)
    folder, models = tmp_path / "rows.gsv", [tmp_path / "a", tmp_path / "b"]
    assert run("convert", three_classes, folder).code == 0
    for data, model in zip((three_classes, folder), models):
        options = ("--model", model, "--method", f"auto(batch_size={size})", "--max-passes", 2)
        assert run("stream", data, *options).code == 0
    assert same_bits(*models)


def test_a_damaged_folder_is_refused(
    run: Command, fails: Command, two_classes: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "rows.gsv"
    assert run("convert", two_classes, folder).code == 0
    indices = np.load(folder / "indices.npy", mmap_mode="r+")
    indices[100] = 77
    indices.flush()
    assert "indices.npy is damaged" in fails("stream", folder)
    assert "column index outside" in fails("stream", folder, "--no-verify")


def test_more_passes_go_on(streamed: Any, two_classes: Path) -> None:
    """The validation stays that of the first pass: later ones have seen the rows."""
    one, first = streamed(two_classes)
    said, second = streamed(two_classes, "--max-passes", 3)
    assert (said["passes"], said["rows"]) == (3, 720)
    assert said["progressive_error"] == one["progressive_error"]
    assert not np.array_equal(first.coef, second.coef)
    X, y, _ = gapsvm.read_svmlight(two_classes, dtype=np.float32)
    online = gapsvm.OnlineSVC()
    for _ in range(3):
        online.partial_fit(X, y, classes=[-1, 1])
    np.testing.assert_allclose(second.coef, online.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("average", ["none", "uniform", "tail", "decaying"])
@pytest.mark.parametrize("method", ["pegasos", "norma", "zhang", "adaptive", "proximal"])
def test_methods_and_averages(method: str, average: str, streamed: Any, two_classes: Path) -> None:
    said, model = streamed(two_classes, "--method", f"{method}(average={average})")
    assert said["method"] == model.method == method
    assert np.isfinite(model.coef).all()


def test_columns_grow_and_may_start_at_zero(
    streamed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gapsvm.io.svmlight._CHUNK_BYTES", 40)
    path = tmp_path / "grows.svm"
    lines = [f"{(-1) ** k} {k + 1}:1 {k + 3}:0.5\n" for k in range(60)]
    path.write_text("".join(lines))
    _, model = streamed(path)
    assert model.n_features == 62
    assert model.coef[0, 0] != 0
    assert streamed(path, "--n-features", 70)[1].n_features == 70
    path.write_text("".join([*lines, "1 0:1 5:2\n"]))
    assert streamed(path)[1].n_features == 63


def test_a_pipe(streamed: Any, fails: Command, two_classes: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "--classes" in fails("stream", pipe)
    assert "once" in fails("stream", pipe, "--classes", "1,-1", "--max-passes", 2)
    text = two_classes.read_bytes()
    writer = threading.Thread(target=lambda: pipe.write_bytes(text))
    writer.start()
    _, piped = streamed(pipe, "--classes", "1,-1")
    writer.join()
    _, read = streamed(two_classes)
    np.testing.assert_array_equal(piped.coef, read.coef)


def test_liblinear_format(run: Command, two_classes: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.liblinear"
    assert run("stream", two_classes, "--model", model).code == 0
    assert run("predict", model, two_classes, "--json").code == 0


def test_a_time_limit_ends_it(streamed: Any, two_classes: Path) -> None:
    said, model = streamed(two_classes, "--time-limit", 0, "--max-passes", 1000, code=2)
    assert said["ended_early"] is True
    assert said["rows"] == 240
    assert model.n_features == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--gap", "0.1"), "--gap"),
        (("--C", "1"), "--C"),
        (("--checkpoint", "x"), "--checkpoint"),
        (("--method", "sdca"), "subgradient method"),
        (("--method", "pegasos(rule=safe)"), "has no parameter 'rule'"),
        (("--method", "pegasos(sampler=fixed)"), "a stream takes no sampler, but batch_size"),
        (("--method", "auto(sampler=fixed)"), "a stream takes no sampler, but batch_size"),
        (("--method", "pegasos(average=random)"), "tail"),
        (("--method", "auto(batch_size=auto)"), "a whole number, not 'auto'"),
        (("--max-passes", "1.5"), "--max-passes"),
        (("--max-passes", "0"), "--max-passes"),
        (("--classes", "1"), "two different labels"),
        (("--classes", "1,x"), "numbers"),
        (("--classes", "1,2"), "labels that are not in classes [1.0, 2.0]: [-1.0]"),
        (("--loss", "huber", "--classes", "1,-1"), "regression"),
        (("--model", "/nowhere/model"), "no folder"),
        (("--n-features", "3"), "n_features=3"),
    ],
)
def test_what_makes_no_sense(
    options: tuple[str, ...], message: str, fails: Command, two_classes: Path
) -> None:
    assert message in fails("stream", two_classes, *options)


def test_other_faults(fails: Command, responses: Path, two_classes: Path, tmp_path: Path) -> None:
    assert "look like a regression" in fails("stream", responses)
    assert "--classes" in fails("fit", two_classes, "--classes", "1,-1")
    assert "No such file" in fails("stream", tmp_path / "none.svm")
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n")
    assert "is a table" in fails("stream", table)
    assert "named twice" in fails("stream", two_classes, "--model", two_classes)
    broken = tmp_path / "broken.svm"
    broken.write_text("1 1:1\n-1 1:x\n")
    assert "line 2" in fails("stream", broken, "--classes", "1,-1")


@pytest.mark.skipif(sys.platform != "linux", reason="memory limits as Linux has them")
def test_memory_does_not_grow_with_the_file(run: Command, tmp_path: Path) -> None:
    """What a small file takes and a quarter of a large one suffice for the large one."""
    X, scores = rows_and_scores(4000, 30)
    small, large = tmp_path / "small.svm", tmp_path / "large.svm"
    gapsvm.write_svmlight(small, X, np.where(scores > 0.5, 1, -1))
    text = small.read_bytes()
    copies = 128 * 10**6 // len(text) + 1
    with open(large, "wb") as file:
        for _ in range(copies):
            file.write(text)

    arguments = ["--json", "--classes", "1,-1", "--threads", "1", "--method", "auto(batch_size=16)"]

    def bounded(data: Path, limit: int | None) -> tuple[int, dict[str, Any]]:
        def restrict() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

        command = [sys.executable, "-c", BOUNDED, "stream", str(data), *arguments]
        done = subprocess.run(
            command, preexec_fn=restrict, capture_output=True, text=True, check=True
        )
        said, used = done.stdout.splitlines()
        return 1024 * int(used), json.loads(said)

    run("stream", small, *arguments)  # compiles, which takes memory
    used, _ = bounded(small, None)
    _, said = bounded(large, used + large.stat().st_size // 4)
    assert said["rows"] == 4000 * copies
