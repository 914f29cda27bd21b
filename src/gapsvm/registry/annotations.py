"""What a type annotation says, in words and as a test."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal, Union

_WORDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    type(None): "none",
}


def hints_of(maker: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of what is called, resolved; those that cannot be are left out."""
    target: Any = maker
    if inspect.isclass(maker) and not dataclasses.is_dataclass(maker):
        target = maker.__init__  # that of a dataclass does not know the modules of its bases
    try:
        return typing.get_type_hints(target)
    except Exception:  # a user's annotation may name anything
        return {}


def _choices(annotation: Any) -> list[Any]:
    """A union as a list of what it allows."""
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return [c for part in typing.get_args(annotation) for c in _choices(part)]
    return [annotation]


def described(annotation: Any) -> str:
    """``a whole number or 'auto'``."""
    words: list[str] = []
    for choice in _choices(annotation):
        if typing.get_origin(choice) is Literal:
            words += [f"'{value}'" for value in typing.get_args(choice)]
        elif choice in (Any, inspect.Parameter.empty):
            words.append("anything")
        else:
            words.append(_WORDS.get(choice) or f"a {getattr(choice, '__name__', choice)}")
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value is of that type; where the annotation is no plain type, it may be."""
    return any(_fits_one(value, choice) for choice in _choices(annotation))


def _fits_one(value: Any, choice: Any) -> bool:
    if typing.get_origin(choice) is Literal:
        return any(type(value) is type(c) and value == c for c in typing.get_args(choice))
    if choice is bool:
        return isinstance(value, bool)
    if choice is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if choice is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    if choice in (str, type(None)):
        return isinstance(value, choice)
    return True
