"""Options that would change nothing are refused, with what they are for."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Command


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--epsilon 0.1", "--epsilon is for the losses with epsilon in their names, not hinge"),
        ("--epsilon 0.1 --loss huber", "not huber"),
        ("--bias-scale 1", "--bias-scale is for --bias penalized, not free"),
        ("--bias-scale 2 --bias none", "--bias-scale is for --bias penalized, not none"),
        ("--bias-step gradient --bias none", "--bias-step is for --bias free"),
        ("--checkpoint-every 5", "--checkpoint-every needs --checkpoint"),
        ("--inertia 0.9 --method sdca", "--inertia is for --rule aggressive, not safe"),
        ("--sweeps 2 --method sdca --batch-size 4", "--sweeps is for --rule exact, not safe"),
        ("--sigma2 0.1 --rule naive --batch-size 4", "--sigma2 is for --rule safe and aggressive"),
        ("--stream --epsilon 1", "--epsilon is for the losses with epsilon"),
        ("--stream --bias-scale 2", "--bias-scale is for --bias penalized"),
        ("--stream --inertia 0.9", "--stream does not go with --inertia"),
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
    assert "--dtype is for text" in fails("fit", folder, "--stream", "--dtype", "float64")
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
    loss = ("--loss", "epsilon_insensitive", "--epsilon", "0.1")
    assert (
        run("fit", responses, *loss, *every, "--bias", "penalized", "--bias-scale", "2").code == 0
    )
