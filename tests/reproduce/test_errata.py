"""Each misprint of the papers: the printed form fails, the corrected one passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapsvm.reproduce.errata import ERRATA, Erratum, page
from gapsvm.reproduce.framework import wrapped

PAGE = Path(__file__).parents[2] / "docs" / "reproduce" / "errata.md"


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda e: f"{e.paper.split()[0]}, {e.place}")
def test_the_printed_form_fails_and_the_corrected_one_passes(erratum: Erratum) -> None:
    assert not erratum.holds(True)
    assert erratum.holds(False)


@pytest.mark.skipif(not PAGE.parent.exists(), reason="not in a checkout")
def test_the_page_is_current() -> None:
    """``python docs/claims.py`` writes it."""
    assert PAGE.read_text(encoding="utf-8") == wrapped(page())
