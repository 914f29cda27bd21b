"""The pages of the documentation do what they say: every example is run, in order."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any

import matplotlib
import pytest
import typer
from sklearn import svm

from gapsvm.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROSE = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PROSE += sorted((ROOT / "benchmarks").glob("*.md"))
FIGURES = ROOT / "docs" / "figures"

pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="not in a checkout")


@pytest.fixture(scope="module")
def transcripts() -> Any:
    """The script that writes what the pages show."""
    spec = importlib.util.spec_from_file_location("transcripts", ROOT / "docs" / "transcripts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page: Path, transcripts: Any) -> None:
    """Words, methods and digits; ``python docs/transcripts.py`` writes them anew."""
    matplotlib.use("Agg")
    assert transcripts.measured(page) == page.read_text()


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("time    0.18 s", "time    12.5 s", True),
        ('{"read_seconds": 1e-05, "gap": 0.25}', '{"read_seconds": 0.2, "gap": 0.25}', True),
        ("method  sdca", "method  accelerated", False),
        ("passes  43.2", "passes  10.8", False),
        ("primal  0.3512900573", "primal  0.3512900574", True),
        ("primal  0.3512900573", "primal  0.3513900573", False),
        ("gap 4.28e-04", "gap 4.29e-04", True),
        ("gap 4.28e-04", "gap 1.38e-04", True),
        ("gap 4.28e-04", "gap 4.28e-05", False),
        ("passes  23.0", "passes  24.0", True),
        ("[0.35129005733082336]", "[0.35129005733082999]", True),
        ("15 more passes", "14 more passes", False),
        ("a  b", "a b", False),
    ],
)
def test_what_counts_as_the_same(shown: str, printed: str, same: bool, transcripts: Any) -> None:
    assert transcripts.alike(shown, printed) is same


def test_a_stale_page_is_written_anew(tmp_path: Path, transcripts: Any) -> None:
    page = tmp_path / "page.md"
    text = "# λ\n\n```python\nprint(1 + 1)\n```\n```text\n{}\n```\n```console\n{}```\n"
    stale = "$ gapsvm fit nothing\nold\n$ echo $?\n0\n"
    new = "$ gapsvm fit nothing\ngapsvm: nothing: No such file or directory\n$ echo $?\n1\n"
    page.write_text(text.format(3, stale))
    assert transcripts.measured(page) == text.format(2, new)
    page.write_text("```console\n$ gapsvm fit nothing\n```\n")
    with pytest.raises(SystemExit, match="exit code 1, not asked for"):
        transcripts.measured(page)


def test_the_command_page_has_every_command() -> None:
    page = (ROOT / "docs" / "cli.md").read_text().replace("\n", " ")
    for command in set(typer.main.get_command(app).commands) - {"reproduce"}:  # has its own page
        assert f"$ gapsvm {command} " in page or f"`gapsvm {command}" in page, command


@pytest.mark.parametrize("name", ["LinearSVC", "LinearSVR", "SVC", "SVR"])
def test_newcomers_find_every_parameter_and_attribute(name: str) -> None:
    theirs = getattr(svm, name)
    page = (ROOT / "docs" / "coming-from.md").read_text()
    part = page[page.index("## LinearSV") :]
    attributes = re.split(r"\n(?:Attributes|See Also)\n-+\n", inspect.getdoc(theirs) or "")[1]
    wanted = [*inspect.signature(theirs).parameters, *re.findall(r"^(\w+_) :", attributes, re.M)]
    assert "coef_" in wanted
    known = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", part))))
    assert sorted(set(wanted) - known) == []


def headings(page: Path) -> set[str]:
    """The anchors of a page, by GitHub's rule."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in titles]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text()):
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not anchor or anchor in headings(there), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_are_short(page: Path) -> None:
    """Measured tables, which lie in files of their own, and what programs print may be wide."""
    text = re.sub(r"^```(text|console)\n.*?^```$", "", page.read_text(), flags=re.M | re.S)
    generated = page.parent in (FIGURES, ROOT / "docs" / "reproduce")
    measured = generated or page.name.startswith("results")
    lines = text.splitlines()
    assert [ln for ln in lines if len(ln) > 119 and not (measured and ln.startswith("|"))] == []


def test_paths_that_the_pages_name_are_there() -> None:
    """Modules and folders in backticks lie in the package or its folders, or at the root."""
    package = ROOT / "src" / "gapsvm"
    roots = [ROOT, package.parent, package, *(path for path in package.rglob("*") if path.is_dir())]
    for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "design").glob("*.md")]:
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", page.read_text()):
            assert any((root / name).exists() for root in roots), f"{page.name}: {name}"


def test_hooks_are_those_of_the_checks() -> None:
    """One script looks at the code; CI runs it, and hooks of the same tools fetch nothing."""
    checks = (ROOT / ".ci" / "checks").read_text()
    assert ".ci/checks" in (ROOT / ".ci" / "run").read_text()
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert set(re.findall(r"repo: (\S+)", hooks)) == {"local"}
    entries = re.findall(r"entry: (.*)", hooks)
    assert len(entries) == 4
    assert all(entry.removesuffix(" --fix") in checks for entry in entries)
