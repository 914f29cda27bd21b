"""Sequences on the command line: CoNLL files and templates in, labels and F1 out."""

from __future__ import annotations

import json

import pytest

from gapsvm import ChainSVC, Template, read_conll
from gapsvm.io.conll import split_labels

TRAIN = "He PRP B-NP\nreckons VBZ B-VP\nthe DT B-NP\ndeficit NN I-NP\n\nUp RB O\nhe PRP B-NP\n" * 4
TEMPLATE = "# words\nU00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[-1,1]/%x[0,1]\n\nB\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "train").write_text(TRAIN.replace("B-NP\nHe", "B-NP\n\nHe"))
    (tmp_path / "template").write_text(TEMPLATE)
    (tmp_path / "test").write_text("She PRP B-NP\nreckons VBZ B-VP\n\nthe DT B-NP\nhe PRP B-NP\n")
    return tmp_path


def fit(run, files, *more, also=""):
    task = f"chain(template='{files / 'template'}'{also})"
    options = "--task", task, "--model", files / "model"
    return run("fit", files / "train", *options, *more)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_fit_and_predict(run, files, loss):
    told = fit(run, files, "--loss", loss, "--C", 10)
    assert told.code == 0
    assert "8 sequences, 24 tokens × 17 features, 4 labels" in told.out
    assert "no model has a lower objective" in told.out
    found = run("predict", files / "model", files / "test", "--output", files / "out")
    assert found.code == 0
    assert "2 sequences, 4 tokens: accuracy 0.75, precision" in found.err
    assert "f1 0.571429" in found.err
    lines = (files / "out").read_text().split("\n")
    assert lines[:3] == ["She PRP B-NP B-NP", "reckons VBZ B-VP B-VP", ""]


def test_inspect_a_model(run, files):
    assert fit(run, files).code == 0
    facts = json.loads(run("inspect", files / "model", "--json").out)
    assert facts["model"] == "chain"
    assert facts["classes"] == ["B-NP", "B-VP", "I-NP", "O"]
    assert facts["transitions"] == 16
    assert facts["gap"] == pytest.approx(facts["primal"] - facts["dual"])
    assert "chain" in run("inspect", files / "model").out


def test_without_labels_and_as_json(run, files):
    told = fit(run, files, "--json", "--lam", 0.1)
    assert json.loads(told.out)["converged"]
    (files / "test").write_text("he PRP\nreckons VBZ\n")
    assert (
        run("predict", files / "model", files / "test").out == "he PRP B-NP\nreckons VBZ B-VP\n\n"
    )
    found = json.loads(run("predict", files / "model", files / "test", "--json").out)
    assert found == {"sequences": 1, "tokens": 2}


def test_methods_by_name(run, files):
    told = fit(run, files, "--method", "frank-wolfe(sampling=gap)", "--json")
    assert json.loads(told.out)["method"] == "frank-wolfe"


def test_a_budget_that_ends_first(run, files):
    told = fit(run, files, "--gap", 0, "--max-passes", 1)
    assert told.code == 2
    assert (files / "model").exists()


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_fit_goes_on_from_a_checkpoint(run, files, loss):
    """In two parts or in one: the same numbers; both write what they saw."""
    options = "--loss", loss, "--lam", 0.01, "--gap", 1e-6, "--trace", files / "trace", "--json"
    whole = json.loads(fit(run, files, *options).out)
    saved = "--checkpoint", files / "saved", "--resume", files / "saved"
    first = fit(run, files, *options, *saved, "--max-passes", 4)
    assert first.code == 2
    assert "not there yet" in first.err
    rest = fit(run, files, *options, *saved)
    assert rest.code == 0
    told = json.loads(rest.out)
    assert (told["primal"], told["passes"]) == (whole["primal"], whole["passes"])
    lines = (files / "trace").read_text().splitlines()
    assert lines[0].startswith("problem,passes,")
    assert float(lines[-1].split(",")[1]) == whole["passes"]
    other = fit(run, files, *options, "--resume", files / "saved", "--lam", 0.02)
    assert "is a checkpoint of another problem: lam" in other.err


def test_steps_and_their_features(run, files):
    """As the estimator does it."""
    also = ", transitions=seen, edge_features=true"
    told = json.loads(fit(run, files, "--json", "--lam", 0.1, "--gap", 1e-6, also=also).out)
    tokens, y = split_labels(read_conll(files / "train"), "train")
    X = Template.read(files / "template").features(tokens)
    options = {"lam": 0.1, "tol": 1e-6, "transitions": "seen", "edge_features": True}
    own = ChainSVC(**options).fit(X, y)
    assert told["primal"] == pytest.approx(own.primal_objective_, abs=1e-4)
    (files / "test").write_text("reckons VBZ B-VP\nreckons VBZ B-VP\n")
    told = run("predict", files / "model", files / "test").out
    assert "B-VP" not in {line.split()[-1] for line in told.split("\n")[1:2]}
    assert "'all' or 'seen', not 'some'" in fit(run, files, also=", transitions=some").err


def test_weights_of_sequences(run, files):
    """Weight 0 for one sequence is as if it were not there."""
    (files / "weights").write_text("1\n" * 7 + "0\n")
    weights = "--weights", files / "weights"
    told = json.loads(fit(run, files, *weights, "--json", "--gap", 1e-9, "--lam", 0.1).out)
    lines = (files / "train").read_text().split("\n\n")
    (files / "train").write_text("\n\n".join(lines[:7]) + "\n")
    fewer = json.loads(fit(run, files, "--json", "--gap", 1e-9, "--lam", 0.1).out)
    assert told["primal"] == pytest.approx(fewer["primal"], abs=1e-8)
    assert "holds 8 weights for 7 sequences" in fit(run, files, *weights).err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--loss", "huber"), "losses hinge, logistic, not huber"),
        (("--weights", "balanced"), "--weights balanced does not go with --task chain"),
        (("--bias", "none"), "--bias does not go with --task chain"),
        (("--checkpoint-every", 1), "--checkpoint-every needs --checkpoint"),
        (("--C", 1, "--lam", 1), "give --lam or --C"),
        (("--method", "sdca"), "Methods for this problem: auto, pegasos"),
        (("--method", "none"), "none"),
    ],
)
def test_what_does_not_go_together(run, files, more, message):
    told = fit(run, files, *more)
    assert told.code == 1
    assert message in told.err


def test_what_is_missing_or_wrong(run, files):
    assert "'chain' needs template (a text)" in run("fit", files / "train", "--task", "chain").err
    assert "No such file" in run("fit", files / "train", "--task", "chain(template=a/b.txt)").err
    assert "no parameter 'template'" in run("fit", "x", "--task", "rank(template=x)").err
    assert "did you mean 'chain'?" in run("fit", files / "train", "--task", "chains").err
    again = fit(run, files, "--model", files / "train")
    assert "named twice" in again.err
    (files / "train").write_text("\n")
    assert "has no sequences" in fit(run, files).err
    (files / "train").write_text("a b O\n")
    assert "one label only" in fit(run, files).err
    (files / "train").write_text("a b O\nc d\n")
    assert "line 2: 2 columns, but the lines before have 3" in fit(run, files).err


def test_models_that_do_not_fit(run, files):
    assert fit(run, files).code == 0
    (files / "test").write_text("he\n")
    assert "has 1 columns" in run("predict", files / "model", files / "test").err
    for option in ("--scores", "--no-label"):
        assert run("predict", files / "model", files / "test", option).code == 1
    ChainSVC().fit([[["a"], ["b"]]], [["x", "y"]]).save(files / "model")
    assert "holds no template" in run("predict", files / "model", files / "test").err
