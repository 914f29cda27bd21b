"""Checkpoints: a fit's whole state in a file, to go on from as if it had never stopped.

A file holds a tree: dataclasses declared storable (``gapsvm.registry.storable``), lists, tuples,
dicts, arrays, numbers, texts and NumPy's random generators.  Arrays are stored as safetensors, the
rest as JSON, everything under one SHA-256; nothing in a file can name code that is not declared.
Writing replaces the old file in one step, so that a kill at any moment leaves the old checkpoint or
the new one.

A checkpoint belongs to a problem.  `fingerprint` says which, and reading refuses any other.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from gapsvm.io.tensors import TensorFileError, read_tensors, write_tensors
from gapsvm.problems.base import Fingerprinted
from gapsvm.registry.storable import STORABLE
from gapsvm.solvers.trace import Checkpoint, Status

FORMAT = "gapsvm checkpoint"
VERSION = 1

_GENERATORS = {
    name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
}


class CheckpointError(ValueError):
    """A file that is damaged, no checkpoint, or one of another problem."""


def fingerprint(problem: Fingerprinted, more: Sequence[Any] = ()) -> dict[str, Any]:
    """What tells a problem from others, see ``problem.fingerprint``.

    ``more``: the labels of further problems that differ in nothing else, such as other classes
    against the rest.  Their number stands first, since a complaint names the first difference.
    """
    found: dict[str, Any] = problem.fingerprint()
    labels = hashlib.sha256(found["labels"].encode())
    for y in more:
        labels.update(np.ascontiguousarray(y, dtype=np.float64).data)
    return {"number of problems": 1 + len(more), **found, "labels": labels.hexdigest()}


def save_checkpoint(
    path: str | os.PathLike[str],
    checkpoint: Checkpoint,
    problem_fingerprint: dict[str, Any],
    solver: object,
) -> None:
    """Write a checkpoint and the solver it belongs to; atomic, whenever the process may be killed.

    Parameters
    ----------
    checkpoint
        ``Result.checkpoint``, or that of a fit under way between two calls of ``advance``.
    problem_fingerprint
        From `fingerprint`.
    """
    save_tree(path, {"checkpoint": checkpoint, "solver": solver}, problem_fingerprint)


def load_checkpoint(
    path: str | os.PathLike[str], problem_fingerprint: dict[str, Any]
) -> tuple[Checkpoint, Any]:
    """The checkpoint and its solver; ``solve(problem, solver, checkpoint=checkpoint)`` goes on.

    Raises
    ------
    CheckpointError
        A ValueError, if the file is damaged or belongs to another problem; it says what differs.
    """
    tree = load_tree(path, problem_fingerprint)
    if not isinstance(tree, dict) or not isinstance(tree.get("checkpoint"), Checkpoint):
        raise CheckpointError(f"{path} holds something else than the checkpoint of one solver")
    return tree["checkpoint"], tree.get("solver")


def save_tree(path: str | os.PathLike[str], tree: Any, problem_fingerprint: dict[str, Any]) -> None:
    """Write any tree of the kind described above, as for a fit of several problems in turn."""
    arrays: dict[str, np.ndarray] = {}
    described = _encoded(tree, "tree", arrays)
    text = json.dumps({"fingerprint": problem_fingerprint, "tree": described}, allow_nan=False)
    write_tensors(path, arrays, {"format": FORMAT, "format_version": str(VERSION), "state": text})


def load_tree(path: str | os.PathLike[str], problem_fingerprint: dict[str, Any]) -> Any:
    """Read what `save_tree` wrote; arrays, numbers and generators are equal bit for bit.

    Raises
    ------
    CheckpointError
        As for `load_checkpoint`.
    """
    try:
        arrays, texts = read_tensors(path)
    except TensorFileError as error:
        raise CheckpointError(f"{path} is damaged or no checkpoint: {error}") from error
    if texts.get("format") != FORMAT:
        raise CheckpointError(f"{path} holds {texts.get('format')!r}, not {FORMAT!r}")
    version = texts.get("format_version", "")
    if not re.fullmatch("[0-9]{1,9}", version) or int(version) > VERSION:
        raise CheckpointError(f"{path} was written by a newer gapsvm (format version {version!r})")
    try:
        stored = json.loads(texts["state"])
        _check_problem(path, stored["fingerprint"], problem_fingerprint)
        return _decoded(stored["tree"], arrays)
    except CheckpointError:
        raise
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise CheckpointError(f"{path} is not a sound checkpoint: {error}") from error


def _check_problem(path: Any, stored: Any, given: dict[str, Any]) -> None:
    for name in {**stored, **given}:
        stored_value, given_value = stored.get(name), given.get(name)
        if stored_value != given_value:
            how = (
                "differs"
                if _is_hash(stored_value or given_value)
                else f"is {stored_value} there and {given_value} here"
            )
            raise CheckpointError(f"{path} is a checkpoint of another problem: {name} {how}")


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


# -- trees -----------------------------------------------------------------------------------------
# Lists and plain values stand for themselves; everything else is {"kind of thing": ...}.


def _encoded(value: Any, place: str, arrays: dict[str, np.ndarray]) -> Any:
    """``value`` as JSON can hold it; arrays go to ``arrays`` under the name of their place."""

    def inside(items: Any) -> Any:
        return {name: _encoded(item, f"{place}.{name}", arrays) for name, item in items}

    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Status):
        return {"status": value.name}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.ndarray):
        arrays[place] = value
        return {"array": place}
    if isinstance(value, list | tuple):
        items = [_encoded(item, f"{place}.{k}", arrays) for k, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"dict": inside(value.items())}
    if isinstance(value, np.random.Generator):
        return {"generator": _encoded(value.bit_generator.state, place, arrays)}
    name = type(value).__name__
    if dataclasses.is_dataclass(value) and STORABLE.get(name) is type(value):
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {"class": name, "fields": inside(fields)}
    raise TypeError(f"a checkpoint cannot hold {place}, an object of type {name}")


def _decoded(node: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(node, list):
        return [_decoded(item, arrays) for item in node]
    if not isinstance(node, dict):
        return node
    match node:
        case {"array": place}:
            return arrays[place]
        case {"float": text}:
            return float(text)
        case {"tuple": items}:
            return tuple(_decoded(items, arrays))
        case {"dict": items}:
            return {name: _decoded(item, arrays) for name, item in items.items()}
        case {"status": name}:
            return Status[name]
        case {"generator": state}:
            return _generator(_decoded(state, arrays))
        case {"class": name, "fields": fields}:
            values = {field: _decoded(item, arrays) for field, item in fields.items()}
            return STORABLE[name](**values)
    raise ValueError(f"{sorted(node)} is none of the things that a checkpoint holds")


def _generator(state: dict[str, Any]) -> np.random.Generator:
    bits = _GENERATORS[state["bit_generator"]]()
    bits.state = state
    return np.random.Generator(bits)
