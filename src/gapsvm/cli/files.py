"""What the commands share about files: the labels of tables, and targets to write to."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from gapsvm.cli.output import print_data
from gapsvm.io.tables import SUFFIXES, TEXT_SUFFIXES, is_table, is_text_table
from gapsvm.models.kernel_native import write_kernel_native
from gapsvm.models.liblinear import write_liblinear
from gapsvm.models.libsvm import write_libsvm
from gapsvm.models.native import write_native
from gapsvm.system.atomic import check_can_write, replacing


def label_column(label: str | None, *data: Path | None) -> str | int | None:
    """What ``--label`` means: a number if it is one, else a name; only tables have columns."""
    if label is None:
        return None
    if not any(path is not None and is_table(path) for path in data):
        raise ValueError(f"--label is for tables ({', '.join(SUFFIXES)}), not for {data[0]}")
    return int(label) if label.removeprefix("-").isdecimal() else label


def check_header(header: bool | None, *data: Path | None) -> None:
    """``--header`` and ``--no-header`` say something only of tables that are text."""
    if header is not None and not any(path is not None and is_text_table(path) for path in data):
        option = "--header" if header else "--no-header"
        raise ValueError(f"{option} is for tables ({', '.join(TEXT_SUFFIXES)}), not for {data[0]}")


def check_verify(verify: bool, *data: Path | None) -> None:
    """``--no-verify`` says something only of converted folders."""
    if not verify and not any(path is not None and path.is_dir() for path in data):
        raise ValueError(f"--no-verify is for converted folders, not for {data[0]}")


def check_target(path: Path | None, option: str, *, stream: bool = False) -> None:
    """Raise an OSError, in one sentence, if no file can be written there later on.

    A file is made in the folder and removed again, since nothing less is a proof.  ``stream``: a
    pipe or a device will do.
    """
    if path is None:
        return
    try:
        reason = _why_not(path, stream)
    except OSError as error:
        reason = error.strerror or str(error)
    if reason:
        raise OSError(f"{option}: cannot write {path}: {reason}")


def check_new_folder(path: Path) -> None:
    """Raise an OSError if no folder can be made there later on."""
    if os.path.lexists(path):
        raise OSError(f"{path} exists already, and nothing is overwritten")
    check_target(path, "folder")


def writer(path: Path, *, kernel: bool = False) -> Any:
    """What writes a model, linear or a kernel machine, under that name."""
    if path.suffix == ".liblinear":
        if kernel:
            raise ValueError(f"{path}: LIBLINEAR's format holds no kernel machines; try .libsvm")
        return write_liblinear
    if path.suffix == ".libsvm":
        if not kernel:
            raise ValueError(f"{path}: LIBSVM's format is for kernel machines, see --kernel")
        return write_libsvm
    return write_kernel_native if kernel else write_native


def what_is_lost(path: Path, model: Any) -> list[str]:
    """What the format that the name asks for has no room for, in sentences."""
    format_name = {".liblinear": "LIBLINEAR", ".libsvm": "LIBSVM"}.get(path.suffix)
    if format_name is None or model.feature_names is None:
        return []
    return [
        f"{path}: {format_name}'s format holds no names, so predict matches columns by position"
    ]


def write_text(path: Path, text: str) -> None:
    """Replace a file in one step; write to a pipe or a device as it is."""
    content = text.encode()
    if not is_stream(path):
        with replacing(followed(path)) as file:
            file.write(content)
    elif _is_standard_output(path):  # not opened anew: that would write over what stands there
        print_data(text)
    else:
        _append(path, content)


def _append(path: Path, content: bytes) -> None:
    """Write to a pipe or a device; an error names it."""
    try:
        with open(path, "ab") as stream:
            stream.write(content)
    except OSError as error:
        error.filename = str(path)
        raise


def followed(path: Path) -> Path:
    """Where links lead, so that the file is replaced and not the link to it."""
    return Path(os.path.realpath(path))


def is_stream(path: Path) -> bool:
    """Whether it is a pipe or a device; so is /dev/stdout, even where that leads to a file."""
    folder = followed(path.parent)
    if folder == Path("/dev") or folder.is_relative_to("/proc"):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def _is_standard_output(path: Path) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):  # standard output is no file, or closed
        return False


def _is_terminal(path: Path) -> bool:
    with open(path, "ab") as stream:
        return stream.isatty()


def _why_not(path: Path, stream: bool) -> str | None:
    if is_stream(path):
        if not stream:
            return "it is a pipe or a device, not a file"
        if not os.access(path, os.W_OK):
            return "permission denied, or no such device"
        if path.is_char_device() and not _is_standard_output(path) and not _is_terminal(path):
            _append(path, b"\n")  # /dev/full takes no for an answer only when it is written to
        return None
    if path.is_dir():
        return "it is a folder"
    path = followed(path)
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    check_can_write(path)
    return None
