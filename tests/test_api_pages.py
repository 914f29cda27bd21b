"""The pages of public names: current, and nothing left out."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from typing import Any

import pytest

import gapsvm

SCRIPT = Path(__file__).parents[1] / "docs" / "api.py"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="not in a checkout")


@pytest.fixture(scope="module")
def api() -> Any:
    """The script that writes the pages."""
    spec = importlib.util.spec_from_file_location("api", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_current(api: Any) -> None:
    """``python docs/api.py`` writes them."""
    pages = api.pages()
    assert {path.name for path in api.FOLDER.glob("*.md")} == set(pages)
    for name, text in pages.items():
        assert (api.FOLDER / name).read_text(encoding="utf-8") == text, f"{name} is stale"


def test_every_public_name_has_its_place(api: Any) -> None:
    index = api.pages()["README.md"]
    assert all(f"[{name}](" in index for name in gapsvm.__all__)


@pytest.mark.parametrize("name", gapsvm.__all__)
def test_every_parameter_is_described(name: str, api: Any) -> None:
    thing = getattr(gapsvm, name)
    if callable(thing):
        own = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
        assert own, "no docstring"
        assert api.undescribed(thing) == []


def test_what_counts_as_described(api: Any) -> None:
    def thing(a: int, b: int, c: int, d: int, e: int) -> None:
        """Do it.

        Parameters
        ----------
        a, b : int
            Two numbers.
        c : int
        d : a number that says enough
        """

    assert api.undescribed(thing) == ["c", "e"]
    assert api.entries("x : (n,);  y : float\n    Both.")[0] == [
        (("x",), "(n,)", "Both."),
        (("y",), "float", "Both."),
    ]
    assert api.parameters(gapsvm.LinearSVR)["lam"] == api.parameters(gapsvm.LinearSVC)["lam"]
