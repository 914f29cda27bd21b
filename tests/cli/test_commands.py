"""``predict``, ``inspect``, ``path``, ``convert``, ``data``, ``demo`` and the help."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from commands import Command, same_bits

import gapsvm
from gapsvm.models.files import read_model

COMMANDS = ["fit", "predict", "inspect", "path", "convert", "data", "demo"]


@pytest.fixture
def model(run: Command, two_classes: Path, tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    assert run("fit", two_classes, "--model", path).code == 0
    return path


# -- predict ---------------------------------------------------------------------------------------


def test_predict_prints_labels_and_says_how_many_are_right(
    run: Command, model: Path, two_classes: Path
) -> None:
    code, out, err = run("predict", model, two_classes)
    X, y, _ = gapsvm.read_svmlight(two_classes)
    predicted = np.array([float(line) for line in out.splitlines()])
    assert code == 0
    assert np.array_equal(predicted, read_model(model).predict(X))
    accuracy = np.mean(predicted == y)
    assert f"accuracy {accuracy:.6g}" in err
    assert f"error {1 - accuracy:.6g}" in err


def test_scores_are_exact(run: Command, model: Path, two_classes: Path) -> None:
    _, out, _ = run("predict", model, two_classes, "--scores")
    X, _, _ = gapsvm.read_svmlight(two_classes)
    scores = np.array([float(line) for line in out.splitlines()])
    assert np.array_equal(scores, read_model(model).decision_function(X))


def test_scores_of_three_classes_are_three_to_a_line(
    run: Command, three_classes: Path, tmp_path: Path
) -> None:
    model = tmp_path / "three.safetensors"
    assert run("fit", three_classes, "--model", model).code == 0
    lines = run("predict", model, three_classes, "--scores").out.splitlines()
    assert {len(line.split()) for line in lines} == {3}
    labels = run("predict", model, three_classes).out.splitlines()
    assert {float(label) for label in labels} <= {1.0, 2.0, 3.0}


def test_output_goes_to_a_file(
    run: Command, model: Path, two_classes: Path, tmp_path: Path
) -> None:
    printed = run("predict", model, two_classes, "--threads", "2").out
    outcome = run("predict", model, two_classes, "--output", tmp_path / "labels.txt")
    assert outcome.out == ""
    assert "240 rows" in outcome.err
    assert (tmp_path / "labels.txt").read_text() == printed


def test_labels_are_written_as_files_have_them(
    run: Command, model: Path, two_classes: Path, tmp_path: Path
) -> None:
    assert set(run("predict", model, two_classes).out.split()) == {"1", "-1"}
    halves = tmp_path / "halves.svm"
    halves.write_text("0.5 1:1\n0.25 1:-1\n")
    assert run("fit", halves, "--model", tmp_path / "halves").code == 0
    assert run("predict", tmp_path / "halves", halves).out.split() == ["0.5", "0.25"]


def test_unknown_labels_are_no_errors(run: Command, model: Path, tmp_path: Path) -> None:
    """Rows to predict often have a label that means nothing."""
    unknown = tmp_path / "unknown.svm"
    unknown.write_text("0 1:1\n0 2:1\n")
    code, out, err = run("predict", model, unknown)
    assert (code, len(out.split()), err) == (0, 2, "2 rows: nothing to compare with\n")
    assert json.loads(run("predict", model, unknown, "--json").out) == {"rows": 2}


def test_predict_a_table(run: Command, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    model, first, last, bare = (tmp_path / name for name in ("m", "a.csv", "b.csv", "c.csv"))
    rows = [(k % 7, k % 3, "cat" if k % 7 < 3 else "dog") for k in range(40)]
    first.write_text("kind,a,b\n" + "".join(f"{c},{a},{b}\n" for a, b, c in rows))
    last.write_text("a,b,kind\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    bare.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b, _ in rows))
    assert run("fit", last, "--model", model).code == 0
    expected = run("predict", model, last)
    assert "accuracy 1" in expected.err
    for label in ("kind", "0", "-3"):
        assert run("predict", model, first, "--label", label) == expected
    code, out, err = run("predict", model, bare, "--no-label")
    assert (code, out, err) == (0, expected.out, "40 rows: nothing to compare with\n")


def test_predict_json(run: Command, model: Path, two_classes: Path, tmp_path: Path) -> None:
    output = tmp_path / "labels.txt"
    code, out, err = run("predict", model, two_classes, "--json", "--output", output)
    summary = json.loads(out)
    assert (code, err) == (0, "")
    assert summary["rows"] == 240
    assert summary["accuracy"] + summary["error"] == pytest.approx(1)
    assert len(output.read_text().splitlines()) == 240


def test_predict_with_a_liblinear_model(
    run: Command, model: Path, two_classes: Path, tmp_path: Path
) -> None:
    text = tmp_path / "model.liblinear"
    assert run("fit", two_classes, "--model", text).code == 0
    ours, theirs = run("predict", model, two_classes), run("predict", text, two_classes)
    assert list(map(float, ours.out.split())) == list(map(float, theirs.out.split()))


def test_predict_a_regression(run: Command, responses: Path, tmp_path: Path) -> None:
    model = tmp_path / "svr.safetensors"
    assert run("fit", responses, "--loss", "huber", "--model", model).code == 0
    code, out, err = run("predict", model, responses)
    _, y, _ = gapsvm.read_svmlight(responses)
    miss = np.array(out.split(), dtype=float) - y
    assert code == 0
    assert f"mse {np.mean(miss**2):.6g}" in err
    assert f"mae {np.mean(np.abs(miss)):.6g}" in err
    summary = json.loads(run("predict", model, responses, "--json").out)
    assert summary["mse"] == pytest.approx(np.mean(miss**2))


def test_predict_rows_that_use_fewer_features(run: Command, model: Path, tmp_path: Path) -> None:
    (tmp_path / "narrow.svm").write_text("1 1:1\n")
    assert run("predict", model, tmp_path / "narrow.svm").code == 0


# -- where it goes ---------------------------------------------------------------------------------


def test_links_are_followed(run: Command, model: Path, two_classes: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for name in ("model", "trace", "labels"):
        (tmp_path / name).symlink_to(tmp_path / "elsewhere" / name)
    places = ("--model", tmp_path / "model", "--trace", tmp_path / "trace")
    assert run("fit", two_classes, *places).code == 0
    assert run("predict", model, two_classes, "-o", tmp_path / "labels").code == 0
    for name in ("model", "trace", "labels"):
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "elsewhere" / name).stat().st_size > 100


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
@pytest.mark.parametrize("where", ["pipe", "file", "end of a file"])
def test_standard_output_by_name(
    where: str, run: Command, model: Path, two_classes: Path, tmp_path: Path
) -> None:
    """It is written to, not replaced, and neither cut nor written over."""
    expected = run("predict", model, two_classes).out
    program = "import sys; from gapsvm.cli import main; main(sys.argv[1:])"

    def output(*arguments: object) -> str:
        command = [sys.executable, "-c", program, *map(str, arguments)]
        if where == "pipe":
            ended = subprocess.run(command, stdout=subprocess.PIPE, timeout=120, check=True)
            return ended.stdout.decode()
        file = tmp_path / "output"
        file.write_text("old\n")
        with open(file, "ab" if where == "end of a file" else "wb") as stdout:
            subprocess.run(command, stdout=stdout, timeout=120, check=True)
        return file.read_text()

    before = "old\n" if where == "end of a file" else ""
    assert output("predict", model, two_classes, "-o", "/dev/stdout") == before + expected
    said = output("fit", two_classes, "--trace", "/dev/stdout")
    assert said.startswith(before + str(two_classes))
    assert said.index("problem,passes") < said.index("primal\t")
    assert Path("/dev/stdout").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe(run: Command, model: Path, two_classes: Path, tmp_path: Path) -> None:
    expected = run("predict", model, two_classes).out
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text)
        assert run("predict", model, two_classes, "--output", pipe).code == 0
        assert read.result(timeout=60) == expected


# -- inspect ---------------------------------------------------------------------------------------


def test_inspect(run: Command, shown: Command, two_classes: Path) -> None:
    X, y, _ = gapsvm.read_svmlight(two_classes)
    code, out, err = shown("inspect", two_classes)
    assert (code, err) == (0, "")
    for word in ("rows", "features", "density", "norm max", "labels", f"-1: {np.sum(y < 0)}"):
        assert word in out
    facts = json.loads(run("inspect", two_classes, "--json", "--threads", "2").out)
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    assert (facts["rows"], facts["features"], facts["stored_values"]) == (*X.shape, X.nnz)
    assert facts["density"] == pytest.approx(X.nnz / 1920)
    assert facts["norm_max"] == pytest.approx(norms.max())
    assert facts["norm_mean"] == pytest.approx(norms.mean())
    assert facts["values_per_row_max"] == np.diff(X.indptr).max()
    assert facts["labels"] == {"-1": int(np.sum(y < 0)), "1": int(np.sum(y > 0))}


def test_inspect_a_table(run: Command, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    (tmp_path / "table.csv").write_text("answer,a,b\n1,0.5,2\n0,1.5,0\n0,0,0\n")
    code, out, _ = run("inspect", tmp_path / "table.csv", "--label", "answer", "--json")
    facts = json.loads(out)
    assert code == 0
    assert (facts["rows"], facts["features"], facts["empty_rows"]) == (3, 2, 1)
    assert facts["labels"] == {"0": 2, "1": 1}


def test_labels_in_words(run: Command, shown: Command, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    table, model = tmp_path / "table.csv", tmp_path / "model"
    lines = ["a,b,kind", *(f"{k % 7},{k % 3},{'cat' if k % 7 < 3 else 'dog'}" for k in range(40))]
    table.write_text("\n".join(lines) + "\n")
    assert "cat: 18" in shown("inspect", table).out
    assert run("fit", table, "--model", model).code == 0
    code, out, err = run("predict", model, table)
    assert code == 0
    assert set(out.split()) == {"cat", "dog"}
    assert "accuracy 1" in err


# -- path ------------------------------------------------------------------------------------------


def test_path_at_given_lams(shown: Command, two_classes: Path) -> None:
    lams = ("--lam", "1", "--lam", "0.1", "--lam", "0.01")
    code, out, err = shown("path", two_classes, *lams)
    header, *lines = out.splitlines()
    assert (code, err) == (0, "")
    assert header.split() == ["λ", "primal", "dual", "gap", "‖w‖", "passes", "method"]
    assert [float(line.split()[0]) for line in lines] == [1, 0.1, 0.01]
    for line in lines:
        _, primal, dual, gap, *_ = line.split()
        assert float(primal) - float(dual) <= float(gap) + 1e-8
    X, y, _ = gapsvm.read_svmlight(two_classes)
    exact = gapsvm.LinearSVC(lam=0.01, tol=1e-9).fit(X, y).primal_objective_
    assert float(lines[-1].split()[1]) == pytest.approx(exact, abs=1e-3)


def test_path_options(run: Command, shown: Command, two_classes: Path, responses: Path) -> None:
    assert len(run("path", two_classes, "--n-lams", "4").out.splitlines()) == 5
    header, *lines = shown(
        "path", two_classes, "--test", two_classes, "--lam", "0.1"
    ).out.splitlines()
    assert header.split()[-2:] == ["test", "error"]
    assert 0 < float(lines[0].split()[-1]) < 0.5
    free = run("path", two_classes, "--lam", "0.1").out.splitlines()[1].split()
    none = run("path", two_classes, "--lam", "0.1", "--no-intercept").out.splitlines()[1].split()
    assert float(free[1]) < float(none[1])
    other = run("path", two_classes, "--lam", "0.1", "--loss", "logistic")
    assert other.code == 0
    assert other.out.splitlines()[1].split()[1] != free[1]
    regression = ("--loss", "epsilon_insensitive", "--lam", "0.1", "--test", responses)
    assert run("path", responses, *regression).code == 0


def test_path_json(run: Command, shown: Command, two_classes: Path, responses: Path) -> None:
    lams = ("--lam", "1", "--lam", "0.1", "--test", two_classes)
    code, out, err = run("path", two_classes, *lams, "--json")
    found = json.loads(out)
    assert (code, err, found["converged"]) == (0, "", True)
    assert [point["lam"] for point in found["points"]] == [1, 0.1]
    _, *lines = shown("path", two_classes, *lams).out.splitlines()
    for point, line in zip(found["points"], lines):
        lam, primal, dual, _, norm, _, method, error = line.split()
        assert point["gap"] == pytest.approx(point["primal"] - point["dual"])
        assert f"{point['primal']:.8f} {point['dual']:.8f}" == f"{primal} {dual}"
        assert (float(lam), method) == (point["lam"], point["method"])
        assert f"{point['norm']:.4g} {point['test_error']:.4g}" == f"{norm} {error}"
        assert point["converged"] is True
    short = ("--loss", "huber", "--lam", "1", "--test", responses, "--json")
    assert json.loads(run("path", responses, *short).out)["points"][0]["test_mse"] > 0


def test_two_numbers_are_no_classes(run: Command, tmp_path: Path) -> None:
    """A regression whose responses are two numbers has a mean squared error."""
    data = tmp_path / "data.svm"
    data.write_text("0 1:1\n1 1:2\n0 1:1.5\n1 1:1\n")
    options = ("--loss", "half_squared", "--lam", "1e-6", "--test", data, "--json")
    (point,) = json.loads(run("path", data, *options).out)["points"]
    assert 0 < point["test_mse"] < 0.25


@pytest.mark.parametrize("label", ["kind", "0"])
def test_path_of_a_table(label: str, run: Command, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    table = tmp_path / "table.csv"
    lines = (f"{'cat' if k % 7 < 3 else 'dog'},{k % 7},{k % 3}" for k in range(40))
    table.write_text("kind,a,b\n" + "\n".join(lines) + "\n")
    options = ("--lam", "0.001", "--label", label, "--test", table, "--json")
    code, out, _ = run("path", table, *options)
    assert code == 0
    assert json.loads(out)["points"][0]["test_error"] == 0


def test_path_says_when_a_point_is_not_certified(
    run: Command, two_classes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = functools.partial(gapsvm.svm_path, method="sdca", max_iter=1)
    monkeypatch.setattr("gapsvm.cli.path.svm_path", short)
    assert run("path", two_classes, "--gap", "1e-9", "--lam", "1e-3").code == 2


# -- convert ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_converted_folder_gives_the_same_model(
    dtype: str, run: Command, two_classes: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "two.gsv"
    code, out, err = run("convert", two_classes, folder, "--dtype", dtype, "--threads", "2")
    assert (code, out) == (0, "")
    assert "240 rows × 8 features" in err
    assert dtype in err
    assert (folder / "header.json").is_file()
    assert np.load(folder / "data.npy").dtype == dtype
    assert run("fit", two_classes, "--dtype", dtype, "--model", tmp_path / "a").code == 0
    assert run("fit", folder, "--model", tmp_path / "b").code == 0
    assert same_bits(tmp_path / "a", tmp_path / "b")
    text, mapped = (run("predict", tmp_path / "a", data).out for data in (two_classes, folder))
    assert text == mapped
    assert json.loads(run("inspect", folder, "--json").out)["rows"] == 240
    assert run("path", folder, "--lam", "0.1").code == 0


# -- data and demo ---------------------------------------------------------------------------------


def test_data_lists_all_sets(run: Command) -> None:
    code, out, err = run("data")
    assert (code, err) == (0, "")
    for name in gapsvm.datasets.names():
        assert name in out


def test_data_checks_the_set_that_ships(run: Command) -> None:
    code, out, err = run("data", "a9a")
    assert (code, err) == (0, "")
    assert out.startswith("a9a: 32,561 × 123; checksum right")


def test_demo(run: Command, tmp_path: Path) -> None:
    plot = tmp_path / "plot.png"
    code, out, _ = run("demo", "--gap", "1e-2", "--lam", "1e-3", "--plot", plot)
    assert code == 0
    for word in ("32,561 rows", "primal", "dual", "gap", "test error", str(plot)):
        assert word in out
    assert plot.read_bytes().startswith(b"\x89PNG")


# -- help ------------------------------------------------------------------------------------------


def test_help(run: Command) -> None:
    for arguments in ((), ("--help",)):
        code, out, err = run(*arguments)
        assert (code, err) == (0, "")
        assert all(command in out for command in COMMANDS)
        assert "Exit codes" in out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command(command: str, run: Command) -> None:
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    assert f"gapsvm {command}" in out
    assert "Traceback" not in out


def test_every_option_of_fit_is_explained(run: Command) -> None:
    out = run("fit", "--help").out
    for option in ("--gap", "--lam", "--C", "--loss", "--method", "--bias", "--weights", "--seed"):
        assert option in out
    for option in ("--threads", "--time-limit", "--trace", "--checkpoint", "--resume", "--json"):
        assert option in out


def test_version_and_short_options(run: Command) -> None:
    assert run("--version") == run("-V") == (0, f"gapsvm {gapsvm.__version__}\n", "")
    assert run("-h") == run("--help")
    assert run("fit", "-h") == run("fit", "--help")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("fit", "x", "--lamm", "1"), "--lam) (see gapsvm fit --help)"),
        (("predict", "x"), "(see gapsvm predict --help)"),
        (("fitt", "x"), "Did you mean 'fit'? (see gapsvm --help)"),
    ],
)
def test_mistakes_lead_to_the_help_of_their_command(
    arguments: tuple[str, ...], hint: str, fails: Command
) -> None:
    assert str(fails(*arguments)).endswith(hint)


@pytest.mark.parametrize(
    ("words", "found"), [("gapsvm pre", "predict"), ("gapsvm fit --los", "--loss")]
)
def test_shells_complete_commands_and_options(words: str, found: str) -> None:
    place = str(words.count(" "))
    asked = {"_GAPSVM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place}
    done = subprocess.run(
        [Path(sys.executable).with_name("gapsvm")],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.split() == [found]


def test_fit_imports_nothing_heavy(two_classes: Path, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from gapsvm.cli import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0, end.code\n"
        "heavy = {'sklearn', 'torch', 'dask', 'pandas', 'polars', 'matplotlib'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
    )
    options = ("fit", two_classes, "--model", tmp_path / "model", "--trace", tmp_path / "trace")
    command = [sys.executable, "-c", program, *map(str, options)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr


def test_python_minus_m():
    """The command line without its script on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "gapsvm", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("gapsvm ")
