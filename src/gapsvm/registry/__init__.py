"""Things with names: registered once, listed with their parameters, made from a short spec.

A spec is a name, or a name and parameters as Python would write them:

    sdca      huber(delta=2)      minibatch(rule=aggressive, batch_size=64)

Words need no quotes.  Parameters, their types and defaults are those of what makes the thing, so
that there is one place to look, and a mistake becomes a sentence that names what is possible.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from gapsvm.registry.annotations import described, fits, hints_of

T = TypeVar("T")
_SPEC = re.compile(r"\s*([A-Za-z_][\w-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a named thing."""

    name: str
    annotation: Any
    default: Any

    def __str__(self) -> str:
        """``delta=1.0 (a number)``."""
        default = "" if self.is_required else f"={self.default!r}"
        return f"{self.name}{default} ({described(self.annotation)})"

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class Entry(Generic[T]):
    """A name, one sentence about it, and what makes it.

    Parameters
    ----------
    fixed : mapping
        Parameters that the name stands for; nobody else may set them.
    hidden : tuple of names
        Parameters that are not a user's business.
    defaults : mapping
        Defaults that differ from those of the maker.
    """

    name: str
    summary: str
    maker: Callable[..., T]
    fixed: Mapping[str, Any]
    hidden: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, **parameters: Any) -> T:
        self.check(parameters)
        for name, parameter in self.parameters.items():
            if parameter.is_required and name not in parameters:
                raise ValueError(f"{self.name!r} needs {parameter}: '{self.name}({name}=...)'")
        return self.maker(**{**self.fixed, **self.defaults, **parameters})

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        hints = hints_of(self.maker)
        return {
            name: Parameter(name, hints.get(name, Any), self.defaults.get(name, found.default))
            for name, found in inspect.signature(self.maker).parameters.items()
            if name not in self.fixed and name not in self.hidden
        }

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Raise a ValueError for a parameter that there is not, or whose value has no sense."""
        for name, value in parameters.items():
            if name not in self.parameters and name not in self.hidden:
                takes = "; ".join(map(str, self.parameters.values())) or "none"
                raise ValueError(f"{self.name!r} has no parameter {name!r}; it takes: {takes}")
            if name in self.parameters and not fits(value, self.parameters[name].annotation):
                what = described(self.parameters[name].annotation)
                raise ValueError(f"{self.name!r} takes as {name} {what}, not {value!r}")


class Registry(Mapping[str, Entry[T]]):
    """Entries by name; users add their own.

    Parameters
    ----------
    kind : str
        What the entries are, for messages: "loss", "method".
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, Entry[T]] = {}

    def __getitem__(self, name: str) -> Entry[T]:
        """The entry of that name; an unknown one is an error that lists the known ones."""
        try:
            return self._entries[name]
        except (KeyError, TypeError):
            near = difflib.get_close_matches(str(name), self._entries, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            names = ", ".join(self._entries)
            raise UnknownName(
                f"unknown {self.kind} {name!r}{hint}; choose one of {names}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def add(
        self,
        name: str,
        maker: Callable[..., T],
        summary: str,
        *,
        hidden: tuple[str, ...] = (),
        defaults: Mapping[str, Any] | None = None,
        **fixed: Any,
    ) -> Entry[T]:
        """Register ``maker`` under a name; ``fixed`` parameters are what the name stands for."""
        if not _SPEC.fullmatch(name) or "(" in name:
            raise ValueError(f"{name!r} is no name for a {self.kind}: letters, digits, _ and -")
        if name in self._entries:
            raise ValueError(f"there is a {self.kind} {name!r} already")
        entry = Entry(name, summary, maker, fixed, hidden, defaults or {})
        self._entries[name] = entry
        return entry

    def remove(self, name: str) -> None:
        """Forget an entry."""
        del self._entries[self[name].name]

    def make(self, spec: str, **given: Any) -> T:
        """What a spec describes; ``given`` parameters count where the spec says nothing."""
        name, parameters = parsed(spec, self.kind)
        return self[name](**{**given, **parameters})


class UnknownName(ValueError, KeyError):
    """A name that is not registered."""

    def __str__(self) -> str:  # a KeyError would show its message in quotes
        return str(self.args[0])


def parsed(spec: str, kind: str = "thing") -> tuple[str, dict[str, Any]]:
    """Name and parameters of a spec; a value that is a spec itself stays text."""
    found = _SPEC.fullmatch(spec)
    problem = (
        f"{spec!r} is no {kind}: write a name, or name(parameter=value, ...), with quotes around "
        "text that is not a word"
    )
    if found is None:
        raise ValueError(problem)
    name, inside = found.groups()
    if inside is None or not inside.strip():
        return name, {}
    written = f"f({inside})"
    try:
        call = ast.parse(written, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(problem) from None
    if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
        raise ValueError(problem)
    values: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg in values:
            raise ValueError(f"{spec!r} gives {keyword.arg!r} twice")
        values[str(keyword.arg)] = _value(keyword.value, written, spec)
    return name, values


_WORDS = {"true": True, "false": False, "none": None, "inf": float("inf")}


def _value(node: ast.expr, written: str, spec: str) -> Any:
    if isinstance(node, ast.Name):
        return _WORDS.get(node.id.lower(), node.id)
    if isinstance(node, ast.Call | ast.BinOp | ast.Attribute):
        return ast.get_source_segment(written, node)  # a spec in a spec, a-name, a/file.txt
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        raise ValueError(
            f"{spec!r}: {ast.unparse(node)!r} is neither a number, a word nor a list"
        ) from None
