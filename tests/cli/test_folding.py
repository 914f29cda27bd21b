"""RNA on the command line: FASTA and CSV in, dots and brackets and F out."""

from __future__ import annotations

import json

import pytest

from gapsvm import RNAFolder, read_rna

FASTA = """>one
GGGGAAAACCCC
((((....)))) (-3.20)
>two rest of the line
GGCGAAAACGCC
((((....))))
>three
AAGGCGUUCGCGCCAA
..((((....))))..
>four
GGGAAAUCCC
(((....)))
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "train.fa").write_text(FASTA)
    (tmp_path / "test.csv").write_text("id,sequence\na,GGGGAAAACCCC\nb,AANAA\n")
    return tmp_path


def fit(run, files, *more, task="fold"):
    return run("fit", files / "train.fa", "--task", task, "--model", files / "model", *more)


def test_fit_predict_and_inspect(run, files):
    told = fit(run, files, task="fold(wrong_pair=1)")
    assert told.code == 0
    assert "4 sequences, 50 bases, 15 pairs of which 0 are left out, 357 features" in told.out
    assert "no model has a lower objective" in told.out
    found = run("predict", files / "model", files / "train.fa", "-o", files / "out")
    assert found.code == 0
    assert "4 sequences, 50 bases: f 1, sensitivity 1, ppv 1" in found.err
    again = read_rna(files / "out")
    assert again.names == ["one", "two", "three", "four"]
    assert again.structures[0] == "((((....))))"
    told = run("predict", files / "model", files / "test.csv")
    assert told.out == ">a\nGGGGAAAACCCC\n((((....))))\n>b\nAANAA\n.....\n"
    assert "nothing to compare with" in told.err
    facts = json.loads(run("inspect", files / "model", "--json").out)
    assert (facts["model"], facts["features"]) == ("folding", 357)
    assert RNAFolder.load(files / "model").converged_


def test_parameters_of_the_task_act(run, files):
    def primal(task):
        return json.loads(fit(run, files, "--json", task=task).out)["primal"]

    base = primal("fold")
    for change in ("wrong_pair=1", "missed_pair=0.5", "per_base=false"):
        assert primal(f"fold({change})") != base


def test_a_fit_goes_on_from_a_checkpoint(run, files):
    options = "--lam", 0.01, "--gap", 1e-5, "--json"
    whole = json.loads(fit(run, files, *options).out)
    saved = "--checkpoint", files / "saved", "--resume", files / "saved"
    assert fit(run, files, *options, *saved, "--max-passes", 3).code == 2
    rest = fit(run, files, *options, *saved)
    assert rest.code == 0
    assert json.loads(rest.out)["primal"] == pytest.approx(whole["primal"], abs=1e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">a\nACGU\n", "has no structures to learn from"),
        (">a\nACGU\n....\n>b\nACGX\n....\n", "sequence 1 (b) has 'X' at position 4"),
        (">a\nACGU\n(..]\n", "sequence 0 (a): ']' at position 4 crosses '('"),
        (">a\nACGU\n...\n", "sequence 0 (a) has 4 bases, but its structure has 3"),
    ],
)
def test_errors_name_the_sequence(run, files, text, message):
    (files / "train.fa").write_text(text)
    told = fit(run, files)
    assert told.code == 1
    assert message in " ".join(told.err.split())


def test_options_that_change_nothing_are_refused(run, files):
    told = fit(run, files, "--loss", "logistic")
    assert told.code == 1
    assert "--loss does not go with --task fold" in told.err
    assert fit(run, files).code == 0
    told = run("predict", files / "model", files / "test.csv", "--scores")
    assert "is for sequences" in told.err
