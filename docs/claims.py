"""The pages of claims, from the measurements beside the figures, and of errata: run without
arguments it writes both."""

from __future__ import annotations

from pathlib import Path

from gapsvm.reproduce import EXPERIMENTS, Settings, errata
from gapsvm.reproduce.framework import wrapped
from gapsvm.reproduce.index import page

DOCS = Path(__file__).parent
PAGE = DOCS / "reproduce" / "index.md"


def claims() -> str:
    """The page as it should be."""
    return page(tuple(EXPERIMENTS.values()), Settings(DOCS / "figures"), "../figures/")


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(claims(), encoding="utf-8")
    PAGE.with_name("errata.md").write_text(wrapped(errata.page()), encoding="utf-8")
