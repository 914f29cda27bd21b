"""Narrow functions, short files, few modules at the top, names that say something."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import gapsvm
from gapsvm.backends import numba as compiled
from gapsvm.backends import reference

PACKAGE = Path(gapsvm.__file__).parent
MOST_ARGUMENTS, MOST_LINES, MOST_LINES_OF_A_FILE, MOST_LOOSE_MODULES = 12, 60, 600, 3
VAGUE = {"here", "mine", "way", "now", "draws", "orders", "barrier", "normal", "planes"}
"""Words that a reader would have to look up, or that have had two meanings."""


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            yield node


def arguments(function: ast.FunctionDef) -> int:
    found = function.args
    every = [*found.posonlyargs, *found.args, *found.kwonlyargs]
    return sum(one.arg not in ("self", "cls") for one in every)


def spells_out_options(module: str, function: str) -> bool:
    """A command or an estimator names each of its options."""
    return module == "cli/app.py" or (module.startswith("estimators/") and function == "__init__")


def too_large(name: str) -> set[str]:
    """The functions of a module that are too wide or too long."""
    return {
        function.name
        for function in functions(PACKAGE / name)
        if not spells_out_options(name, function.name)
        and (
            arguments(function) > MOST_ARGUMENTS
            or (function.end_lineno or 0) - function.lineno + 1 > MOST_LINES
        )
    }


MODULES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


def test_functions_are_narrow_and_short():
    found = {name: too_large(name) for name in MODULES}
    assert {name: large for name, large in found.items() if large} == {}


def test_files_are_short_and_few_lie_at_the_top():
    lengths = {name: (PACKAGE / name).read_text().count("\n") for name in MODULES}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES_OF_A_FILE} == {}
    loose = [name for name in MODULES if "/" not in name and name != "__init__.py"]
    assert len(loose) <= MOST_LOOSE_MODULES


def named(path: Path) -> Iterator[str]:
    """Variables, arguments, functions and classes of a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def test_names_say_something():
    found = {name: VAGUE & set(named(PACKAGE / name)) for name in MODULES}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize("backend", [compiled, reference], ids=["compiled", "reference"])
def test_what_backends_offer_is_narrow(backend):
    """Also as Python sees it: no ``*arguments`` hides how many there are."""
    functions = importlib.import_module(f"{backend.__name__}.functions")
    for name in functions.__all__:
        function = getattr(functions, name)
        signature = inspect.signature(getattr(function, "py_func", function))
        kinds = {parameter.kind for parameter in signature.parameters.values()}
        assert kinds == {inspect.Parameter.POSITIONAL_OR_KEYWORD}, name
        assert len(signature.parameters) <= MOST_ARGUMENTS, name


def test_compiled_loops_are_narrow():
    """Loops, and the helpers that are compiled into them."""
    seen = 0
    for module in pkgutil.iter_modules(compiled.__path__, f"{compiled.__name__}."):
        for name, thing in vars(importlib.import_module(module.name)).items():
            function = getattr(thing, "py_func", thing)
            if inspect.isfunction(function):
                seen += 1
                assert len(inspect.signature(function).parameters) <= MOST_ARGUMENTS, name
    assert seen > 50


def test_the_two_backends_mirror_each_other():
    """A function and its oracle lie in files of the same name."""
    files = []
    for backend in (compiled, reference):
        functions = importlib.import_module(f"{backend.__name__}.functions")
        offered = {name: getattr(functions, name) for name in functions.__all__}
        files.append({k: v.__module__.rpartition(".")[2] for k, v in offered.items()})
    ours, theirs = files
    assert {name: ours[name] for name in theirs} == theirs
