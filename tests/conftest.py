"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from tiers import first_tier

from gapsvm.backends import renting

settings.register_profile("gapsvm", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("gapsvm")
renting.settle()  # what computes must not depend on which tests ran before


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets; tests that need it are skipped where there is none."""
    named = os.environ.get("GAPSVM_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no folder of real data sets; GAPSVM_DATA names one")
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gapsvm")
    group.addoption("--all", action="store_true", help="both tiers: crossed cases, slow tests")
    group.addoption("--rest", action="store_true", help="what the first tier leaves out")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the first tier, unless more is asked for, or single tests are named."""
    named = any("::" in argument for argument in config.args)
    if config.getoption("--all") or named:
        return
    names, rest = first_tier(items), config.getoption("--rest")
    kept = [item for item in items if (item.nodeid in names) != rest]
    left_out = set(items) - set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = kept
