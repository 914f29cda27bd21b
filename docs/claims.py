"""The page of all claims, from the measurements beside the figures: ``python docs/claims.py``."""

from __future__ import annotations

from pathlib import Path

from gapsvm.reproduce import EXPERIMENTS, Settings
from gapsvm.reproduce.index import page

DOCS = Path(__file__).parent
PAGE = DOCS / "reproduce" / "index.md"


def claims() -> str:
    """The page as it should be."""
    return page(tuple(EXPERIMENTS.values()), Settings(DOCS / "figures"), "../figures/")


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(claims(), encoding="utf-8")
