"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets; tests that need it are skipped where there is none."""
    named = os.environ.get("GAPSVM_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no folder of real data sets; GAPSVM_DATA names one")
    return folder
