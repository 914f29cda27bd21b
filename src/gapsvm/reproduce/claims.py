"""Statements of the papers, what it takes to call them shown, and how the numbers judge them.

A claim names the number that decides it and the bar that this number must reach.  Bars are
constants of the module that measures; nothing else decides a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """What a measurement says of a claim."""

    SHOWN = "shown"
    NOT_SHOWN = "not shown"
    CONTRADICTED = "contradicted"

    def __str__(self) -> str:
        return self.value if self is Outcome.SHOWN else f"**{self.value}**"


@dataclass(frozen=True)
class Bar:
    """What a number must reach for a claim to be shown, and where it says the opposite.

    The larger of the two tells the direction: a number from ``shown`` on, away from
    ``contradicted``, shows the claim.  What lies between shows neither.
    """

    shown: float
    contradicted: float

    def __post_init__(self) -> None:
        if self.shown == self.contradicted:
            raise ValueError("one number cannot both show a claim and contradict it")

    @property
    def rising(self) -> bool:
        return self.shown > self.contradicted

    def outcome(self, number: float) -> Outcome:
        """A number that is missing (NaN) shows nothing."""
        sign = 1.0 if self.rising else -1.0
        if math.isnan(number):
            return Outcome.NOT_SHOWN
        if sign * number >= sign * self.shown:
            return Outcome.SHOWN
        return (
            Outcome.CONTRADICTED
            if sign * number <= sign * self.contradicted
            else (Outcome.NOT_SHOWN)
        )

    def __str__(self) -> str:
        least, most = ("≥", "≤") if self.rising else ("≤", "≥")
        text = f"{least} {self.shown:,.3g}"
        if math.isinf(self.contradicted):
            return text
        return f"{text} (contradicted: {most} {self.contradicted:,.3g})"


@dataclass(frozen=True)
class Claim:
    """A statement of a paper.

    Parameters
    ----------
    says : str
        What it states.
    number : str
        What is measured for it.
    bar : Bar
        What that number must reach.
    """

    says: str
    number: str
    bar: Bar

    def judge(self, number: float, on: str = "", words: str = "") -> Verdict:
        """The verdict of a number, on some data, with words for it (else the number itself)."""
        return Verdict(self, on, number, words or plain(number))


@dataclass(frozen=True)
class Verdict:
    """A claim beside our number."""

    claim: Claim
    on: str
    """The data, where there are several."""
    number: float
    words: str

    @property
    def outcome(self) -> Outcome:
        return self.claim.bar.outcome(self.number)

    @property
    def said(self) -> str:
        """Outcome and number."""
        return f"{self.outcome}: {self.words}"

    @property
    def sentence(self) -> str:
        """For a list: the data, the claim, its bar, outcome and number."""
        on = f"{self.on}: " if self.on else ""
        claim = self.claim
        bar = f"({claim.number} {claim.bar})"
        return f"{on}{claim.says} {bar}: {self.said}."


def sentences(verdicts: Sequence[Verdict]) -> list[str]:
    """The items of a list."""
    return [f"- {verdict.sentence}" for verdict in verdicts]


def plain(number: float) -> str:
    """Two digits, or all of a large number; no exponent but for very small ones."""
    if math.isnan(number):
        return "none"
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    if abs(number) >= 10:
        return f"{number:,.0f}"
    return f"{number:.2g}".replace("-", "−", 1) if number < 0 else f"{number:.2g}"


NOISE = 1.3
"""Two runs of the same thing differ by up to 30 %: smaller ratios are ties."""
AHEAD = Bar(NOISE, 1 / NOISE)
"""For a ratio: the one is clearly larger; the other; or neither."""
