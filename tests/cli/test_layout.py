"""Tables as text: what is too wide is wrapped, and no number is cut."""

from __future__ import annotations

import pytest

from gapsvm.cli.layout import columns, facts

ROWS = [
    ["primal", "0.3512900573", "objective of this model"],
    ["gap", "4.28e-04", "8.9e-04 of P(0): the certified gap reached the tolerance"],
    ["passes", "43.2"],
]
HEAD = ["lam", "primal", "gap"]
NUMBERS = [["13.9", "0.48139027", "8.6e-05"], ["0.875", "0.47799223", "2.7e-04"]]


def test_facts_are_aligned() -> None:
    assert facts(ROWS, 100) == [
        "primal  0.3512900573  objective of this model",
        "gap     4.28e-04      8.9e-04 of P(0): the certified gap reached the tolerance",
        "passes  43.2",
    ]


@pytest.mark.parametrize("width", range(1, 90))
def test_facts_are_wrapped_and_every_word_stays_whole(width: int) -> None:
    lines = facts(ROWS, width)
    words = " ".join(" ".join(row) for row in ROWS).split()
    assert sorted(" ".join(lines).split()) == sorted(words)
    if width > 24:
        assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", range(1, 40))
def test_columns_go_below_each_other_and_every_number_stays_whole(width: int) -> None:
    lines = columns(HEAD, NUMBERS, width)
    found = set(" ".join(lines).split())
    assert found == {*HEAD, *NUMBERS[0], *NUMBERS[1]}
    if width > 17:  # the first column and another
        assert max(map(len, lines)) <= width


def test_columns_are_aligned() -> None:
    assert columns(HEAD, NUMBERS, 80) == [
        "  lam      primal      gap",
        " 13.9  0.48139027  8.6e-05",
        "0.875  0.47799223  2.7e-04",
    ]
    assert columns(HEAD, NUMBERS, 20)[3:5] == ["", "  lam      gap"]


def test_wide_characters_take_two_places() -> None:
    assert facts([["猫", "a"], ["dog", "b"]], 80) == ["猫   a", "dog  b"]
