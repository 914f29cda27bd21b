"""Pages of all public names, from their docstrings, into docs/api: ``python docs/api.py``.

``python docs/api.py --check`` changes nothing and says which pages are stale.
"""

from __future__ import annotations

import enum
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import gapsvm
from gapsvm.registry import Registry
from gapsvm.registry.annotations import described as kind_of

FOLDER = Path(__file__).resolve().parent / "api"
AREAS = {
    "estimators": "What is fitted: scikit-learn's estimators and their kin, with a certificate.",
    "problems": "What is minimised, its dual, and the certificate; for use with `gapsvm.solve`.",
    "solvers": "Methods as objects: an estimator's `method`, or an argument of `gapsvm.solve`.",
    "losses": "Losses by name, specs of them, losses of your own, and measures of predictions.",
    "kernels": "Kernels by name, and rows of a kernel matrix.",
    "io": "Files: data, models, sequences.",
    "training": "From a problem to a result, paths, and what a fit reports.",
    "modules": "Modules that are public as a whole, with their functions.",
}
_ROOMS = {"rows": "problems", "models": "io"}
_ELSEWHERE = {
    "gapsvm.estimators.files": "io",
    "gapsvm.solvers.trace": "training",
    "gapsvm.training.methods": "solvers",
}
_REGISTRIES = {"KERNELS": "kernels", "LOSSES": "losses", "METHODS": "solvers"}
_SHOWN_MODULES = ("datasets", "games", "spectral", "theory")
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)
_ENTRY = re.compile(r"^(\*{0,2}\w+_?(?:, \*{0,2}\w+_?)*)(?: : (.*))?$")
_AS_FOR = re.compile(r"as for ``(\w+)``(.*)", re.S)
_WIDTH = 100


class Entry(NamedTuple):
    """What a docstring says of some parameters or attributes."""

    names: tuple[str, ...]
    kind: str
    text: str


# -- docstrings ------------------------------------------------------------------------------------


def sections(thing: Any) -> dict[str, str]:
    """The parts of a docstring by title; what comes first has none."""
    parts = _SECTION.split(inspect.getdoc(thing) or "")
    return {"": parts[0].strip(), **dict(zip(parts[1::2], parts[2::2]))}


def entries(body: str) -> tuple[list[Entry], str]:
    """The entries of a section of parameters, and the paragraphs beside them."""
    found: list[Entry] = []
    beside = []
    for block in re.split(r"\n(?=\S)", body.strip("\n")):
        first, _, rest = block.partition("\n")
        parts = [_ENTRY.match(part.strip()) for part in first.split(";  ")]
        if all(parts):
            text = textwrap.dedent(rest).strip()
            for part in parts:
                assert part is not None
                names = tuple(name.strip(" *") for name in part[1].split(","))
                found.append(Entry(names, part[2] or "", text))
        else:
            beside.append(block)
    return found, "\n".join(beside).strip()


def parameters(thing: Any) -> dict[str, Entry]:
    """What the docstring says of each parameter; "as for X" is looked up there."""
    said: dict[str, Entry] = {}
    for entry in entries(sections(thing).get("Parameters", ""))[0]:
        like = _AS_FOR.match(entry.kind)
        if like is None:
            said |= dict.fromkeys(entry.names, entry)
            continue
        near = sys.modules[thing.__module__]
        there = parameters(getattr(gapsvm, like[1], None) or getattr(near, like[1]))
        for name in entry.names:
            found = there.get(name, entry)
            text = f"{found.text} {entry.text}".strip() if found is not entry else entry.text
            kind = found.kind + like[2] if found is not entry else entry.kind
            said[name] = Entry((name,), kind, text)
    return said


def signature(thing: Any) -> inspect.Signature | None:
    """Without annotations; None where there is none worth showing."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values() if p.name != "self"]
    return found.replace(parameters=bare, return_annotation=found.empty)


def undescribed(thing: Any) -> list[str]:
    """The parameters of a thing of which its docstring says nothing."""
    call = signature(thing)
    if call is None or _is_listed_otherwise(thing):
        return []
    said = parameters(thing)
    return [
        name
        for name in call.parameters
        if name not in said or not (said[name].text or len(said[name].kind.split()) > 2)
    ]


def _is_listed_otherwise(thing: Any) -> bool:
    """An enumeration, an error or a protocol, whose call means nothing."""
    is_class = inspect.isclass(thing)
    if is_class and issubclass(thing, enum.Enum | Exception):
        return True
    return is_class and bool(getattr(thing, "_is_protocol", False))


# -- Markdown --------------------------------------------------------------------------------------


def wrapped(text: str, indent: str = "") -> str:
    """Paragraphs as Markdown; blocks that are indented stay as they are."""
    text = text.replace("``", "`")
    parts = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if all(line.startswith("    ") for line in paragraph.splitlines()):
            parts.append(textwrap.indent(paragraph, indent))
            continue
        if re.match(r"- ", paragraph):
            items = re.split(r"\n(?=- )", paragraph)
            parts.append("\n".join(_filled(item, indent, indent + "  ") for item in items))
            continue
        parts.append(_filled(paragraph, indent, indent))
    return "\n\n".join(parts)


def _filled(text: str, first: str, rest: str) -> str:
    return textwrap.fill(
        " ".join(text.split()),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _call(name: str, thing: Any) -> list[str]:
    """The signature as a block of code."""
    call = signature(thing)
    if call is None or _is_listed_otherwise(thing):
        return []
    shown = f"{name}{call}".replace("<factory>", "...")
    shown = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", shown)
    lines = textwrap.wrap(shown, _WIDTH, subsequent_indent="    ", break_long_words=False)
    return ["", "```", *lines, "```"]


def _listed(thing: Any, title: str, body: str) -> list[str]:
    """A section of parameters or attributes as a list."""
    found, beside = entries(body)
    if title == "Parameters":
        said = parameters(thing)
        done: set[str] = set()
        shown = []
        for name in [name for entry in found for name in entry.names]:
            entry = said[name]
            if name not in done:
                shown.append(entry)
                done |= set(entry.names)
        found = shown
    lines = ["", f"**{title}**", ""]
    for names, kind, text in found:
        head = ", ".join(f"`{name}`" for name in names) + (f": {kind}" if kind else "")
        said_so = f"{head.rstrip('.')}. {text}" if text else head
        lines.append(wrapped(f"- {' '.join(said_so.split())}"))
    return lines + (["", wrapped(beside)] if beside else [])


def _methods(thing: Any) -> list[str]:
    """The public methods and properties that have a docstring, with its first paragraph."""
    if not inspect.isclass(thing) or "gapsvm.solvers" in thing.__module__:
        return []
    lines = []
    for name, member in inspect.getmembers(thing):
        owner = next((kin for kin in thing.__mro__ if name in kin.__dict__), thing)
        is_shown = callable(member) or isinstance(member, property)
        if (
            name.startswith(("_", "set_"))
            or not is_shown
            or not owner.__module__.startswith("gapsvm")
        ):
            continue
        doc = (inspect.getdoc(member) or "").split("\n\n")[0]
        if doc:
            call = signature(member) if callable(member) else ""
            lines.append(wrapped(f"- `{name}{call}`: {doc}"))
    return ["", "**Methods**", "", *lines] if lines else []


def _registry(registry: Registry[Any]) -> list[str]:
    """Every entry with its sentence and its parameters."""
    lines = [
        "",
        "A mapping of names to what makes the thing: `add(name, maker, summary)` registers one of "
        "your\nown, `remove(name)` forgets it, `make(spec)` makes one.",
        "",
    ]
    for name, entry in registry.items():
        lines.append(wrapped(f"- `{name}`: {entry.summary}"))
        for one in entry.parameters.values():
            shown = f"- `{one.name}={one.default!r}`: {kind_of(one.annotation)}"
            lines.append(_filled(shown, "  ", "    "))
    return lines


def entry_of(name: str, thing: Any, *, level: str = "##") -> str:
    """All that is said of one name."""
    lines = [f"{level} {name}"]
    if isinstance(thing, Registry):
        return "\n".join(lines + _registry(thing))
    if isinstance(thing, str):
        return "\n".join([*lines, "", "The version, as text."])
    said = sections(thing)
    lines += [*_call(name, thing), "", wrapped(said.pop(""))]
    if inspect.isclass(thing) and issubclass(thing, enum.Enum):
        lines += ["", *(f"- `{member.name}`: {member.value}" for member in thing)]
    for title, body in said.items():
        if title in ("Parameters", "Attributes"):
            lines += _listed(thing, title, body)
        else:
            lines += ["", f"**{title}**", "", wrapped(" ".join(body.split()))]
    return "\n".join(lines + _methods(thing))


# -- pages -----------------------------------------------------------------------------------------


def area_of(name: str, thing: Any) -> str:
    """The page on which a public name stands."""
    if isinstance(thing, ModuleType):
        return "modules"
    if isinstance(thing, Registry):
        return _REGISTRIES.get(name, "solvers")
    module = getattr(thing, "__module__", "gapsvm.training")
    room = module.split(".")[1]
    return _ELSEWHERE.get(module, _ROOMS.get(room, room if room in AREAS else "training"))


def _module(name: str, module: ModuleType) -> Iterator[str]:
    yield f"## {name}\n\n{wrapped((module.__doc__ or '').strip().partition(chr(10) * 2)[0])}"
    if name not in _SHOWN_MODULES:
        return
    known = getattr(module, "__all__", None) or [
        one
        for one, thing in vars(module).items()
        if one[0] != "_" and getattr(thing, "__module__", "") == module.__name__
    ]
    for one in sorted(known, key=str.lower):
        if callable(getattr(module, one)):
            yield entry_of(f"{name}.{one}", getattr(module, one), level="###")


def pages() -> dict[str, str]:
    """The text of every page by its file name."""
    public = {name: getattr(gapsvm, name) for name in gapsvm.__all__}
    areas: dict[str, list[str]] = {area: [] for area in AREAS}
    for name, thing in public.items():
        areas[area_of(name, thing)].append(name)
    written = {}
    for area, names in areas.items():
        parts = [f"# Public names: {area}", AREAS[area]]
        for name in names:
            thing = public[name]
            parts += _module(name, thing) if area == "modules" else [entry_of(name, thing)]
        written[f"{area}.md"] = "\n\n".join(parts) + "\n"
    rows = [f"- [{area}]({area}.md): {says}" for area, says in AREAS.items()]
    where = {name: area for area, names in areas.items() for name in names}
    links = [f"[{name}]({where[name]}.md#{name.lower()})" for name in sorted(public, key=str.lower)]
    index = [
        "# Every public name",
        "Written by `python docs/api.py` from the docstrings.",
        "\n".join(rows),
        "Each is an attribute of `gapsvm`:",
        "\n".join(f"{link}{',' if link != links[-1] else '.'}" for link in links),
    ]
    written["README.md"] = "\n\n".join(index) + "\n"
    return written


def main() -> int:
    stale = []
    for name, text in pages().items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                FOLDER.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
    print("stale:" if "--check" in sys.argv else "written:", ", ".join(stale) or "none")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
