"""``gapsvm fit``: every option does what it says."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from commands import Command, same_bits

import gapsvm
from gapsvm.models.files import read_model
from gapsvm.models.linear import LinearModel

MARGIN = ["hinge", "squared_hinge", "smoothed_hinge", "logistic"]
ROUNDING = 1e-12
RESPONSE = [
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "absolute",
    "huber",
    "half_squared",
]


@pytest.fixture
def fitted(run: Command, tmp_path: Path) -> Any:
    """Fits with ``--json`` and gives the summary and the model."""

    def fit(data: Path, *options: Any, code: int = 0) -> tuple[dict[str, Any], LinearModel]:
        path = tmp_path / "fitted.safetensors"
        outcome = run("fit", data, "--json", "--model", path, *options)
        assert outcome.code == code, outcome.err
        return json.loads(outcome.out), read_model(path)

    return fit


def test_the_table_says_what_was_proved(run: Command, two_classes: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.safetensors"
    code, out, err = run("fit", two_classes, "--model", model)
    assert code == 0
    assert err == ""
    assert "240 rows × 8 features" in out
    for word in ("primal", "dual", "gap", "method", "passes", "time", "of P(0)", str(model)):
        assert word in out
    assert model.is_file()


def test_json_is_one_object_and_the_only_output(run: Command, two_classes: Path) -> None:
    code, out, err = run("fit", two_classes, "--json")
    summary = json.loads(out)
    assert code == 0
    assert "240 rows" in err
    assert summary["converged"] is True
    assert summary["status"] == "CONVERGED"
    assert summary["model"] is None
    assert summary["gap"] == pytest.approx(summary["primal"][0] - summary["dual"][0])
    assert summary["lam"] == pytest.approx(1 / 240)
    assert summary.keys() >= {"method", "passes", "read_seconds", "fit_seconds"}


@pytest.mark.parametrize("loss", MARGIN)
def test_classification_equals_the_estimator(loss: str, fitted: Any, two_classes: Path) -> None:
    options = ("--loss", loss, "--gap", "1e-7", "--dtype", "float64", "--C", "0.5")
    summary, model = fitted(two_classes, *options)
    X, y, _ = gapsvm.read_svmlight(two_classes)
    clf = gapsvm.LinearSVC(loss=loss, C=0.5, tol=1e-7).fit(X, y)
    difference = summary["primal"][0] - clf.primal_objective_
    assert -clf.dual_gap_ - ROUNDING <= difference <= summary["gap"] + ROUNDING
    assert model.loss == loss
    assert model.bias == "free"
    assert np.array_equal(model.predict(X), clf.predict(X))


@pytest.mark.parametrize("loss", RESPONSE)
def test_regression_equals_the_estimator(loss: str, fitted: Any, responses: Path) -> None:
    loss += "(epsilon=0.2)" if "epsilon" in loss else ""
    options = ("--loss", loss, "--gap", "1e-7", "--dtype", "float64")
    summary, model = fitted(responses, *options)
    X, y, _ = gapsvm.read_svmlight(responses)
    svr = gapsvm.LinearSVR(loss=loss, tol=1e-7).fit(X, y)
    difference = summary["primal"][0] - svr.primal_objective_
    assert -svr.dual_gap_ - ROUNDING <= difference <= summary["gap"] + ROUNDING
    assert model.classes is None


def test_penalised_intercept_has_the_objective_of_scikit_learn(
    fitted: Any, two_classes: Path
) -> None:
    from sklearn.svm import LinearSVC

    options = ("--loss", "squared_hinge", "--bias", "penalized", "--dtype", "float64")
    summary, _ = fitted(two_classes, *options, "--gap", "1e-9")
    X, y, _ = gapsvm.read_svmlight(two_classes)
    theirs = LinearSVC(tol=1e-10, max_iter=100_000, random_state=0).fit(X, y)
    slack = np.maximum(0, 1 - y * theirs.decision_function(X))
    norm = np.sum(theirs.coef_**2) + theirs.intercept_[0] ** 2
    assert summary["primal"][0] == pytest.approx(np.mean(slack**2) + norm / 480, rel=1e-6)


def test_gap_bounds_what_is_left(fitted: Any, two_classes: Path) -> None:
    exact, _ = fitted(two_classes, "--gap", "1e-10", "--dtype", "float64")
    for gap in (1e-1, 1e-2, 1e-4):
        options = ("--gap", gap, "--method", "sdca", "--dtype", "float64")
        summary, _ = fitted(two_classes, *options)
        assert summary["gap"] <= gap
        assert summary["primal"][0] - exact["dual"][0] <= summary["gap"] + 1e-9


def test_lam_is_one_over_C_times_rows(fitted: Any, two_classes: Path, tmp_path: Path) -> None:
    by_C, one = fitted(two_classes, "--C", "4")
    by_lam, other = fitted(two_classes, "--lam", repr(1 / (4 * 240)))
    assert by_C["lam"] == by_lam["lam"]
    assert np.array_equal(one.coef, other.coef)
    stronger, _ = fitted(two_classes, "--lam", "1")
    assert stronger["lam"] == 1.0


@pytest.mark.parametrize("method", ["sdca", "interior", "pegasos"])
def test_method(method: str, fitted: Any, two_classes: Path) -> None:
    summary, model = fitted(two_classes, "--method", method, "--gap", "0.05", "--lam", "0.05")
    assert summary["method"] == [method]
    assert model.method == method


def test_bias(fitted: Any, two_classes: Path) -> None:
    tight = ("--gap", "1e-8", "--dtype", "float64")
    free, _ = fitted(two_classes, "--bias", "free", *tight)
    penalized, _ = fitted(two_classes, "--bias", "penalized", *tight)
    none, without = fitted(two_classes, "--bias", "none", *tight)
    assert without.intercept[0] == 0.0
    assert free["primal"][0] < penalized["primal"][0] < none["primal"][0]


def test_a_large_bias_scale_frees_the_intercept(fitted: Any, two_classes: Path) -> None:
    tight = ("--gap", "1e-8", "--dtype", "float64")
    free, _ = fitted(two_classes, *tight)
    small, _ = fitted(two_classes, "--bias", "penalized(scale=0.1)", *tight)
    large, _ = fitted(two_classes, "--bias", "penalized(scale=100)", *tight)
    assert small["primal"][0] > large["primal"][0]
    assert large["primal"][0] == pytest.approx(free["primal"][0], rel=1e-4)


def test_a_weight_of_two_is_a_row_twice(fitted: Any, two_classes: Path, tmp_path: Path) -> None:
    X, y, _ = gapsvm.read_svmlight(two_classes)
    weights = np.arange(240) % 3
    (tmp_path / "weights.txt").write_text("\n".join(map(str, weights)) + "\n")
    repeated = tmp_path / "repeated.svm"
    often = np.repeat(np.arange(240), weights)
    gapsvm.write_svmlight(repeated, X[often], y[often])
    tight = ("--gap", "1e-9", "--dtype", "float64")
    weighted, one = fitted(two_classes, "--weights", tmp_path / "weights.txt", *tight)
    doubled, other = fitted(repeated, *tight)
    assert weighted["lam"] == doubled["lam"]
    assert weighted["primal"][0] == pytest.approx(doubled["primal"][0], abs=1e-8)
    assert one.coef == pytest.approx(other.coef, abs=1e-3)


def test_balanced_equals_the_estimator(fitted: Any, two_classes: Path) -> None:
    summary, _ = fitted(two_classes, "--weights", "balanced", "--gap", "1e-8", "--dtype", "float64")
    X, y, _ = gapsvm.read_svmlight(two_classes)
    clf = gapsvm.LinearSVC(class_weight="balanced", tol=1e-8).fit(X, y)
    assert summary["primal"][0] == pytest.approx(clf.primal_objective_, abs=1e-7)


def test_same_seed_same_model(run: Command, two_classes: Path, tmp_path: Path) -> None:
    def fit(name: str, seed: int) -> Path:
        path = tmp_path / name
        options = ("--method", "sdca", "--gap", "1e-2", "--seed", seed, "--model", path)
        assert run("fit", two_classes, *options).code == 0
        return path

    first = fit("a", 3)
    assert same_bits(first, fit("b", 3))
    assert not same_bits(first, fit("c", 4))


def test_threads_do_not_change_the_model(run: Command, three_classes: Path, tmp_path: Path) -> None:
    for threads in (1, 2):
        options = ("--threads", threads, "--model", tmp_path / f"{threads}")
        assert run("fit", three_classes, *options).code == 0
    assert same_bits(tmp_path / "1", tmp_path / "2")


@pytest.mark.parametrize(
    ("budget", "status"), [(("--max-passes", 2), "MAX_PASSES"), (("--time-limit", 0), "TIME_LIMIT")]
)
def test_a_budget_that_ends_first_is_exit_code_2(
    budget: tuple[Any, ...], status: str, fitted: Any, two_classes: Path
) -> None:
    options = ("--method", "sdca", "--gap", "1e-12", *budget)
    summary, model = fitted(two_classes, *options, code=2)
    assert summary["converged"] is False
    assert summary["status"] == model.status == status
    assert summary["gap"] > 1e-12
    assert max(summary["passes"]) <= 2
    assert model.gap[0] == summary["gap"]  # the model is usable, and says how good it is


def test_trace_has_a_line_for_every_evaluation(
    run: Command, three_classes: Path, tmp_path: Path
) -> None:
    path = tmp_path / "trace.csv"
    options = ("--method", "sdca", "--gap", "1e-2", "--lam", "0.05")
    assert run("fit", three_classes, "--trace", path, *options).code == 0
    with open(path, newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == [
        "problem",
        "passes",
        "seconds",
        "evaluation_seconds",
        "primal",
        "dual",
        "gap",
        "target",
    ]
    assert {line["problem"] for line in lines} == {"0", "1", "2"}
    for line in lines:
        assert float(line["gap"]) == pytest.approx(float(line["primal"]) - float(line["dual"]))
    last = [line for line in lines if line["problem"] == "2"][-1]
    assert float(last["gap"]) <= float(last["target"])


def test_dtype_is_that_of_the_values_in_memory(
    run: Command, fails: Command, tmp_path: Path
) -> None:
    path = tmp_path / "large.svm"
    path.write_text("1 1:1e39\n-1 1:-1\n")  # too large for float32
    assert "line 1" in fails("fit", path)
    assert run("fit", path, "--dtype", "float64").code in (0, 2)


def test_n_features_makes_room_for_columns_not_seen(fitted: Any, two_classes: Path) -> None:
    _, model = fitted(two_classes, "--n-features", "20")
    assert model.n_features == 20
    assert not model.coef[0, 8:].any()


def test_three_classes(run: Command, fitted: Any, three_classes: Path) -> None:
    summary, model = fitted(three_classes, "--gap", "1e-7", "--dtype", "float64")
    assert len(summary["primal"]) == len(summary["passes"]) == 3
    assert model.classes.tolist() == [1, 2, 3]
    X, y, _ = gapsvm.read_svmlight(three_classes)
    clf = gapsvm.LinearSVC(tol=1e-7).fit(X, y)
    assert summary["primal"] == pytest.approx(clf.primal_objective_, abs=1e-6)
    assert np.mean(model.predict(X) == clf.predict(X)) > 0.99
    assert "3 one-vs-rest problems" in run("fit", three_classes).out


def test_a_share_of_P0_is_shown_for_three_classes_too(shown: Command, three_classes: Path) -> None:
    """P(0) of one class against the rest is below 1 where the classes are of unequal size."""
    _, y, _ = gapsvm.read_svmlight(three_classes)
    options = ("--method", "sdca", "--gap", "1e-2")
    out = shown("fit", three_classes, *options).out
    gap = float(out.split("gap ")[1].split()[0])
    share = float(out.split(" of P(0)")[0].split()[-1])
    p0 = [2 * min(np.mean(y == k), np.mean(y != k)) for k in (1, 2, 3)]
    assert min(abs(share / (gap / p) - 1) for p in p0) < 0.06


def test_liblinear_format_by_the_name(run: Command, two_classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.liblinear"
    assert run("fit", two_classes, "--model", path).code == 0
    assert path.read_text().startswith("solver_type L2R_L1LOSS_SVC_DUAL")
    ours = tmp_path / "model.safetensors"
    assert run("fit", two_classes, "--model", ours).code == 0
    X, _, _ = gapsvm.read_svmlight(two_classes)
    assert np.array_equal(read_model(path).predict(X), read_model(ours).predict(X))


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz"])
def test_compressed_text_is_the_same_data(
    ending: str, run: Command, two_classes: Path, tmp_path: Path
) -> None:
    X, y, _ = gapsvm.read_svmlight(two_classes)
    packed = tmp_path / f"two.svm.{ending}"
    gapsvm.write_svmlight(packed, X, y)
    assert run("fit", two_classes, "--model", tmp_path / "a").code == 0
    assert run("fit", packed, "--model", tmp_path / "b").code == 0
    assert same_bits(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize("label", ["answer", "1", None])
def test_label_column_of_a_table(
    label: str | None, fitted: Any, two_classes: Path, tmp_path: Path
) -> None:
    pytest.importorskip("polars")
    X, y, _ = gapsvm.read_svmlight(two_classes)
    columns = [[f"x{k}", *X.toarray()[:, k].tolist()] for k in range(8)]
    columns.insert(8 if label is None else 1, ["answer", *y.astype(int).tolist()])
    path = tmp_path / "two.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(zip(*columns))
    tight = ("--gap", "1e-8", "--dtype", "float64")
    table, model = fitted(path, *(() if label is None else ("--label", label)), *tight)
    text, same = fitted(two_classes, *tight)
    assert table["primal"][0] == pytest.approx(text["primal"][0], abs=1e-7)
    assert model.n_features == 8
    assert sp.issparse(X)
    assert np.array_equal(model.predict(X), same.predict(X))


def test_file_names_are_shown_as_they_are(run: Command, two_classes: Path) -> None:
    """Brackets are markup in some terminal libraries."""
    odd = two_classes.with_name("[bold]two.svm")
    odd.write_bytes(two_classes.read_bytes())
    assert "[bold]two.svm" in run("fit", odd).out
