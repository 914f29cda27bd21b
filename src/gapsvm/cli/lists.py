"""``gapsvm methods`` and the other lists: what there is by name, and what it takes."""

from __future__ import annotations

from typing import Any

from gapsvm.cli.output import print_json, require_output, say, show_facts
from gapsvm.registry import Entry, Registry
from gapsvm.registry.annotations import described


def run_list(registry: Registry[Any], name: str | None, as_json: bool) -> None:
    """All entries, or one with its parameters."""
    require_output("send it to a file")
    if name is None:
        _list(registry, as_json)
        return
    entry = registry[name]
    parameters = [
        {
            "parameter": parameter.name,
            "default": "required" if parameter.is_required else _plain(parameter.default),
            "takes": described(parameter.annotation),
        }
        for parameter in entry.parameters.values()
    ]
    if as_json:
        print_json({"name": entry.name, "summary": entry.summary, "parameters": parameters})
        return
    say(f"{entry.name}: {entry.summary}")
    if parameters:
        names = list(parameters[0])
        show_facts([names, *([str(p[key]) for key in names] for p in parameters)])
        first = next(iter(entry.parameters.values()))
        value = "..." if first.is_required else _plain(first.default)
        say(f"Write for example --{registry.kind} '{entry.name}({first.name}={value})'")
    else:
        say("It has no parameters.")


def _list(registry: Registry[Any], as_json: bool) -> None:
    entries: list[Entry[Any]] = list(registry.values())
    if as_json:
        print_json({entry.name: entry.summary for entry in entries})
        return
    show_facts([[registry.kind, "what it is"], *([e.name, e.summary] for e in entries)])


def _plain(default: Any) -> Any:
    """A default as JSON, and a spec, can hold it."""
    return default if isinstance(default, bool | int | str | None) else _number(default)


def _number(default: Any) -> Any:
    finite = isinstance(default, float) and abs(default) < float("inf")
    return default if finite else str(default)
