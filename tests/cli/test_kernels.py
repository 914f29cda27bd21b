"""``gapsvm fit --kernel``, what predicts with such models, and LIBSVM's files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import Command, rows_and_scores
from sklearn import svm

from gapsvm import SVC, SVR, load_model, read_libsvm, write_libsvm, write_svmlight
from gapsvm.models.files import read_any_model

X, SCORES = rows_and_scores(150, 5)
LABELS = {
    "two": np.where(SCORES > 0, 1, -1),
    "three": np.digitize(SCORES, [-1.0, 1.0]),
    "responses": np.round(SCORES, 3),
}
KERNEL = "rbf(gamma=0.2)"


@pytest.fixture(params=LABELS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def data(kind: str, tmp_path: Path) -> Path:
    write_svmlight(tmp_path / "data", X, LABELS[kind])
    return tmp_path / "data"


def loss_of(kind: str) -> tuple[str, ...]:
    return ("--loss", "epsilon_insensitive(epsilon=0.1)") if kind == "responses" else ()


def estimator(kind: str, **options: float) -> SVC | SVR:
    own = SVR(gamma=0.2, **options) if kind == "responses" else SVC(gamma=0.2, **options)
    return own.fit(X, LABELS[kind])


@pytest.mark.parametrize("suffix", [".safetensors", ".libsvm"])
def test_it_is_svc_and_svr(
    kind: str, data: Path, suffix: str, run: Command, tmp_path: Path
) -> None:
    """The same problem, the same model; either file predicts and loads as the estimator."""
    model, out = tmp_path / f"model{suffix}", tmp_path / "out"
    options = ("--kernel", KERNEL, "--C", "2", "--dtype", "float64", *loss_of(kind))
    fit = run("fit", data, *options, "--model", model)
    assert fit.code == 0
    assert "kernel\trbf(gamma=0.2)\tpositive definite" in fit.out
    assert ("3 pairs of classes" in fit.out) == (kind == "three")
    own = estimator(kind, C=2.0)
    done = run("predict", model, data, "-o", out)
    assert done.code == 0
    np.testing.assert_allclose(np.loadtxt(out), own.predict(X), rtol=1e-9)
    back = load_model(model)
    np.testing.assert_allclose(back.predict(X), own.predict(X), rtol=1e-9)
    assert type(back) is type(own)
    if kind != "responses":
        assert run("predict", model, data, "--scores", "-o", out).code == 0
        np.testing.assert_allclose(np.loadtxt(out), own.decision_function(X), rtol=1e-8, atol=1e-8)


def test_a_file_of_libsvm_is_written_and_read(run: Command, tmp_path: Path) -> None:
    """Its labels stand in the order of the data, and it knows no feature that it does not use."""
    y = LABELS["three"]
    theirs = svm.SVC(gamma=0.2, tol=1e-9).fit(X[:, :3], y)
    write_libsvm(tmp_path / "m", SVC(gamma=0.2).fit(X[:, :3], y).as_model())
    write_svmlight(tmp_path / "narrow", X[:, :2], y)
    write_svmlight(tmp_path / "wide", X, y)
    narrow = np.column_stack([X[:, :2], np.zeros(len(X))])
    for name, rows in (("narrow", narrow), ("wide", X)):
        assert run("predict", tmp_path / "m", tmp_path / name, "-o", tmp_path / "out").code == 0
        found = np.loadtxt(tmp_path / "out")
        widened = read_libsvm(tmp_path / "m", n_features=rows.shape[1])
        np.testing.assert_array_equal(found, widened.predict(rows))
        if name == "narrow":
            np.testing.assert_array_equal(found, theirs.predict(rows))


def test_a_checkpoint_goes_on(run: Command, tmp_path: Path) -> None:
    """Bit for bit, in blocks and for several pairs."""
    write_svmlight(tmp_path / "data", X, LABELS["three"])
    options = ("--kernel", KERNEL, "--method", "working-set(block_size=32, whole=0)", "--gap", 1e-6)
    whole, again, state = tmp_path / "whole", tmp_path / "again", tmp_path / "state"
    assert run("fit", tmp_path / "data", *options, "-m", whole).code == 0
    brief = run("fit", tmp_path / "data", *options, "--max-passes", 0.2, "--checkpoint", state)
    assert brief.code == 2
    resumed = run("fit", tmp_path / "data", *options, "--resume", state, "-m", again)
    assert resumed.code == 0
    one, other = read_any_model(whole), read_any_model(again)
    np.testing.assert_allclose(one.predict(X), other.predict(X))
    assert max(np.ravel(other.gap)) <= 1e-6
    assert (
        "another problem"
        in run(
            *(
                "fit",
                tmp_path / "data",
                "--kernel",
                "rbf(gamma=0.3)",
                *options[2:],
                "--resume",
                state,
            )
        ).err
    )


def test_json_trace_and_inspect(run: Command, tmp_path: Path) -> None:
    write_svmlight(tmp_path / "data", X, LABELS["two"])
    model, trace = tmp_path / "model", tmp_path / "trace"
    options = ("--kernel", "poly(degree=2, coef0=1)", "--loss", "logistic", "--trace", trace)
    said = run("fit", tmp_path / "data", *options, "-m", model, "--json")
    found = json.loads(said.out)
    assert found["converged"]
    assert found["method"] == ["kernel-newton"]
    assert found["gap_is_bound"] is True
    assert trace.read_text().startswith("problem,passes")
    facts = json.loads(run("inspect", model, "--json").out)
    assert facts["kernel"] == found["kernel"]
    assert facts["support_vectors"] == found["support_vectors"]
    assert facts["gap"] == found["gap"]
    assert "kernel machine" in run("inspect", model).out
    assert run("fit", tmp_path / "data", "-m", model).code == 0
    assert json.loads(run("inspect", model, "--json").out)["model"] == "linear"


def test_names_of_columns_are_kept(run: Command, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    lines = [",".join(map(str, [*row, label])) for row, label in zip(X, LABELS["two"])]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,c,d,e,y", *lines]) + "\n")
    model, text = tmp_path / "model", tmp_path / "m.libsvm"
    assert run("fit", tmp_path / "a.csv", "--kernel", "rbf", "-m", model).code == 0
    told = run("fit", tmp_path / "a.csv", "--kernel", "rbf", "-m", text)
    assert "LIBSVM's format holds no names" in told.err
    assert read_any_model(model).feature_names == list("abcde")
    (tmp_path / "b.csv").write_text("e,d,c,b,y,a\n1,2,3,4,1,5\n")
    (tmp_path / "c.csv").write_text("a,b,c,d,e,y\n5,4,3,2,1,1\n")
    one, other = (
        run("predict", model, tmp_path / name, "--scores").out for name in ("b.csv", "c.csv")
    )
    assert one == other


def test_kernels_are_listed(run: Command) -> None:
    assert "laplacian" in run("kernels").out
    assert "--kernel 'rbf(gamma=scale)'" in run("kernels", "rbf").out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--kernel rbff", "did you mean 'rbf'"),
        ("--kernel rbf(gama=1)", "'rbf' has no parameter 'gama'"),
        ("--kernel rbf --bias penalized", "a free intercept or none"),
        ("--kernel rbf --task rank", "--kernel is not for --task rank"),
        ("--kernel rbf --task joint", "--kernel is not for --task joint"),
        ("--kernel rbf --method sdca", "Methods for this problem: auto, "),
        ("--kernel rbf --method proximal(radius=2)", "radius"),
        ("--kernel rbf(gamma=-1)", "gamma must be finite and >= 0"),
        ("--kernel rbf --model m.liblinear", "LIBLINEAR's format holds no kernel machines"),
        ("--kernel laplacian --model m.libsvm", "LIBSVM has no kernel Laplacian"),
        ("--model m.libsvm", "LIBSVM's format is for kernel machines"),
    ],
)
def test_what_makes_no_sense_is_said(
    options: str,
    sentence: str,
    fails: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_svmlight(tmp_path / "data", X, LABELS["two"])
    monkeypatch.setattr("gapsvm.cli.fit.say", lambda *arguments, **options: None)
    assert sentence in str(fails("fit", tmp_path / "data", *options.split()))


def test_a_path_over_c(run: Command, tmp_path: Path) -> None:
    """The same models as one by one, with the error on further rows; responses as well."""
    write_svmlight(tmp_path / "data", X, LABELS["two"])
    options = ("--kernel", KERNEL, "--C", "0.1", "--C", "10", "--test", tmp_path / "data")
    said = run("path", tmp_path / "data", *options, "--json")
    assert said.code == 0
    for C, point in zip((0.1, 10.0), json.loads(said.out)["points"]):
        own = SVC(gamma=0.2, C=C).fit(X, LABELS["two"])
        assert point["C"] == pytest.approx(C)
        assert point["primal"] == pytest.approx(own.primal_objective_, rel=1e-9)
        assert point["test_error"] == pytest.approx(1 - own.score(X, LABELS["two"]))
        assert point["support_vectors"] == len(own.support_)
    header, *lines = run("path", tmp_path / "data", *options).out.splitlines()
    assert "support_vectors" in header
    assert len(lines) == 2
    write_svmlight(tmp_path / "responses", X, LABELS["responses"])
    tube = ("--loss", "epsilon_insensitive", "--n-lams", 3, "--kernel", "rbf")
    found = run("path", tmp_path / "responses", *tube, "--test", tmp_path / "responses", "--json")
    assert len(json.loads(found.out)["points"]) == 3
    assert json.loads(found.out)["points"][0]["test_mse"] > 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--C 1", "--C goes with --kernel"),
        ("--kernel rbf --C 1 --lam 1", "--lam and --C say the same"),
        ("--kernel rbf --C 1 --n-lams 3", "--n-lams is for λ that no --lam or --C names"),
        ("--kernel rbff", "did you mean 'rbf'"),
    ],
)
def test_paths_that_make_no_sense(
    options: str, sentence: str, fails: Command, tmp_path: Path
) -> None:
    write_svmlight(tmp_path / "data", X, LABELS["two"])
    assert sentence in str(fails("path", tmp_path / "data", *options.split()))
