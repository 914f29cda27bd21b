"""Options that would change nothing are refused, with what they are for."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Command


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--checkpoint-every 5", "--checkpoint-every needs --checkpoint"),
        ("--bias none(scale=2)", "only penalized has a parameter"),
        ("--loss huber(epsilon=1)", "'huber' has no parameter 'epsilon'"),
        ("--method minibatch(inertia=0.9)", "inertia is for rule 'aggressive'"),
    ],
)
def test_options_of_fit(
    options: str, sentence: str, fails: Command, two_classes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gapsvm.cli.fit.load_data", None)
    assert sentence in str(fails("fit", two_classes, *options.split()))


def test_options_of_fit_by_the_kind_of_data(
    run: Command, fails: Command, two_classes: Path, tmp_path: Path
) -> None:
    pytest.importorskip("polars")
    folder, table = tmp_path / "two.gsv", tmp_path / "two.csv"
    assert run("convert", two_classes, folder).code == 0
    table.write_text("a,y\n1,0\n2,1\n")
    assert "--dtype is for text" in fails("fit", folder, "--dtype", "float64")
    assert "--dtype is for text" in fails("stream", folder, "--dtype", "float64")
    assert "--n-features is for svmlight text" in fails("fit", table, "--n-features", "1")


def test_options_of_other_commands(
    run: Command, fails: Command, two_classes: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    assert run("fit", two_classes, "-m", model).code == 0
    assert "--scores with --json needs --output" in fails(
        "predict", model, two_classes, "--scores", "--json"
    )
    assert "--n-lams is for" in fails("path", two_classes, "--lam", "1", "--n-lams", "3")
    assert "--folder needs the name" in fails("data", "--folder", tmp_path)
    assert "--quick needs the name" in fails("reproduce", "--quick")
    assert "--list lists everything" in fails("reproduce", "do-fig1", "--list")


def test_options_that_do_something(run: Command, responses: Path, tmp_path: Path) -> None:
    every = ("--checkpoint", tmp_path / "state", "--checkpoint-every", "9")
    loss = ("--loss", "epsilon_insensitive(epsilon=0.1)")
    assert run("fit", responses, *loss, *every, "--bias", "penalized(scale=2)").code == 0
