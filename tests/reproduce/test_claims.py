"""Claims, bars and verdicts; and the page of all of them."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import replace
from pathlib import Path

import pytest

from gapsvm.reproduce import EXPERIMENTS, Settings
from gapsvm.reproduce.claims import AHEAD, Bar, Claim, Outcome, sentences
from gapsvm.reproduce.framework import Row, recorded
from gapsvm.reproduce.index import page

from .test_framework import NOTHING

ROOT = Path(__file__).parents[2]
SHOWN, NOT_SHOWN, CONTRADICTED = Outcome


@pytest.mark.parametrize(
    ("bar", "outcomes"),
    [
        (Bar(2.0, 1.0), {2.0: SHOWN, 1.99: NOT_SHOWN, 1.01: NOT_SHOWN, 1.0: CONTRADICTED}),
        (Bar(1.0, 2.0), {1.0: SHOWN, 1.01: NOT_SHOWN, 1.99: NOT_SHOWN, 2.0: CONTRADICTED}),
        (Bar(2.0, -math.inf), {math.inf: SHOWN, -1e9: NOT_SHOWN}),
        (AHEAD, {1.3: SHOWN, 1.2: NOT_SHOWN, 0.8: NOT_SHOWN, 0.76: CONTRADICTED}),
    ],
)
def test_a_bar_has_three_sides(bar: Bar, outcomes: dict[float, Outcome]) -> None:
    assert {number: bar.outcome(number) for number in outcomes} == outcomes
    assert bar.outcome(math.nan) is NOT_SHOWN


def test_a_bar_says_itself() -> None:
    assert str(Bar(1.25, 0.8)) == "≥ 1.25 (contradicted: ≤ 0.8)"
    assert str(Bar(3.0, math.inf)) == "≤ 3"
    with pytest.raises(ValueError, match="both"):
        Bar(1.0, 1.0)


def test_a_verdict_says_claim_bar_outcome_and_number() -> None:
    claim = Claim("A is faster than B", "time of B over that of A", AHEAD)
    (item,) = sentences([claim.judge(1.1, on="cov1")])
    assert item == (
        "- cov1: A is faster than B (time of B over that of A ≥ 1.3 (contradicted: ≤ 0.769)): "
        "**not shown**: 1.1."
    )
    assert claim.judge(12_345.6).said == "shown: 12,346"
    assert claim.judge(math.nan, words="B did not get there").said == (
        "**not shown**: B did not get there"
    )


def test_the_page_lists_every_verdict(tmp_path: Path) -> None:
    claim = Claim("it counts", "rows", Bar(2.0, 1.0))

    def verdicts(rows: list[Row], settings: Settings) -> list[object]:
        return [claim.judge(len(rows), on="made up"), claim.judge(1.0)]

    experiment = replace(NOTHING, verdicts=verdicts)
    settings = Settings(tmp_path)
    assert "0 verdicts" in page([experiment], settings)
    header = "name,budget,lam,split,gapsvm,row,rows,value\n"
    (tmp_path / "nothing.csv").write_text(header + "zz,1,1e-05,,0,1,1,9\nb,10,1e-05,,0,1,1,3\n")
    rows = recorded(experiment, tmp_path, settings)
    assert [row["name"] for row in rows] == ["b", "zz"]  # the plan's first
    found = page([experiment], settings, "texts/")
    assert "2 verdicts: 1 shown, 0 not shown, 1 contradicted." in found
    assert "[nothing](texts/nothing.md)" in found
    assert "| it counts | made up | rows ≥ 2 (contradicted: ≤ 1) | 2 | shown |" in found


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="not in a checkout")
def test_the_page_of_claims_is_current() -> None:
    """It is what the measurements beside the figures say: ``python docs/claims.py`` writes it."""
    spec = importlib.util.spec_from_file_location("claims", ROOT / "docs" / "claims.py")
    assert spec is not None
    assert spec.loader is not None
    claims = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(claims)
    assert claims.PAGE.read_text(encoding="utf-8") == claims.claims()


@pytest.mark.parametrize("name", [n for n, e in EXPERIMENTS.items() if e.verdicts is not None])
def test_texts_say_what_the_page_says(name: str) -> None:
    """Each verdict of the page stands in the experiment's own text."""
    folder = ROOT / "docs" / "figures"
    settings = Settings(folder)
    rows = recorded(EXPERIMENTS[name], folder, settings) if folder.exists() else []
    text = " ".join((folder / f"{name}.md").read_text().split()) if rows else ""
    for verdict in EXPERIMENTS[name].verdicts(rows, settings) if rows else ():
        assert " ".join(verdict.said.split()) in text
