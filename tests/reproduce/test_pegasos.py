"""Shalev-Shwartz's experiments, run quickly; and what is said about them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapsvm.reproduce import EXPERIMENTS, Options, run
from gapsvm.reproduce.linear import curves_of
from gapsvm.reproduce.pegasos import figure4, figure7, figure8, figure9
from gapsvm.rules import ConstantRule

NAMES = ("pegasos-table1", "pegasos-fig7", "pegasos-fig8", "pegasos-fig9")


@pytest.fixture(autouse=True)
def _no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GAPSVM_DATA", raising=False)


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run(name: str, tmp_path: Path) -> None:
    """On the data that comes with gapsvm: files are there, and a second run measures nothing."""
    options = Options(tmp_path, quick=True, seeds=1)
    outcome = run(EXPERIMENTS[name], options)
    assert outcome.complete
    assert [file.name for file in outcome.files] == [name + end for end in (".png", ".csv", ".md")]
    png, table, page = outcome.files
    assert png.read_bytes()[:4] == b"\x89PNG"
    with table.open() as file:
        assert set(EXPERIMENTS[name].columns) < set(next(csv.DictReader(file)))
    assert "quick run" in page.read_text()
    assert "a9a (not in the paper)" in page.read_text()
    assert run(EXPERIMENTS[name], options).measured == 0


def test_the_stand_in_is_named(tmp_path: Path) -> None:
    options = Options(tmp_path)
    assert figure9.chosen_task(options).title == "imdb (stand-in for astro-ph)"
    assert {cell.lam for cell in figure9.plan(options)} == {2e-4}
    assert {cell.lam for cell in figure7.plan(options)} == {5e-5}
    assert {cell.sampler for cell in figure8.plan(options)} == {"multisets", "fixed", "permutation"}


def test_the_methods_of_figure_9() -> None:
    assert figure9.solver_of("pegasos", 10).projection is True
    assert figure9.solver_of("norma", 10).horizon == 10
    assert figure9.solver_of("η = 0.001", 10).rule == ConstantRule(0.001)
    assert figure9.solver_of("η = 10", 10).rule == ConstantRule(10.0)


def test_curves_are_medians_over_the_seeds() -> None:
    rows = [{"k": "1", "at": str(t), "value": str(s * t)} for s in (1, 5, 3) for t in (1, 2)]
    ((x, bands),) = curves_of(rows, ("k",), "at", "value").values()
    assert x.tolist() == [1, 2]
    assert bands.tolist() == [[1, 3, 5], [2, 6, 10]]


def flat_curve(x: Any, value: Any) -> tuple[Any, Any]:
    values = np.broadcast_to(value, (len(x),))
    return np.asarray(x, dtype=float), np.repeat(values[:, None], 3, axis=1)


def verdicts(sentences: list[str]) -> list[bool]:
    return ["not seen" not in sentence for sentence in sentences]


def batches(rise: Any) -> figure7.Batches:
    """Sub-optimality 1/kT, times ``rise`` by k and kT."""
    x = np.array([2**15, 2**18, 2**21])
    curves = {k: flat_curve(x, rise(k, x) / x) for k in figure7.SIZES}
    return figure7.Batches(curves, figure7.FIXED, figure7.SHOWN)


def test_the_papers_figure_7_agrees_with_the_paper() -> None:
    found = batches(lambda k, x: 1 + 20 * k / x**0.8)
    assert verdicts(figure7.judgements(found)) == [True] * 4
    assert found.flat_until(2**15) < found.flat_until(2**21)


def test_another_figure_7_does_not() -> None:
    assert verdicts(figure7.judgements(batches(lambda k, x: k + 0 * x))) == [
        False, False, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "seen"),
    [((4.0, 1.1, 1.0), [True, True]), ((1.0, 1.0, 1.1), [False, False])],
)
def test_figure_8_is_judged(values: Any, seen: list[bool]) -> None:
    curves = {s: flat_curve(range(10), v) for s, v in zip(figure8.SAMPLERS, values)}
    assert verdicts(figure8.judgements(curves)) == seen


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ((0.11, 5.0, 0.9, 0.5, 0.12, 0.2, 9.0), [True] * 4),
        ((0.11, 0.105, 0.9, 0.5, 0.4, 0.2, 9.0), [False, False, False, True]),
    ],
)
def test_figure_9_is_judged(values: Any, seen: list[bool]) -> None:
    curves = {m: flat_curve(range(10), v) for m, v in zip(figure9.METHODS, values)}
    assert verdicts(figure9.judgements(figure9.Rates(curves, curves, 0.1))) == seen


def test_eps_guarantees_the_test_error() -> None:
    """Below ε no look is worse than 1.1 times the error of the optimum."""
    pegasos = np.array([[1, 0.5, 0.3], [2, 0.2, 0.25], [3, 0.1, 0.21]])
    sdca = np.array([[1, 0.3, 0.21], [2, 0.05, 0.2]])
    race = figure4.Race(figure4.TASKS[0], {"pegasos": [pegasos], "sdca": [sdca]})
    assert race.error == 0.2
    assert race.eps == 0.2
    assert race.reached("pegasos") == (3, 0.21)
    assert race.reached("sdca") == (2, 0.2)
    (sentence,) = figure4.judgements([race])
    assert "seen: Pegasos takes 1.5 times as long" in sentence


def test_the_page_shows_every_experiment() -> None:
    page = Path(__file__).parents[2] / "docs" / "reproduce.md"
    if not page.exists():
        pytest.skip("not in a checkout")
    for name in NAMES:
        assert name in page.read_text()
